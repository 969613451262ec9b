//! The plan that brings one target's objects to newer API versions, whatever release it has.

use capstan_model::rest::Rest;
use capstan_plan::migration::{Moves, WantedVersion};
use capstan_plan::policy::InstalledProviders;
use capstan_plan::upgrade::{self, OldSource, Upgrade, UpgradeRequest};

use super::inputs::used_elsewhere;
use super::judge::judge;
use super::read_set::RestrictedTree;
use super::reading::{Needs, Prepared, Reading, StepFacts, Unplanned};
use super::step_facts::{cluster_facts, merge_settings};

/// Plans it: to the versions asked for, or to the newest that these providers serve.
///
/// # Errors
/// What cannot be read or rendered; what has to be given too.
pub(super) fn migrate(
    reading: &Reading,
    facts: StepFacts<'_>,
    prepared: &Prepared,
    (wanted, installed): (&[WantedVersion], &InstalledProviders),
) -> Result<Upgrade, Unplanned> {
    let StepFacts { conditions, contents, given, .. } = facts;
    let Reading { cluster, effective, standing, .. } = reading;
    let tree = RestrictedTree::new(contents.repository(), cluster.id.folder(), &given.outside);
    let (flux, classes) = (given.flux.clone().unwrap_or_default(), used_elsewhere(&given.own_classes));
    let of_cluster = cluster_facts(&tree, cluster, effective, standing.release.clone(), flux, classes)?;
    let moves = Moves::of(&of_cluster, wanted, contents.schemas(), installed)?;
    let planned = match moves.migration {
        None => None,
        Some(migration) => {
            let mut planned = upgrade::plan(&UpgradeRequest {
                cluster: &of_cluster,
                old: OldSource::Known(&migration.old),
                new: &migration.new,
                settings: &merge_settings(conditions.settings),
                schemas: contents.schemas(),
                retarget: given.retarget,
            })?;
            planned.upgrade.notes.extend(migration.notes);
            planned.upgrade.findings.extend(cluster.findings.iter().cloned());
            Some(judge(reading, StepFacts { tree: &tree, ..facts }, prepared, planned, None))
        }
    };
    // Discard the result, even an error, if the plan read places that it was not given.
    let places = tree.missed();
    if !places.is_empty() {
        return Err(Unplanned::Needs(Needs { places, ..Needs::default() }));
    }
    let Some(planned) = planned else { return Ok(stays(reading, moves.held)) };
    let mut upgrade = planned?;
    upgrade.notes.extend(moves.held);
    if upgrade.rollouts.is_empty() && upgrade.blocked.is_empty() {
        upgrade.notes.push("0 machines are replaced.".to_owned());
    }
    Ok(upgrade)
}

fn stays(reading: &Reading, held: Vec<String>) -> Upgrade {
    let why = "No object has a newer API version that is asked for and that Capstan converts to.";
    Upgrade {
        notes: if held.is_empty() { vec![why.to_owned()] } else { held },
        rest: Rest::Current,
        ..Upgrade::nothing(reading.cluster.folder.target())
    }
}
