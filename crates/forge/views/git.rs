//! Objects and references.

use gix::ObjectId;
use serde_json::{Value, json};

use super::repository::simple_user;
use crate::clock::rfc3339;
use crate::signing;
use crate::state::{ForgeRepository, State};
use crate::store::{Commit, Signature, StoreError, StoredTreeEntry};
use crate::url_encoding::encode;

pub(crate) fn git_ref(repository: &ForgeRepository, name: &str, id: ObjectId) -> Value {
    let api = repository.api();
    let short = name.strip_prefix("refs/").unwrap_or(name);
    let path: Vec<String> = short.split('/').map(encode).collect();
    json!({
        "ref": name,
        "node_id": format!("REF_{}_{short}", repository.id),
        "url": format!("{api}/git/refs/{}", path.join("/")),
        "object": {"sha": id.to_string(), "type": "commit", "url": format!("{api}/git/commits/{id}")},
    })
}

pub(crate) fn blob(repository: &ForgeRepository, id: ObjectId, data: &[u8]) -> Value {
    use base64::Engine as _;
    // GitHub breaks the text into lines as MIME does.
    let encoded = base64::engine::general_purpose::STANDARD.encode(data);
    let mut content = String::with_capacity(encoded.len() + encoded.len() / 60 + 1);
    for line in encoded.as_bytes().chunks(60) {
        content.push_str(&String::from_utf8_lossy(line));
        content.push('\n');
    }
    json!({
        "sha": id.to_string(),
        "node_id": format!("B_{id}"),
        "size": data.len(),
        "url": format!("{}/git/blobs/{id}", repository.api()),
        "content": content,
        "encoding": "base64",
    })
}

pub(crate) fn git_tree<'a>(
    repository: &ForgeRepository,
    id: ObjectId,
    entries: impl Iterator<Item = (&'a String, &'a StoredTreeEntry)>,
) -> Result<Value, StoreError> {
    let api = repository.api();
    let mut tree = Vec::new();
    for (path, entry) in entries {
        let mut item = json!({
            "path": path,
            "mode": entry.mode,
            "type": entry.kind(),
            "sha": entry.id.to_string(),
            "url": format!("{api}/git/{}s/{}", entry.kind(), entry.id),
        });
        if entry.kind() == "blob" {
            item["size"] = json!(repository.store.blob(entry.id)?.map_or(0, |data| data.len()));
        }
        tree.push(item);
    }
    Ok(json!({
        "sha": id.to_string(),
        "url": format!("{api}/git/trees/{id}"),
        "tree": tree,
        "truncated": false,
    }))
}

fn git_user(signature: &Signature) -> Value {
    json!({"name": signature.name, "email": signature.email, "date": rfc3339(signature.seconds)})
}

fn verification(commit: &Commit) -> Value {
    let verified = signing::verifies(commit);
    let reason = match (&commit.signature, verified) {
        (None, _) => "unsigned",
        (Some(_), true) => "valid",
        (Some(_), false) => "unknown_key",
    };
    json!({
        "verified": verified,
        "reason": reason,
        "signature": commit.signature,
        "payload": commit.signature.as_ref().map(|_| &commit.payload),
        "verified_at": verified.then(|| rfc3339(commit.committer.seconds)),
    })
}

fn parents(repository: &ForgeRepository, commit: &Commit, segment: &str) -> Value {
    let parent = |id: &ObjectId| {
        json!({
            "sha": id.to_string(),
            "url": format!("{}/{segment}/{id}", repository.api()),
            "html_url": format!("{}/commit/{id}", repository.html()),
        })
    };
    commit.parents.iter().map(parent).collect()
}

pub(crate) fn git_commit(repository: &ForgeRepository, commit: &Commit) -> Value {
    let (api, id) = (repository.api(), commit.id);
    json!({
        "sha": id.to_string(),
        "node_id": format!("C_{id}"),
        "url": format!("{api}/git/commits/{id}"),
        "html_url": format!("{}/commit/{id}", repository.html()),
        "author": git_user(&commit.author),
        "committer": git_user(&commit.committer),
        "tree": {"sha": commit.tree.to_string(), "url": format!("{api}/git/trees/{}", commit.tree)},
        "message": commit.message,
        "parents": parents(repository, commit, "git/commits"),
        "verification": verification(commit),
    })
}

/// The account that a commit's address belongs to.
fn account_of(state: &State, signature: &Signature) -> Value {
    state
        .accounts
        .values()
        .find(|account| account.email() == signature.email)
        .map_or(Value::Null, |account| simple_user(account, &state.web))
}

/// The commit as the commits API shows it, without its files.
pub(crate) fn commit(state: &State, repository: &ForgeRepository, commit: &Commit) -> Value {
    let (api, id) = (repository.api(), commit.id);
    json!({
        "sha": id.to_string(),
        "node_id": format!("C_{id}"),
        "url": format!("{api}/commits/{id}"),
        "html_url": format!("{}/commit/{id}", repository.html()),
        "comments_url": format!("{api}/commits/{id}/comments"),
        "commit": {
            "url": format!("{api}/git/commits/{id}"),
            "author": git_user(&commit.author),
            "committer": git_user(&commit.committer),
            "message": commit.message,
            "comment_count": 0,
            "tree": {"sha": commit.tree.to_string(), "url": format!("{api}/git/trees/{}", commit.tree)},
            "verification": verification(commit),
        },
        "author": account_of(state, &commit.author),
        "committer": account_of(state, &commit.committer),
        "parents": parents(repository, commit, "commits"),
    })
}

/// The head commit as check suites and merge groups carry it.
pub(crate) fn simple_commit(commit: &Commit) -> Value {
    let person = |signature: &Signature| json!({"name": signature.name, "email": signature.email});
    json!({
        "id": commit.id.to_string(),
        "tree_id": commit.tree.to_string(),
        "message": commit.message,
        "timestamp": rfc3339(commit.committer.seconds),
        "author": person(&commit.author),
        "committer": person(&commit.committer),
    })
}

/// A commit as `push` events list it, with the paths it touched.
pub(crate) fn push_commit(
    state: &State,
    repository: &ForgeRepository,
    commit: &Commit,
) -> Result<Value, StoreError> {
    let store = &repository.store;
    let parent = commit.parents.first().map(|parent| store.known_commit(*parent)).transpose()?;
    let (mut added, mut removed, mut modified) = (Vec::new(), Vec::new(), Vec::new());
    for change in store.diff(parent.map(|parent| parent.tree), Some(commit.tree))? {
        match (&change.before, &change.after) {
            (None, _) => added.push(change.path),
            (_, None) => removed.push(change.path),
            _ => modified.push(change.path),
        }
    }
    let person = |signature: &Signature| {
        let mut person = json!({
            "name": signature.name,
            "email": signature.email,
            "date": rfc3339(signature.seconds),
        });
        if let Some(account) = state.accounts.values().find(|account| account.email() == signature.email) {
            person["username"] = json!(account.login);
        }
        person
    };
    Ok(json!({
        "id": commit.id.to_string(),
        "tree_id": commit.tree.to_string(),
        "distinct": true,
        "message": commit.message,
        "timestamp": rfc3339(commit.committer.seconds),
        "url": format!("{}/commit/{}", repository.html(), commit.id),
        "author": person(&commit.author),
        "committer": person(&commit.committer),
        "added": added,
        "removed": removed,
        "modified": modified,
    }))
}
