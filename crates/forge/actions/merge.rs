//! Merging: GitHub's test merge, the three ways a person merges, and the merge queue's groups.

use gix::ObjectId;
use serde_json::json;

use crate::clock::now;
use crate::error::ApiError;
use crate::signing;
use crate::state::{Account, CompletedMerge, ForgeRepository, MergeMethod, Mergeability, State};
use crate::store::{NewCommit, Signature, StoreError};
use crate::views;

/// Who commits what is made on the web.
pub(crate) fn web_flow() -> Signature {
    Signature { name: "GitHub".to_owned(), email: "noreply@github.com".to_owned(), seconds: now() }
}

/// Writes a commit in somebody's name and signs it as GitHub does.
pub(crate) fn write_signed(
    here: &ForgeRepository,
    tree: ObjectId,
    parents: &[ObjectId],
    author: &Signature,
    message: &str,
) -> Result<ObjectId, StoreError> {
    let committer = web_flow();
    let commit = NewCommit { tree, parents, author, committer: &committer, message };
    let signature = signing::sign(&commit.payload());
    here.store.write_commit(&commit, Some(&signature))
}

/// What a read of a pull request does to its mergeability: the first reads find it unknown, then it is computed.
pub(crate) fn read_mergeability(state: &mut State, full_name: &str, number: u64) -> Result<(), ApiError> {
    let repository = state.repository_mut(full_name)?;
    let (issue, pull) = repository.pull(number)?;
    if !issue.open {
        return Ok(());
    }
    match pull.mergeability {
        Mergeability::Unknown { reads_left: 0 } => compute_mergeability(state, full_name, number).map(|_| ()),
        Mergeability::Unknown { reads_left } => {
            repository.pull_mut(number)?.mergeability = Mergeability::Unknown { reads_left: reads_left - 1 };
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Tries the merge now and moves `refs/pull/N/merge` where it is clean.
pub(crate) fn compute_mergeability(
    state: &mut State,
    full_name: &str,
    number: u64,
) -> Result<Mergeability, ApiError> {
    let here = state.repository(full_name)?;
    let (_, pull) = here.pull(number)?;
    let base = here.branch(&pull.base_branch).unwrap_or(pull.base);
    // The head may be an ancestor of the base; then the merge is the base's tree.
    let tree = if here.store.is_ancestor(pull.head, base)? {
        Some(here.store.known_commit(base)?.tree)
    } else if here.store.is_ancestor(base, pull.head)? {
        Some(here.store.known_commit(pull.head)?.tree)
    } else {
        here.store.merge_trees(base, pull.head)?
    };
    let computed = match tree {
        None => Mergeability::Conflicting,
        Some(tree) => {
            let message = format!("Merge {} into {base}", pull.head);
            let commit = write_signed(here, tree, &[base, pull.head], &web_flow(), &message)?;
            here.store.set_reference(&format!("refs/pull/{number}/merge"), commit)?;
            Mergeability::Clean(commit)
        }
    };
    state.repository_mut(full_name)?.pull_mut(number)?.mergeability = computed;
    Ok(computed)
}

/// Puts a pull request into the merge queue: a group branch and the request for its checks.
pub(crate) fn enqueue(
    state: &mut State,
    full_name: &str,
    number: u64,
    by: &Account,
) -> Result<ObjectId, ApiError> {
    let Mergeability::Clean(_) = compute_mergeability(state, full_name, number)? else {
        return Err(not_mergeable());
    };
    let here = state.repository(full_name)?;
    let (issue, pull) = here.pull(number)?;
    let base = here.branch(&pull.base_branch).unwrap_or(pull.base);
    let tree = here.store.merge_trees(base, pull.head)?.ok_or_else(not_mergeable)?;
    let message = merge_message(here, issue.number, &pull.head_repository, &pull.head_branch, &issue.title);
    let commit = write_signed(here, tree, &[base, pull.head], &by.signature(), &message)?;
    let branch = format!("refs/heads/gh-readonly-queue/{}/pr-{number}-{}", pull.base_branch, pull.head);
    let base_ref = format!("refs/heads/{}", pull.base_branch);
    let group = json!({
        "head_sha": commit.to_string(),
        "head_ref": branch,
        "base_sha": base.to_string(),
        "base_ref": base_ref,
        "head_commit": views::simple_commit(&here.store.known_commit(commit)?),
    });
    state.repository_mut(full_name)?.pull_mut(number)?.queued = Some(by.clone());
    state.emit_pull(full_name, number, by, "enqueued", json!({}))?;
    state.move_reference(full_name, &branch, Some(commit), by)?;
    state.emit(full_name, by, "merge_group", "checks_requested", json!({"merge_group": group}));
    Ok(commit)
}

/// Takes a pull request out of the merge queue: its group's branch goes.
pub(crate) fn dequeue(state: &mut State, full_name: &str, number: u64, by: &Account) -> Result<(), ApiError> {
    let pull = state.repository_mut(full_name)?.pull_mut(number)?;
    if pull.queued.take().is_none() {
        return Err(ApiError::unprocessable("Pull request is not in the merge queue"));
    }
    let prefix = format!("refs/heads/gh-readonly-queue/{}/pr-{number}-", pull.base_branch);
    state.emit_pull(full_name, number, by, "dequeued", json!({"reason": "MANUAL"}))?;
    for (name, _) in state.repository(full_name)?.store.references(&prefix) {
        state.move_reference(full_name, &name, None, by)?;
    }
    Ok(())
}

fn not_mergeable() -> ApiError {
    ApiError::new(405, "Pull Request is not mergeable")
}

fn merge_message(here: &ForgeRepository, number: u64, source: &str, branch: &str, title: &str) -> String {
    let owner = source.split('/').next().unwrap_or(&here.owner.login);
    format!("Merge pull request #{number} from {owner}/{branch}\n\n{title}")
}

/// Merges a pull request in one of the three ways; returns the commit that the base branch has then.
pub(crate) fn merge_pull(
    state: &mut State,
    full_name: &str,
    number: u64,
    method: MergeMethod,
    by: &Account,
) -> Result<ObjectId, ApiError> {
    let here = state.repository(full_name)?;
    let (issue, pull) = here.pull(number)?;
    if !issue.open || pull.draft {
        return Err(not_mergeable());
    }
    let base = here.branch(&pull.base_branch).unwrap_or(pull.base);
    let base_ref = format!("refs/heads/{}", pull.base_branch);
    let conflict = || ApiError::new(405, "Pull Request has merge conflicts");
    let tree = here.store.merge_trees(base, pull.head)?;
    let commit = match method {
        MergeMethod::Merge => {
            let message = merge_message(here, number, &pull.head_repository, &pull.head_branch, &issue.title);
            write_signed(here, tree.ok_or_else(conflict)?, &[base, pull.head], &by.signature(), &message)?
        }
        MergeMethod::Squash => {
            let message = format!("{} (#{number})", issue.title);
            write_signed(here, tree.ok_or_else(conflict)?, &[base], &issue.user.signature(), &message)?
        }
        MergeMethod::Rebase => rebase(here, base, pull.head)?.ok_or_else(conflict)?,
    };
    // Marked first, so that the moved base does not find the pull request open and close it a second time.
    let pull = state.repository_mut(full_name)?.pull_mut(number)?;
    pull.merged = Some(CompletedMerge { at: now(), by: by.clone(), commit });
    state.repository_mut(full_name)?.issue_mut(number)?.open = false;
    state.move_reference(full_name, &base_ref, Some(commit), by)?;
    state.repository_mut(full_name)?.issue_mut(number)?.open = true;
    state.mark_merged(full_name, number, commit, by)?;
    Ok(commit)
}

/// The commits of a head made again on top of a base, `None` where one conflicts.
fn rebase(here: &ForgeRepository, base: ObjectId, head: ObjectId) -> Result<Option<ObjectId>, StoreError> {
    let store = &here.store;
    let mut tip = base;
    for id in store.commits_between(store.merge_base(base, head)?, head)? {
        let commit = store.known_commit(id)?;
        let [parent] = commit.parents.as_slice() else { continue };
        let Some(tree) = pick(here, *parent, id, tip)? else { return Ok(None) };
        let new = NewCommit {
            tree,
            parents: &[tip],
            author: &commit.author,
            committer: &web_flow(),
            message: &commit.message,
        };
        tip = store.write_commit(&new, None)?;
    }
    Ok(Some(tip))
}

/// The tree of `onto` with the change from `parent` to `commit`. Older `git` takes no merge base, so the
/// three trees become a small history in which it is the parent.
fn pick(
    here: &ForgeRepository,
    parent: ObjectId,
    commit: ObjectId,
    onto: ObjectId,
) -> Result<Option<ObjectId>, StoreError> {
    let store = &here.store;
    let dress = |of: ObjectId, parents: &[ObjectId], message: &str| {
        let tree = store.known_commit(of)?.tree;
        let who = web_flow();
        store.write_commit(&NewCommit { tree, parents, author: &who, committer: &who, message }, None)
    };
    let origin = dress(parent, &[], "base")?;
    let ours = dress(onto, &[origin], "ours")?;
    let theirs = dress(commit, &[origin], "theirs")?;
    store.merge_trees(ours, theirs)
}
