//! One cluster's plan, made from what is given: the heart's decisions in their order.
//!
//! *Expected flow*: [`Reading::of`], [`Reading::offer`], and, if a release is offered, [`plan_step`]; each takes what
//! the one before it found. *Guarantee*: a plan reads only contents that its inputs name. To read anything else it
//! returns the question, [`Unplanned::Needs`]; the caller gathers the answer and plans again.

use capstan_model::finding::{Finding, rules};
use capstan_model::rest::Rest;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_plan::merge;
use capstan_plan::policy;
use capstan_plan::settings::WhenReleaseUnknown;
use capstan_plan::upgrade::{self, MergeSettings, OldSource, Overwrite, Provenance, Upgrade, UpgradeRequest};

use super::contents::Contents;
use super::inputs::{Conditions, PlanInputs, StepInputs, used_elsewhere};
use super::judge::judge;
use super::offered_values::offer_values;
use super::read_set::RestrictedTree;
use super::reading::{Made, Needs, Offered, Prepared, Reading, Step, StepFacts, Unplanned};
use super::service_step::plan_services;
use super::sources;
use super::step_facts::{cluster_facts, link_changelogs, merge_settings, read};
use super::step_sources::StepSources;

/// Plans the step.
///
/// # Errors
/// What cannot be read or rendered; what has to be given too.
pub(super) fn plan_step(
    step: Step<'_>,
    conditions: Conditions<'_>,
    contents: &dyn Contents,
    given: &StepInputs,
    prepared: &Prepared,
) -> Result<Made, Unplanned> {
    let Offered { reading: Reading { cluster, valued, .. }, offer, .. } = step.offered;
    let failed = step.offered.reading.failed;
    if let Some(edited) = &valued.edited {
        let upgrade = Upgrade {
            to: Some((&step.step.to).into()),
            to_content: step.step.content.as_ref().map(SourceContent::from),
            blocked: vec![format!("{}: {}.", edited.place, edited.message)],
            findings: vec![Finding::from(edited)],
            ..step.offered.empty()
        };
        return Ok(Made { upgrade, provenance: Provenance::default(), failed });
    }
    let sources = StepSources::of(step, conditions, contents)?;
    if sources.valued.as_ref().is_some_and(|valued| valued.waits) {
        let why = "The values that it was made from are not recorded: first the proposal of the inventory records them, then releases follow.";
        let upgrade = Upgrade { notes: vec![why.to_owned()], rest: Rest::Unknown, ..step.offered.empty() };
        return Ok(Made { upgrade, provenance: Provenance::default(), failed });
    }
    if sources.valued.as_ref().is_some_and(|valued| valued.is_same) {
        let why = "Its rendered objects do not change.".to_owned();
        let upgrade = Upgrade { notes: vec![why], rest: Rest::Current, ..step.offered.empty() };
        return Ok(Made { upgrade, provenance: Provenance::default(), failed });
    }
    if sources.unknown == WhenReleaseUnknown::Block && sources.old.is_none() {
        let upgrade = Upgrade {
            to: Some((&step.step.to).into()),
            to_content: step.step.content.as_ref().map(SourceContent::from),
            kubernetes: sources.release.kubernetes.clone(),
            blocked: vec![
                "The cluster's release is unknown and `upgrade.whenReleaseUnknown` is `block`: record \
                 `release` in its capstan.yaml."
                    .to_owned(),
            ],
            ..step.offered.empty()
        };
        return Ok(Made { upgrade, provenance: Provenance::default(), failed });
    }
    let tree = RestrictedTree::new(contents.repository(), cluster.id.folder(), &given.outside);
    let facts = StepFacts { conditions, contents, tree: &tree, given };
    let made = with_request(step, facts, &sources, |request| {
        let mut planned = upgrade::plan(request)?;
        if let Some(valued) = &sources.valued {
            planned.intended.extend(valued.record(&tree, cluster));
        }
        plan_services(step, facts, sources.release, request, &mut planned)?;
        let (unknown, unread) = step.offered.unknown_release(conditions, contents);
        let brought = step.offered.reading.standing.brought_by(sources.release);
        planned.upgrade.kubernetes = brought.cloned();
        planned.upgrade.kubernetes_now.clone_from(&step.offered.reading.standing.kubernetes);
        planned.upgrade.notes.extend(offer.notes.iter().cloned());
        planned.upgrade.notes.extend(note_of_past(step, contents));
        for finding in &cluster.findings {
            if finding.rule != rules::PROVIDERS_BESIDE_OTHERS {
                planned.upgrade.findings.push(finding.clone());
                continue;
            }
            let why = "The folder has provider objects and other objects of Cluster API, but a release is for one of the two.";
            planned.upgrade.findings.push(finding.clone().stopping(why));
            planned.upgrade.blocked.push(why.to_owned());
        }
        planned.upgrade.findings.extend(unknown);
        let from = planned.upgrade.from.as_ref().and_then(SourceId::release);
        let from = from.and_then(|id| contents.catalogue().find(&id));
        link_changelogs(contents, &mut planned.upgrade, from, sources.release);
        // A change of values offers no release.
        let notes = sources.release.notes.as_ref();
        let notes = notes.filter(|_| step.offered.brought_by != SourceKind::INVENTORY);
        let notes = notes.map(|entry| entry.path.clone());
        planned.upgrade.release_notes = notes;
        let release = policy::ReleaseStep {
            from,
            to: sources.release,
            place: cluster.release_scalar.as_ref().map(|scalar| scalar.place.clone()),
        };
        let provenance = std::mem::take(&mut planned.provenance);
        let mut upgrade = judge(&step.offered.reading, facts, prepared, planned, Some(release))?;
        if let Some(valued) = &sources.valued {
            valued.tell(&mut upgrade);
        }
        Ok(Made { upgrade, provenance, failed: failed || unread })
    });
    // Discard the result, even an error, if the plan read places that it was not given.
    let places = tree.missed();
    if !places.is_empty() {
        return Err(Unplanned::Needs(Needs { places, ..Needs::default() }));
    }
    let made = made?;
    Ok(Made { failed: made.failed || tree.failed(), ..made })
}

