//! What only the rendered objects can tell: rollouts, the overlay's findings, skew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render::{self, EditedTree, RenderedFolder, RenderedObject};
use capstan_live::rollout;
use capstan_model::finding::{Finding, Place, Severities, rules};
use capstan_model::target::TargetKind;
use capstan_plan::boundary::{Scopes, Surroundings};
use capstan_plan::classes::{ClassRef, Classes, ClassesElsewhere, named_elsewhere};
use capstan_plan::merge::AppliedBy;
use capstan_plan::policy::{self, Occasion, PolicyFacts, ReleaseStep};
use capstan_plan::provider_set::{self, SetFacts, SetState};
use capstan_plan::upgrade::{FilesSettled, PlannedUpgrade, Upgrade};
use capstan_providers::MissingComponents;

use super::inputs::Conditions;
use super::reading::{Needs, Prepared, Reading, StepFacts, Unplanned};
use super::step_facts::applied_by;

/// Judges a plan by what would be applied before and after it.
pub(super) fn judge(
    reading: &Reading,
    facts: StepFacts<'_>,
    prepared: &Prepared,
    mut planned: PlannedUpgrade,
    release: Option<ReleaseStep<'_>>,
) -> Result<Upgrade, Unplanned> {
    let facts_of_step = facts;
    let StepFacts { conditions, contents, tree, given } = facts;
    let Reading { cluster, effective, .. } = reading;
    let folders = policy::folders_of(&cluster.folder);
    let rendered;
    let before = match &prepared.before {
        Some(before) => before,
        None => {
            rendered = render::render_with(tree, &folders, &prepared.parsed)?;
            &rendered
        }
    };
    let render_after = |planned: &PlannedUpgrade| {
        render::render_with(&EditedTree::new(tree, &planned.intended), &folders, &prepared.parsed)
    };
    let mut after = render_after(&planned);
    if let Ok(rendered) = &after
        && planned.settle_leftovers(before, rendered) == FilesSettled::Changed
    {
        after = render_after(&planned);
    }
    let severities = conditions.settings.severities();
    let after = match after {
        Ok(after) => after,
        Err(error) => {
            let reason = format!("The upgraded cluster cannot be rendered: {error}.");
            planned.upgrade.findings.push(Finding::from(&error).stopping(&reason));
            planned.upgrade.blocked.push(reason);
            planned.upgrade.findings = severities.settle(std::mem::take(&mut planned.upgrade.findings));
            // What cannot be rendered cannot be judged; above all, its machines are not lost.
            return Ok(planned.finish(Vec::new(), Vec::new()));
        }
    };
    planned.upgrade.notes.extend(after.note_of_passed_over());
    let applied_by = applied_by(effective);
    let is_judged = applied_by == AppliedBy::Reconciler || cluster.folder.kind == TargetKind::Cluster;
    // Folders that Kustomizations elsewhere apply to the cluster are judged with pull requests: to find
    // them, every file of the repository would be read.
    let inside = policy::inside(tree, &folders, &after, None, &prepared.parsed);
    let scopes = Scopes::default();
    let none = BTreeMap::new();
    let variables = cluster.settings.as_ref().map_or(&none, |settings| &settings.variables);
    let facts = PolicyFacts {
        folders: &folders,
        before,
        after: &after,
        inside: &inside,
        applied_by,
        occasion: Occasion::Upgrade,
        release,
        schemas: contents.schemas(),
        cluster_api: given.cluster_api.clone(),
        // The pull request's check reads the other folders. If plans read them, each of their changes would
        // invalidate every plan.
        boundary: is_judged.then_some(Surroundings {
            folder: &cluster.id,
            settings: conditions.settings,
            scopes: &scopes,
            neighbours: None,
        }),
        values: given.flux.as_ref().map(|flux| policy::ValueGivers { own: variables, flux }),
        today: conditions.today,
    };
    planned.upgrade.findings = severities.settle(std::mem::take(&mut planned.upgrade.findings));
    let findings = policy::judge(&facts, &severities);
    planned.upgrade.applied_changes = Some(render::diff(&before.objects, &after.objects).len());
    if cluster.folder.kind == TargetKind::Providers {
        let found = (findings, &severities);
        return judge_set(reading, facts_of_step, [before, &after], planned, found);
    }
    // The change does not affect classes in other folders.
    let [was, is] = [&before.objects, &after.objects].map(|objects| classes(objects, &given.classes));
    let elsewhere = ClassesElsewhere { before: was?, after: is? };
    // Those by which the files were brought to newer API versions.
    let schemas = contents.schemas();
    let rollouts = match (applied_by, given.names.as_deref()) {
        (AppliedBy::Reconciler, Some(names)) => {
            rollout::rollouts_live(&before.objects, &after.objects, [names, names], &elsewhere, schemas)
        }
        _ => rollout::rollouts(&before.objects, &after.objects, applied_by, &elsewhere, schemas),
    };
    Ok(planned.finish(findings, rollouts))
}

