//! Single decisions, by hand.

use capstan_model::object::ObjectId;
use capstan_providers::ProviderKind;

use super::super::{
    DesiredProvider, InstallPhase, InstallStage, ObjectFit, ProviderFacts, ProviderRecord, ProviderStep,
    SeenObject, Stopped, Wait, next,
};
use super::{
    after, components, definition, deployment, facts, look, provider, revision, role, same, webhooks,
};
use crate::applying::AppliedInventory;

pub(super) fn objects() -> Vec<ObjectId> {
    vec![definition("boxes"), role("manager"), webhooks("hooks"), deployment("core")]
}

fn inventory(ids: &[ObjectId]) -> AppliedInventory {
    let mut inventory = AppliedInventory::default();
    ids.iter().for_each(|id| inventory.intend(id, "v1", &id.name));
    inventory
}

/// Core at 1.0.0, installed and as it is rendered.
fn installed() -> ProviderFacts {
    let one = revision("v1.0.0", "one");
    let core =
        facts(provider(ProviderKind::Core, "core"), ProviderKind::Core, components(one.clone(), &objects()));
    ProviderFacts {
        record: Some(ProviderRecord {
            installed: Some(one),
            inventory: inventory(&objects()),
            ..ProviderRecord::default()
        }),
        look: look(objects().into_iter().map(|id| (id.clone(), same(&id)))),
        ..core
    }
}

/// The same, asked for 1.1.0.
pub(super) fn to_be_upgraded() -> ProviderFacts {
    let two = revision("v1.1.0", "two");
    let mut core = ProviderFacts { wanted: components(two, &objects()), ..installed() };
    for id in objects() {
        set(&mut core, &id, |seen| seen.fit = ObjectFit::Differs);
    }
    core
}

pub(super) fn set(facts: &mut ProviderFacts, id: &ObjectId, change: impl FnOnce(&mut SeenObject)) {
    change(facts.look.get_or_insert_default().entry(id.clone()).or_default());
}

pub(super) fn record(facts: &mut ProviderFacts) -> &mut ProviderRecord {
    facts.record.get_or_insert_default()
}

fn step(facts: &[ProviderFacts]) -> ProviderStep {
    let decision = next(facts, after(0));
    decision.step.unwrap_or_else(|| panic!("nothing is done: {:?}", decision.waits)).1
}

pub(super) fn noted(facts: &[ProviderFacts]) -> ProviderRecord {
    match step(facts) {
        ProviderStep::Note(record) => *record,
        other => panic!("{other:?}"),
    }
}

fn wait(facts: &[ProviderFacts]) -> Wait {
    let decision = next(facts, after(0));
    assert_eq!(decision.step, None);
    decision.waits.into_values().next().unwrap_or_else(|| panic!("nothing is waited for"))
}

#[test]
fn where_nothing_is_to_be_done_there_is_no_step() {
    let decision = next(&[installed()], after(0));
    assert_eq!((decision.step, decision.waits.len()), (None, 0));
}

#[test]
fn an_install_notes_its_inventory_before_it_applies_anything() {
    let mut core = ProviderFacts { record: None, ..installed() };
    for id in objects() {
        set(&mut core, &id, |seen| *seen = SeenObject::default());
    }
    let begun = noted(&[core.clone()]);
    assert_eq!((begun.phase, begun.installed.clone()), (InstallPhase::Applying, None));
    let held: Vec<ObjectId> =
        begun.inventory.objects().iter().map(crate::applying::InventoryObject::id).collect();
    assert_eq!(held.len(), 4);
    core.record = Some(begun);
    let ProviderStep::Apply { stage, objects, .. } = step(&[core]) else { panic!() };
    assert_eq!((stage, objects), (InstallStage::Definitions, vec![definition("boxes")]));
}

/// A provider that is due and whose objects are not there.
fn due(kind: ProviderKind, name: &str, contract: &str) -> ProviderFacts {
    let wanted = components(
        crate::installing::pass::Revision { contract: contract.to_owned(), ..revision("v1.0.0", "x") },
        &[role(name)],
    );
    ProviderFacts {
        look: look([(role(name), SeenObject::default())]),
        ..facts(provider(kind, name), kind, wanted)
    }
}

fn refuse(facts: &mut ProviderFacts, name: &str) {
    set(facts, &role(name), |seen| seen.fit = ObjectFit::Refused("422 Invalid".to_owned()));
}

/// Who is begun next of these, or why each waits.
fn begun(facts: &[ProviderFacts]) -> Result<String, Vec<String>> {
    let decision = next(facts, after(0));
    let told = |(id, wait): (&ObjectId, &Wait)| format!("{id}: {wait:?}");
    let begun = decision.step.map(|(id, _)| id.to_string());
    begun.ok_or_else(|| decision.waits.iter().map(told).collect())
}

