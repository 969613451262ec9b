//! The next step of a provider that a pass has in hand.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::object::ObjectId;
use capstan_model::version::ReleaseVersion;
use capstan_model::wording;
use jiff::Timestamp;

use super::facts::{DesiredProvider, ObjectFit, ProviderFacts, RenderedProvider};
use super::record::{GivenUp, InstallPhase, ProviderRecord, Revision, Stopped};
use super::stage::{InstallStage, is_definition, is_kept};
use super::step::{InstallPatience, ProviderStep, Wait};
use crate::installing::WorkloadHealth;

/// What a provider that is due begins with.
pub(super) fn begin(provider: &ProviderFacts) -> ProviderStep {
    let record = provider.record.clone().unwrap_or_default();
    match provider.components() {
        Some(components) => ProviderStep::Note(Box::new(begun(record, components, None))),
        None => ProviderStep::Note(Box::new(ProviderRecord {
            phase: InstallPhase::Removing,
            target: None,
            ..record
        })),
    }
}

/// What is remembered of a provider from the moment on that these components are its aim.
fn begun(record: ProviderRecord, components: &RenderedProvider, given_up: Option<GivenUp>) -> ProviderRecord {
    let mut inventory = record.inventory.clone();
    for object in &components.objects {
        inventory.intend(&object.id, &object.api_version, &object.id.name);
    }
    let is_upgrade = record.runs_other_than(&components.revision);
    ProviderRecord {
        phase: if is_upgrade { InstallPhase::Preparing } else { InstallPhase::Applying },
        target: Some(components.revision.clone()),
        definitions_changed: record.definitions_changed || !is_upgrade,
        objects_changed: record.objects_changed
            || matches!(record.phase, InstallPhase::Applying | InstallPhase::Pruning),
        waiting_since: None,
        given_up,
        inventory,
        ..record
    }
}

/// What is remembered of a provider that is finished.
fn settled(
    record: &ProviderRecord,
    components: &RenderedProvider,
    given_up: Option<GivenUp>,
) -> ProviderRecord {
    // Definitions stay in the inventory for as long as they exist: a tombstone may delete them later.
    let wanted: BTreeSet<&ObjectId> = components.objects.iter().map(|object| &object.id).collect();
    let mut inventory = record.inventory.clone();
    for object in record.inventory.objects() {
        let id = object.id();
        if !wanted.contains(&id) && !is_kept(&id) {
            inventory.forget(&id);
        }
    }
    ProviderRecord {
        phase: InstallPhase::Settled,
        installed: Some(components.revision.clone()),
        target: None,
        definitions_changed: false,
        objects_changed: false,
        stopped: Vec::new(),
        waiting_since: None,
        given_up,
        inventory,
    }
}

/// What stays given up: on the way back alone.
fn given_up(provider: &ProviderFacts, record: &ProviderRecord) -> Option<GivenUp> {
    let goes_back = matches!(provider.wanted, DesiredProvider::Back { .. });
    record.given_up.clone().filter(|_| goes_back)
}

/// The way back: what is installed runs again, as if nothing had begun.
fn back(provider: &ProviderFacts, record: &ProviderRecord) -> ProviderStep {
    let stands_still = |stopped: &&Stopped| {
        provider.seen(&deployment(stopped)).is_some_and(|seen| seen.replicas == Some(0))
            && stopped.replicas != 0
    };
    let still: Vec<Stopped> = record.stopped.iter().filter(stands_still).cloned().collect();
    if !still.is_empty() {
        return ProviderStep::Scale(still);
    }
    ProviderStep::Note(Box::new(ProviderRecord {
        phase: InstallPhase::Settled,
        target: None,
        stopped: Vec::new(),
        waiting_since: None,
        ..record.clone()
    }))
}

