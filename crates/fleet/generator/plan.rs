//! One cluster's plan, and its status.

use capstan_model::ids::{ClusterId, ReleaseId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::target::TargetKind;
use capstan_plan::migration::WantedVersion;
use capstan_plan::path::{self, NoSuchRelease, UpgradePath};
use capstan_plan::proposal::{Wanted, wanted};
use capstan_plan::upgrade::{Explanation, Provenance, Upgrade, ValuesCourse, explain};

use super::contents::Contents;
use super::inputs::StepInputs;
use super::planning::{Prepared, Reading, StepFacts, require_readable};
use super::{Fleet, Refused};

/// A plan, or why there is none.
pub type Planned = Result<Upgrade, Refused>;

/// A plan with its reasons, or why there is none.
pub type PlannedWithReasons = Result<UpgradeWithReasons, Refused>;

/// An upgrade, and what the merge recorded of its reasons.
pub struct UpgradeWithReasons {
    pub upgrade: Upgrade,
    provenance: Provenance,
}

impl UpgradeWithReasons {
    /// Why the upgrade is what it is.
    pub fn explanation(&self) -> Explanation {
        explain(&self.provenance, &self.upgrade)
    }
}

/// The status of a cluster, for tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What it is.
    pub kind: TargetKind,
    /// Its release; `None` = unknown.
    pub current: Option<ReleaseId>,
    /// The release that it is offered next: one to which its upgrade would be written.
    pub offered: Option<ReleaseId>,
    /// The same if its upgrade must not be written before a person has decided something.
    pub blocked: Option<ReleaseId>,
    /// Whether something that is meant for it cannot be planned; the notes say why.
    pub failed: bool,
    /// Why nothing is offered, and what else a person should know.
    pub notes: Vec<String>,
}

impl Summary {
    /// Withdraws the offered release if its plan changes nothing, is blocked or failed, and notes why.
    fn see(&mut self, planned: &Planned) {
        let Some(to) = self.offered.take() else { return };
        match wanted(&SourceKind::RELEASE, &planned.as_ref().map_err(ToString::to_string)) {
            Wanted::Offer(_) => self.offered = Some(to),
            Wanted::Blocked { why } => {
                self.notes.insert(0, format!("Its upgrade to {to} is blocked. {}", why.join(" ")));
                self.blocked = Some(to);
            }
            Wanted::Nothing { why, .. } => self.notes.insert(0, why),
            Wanted::Unplannable { why } => {
                self.failed = true;
                let why = why.trim_end_matches('.');
                self.notes.insert(0, format!("Its upgrade to {to} cannot be planned: {why}."));
            }
        }
    }

    /// Notes the change that the inventory brings, or why it brings none.
    fn see_inventory(&mut self, planned: Option<&Planned>) {
        let Some(planned) = planned else { return };
        let planned = planned.as_ref().map_err(ToString::to_string);
        match wanted(&SourceKind::INVENTORY, &planned) {
            Wanted::Blocked { why } => {
                self.notes.push(format!("Its change by the inventory is blocked. {}", why.join(" ")));
            }
            Wanted::Unplannable { why } => {
                self.failed = true;
                let why = why.trim_end_matches('.');
                self.notes.push(format!("Its change by the inventory cannot be planned: {why}."));
            }
            Wanted::Offer(_) => {
                let goes = planned.iter().filter_map(|upgrade| upgrade.values.as_ref());
                let says = match goes.map(|values| values.course).next() {
                    Some(ValuesCourse::Goes) => "The inventory removes it.",
                    _ => "The inventory changes its values.",
                };
                self.notes.push(says.to_owned());
            }
            Wanted::Nothing { .. } => {}
        }
    }
}

impl Fleet {
    /// The status of a cluster and what it is offered, by its plan: a blocked upgrade is not offered.
    ///
    /// # Errors
    /// A file of it that cannot be read.
    pub fn summary(&self, id: &ClusterId, planned: &Planned) -> Result<Summary, Refused> {
        let offered = self.offered(id, None)?;
        let (unknown, _) = offered.unknown_release(self.conditions(), self);
        let mut notes: Vec<String> = unknown.into_iter().map(|finding| finding.message + ".").collect();
        notes.extend(offered.reason());
        let offer = &offered.offer;
        notes.extend(offer.notes.iter().cloned());
        let mut summary = Summary {
            kind: offered.reading.cluster.folder.kind,
            offered: offer.step().map(|step| step.to.clone()),
            blocked: None,
            failed: false,
            current: offer.from.clone(),
            notes,
        };
        summary.see(planned);
        summary.see_inventory(self.plan_values(id).as_ref());
        Ok(summary)
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
    /// A file that cannot be read, a cluster that cannot be rendered, a release that does not exist. A blocked upgrade
    /// does not return an error: its reasons are in [`Upgrade::blocked`](capstan_plan::upgrade::Upgrade).
    pub fn plan(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> Planned {
        self.plan_with_reasons(id, asked).map(|planned| planned.upgrade)
    }

    /// Plans newer API versions for the objects of a target: those asked for, or the newest.
    ///
    /// # Errors
    /// A file that cannot be read, a target that cannot be rendered.
    pub fn plan_migration(&self, id: &ClusterId, wanted: &[WantedVersion]) -> Planned {
        let reading = Reading::of(self.conditions(), self, id)?;
        let plan = |given: &StepInputs, prepared: &Prepared| {
            let tree = self.repository();
            let facts = StepFacts { conditions: self.conditions(), contents: self, tree, given };
            reading.migrate(facts, prepared, (wanted, self.installed()))
        };
        Ok(self.answering((&reading, &SourceKind::MIGRATION, true), plan)?.0)
    }

    /// A plan as [`Self::plan`] makes it, with what tells why it is what it is.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn plan_with_reasons(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> PlannedWithReasons {
        let made = self.gather(id, asked)?.made;
        Ok(UpgradeWithReasons { upgrade: made.upgrade, provenance: made.provenance })
    }

    /// Whether a release that was named exists for a cluster.
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