#[test]
fn one_provider_that_cannot_go_on_does_not_stop_the_others() {
    let mut ipam = due(ProviderKind::Ipam, "ipam", "v1beta2");
    refuse(&mut ipam, "ipam");
    let core = to_be_upgraded();
    let decision = next(&[core.clone(), ipam.clone()], after(0));
    assert_eq!(decision.step.unwrap().0, core.id);
    let decision = next(&[installed(), ipam.clone()], after(0));
    assert_eq!(
        decision.waits[&ipam.id],
        Wait::Refused { object: role("ipam"), why: "422 Invalid".to_owned() }
    );
    let halted =
        ProviderFacts { wanted: DesiredProvider::Halted("no components".to_owned()), ..ipam.clone() };
    let addon = due(ProviderKind::Addon, "helm", "v1beta2");
    let all = [installed(), halted, addon.clone()];
    assert_eq!(begun(&all), Ok("AddonProvider helm/helm".to_owned()));
    assert_eq!(begun(&[installed(), ipam, addon.clone()]), Ok("AddonProvider helm/helm".to_owned()));
    // Nor one of which a step could not be performed, whatever the step was.
    let failed = |facts: ProviderFacts| ProviderFacts { failed: Some("no answer".to_owned()), ..facts };
    let mut begun_before = due(ProviderKind::Ipam, "ipam", "v1beta2");
    begun_before.record = Some(noted(&[installed(), begun_before.clone()]));
    for ipam in [due(ProviderKind::Ipam, "ipam", "v1beta2"), begun_before] {
        assert_eq!(
            begun(&[installed(), failed(ipam.clone())]),
            Err(vec!["IPAMProvider ipam/ipam: Stuck(\"no answer\")".to_owned()])
        );
        assert_eq!(
            begun(&[installed(), failed(ipam), addon.clone()]),
            Ok("AddonProvider helm/helm".to_owned())
        );
    }
    let mut drifted = installed();
    set(&mut drifted, &role("manager"), |seen| seen.fit = ObjectFit::Differs);
    assert_eq!(begun(&[failed(drifted), addon]), Ok("AddonProvider helm/helm".to_owned()));
}

#[test]
fn the_core_provider_comes_first() {
    let aws = || due(ProviderKind::Infrastructure, "aws", "v1beta2");
    let waits = |facts: &[ProviderFacts]| begun(facts).unwrap_err().remove(0);
    // There is none.
    assert_eq!(waits(&[aws()]), "InfrastructureProvider aws/aws: ForCore");
    // It goes.
    let going = ProviderFacts { wanted: DesiredProvider::Nothing, record: None, ..installed() };
    assert_eq!(waits(&[going, aws()]), "InfrastructureProvider aws/aws: ForCore");
    // It cannot be had, and never was installed.
    let halted = DesiredProvider::Halted("no components".to_owned());
    let core = facts(provider(ProviderKind::Core, "core"), ProviderKind::Core, halted.clone());
    assert_eq!(
        waits(&[core, aws()]),
        "InfrastructureProvider aws/aws: ForSet(\"CoreProvider core/core goes first, but is stuck: no components\")"
    );
    // What is installed of it takes the contract.
    let core = ProviderFacts { wanted: halted.clone(), ..installed() };
    assert_eq!(begun(&[core.clone(), aws()]), Ok("InfrastructureProvider aws/aws".to_owned()));
    let older = due(ProviderKind::Infrastructure, "aws", "v1beta1");
    assert_eq!(begun(&[core.clone(), older]), Ok("InfrastructureProvider aws/aws".to_owned()));
    // Or it does not.
    let mut old_core = core.clone();
    record(&mut old_core).installed.as_mut().unwrap().contract = "v1beta1".to_owned();
    assert_eq!(
        waits(&[old_core, aws()]),
        "InfrastructureProvider aws/aws: ForSet(\"CoreProvider core/core is installed with contract v1beta1, which does not accept contract v1beta2, and it cannot continue: no components\")"
    );
    // kubeadm's two come with it, and others' control planes with their own bootstrap provider.
    let of = |kind, name: &str| due(kind, name, "v1beta2");
    let bootstrap = of(ProviderKind::Bootstrap, "kubeadm");
    assert!(waits(&[core.clone(), bootstrap]).contains("CoreProvider core/core goes first, but is stuck"));
    let control_plane = of(ProviderKind::ControlPlane, "rke2");
    assert_eq!(
        begun(&[core.clone(), control_plane.clone()]),
        Ok("ControlPlaneProvider rke2/rke2".to_owned())
    );
    let mut bootstrap = of(ProviderKind::Bootstrap, "rke2");
    refuse(&mut bootstrap, "rke2");
    let told = begun(&[core, bootstrap, control_plane]).unwrap_err();
    assert!(
        told[1]
            .contains("BootstrapProvider rke2/rke2 goes first, but is stuck: ClusterRole rke2: 422 Invalid"),
        "{told:?}"
    );
}