/// What becomes of a wait. Its begin is written down. Once it has lasted for as long as it may, what was begun is given
/// up if there is a way back; else the wait times out and continues.
///
/// # Errors
/// Nothing is to be done now but to wait.
pub fn wait(record: &ProviderRecord, why: String, patience: InstallPatience) -> Result<ProviderStep, Wait> {
    let target = record
        .target
        .as_ref()
        .filter(|_| matches!(record.phase, InstallPhase::Preparing | InstallPhase::Applying));
    let Some(target) = target else { return Err(Wait::For(why)) };
    let Some(since) = record.waiting_since else {
        // As Kubernetes writes times in objects: whole seconds.
        let since = Timestamp::from_second(patience.now.as_second()).unwrap_or(patience.now);
        return Ok(ProviderStep::Note(Box::new(ProviderRecord {
            waiting_since: Some(since),
            ..record.clone()
        })));
    };
    if patience.now.duration_since(since) < patience.limit {
        return Err(Wait::For(why));
    }
    let why = format!("{why}, since {since}");
    if record.definitions_changed {
        let version = &target.version;
        return Err(Wait::TimedOut(format!(
            "{why}; definitions of {version} may already be installed, so it can only go forward: to {version} with other settings, or to a later version"
        )));
    }
    match &record.given_up {
        None => {
            let given_up = GivenUp { revision: target.clone(), why };
            Ok(ProviderStep::Note(Box::new(ProviderRecord { given_up: Some(given_up), ..record.clone() })))
        }
        // What was installed does not come back either; or the way back is found by the next pass.
        Some(_) => Err(Wait::TimedOut(why)),
    }
}

/// The next step of a provider in hand.
pub(super) fn go_on(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    elsewhere: &BTreeSet<ObjectId>,
    patience: InstallPatience,
) -> Result<ProviderStep, Wait> {
    let may_go_back =
        record.phase == InstallPhase::Preparing && !record.definitions_changed && !record.objects_changed;
    let components = match &provider.wanted {
        DesiredProvider::Components(components) | DesiredProvider::Back { components, .. } => components,
        DesiredProvider::Halted(_) if may_go_back => return Ok(back(provider, record)),
        DesiredProvider::Halted(why) => return Err(Wait::Stuck(why.clone())),
        DesiredProvider::Nothing => return Ok(begin(provider)),
    };
    if record.target.as_ref() != Some(&components.revision) {
        return retarget(provider, record, components, may_go_back);
    }
    match record.phase {
        InstallPhase::Preparing => prepare(provider, record, components, may_go_back, patience),
        InstallPhase::Pruning => prune(provider, record, components, elsewhere),
        _ => apply(provider, record, components, elsewhere, patience),
    }
}

/// Its spec or its components changed on the way.
fn retarget(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    components: &RenderedProvider,
    may_go_back: bool,
) -> Result<ProviderStep, Wait> {
    if may_go_back && record.installed.as_ref() == Some(&components.revision) {
        return Ok(back(provider, record));
    }
    if let Some(target) = record.target.as_ref().filter(|_| record.definitions_changed)
        && is_older(&components.revision, target)
    {
        return Err(Wait::Stuck(format!(
            "definitions of {} may already be installed, and {} is older. It can only go forward: request {} or a later version",
            target.version, components.revision.version, target.version
        )));
    }
    Ok(ProviderStep::Note(Box::new(begun(record.clone(), components, given_up(provider, record)))))
}

fn is_older(one: &Revision, than: &Revision) -> bool {
    match (ReleaseVersion::parse(&one.version), ReleaseVersion::parse(&than.version)) {
        (Some(one), Some(than)) => one < than,
        _ => false,
    }
}

