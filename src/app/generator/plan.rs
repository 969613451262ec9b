//! One cluster's plan, and where it stands.

use capstan_model::ids::{ClusterId, ReleaseId, ReleaseName};
use capstan_model::target::TargetKind;
use capstan_plan::path::{self, NoSuchRelease, UpgradePath};
use capstan_plan::upgrade::{Explanation, Provenance, Upgrade, explain};

use super::planning::{Reading, require_readable};
use super::{Fleet, Refused};

/// A plan, or why there is none.
pub type Planned = Result<Upgrade, Refused>;

/// A plan with its reasons, or why there is none.
pub type PlannedWithReasons = Result<UpgradeWithReasons, Refused>;

/// An upgrade, and what the merge recorded of its reasons.
pub struct UpgradeWithReasons {
    /// The upgrade.
    pub upgrade: Upgrade,
    provenance: Provenance,
}

impl UpgradeWithReasons {
    /// Why the upgrade is what it is.
    pub fn explanation(&self) -> Explanation {
        explain(&self.provenance, &self.upgrade)
    }
}

/// Where a cluster stands, for tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What it is.
    pub kind: TargetKind,
    /// Its release; `None` = unknown.
    pub current: Option<ReleaseId>,
    /// The release that it is offered next.
    pub offered: Option<ReleaseId>,
    /// Why nothing is offered, and what else a person should know.
    pub notes: Vec<String>,
}

impl Fleet {
    /// Where a cluster stands and what it is offered.
    ///
    /// # Errors
    /// A file of it that cannot be read.
    pub fn summary(&self, id: &ClusterId) -> Result<Summary, Refused> {
        let offered = self.offered(id, None)?;
        let (unknown, _) = offered.unknown_release(self.conditions(), self);
        let mut notes: Vec<String> = unknown.into_iter().map(|finding| finding.message + ".").collect();
        notes.extend(offered.reason());
        let offer = &offered.offer;
        notes.extend(offer.notes.iter().cloned());
        let kind = offered.reading.cluster.folder.kind;
        Ok(Summary {
            kind,
            offered: offer.step().map(|step| step.to.clone()),
            current: offer.from.clone(),
            notes,
        })
    }

    /// The whole upgrade path of a cluster: to the newest release that it may have, or to the one asked for.
    ///
    /// # Errors
    /// A file that cannot be read, a release that does not exist.
    pub fn upgrade_path(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> Result<UpgradePath, Refused> {
        self.require_releases()?;
        let reading = Reading::of(self.conditions(), self, id)?;
        let old = self.old_release_input(&reading.standing);
        require_readable(self.conditions(), self, &reading, old.as_ref(), asked)?;
        let Reading { standing, effective, .. } = &reading;
        Ok(path::upgrade_path(standing, effective, self.catalogue(), asked, self.today)?)
    }

    /// Plans one cluster: for the release that it is offered, or for the one asked for by name.
    ///
    /// # Errors
    /// A file that cannot be read, a cluster that cannot be rendered, a release that does not exist.
    /// An upgrade that must not go ahead is no error: it says so in
    /// [`Upgrade::blocked`](capstan_plan::upgrade::Upgrade).
    pub fn plan(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> Planned {
        self.plan_with_reasons(id, asked).map(|planned| planned.upgrade)
    }

    /// The same, with what tells why it is what it is.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn plan_with_reasons(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> PlannedWithReasons {
        let made = self.gather(id, asked)?.made;
        Ok(UpgradeWithReasons { upgrade: made.upgrade, provenance: made.provenance })
    }

    /// Whether a release that somebody named exists for a cluster.
    ///
    /// # Errors
    /// It does not (the outer error is a cluster that cannot be read).
    pub fn has_release(
        &self,
        id: &ClusterId,
        asked: &ReleaseName,
    ) -> Result<Result<(), NoSuchRelease>, Refused> {
        self.require_releases()?;
        let Reading { standing, effective, .. } = Reading::of(self.conditions(), self, id)?;
        Ok(path::offer(&standing, &effective, self.catalogue(), Some(asked), self.today).map(drop))
    }
}
