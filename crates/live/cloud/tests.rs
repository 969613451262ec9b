//! Folders and clouds, and what comes of them.

use capstan_kustomize::render::{Folders, RenderedObject, render};
use capstan_kustomize::schema::Schemas;
use capstan_model::kinds::KindReader;
use capstan_model::tree::RepoPath;
use capstan_plan::classes::ClassesElsewhere as Classes;
use capstan_plan::merge::AppliedBy;
use capstan_test_support::Files;
use serde_json::{Value, json};

use super::*;
use crate::live_objects::LiveObjects;
use crate::rollout::rollouts;

const CLUSTER: &str = "
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: my-org}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackCluster, name: peu01}
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: peu01}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: peu01, namespace: my-org}
spec:
  identityRef: {name: peu01-cloud-config, cloudName: openstack}
  externalNetwork: {filter: {name: external}}
  managedSubnets: [{cidr: 10.8.0.0/20}]
  managedSecurityGroups: {allowAllInClusterTraffic: true}
  controlPlaneAvailabilityZones: [nova]
---
";

const CONTROL_PLANE: &str = "
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: my-org, uid: u-cp}
spec:
  replicas: 3
  version: v1.35.1
  kubeadmConfigSpec: {}
  machineTemplate:
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, name: cp}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: cp, namespace: my-org}
spec:
  template:
    spec:
      flavor: SCS-2V-4-20
      image: {filter: {name: ubuntu}}
      sshKeyName: ops
      serverGroup: {filter: {name: controller}}
---
";

const WORKERS: &str = "
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md, namespace: my-org}
spec:
  clusterName: peu01
  replicas: 3
  template:
    spec:
      clusterName: peu01
      version: v1.35.1
      failureDomain: nova
      bootstrap: {dataSecretName: md}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, name: md}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: md, namespace: my-org}
spec:
  template:
    spec:
      flavor: SCS-4V-16
      image: {filter: {name: ubuntu}}
      rootVolume: {sizeGiB: 30}
      ports: [{network: {filter: {name: nodes}}}]
";

fn rendered(text: &str) -> Vec<RenderedObject> {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    render(&Files::new(&[("c/base/all.yaml", text)]), &folders).unwrap().objects
}

fn whole() -> String {
    [CLUSTER, CONTROL_PLANE, WORKERS].concat()
}

/// What is live once a folder was applied and its machines came.
fn live(objects: &[RenderedObject], machines: &[(&str, u32)]) -> LiveObjects {
    let mut live: LiveObjects = objects.iter().map(|object| object.value.clone()).collect();
    for (owner, count) in machines {
        for index in 0..*count {
            let mut machine = json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1",
                "kind": "Machine",
                "metadata": {"name": format!("{owner}-{index}"), "namespace": "my-org"},
                "spec": {"providerID": format!("openstack:///{owner}-{index}")},
            });
            if *owner == "u-cp" {
                machine["metadata"]["ownerReferences"] = json!([{"uid": "u-cp"}]);
            } else {
                machine["metadata"]["labels"] = json!({"cluster.x-k8s.io/deployment-name": owner});
            }
            live.insert(machine);
        }
    }
    live.listed("cluster.x-k8s.io", "Machine");
    live
}

fn flavor(name: &str, cores: u64, ram_mib: u64, disk_gib: u64) -> MachineType {
    MachineType { id: format!("id-{name}"), name: name.to_owned(), cores, ram_mib, disk_gib }
}

fn quota(limit: u64, used: u64) -> Quota {
    Quota { limit: Some(limit), used }
}

