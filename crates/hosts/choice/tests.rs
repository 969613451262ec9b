use std::collections::BTreeMap;

use serde_json::json;

use super::testing::{broken, choice, choice_beside, chosen_lines, cluster, had, host, noted, used, with};
use super::{HostFleet, choose};
use crate::cluster::{NotedHost, SipCluster};
use crate::host::Host;
use crate::selector::{HostDeployPolicy, Labels};

fn spread(active: u32, standby: u32) -> serde_json::Value {
    json!({"ControlPlane": {"topologyKey": "rack", "count": {"active": active, "standby": standby}}})
}

#[test]
fn one_host_a_rack_the_first_by_name() {
    let hosts = [host("b", "r1"), host("a", "r1"), host("d", "r2"), host("c", "r3"), host("e", "")];
    let chosen = choice(&cluster("t", spread(2, 1)), &hosts);
    // Standby counts like active until machines run: the first picked are active.
    assert_eq!(chosen_lines(&chosen), "ControlPlane: a, c, d (standby)");
    assert!(chosen.too_few.is_empty() && chosen.no_standby.is_empty() && chosen.released.is_empty());
}

/// Faults 1 to 6 of the old operator.
#[test]
fn the_old_faults() {
    // 1: shrinking labels nothing.
    let three = ["a", "b", "c"].map(|name| had(host(name, &format!("r-{name}")), "t", "ControlPlane"));
    let mut hosts = three.to_vec();
    hosts.extend([host("d", "r4"), host("e", "r5")]);
    let chosen = choice(&cluster("t", spread(2, 0)), &hosts);
    assert_eq!(chosen_lines(&chosen), "ControlPlane: a, b");
    assert_eq!(chosen.released.iter().map(|one| one.host.name.as_str()).collect::<Vec<_>>(), ["c"]);
    // 2: what it has counts for the spread.
    let hosts = [had(host("a", "r1"), "t", "ControlPlane"), host("b", "r1"), host("c", "r2")];
    assert_eq!(chosen_lines(&choice(&cluster("t", spread(2, 0)), &hosts)), "ControlPlane: a, c");
    // 3: no label, not eligible.
    let chosen = choice(&cluster("t", spread(1, 0)), &[host("a", "")]);
    assert_eq!(chosen.too_few, ["ControlPlane: 1 wanted, 0 available in 0 racks; a: no label rack"]);
    // 4: states are compared.
    let hosts = [used(host("a", "r1"), "x"), broken(host("b", "r2"), "inspection error"), host("c", "r3")];
    assert_eq!(chosen_lines(&choice(&cluster("t", spread(1, 0)), &hosts)), "ControlPlane: c");
    // 5: no count wishes nothing.
    let chosen = choice(&cluster("t", json!({"ControlPlane": {}})), &[host("a", "r1")]);
    assert_eq!(chosen, super::Choice::default());
    // 6: a role does not take what only the other can use, whichever is asked first.
    let hosts = [with(host("a", "r1"), "gpu", "yes"), host("b", "r1")];
    let both = |first: &str, second: &str| {
        json!({first: {"count": {"active": 1}},
               second: {"labelSelector": {"matchLabels": {"gpu": "yes"}}, "count": {"active": 1}}})
    };
    assert_eq!(chosen_lines(&choice(&cluster("t", both("A", "B")), &hosts)), "A: b; B: a");
    assert_eq!(chosen_lines(&choice(&cluster("t", both("B", "A")), &hosts)), "A: a; B: b");
}

#[test]
fn too_few_says_each_host_and_why_not() {
    let hosts = [
        host("bm-01", "r1"),
        had(used(host("bm-07", "r1"), "b"), "b", "Worker"),
        host("bm-08", "r2"),
        broken(host("bm-09", "r3"), "inspection error"),
        host("bm-11", ""),
        host("bm-12", "r2"),
    ];
    let chosen = choice(&cluster("t", spread(3, 0)), &hosts);
    assert_eq!(
        chosen.too_few,
        ["ControlPlane: 3 wanted, 2 available in 2 racks; bm-07 (r1): provisioned for gauss/b; \
          bm-09 (r3): inspection error; bm-11: no label rack; bm-12 (r2): r2 has 1 host of this role"]
    );
    // All or nothing.
    assert_eq!((chosen_lines(&chosen).as_str(), chosen.released.len()), ("", 0));
}