fn prepare(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    components: &RenderedProvider,
    may_go_back: bool,
    patience: InstallPatience,
) -> Result<ProviderStep, Wait> {
    let Some(look) = &provider.look else {
        return Err(Wait::For("its objects are being checked".to_owned()));
    };
    if let Some((id, why)) = provider.refused() {
        if may_go_back {
            return Ok(back(provider, record));
        }
        return Err(Wait::Stuck(format!("the API server refuses {id}: {why}")));
    }
    // An old Deployment that cannot be read would keep running.
    if let Some(wait) = unreadable(provider, record, &BTreeSet::new()) {
        return Err(wait);
    }
    let going = components.objects.iter().find_map(|object| {
        let versions = &look.get(&object.id)?.going;
        (!versions.is_empty())
            .then(|| ProviderStep::Migrate { definition: object.id.clone(), versions: versions.clone() })
    });
    if let Some(step) = going {
        return Ok(step);
    }
    let running: Vec<Stopped> = record
        .inventory
        .objects()
        .iter()
        .filter_map(|object| {
            let seen = look.get(&object.id()).filter(|seen| seen.is_own)?;
            let replicas = seen.replicas.filter(|replicas| *replicas != 0)?;
            Some(Stopped { namespace: object.namespace.clone()?, name: object.name.clone(), replicas })
        })
        .collect();
    // How many there were is remembered before there are none.
    let unknown = |one: &&Stopped| !record.stopped.iter().any(|known| deployment(known) == deployment(one));
    if running.iter().any(|one| unknown(&one)) {
        let mut stopped = record.stopped.clone();
        stopped.extend(running.iter().filter(unknown).cloned());
        return Ok(ProviderStep::Note(Box::new(ProviderRecord { stopped, ..record.clone() })));
    }
    if !running.is_empty() {
        return Ok(ProviderStep::Scale(
            running.into_iter().map(|one| Stopped { replicas: 0, ..one }).collect(),
        ));
    }
    let left = record.stopped.iter().find_map(|one| {
        let pods = look.get(&deployment(one))?.pods;
        (pods > 0).then(|| {
            let (pods, are) = (wording::count(pods, "pod", "pods"), wording::fitting(pods, "is", "are"));
            format!("{pods} of Deployment {}/{} {are} still there", one.namespace, one.name)
        })
    });
    if let Some(left) = left {
        return wait(record, left, patience);
    }
    let changes_definitions = components.objects.iter().any(|object| {
        is_definition(&object.id) && look.get(&object.id).is_none_or(|seen| seen.fit != ObjectFit::Same)
    });
    Ok(ProviderStep::Note(Box::new(ProviderRecord {
        phase: InstallPhase::Applying,
        definitions_changed: record.definitions_changed || changes_definitions,
        waiting_since: None,
        ..record.clone()
    })))
}

fn apply(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    components: &RenderedProvider,
    elsewhere: &BTreeSet<ObjectId>,
    patience: InstallPatience,
) -> Result<ProviderStep, Wait> {
    let Some(look) = &provider.look else {
        return Err(Wait::For("its objects are being checked".to_owned()));
    };
    let mut stages: BTreeMap<InstallStage, Vec<&ObjectId>> = BTreeMap::new();
    for object in &components.objects {
        stages.entry(InstallStage::of(&object.id)).or_default().push(&object.id);
    }
    let fit = |id: &ObjectId| look.get(id).map_or(&ObjectFit::Absent, |seen| &seen.fit);
    for (stage, ids) in &stages {
        let terminating = ids.iter().find(|id| *fit(id) == ObjectFit::Terminating);
        if let Some(id) = terminating {
            let why = format!("{id} is being deleted, and is created again when it is gone");
            return wait(record, why, patience);
        }
        let objects: Vec<ObjectId> =
            ids.iter().filter(|id| *fit(id) != ObjectFit::Same).map(|id| (*id).clone()).collect();
        if !objects.is_empty() {
            let all = stages.values().flatten();
            let later = all.filter(|id| *stage != InstallStage::Definitions && *fit(id) == ObjectFit::Later);
            let untried = later.map(|id| (*id).clone()).collect();
            return Ok(ProviderStep::Apply { stage: *stage, objects, untried });
        }
        if let Some(why) = ids.iter().find_map(|id| unready(id, look.get(*id)?)) {
            return wait(record, why, patience);
        }
    }
    let webhooks = stages.remove(&InstallStage::Webhooks).unwrap_or_default().into_iter().cloned().collect();
    let then = match outdated(provider, record, elsewhere).is_empty() {
        true => settled(record, components, given_up(provider, record)),
        false => ProviderRecord { phase: InstallPhase::Pruning, waiting_since: None, ..record.clone() },
    };
    Ok(ProviderStep::Ask { webhooks, then: Box::new(then) })
}

