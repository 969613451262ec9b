//! Which clusters a change touches: those that are made of something else after it, wherever that lies.

use std::sync::Arc;

use capstan_bot_core::facts::Scopes;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::proposal::Scope;

use super::{Run, SyncError};

impl Run<'_> {
    /// The clusters among these targets that are made of something else in the second snapshot, ordered.
    pub(super) async fn touched(
        &self,
        before: &Arc<dyn Tree>,
        after: &Arc<dyn Tree>,
        scopes: &Scopes,
    ) -> Result<Vec<ClusterId>, SyncError> {
        if before.folder_id(&RepoPath::root()).is_some()
            && before.folder_id(&RepoPath::root()) == after.folder_id(&RepoPath::root())
        {
            return Ok(Vec::new());
        }
        let (before, after) = (before.clone(), after.clone());
        let scopes: Vec<Scope> = scopes.values().cloned().collect();
        Ok(self.ask_planner(move |planner| planner.touched(before, after, &scopes)).await??)
    }
}
