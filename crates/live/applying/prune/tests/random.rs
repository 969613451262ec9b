//! Random folders: whatever they look like, nothing is deleted that should not be.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::folder;
use crate::applying::testing::{id, rendered as render};
use crate::applying::{AppliedInventory, OwnerIndex};
use crate::live_objects::LiveObjects;
use crate::rollout::observed::RolloutProgress;
use capstan_model::object::ObjectId;
use capstan_plan::settings::Tombstone;
use capstan_plan::templates::NamedTemplate;

const KINDS: [(&str, &str); 9] = [
    ("cluster.x-k8s.io/v1beta2", "Cluster"),
    ("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane"),
    ("cluster.x-k8s.io/v1beta2", "MachineDeployment"),
    ("cluster.x-k8s.io/v1beta2", "MachineHealthCheck"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "DevMachineTemplate"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "DevClusterIdentity"),
    ("v1", "Secret"),
    ("v1", "ConfigMap"),
    ("v1", "Namespace"),
];

/// What one object is like.
#[derive(Debug, Clone)]
struct One {
    kind: usize,
    name: u8,
    rendered: bool,
    recorded: Recorded,
    live: Live,
    tombstone: bool,
    new_owner: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Recorded {
    No,
    Intended,
    WithUid,
    WithAnotherUid,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Live {
    Unread,
    Absent,
    Theirs,
    Ours,
    Terminating,
}

fn one() -> impl Strategy<Value = One> {
    let recorded = prop_oneof![
        1 => Just(Recorded::No),
        1 => Just(Recorded::Intended),
        4 => Just(Recorded::WithUid),
        1 => Just(Recorded::WithAnotherUid)
    ];
    let live = prop_oneof![
        1 => Just(Live::Unread),
        1 => Just(Live::Absent),
        1 => Just(Live::Theirs),
        5 => Just(Live::Ours),
        1 => Just(Live::Terminating)
    ];
    let rarely = || proptest::bool::weighted(0.1);
    (
        0..KINDS.len(),
        0..3_u8,
        proptest::bool::weighted(0.4),
        recorded,
        live,
        proptest::bool::weighted(0.3),
        rarely(),
    )
        .prop_map(|(kind, name, rendered, recorded, live, tombstone, new_owner)| One {
            kind,
            name,
            rendered,
            recorded,
            live,
            tombstone,
            new_owner,
        })
}

fn object(one: &One) -> (String, ObjectId, Value) {
    let (api, kind) = KINDS[one.kind];
    let name = format!("o{}", one.name);
    let group = capstan_model::object::api_group(api);
    let id = id(&if group.is_empty() {
        format!("{kind} org/{name}")
    } else {
        format!("{group}/{kind} org/{name}")
    });
    let value = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "org"}});
    (api.to_owned(), id, value)
}

