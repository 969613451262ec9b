//! `render` of clusters that a management cluster claims: the names under which templates are applied.
//!
//! Every digest here was computed by hand: `printf '%s' '<canonical JSON>' | sha256sum`, the canonical JSON
//! of each spec standing above its constant.

use serde_json::{Value, json};

use capstan_test_parts::sandbox::Sandbox;

const CLAIMED: &str = "managementClusters:\n- name: mc\n  uid: 6f1c2c5e-0000-4000-8000-000000000000\n  clusters: [\"acme/a\"]\n";

/// Everything of one cluster that names a template, in one file; `names` are those of the control plane's
/// and the workers' machine template, the workers' bootstrap template, and the pool's bootstrap config.
fn cluster([control_plane, workers, bootstrap, pool]: [&str; 4]) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: a, namespace: acme}}
spec:
  controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: a}}
  infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerCluster, name: a}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {{name: a, namespace: acme}}
spec:
  machineTemplate:
    spec:
      infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachineTemplate, name: {control_plane}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {{name: a-md-0, namespace: acme}}
spec:
  template:
    spec:
      bootstrap:
        configRef: {{apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: {bootstrap}}}
      infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: {workers}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineSet
metadata: {{name: a-ms-0, namespace: acme}}
spec:
  template:
    spec:
      bootstrap:
        configRef: {{apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: {bootstrap}}}
      infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: {workers}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {{name: a-mp-0, namespace: acme}}
spec:
  template:
    spec:
      bootstrap:
        configRef: {{apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfig, name: {pool}}}
      infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachinePool, name: a-mp-0}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachinePool
metadata: {{name: a-mp-0, namespace: acme}}
spec: {{template: {{customImage: \"kindest/node:v1.30.2\"}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {{name: {control_plane}, namespace: acme}}
spec: {{template: {{spec: {{customImage: \"kindest/node:v1.30.2\"}}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {{name: {workers}, namespace: acme}}
spec: {{template: {{spec: {{extraMounts: [], customImage: \"kindest/node:v1.30.2\", bootstrapTimeout: null}}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {{name: {bootstrap}, namespace: acme}}
spec: {{template: {{spec: {{joinConfiguration: {{}}}}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {{name: {pool}, namespace: acme}}
spec: {{joinConfiguration: {{nodeRegistration: {{name: pool}}}}}}
"
    )
}

const LOGICAL: [&str; 4] = ["a-control-plane", "a-md-0", "a-md-0", "a-mp-0"];

/// `{"template":{"spec":{"customImage":"kindest/node:v1.30.2"}}}`
const CONTROL_PLANE: &str = "093ec8868b66a89e1fbfd2f90888ecfbaf8f458f03aa95446b34d2308c59c106";
/// `{"template":{"spec":{"customImage":"kindest/node:v1.30.2","extraMounts":[]}}}`
const WORKERS: &str = "1f6fe1d63c7ae9767b4dcf829b90dbe912a4695f80ed37297ec1db7f98012dac";
/// `{"template":{"spec":{"joinConfiguration":{}}}}`
const BOOTSTRAP: &str = "c44b8ca342d126e0e9b213ccfd3c9b378e530e09b241d46df00ff4c55a4fce13";
/// `{"joinConfiguration":{"nodeRegistration":{"name":"pool"}}}`
const POOL: &str = "62c4811eb64c9a0c429b08ce732cc1187aca8f232a0b31d4dbd692aae1206519";

fn short(base: &str, digest: &str) -> String {
    format!("{base}-{}", &digest[..8])
}

fn repository() -> Sandbox {
    Sandbox::with(&[(".capstan.yaml", CLAIMED), ("acme/a/base/all.yaml", &cluster(LOGICAL))])
}

/// A render of the very files with other names in Git, applied by others: what must come out.
fn as_if_git_said(names: [&str; 4]) -> Value {
    let sandbox = Sandbox::with(&[("acme/a/base/all.yaml", &cluster(names))]);
    sandbox.capstan(&["render", "acme/a", "-o", "json"]).json(0)
}

#[test]
fn a_claimed_clusters_templates_are_named_by_content_and_every_reference_follows() {
    let rendered = repository().capstan(&["render", "acme/a", "-o", "json"]).json(0);
    let wanted = [
        short("a-control-plane", CONTROL_PLANE),
        short("a-md-0", WORKERS),
        short("a-md-0", BOOTSTRAP),
        short("a-mp-0", POOL),
    ];
    assert_eq!(rendered, as_if_git_said(wanted.each_ref().map(String::as_str)));
}

#[test]
fn git_may_hold_the_name_by_content_already() {
    let names = [
        short("a-control-plane", CONTROL_PLANE),
        short("a-md-0", WORKERS),
        short("a-md-0", BOOTSTRAP),
        short("a-mp-0", POOL),
    ];
    let names = names.each_ref().map(String::as_str);
    let sandbox = Sandbox::with(&[(".capstan.yaml", CLAIMED), ("acme/a/base/all.yaml", &cluster(names))]);
    assert_eq!(sandbox.capstan(&["render", "acme/a", "-o", "json"]).json(0), as_if_git_said(names));
}

fn names_file(entries: &[(&str, &str, &str, &str, &str)]) -> String {
    let entries: Vec<Value> = entries
        .iter()
        .map(|(group, kind, name, live, spec)| {
            json!({"group": format!("{group}.cluster.x-k8s.io"), "kind": kind, "namespace": "acme",
                   "name": name, "live": live, "spec": spec})
        })
        .collect();
    json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "TemplateNames", "templates": entries}).to_string()
}

#[test]
fn a_live_name_is_kept_while_its_spec_is_the_rendered_one() {
    let sandbox = repository();
    let file = names_file(&[
        ("infrastructure", "DockerMachineTemplate", "a-control-plane", "a-control-plane-2023", CONTROL_PLANE),
        // Another spec than the rendered one: the live template is of the past.
        ("infrastructure", "DockerMachineTemplate", "a-md-0", "a-md-0-old", CONTROL_PLANE),
        ("infrastructure", "DockerMachineTemplate", "a-md-0", "a-md-0-older", POOL),
        // The name fits and the kind does not.
        ("bootstrap", "KubeadmConfig", "a-md-0", "a-md-0-config", BOOTSTRAP),
        ("bootstrap", "KubeadmConfig", "a-mp-0", "a-mp-0", POOL),
    ]);
    sandbox.write("names.json", &file);
    let rendered = sandbox.capstan(&["render", "acme/a", "-o", "json", "--names", "names.json"]).json(0);
    let wanted = ["a-control-plane-2023", &short("a-md-0", WORKERS), &short("a-md-0", BOOTSTRAP), "a-mp-0"];
    assert_eq!(rendered, as_if_git_said(wanted));
}

#[test]
fn a_cluster_that_others_apply_is_rendered_as_git_names_it() {
    let sandbox = repository();
    sandbox.write(".capstan.yaml", "managementClusters: []\n");
    assert_eq!(sandbox.capstan(&["render", "acme/a", "-o", "json"]).json(0), as_if_git_said(LOGICAL));
    sandbox.write("names.json", &names_file(&[]));
    sandbox.capstan(&["render", "acme/a", "--names", "names.json"]).refused(
        2,
        "error: acme/a is claimed by no management cluster (`managementClusters` in .capstan.yaml), so it is applied with the names in Git: leave `--names` out",
    );
}

#[test]
fn a_file_of_names_that_cannot_be_used_fails_with_its_place() {
    let sandbox = repository();
    sandbox.write(
        "names.yaml",
        "apiVersion: capstan.dev/v1alpha1\nkind: TemplateNames\ntemplates:\n- {kind: X, nam: a}\n",
    );
    let said = sandbox.capstan(&["render", "acme/a", "--names", "names.yaml"]);
    said.refused(1, "error: names.yaml:4:13: unknown key `nam` in `templates[0]`; did you mean `name`?");
    let said = sandbox.capstan(&["render", "acme/a", "--names", "none.yaml"]);
    said.ended(1);
    assert!(said.err.starts_with("error: the names cannot be read: none.yaml: "), "{}", said.err);
}

/// A topology cluster with its class; `class` and `machines` are the names.
fn topology(class: &str, control_plane: &str, machines: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: a, namespace: acme}}
spec:
  topology: {{classRef: {{name: {class}}}, version: v1.30.2}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {{name: {class}, namespace: acme}}
spec:
  controlPlane:
    templateRef: {{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: {control_plane}}}
    machineInfrastructure:
      templateRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AcmeMachineTemplate, name: {machines}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {{name: {control_plane}, namespace: acme}}
spec: {{template: {{spec: {{}}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AcmeMachineTemplate
metadata: {{name: {machines}, namespace: acme}}
spec: {{template: {{spec: {{size: 2}}}}}}
"
    )
}

/// `{"template":{"spec":{}}}`
const EMPTY: &str = "9e458ff901933284fece8c737809097941d8ebe88f74b2f74bc7741bac64c24b";
/// `{"template":{"spec":{"size":2}}}`
const SIZE: &str = "b044ac01a8aa8e2e78e561640723c8d147d27f1d83ac4963992e937201c6d4ed";
/// `{"controlPlane":{"machineInfrastructure":{"templateRef":{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AcmeMachineTemplate","name":"m-b044ac01"}},"templateRef":{"apiVersion":"controlplane.cluster.x-k8s.io/v1beta2","kind":"KubeadmControlPlaneTemplate","name":"c-9e458ff9"}}}`
const CLASS: &str = "2e940b68fb9b71e943a065e67dfdf11ca7960929bfe0982c47e2dd20a7f2420b";

#[test]
fn a_class_follows_its_templates_and_the_topology_follows_the_class() {
    let sandbox =
        Sandbox::with(&[(".capstan.yaml", CLAIMED), ("acme/a/base/all.yaml", &topology("k", "c", "m"))]);
    let rendered = sandbox.capstan(&["render", "acme/a", "-o", "json"]).json(0);
    let wanted = topology(&short("k", CLASS), &short("c", EMPTY), &short("m", SIZE));
    let others = Sandbox::with(&[("acme/a/base/all.yaml", &wanted)]);
    assert_eq!(rendered, others.capstan(&["render", "acme/a", "-o", "json"]).json(0));
}

#[test]
fn a_class_that_other_folders_use_stays_with_its_templates() {
    let files = topology("k", "c", "m");
    let user = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: b, namespace: acme}\nspec:\n  topology: {class: k, version: v1.30.2}\n";
    let sandbox = Sandbox::with(&[
        (".capstan.yaml", CLAIMED),
        ("acme/a/base/all.yaml", &files),
        ("acme/b/base/all.yaml", user),
    ]);
    let others = Sandbox::with(&[("acme/a/base/all.yaml", &files)]);
    assert_eq!(
        sandbox.capstan(&["render", "acme/a", "-o", "json"]).json(0),
        others.capstan(&["render", "acme/a", "-o", "json"]).json(0)
    );
}
