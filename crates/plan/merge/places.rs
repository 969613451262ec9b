//! Where in its files a release has what it says of an object.

use super::decision::{MergeDecision, ReleasePlaces};
use super::piece::ReleasePiece;
use super::source::ReleaseSource;
use capstan_kustomize::conversion::{Conversion, ConversionStep};
use capstan_model::finding::Place;
use capstan_model::object::FieldPath;
use capstan_yaml::Node;

/// Where both releases have what they say of one object.
pub(super) struct Places<'p, 'a> {
    /// `None` where the old release is unknown.
    pub(super) old: Option<PlacesIn<'p, 'a>>,
    pub(super) new: PlacesIn<'p, 'a>,
}

impl Places<'_, '_> {
    /// The places of a field that both count alike.
    pub(super) fn of(&self, path: &FieldPath) -> ReleasePlaces {
        let old = self.old.as_ref().and_then(|old| old.place_of(path));
        ReleasePlaces { old, new: self.new.place_of(path) }
    }

    /// The places of what was decided about: the old one of what the cluster has, the new one of what it would get.
    pub(super) fn of_decision(&self, decision: &MergeDecision) -> ReleasePlaces {
        let old = self.old.as_ref().filter(|_| decision.cluster.is_some());
        let new = decision.release.is_some().then_some(&self.new);
        ReleasePlaces {
            old: old.and_then(|old| old.place_of(&decision.path_in_old)),
            new: new.and_then(|new| new.place_of(&decision.path_in_new)),
        }
    }

    /// The places of the fields that a conversion touches.
    pub(super) fn of_conversion(&self, conversion: &Conversion) -> Vec<(FieldPath, ReleasePlaces)> {
        let steps = conversion.steps.iter().map(|step| match step {
            ConversionStep::Move { to: field, .. }
            | ConversionStep::Replace { at: field, .. }
            | ConversionStep::Itemize { at: field, .. }
            | ConversionStep::Remove { at: field }
            | ConversionStep::Add { at: field, .. } => (field.clone(), self.of(field)),
        });
        steps.collect()
    }
}

/// Where a release has what it says of one object.
pub(super) struct PlacesIn<'p, 'a> {
    pub(super) source: &'a ReleaseSource,
    pub(super) pieces: &'p [&'a ReleasePiece],
    /// All of it, as the cluster sees it; `None` where the release says nothing.
    pub(super) side: Option<&'p Node>,
}

impl PlacesIn<'_, '_> {
    /// The place of a field, or of what is nearest above it: in the last piece that has it, else that of the
    /// first one's document.
    fn place_of(&self, path: &FieldPath) -> Option<Place> {
        let side = self.side?;
        let path = std::iter::successors(Some(path.clone()), FieldPath::parent)
            .find(|path| side.at(path).is_some())?;
        let piece = self.pieces.iter().rev().find(|piece| piece.root.at(&path).is_some());
        let piece = piece.or(self.pieces.first())?;
        let exact = piece.root.at(&path).zip(self.source.document(piece));
        let line = exact.map(|(node, (yaml, _))| yaml.position(node.span.start).line);
        Some(
            line.map_or_else(|| piece.place.clone(), |line| Place::line_of(piece.place.file().clone(), line)),
        )
    }
}
