//! A class from another folder than the Cluster that names it: its effect is computed, too.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use capstan_plan::classes::{ClassIndex, ClassRef, Classes, ClassesElsewhere, look_up};
use capstan_plan::layout::Layout;

const CLUSTER: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec:
  topology:
    classRef: {name: k}
    version: v1.30.2
    variables: [{name: image, value: a}]
    controlPlane: {replicas: 3}
    workers: {machineDeployments: [{class: default, name: md, replicas: 4}]}
";

const CLASS: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: k, namespace: org}
spec:
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: cp}
  workers:
    machineDeployments:
    - class: default
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: boot}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: md}}
  variables:
  - {name: image, required: true, schema: {openAPIV3Schema: {type: string}}}
  patches:
  - name: p
    definitions:
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, matchResources: {machineDeploymentClass: {names: [default]}}}
      jsonPatches: [{op: add, path: /spec/template/spec/customImage, valueFrom: {variable: image}}]
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: cp, namespace: org}
spec: {template: {spec: {kubeadmConfigSpec: {}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: md, namespace: org}
spec: {template: {spec: {disk: 20}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: md-2, namespace: org}
spec: {template: {spec: {disk: 30}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: boot, namespace: org}
spec: {template: {spec: {files: [{path: /a, content: a}]}}}
";

/// What is found of the class in these files.
fn classes(files: &[(&str, &str)]) -> Classes {
    let (tree, layout) = (Files::new(files), Layout::default());
    let class = ClassRef { name: "k".to_owned(), namespace: Some("org".to_owned()) };
    let index = ClassIndex::read(&tree, &layout);
    let found = look_up(&class, &index.roots(&class, None), |root| Arc::new(root.render(&tree, &layout)));
    Classes([(class, Arc::new(found))].into())
}

fn elsewhere(before: &str, after: &str) -> ClassesElsewhere {
    let [before, after] = [before, after].map(|text| classes(&[("classes/k.yaml", text)]));
    ClassesElsewhere { before, after }
}

fn becomes(before: &str, after: &str, elsewhere: &ClassesElsewhere) -> (String, Vec<String>) {
    let (before, after) = (rendered(before), rendered(after));
    let (applied, schemas) = (AppliedBy::Reconciler, Schemas::built_in());
    let found = super::super::rollouts(&before, &after, applied, elsewhere, schemas);
    let notes: BTreeSet<String> = found.iter().flat_map(|one| one.course.notes.clone()).collect();
    (summary_of(&found), notes.into_iter().collect())
}

fn edited(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old}");
    text.replacen(old, new, 1)
}

#[test]
fn a_variable_reaches_machines_through_the_patches_of_a_class_elsewhere() {
    let after = edited(CLUSTER, "value: a", "value: b");
    let unseen = "? unknown [/spec/topology/variables] ?/0/0";
    assert_eq!(becomes(CLUSTER, &after, &ClassesElsewhere::default()), (unseen.to_owned(), Vec::new()));
    let (told, notes) = becomes(CLUSTER, &after, &elsewhere(CLASS, CLASS));
    assert_eq!(told, "4 offline [/spec/topology/variables/0/value] 4/0/0");
    assert!(
        notes.contains(&"`md`: variable `image` reaches its machines through patch `p`.".to_owned()),
        "{notes:?}"
    );
}

#[test]
fn a_change_of_the_class_elsewhere_replaces_machines_of_a_cluster_that_stays() {
    let becomes = |after: &str| becomes(CLUSTER, CLUSTER, &elsewhere(CLASS, after)).0;
    assert_eq!(becomes(CLASS), "nothing");
    let renamed =
        edited(CLASS, "kind: DevMachineTemplate, name: md}", "kind: DevMachineTemplate, name: md-2}");
    assert_eq!(becomes(&renamed), "4 offline [/spec/topology/classRef/name] 4/0/0");
    // The API server refuses an edit of a template under its name; an edited bootstrap config is taken up.
    assert_eq!(becomes(&edited(CLASS, "disk: 20", "disk: 40")), "nothing");
    let config = edited(CLASS, "content: a", "content: b");
    assert_eq!(becomes(&config), "4 offline [/spec/topology/classRef/name] 4/0/0");
}

#[test]
fn the_own_render_wins() {
    let own = |image: &str| format!("{}---{CLASS}", edited(CLUSTER, "value: a", image));
    let other = edited(CLASS, "machineDeploymentClass: {names: [default]}", "controlPlane: true");
    let (told, _) = becomes(&own("value: a"), &own("value: b"), &elsewhere(&other, &other));
    assert_eq!(told, "4 offline [/spec/topology/variables/0/value] 4/0/0");
    // A class that moves out of the cluster's folder stays what it is.
    let moved = ClassesElsewhere { before: Classes::default(), after: elsewhere(CLASS, CLASS).after };
    assert_eq!(becomes(&own("value: a"), CLUSTER, &moved).0, "nothing");
}

#[test]
fn a_class_that_is_not_known_says_why() {
    let other = edited(CLASS, "disk: 20", "disk: 40");
    let differ = |one: &str| classes(&[("one/k.yaml", one), ("two/k.yaml", &other)]);
    let why = "ClusterClass `k` is in one/k.yaml and two/k.yaml, and they differ.";
    let same = ClassesElsewhere { before: differ(CLASS), after: differ(CLASS) };
    let after = edited(CLUSTER, "value: a", "value: b");
    let (told, notes) = becomes(CLUSTER, &after, &same);
    assert_eq!((told.as_str(), notes), ("? unknown [/spec/topology/variables] ?/0/0", vec![why.to_owned()]));
    assert_eq!(becomes(CLUSTER, CLUSTER, &same).0, "nothing");
    // One of them changes, or the only one becomes ambiguous.
    for before in [differ(&edited(CLASS, "disk: 20", "disk: 50")), elsewhere(CLASS, CLASS).before] {
        let changed = ClassesElsewhere { before, after: differ(CLASS) };
        let (told, notes) = becomes(CLUSTER, CLUSTER, &changed);
        assert_eq!(
            (told.as_str(), notes),
            ("? unknown [/spec/topology/classRef/name] ?/0/0", vec![why.to_owned()])
        );
    }
}

/// A newer version of the API that only spells the same thing otherwise.
#[test]
fn another_api_version_elsewhere_replaces_nothing() {
    let older = edited(
        CLASS,
        "infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevMachineTemplate\nmetadata: {name: md,",
        "infrastructure.cluster.x-k8s.io/v1beta1\nkind: DevMachineTemplate\nmetadata: {name: md,",
    );
    assert_eq!(becomes(CLUSTER, CLUSTER, &elsewhere(&older, CLASS)).0, "nothing");
}
