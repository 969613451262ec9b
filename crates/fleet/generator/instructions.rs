//! What people asked of upgrades.

use std::collections::BTreeMap;

use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_plan::upgrade::{Retarget, SettledConflict, Versions};

/// What people asked of the upgrade that sources of one kind bring to a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The release that it is planned to, instead of the one that would be offered.
    pub release: Option<ReleaseName>,
    /// Conflicts that they settled.
    pub settled: Vec<SettledConflict>,
    /// Whether it may edit, in the overlay, the names of templates that it rotates.
    pub retarget: Retarget,
    /// Whether versions and images move.
    pub versions: Versions,
}

static NOTHING: Instructions = Instructions {
    release: None,
    settled: Vec::new(),
    retarget: Retarget::Refused,
    versions: Versions::Move,
};

/// The same of all upgrades.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AllInstructions(BTreeMap<SourceKind, BTreeMap<ClusterId, Instructions>>);

impl AllInstructions {
    pub(super) fn of(&self, kind: &SourceKind, cluster: &ClusterId) -> &Instructions {
        self.0.get(kind).and_then(|clusters| clusters.get(cluster)).unwrap_or(&NOTHING)
    }

    /// An entry that asks for nothing is removed, so that equal instructions compare as equal.
    pub(super) fn change(
        &mut self,
        kind: SourceKind,
        cluster: ClusterId,
        change: impl FnOnce(&mut Instructions),
    ) {
        let clusters = self.0.entry(kind).or_default();
        let mut given = clusters.remove(&cluster).unwrap_or_default();
        change(&mut given);
        if given != NOTHING {
            clusters.insert(cluster, given);
        }
    }

    /// What concerns sources of one kind.
    pub(super) fn of_kind(&self, kind: &SourceKind) -> BTreeMap<ClusterId, Instructions> {
        self.0.get(kind).cloned().unwrap_or_default()
    }
}
