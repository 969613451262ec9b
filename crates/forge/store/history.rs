//! Histories: what is reachable, merges, patches.

use std::process::Stdio;

use gix::ObjectId;
use gix::traverse::commit::topo;

use super::bare::Store;
use super::commit::parse_id;
use super::error::StoreError;
use super::process::{not_started, refused};

impl Store {
    /// Whether `ancestor` is reachable from `commit`.
    pub(crate) fn is_ancestor(&self, ancestor: ObjectId, commit: ObjectId) -> Result<bool, StoreError> {
        if ancestor == commit || self.commit(commit)?.is_some_and(|found| found.parents.contains(&ancestor)) {
            return Ok(true);
        }
        // What a commit was made upon cannot reach it.
        let Some(found) = self.commit(ancestor)? else { return Ok(false) };
        Ok(!found.parents.contains(&commit) && self.merge_base(ancestor, commit)? == Some(ancestor))
    }

    /// The best common ancestor, `None` for unrelated histories.
    pub(crate) fn merge_base(&self, left: ObjectId, right: ObjectId) -> Result<Option<ObjectId>, StoreError> {
        if self.commit(right)?.is_some_and(|found| found.parents.contains(&left)) {
            return Ok(Some(left));
        }
        let repository = self.walker();
        let found = repository.merge_base(left, right).map_err(unread)?;
        Ok(found.map(gix::Id::detach))
    }

    /// The commits reachable from `to` and not from `from`, oldest first.
    pub(crate) fn commits_between(
        &self,
        from: Option<ObjectId>,
        to: ObjectId,
    ) -> Result<Vec<ObjectId>, StoreError> {
        if from == Some(to) {
            return Ok(Vec::new());
        }
        if let Some(from) = from
            && self.commit(to)?.is_some_and(|commit| commit.parents == [from])
        {
            return Ok(vec![to]);
        }
        let repository = self.walker();
        let walk = topo::Builder::from_iters(&repository.objects, [to], from.map(|from| [from]));
        let walk = walk.sorting(topo::Sorting::TopoOrder).build().map_err(unread)?;
        let found: Result<Vec<ObjectId>, _> = walk.map(|commit| commit.map(|commit| commit.id)).collect();
        let mut found = found.map_err(unread)?;
        found.reverse();
        Ok(found)
    }

    /// The tree of a three-way merge, `None` where it conflicts.
    pub(crate) fn merge_trees(
        &self,
        ours: ObjectId,
        theirs: ObjectId,
    ) -> Result<Option<ObjectId>, StoreError> {
        if self.is_ancestor(ours, theirs)? {
            return Ok(Some(self.known_commit(theirs)?.tree));
        }
        let mut command = self.command();
        command.args(["merge-tree", "--write-tree", "--no-messages", "--allow-unrelated-histories"]);
        command.args([ours.to_string(), theirs.to_string()]);
        let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(&command, &error))?;
        match output.status.code() {
            Some(0) => {
                let out = String::from_utf8_lossy(&output.stdout);
                Ok(out.lines().next().and_then(parse_id))
            }
            Some(1) => Ok(None),
            _ => Err(refused(&command, &output.stderr)),
        }
    }

    /// A unified diff between two trees.
    pub(crate) fn patch(&self, before: ObjectId, after: ObjectId) -> Result<String, StoreError> {
        let out =
            self.git(&["diff", "--no-color", "--no-renames", &before.to_string(), &after.to_string()])?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

fn unread(error: impl std::fmt::Display) -> StoreError {
    StoreError::Odb(error.to_string())
}