/// Asks something of the facts of the step.
fn with_request<T>(
    step: Step<'_>,
    facts: StepFacts<'_>,
    sources: &StepSources<'_>,
    ask: impl FnOnce(&UpgradeRequest<'_>) -> Result<T, Unplanned>,
) -> Result<T, Unplanned> {
    let StepFacts { conditions, contents, tree, given } = facts;
    let Offered { reading: Reading { cluster, effective, .. }, offer, .. } = step.offered;
    let old = sources.old.as_deref().map(read).transpose()?;
    let candidates = sources.candidates();
    let new = read(&sources.new)?;
    let documents = old.iter().map(|old| old.documents()).chain([new.documents()]);
    let files = sources::contents(tree, &cluster.folder, documents)?;
    let flux = given.flux.clone().unwrap_or_default();
    let classes = used_elsewhere(&given.own_classes);
    let facts = cluster_facts(tree, cluster, effective, offer.from.clone(), flux, classes)?;
    let facts = merge::ClusterFacts { contents: files, ..facts };
    let settings = merge_settings(conditions.settings);
    let settings = MergeSettings {
        settled: given.settled.clone(),
        versions: given.versions,
        overwrite: match &given.overwrite {
            Overwrite::Nothing => settings.overwrite,
            named => named.clone(),
        },
        ..settings
    };
    let request = UpgradeRequest {
        cluster: &facts,
        old: match old {
            Some(old) => OldSource::Known(old),
            None if sources.unknown == WhenReleaseUnknown::Infer => OldSource::Infer(&candidates),
            None => OldSource::Unknown,
        },
        new,
        settings: &settings,
        retarget: given.retarget,
        schemas: contents.schemas(),
    };
    ask(&request)
}

/// Where the old release was found, if that is not where one would look.
fn note_of_past(step: Step<'_>, contents: &dyn Contents) -> Option<String> {
    let old = step.offered.old.as_ref()?;
    let (_, found_in) = old.past.as_ref()?;
    let _is_used = contents.past(&old.release)?;
    Some(format!(
        "{} is no longer in a folder; its content is that of {found_in}, the last commit that had it.",
        old.release
    ))
}

/// The plan from these inputs: what the fleet comes to for the same cluster.
///
/// # Errors
/// As [`plan_step`].
pub(super) fn plan(given: &PlanInputs, contents: &dyn Contents) -> Result<Made, Unplanned> {
    let conditions = given.fleet.conditions();
    let reading = Reading::of(conditions, contents, &given.cluster)?;
    let offered = if given.brought_by == SourceKind::INVENTORY {
        offer_values(reading, given.old.clone(), conditions.today)?
    } else {
        reading.offer(conditions, contents, given.old.clone(), given.asked.as_ref())?
    };
    match (offered.step(), &given.step) {
        (None, _) => Ok(offered.nothing(conditions, contents)),
        (Some(step), Some(given)) => {
            plan_step(step, conditions, contents, given, &Prepared::of(&offered.reading.cluster))
        }
        (Some(_), None) => Err(Unplanned::Needs(Needs::default())),
    }
}