#[test]
fn at_most_twenty_hosts_are_named() {
    let hosts: Vec<_> = (10..35).map(|number| host(&format!("bm-{number}"), "")).collect();
    let told = choice(&cluster("t", spread(1, 0)), &hosts).too_few.remove(0);
    assert!(
        told.starts_with("ControlPlane: 1 wanted, 0 available in 0 racks; bm-10: no label rack; "),
        "{told}"
    );
    assert!(told.ends_with("bm-29: no label rack; 5 more"), "{told}");
}

#[test]
fn a_role_that_has_enough_gets_nothing_where_another_lacks() {
    let nodes = json!({"ControlPlane": {"count": {"active": 1}}, "Worker": {"count": {"active": 2}}});
    let chosen = choice(&cluster("t", nodes), &[host("a", ""), host("b", "")]);
    assert_eq!(chosen_lines(&chosen), "");
    assert_eq!(chosen.too_few, ["Worker: 2 wanted, 1 available; a: needed for ControlPlane"]);
}

#[test]
fn missing_standby_hosts_are_reported_and_stop_nothing() {
    let hosts = [host("a", "r1"), host("b", "r2"), host("c", "r2")];
    let chosen = choice(&cluster("t", spread(2, 1)), &hosts);
    assert_eq!(chosen_lines(&chosen), "ControlPlane: a, b");
    assert_eq!(
        chosen.no_standby,
        ["ControlPlane: 3 wanted with 1 standby, 2 available in 2 racks; c (r2): r2 has 1 host of this role"]
    );
}

#[test]
fn max_per_domain_loosens_and_domains_fill_evenly() {
    let nodes = json!({"Worker": {"topologyKey": "rack", "maxPerDomain": 2, "count": {"active": 3}}});
    let hosts = [host("a", "r1"), host("b", "r1"), host("c", "r1"), host("d", "r2")];
    assert_eq!(chosen_lines(&choice(&cluster("t", nodes), &hosts)), "Worker: a, b, d");
    let nodes = json!({"Worker": {"topologyKey": "rack", "maxPerDomain": 2, "count": {"active": 2}}});
    assert_eq!(chosen_lines(&choice(&cluster("t", nodes), &hosts)), "Worker: a, d");
}

#[test]
fn what_others_have_or_noted_is_not_free() {
    let other = noted(
        cluster("other", spread(1, 0)),
        &choice(&cluster("other", spread(1, 0)), &[host("a", "r1")]).hosts,
    );
    let hosts = [host("a", "r1"), had(host("b", "r2"), "third", "Worker")];
    let chosen = choice_beside(&cluster("t", spread(1, 0)), &hosts, &[other], &[]);
    assert_eq!(
        chosen.too_few,
        [
            "ControlPlane: 1 wanted, 0 available in 0 racks; a (r1): chosen for gauss/other; b (r2): chosen for gauss/third"
        ]
    );
}

