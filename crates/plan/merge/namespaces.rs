//! Namespaces that a release adds to its objects, changes or drops ([U2]): another namespace is another object.
//!
//! The namespace that a release writes is mostly a placeholder (`default`, a variable): its objects are the
//! cluster's whatever namespace those live in, and nothing follows it. What a release adds or changes
//! between O and N is either such a placeholder, for all its objects, and then said; or it means another
//! object, and then the plan blocks. One that it drops means the namespace of the cluster's own objects, and
//! another object where this one lives elsewhere.
//!
//! [U2]: crate::merge::matching#u2

use super::cluster_merge::{NamespaceChange, NamespaceMeaning};
use super::matched::Matched;
use super::piece::{ReleasePiece, Shape};
use super::views::Work;
use crate::substitution::Substitution;

impl<'a> Work<'_, 'a> {
    pub(super) fn namespace_change(
        &self,
        object: usize,
        old: &[&'a ReleasePiece],
        new: &[&'a ReleasePiece],
    ) -> Option<NamespaceChange> {
        let whole =
            |pieces: &[&'a ReleasePiece]| pieces.iter().copied().find(|piece| piece.shape == Shape::Whole);
        let (old, new) = ((self.old?, whole(old)?), (self.new, whole(new)?));
        let bound = |(matched, piece): (&Matched<'_>, &ReleasePiece)| {
            let scope = matched.scope(self.bindings, Substitution::FULL);
            piece.namespace.as_deref().map(|namespace| scope.text(namespace))
        };
        let (was, is) = (bound(old), bound(new));
        let base = self.input.base;
        let own = base.objects[object].id.namespace.as_deref();
        let Some(is) = is else {
            let leaves = was.is_some() && was.as_deref() == own && base.namespace() != own;
            let change =
                NamespaceChange { object, old: was, new: None, meaning: NamespaceMeaning::AnotherObject };
            return leaves.then_some(change);
        };
        let kustomized = || {
            let mut of_base = base.kustomizations.clone().map(|at| base.node(at).get("namespace"));
            own.is_none() && of_base.any(|node| node.and_then(|node| node.as_str()) == Some(is.as_str()))
        };
        let stays = was.as_deref() == Some(is.as_str())
            || own == Some(is.as_str())
            || own == new.1.namespace.as_deref()
            || is.contains("${")
            || kustomized();
        if stays {
            return None;
        }
        let follows = self.new.moved.as_ref().is_some_and(|(release, to)| *release == is && own == Some(to));
        let meaning = if follows && was.as_deref() != own {
            NamespaceMeaning::Placeholder
        } else {
            NamespaceMeaning::AnotherObject
        };
        Some(NamespaceChange { object, old: was, new: Some(is), meaning })
    }
}
