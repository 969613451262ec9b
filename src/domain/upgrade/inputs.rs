//! Files that the base's kustomizations read besides resources, as changes and conflicts of the upgrade.

use super::plan::Plan;
use super::{Change, Conflict, FileChange, Reason, Side};
use crate::merge::decision::DecisionKind;
use crate::merge::inputs::MergedInput;
use crate::object::FieldPath;
use crate::settings::ConflictPolicy;
use crate::tree::RepoPath;
use crate::yaml::Value;

impl Plan<'_> {
    /// Settles one of them.
    pub(super) fn input(&mut self, input: &MergedInput) {
        let Ok(path) = self.request.cluster.base_folder.join(&input.below) else { return };
        let policy = self.request.settings.conflicts;
        match (input.kind, policy) {
            (DecisionKind::Take, _) => self.take_input(input, path),
            (_, ConflictPolicy::Take) => {
                self.input_conflict(input, &path, Side::Release, false);
                self.take_input(input, path);
            }
            (_, ConflictPolicy::Block) => {
                self.blocked.push(format!("{path}: the cluster and the release changed it."));
                self.input_conflict(input, &path, Side::Cluster, true);
            }
            (_, ConflictPolicy::Keep) => self.input_conflict(input, &path, Side::Cluster, false),
        }
    }

    fn take_input(&mut self, input: &MergedInput, path: RepoPath) {
        let Some(object) = self.kustomization() else { return };
        self.changes.push(Change {
            object,
            file: path.clone(),
            line: input.cluster.as_ref().map(|_| 1),
            path: FieldPath::root(),
            old: input.cluster.clone().map(Value::from),
            new: input.release.clone().map(Value::from),
            from: None,
            reason: Reason::Release,
        });
        let (before, after) = (input.cluster.clone(), input.release.clone());
        self.inputs.push(FileChange { path, before, after });
    }

    fn input_conflict(&mut self, input: &MergedInput, path: &RepoPath, kept: Side, blocks: bool) {
        let Some(object) = self.kustomization() else { return };
        self.conflicts.push(Conflict {
            object,
            file: path.clone(),
            line: input.cluster.as_ref().map(|_| 1),
            path: FieldPath::root(),
            base: input.base.clone().map(Value::from),
            cluster: input.cluster.clone().map(Value::from),
            release: input.release.clone().map(Value::from),
            kept,
            blocks,
        });
    }

    /// The base's own kustomization.
    fn kustomization(&self) -> Option<crate::object::ObjectId> {
        let at = self.base.kustomizations.start;
        self.base.objects.get(at).map(|object| object.id.clone())
    }
}