/// A cloud in which everything is there, and much is free.
fn cloud() -> CloudFacts {
    let image = |id: &str| Image {
        id: id.to_owned(),
        name: "ubuntu".to_owned(),
        tags: vec![],
        not_bootable: None,
        min_disk_gib: 20,
        min_ram_mib: 0,
    };
    let network = |name: &str, external| Network {
        id: format!("id-{name}"),
        name: name.to_owned(),
        tags: vec![],
        external,
    };
    CloudFacts {
        machine_types: Ok(vec![
            flavor("SCS-1V-4", 1, 4096, 20),
            flavor("SCS-2V-8", 2, 8192, 0),
            flavor("SCS-2V-4-20", 2, 4096, 20),
            flavor("SCS-4V-16", 4, 16384, 0),
        ]),
        images: Ok(vec![image("i-1")]),
        networks: Ok(vec![network("external", true), network("nodes", false)]),
        key_pairs: Ok(vec!["ops".to_owned()]),
        zones: Ok(vec!["nova".to_owned()]),
        placement_groups: Ok(vec![PlacementGroup { id: "g-1".to_owned(), name: "controller".to_owned() }]),
        compute: Ok([
            (Resource::Instances, quota(100, 0)),
            (Resource::Cores, quota(400, 0)),
            (Resource::Ram, quota(1 << 20, 0)),
        ]
        .into()),
        volume: Ok([(Resource::Volumes, quota(50, 0)), (Resource::Gigabytes, quota(5000, 0))].into()),
        network: Ok([
            (Resource::Ports, quota(100, 0)),
            (Resource::PublicIps, quota(10, 0)),
            (Resource::SecurityGroups, quota(10, 0)),
        ]
        .into()),
    }
}

/// The needs of a change, a line each.
fn need_lines(before: &str, after: &str, machines: &[(&str, u32)]) -> Vec<String> {
    let (before, after) = (rendered(before), rendered(after));
    let rolls = rollouts(&before, &after, AppliedBy::Reconciler, &Classes::default(), Schemas::built_in());
    let asks = asks_of(&after, &live(&before, machines), &rolls);
    let lines = |ask: &CloudAsk| {
        needs(ask, &cloud())
            .into_iter()
            .map(|need| {
                format!(
                    "{}: {} ({})",
                    ask.words.resource(need.resource),
                    need.resource.amount(need.amount),
                    need.why
                )
            })
            .collect::<Vec<_>>()
    };
    asks.iter().flat_map(lines).collect()
}

#[test]
fn a_new_cluster_needs_its_machines_and_its_network() {
    let after = rendered(&whole());
    let asks = asks_of(&after, &LiveObjects::default(), &[]);
    assert_eq!(asks.len(), 1);
    assert_eq!(asks[0].identity.shown(), "cloud `openstack` of Secret my-org/peu01-cloud-config");
    let needs: Vec<(&str, u64, String)> = needs(&asks[0], &cloud())
        .into_iter()
        .map(|need| (asks[0].words.resource(need.resource), need.amount, need.why))
        .collect();
    let machines = "3 machines of SCS-2V-4-20, 3 machines of SCS-4V-16";
    let large = "3 machines of SCS-4V-16";
    assert_eq!(
        needs,
        [
            ("instances", 6, machines.to_owned()),
            ("cores", 18, machines.to_owned()),
            ("RAM", 61_440, machines.to_owned()),
            ("volumes", 3, large.to_owned()),
            ("gigabytes of volumes", 90, large.to_owned()),
            ("ports", 7, format!("{machines}, 1 for the router")),
            ("floating IPs", 1, "1 for the API server".to_owned()),
            ("security groups", 2, "2 for control plane and workers".to_owned()),
        ]
    );
    assert_eq!(judge(&asks[0], &cloud(), &[]), []);
    let mut questions = Questions::default();
    questions.add(&asks[0]);
    assert!(questions.machines && questions.volumes && questions.key_pairs && questions.networks);
    assert_eq!(questions.images.len(), 1);
}

