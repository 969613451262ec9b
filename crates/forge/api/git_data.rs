//! The Git Data API: blobs, trees, commits and references, and the reads that build on them.

use base64::Engine as _;
use gix::ObjectId;
use gix::objs::Kind;
use serde_json::{Value, json};

use super::call::{ApiResult, ForgeCall, READ_CODE, Reply, WRITE_CODE};
use crate::actions::web_flow;
use crate::clock::now;
use crate::error::ApiError;
use crate::signing;
use crate::state::ForgeRepository;
use crate::store::{NewCommit, Signature, StoredTreeEntry, parse_id};
use crate::views;

fn known_id(text: &str) -> Result<ObjectId, ApiError> {
    parse_id(text).ok_or_else(|| {
        ApiError::unprocessable("The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
    })
}

pub(crate) fn blob(call: &mut ForgeCall<'_>, owner: &str, name: &str, sha: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let id = known_id(sha)?;
    let data = here.store.blob(id)?.ok_or_else(ApiError::not_found)?;
    Ok(Reply::ok(views::blob(here, id, &data)))
}

pub(crate) fn create_blob(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_CODE)?;
    let here = call.state.repository(&full_name)?;
    let content = call.required_text("content")?;
    let data = match call.text("encoding").unwrap_or("utf-8") {
        "base64" => {
            let packed: String = content.split_whitespace().collect();
            base64::engine::general_purpose::STANDARD
                .decode(packed)
                .map_err(|_| ApiError::unprocessable("content is not valid Base64"))?
        }
        _ => content.as_bytes().to_vec(),
    };
    let id = here.store.write(Kind::Blob, &data)?;
    let url = format!("{}/git/blobs/{id}", here.api());
    Ok(Reply::created(json!({"sha": id.to_string(), "url": url})))
}

pub(crate) fn tree(call: &mut ForgeCall<'_>, owner: &str, name: &str, sha: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let id = match here.resolve(sha) {
        Some(commit) => here.store.known_commit(commit)?.tree,
        None => parse_id(sha).ok_or_else(ApiError::not_found)?,
    };
    if !matches!(here.store.read(id)?, Some((Kind::Tree, _))) {
        return Err(ApiError::not_found());
    }
    // Any value asks for the whole tree, even "false": GitHub looks only whether the parameter is there.
    let entries = match call.parameter("recursive") {
        Some(_) => here.store.flatten(id)?,
        None => here.store.tree(id)?,
    };
    Ok(Reply::ok(views::git_tree(here, id, entries.iter())?))
}

pub(crate) fn create_tree(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_CODE)?;
    let here = call.state.repository(&full_name)?;
    let base = match call.text("base_tree") {
        None => None,
        Some(sha) => {
            let id = known_id(sha)?;
            let tree = match here.store.read(id)? {
                Some((Kind::Tree, _)) => Some(id),
                Some((Kind::Commit, _)) => here.store.commit(id)?.map(|commit| commit.tree),
                _ => None,
            };
            Some(tree.ok_or_else(ApiError::not_found)?)
        }
    };
    let items = call.body["tree"].as_array().filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| ApiError::unprocessable("Invalid tree info"))?;
    let mut edits = Vec::with_capacity(items.len());
    for item in items {
        edits.push(tree_edit(here, base, item)?);
    }
    let id = here.store.edit_tree(base, &edits)?;
    let entries = here.store.tree(id)?;
    Ok(Reply::created(views::git_tree(here, id, entries.iter())?))
}

