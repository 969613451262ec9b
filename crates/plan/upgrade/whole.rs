//! Whole objects that come, and those that both sides changed ([U4]).
//!
//! [U4]: crate::merge::objects#u4

use std::borrow::Cow;

use super::context::Context;
use super::instance::instance;
use super::model::{Change, ChangeReason, Conflict, Settlement, Side};
use super::removal::forbid_kind_change;
use super::retarget::Rotated;
use super::rotation::Rotation;
use super::said::UpgradeReport;
use super::variables::new_without_value;
use crate::merge::cluster_merge::{ClusterMerge, KindChange, NewObject, ObjectConflict};
use crate::merge::matched::Matched;
use crate::merge::nodes::set_text;
use crate::settings::ConflictPolicy;
use crate::templates::{naming_values, references, renamed};
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::{InvalidPath, RepoPath};

/// An upgrade in which everything is decided that is in the base's objects.
#[derive(Debug)]
pub(super) struct WholeUpgrade {
    pub(super) rotation: Rotation,
    /// Whole objects that come: a tombstone of one of them goes.
    pub(super) brought: Vec<ObjectId>,
}

impl WholeUpgrade {
    /// Brings what comes, and settles what both sides changed as a whole.
    pub(super) fn of(
        context: Context<'_>,
        rotation: Rotation,
        matched: &Matched<'_>,
        merge: &ClusterMerge,
        said: &mut UpgradeReport,
    ) -> Self {
        let mut bringing = Bringing { context, matched, done: Self { rotation, brought: Vec::new() }, said };
        merge.added.iter().for_each(|new| bringing.add(new));
        for conflict in &merge.conflicts {
            bringing.conflict(&merge.kind_changes, conflict);
        }
        bringing.done
    }
}

/// What this step reads, and its result so far.
struct Bringing<'b, 'a> {
    context: Context<'b>,
    /// The new release.
    matched: &'b Matched<'a>,
    done: WholeUpgrade,
    said: &'b mut UpgradeReport,
}

impl Bringing<'_, '_> {
    /// A whole object comes.
    fn add(&mut self, new: &NewObject) {
        let piece = self.matched.pieces[new.piece];
        let Ok(file) = self.file_of_new(&piece.file) else { return };
        for missing in &new.missing {
            new_without_value(self.context, new, &piece.place, missing, self.said);
        }
        let mut node = Cow::Borrowed(&new.node);
        for reference in references(&new.id.group, &new.id.kind, &new.node) {
            let follows = |rotated: &&Rotated| reference.means(new.id.namespace.as_deref(), &rotated.id);
            if let Some(rotated) = self.done.rotation.rotated.iter().find(follows) {
                set_text(node.to_mut(), reference.path.steps(), &rotated.new);
            }
        }
        for value in naming_values(&new.id.group, &new.id.kind, &new.node) {
            let follows = |rotated: &&Rotated| value.means(&rotated.id);
            let rotated = self.done.rotation.rotated.iter().find(follows);
            if let Some(text) = rotated.and_then(|to| renamed(value.text, &to.id.name, &to.new)) {
                set_text(node.to_mut(), value.path.steps(), &text);
            }
        }
        self.said.changes.push(Change {
            object: new.id.clone(),
            place: Place::whole(file),
            path: FieldPath::root(),
            old: None,
            new: Some(node.value()),
            from: None,
            reason: ChangeReason::Object,
        });
        self.done.brought.push(new.id.clone());
        let text = instance(self.context.request.new.documents(), piece, &node);
        self.done.rotation.reduced.draft.add_document(self.context.base, &piece.file, text);
    }

    fn file_of_new(&self, below: &str) -> Result<RepoPath, InvalidPath> {
        self.context.request.cluster.base_folder.join(below)
    }

    fn conflict(&mut self, kinds: &[KindChange], conflict: &ObjectConflict) {
        let policy = self.context.request.settings.conflicts;
        let kept = if policy == ConflictPolicy::Take { Side::Release } else { Side::Cluster };
        // Kept beside the one that comes in its place, it would be named by nothing.
        let successor = kinds.iter().find(|change| Some(change.object) == conflict.object);
        let blocks = policy == ConflictPolicy::Block || (successor.is_some() && kept == Side::Cluster);
        let base = self.context.base;
        let place = match (conflict.object, &conflict.new) {
            (Some(object), _) => base.line(object, Some(base.node(object).span.start)),
            (None, Some(new)) => match self.file_of_new(&self.matched.pieces[new.piece].file) {
                Ok(file) => Place::whole(file),
                Err(_) => return,
            },
            (None, None) => return,
        };
        self.said.conflicts.push(Conflict {
            object: conflict.id.clone(),
            place,
            path: FieldPath::root(),
            base: conflict.base.as_ref().map(capstan_yaml::Node::value),
            cluster: conflict.object.map(|object| self.context.base.node(object).value()),
            release: conflict.release.as_ref().map(capstan_yaml::Node::value),
            kept,
            blocks,
            settling: Settlement::default(),
        });
        if blocks {
            if let (Some(object), Some(_)) = (conflict.object, successor) {
                forbid_kind_change(self.context, object, self.said);
            }
            self.said.blocked.push(match successor {
                Some(successor) => format!(
                    "{}: the cluster changed it, and the release replaces it with {}.",
                    conflict.id, successor.added
                ),
                None => format!("{}: the cluster changed it too.", conflict.id),
            });
        }
        if kept == Side::Release {
            match (conflict.object, &conflict.new) {
                (Some(object), _) => self.done.rotation.reduced.remove(self.context, object, self.said),
                (None, Some(new)) => self.add(new),
                (None, None) => {}
            }
        }
    }
}