#[test]
fn numbers_that_nobody_can_mean_are_more_than_any_quota_has() {
    let most = u64::MAX.to_string();
    let after = whole()
        .replace("clusterName: peu01\n  replicas: 3", &format!("clusterName: peu01\n  replicas: {most}"))
        .replace("sizeGiB: 30", &format!("sizeGiB: {most}"));
    let asks = asks_of(&rendered(&after), &LiveObjects::default(), &[]);
    let all = needs(&asks[0], &cloud());
    let of = |resource| all.iter().find(|need| need.resource == resource).unwrap().amount;
    // Three of the control plane, and as many workers as a number of replicas can say.
    assert_eq!(of(Resource::Instances), 3 + 4_294_967_295);
    assert_eq!(of(Resource::Gigabytes), u64::MAX);
}

#[test]
fn what_neither_adds_nor_replaces_machines_asks_for_nothing() {
    assert_eq!(need_lines(&whole(), &whole(), &[("u-cp", 3), ("peu01-md", 3)]), Vec::<String>::new());
}

#[test]
fn only_the_difference_counts_and_the_surge_of_what_rolls() {
    let all = [("u-cp", 3), ("peu01-md", 3)];
    let first = |lines: Vec<String>| lines.into_iter().take(2).collect::<Vec<_>>();
    // Three more, and no rollout.
    let more = whole().replace("clusterName: peu01\n  replicas: 3", "clusterName: peu01\n  replicas: 6");
    assert_eq!(
        first(need_lines(&whole(), &more, &all)),
        ["instances: 3 (3 machines of SCS-4V-16)", "cores: 12 (3 machines of SCS-4V-16)"]
    );
    // Three more while all roll.
    let both = more
        .replace("clusterName: peu01\n      version: v1.35.1", "clusterName: peu01\n      version: v1.35.2");
    assert_eq!(
        first(need_lines(&whole(), &both, &all)),
        [
            "instances: 4 (3 machines and 1 surge of SCS-4V-16)",
            "cores: 16 (3 machines and 1 surge of SCS-4V-16)"
        ]
    );
    // Machines that were wanted before and have not come yet count still.
    assert_eq!(
        first(need_lines(&more, &more, &[("u-cp", 3), ("peu01-md", 4)])),
        ["instances: 2 (2 machines of SCS-4V-16)", "cores: 8 (2 machines of SCS-4V-16)"]
    );
}

#[test]
fn workers_surge_after_the_control_plane_and_not_beside_it() {
    let all = [("u-cp", 3), ("peu01-md", 3)];
    let after = whole().replace("v1.35.1", "v1.35.2");
    // The greater of the two surges, one at a time.
    assert_eq!(
        need_lines(&whole(), &after, &all)[..2],
        ["instances: 1 (1 surge of SCS-4V-16)", "cores: 4 (1 surge of SCS-4V-16)"]
    );
    let none = after.replace(
        "  replicas: 3\n  version",
        "  replicas: 3\n  rolloutStrategy: {rollingUpdate: {maxSurge: 0}}\n  version",
    );
    assert_eq!(
        need_lines(&none.replace("v1.35.2", "v1.35.1"), &none, &all)[0],
        "instances: 1 (1 surge of SCS-4V-16)"
    );
    let two = after.replace(
        "  clusterName: peu01\n  replicas: 3",
        "  clusterName: peu01\n  strategy: {rollingUpdate: {maxSurge: 50%}}\n  replicas: 3",
    );
    assert_eq!(need_lines(&whole(), &two, &all)[1], "cores: 8 (2 surge of SCS-4V-16)");
}

#[test]
fn another_flavor_takes_the_place_of_the_old_one_at_the_worst_moment() {
    let all = [("u-cp", 3), ("peu01-md", 3)];
    let before = whole().replace("flavor: SCS-4V-16", "flavor: SCS-2V-8");
    let after = before
        .replace("kind: OpenStackMachineTemplate, name: md}", "kind: OpenStackMachineTemplate, name: md-2}")
        .replace("metadata: {name: md, namespace", "metadata: {name: md-2, namespace")
        .replace("flavor: SCS-2V-8", "flavor: SCS-4V-16");
    let lines = need_lines(&before, &after, &all);
    assert_eq!(lines[0], "instances: 1 (1 surge of SCS-4V-16)");
    // Three of the new run beside the last of the old: 3 x 4 - 2 x 2.
    assert_eq!(lines[1], "cores: 8 (3 machines of SCS-4V-16, in place of 2 of SCS-2V-8)");
    // Back again, one new machine runs beside all the old ones.
    assert_eq!(need_lines(&after, &before, &all)[1], "cores: 2 (1 surge of SCS-2V-8)");
}