/// A record in a status counts for no more than its SIPCluster's spec could have got: otherwise an edited
/// status would withhold hosts from everybody.
#[test]
fn a_note_that_no_choice_would_have_made_withholds_nothing() {
    let big = |name: &str, rack: &str| with(host(name, rack), "flavor", "big");
    let racks = [big("a", "r1"), big("b", "r1"), host("c", "r2")];
    let note = |hosts: &[(&str, &str)]| -> Vec<NotedHost> {
        let note = |(name, role): &(&str, &str)| NotedHost {
            namespace: "gauss".to_owned(),
            name: (*name).to_owned(),
            uid: format!("uid-{name}"),
            role: (*role).to_owned(),
            standby: false,
        };
        hosts.iter().map(note).collect()
    };
    let nodes = json!({"Worker": {"labelSelector": {"matchLabels": {"flavor": "big"}}, "topologyKey": "rack",
        "count": {"active": 1, "standby": 1}}});
    let honest = || noted(cluster("other", nodes.clone()), &note(&[("a", "Worker")]));
    let withheld = |other: &SipCluster, hosts: &[Host], policies: &[HostDeployPolicy]| -> Vec<String> {
        let wish = cluster("t", json!({"Any": {"count": {"active": 9}}}));
        let told = choice_beside(&wish, hosts, std::slice::from_ref(other), policies).too_few.remove(0);
        // Hosts that are labelled for it are not free whatever it noted.
        let unlabelled = hosts.iter().filter(|host| host.labelled_for().is_none());
        let names = unlabelled.map(|host| host.metadata.name.clone());
        names.filter(|name| told.contains(&format!("{name}: chosen for "))).collect()
    };
    assert_eq!(withheld(&honest(), &racks, &[]), ["a"]);
    let change = |change: &dyn Fn(&mut SipCluster)| {
        let mut other = honest();
        change(&mut other);
        other
    };
    let false_ones: [(&str, SipCluster); 9] = [
        ("a role that it has not", noted(honest(), &note(&[("a", "Gpu")]))),
        ("a host that its selector does not match", noted(honest(), &note(&[("c", "Worker")]))),
        (
            "more than wanted",
            change(&|other| {
                other.spec.nodes.get_mut("Worker").unwrap().count.standby = 0;
                other.status.hosts = note(&[("a", "Worker"), ("b", "Worker")]);
            }),
        ),
        ("more in one domain", noted(honest(), &note(&[("a", "Worker"), ("b", "Worker")]))),
        ("less than active", change(&|other| other.spec.nodes.get_mut("Worker").unwrap().count.active = 2)),
        (
            "one role of two",
            change(&|other| {
                let role = other.spec.nodes["Worker"].clone();
                other.spec.nodes.insert("Another".to_owned(), role);
            }),
        ),
        (
            "none is wanted",
            change(&|other| {
                let count = &mut other.spec.nodes.get_mut("Worker").unwrap().count;
                (count.active, count.standby) = (0, 0);
            }),
        ),
        (
            "it is being deleted",
            change(&|other| {
                other.metadata.deletion_timestamp = Some("2026-11-25T00:00:00Z".to_owned());
            }),
        ),
        ("no host can be labelled for it", change(&|other| other.metadata.name = "x".repeat(64))),
    ];
    for (what, other) in &false_ones {
        assert_eq!(withheld(other, &racks, &[]), [""; 0], "{what}");
    }
    // What it has by label counts: it is as much as wanted, with nothing besides.
    let labelled = [had(big("d", "r3"), "other", "Worker"), had(big("e", "r4"), "other", "Worker")];
    let hosts: Vec<Host> = racks.iter().chain(&labelled).cloned().collect();
    assert_eq!(withheld(&honest(), &hosts, &[]), [""; 0]);
    let one_labelled: Vec<Host> = racks.iter().chain(&labelled[..1]).cloned().collect();
    assert_eq!(withheld(&honest(), &one_labelled, &[]), ["a"]);
    // A broken one that nobody uses makes room for another.
    let replaced: Vec<Host> =
        racks.iter().cloned().chain([labelled[0].clone(), broken(labelled[1].clone(), "x")]).collect();
    assert_eq!(withheld(&honest(), &replaced, &[]), ["a"]);
    // Of a namespace that does not open its hosts to that of the other.
    let mut far = honest();
    far.metadata.namespace = "far".to_owned();
    assert_eq!(withheld(&far, &racks, &[]), [""; 0]);
    let open = HostDeployPolicy::read(&json!({"metadata": {"namespace": "gauss"},
        "spec": {"hostClaimNamespaces": {"names": ["far"]}}}));
    assert_eq!(withheld(&far, &racks, &[open]), ["a"]);
}

