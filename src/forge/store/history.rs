//! Histories: what is reachable, merges, patches.

use std::process::Stdio;

use gix::ObjectId;

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
        if self.commit(ancestor)?.is_some_and(|found| found.parents.contains(&commit)) {
            return Ok(false);
        }
        let mut command = self.command();
        command.args(["merge-base", "--is-ancestor", &ancestor.to_string(), &commit.to_string()]);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        Ok(status.is_ok_and(|status| status.success()))
    }

    /// The best common ancestor, `None` for unrelated histories.
    pub(crate) fn merge_base(&self, left: ObjectId, right: ObjectId) -> Result<Option<ObjectId>, StoreError> {
        if self.is_ancestor(left, right)? {
            return Ok(Some(left));
        }
        let found = self.git(&["merge-base", &left.to_string(), &right.to_string()]);
        Ok(found.ok().and_then(|out| parse_id(String::from_utf8_lossy(&out).trim())))
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
        let mut args = vec!["rev-list".to_owned(), "--topo-order".into(), "--reverse".into(), to.to_string()];
        args.extend(from.map(|from| format!("^{from}")));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let out = self.git(&args)?;
        Ok(String::from_utf8_lossy(&out).lines().filter_map(parse_id).collect())
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