#[test]
fn what_is_not_free_is_said_with_its_numbers() {
    let before = whole();
    let after = before
        .replace("clusterName: peu01\n  replicas: 3", "clusterName: peu01\n  replicas: 6")
        .replace("clusterName: peu01\n      version: v1.35.1", "clusterName: peu01\n      version: v1.35.2");
    let (before, after) = (rendered(&before), rendered(&after));
    let rolls = rollouts(&before, &after, AppliedBy::Reconciler, &Classes::default(), Schemas::built_in());
    let asks = asks_of(&after, &live(&before, &[("u-cp", 3), ("peu01-md", 3)]), &rolls);
    let mut facts = cloud();
    facts.compute = Ok([
        (Resource::Instances, quota(10, 6)),
        (Resource::Cores, quota(40, 32)),
        (Resource::Ram, Quota { limit: None, used: 98_304 }),
    ]
    .into());
    let said = |beside: &[(String, Vec<Need>)]| -> Vec<(&'static str, Weight, String)> {
        let reasons = judge(&asks[0], &facts, beside);
        reasons.into_iter().map(|reason| (reason.kind, reason.weight, reason.message)).collect()
    };
    let cores = "cores: 16 more needed (3 machines and 1 surge of SCS-4V-16), 8 free of 40";
    assert_eq!(said(&[]), [("QuotaExceeded", Weight::Impossible, cores.to_owned())]);
    // What another folder of the same commit needs comes together with it.
    let their = Need { resource: Resource::Instances, amount: 1, why: "1 machine of SCS-2V-8".to_owned() };
    let together = said(&[("gauss/peu02".to_owned(), vec![their.clone()])]);
    assert_eq!(
        together[0].2,
        "instances: 4 more needed (3 machines and 1 surge of SCS-4V-16) and 1 for gauss/peu02, 4 free of 10"
    );
    // Of another proposal it is only said.
    let own = needs(&asks[0], &facts);
    let other = OtherProposal { who: "gauss/peu02 at 3f2a91c".to_owned(), needs: vec![their] };
    assert_eq!(
        exceeded_together(&asks[0], &own, &[other], &facts),
        [CloudReason {
            kind: "QuotaShared",
            weight: Weight::Notable,
            message: "instances: 4 more needed (3 machines and 1 surge of SCS-4V-16) besides 1 of gauss/peu02 at 3f2a91c, 4 \
             free of 10: each fits alone, but both together do not"
                .to_owned(),
            object: asks[0].named_by.0.clone(),
            field: asks[0].named_by.1.clone(),
        }]
    );
}

type Change = fn(&mut CloudFacts);

