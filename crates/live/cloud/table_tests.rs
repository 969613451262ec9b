//! Another cloud is another row: the row reads what it asks for, and the common code judges and reports it in its
//! words.

use capstan_kustomize::render::{Folders, RenderedObject, render};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

use super::*;
use crate::cloud::ask::asks_in;
use crate::cloud::facts::{CloudFacts, Image, MachineType, Quota, Resource};
use crate::cloud::identity::{CloudKind, CredentialHolder, Identity};
use crate::cloud::machine::Machine;
use crate::cloud::named::CloudSelector;
use crate::cloud::new_cluster::NewCluster;
use crate::cloud::verdict::judge;
use crate::cloud::words::Words;
use crate::live_objects::LiveObjects;

const FOLDER: &str = "
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: my-org}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: PastureCluster, name: peu01}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: PastureCluster
metadata: {name: peu01, namespace: my-org}
spec: {herder: peu01-herder, pasture: north, gates: 1}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md, namespace: my-org}
spec:
  clusterName: peu01
  replicas: 3
  template:
    spec:
      clusterName: peu01
      bootstrap: {dataSecretName: md}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: PastureMachineTemplate, name: md}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: PastureMachineTemplate
metadata: {name: md, namespace: my-org}
spec: {template: {spec: {breed: shire, feed: oats}}}
";

const WORDS: Words = Words {
    machine_type: "breed",
    placement_group: "paddock",
    account: "herd",
    resources: ["horses", "legs", "stalls", "troughs", "litres of troughs", "ropes", "gates", "fences"],
    bootable: "edible",
    root_volume: "trough",
    external_network: "road",
    no_disk: "a horse of it carries no feed",
    machine_type_reasons: ["BreedNotThere", "BreedTooSmall"],
    placement_group_reasons: ["PaddockNotThere", "PaddockAmbiguous"],
};

struct Pastures;

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

impl CloudReader for Pastures {
    fn words(&self) -> &'static Words {
        &WORDS
    }

    fn cluster(&self) -> &'static str {
        "PastureCluster"
    }

    fn machine_template(&self) -> &'static str {
        "PastureMachineTemplate"
    }

    fn is_of_provider(&self, id: &ObjectId) -> bool {
        id.kind.starts_with("Pasture")
    }

    fn identity(&self, cluster: &RenderedObject) -> Option<(Identity, FieldPath)> {
        let identity = Identity {
            of: CloudKind::new("pastures"),
            holder: CredentialHolder::Secret,
            namespace: cluster.id.namespace.clone(),
            name: text(&cluster.value, "/spec/herder")?,
            cloud: text(&cluster.value, "/spec/pasture")?,
            region: None,
        };
        Some((identity, FieldPath::of_keys(["spec", "herder"])))
    }

    fn new_cluster(&self, cluster: &RenderedObject) -> Option<NewCluster> {
        let gates = cluster.value.pointer("/spec/gates").and_then(Value::as_u64)?;
        Some(NewCluster {
            object: cluster.id.clone(),
            networks: Vec::new(),
            finds_external: false,
            zones: Vec::new(),
            needs: vec![(Resource::PublicIps, gates, "the herder")],
        })
    }

    fn machine(&self, template: &ObjectId, value: &Value) -> Option<Machine> {
        let at = FieldPath::of_keys(["spec", "template", "spec"]);
        let named = |key: &str| {
            let name = text(value, &format!("/spec/template/spec/{key}"))?;
            Some((CloudSelector::name(&name), at.key(key)))
        };
        Some(Machine {
            is_read: true,
            machine_type: named("breed"),
            image: named("feed"),
            ports: 1,
            ..Machine::unread(template)
        })
    }

    fn identity_of_machine(&self) -> FieldPath {
        FieldPath::of_keys(["spec", "template", "spec", "herder"])
    }
}

/// The messages for the folder, by what the cloud has.
fn said(facts: &CloudFacts) -> Vec<String> {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    let after = render(&Files::new(&[("c/base/all.yaml", FOLDER)]), &folders).unwrap().objects;
    let clouds: [&dyn CloudReader; 2] = [&OpenStack, &Pastures];
    let asks = asks_in(&clouds, &after, &LiveObjects::default(), &[]);
    let shown: Vec<String> =
        asks.iter().map(|ask| format!("{}: {}", ask.identity.of, ask.identity.shown())).collect();
    assert_eq!(shown, ["pastures: cloud `north` of Secret my-org/peu01-herder"]);
    let reasons = asks.iter().flat_map(|ask| judge(ask, facts, &[]));
    reasons.map(|reason| format!("{} {}: {}", reason.kind, reason.field, reason.message)).collect()
}

#[test]
fn another_cloud_is_a_row_and_is_reported_in_its_own_terms() {
    let quota = |limit, used| Quota { limit: Some(limit), used };
    let breed = |name: &str| MachineType {
        id: name.to_owned(),
        name: name.to_owned(),
        cores: 4,
        ram_mib: 1024,
        disk_gib: 10,
    };
    let feed = |not_bootable: Option<&str>| Image {
        id: "oats".to_owned(),
        name: "oats".to_owned(),
        tags: Vec::new(),
        not_bootable: not_bootable.map(str::to_owned),
        min_disk_gib: 5,
        min_ram_mib: 0,
    };
    let facts = CloudFacts {
        machine_types: Ok(vec![breed("shire")]),
        images: Ok(vec![feed(None)]),
        compute: Ok([(Resource::Instances, quota(10, 0)), (Resource::Cores, quota(20, 0))].into()),
        network: Ok([(Resource::PublicIps, quota(3, 2))].into()),
        ..CloudFacts::default()
    };
    assert_eq!(said(&facts), Vec::<String>::new());
    let lacks = CloudFacts {
        machine_types: Ok(vec![breed("shires")]),
        images: Ok(vec![feed(Some("mouldy"))]),
        compute: Ok([(Resource::Instances, quota(10, 8))].into()),
        network: Ok([(Resource::PublicIps, quota(3, 3))].into()),
        ..facts
    };
    assert_eq!(
        said(&lacks),
        [
            "BreedNotThere /spec/template/spec/breed: there is no breed `shire` that the herd may use; did you mean `shires`?",
            "ImageNotActive /spec/template/spec/feed: the image `oats` is `mouldy`, but a machine can only boot an `edible` image: upload it, or wait until it is edible",
            "QuotaExceeded /spec/herder: horses: 3 more needed (3 machines of shire), 2 free of 10",
            "QuotaExceeded /spec/herder: gates: 1 more needed (1 for the herder), 0 free of 3",
        ]
    );
}
