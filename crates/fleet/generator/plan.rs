//! One target's plan: by the release that it is offered, or by newer API versions.

use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_plan::migration::WantedVersion;
use capstan_plan::path::{self, NoSuchRelease, UpgradePath};
use capstan_plan::upgrade::{Explanation, Provenance, Upgrade, explain};

use super::answers::StepAnswers;
use super::gather::{Gathered, answering};
use super::inputs::StepInputs;
use super::migration::migrate;
use super::reading::{Prepared, Reading, StepFacts, require_readable};
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

/// Plans one target: for the release that it is offered, or for the one asked for by name.
///
/// # Errors
/// A file that cannot be read, a target that cannot be rendered, a release that does not exist. A blocked upgrade
/// does not return an error: its reasons are in [`Upgrade::blocked`](capstan_plan::upgrade::Upgrade).
pub fn plan_target(fleet: &Fleet, id: &ClusterId, asked: Option<&ReleaseName>) -> Planned {
    plan_with_reasons(fleet, id, asked).map(|planned| planned.upgrade)
}

/// A plan as [`plan_target`] makes it, with what tells why it is what it is.
///
/// # Errors
/// As [`plan_target`].
pub fn plan_with_reasons(fleet: &Fleet, id: &ClusterId, asked: Option<&ReleaseName>) -> PlannedWithReasons {
    let made = Gathered::of(fleet, id, asked)?.made;
    Ok(UpgradeWithReasons { upgrade: made.upgrade, provenance: made.provenance })
}

/// Plans newer API versions for the objects of a target: those asked for, or the newest.
///
/// # Errors
/// A file that cannot be read, a target that cannot be rendered.
pub(super) fn plan_migration(fleet: &Fleet, id: &ClusterId, wanted: &[WantedVersion]) -> Planned {
    let conditions = fleet.conditions();
    let reading = Reading::of(conditions, fleet, id)?;
    let tree = fleet.tree().as_ref();
    let installed = fleet.wide().installed(tree, fleet.layout());
    let plan = |given: &StepInputs, prepared: &Prepared| {
        let facts = StepFacts { conditions, contents: fleet, tree, given };
        migrate(&reading, facts, prepared, (wanted, installed))
    };
    let first = StepAnswers::first(fleet, &reading, &SourceKind::MIGRATION, true);
    Ok(answering(fleet, id, first, plan)?.0)
}

/// The whole upgrade path of a cluster: to the newest release that it may have, or to the one asked for.
///
/// # Errors
/// A file that cannot be read, a release that does not exist.
pub fn upgrade_path(
    fleet: &Fleet,
    id: &ClusterId,
    asked: Option<&ReleaseName>,
) -> Result<UpgradePath, Refused> {
    fleet.require_releases()?;
    let reading = Reading::of(fleet.conditions(), fleet, id)?;
    let old = fleet.supplement().old_release(&reading.standing);
    require_readable(fleet.conditions(), fleet, &reading, old.as_ref(), asked)?;
    let Reading { standing, effective, .. } = &reading;
    Ok(path::upgrade_path(standing, effective, fleet.catalogue(), asked, fleet.today())?)
}

/// Whether a release that was named exists for a cluster.
///
/// # Errors
/// It does not (the outer error is a cluster that cannot be read).
pub fn has_release(
    fleet: &Fleet,
    id: &ClusterId,
    asked: &ReleaseName,
) -> Result<Result<(), NoSuchRelease>, Refused> {
    fleet.require_releases()?;
    let Reading { standing, effective, .. } = Reading::of(fleet.conditions(), fleet, id)?;
    Ok(path::offer(&standing, &effective, fleet.catalogue(), Some(asked), fleet.today()).map(drop))
}