#[test]
fn each_thing_that_is_named_must_be_there_and_fit() {
    let rows: [(&str, &str, Change, &str, &str); 18] = [
        (
            "flavor: SCS-2V-4-20",
            "flavor: none",
            |_| {},
            "FlavorNotThere",
            "there is no flavor `none` that the project may use",
        ),
        (
            "flavor: SCS-2V-4-20",
            "flavor: SCS-1V-4",
            |_| {},
            "FlavorTooSmall",
            "kubeadm refuses the flavor `SCS-1V-4` for a control plane: it has 1 vCPU and 4096 MiB, but at least 2 vCPU and 2048 MiB are required",
        ),
        (
            "flavor: SCS-2V-4-20",
            "flavor: SCS-2V-8",
            |_| {},
            "DiskTooSmall",
            "the flavor `SCS-2V-8` has no disk, and Nova lets only administrators boot an image on it: add a `rootVolume`, or use a flavor with a disk",
        ),
        (
            "",
            "",
            |facts| facts.images.as_mut().unwrap()[0].min_disk_gib = 25,
            "DiskTooSmall",
            "the image `ubuntu` needs a disk of 25 GiB, but the flavor `SCS-2V-4-20` has 20 GiB: use a larger one, or add a `rootVolume`",
        ),
        (
            "sizeGiB: 30",
            "sizeGiB: 19",
            |_| {},
            "DiskTooSmall",
            "the image `ubuntu` needs a disk of 20 GiB, but the root volume has 19 GiB: make it larger",
        ),
        (
            "",
            "",
            |facts| facts.images.as_mut().unwrap()[0].min_ram_mib = 5000,
            "FlavorTooSmall",
            "the image `ubuntu` needs 5000 MiB of memory, but the flavor `SCS-2V-4-20` has 4096 MiB",
        ),
        (
            "",
            "",
            |facts| facts.images.as_mut().unwrap().clear(),
            "ImageNotThere",
            "there is no image `ubuntu` that the project sees",
        ),
        (
            "",
            "",
            |facts| {
                let images = facts.images.as_mut().unwrap();
                let mut other = images[0].clone();
                other.id = "i-2".to_owned();
                images.push(other);
            },
            "ImageAmbiguous",
            "2 images match `ubuntu` (`i-1`, `i-2`): name one by its id, or remove the others",
        ),
        (
            "",
            "",
            |facts| facts.images.as_mut().unwrap()[0].not_bootable = Some("queued".to_owned()),
            "ImageNotActive",
            "the image `ubuntu` is `queued`, but a machine can only boot an `active` image: upload it, or wait until it is active",
        ),
        (
            "sshKeyName: ops",
            "sshKeyName: mine",
            |_| {},
            "KeyPairNotThere",
            "there is no key pair `mine`. Key pairs belong to a user: it must be one of this credential's user",
        ),
        (
            "{name: controller}",
            "{name: other}",
            |_| {},
            "ServerGroupNotThere",
            "there is no server group `other` that the project sees",
        ),
        (
            "",
            "",
            |facts| {
                let groups = facts.placement_groups.as_mut().unwrap();
                groups.push(PlacementGroup { id: "g-2".to_owned(), name: "controller".to_owned() });
            },
            "ServerGroupAmbiguous",
            "2 server groups match `controller` (`g-1`, `g-2`): name one by its id, or remove the others",
        ),
        (
            "failureDomain: nova",
            "failureDomain: az-9",
            |_| {},
            "ZoneNotThere",
            "there is no availability zone `az-9` that can be used now; there is `nova`",
        ),
        (
            "[nova]",
            "[az-9]",
            |_| {},
            "ZoneNotThere",
            "there is no availability zone `az-9` that can be used now; there is `nova`",
        ),
        (
            "{name: nodes}",
            "{name: other}",
            |_| {},
            "NetworkNotThere",
            "there is no network `other` that the project sees",
        ),
        (
            "{name: external}",
            "{name: outside}",
            |_| {},
            "NetworkNotThere",
            "there is no network `outside` that the project sees",
        ),
        (
            "  externalNetwork: {filter: {name: external}}\n",
            "",
            |facts| {
                let networks = facts.networks.as_mut().unwrap();
                let mut other = networks[0].clone();
                other.id = "n-2".to_owned();
                networks.push(other);
            },
            "NetworkAmbiguous",
            "the project sees 2 external networks (`id-external`, `n-2`), so the provider does not know which to use: name one in `externalNetwork`",
        ),
        (
            "",
            "",
            |facts| facts.network = Ok([(Resource::SecurityGroups, quota(10, 9))].into()),
            "QuotaExceeded",
            "security groups: 2 more needed (2 for control plane and workers), 1 free of 10",
        ),
    ];
    for (from, to, change, kind, message) in rows {
        let text = if from.is_empty() { whole() } else { whole().replace(from, to) };
        assert!(from.is_empty() || text != whole(), "{from}");
        let asks = asks_of(&rendered(&text), &LiveObjects::default(), &[]);
        let mut facts = cloud();
        change(&mut facts);
        let reasons = judge(&asks[0], &facts, &[]);
        let found: Vec<(&str, &str)> = reasons.iter().map(|one| (one.kind, one.message.as_str())).collect();
        assert!(found.contains(&(kind, message)), "{kind}: {found:?}");
        assert!(reasons.iter().all(|one| one.weight == Weight::Impossible));
    }
}