/// A policy that asks for labels is asked for those of the namespace whose SIPCluster noted the host.
#[test]
fn a_policy_reads_the_labels_of_the_namespace_that_noted() {
    let policy = HostDeployPolicy::read(&json!({"metadata": {"namespace": "gauss"},
        "spec": {"hostClaimNamespaces": {"hasLabels": [{"name": "team", "value": "blue"}]}}}));
    let hosts = [host("a", "r1")];
    let mut other =
        noted(cluster("other", spread(1, 0)), &choice(&cluster("other", spread(1, 0)), &hosts).hosts);
    other.metadata.namespace = "far".to_owned();
    for (namespace, lacks) in [("far", true), ("gauss", false)] {
        let labels =
            BTreeMap::from([(namespace.to_owned(), Labels::from([("team".to_owned(), "blue".to_owned())]))]);
        let fleet = HostFleet {
            hosts: &hosts,
            clusters: std::slice::from_ref(&other),
            policies: std::slice::from_ref(&policy),
            namespace_labels: &labels,
        };
        assert_eq!(choose(&cluster("t", spread(1, 0)), &fleet).too_few.is_empty(), !lacks, "{namespace}");
    }
}

/// Nor does a note of its own get it what its spec would not.
#[test]
fn a_note_of_ones_own_that_no_choice_would_have_made_gets_nothing() {
    let hosts = [host("a", "r1"), host("b", "r1"), with(host("c", "r2"), "flavor", "big")];
    let nodes =
        json!({"Worker": {"labelSelector": {"matchLabels": {"flavor": "big"}}, "count": {"active": 1}}});
    let every = json!({"Worker": {"count": {"active": 3}}});
    let all = choice(&cluster("t", every), &hosts).hosts;
    assert_eq!(all.len(), 3);
    assert_eq!(chosen_lines(&choice(&noted(cluster("t", nodes), &all), &hosts)), "Worker: c");
}

/// Of two that recorded one host one has it, and the other chooses again as a whole.
#[test]
fn of_two_that_noted_one_host_the_first_by_name_has_it() {
    let hosts = [host("a", "r1"), host("b", "r2"), host("c", "r3")];
    let both = choice(&cluster("t", spread(2, 0)), &hosts[..2]).hosts;
    let (first, second) =
        (noted(cluster("s", spread(2, 0)), &both), noted(cluster("t", spread(1, 0)), &both[..1]));
    let all = [first.clone(), second.clone()];
    assert_eq!(chosen_lines(&choice_beside(&first, &hosts, &all, &[])), "ControlPlane: a, b");
    assert_eq!(chosen_lines(&choice_beside(&second, &hosts, &all, &[])), "ControlPlane: c");
}

#[test]
fn a_recreated_host_of_the_same_name_is_not_the_noted_one() {
    let before = [host("b", "r1")];
    let with_note = noted(cluster("t", spread(1, 0)), &choice(&cluster("t", spread(1, 0)), &before).hosts);
    let mut anew = host("b", "r1");
    anew.metadata.uid = "uid-new".to_owned();
    let chosen = choice(&with_note, &[host("a", "r2"), anew]);
    assert_eq!(chosen_lines(&chosen), "ControlPlane: a");
}

#[test]
fn a_noted_choice_stays_though_a_better_host_comes() {
    let with_note =
        noted(cluster("t", spread(1, 0)), &choice(&cluster("t", spread(1, 0)), &[host("b", "r1")]).hosts);
    assert_eq!(chosen_lines(&choice(&with_note, &[host("a", "r1"), host("b", "r1")])), "ControlPlane: b");
}

