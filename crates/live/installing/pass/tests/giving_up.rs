//! What was waited for as long as that may take: the way back, where there is one, and the way forward.

use capstan_providers::ProviderKind;

use super::super::{
    DesiredProvider, GivenUp, InstallPhase, ObjectFit, ProviderFacts, ProviderRecord, ProviderStep,
    SeenObject, Stopped, Wait, next,
};
use super::decisions::{noted, objects, record, set, to_be_upgraded};
use super::{after, components, definition, deployment, facts, look, minute, provider, revision, role, same};
use crate::installing::WorkloadHealth;

/// Core on its way to 1.1.0: all is applied, and its Deployment is not available.
fn unavailable(definitions_changed: bool) -> ProviderFacts {
    let mut core = to_be_upgraded();
    core.record = Some(noted(&[core.clone()]));
    let record = record(&mut core);
    record.phase = InstallPhase::Applying;
    record.definitions_changed = definitions_changed;
    record.stopped = vec![stopped(1)];
    for id in objects() {
        set(&mut core, &id, |seen| *seen = same(&id));
    }
    set(&mut core, &deployment("core"), |seen| {
        seen.health =
            Some(WorkloadHealth::Unavailable { reason: "NoPods".to_owned(), message: "no pods".to_owned() });
    });
    core
}

fn stopped(replicas: i64) -> Stopped {
    Stopped { namespace: "core".to_owned(), name: "core".to_owned(), replicas }
}

/// Another provider, which is due.
fn other() -> ProviderFacts {
    let wanted = components(revision("v1.0.0", "x"), &[role("ipam")]);
    let ipam = facts(provider(ProviderKind::Ipam, "ipam"), ProviderKind::Ipam, wanted);
    ProviderFacts { look: look([(role("ipam"), SeenObject::default())]), ..ipam }
}

/// What is noted this many minutes after the first look.
fn noted_after(minutes: i64, all: &[ProviderFacts]) -> ProviderRecord {
    match next(all, after(minutes)).step {
        Some((_, ProviderStep::Note(record))) => *record,
        other => panic!("{other:?}"),
    }
}

/// Core on its way back to 1.0.0, which its components are at hand of.
fn goes_back(core: ProviderFacts) -> ProviderFacts {
    let DesiredProvider::Components(components) = components(revision("v1.0.0", "one"), &objects()) else {
        panic!()
    };
    ProviderFacts { wanted: DesiredProvider::Back { components, why: "given up".to_owned() }, ..core }
}

#[test]
fn after_the_first_definition_what_does_not_come_to_run_is_said_and_nobody_else_is_begun() {
    let mut core = unavailable(true);
    let other = other();
    core.record = Some(noted_after(0, &[core.clone(), other.clone()]));
    assert_eq!(record(&mut core).waiting_since, Some(minute(0)));
    let decision = next(&[core.clone(), other.clone()], after(9));
    let waits = "Deployment core/core is not available: no pods";
    assert_eq!((decision.step, &decision.waits[&core.id]), (None, &Wait::For(waits.to_owned())));

    let decision = next(&[core.clone(), other.clone()], after(10));
    let why = "Deployment core/core is not available: no pods, since 2026-01-01T00:00:00Z; definitions of v1.1.0 may already be installed, so it can only go forward: to v1.1.0 with other settings, or to a later version";
    assert_eq!((decision.step, &decision.waits[&core.id]), (None, &Wait::TimedOut(why.to_owned())));
    let first = format!("CoreProvider core/core goes first, but is stuck: {why}");
    assert_eq!(decision.waits[&other.id], Wait::ForSet(first));

    // A corrected release frees it, and has its own time.
    core.wanted = components(revision("v1.1.1", "three"), &objects());
    let freed = noted_after(11, &[core.clone(), other.clone()]);
    assert_eq!((freed.phase, freed.waiting_since, freed.given_up), (InstallPhase::Preparing, None, None));

    // So does time, where it comes to run after all.
    let mut late = unavailable(true);
    late.record = Some(ProviderRecord { waiting_since: Some(minute(0)), ..record(&mut late).clone() });
    set(&mut late, &deployment("core"), |seen| seen.health = super::available());
    let Some((_, ProviderStep::Ask { then, .. })) = next(&[late], after(60)).step else { panic!() };
    assert_eq!((then.phase, then.waiting_since), (InstallPhase::Settled, None));
}