#[test]
fn reasons_stand_at_the_field_that_asks() {
    let text = whole().replace("flavor: SCS-2V-4-20", "flavor: none");
    let reasons = judge(&asks_of(&rendered(&text), &LiveObjects::default(), &[])[0], &cloud(), &[]);
    assert_eq!(reasons.len(), 1);
    assert_eq!(reasons[0].object.to_string(), "OpenStackMachineTemplate my-org/cp");
    assert_eq!(reasons[0].field.to_string(), "/spec/template/spec/flavor");
}

#[test]
fn what_was_not_answered_is_not_known_and_never_refused() {
    let asks = asks_of(&rendered(&whole()), &LiveObjects::default(), &[]);
    let away = || Unanswered("Nova answers 503".to_owned());
    let facts =
        CloudFacts { machine_types: Err(away()), compute: Err(away()), zones: Err(away()), ..cloud() };
    let reasons = judge(&asks[0], &facts, &[]);
    assert!(
        !reasons.is_empty() && reasons.iter().all(|reason| reason.weight == Weight::Unknown),
        "{reasons:?}"
    );
    let messages: Vec<&str> = reasons.iter().map(|reason| reason.message.as_str()).collect();
    assert!(messages.contains(&"it is unknown whether there is a flavor `SCS-4V-16`: Nova answers 503"));
    assert!(messages.contains(&"the quota of instances is unknown: Nova answers 503"), "{messages:?}");
}

#[test]
fn a_managed_topology_is_not_judged_and_that_is_said() {
    let text = CLUSTER.replace(
        "  infrastructureRef:",
        "  topology: {class: openstack, version: v1.35.1}\n  infrastructureRef:",
    );
    let objects = rendered(&text);
    let said = unjudged(&objects, &LiveObjects::default(), &[]);
    assert_eq!(said.len(), 1);
    assert_eq!((said[0].kind, said[0].weight), ("CloudDemandUnknown", Weight::Notable));
    assert_eq!(said[0].object.to_string(), "Cluster my-org/peu01");
    assert_eq!(unjudged(&rendered(&whole()), &LiveObjects::default(), &[]), []);
}

#[test]
fn identities_are_read_in_the_words_of_each_version() {
    let of = |spec: Value| {
        openstack::of_reference(&spec, Some("my-org")).map(|identity| (identity.shown(), identity.region))
    };
    for (spec, shown) in [
        (json!({"identityRef": {"name": "a", "cloudName": "one"}}), Some("cloud `one` of Secret my-org/a")),
        (
            json!({"identityRef": {"type": "ClusterIdentity", "name": "a", "cloudName": "one"}}),
            Some("cloud `one` of OpenStackClusterIdentity a"),
        ),
        (
            json!({"identityRef": {"kind": "Secret", "name": "a"}, "cloudName": "two"}),
            Some("cloud `two` of Secret my-org/a"),
        ),
        (json!({"identityRef": {"name": "a"}}), None),
        (json!({}), None),
    ] {
        assert_eq!(of(spec.clone()).map(|(shown, _)| shown).as_deref(), shown, "{spec}");
    }
}

/// The same folder at the provider's v1beta2: what was a text is a filter, and switches say the contrary.
fn whole_in_beta2() -> String {
    whole()
        .replace("infrastructure.cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1beta2")
        .replace("flavor: SCS-2V-4-20", "flavor: {filter: {name: SCS-2V-4-20}}")
        .replace("flavor: SCS-4V-16", "flavor: {id: id-SCS-4V-16}")
}