/// What is waited for of an object that is as it shall be.
fn unready(id: &ObjectId, seen: &super::facts::SeenObject) -> Option<String> {
    if is_definition(id) && !seen.is_established {
        return Some(format!("{id} is not established"));
    }
    let why = match seen.health.as_ref()? {
        WorkloadHealth::Available { .. } => return None,
        WorkloadHealth::Absent => "is not there".to_owned(),
        WorkloadHealth::Unobserved => "was changed, but its controller has not observed it".to_owned(),
        WorkloadHealth::Unknown => "has no condition Available yet".to_owned(),
        WorkloadHealth::Unavailable { message, .. } if message.is_empty() => "is not available".to_owned(),
        WorkloadHealth::Unavailable { message, .. } => format!("is not available: {message}"),
        WorkloadHealth::RollingOut { ready, wanted } => {
            format!("has {ready} of {wanted} pods up to date and available")
        }
    };
    Some(format!("{id} {why}"))
}

fn prune(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    components: &RenderedProvider,
    elsewhere: &BTreeSet<ObjectId>,
) -> Result<ProviderStep, Wait> {
    if let Some(wait) = unreadable(provider, record, elsewhere) {
        return Err(wait);
    }
    match deletable(provider, record, elsewhere) {
        doomed if !doomed.is_empty() => Ok(ProviderStep::Delete(doomed)),
        _ => Ok(ProviderStep::Note(Box::new(settled(record, components, given_up(provider, record))))),
    }
}

/// The objects of an inventory that are not rendered any more, and that may be deleted.
fn outdated(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    elsewhere: &BTreeSet<ObjectId>,
) -> Vec<ObjectId> {
    let wanted: BTreeSet<&ObjectId> =
        provider.components().into_iter().flat_map(|one| &one.objects).map(|one| &one.id).collect();
    let ids = record.inventory.objects().iter().map(crate::applying::InventoryObject::id);
    ids.filter(|id| !is_kept(id) && !wanted.contains(id) && !elsewhere.contains(id)).collect()
}

/// The first outdated object that cannot be read, so that it is unknown whether it exists.
fn unreadable(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    elsewhere: &BTreeSet<ObjectId>,
) -> Option<Wait> {
    outdated(provider, record, elsewhere).into_iter().find_map(|id| match &provider.seen(&id)?.fit {
        ObjectFit::Refused(why) => Some(Wait::Refused { object: id, why: why.clone() }),
        _ => None,
    })
}

/// Those of the outdated objects that exist and belong to the provider.
fn deletable(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    elsewhere: &BTreeSet<ObjectId>,
) -> Vec<ObjectId> {
    let is_there = |id: &ObjectId| {
        provider.seen(id).is_some_and(|seen| {
            seen.is_own && !matches!(seen.fit, ObjectFit::Absent | ObjectFit::Terminating)
        })
    };
    outdated(provider, record, elsewhere).into_iter().filter(is_there).collect()
}

/// The next step of a provider that goes. Webhooks go first: their servers would not answer any more.
pub(super) fn go_on_removing(
    provider: &ProviderFacts,
    record: &ProviderRecord,
    elsewhere: &BTreeSet<ObjectId>,
) -> Result<ProviderStep, Wait> {
    if let Some(components) = provider.components() {
        // It was created again meanwhile.
        let record = ProviderRecord { installed: None, definitions_changed: true, ..record.clone() };
        let begun = begun(record, components, None);
        return Ok(ProviderStep::Note(Box::new(ProviderRecord { phase: InstallPhase::Applying, ..begun })));
    }
    if provider.look.is_none() {
        return Err(Wait::For("its objects are being checked".to_owned()));
    }
    if let Some(wait) = unreadable(provider, record, elsewhere) {
        return Err(wait);
    }
    let doomed = deletable(provider, record, elsewhere);
    let rank = |id: &ObjectId| match InstallStage::of(id) {
        InstallStage::Webhooks => 0,
        InstallStage::Workloads => 1,
        _ => 2,
    };
    let Some(first) = doomed.iter().map(rank).min() else {
        // An object with open finalizers disappears without Capstan, which has deleted it.
        return Ok(ProviderStep::Forget);
    };
    Ok(ProviderStep::Delete(doomed.into_iter().filter(|id| rank(id) == first).collect()))
}

/// A Deployment that was stopped.
fn deployment(stopped: &Stopped) -> ObjectId {
    ObjectId {
        group: "apps".to_owned(),
        kind: "Deployment".to_owned(),
        namespace: Some(stopped.namespace.clone()),
        name: stopped.name.clone(),
    }
}

impl Stopped {
    /// The Deployment.
    pub fn id(&self) -> ObjectId {
        deployment(self)
    }
}