fn tree_edit(
    here: &ForgeRepository,
    base: Option<ObjectId>,
    item: &Value,
) -> Result<(String, Option<StoredTreeEntry>), ApiError> {
    let malformed = |what: &str| ApiError::unprocessable(format!("tree.{what}"));
    let path = item["path"].as_str().unwrap_or_default();
    let bad_part = |part: &str| part.is_empty() || part == "." || part == ".." || part == ".git";
    if path.split('/').any(bad_part) {
        return Err(malformed("path contains a malformed path component"));
    }
    let mode = item["mode"].as_str().unwrap_or_default();
    if !["100644", "100755", "040000", "160000", "120000"].contains(&mode) {
        return Err(malformed("mode must be one of 100644, 100755, 040000, 160000, 120000"));
    }
    let id = match (&item["sha"], item["content"].as_str()) {
        (Value::String(_), Some(_)) => return Err(malformed("sha and content are both given")),
        (Value::String(sha), None) => {
            let id = known_id(sha)?;
            if mode != "160000" && here.store.read(id)?.is_none() {
                return Err(malformed(&format!("sha {sha} is not a valid object")));
            }
            id
        }
        (_, Some(content)) => here.store.write(Kind::Blob, content.as_bytes())?,
        (Value::Null, None) if item.get("sha").is_some() => {
            let exists = match base {
                Some(base) => here.store.entry(base, path)?.is_some(),
                None => false,
            };
            if !exists {
                return Err(ApiError::unprocessable("GitRPC::BadObjectState"));
            }
            return Ok((path.to_owned(), None));
        }
        _ => return Err(malformed("sha or content is missing")),
    };
    Ok((path.to_owned(), Some(StoredTreeEntry { mode: mode.to_owned(), id })))
}

pub(crate) fn git_commit(call: &mut ForgeCall<'_>, owner: &str, name: &str, sha: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let commit = here.store.commit(parse_id(sha).ok_or_else(ApiError::not_found)?)?;
    Ok(Reply::ok(views::git_commit(here, &commit.ok_or_else(ApiError::not_found)?)))
}

pub(crate) fn create_commit(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_CODE)?;
    let account = call.account()?;
    let here = call.state.repository(&full_name)?;
    let tree = known_id(call.required_text("tree")?)?;
    if !matches!(here.store.read(tree)?, Some((Kind::Tree, _))) {
        return Err(ApiError::unprocessable("Tree SHA does not exist"));
    }
    let mut parents = Vec::new();
    for parent in call.texts("parents") {
        let parent = known_id(&parent)?;
        if here.store.commit(parent)?.is_none() {
            return Err(ApiError::unprocessable("Parent SHA does not exist or is not a commit object"));
        }
        parents.push(parent);
    }
    let message = call.required_text("message")?;
    let own_author = person(&call.body["author"])?;
    let own_committer = person(&call.body["committer"])?;
    let own_signature = call.text("signature");
    // GitHub signs for a bot only what carries nothing but the bot's own identity.
    let web_made =
        call.is_app() && own_author.is_none() && own_committer.is_none() && own_signature.is_none();
    let author = own_author.unwrap_or_else(|| account.signature());
    let committer = if web_made { web_flow() } else { own_committer.unwrap_or_else(|| author.clone()) };
    let new = NewCommit { tree, parents: &parents, author: &author, committer: &committer, message };
    let signature =
        if web_made { Some(signing::sign(&new.payload())) } else { own_signature.map(str::to_owned) };
    let id = here.store.write_commit(&new, signature.as_deref())?;
    Ok(Reply::created(views::git_commit(here, &here.store.known_commit(id)?)))
}

fn person(value: &Value) -> Result<Option<Signature>, ApiError> {
    if value.is_null() {
        return Ok(None);
    }
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    let (Some(name), Some(email)) = (text("name"), text("email")) else {
        return Err(ApiError::unprocessable("Invalid request.\n\n\"email\", \"name\" weren't supplied."));
    };
    let seconds = match value["date"].as_str() {
        None => now(),
        Some(date) => date
            .parse::<jiff::Timestamp>()
            .map_err(|_| ApiError::unprocessable("date is not a valid ISO 8601 time"))?
            .as_second(),
    };
    Ok(Some(Signature { name, email, seconds }))
}

pub(crate) fn reference(call: &mut ForgeCall<'_>, owner: &str, name: &str, reference: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let reference = format!("refs/{reference}");
    let id = here.store.reference(&reference).ok_or_else(ApiError::not_found)?;
    Ok(Reply::ok(views::git_ref(here, &reference, id)))
}

pub(crate) fn matching_references(
    call: &mut ForgeCall<'_>,
    owner: &str,
    name: &str,
    prefix: &str,
) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let found = here.store.references(&format!("refs/{prefix}"));
    Ok(Reply::ok(found.iter().map(|(name, id)| views::git_ref(here, name, *id)).collect()))
}

