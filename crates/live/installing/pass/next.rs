//! The next step of a pass, over all providers.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::object::ObjectId;

use super::facts::{DesiredProvider, ObjectFit, ProviderFacts};
use super::others::Others;
use super::record::{InstallPhase, ProviderRecord};
use super::stage::InstallStage;
use super::step::{InstallDecision, InstallPatience, ProviderStep, Wait};
use super::under_way::{begin, go_on, go_on_removing};

/// The next step of a pass over these providers, which come in clusterctl's order of kinds and by name.
///
/// A provider whose objects were not read is neither begun nor repaired: the caller reads them and asks again.
pub fn next(providers: &[ProviderFacts], patience: InstallPatience) -> InstallDecision {
    let elsewhere = |own: &ProviderFacts| -> BTreeSet<ObjectId> {
        let others = providers.iter().filter(|other| other.id != own.id);
        others
            .filter_map(ProviderFacts::components)
            .flat_map(|one| &one.objects)
            .map(|one| one.id.clone())
            .collect()
    };
    let mut decision = InstallDecision::default();
    for provider in providers {
        let Some(record) = provider.record.as_ref().filter(|record| record.is_under_way()) else { continue };
        if let Some(why) = &provider.failed {
            decision.waits.insert(provider.id.clone(), Wait::Stuck(why.clone()));
            continue;
        }
        let go = match record.phase {
            InstallPhase::Removing => go_on_removing(provider, record, &elsewhere(provider)),
            _ => go_on(provider, record, &elsewhere(provider), patience),
        };
        match go {
            Ok(step) => return InstallDecision::step(provider, step),
            Err(wait) => {
                decision.waits.insert(provider.id.clone(), wait);
            }
        }
    }
    let due: Vec<&ProviderFacts> = providers.iter().filter(|provider| is_due(provider)).collect();
    for provider in due_in_order(&due) {
        if let Some(why) = &provider.failed {
            decision.waits.insert(provider.id.clone(), Wait::Stuck(why.clone()));
            continue;
        }
        match (Others { providers, waits: &decision.waits }).keep(provider) {
            None => return InstallDecision::step(provider, begin(provider)),
            Some(wait) => {
                decision.waits.insert(provider.id.clone(), wait);
            }
        }
    }
    for provider in providers {
        if decision.waits.contains_key(&provider.id) || provider.failed.is_some() {
            continue;
        }
        match repair(provider) {
            Some(Ok(step)) => {
                decision.step = Some((provider.id.clone(), step));
                break;
            }
            Some(Err(wait)) => {
                decision.waits.insert(provider.id.clone(), wait);
            }
            None => {}
        }
    }
    decision
}

/// Whether something is to be begun for a provider.
fn is_due(provider: &ProviderFacts) -> bool {
    let record = provider.record.as_ref();
    if record.is_some_and(ProviderRecord::is_under_way) {
        return false;
    }
    match &provider.wanted {
        DesiredProvider::Components(components) => {
            provider.look.is_some()
                && record.and_then(|record| record.installed.as_ref()) != Some(&components.revision)
        }
        DesiredProvider::Nothing => record.is_some(),
        // What is installed shall be.
        DesiredProvider::Back { .. } | DesiredProvider::Halted(_) => false,
    }
}

/// Those that go first, the last kind before the first; then the others in their order.
fn due_in_order<'f>(due: &[&'f ProviderFacts]) -> Vec<&'f ProviderFacts> {
    let goes = |provider: &&&ProviderFacts| provider.wanted == DesiredProvider::Nothing;
    let gone = due.iter().filter(goes).rev().copied();
    gone.chain(due.iter().filter(|provider| !goes(provider)).copied()).collect()
}

/// What repairs the objects of a provider that is installed.
fn repair(provider: &ProviderFacts) -> Option<Result<ProviderStep, Wait>> {
    let components = provider.components()?;
    let record = provider.record.as_ref()?;
    if record.phase != InstallPhase::Settled || record.installed.as_ref() != Some(&components.revision) {
        return None;
    }
    if record.given_up.is_some() && matches!(provider.wanted, DesiredProvider::Components(_)) {
        // It was asked for something else meanwhile: what was given up may be tried once more.
        return Some(Ok(ProviderStep::Note(Box::new(ProviderRecord { given_up: None, ..record.clone() }))));
    }
    let mut drifted: BTreeMap<InstallStage, Vec<ObjectId>> = BTreeMap::new();
    for object in &components.objects {
        if matches!(provider.seen(&object.id)?.fit, ObjectFit::Absent | ObjectFit::Differs) {
            drifted.entry(InstallStage::of(&object.id)).or_default().push(object.id.clone());
        }
    }
    if let Some((stage, objects)) = drifted.into_iter().next() {
        return Some(Ok(ProviderStep::Apply { stage, objects, untried: Vec::new() }));
    }
    provider.refused().map(|(id, why)| Err(Wait::Refused { object: id.clone(), why: why.to_owned() }))
}