#[test]
fn before_it_what_does_not_come_to_run_gives_way_to_what_is_installed() {
    let mut core = unavailable(false);
    let other = other();
    core.record = Some(noted_after(0, &[core.clone()]));
    let given_up = noted_after(10, &[core.clone()]);
    let why = "Deployment core/core is not available: no pods, since 2026-01-01T00:00:00Z".to_owned();
    assert_eq!(given_up.given_up, Some(GivenUp { revision: revision("v1.1.0", "two"), why: why.clone() }));
    core.record = Some(given_up);
    let decision = next(&[core.clone(), other.clone()], after(10));
    assert_eq!((decision.step, &decision.waits[&core.id]), (None, &Wait::TimedOut(why)));

    // The new manager is stopped like every other, and the old objects are applied.
    core = goes_back(core);
    let back = noted_after(10, &[core.clone(), other.clone()]);
    assert_eq!((back.phase, back.target.clone()), (InstallPhase::Preparing, Some(revision("v1.0.0", "one"))));
    assert!(back.given_up.is_some() && back.objects_changed && !back.definitions_changed);
    core.record = Some(back);
    for id in [role("manager"), deployment("core")] {
        set(&mut core, &id, |seen| seen.fit = ObjectFit::Differs);
    }
    let step = |core: &ProviderFacts| next(&[core.clone(), other.clone()], after(10)).step.unwrap().1;
    assert_eq!(step(&core), ProviderStep::Scale(vec![stopped(0)]));
    set(&mut core, &deployment("core"), |seen| seen.replicas = Some(0));
    core.record = Some(noted_after(10, &[core.clone()]));
    assert_eq!(
        (record(&mut core).phase, record(&mut core).definitions_changed),
        (InstallPhase::Applying, false)
    );
    let ProviderStep::Apply { objects: applied, .. } = step(&core) else { panic!() };
    assert_eq!(applied, [role("manager")]);
    for id in objects() {
        set(&mut core, &id, |seen| *seen = same(&id));
    }
    let ProviderStep::Ask { then, .. } = step(&core) else { panic!() };
    assert_eq!(
        (then.phase, then.installed.clone()),
        (InstallPhase::Settled, Some(revision("v1.0.0", "one")))
    );
    assert!(then.given_up.is_some() && !then.objects_changed);

    // There it stays, and drift is repaired.
    core.record = Some(*then);
    let decision = next(&[core.clone()], after(60));
    assert_eq!(decision.step, None);
    // What is installed of it accepts the contract of the other one, which continues.
    let decision = next(&[core.clone(), other.clone()], after(60));
    assert_eq!(decision.step.unwrap().0, other.id);
    set(&mut core, &role("manager"), |seen| seen.fit = ObjectFit::Differs);
    let Some((_, ProviderStep::Apply { .. })) = next(&[core.clone()], after(60)).step else { panic!() };
    set(&mut core, &role("manager"), |seen| seen.fit = ObjectFit::Same);

    // Something else frees it; and asked for what is installed, it forgets what was given up.
    let freed = ProviderFacts { wanted: components(revision("v1.1.1", "three"), &objects()), ..core.clone() };
    let freed = noted_after(60, &[freed]);
    assert_eq!((freed.phase, freed.given_up), (InstallPhase::Preparing, None));
    core.wanted = components(revision("v1.0.0", "one"), &objects());
    assert_eq!(noted_after(60, &[core]).given_up, None);
}

#[test]
fn old_pods_that_do_not_go_are_let_be() {
    let mut core = to_be_upgraded();
    core.record = Some(noted(&[core.clone()]));
    record(&mut core).stopped = vec![stopped(2)];
    set(&mut core, &deployment("core"), |seen| {
        seen.replicas = Some(0);
        seen.pods = 1;
    });
    core.record = Some(noted_after(0, &[core.clone()]));
    core.record = Some(noted_after(10, &[core.clone()]));
    assert!(record(&mut core).given_up.is_some());
    // Its components need not be at hand: nothing was applied.
    for mut core in
        [goes_back(core.clone()), ProviderFacts { wanted: DesiredProvider::Halted("x".to_owned()), ..core }]
    {
        let Some((_, ProviderStep::Scale(back))) = next(&[core.clone()], after(10)).step else { panic!() };
        assert_eq!(back, [stopped(2)]);
        set(&mut core, &deployment("core"), |seen| seen.replicas = Some(2));
        let back = noted_after(10, &[core]);
        assert_eq!((back.phase, back.waiting_since, back.stopped.len()), (InstallPhase::Settled, None, 0));
        assert!(back.given_up.is_some());
    }
}

#[test]
fn objects_of_an_earlier_aim_do_not_bring_back_the_old_deployments_alone() {
    let mut core = unavailable(false);
    core.wanted = components(revision("v1.1.1", "three"), &objects());
    core.record = Some(noted_after(0, &[core.clone()]));
    assert!(record(&mut core).objects_changed);
    core.wanted = DesiredProvider::Halted("its Secret is gone".to_owned());
    let decision = next(&[core.clone()], after(0));
    assert_eq!(decision.waits[&core.id], Wait::Stuck("its Secret is gone".to_owned()));
}

#[test]
fn a_definition_that_is_not_established_has_its_time_too() {
    let mut core = unavailable(true);
    set(&mut core, &definition("boxes"), |seen| seen.is_established = false);
    core.record = Some(ProviderRecord { waiting_since: Some(minute(0)), ..record(&mut core).clone() });
    let decision = next(&[core.clone()], after(10));
    assert!(matches!(&decision.waits[&core.id], Wait::TimedOut(why) if why.contains("is not established")));
}