pub(crate) fn create_reference(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_CODE)?;
    let account = call.account()?;
    let reference = call.required_text("ref")?;
    let sha = call.required_text("sha")?;
    if !reference.starts_with("refs/") || reference.split('/').count() < 3 {
        return Err(ApiError::unprocessable(
            "Reference name must start with 'refs/' and contain two slashes.",
        ));
    }
    let here = call.state.repository(&full_name)?;
    let id = known_id(sha)?;
    if here.store.read(id)?.is_none() {
        return Err(ApiError::unprocessable("Object does not exist"));
    }
    if here.store.reference(reference).is_some() {
        return Err(ApiError::unprocessable("Reference already exists"));
    }
    call.state.check_rules(&full_name, reference)?;
    call.state.move_reference(&full_name, reference, Some(id), &account)?;
    Ok(Reply::created(views::git_ref(call.state.repository(&full_name)?, reference, id)))
}

pub(crate) fn update_reference(
    call: &mut ForgeCall<'_>,
    owner: &str,
    name: &str,
    reference: &str,
) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_CODE)?;
    let account = call.account()?;
    let reference = format!("refs/{reference}");
    let id = known_id(call.required_text("sha")?)?;
    let here = call.state.repository(&full_name)?;
    let before = here
        .store
        .reference(&reference)
        .ok_or_else(|| ApiError::unprocessable("Reference does not exist"))?;
    if here.store.commit(id)?.is_none() {
        return Err(ApiError::unprocessable("Object does not exist"));
    }
    if call.body["force"] != true && !here.store.is_ancestor(before, id)? {
        return Err(ApiError::unprocessable("Update is not a fast forward"));
    }
    call.state.check_rules(&full_name, &reference)?;
    call.state.move_reference(&full_name, &reference, Some(id), &account)?;
    Ok(Reply::ok(views::git_ref(call.state.repository(&full_name)?, &reference, id)))
}

pub(crate) fn delete_reference(
    call: &mut ForgeCall<'_>,
    owner: &str,
    name: &str,
    reference: &str,
) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_CODE)?;
    let account = call.account()?;
    let reference = format!("refs/{reference}");
    if call.state.repository(&full_name)?.store.reference(&reference).is_none() {
        return Err(ApiError::unprocessable("Reference does not exist"));
    }
    call.state.check_rules(&full_name, &reference)?;
    call.state.move_reference(&full_name, &reference, None, &account)?;
    Ok(Reply::no_content())
}

pub(crate) fn commit(call: &mut ForgeCall<'_>, owner: &str, name: &str, revision: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let missing = || ApiError::unprocessable(format!("No commit found for SHA: {revision}"));
    let commit = here.store.known_commit(here.resolve(revision).ok_or_else(missing)?)?;
    let parent = commit.parents.first().map(|parent| here.store.known_commit(*parent)).transpose()?;
    let changes = here.store.diff(parent.map(|parent| parent.tree), Some(commit.tree))?;
    let head = commit.id.to_string();
    let files: Vec<Value> =
        changes.iter().map(|change| views::diff_entry(here, &head, change, None)).collect();
    let more = json!({"stats": {"additions": 0, "deletions": 0, "total": 0}, "files": files});
    Ok(Reply::ok(views::extend(views::commit(call.state, here, &commit), more)))
}

pub(crate) fn commits(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let revision = call.parameter("sha").unwrap_or(&here.default_branch);
    let tip = here.resolve(revision).ok_or_else(ApiError::not_found)?;
    let path = call.parameter("path");
    let mut items = Vec::new();
    let mut ids = here.store.commits_between(None, tip)?;
    ids.reverse();
    for id in ids {
        let commit = here.store.known_commit(id)?;
        if let Some(path) = path {
            let at = |tree: ObjectId| here.store.entry(tree, path);
            let before = match commit.parents.first() {
                Some(parent) => at(here.store.known_commit(*parent)?.tree)?,
                None => None,
            };
            if before == at(commit.tree)? {
                continue;
            }
        }
        items.push(views::commit(call.state, here, &commit));
    }
    Ok(call.page(items))
}