/// A recorded host that is not labelled yet neither prevents an assignment nor is labelled without one.
#[test]
fn notes_give_way_where_the_whole_cannot_be_had_with_them() {
    let nodes = json!({
        "A": {"count": {"active": 1}},
        "B": {"labelSelector": {"matchLabels": {"gpu": "yes"}}, "count": {"active": 1}}});
    let (a, b) = (with(host("a", ""), "gpu", "yes"), with(host("b", ""), "gpu", "yes"));
    let first = choice(&cluster("t", nodes.clone()), &[a.clone(), b.clone()]);
    assert_eq!(chosen_lines(&first), "A: a; B: b");
    let with_note = noted(cluster("t", nodes), &first.hosts);
    // Meanwhile somebody took b: a goes to B, and c to A.
    let taken = used(b, "x");
    assert_eq!(chosen_lines(&choice(&with_note, &[a.clone(), taken.clone(), host("c", "")])), "A: c; B: a");
    assert_eq!(chosen_lines(&choice(&with_note, &[a, taken])), "");
}

#[test]
fn shrinking_gives_back_standby_first_and_what_is_used_waits() {
    let used_one = |name: &str| used(had(host(name, &format!("r-{name}")), "t", "ControlPlane"), "t");
    let idle = |name: &str| had(host(name, &format!("r-{name}")), "t", "ControlPlane");
    let before = cluster("t", spread(2, 1));
    let first = choice(&before, &[idle("a"), used_one("b"), used_one("c")]);
    assert_eq!(chosen_lines(&first), "ControlPlane: a (standby), b, c");
    let smaller = noted(cluster("t", spread(2, 0)), &first.hosts);
    let chosen = choice(&smaller, &[idle("a"), used_one("b"), used_one("c")]);
    assert_eq!(
        (chosen_lines(&chosen).as_str(), chosen.released[0].host.name.as_str()),
        ("ControlPlane: b, c", "a")
    );
    let smaller = noted(cluster("t", spread(1, 0)), &first.hosts);
    let chosen = choice(&smaller, &[idle("a"), used_one("b"), used_one("c")]);
    assert_eq!(
        chosen.cannot_go,
        [
            "ControlPlane: 1 host more than wanted, but in use: b, c; scale down the MachineDeployment or control plane first"
        ]
    );
    assert_eq!(chosen_lines(&chosen), "ControlPlane: b, c (standby)");
    // One that is being cleaned goes later.
    let mut cleaned = idle("a");
    cleaned.state = "deprovisioning".to_owned();
    let chosen = choice(&noted(cluster("t", spread(0, 0)), &first.hosts), &[cleaned]);
    assert!(chosen.released.is_empty());
    assert_eq!(chosen.cannot_go.len(), 1);
}

/// Metal3 takes `consumerRef` away while a machine is replaced, and finds the host again by the label.
#[test]
fn a_host_that_its_machine_comes_back_to_is_in_use() {
    let idle = |name: &str| had(host(name, &format!("r-{name}")), "t", "ControlPlane");
    let comes_back = |name: &str| with(idle(name), "infrastructure.cluster.x-k8s.io/node-reuse", "t-cp");
    let running = used(idle("b"), "t");
    for (hosts, goes) in [
        ([running.clone(), comes_back("c"), idle("d")], "d"),
        ([running.clone(), idle("c"), comes_back("d")], "c"),
    ] {
        let with_notes =
            noted(cluster("t", spread(3, 0)), &choice(&cluster("t", spread(3, 0)), &hosts).hosts);
        let smaller = noted(cluster("t", spread(2, 0)), &with_notes.status.hosts);
        let chosen = choice(&smaller, &hosts);
        assert_eq!(chosen.released.iter().map(|one| one.host.name.as_str()).collect::<Vec<_>>(), [goes]);
        // Nor does it become standby before one that nobody uses.
        let standby = choice(&noted(cluster("t", spread(2, 1)), &with_notes.status.hosts), &hosts);
        let standby: Vec<&str> =
            standby.hosts.iter().filter(|one| one.standby).map(|one| one.name.as_str()).collect();
        assert_eq!(standby, [goes]);
    }
    // Nothing goes where all are in use, nor with the role.
    let hosts = [running, comes_back("c")];
    let chosen = choice(&cluster("t", spread(1, 0)), &hosts);
    assert_eq!((chosen.released.len(), chosen.cannot_go.len()), (0, 1));
    let chosen = choice(&cluster("t", json!({})), &hosts);
    assert_eq!((chosen_lines(&chosen).as_str(), chosen.released.len()), ("ControlPlane: b, c", 0));
    assert!(chosen.cannot_go[1].contains("c is kept for t-cp (label "), "{chosen:?}");
}