/// A provider set has no machines: the plan reports the fate of its providers instead.
fn judge_set(
    reading: &Reading,
    facts: StepFacts<'_>,
    [before, after]: [&RenderedFolder; 2],
    mut planned: PlannedUpgrade,
    (mut findings, severities): (Vec<Finding>, &Severities),
) -> Result<Upgrade, Unplanned> {
    let StepFacts { conditions: Conditions { settings, .. }, contents, tree, given } = facts;
    let cluster = &reading.cluster;
    let (edited, record) = (EditedTree::new(tree, &planned.intended), cluster.folder.settings_path());
    let asked = given.components.iter().filter(|(_, answer)| answer.is_some()).map(|(wanted, _)| wanted);
    let supplies = contents.supplies().only(asked);
    let states = [SetState { tree, rendered: before }, SetState { tree: &edited, rendered: after }];
    let unasked = states.map(|state| provider_set::unasked(state, cluster.settings.as_ref(), &supplies));
    let is_new = |wanted: &&MissingComponents| !given.components.iter().any(|(known, _)| known == *wanted);
    let new: BTreeSet<MissingComponents> = unasked.iter().flatten().filter(is_new).cloned().collect();
    if !new.is_empty() {
        return Err(Unplanned::Needs(Needs { components: new, ..Needs::default() }));
    }
    let [was, is] = states;
    let objects = provider_set::objects_of(tree, settings, &given.claimed);
    let judged = provider_set::judge_set(&SetFacts {
        before: Some(was),
        after: is,
        record: (&record, cluster.settings.as_ref()),
        by: provider_set::applied_by(settings, &cluster.id),
        workloads: &given.workloads,
        objects: &objects,
        supplies: &supplies,
    });
    let text = cluster.folder.settings.as_ref().and_then(|entry| tree.read(entry).ok());
    let text = text.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    if let Err(error) = planned.record_components((&record, text), &judged.components) {
        let place = Place::whole(record);
        let reason = format!("{} cannot be edited as intended.", place.file());
        findings.push(Finding::new(rules::EDIT_REFUSED, error.to_string()).place(place).stopping(&reason));
        planned.upgrade.blocked.push(reason);
    }
    // If the merge itself refused to go back, one finding is enough.
    let known = |new: &Finding| {
        let mut said = planned.upgrade.findings.iter();
        said.any(|old| old.rule == new.rule && new.object.is_some() && old.object == new.object)
    };
    let new = judged.findings.into_iter().filter(|finding| !known(finding));
    findings.extend(new.filter_map(|finding| severities.judged(finding)));
    planned.upgrade.providers = judged.providers;
    planned.upgrade.unasked = judged.unasked.into_iter().collect();
    planned.upgrade.notes.extend(judged.notes);
    Ok(planned.finish(findings, Vec::new()))
}

/// Those classes that a render names and lacks.
fn classes(objects: &[RenderedObject], given: &Classes) -> Result<Classes, Unplanned> {
    let named = named_elsewhere(objects);
    let missing: BTreeSet<ClassRef> =
        named.iter().filter(|class| !given.0.contains_key(class)).cloned().collect();
    if !missing.is_empty() {
        return Err(Unplanned::Needs(Needs { classes: missing, ..Needs::default() }));
    }
    let known = |class| {
        let (class, found) = given.0.get_key_value(&class)?;
        Some((class.clone(), Arc::clone(found)))
    };
    Ok(Classes(named.into_iter().filter_map(known).collect()))
}