#[test]
fn a_core_provider_waits_for_whose_contract_it_would_not_take() {
    let of_contract = |contract: &str| {
        let one =
            crate::installing::pass::Revision { contract: contract.to_owned(), ..revision("v1.0.0", "x") };
        ProviderFacts {
            record: Some(ProviderRecord { installed: Some(one), ..ProviderRecord::default() }),
            ..facts(
                provider(ProviderKind::Infrastructure, "aws"),
                ProviderKind::Infrastructure,
                DesiredProvider::Halted("no components".to_owned()),
            )
        }
    };
    assert_eq!(begun(&[to_be_upgraded(), of_contract("v1beta1")]), Ok("CoreProvider core/core".to_owned()));
    let told = begun(&[to_be_upgraded(), of_contract("v1alpha4")]).unwrap_err();
    assert!(
        told[0].contains("InfrastructureProvider aws/aws is installed with contract v1alpha4, which a core provider of contract v1beta2 does not accept, and it cannot continue: no components"),
        "{told:?}"
    );
}

#[test]
fn drift_is_repaired_while_another_provider_cannot_go_on() {
    let mut core = installed();
    set(&mut core, &role("manager"), |seen| seen.fit = ObjectFit::Differs);
    let ipam = facts(
        provider(ProviderKind::Ipam, "ipam"),
        ProviderKind::Ipam,
        DesiredProvider::Halted("no components".to_owned()),
    );
    let ProviderStep::Apply { stage, objects, untried } = step(&[core, ipam]) else { panic!() };
    assert_eq!((stage, objects, untried.len()), (InstallStage::Rights, vec![role("manager")], 0));
}

#[test]
fn an_upgrade_migrates_first_then_stops_what_it_remembers_then_waits_for_the_pods() {
    let mut core = to_be_upgraded();
    core.record = Some(noted(&[core.clone()]));
    assert_eq!(record(&mut core).phase, InstallPhase::Preparing);
    set(&mut core, &definition("boxes"), |seen| seen.going = vec!["v1alpha4".to_owned()]);
    let migrate =
        ProviderStep::Migrate { definition: definition("boxes"), versions: vec!["v1alpha4".to_owned()] };
    assert_eq!(step(&[core.clone()]), migrate);
    set(&mut core, &definition("boxes"), |seen| seen.going.clear());

    let remembered = noted(&[core.clone()]);
    let stopped =
        |replicas| vec![Stopped { namespace: "core".to_owned(), name: "core".to_owned(), replicas }];
    assert_eq!(remembered.stopped, stopped(1));
    core.record = Some(remembered);
    assert_eq!(step(&[core.clone()]), ProviderStep::Scale(stopped(0)));
    set(&mut core, &deployment("core"), |seen| {
        seen.replicas = Some(0);
        seen.pods = 1;
    });
    core.record = Some(noted(&[core.clone()]));
    assert_eq!(record(&mut core).waiting_since, Some(super::minute(0)));
    assert_eq!(wait(&[core.clone()]), Wait::For("1 pod of Deployment core/core is still there".to_owned()));
    set(&mut core, &deployment("core"), |seen| seen.pods = 0);
    let applying = noted(&[core]);
    assert_eq!((applying.phase, applying.definitions_changed), (InstallPhase::Applying, true));
    assert_eq!(applying.waiting_since, None);
}

#[test]
fn before_the_first_definition_changed_the_old_manager_comes_back() {
    let mut core = to_be_upgraded();
    core.record = Some(noted(&[core.clone()]));
    record(&mut core).stopped =
        vec![Stopped { namespace: "core".to_owned(), name: "core".to_owned(), replicas: 2 }];
    set(&mut core, &deployment("core"), |seen| seen.replicas = Some(0));
    core.wanted = DesiredProvider::Halted("its Secret is gone".to_owned());
    assert_eq!(step(&[core.clone()]), ProviderStep::Scale(record(&mut core).stopped.clone()));
    set(&mut core, &deployment("core"), |seen| seen.replicas = Some(2));
    let back = noted(&[core]);
    assert_eq!((back.phase, back.target, back.stopped.len()), (InstallPhase::Settled, None, 0));
    assert_eq!(back.installed, Some(revision("v1.0.0", "one")));
}