#[test]
fn hosts_of_a_role_that_is_gone_go_once_idle() {
    let hosts = [had(host("a", ""), "t", "Gpu"), used(had(host("b", ""), "t", "Gpu"), "t")];
    let chosen = choice(&cluster("t", json!({})), &hosts);
    assert_eq!(chosen.released.iter().map(|one| one.host.name.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(chosen_lines(&chosen), "Gpu: b");
    assert_eq!(
        chosen.cannot_go,
        [
            "Gpu: this role no longer exists, but b is provisioned for gauss/t: delete the machines of this role first"
        ]
    );
}

#[test]
fn a_broken_host_is_replaced_while_nothing_uses_it_and_another_can_be_had() {
    let broken_one = broken(had(host("a", "r1"), "t", "ControlPlane"), "power management error");
    let chosen = choice(&cluster("t", spread(1, 0)), &[broken_one.clone(), host("b", "r1")]);
    assert_eq!((chosen_lines(&chosen).as_str(), chosen.released.len()), ("ControlPlane: b", 1));
    // Nobody else: it stays, and why is said.
    let chosen = choice(&cluster("t", spread(1, 0)), std::slice::from_ref(&broken_one));
    assert_eq!((chosen_lines(&chosen).as_str(), chosen.released.len()), ("ControlPlane: a", 0));
    assert_eq!(
        chosen.too_few,
        ["ControlPlane: 1 wanted, 0 available in 0 racks; a (r1): power management error"]
    );
    // In use: it stays.
    let chosen = choice(&cluster("t", spread(1, 0)), &[used(broken_one, "t"), host("b", "r1")]);
    assert_eq!((chosen_lines(&chosen).as_str(), chosen.released.len()), ("ControlPlane: a", 0));
}

#[test]
fn hosts_of_other_namespaces_where_a_policy_opens_them() {
    let mut pooled = host("a", "r1");
    pooled.metadata.namespace = "pool".to_owned();
    let wish = cluster("t", spread(1, 0));
    let hosts = [pooled];
    // Hosts of others are not even named.
    assert_eq!(choice(&wish, &hosts).too_few, ["ControlPlane: 1 wanted, 0 available in 0 racks"]);
    let policy = |spec| HostDeployPolicy::read(&json!({"metadata": {"namespace": "pool"}, "spec": spec}));
    let open = policy(json!({"hostClaimNamespaces": {"names": ["gauss"]}}));
    assert_eq!(chosen_lines(&choice_beside(&wish, &hosts, &[], &[open])), "ControlPlane: a");
    let other = policy(json!({"hostClaimNamespaces": {"names": ["else"]}}));
    assert_eq!(chosen_lines(&choice_beside(&wish, &hosts, &[], &[other])), "");
}

#[test]
fn a_value_that_cannot_be_a_label_is_reported() {
    let nodes = json!({"Control Plane": {"count": {"active": 1}}, "Worker": {"count": {"active": 1}}});
    let chosen = choice(&cluster("t", nodes), &[host("a", "")]);
    assert_eq!(chosen_lines(&chosen), "");
    assert!(chosen.too_few[0].starts_with("\"Control Plane\": no label can have this value"), "{chosen:?}");
    let long = "x".repeat(64);
    let chosen = choice(&cluster(&long, spread(1, 0)), &[host("a", "r1")]);
    assert!(chosen.too_few[0].contains("longer than a label's value"), "{chosen:?}");
}
