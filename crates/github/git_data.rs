//! Trees, blobs and commits through the Git Data API.
//!
//! Read by hand: octocrab's blob wants a size, which GitHub describes as `null` too, and its tree a `url`, which GitHub
//! does not promise.

use async_trait::async_trait;
use base64::Engine as _;
use capstan_model::tree::{BlobId, CommitId, RepoPath, TreeId};
use serde::Deserialize;
use serde_json::json;

use capstan_ports::{CodeHostError, CommitMetadata, Contents, NewTreeEntry, Repository, Trees};

use super::access::Task;
use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;

#[derive(Deserialize)]
struct BlobPayload {
    content: String,
    encoding: String,
}

#[derive(Deserialize)]
struct TreePayload {
    tree: Vec<EntryPayload>,
    truncated: bool,
}

#[derive(Deserialize)]
struct EntryPayload {
    path: String,
    mode: String,
    sha: String,
}

#[derive(Deserialize)]
struct NewTree {
    sha: TreeId,
}

#[derive(Deserialize)]
struct NewCommit {
    sha: CommitId,
}

#[async_trait]
impl Trees for GitHub {
    async fn create_tree(
        &self,
        repository: &Repository,
        base: &TreeId,
        entries: &[NewTreeEntry],
    ) -> Result<TreeId, CodeHostError> {
        let entries: Vec<serde_json::Value> = entries
            .iter()
            .map(|entry| match entry {
                NewTreeEntry::Write { path, text, executable } => {
                    let mode = if *executable { "100755" } else { "100644" };
                    json!({"path": path.as_str(), "mode": mode, "type": "blob", "content": text})
                }
                NewTreeEntry::Delete { path } => {
                    json!({"path": path.as_str(), "mode": "100644", "type": "blob", "sha": null})
                }
            })
            .collect();
        let doing = format!("writing a tree in {}", repository.name);
        let identity = CallerIdentity::doing(Task::Commit, repository);
        let call = GitHubCall::post(identity, "/repos/{owner}/{repo}/git/trees", doing)
            .repeatable()
            .in_repository(repository, &["git", "trees"])
            .body(json!({"base_tree": base.as_str(), "tree": entries}));
        let made: NewTree = self.transport.ask(&call).await?;
        Ok(made.sha)
    }

    async fn create_commit(
        &self,
        repository: &Repository,
        commit: &CommitMetadata,
    ) -> Result<CommitId, CodeHostError> {
        let parents: Vec<&str> = commit.parents.iter().map(CommitId::as_str).collect();
        let doing = format!("writing a commit in {}", repository.name);
        let identity = CallerIdentity::doing(Task::Commit, repository);
        // Done twice it is another commit that nothing names.
        let call = GitHubCall::post(identity, "/repos/{owner}/{repo}/git/commits", doing)
            .repeatable()
            .in_repository(repository, &["git", "commits"])
            .body(json!({"message": commit.message, "tree": commit.tree.as_str(), "parents": parents}));
        let made: NewCommit = self.transport.ask(&call).await?;
        Ok(made.sha)
    }
}

#[async_trait]
impl Contents for GitHub {
    /// The regular files of a folder; links and submodules are not content of a release.
    async fn tree(
        &self,
        repository: &Repository,
        tree: &TreeId,
    ) -> Result<Option<Vec<(RepoPath, BlobId)>>, CodeHostError> {
        let doing = format!("reading tree {tree} of {}", repository.name);
        let identity = CallerIdentity::reading(repository);
        let call = GitHubCall::get(identity, "/repos/{owner}/{repo}/git/trees/{tree_sha}", doing.clone())
            .in_repository(repository, &["git", "trees", tree.as_str()])
            .query("recursive", "1");
        let Some(found) = self.transport.send(&call).await?.object_if_there::<TreePayload>().await? else {
            return Ok(None);
        };
        if found.truncated {
            let reason = "the folder has more files than GitHub lists at once (100,000)".to_owned();
            return Err(CodeHostError::Unexpected { doing, status: 200, reason });
        }
        let mut files = Vec::new();
        for entry in found.tree.into_iter().filter(|entry| entry.mode.starts_with("100")) {
            if let (Ok(path), Ok(blob)) = (RepoPath::parse(&entry.path), BlobId::parse(&entry.sha)) {
                files.push((path, blob));
            }
        }
        Ok(Some(files))
    }

    async fn blob(&self, repository: &Repository, blob: &BlobId) -> Result<Vec<u8>, CodeHostError> {
        let doing = format!("reading blob {blob} of {}", repository.name);
        let identity = CallerIdentity::reading(repository);
        let call = GitHubCall::get(identity, "/repos/{owner}/{repo}/git/blobs/{file_sha}", doing.clone())
            .in_repository(repository, &["git", "blobs", blob.as_str()]);
        let found = self.transport.send(&call).await?.object_if_there::<BlobPayload>().await?;
        let found = found.ok_or_else(|| CodeHostError::NotFound { doing: doing.clone() })?;
        let unexpected =
            |reason: String| CodeHostError::Unexpected { doing: doing.clone(), status: 200, reason };
        match found.encoding.as_str() {
            "utf-8" => Ok(found.content.into_bytes()),
            "base64" => {
                let packed: Vec<u8> =
                    found.content.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
                base64::engine::general_purpose::STANDARD
                    .decode(packed)
                    .map_err(|error| unexpected(format!("the content is not base64: {error}")))
            }
            other => Err(unexpected(format!("the content has the encoding `{other}`"))),
        }
    }
}