fn of_api_server(text: &str) -> Vec<String> {
    let asks = asks_of(&rendered(text), &LiveObjects::default(), &[]);
    let all = needs(&asks[0], &cloud());
    let of = |resource| all.iter().find(|need| need.resource == resource);
    [Resource::Cores, Resource::PublicIps, Resource::Ports]
        .map(|one| {
            of(one).map_or_else(|| "none".to_owned(), |need| format!("{} ({})", need.amount, need.why))
        })
        .to_vec()
}

#[test]
fn the_same_is_asked_in_every_version_that_is_read() {
    let beta1 = of_api_server(&whole());
    let by_id =
        beta1.iter().map(|line| line.replace("3 machines of SCS-4V-16", "3 machines of id-SCS-4V-16"));
    assert_eq!(of_api_server(&whole_in_beta2()), by_id.collect::<Vec<_>>());
    let asks = asks_of(&rendered(&whole_in_beta2()), &LiveObjects::default(), &[]);
    assert_eq!(judge(&asks[0], &cloud(), &[]), []);
    let wrong = whole_in_beta2().replace("name: SCS-2V-4-20", "name: SCS-2V-4-21");
    let asks = asks_of(&rendered(&wrong), &LiveObjects::default(), &[]);
    let reasons = judge(&asks[0], &cloud(), &[]);
    assert_eq!(reasons[0].kind, "FlavorNotThere");
    assert_eq!(
        reasons[0].message,
        "there is no flavor `SCS-2V-4-21` that the project may use; did you mean `SCS-2V-4-20`?"
    );
    // Switches: at v1beta1 they turn off, at v1beta2 on; what is of the other version says nothing.
    let none = "none".to_owned();
    for (text, spec, address, ports) in [
        (whole(), "disableAPIServerFloatingIP: true", none.clone(), beta1[2].clone()),
        (whole(), "apiServerFloatingIP: 192.0.2.9", none.clone(), beta1[2].clone()),
        (whole(), "apiServer: {enableFloatingIP: false}", beta1[1].clone(), beta1[2].clone()),
        (whole_in_beta2(), "apiServer: {enableFloatingIP: false}", none.clone(), beta1[2].clone()),
        (whole_in_beta2(), "apiServer: {enableFloatingIP: true}", beta1[1].clone(), beta1[2].clone()),
        (whole_in_beta2(), "apiServer: {floatingIP: 192.0.2.9}", none.clone(), beta1[2].clone()),
        (whole_in_beta2(), "disableAPIServerFloatingIP: true", beta1[1].clone(), beta1[2].clone()),
        (whole_in_beta2(), "enableExternalNetwork: true", beta1[1].clone(), beta1[2].clone()),
        (
            whole_in_beta2(),
            "enableExternalNetwork: false",
            none.clone(),
            beta1[2].replace("7 (", "6 (").replace(", 1 for the router", ""),
        ),
    ] {
        let text = text.replace("  managedSubnets", &format!("  {spec}\n  managedSubnets"));
        let said = of_api_server(&text);
        let ports = ports.replace(
            "of SCS-4V-16",
            if text.contains("id-SCS") { "of id-SCS-4V-16" } else { "of SCS-4V-16" },
        );
        assert_eq!(said[1..], [address, ports], "{spec}");
    }
}

/// Port security decides which packets pass: the cloud is asked for the same ports and groups, whatever it is.
#[test]
fn port_security_asks_the_cloud_for_nothing() {
    let network = "network: {filter: {name: nodes}}";
    for (text, security) in [
        (whole(), "disablePortSecurity: true"),
        (whole(), "disablePortSecurity: false"),
        (whole_in_beta2(), "enablePortSecurity: true"),
        (whole_in_beta2(), "enablePortSecurity: false"),
    ] {
        let asked = |text: &str| {
            let asks = asks_of(&rendered(text), &LiveObjects::default(), &[]);
            (needs(&asks[0], &cloud()), judge(&asks[0], &cloud(), &[]))
        };
        let with = text.replace(network, &format!("{network}, {security}"));
        assert_ne!(with, text);
        assert_eq!(asked(&with), asked(&text), "{security}");
    }
}