#[test]
fn after_it_there_is_only_the_way_forward() {
    let mut core = to_be_upgraded();
    core.record = Some(noted(&[core.clone()]));
    record(&mut core).phase = InstallPhase::Applying;
    record(&mut core).definitions_changed = true;
    let halted = ProviderFacts { wanted: DesiredProvider::Halted("gone".to_owned()), ..core.clone() };
    assert_eq!(wait(&[halted]), Wait::Stuck("gone".to_owned()));
    let older = ProviderFacts { wanted: installed().wanted, ..core.clone() };
    assert!(matches!(wait(&[older]), Wait::Stuck(why) if why.contains("request v1.1.0 or a later version")));
    let newer = components(revision("v1.1.1", "three"), &objects());
    let freed = noted(&[ProviderFacts { wanted: newer, ..core }]);
    assert_eq!((freed.phase, freed.definitions_changed), (InstallPhase::Preparing, true));
}

#[test]
fn webhooks_are_asked_when_all_is_available_and_the_next_provider_is_not_begun_before() {
    let mut core = to_be_upgraded();
    core.record = Some(noted(&[core.clone()]));
    record(&mut core).phase = InstallPhase::Applying;
    for id in objects() {
        set(&mut core, &id, |seen| *seen = same(&id));
    }
    set(&mut core, &deployment("core"), |seen| {
        seen.health = Some(crate::installing::WorkloadHealth::Unobserved)
    });
    let other = facts(
        provider(ProviderKind::Ipam, "ipam"),
        ProviderKind::Ipam,
        components(revision("v1.0.0", "x"), &[role("ipam")]),
    );
    let other = ProviderFacts { look: look([(role("ipam"), SeenObject::default())]), ..other };
    core.record = Some(noted(&[core.clone(), other.clone()]));
    let decision = next(&[core.clone(), other.clone()], after(0));
    assert_eq!(decision.step, None);
    assert!(matches!(&decision.waits[&other.id], Wait::ForSet(why) if why.contains("goes first")));

    set(&mut core, &deployment("core"), |seen| seen.health = super::available());
    let ProviderStep::Ask { webhooks: asked, then } = step(&[core, other]) else { panic!() };
    assert_eq!(asked, [webhooks("hooks")]);
    assert_eq!((then.phase, then.installed), (InstallPhase::Settled, Some(revision("v1.1.0", "two"))));
}

#[test]
fn what_is_not_rendered_any_more_goes_but_no_definition_and_nothing_of_another() {
    let mut core = installed();
    let two = revision("v1.0.0", "two");
    core.wanted = components(two.clone(), &[deployment("core")]);
    core.record = Some(noted(&[core.clone()]));
    assert_eq!(record(&mut core).phase, InstallPhase::Applying);
    let ProviderStep::Ask { then, .. } = step(&[core.clone()]) else { panic!() };
    assert_eq!(then.phase, InstallPhase::Pruning);
    core.record = Some(*then);
    set(&mut core, &webhooks("hooks"), |seen| seen.is_own = false);
    let other = facts(
        provider(ProviderKind::Ipam, "ipam"),
        ProviderKind::Ipam,
        components(revision("v1.0.0", "x"), &[]),
    );
    let other = ProviderFacts { look: look([]), ..other };
    assert_eq!(step(&[core.clone(), other.clone()]), ProviderStep::Delete(vec![role("manager")]));
    let taken = components(revision("v1.0.0", "x"), &[role("manager")]);
    let settled = noted(&[core, ProviderFacts { wanted: taken, ..other }]);
    let left: Vec<String> = settled.inventory.objects().iter().map(|object| object.name.clone()).collect();
    assert_eq!((settled.phase, left), (InstallPhase::Settled, vec!["boxes".to_owned(), "core".to_owned()]));
}

#[test]
fn a_provider_that_goes_takes_everything_along_but_definitions() {
    let mut core = ProviderFacts { wanted: DesiredProvider::Nothing, ..installed() };
    core.record = Some(noted(&[core.clone()]));
    assert_eq!(record(&mut core).phase, InstallPhase::Removing);
    let mut gone = Vec::new();
    loop {
        match step(&[core.clone()]) {
            ProviderStep::Delete(ids) => {
                for id in ids {
                    set(&mut core, &id, |seen| *seen = SeenObject::default());
                    gone.push(id.name);
                }
            }
            ProviderStep::Forget => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(gone, ["hooks", "core", "manager"]);
}

#[test]
fn objects_of_kinds_that_come_with_the_same_pass_are_tried_before_the_first_is_applied() {
    let mut core = installed();
    let two = revision("v1.0.0", "two");
    let own = super::id("acme.example", "Box", "core", "first");
    let all = [objects(), vec![own.clone()]].concat();
    core.wanted = components(two, &all);
    set(&mut core, &own, |seen| seen.fit = ObjectFit::Later);
    core.record = Some(noted(&[core.clone()]));
    set(&mut core, &role("manager"), |seen| seen.fit = ObjectFit::Differs);
    let ProviderStep::Apply { stage, untried, .. } = step(&[core]) else { panic!() };
    assert_eq!((stage, untried), (InstallStage::Rights, vec![own]));
}
