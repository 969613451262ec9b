//! Files that the base's kustomizations read besides resources, as changes and conflicts of the upgrade.

use serde_json::json;

use super::plan::Plan;
use super::{Change, Conflict, Reason, Side, redact};
use crate::merge::cluster_merge::MergedInput;
use crate::merge::decision::DecisionKind;
use crate::settings::ConflictPolicy;
use capstan_model::file_change::FileChange;
use capstan_model::object::FieldPath;
use capstan_model::tree::{RepoPath, is_manifest};
use capstan_yaml::manifest::identity;
use capstan_yaml::{Node, Value, YamlFile};

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
            old: shown(input, &input.cluster),
            new: shown(input, &input.release),
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
            base: shown(input, &input.base),
            cluster: shown(input, &input.cluster),
            release: shown(input, &input.release),
            kept,
            blocks,
        });
    }

    /// The base's own kustomization.
    fn kustomization(&self) -> Option<capstan_model::object::ObjectId> {
        let at = self.base.kustomizations.start;
        self.base.objects.get(at).map(|object| object.id.clone())
    }
}

/// A file's text as it may be shown: whole, or not at all. Of a Secret, and of a patch in which something is
/// secret, nothing is; nor of a JSON patch, whose values do not say where they go.
fn shown(input: &MergedInput, text: &Option<String>) -> Option<Value> {
    let text = text.as_deref()?;
    let hides = |root: &Node| {
        let id = identity(root);
        let value = root.value();
        root.as_sequence().is_some()
            || id.is_some_and(|id| redact(&id, &FieldPath::root(), Some(&value)) != value)
    };
    let is_manifest = RepoPath::parse(&input.below).is_ok_and(|path| is_manifest(&path));
    let is_secret = || match YamlFile::read(text) {
        Ok(file) => file.documents().iter().any(|document| hides(&document.root)),
        Err(_) => true,
    };
    let hidden = input.is_secret || is_manifest && is_secret();
    Some(if hidden { json!({"redacted": true}) } else { Value::from(text) })
}