fn is_credential(id: &ObjectId) -> bool {
    id.kind == "Secret" || id.kind == "DevClusterIdentity"
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_deleted_that_should_not_be(
        all in proptest::collection::vec(one(), 0..14),
        whole in proptest::bool::weighted(0.3),
        gone in proptest::bool::weighted(0.1),
        budget in 0..4_u32,
        rollout in proptest::sample::select(vec![RolloutProgress::Done, RolloutProgress::Unknown, RolloutProgress::Waiting, RolloutProgress::Rolling, RolloutProgress::Stuck]),
        withheld in proptest::sample::select(vec![Withholding::Nothing, Withholding::Workers]),
    ) {
        let mut seen = BTreeSet::new();
        let all: Vec<One> = all.into_iter().filter(|one| seen.insert((one.kind, one.name))).collect();
        let (mut inventory, mut live, mut owners) = (AppliedInventory::default(), LiveObjects::default(), OwnerIndex::default());
        let (mut theirs, mut refused) = (AppliedInventory::default(), false);
        let (mut text, mut stones, mut tombstoned) = (String::new(), Vec::new(), BTreeSet::new());
        for one in &all {
            let (api, id, mut value) = object(one);
            let uid = format!("uid-{}-{}", one.kind, one.name);
            if one.rendered {
                text.push_str(&format!("---\n{value}\n"));
            }
            match one.recorded {
                Recorded::No => {}
                Recorded::Intended => inventory.intend(&id, &api, &id.name),
                Recorded::WithUid | Recorded::WithAnotherUid => {
                    inventory.intend(&id, &api, &id.name);
                    inventory.applied(&id, if one.recorded == Recorded::WithUid { &uid } else { "another" });
                }
            }
            value["metadata"]["uid"] = json!(uid);
            match one.live {
                Live::Unread => {}
                Live::Absent => live.absent(id.clone()),
                Live::Theirs | Live::Ours | Live::Terminating => {
                    if one.live != Live::Theirs {
                        value["metadata"]["managedFields"] = json!([{"manager": "capstan", "operation": "Apply", "fieldsV1": {}}]);
                    }
                    if one.live == Live::Terminating {
                        value["metadata"]["deletionTimestamp"] = json!("now");
                    }
                    live.insert(value);
                }
            }
            if one.tombstone {
                tombstoned.insert(id.clone());
                stones.push(Tombstone { group: None, kind: id.kind.clone(), namespace: None, name: id.name.clone() });
            }
            if one.new_owner {
                owners.renders(&folder("other"), [&id]);
                theirs.intend(&id, &api, &id.name);
                if one.name == 0 {
                    theirs.applied(&id, &uid);
                }
                refused |= one.name == 1;
            }
        }
        if refused {
            owners.refused(&folder("other"));
        }
        let neighbours = [(folder("other"), theirs.clone())].into();
        live.listed("cluster.x-k8s.io", "MachineSet");
        live.listed("cluster.x-k8s.io", "Machine");
        let rendered = if text.is_empty() { Vec::new() } else { render(&text, "").objects };
        let delete = if whole { Deletion::Cluster } else { Deletion::Objects(stones) };
        let templates: Vec<NamedTemplate> = Vec::new();
        let folder = folder("c");
        let round = prune(&PruneFacts {
            folder: &folder, inventory: &inventory, rendered: (!gone).then_some(&rendered[..]), templates: &templates,
            delete: &delete, namespace: Some("org"), live: &live, owners: &owners, neighbours: &neighbours, rollout, withheld, budget,
        });

        let find = |id: &ObjectId| all.iter().find(|one| object(one).1 == *id).unwrap();
        for doomed in &round.delete {
            let one = find(&doomed.object);
            let recorded = inventory.get(&doomed.object);
            prop_assert!(recorded.is_some(), "not in the inventory");
            prop_assert_eq!(&doomed.uid, &format!("uid-{}-{}", one.kind, one.name));
            prop_assert!(one.recorded == Recorded::WithUid || one.recorded == Recorded::Intended && one.live == Live::Ours);
            prop_assert!(matches!(one.live, Live::Ours | Live::Theirs));
            // What the folder gives up as a whole, and only a refused one renders beside it.
            prop_assert!(!one.new_owner || whole && refused && one.rendered && one.name > 0, "another folder's");
            prop_assert!(doomed.object.kind != "Namespace" || !whole);
            if !whole {
                prop_assert!(!gone && !rendered.is_empty());
                prop_assert!(!one.rendered);
                let free = ["MachineHealthCheck", "ConfigMap", "DevMachineTemplate"].contains(&doomed.object.kind.as_str());
                prop_assert!(free || tombstoned.contains(&doomed.object));
                if doomed.object.kind == "DevMachineTemplate" && !tombstoned.contains(&doomed.object) {
                    prop_assert!(rollout == RolloutProgress::Done && withheld == Withholding::Nothing);
                }
            }
        }
        let pruned = round.delete.iter().filter(|doomed| doomed.because == DeletionReason::Pruned).count();
        prop_assert!(pruned <= usize::try_from(budget).unwrap());
        // Credentials never go beside anything else, nor anything beside a Cluster.
        let goes = |is: fn(&ObjectId) -> bool| round.delete.iter().any(|doomed| is(&doomed.object));
        let others = |id: &ObjectId| !is_credential(id) && id.kind != "Namespace";
        prop_assert!(!(goes(is_credential) && goes(others)));
        prop_assert!(!(goes(|id| id.kind == "Cluster") && goes(|id| id.kind != "Cluster")));
        if whole {
            let cluster_stands = all.iter().any(|one| {
                KINDS[one.kind].1 == "Cluster"
                    && (one.recorded != Recorded::No || one.rendered && !gone)
                    && one.live != Live::Absent
            });
            prop_assert!(!cluster_stands || !goes(|id| id.kind != "Cluster"), "a Cluster stands");
        }
        // Each object of the inventory that is not wanted is accounted for once.
        let told: Vec<&ObjectId> = round.delete.iter().map(|doomed| &doomed.object)
            .chain(round.keep.iter().map(|kept| &kept.object))
            .chain(round.forget.iter().map(|gone| &gone.object))
            .collect();
        for gone in &round.forget {
            let passed = matches!(gone.why, Forget::Transferred(_));
            prop_assert!(!passed || theirs.get(&gone.object).is_some_and(|entry| entry.uid.is_some()), "not applied");
        }
        let once: BTreeSet<&ObjectId> = told.iter().copied().collect();
        prop_assert_eq!(once.len(), told.len(), "told twice");
        for entry in inventory.objects() {
            let wanted = !whole && !gone && find(&entry.id()).rendered;
            prop_assert_eq!(once.contains(&entry.id()), !wanted, "{}", entry.id());
        }
    }

    /// `delete: cluster`, round after round, with objects that take their time to go.
    #[test]
    fn a_whole_cluster_goes_in_the_end_and_its_credentials_last(
        names in proptest::collection::btree_set((0..KINDS.len(), 0..3_u8), 1..12),
        slow in proptest::collection::vec(0..4_usize, 40),
    ) {
        let mut inventory = AppliedInventory::default();
        let mut world: Vec<(ObjectId, Value, Option<usize>)> = Vec::new();
        for (at, (kind, name)) in names.iter().enumerate() {
            let one = One { kind: *kind, name: *name, rendered: true, recorded: Recorded::WithUid, live: Live::Ours, tombstone: false, new_owner: false };
            let (api, id, mut value) = object(&one);
            value["metadata"]["uid"] = json!(format!("u{at}"));
            inventory.intend(&id, &api, &id.name);
            inventory.applied(&id, &format!("u{at}"));
            world.push((id, value, None));
        }
        let (folder, owners) = (folder("c"), OwnerIndex::default());
        let mut order: Vec<ObjectId> = Vec::new();
        let mut slow = slow.into_iter().cycle();
        for round in 0.. {
            prop_assert!(round < 60, "it never ends: {inventory:?}");
            let mut live = LiveObjects::default();
            inventory.objects().iter().for_each(|entry| live.absent(entry.id()));
            for (_, value, going) in &world {
                let mut value = value.clone();
                if going.is_some() {
                    value["metadata"]["deletionTimestamp"] = json!("now");
                }
                live.insert(value);
            }
            let done = prune(&PruneFacts {
                folder: &folder, inventory: &inventory, rendered: Some(&[]), templates: &[], delete: &Deletion::Cluster,
                namespace: Some("org"), live: &live, owners: &owners, neighbours: &BTreeMap::new(), rollout: RolloutProgress::Waiting, withheld: Withholding::Workers, budget: 0,
            });
            for doomed in &done.delete {
                order.push(doomed.object.clone());
                let hit = world.iter_mut().find(|(id, _, _)| *id == doomed.object).unwrap();
                hit.2 = slow.next();
            }
            done.forget.iter().for_each(|gone| inventory.forget(&gone.object));
            if done.is_over() {
                break;
            }
            for (_, _, going) in &mut world {
                *going = going.map(|left| left.saturating_sub(1));
            }
            world.retain(|(_, _, going)| *going != Some(0));
        }
        prop_assert!(inventory.objects().is_empty());
        let stage = |id: &ObjectId| if id.kind == "Cluster" { 0 } else if is_credential(id) { 2 } else { 1 };
        prop_assert!(order.windows(2).all(|pair| stage(&pair[0]) <= stage(&pair[1])), "{order:?}");
    }
}
