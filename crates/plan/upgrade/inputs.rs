//! Files that the base's kustomizations read besides resources, as changes and conflicts of the upgrade.

use serde_json::json;

use super::context::Context;
use super::model::{Change, ChangeReason, Conflict, Settlement, Side};
use super::redact::redact;
use super::said::UpgradeReport;
use crate::merge::cluster_merge::MergedInput;
use crate::merge::decision::DecisionKind;
use crate::settings::ConflictPolicy;
use capstan_model::file_change::FileChange;
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::{RepoPath, is_manifest};
use capstan_yaml::manifest::identity;
use capstan_yaml::{Node, Value, YamlFile};

/// Settles one of them; what it becomes, where the release's text comes.
pub(super) fn input(
    context: Context<'_>,
    input: &MergedInput,
    said: &mut UpgradeReport,
) -> Option<FileChange> {
    let path = context.request.cluster.base_folder.join(&input.below).ok()?;
    let policy = context.request.settings.conflicts;
    let (kept, blocks) = match (input.kind, policy) {
        (DecisionKind::Take, _) => return take(context, input, path, said),
        (_, ConflictPolicy::Take) => (Side::Release, false),
        (_, ConflictPolicy::Block) => (Side::Cluster, true),
        (_, ConflictPolicy::Keep) => (Side::Cluster, false),
    };
    if blocks {
        said.blocked.push(format!("{path}: the cluster changed it too."));
    }
    said.conflicts.extend(kustomization(context).map(|object| Conflict {
        object,
        place: Place::known(path.clone(), input.cluster.as_ref().map(|_| 1), None),
        path: FieldPath::root(),
        base: shown(input, &input.base),
        cluster: shown(input, &input.cluster),
        release: shown(input, &input.release),
        kept,
        blocks,
        settling: Settlement::default(),
    }));
    if kept == Side::Release { take(context, input, path, said) } else { None }
}

fn take(
    context: Context<'_>,
    input: &MergedInput,
    path: RepoPath,
    said: &mut UpgradeReport,
) -> Option<FileChange> {
    said.changes.push(Change {
        object: kustomization(context)?,
        place: Place::known(path.clone(), input.cluster.as_ref().map(|_| 1), None),
        path: FieldPath::root(),
        old: shown(input, &input.cluster),
        new: shown(input, &input.release),
        from: None,
        reason: ChangeReason::Release,
    });
    let (before, after) = (input.cluster.clone(), input.release.clone());
    Some(FileChange { path, before, after })
}

/// The base's own kustomization.
fn kustomization(context: Context<'_>) -> Option<ObjectId> {
    let at = context.base.kustomizations.start;
    context.base.objects.get(at).map(|object| object.id.clone())
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