pub(crate) fn compare(call: &mut ForgeCall<'_>, owner: &str, name: &str, range: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let (from, to) = range.split_once("...").ok_or_else(ApiError::not_found)?;
    let resolve = |revision: &str| here.resolve(revision).ok_or_else(ApiError::not_found);
    let (base, head) = (resolve(from)?, resolve(to)?);
    let fork_point = here.store.merge_base(base, head)?.ok_or_else(ApiError::not_found)?;
    let ahead = here.store.commits_between(Some(base), head)?;
    let behind = here.store.commits_between(Some(head), base)?.len();
    let status = match (ahead.is_empty(), behind == 0) {
        (true, true) => "identical",
        (true, false) => "behind",
        (false, true) => "ahead",
        (false, false) => "diverged",
    };
    let known = |id: ObjectId| here.store.known_commit(id);
    let view = |id: ObjectId| known(id).map(|commit| views::commit(call.state, here, &commit));
    let commits: Vec<Value> = ahead.iter().map(|id| view(*id)).collect::<Result<_, _>>()?;
    let changes = here.store.diff(Some(known(fork_point)?.tree), Some(known(head)?.tree))?;
    let head_text = head.to_string();
    let files: Vec<Value> =
        changes.iter().map(|change| views::diff_entry(here, &head_text, change, None)).collect();
    let html = format!("{}/compare/{range}", here.html());
    Ok(Reply::ok(json!({
        "url": format!("{}/compare/{range}", here.api()),
        "html_url": html,
        "permalink_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "base_commit": view(base)?,
        "merge_base_commit": view(fork_point)?,
        "status": status,
        "ahead_by": ahead.len(),
        "behind_by": behind,
        "total_commits": ahead.len(),
        "commits": commits,
        "files": files,
    })))
}

pub(crate) fn contents(call: &mut ForgeCall<'_>, owner: &str, name: &str, path: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let revision = call.parameter("ref").unwrap_or(&here.default_branch);
    let commit = here
        .resolve(revision)
        .ok_or_else(|| ApiError::new(404, format!("No commit found for the ref {revision}")))?;
    let tree = here.store.known_commit(commit)?.tree;
    let entry = here.store.entry(tree, path)?.ok_or_else(ApiError::not_found)?;
    let item = |path: &str, entry: &StoredTreeEntry| -> Result<Value, ApiError> {
        let url = format!("{}/contents/{path}?ref={revision}", here.api());
        let git = format!("{}/git/{}s/{}", here.api(), entry.kind(), entry.id);
        let segment = if entry.is_tree() { "tree" } else { "blob" };
        let html = format!("{}/{segment}/{revision}/{path}", here.html());
        let size = if entry.is_tree() { 0 } else { here.store.blob(entry.id)?.map_or(0, |data| data.len()) };
        let download = (!entry.is_tree()).then(|| format!("{}/raw/{revision}/{path}", here.html()));
        Ok(json!({
            "type": if entry.is_tree() { "dir" } else { "file" },
            "size": size,
            "name": path.rsplit('/').next().unwrap_or(path),
            "path": path,
            "sha": entry.id.to_string(),
            "url": url,
            "git_url": git,
            "html_url": html,
            "download_url": download,
            "_links": {"self": url, "git": git, "html": html},
        }))
    };
    if entry.is_tree() {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let entries = here.store.tree(entry.id)?;
        let items: Result<Vec<Value>, ApiError> =
            entries.iter().map(|(name, entry)| item(&format!("{prefix}{name}"), entry)).collect();
        return Ok(Reply::ok(Value::Array(items?)));
    }
    let data = here.store.blob(entry.id)?.ok_or_else(ApiError::not_found)?;
    let blob = views::blob(here, entry.id, &data);
    let more = json!({"content": blob["content"], "encoding": "base64"});
    Ok(Reply::ok(views::extend(item(path, &entry)?, more)))
}

pub(crate) fn branch(call: &mut ForgeCall<'_>, owner: &str, name: &str, branch: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_CODE)?;
    let here = call.state.repository(&full_name)?;
    let tip = here.branch(branch).ok_or_else(|| ApiError::new(404, "Branch not found"))?;
    let url = format!("{}/branches/{branch}", here.api());
    let protected = here.rules.iter().any(|rule| rule.matches(&format!("refs/heads/{branch}")));
    Ok(Reply::ok(json!({
        "name": branch,
        "commit": views::commit(call.state, here, &here.store.known_commit(tip)?),
        "_links": {"self": url, "html": format!("{}/tree/{branch}", here.html())},
        "protected": protected,
        "protection": {
            "enabled": protected,
            "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []},
        },
        "protection_url": format!("{url}/protection"),
    })))
}
