//! Whole objects that come, and those that both sides changed ([U4]).
//!
//! [U4]: crate::merge::objects#u4

use std::borrow::Cow;

use super::instance::instance;
use super::plan::Plan;
use super::rotation::Rotated;
use super::{Change, Conflict, Reason, Side};
use crate::merge::cluster_merge::KindChange;
use crate::merge::cluster_merge::{NewObject, ObjectConflict};
use crate::merge::matched::Matched;
use crate::merge::nodes::set_text;
use crate::settings::ConflictPolicy;
use crate::templates::references;
use capstan_model::object::FieldPath;

impl Plan<'_> {
    /// A whole object comes.
    pub(super) fn add(&mut self, matched: &Matched<'_>, new: &NewObject) {
        let piece = matched.pieces[new.piece];
        let Ok(file) = self.file_of_new(&piece.file) else { return };
        for missing in &new.missing {
            self.new_without_value(new, &piece.place, missing);
        }
        let mut node = Cow::Borrowed(&new.node);
        for reference in references(&new.id.group, &new.id.kind, &new.node) {
            let follows = |rotated: &&Rotated| reference.means(new.id.namespace.as_deref(), &rotated.id);
            if let Some(rotated) = self.rotated.iter().find(follows) {
                set_text(node.to_mut(), reference.path.steps(), &rotated.new);
            }
        }
        self.changes.push(Change {
            object: new.id.clone(),
            file,
            line: None,
            path: FieldPath::root(),
            old: None,
            new: Some(node.value()),
            from: None,
            reason: Reason::Object,
        });
        self.brought.push(new.id.clone());
        let text = instance(self.request.new.documents(), piece, &node);
        self.draft.add_document(self.base, &piece.file, text);
    }

    fn file_of_new(
        &self,
        below: &str,
    ) -> Result<capstan_model::tree::RepoPath, capstan_model::tree::InvalidPath> {
        self.request.cluster.base_folder.join(below)
    }

    pub(super) fn object_conflict(
        &mut self,
        matched: &Matched<'_>,
        kinds: &[KindChange],
        conflict: &ObjectConflict,
    ) {
        let policy = self.request.settings.conflicts;
        let kept = if policy == ConflictPolicy::Take { Side::Release } else { Side::Cluster };
        // Kept beside the one that comes in its place, it would be named by nothing.
        let heir = kinds.iter().find(|change| Some(change.object) == conflict.object);
        let blocks = policy == ConflictPolicy::Block || (heir.is_some() && kept == Side::Cluster);
        let (file, line) = match (conflict.object, &conflict.new) {
            (Some(object), _) => {
                let at = self.base.node(object).span.start;
                (self.base.file_of(object).path.clone(), Some(self.base.position(object, at).line))
            }
            (None, Some(new)) => match self.file_of_new(&matched.pieces[new.piece].file) {
                Ok(file) => (file, None),
                Err(_) => return,
            },
            (None, None) => return,
        };
        self.conflicts.push(Conflict {
            object: conflict.id.clone(),
            file,
            line,
            path: FieldPath::root(),
            base: conflict.base.as_ref().map(capstan_yaml::Node::value),
            cluster: conflict.object.map(|object| self.base.node(object).value()),
            release: conflict.release.as_ref().map(capstan_yaml::Node::value),
            kept,
            blocks,
        });
        if blocks {
            if let (Some(object), Some(_)) = (conflict.object, heir) {
                self.forbid_kind_change(object);
            }
            self.blocked.push(match heir {
                Some(heir) => format!(
                    "{}: the cluster changed it, and the release puts {} in its place.",
                    conflict.id, heir.added
                ),
                None => format!("{}: the cluster and the release changed it.", conflict.id),
            });
        }
        if kept == Side::Release {
            match (conflict.object, &conflict.new) {
                (Some(object), _) => self.remove(object),
                (None, Some(new)) => self.add(matched, new),
                (None, None) => {}
            }
        }
    }
}