/// Every kind of the table: read in the versions that it names, and reported by its version in another one.
#[test]
fn what_is_read_is_what_the_table_says() {
    for known in KindReader::CloudPreflight.known().filter(|known| !known.kinds.is_empty()) {
        for version in known.versions.iter().chain(&["v9"]) {
            let text =
                whole().replace(&format!("{}/v1beta1", known.group), &format!("{}/{version}", known.group));
            let said = unjudged(&rendered(&text), &LiveObjects::default(), &[]);
            let told: Vec<&str> = said.iter().map(|reason| reason.object.kind.as_str()).collect();
            for kind in known.kinds {
                let is_read = known.versions.contains(version);
                assert_eq!(told.contains(kind), !is_read, "{kind} {version}: {told:?}");
            }
        }
    }
}

#[test]
fn an_unknown_version_is_reported_by_name_and_never_misread() {
    let next =
        whole().replace("infrastructure.cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1beta3");
    let objects = rendered(&next);
    assert_eq!(asks_of(&objects, &LiveObjects::default(), &[]).len(), 0);
    let said = unjudged(&objects, &LiveObjects::default(), &[]);
    let told: Vec<String> =
        said.iter().map(|reason| format!("{} {}", reason.object.kind, reason.object.name)).collect();
    assert_eq!(
        told,
        ["OpenStackCluster peu01", "OpenStackMachineTemplate cp", "OpenStackMachineTemplate md"]
    );
    assert!(
        said.iter().all(|reason| reason.weight == Weight::Unknown && reason.kind == "CloudVersionUnknown")
    );
    assert_eq!(
        said[0].message,
        "its cloud resources are unknown: `infrastructure.cluster.x-k8s.io/v1beta3` is not read here (v1alpha5, v1alpha6, v1alpha7, v1beta1 and v1beta2 are)"
    );
    // What adds and replaces nothing asks for nothing, in whichever version.
    let there = live(&objects, &[("u-cp", 3), ("peu01-md", 3)]);
    assert_eq!(unjudged(&objects, &there, &[]), []);
}

#[test]
fn of_a_queued_and_an_active_image_of_one_name_the_active_one_is_meant() {
    let asks = asks_of(&rendered(&whole()), &LiveObjects::default(), &[]);
    let with = |statuses: &[&str]| {
        let mut facts = cloud();
        let images = facts.images.as_mut().unwrap();
        let first = images.remove(0);
        for (at, status) in statuses.iter().enumerate() {
            images.push(Image {
                id: format!("i-{at}"),
                not_bootable: (*status != "active").then(|| (*status).to_owned()),
                ..first.clone()
            });
        }
        judge(&asks[0], &facts, &[]).into_iter().map(|reason| reason.message).collect::<Vec<_>>()
    };
    assert_eq!(with(&["queued", "active"]), Vec::<String>::new());
    assert_eq!(with(&["active", "deactivated", "saving"]), Vec::<String>::new());
    assert!(with(&["active", "active", "queued"])[0].starts_with("2 images match `ubuntu` (`i-0`, `i-1`)"));
    assert!(with(&["queued", "queued"])[0].starts_with("2 images match `ubuntu`"));
}

#[test]
fn an_image_of_nearly_that_name_is_offered() {
    let asks = asks_of(&rendered(&whole()), &LiveObjects::default(), &[]);
    let mut facts = cloud();
    facts.images.as_mut().unwrap()[0].name = "ubunto".to_owned();
    let said = judge(&asks[0], &facts, &[]);
    assert_eq!(said[0].message, "there is no image `ubuntu` that the project sees; did you mean `ubunto`?");
}
