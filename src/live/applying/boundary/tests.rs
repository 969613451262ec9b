//! What folders try to bring, one attempt a row.

use super::super::testing::{id, placed, rendered};
use super::super::{Inventory, OwnerIndex, Scope, Scopes, place_in_namespaces};
use super::*;
use capstan_model::tree::RepoPath;

const BASE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: peu01
  namespace: org
  annotations: {capstan.dev/release: aws/v21.0.0}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: peu01-md-0}
spec: {clusterName: peu01, replicas: 2}
---
apiVersion: v1
kind: Namespace
metadata: {name: org, namespace: org}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: peu01}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: applier}
rules: []
---
apiVersion: v1
kind: Secret
metadata: {name: aws, finalizers: [acme.example/keep]}
";

fn folder(id: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(id).unwrap())
}

fn scopes() -> Scopes {
    let mut scopes = Scopes::default();
    scopes.insert("infrastructure.cluster.x-k8s.io", "AWSClusterStaticIdentity", Scope::Cluster);
    scopes
}

/// `Kind ns/name field why file:line`, a line each.
fn verdicts(base: &str, overlay: &str) -> Vec<String> {
    let mut rendered = rendered(base, overlay);
    let home = match place_in_namespaces(&mut rendered, &scopes()) {
        Ok(home) => home,
        Err(outside) => return vec![line(&outside)],
    };
    boundary(&rendered, &home, &scopes(), &folder("c"), &OwnerIndex::default()).iter().map(line).collect()
}

fn line(outside: &Outside) -> String {
    let why = format!("{:?}", outside.why);
    let why = why.split([' ', '(']).next().unwrap().to_owned();
    let (file, line) = (outside.written.file(), outside.written.line().unwrap());
    format!("{} {} {why} {file}:{line}", outside.object, outside.field)
}

#[test]
fn a_base_may_bring_what_a_cluster_needs() {
    assert_eq!(verdicts(BASE, ""), Vec::<String>::new());
    let (rendered, home) = placed(BASE, "");
    assert_eq!(home.namespace(), Some("org"));
    assert_eq!(home.clusters().collect::<Vec<_>>(), ["peu01"]);
    let deployment = rendered.object(&id("cluster.x-k8s.io/MachineDeployment org/peu01-md-0")).unwrap();
    assert_eq!(deployment.value["metadata"]["namespace"], "org");
    assert_eq!(deployment.placed.text_at(&["metadata", "namespace"]), Some("org"));
    // A namespace lies in none, whatever somebody wrote.
    assert!(rendered.object(&id("Namespace org")).is_some());
}

#[test]
fn an_overlay_may_do_what_customers_do() {
    let overlay = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {replicas: 5}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: peu01-gpu}
spec: {clusterName: peu01, template: {spec: {clusterName: peu01}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: values}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: ingress}
spec: {kubeConfig: {secretRef: {name: peu01-kubeconfig}}}
";
    assert_eq!(verdicts(BASE, overlay), Vec::<String>::new());
}

#[test]
fn attempts_to_leave_the_boundary_are_refused_by_name() {
    let core = "apiVersion: cluster.x-k8s.io/v1beta2\n";
    for (overlay, expected) in [
        (
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all}\n".to_owned(),
            vec![
                "ClusterRoleBinding all  ClusterScoped c/overlay/a.yaml:1",
                "ClusterRoleBinding all  KindFromOverlay c/overlay/a.yaml:1",
            ],
        ),
        (
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: all}\n".to_owned(),
            vec!["RoleBinding org/all  KindFromOverlay c/overlay/a.yaml:1"],
        ),
        // A role of the base, patched.
        (
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: applier}\nrules: [{verbs: ['*'], resources: ['*'], apiGroups: ['*']}]\n".to_owned(),
            vec!["Role org/applier /rules KindFromOverlay c/overlay/a.yaml:4"],
        ),
        (
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n".to_owned(),
            vec![
                "Namespace other  KindFromOverlay c/overlay/a.yaml:1",
                "Namespace other /metadata/name Namespace c/overlay/a.yaml:3",
            ],
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: other\n".to_owned(),
            vec!["ConfigMap other/a /metadata/namespace Namespace c/overlay/a.yaml:5"],
        ),
        (
            format!("{core}kind: Cluster\nmetadata: {{name: peu02}}\n"),
            vec!["Cluster org/peu02  AddsCluster c/overlay/a.yaml:1"],
        ),
        (
            format!("{core}kind: Cluster\nmetadata:\n  name: peu02\n  namespace: other\n"),
            vec![
                "Cluster other/peu02  AddsCluster c/overlay/a.yaml:1",
                "Cluster other/peu02 /metadata/namespace Namespace c/overlay/a.yaml:5",
            ],
        ),
        // Machines for another customer's cluster in the same namespace.
        (
            format!("{core}kind: MachineDeployment\nmetadata: {{name: spy}}\nspec:\n  clusterName: peu02\n  template:\n    spec: {{clusterName: peu01}}\n"),
            vec!["MachineDeployment org/spy /spec/clusterName OtherCluster c/overlay/a.yaml:5"],
        ),
        (
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity\nmetadata: {name: mine}\n".to_owned(),
            vec!["AWSClusterStaticIdentity mine  KindFromOverlay c/overlay/a.yaml:1"],
        ),
        // A certificate authority for it.
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: peu02-ca\n  labels:\n    cluster.x-k8s.io/cluster-name: peu02\n".to_owned(),
            vec!["Secret org/peu02-ca /metadata/labels/cluster.x-k8s.io~1cluster-name OtherCluster c/overlay/a.yaml:6"],
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  labels:\n    capstan.dev/cluster: gauss/peu02\n".to_owned(),
            vec!["Secret org/s /metadata/labels/capstan.dev~1cluster OwnerMark c/overlay/a.yaml:6"],
        ),
        // The release is the base's to say.
        (
            format!("{core}kind: Cluster\nmetadata:\n  name: peu01\n  namespace: org\n  annotations:\n    capstan.dev/release: aws/v99.0.0\n"),
            vec!["Cluster org/peu01 /metadata/annotations/capstan.dev~1release OwnerMark c/overlay/a.yaml:7"],
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  ownerReferences: [{uid: u}]\n".to_owned(),
            vec!["Secret org/s /metadata/ownerReferences OwnerReferences c/overlay/a.yaml:5"],
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  finalizers: [acme.example/never]\n".to_owned(),
            vec!["Secret org/s /metadata/finalizers Finalizers c/overlay/a.yaml:5"],
        ),
        // A tombstone dressed as an object.
        (
            "apiVersion: capstan.dev/v1alpha1\nkind: ClusterSettings\nmetadata: {name: x}\ndelete: cluster\n".to_owned(),
            vec!["ClusterSettings org/x  Kind c/overlay/a.yaml:1"],
        ),
        (
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {name: mine}\n".to_owned(),
            vec!["Fleet org/mine  Kind c/overlay/a.yaml:1"],
        ),
        (
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: mine}\n".to_owned(),
            vec!["CoreProvider org/mine  Kind c/overlay/a.yaml:1"],
        ),
        (
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n".to_owned(),
            vec![
                "CustomResourceDefinition x  ClusterScoped c/overlay/a.yaml:1",
                "CustomResourceDefinition x  KindFromOverlay c/overlay/a.yaml:1",
            ],
        ),
        (
            "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: x}\n".to_owned(),
            vec![
                "MutatingWebhookConfiguration x  ClusterScoped c/overlay/a.yaml:1",
                "MutatingWebhookConfiguration x  KindFromOverlay c/overlay/a.yaml:1",
            ],
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: t, annotations: {kubernetes.io/service-account.name: capstan-applier}}\ntype: kubernetes.io/service-account-token\n".to_owned(),
            vec!["Secret org/t /type ServiceAccountToken c/overlay/a.yaml:4"],
        ),
        (
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k}\nspec: {path: ./}\n".to_owned(),
            vec!["Kustomization org/k  OtherRights c/overlay/a.yaml:1"],
        ),
    ] {
        assert_eq!(verdicts(BASE, &overlay), expected, "{overlay}");
    }
}

#[test]
fn what_a_base_may_not_bring_either() {
    for (base, expected) in [
        (
            format!("{BASE}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: kube-system}}\n"),
            "ConfigMap kube-system/a /metadata/namespace Namespace c/base/a.yaml:32",
        ),
        (
            format!("{BASE}---\napiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: a}}\n"),
            "Fleet org/a  Kind c/base/a.yaml:30",
        ),
        (
            format!("{BASE}---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: a}}\n"),
            "ClusterRole a  ClusterScoped c/base/a.yaml:30",
        ),
        (
            format!("{BASE}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, labels: {{capstan.dev/cluster: x}}}}\n"),
            "ConfigMap org/a /metadata/labels/capstan.dev~1cluster OwnerMark c/base/a.yaml:32",
        ),
        // Nobody says where this lies.
        (
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\n".to_owned(),
            "Cluster a  NoNamespace c/base/a.yaml:1",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: one}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: two}\n".to_owned(),
            "ConfigMap one/a  NoNamespace c/base/a.yaml:1",
        ),
    ] {
        assert_eq!(verdicts(&base, ""), [expected], "{base}");
    }
}

#[test]
fn an_overlay_cannot_choose_the_namespace() {
    let base = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01}\n";
    let overlay = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: victim}\n";
    assert_eq!(verdicts(base, overlay), ["Cluster peu01  NoNamespace c/base/a.yaml:1"]);
}

#[test]
fn a_folder_without_a_cluster_lives_where_all_its_objects_do() {
    let base = "\
apiVersion: application.giantswarm.io/v1alpha1
kind: App
metadata: {name: peu01, namespace: org-acme}
spec: {kubeConfig: {inCluster: true}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: peu01-values}
";
    let (rendered, home) = placed(base, "");
    assert_eq!(home.namespace(), Some("org-acme"));
    assert!(rendered.object(&id("ConfigMap org-acme/peu01-values")).is_some());
    assert_eq!(verdicts(base, ""), Vec::<String>::new());
}

#[test]
fn a_folder_that_names_no_namespace_lives_in_the_one_that_it_brings() {
    let base = "\
apiVersion: v1
kind: Namespace
metadata: {name: org}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
";
    assert_eq!(placed(base, "").1.namespace(), Some("org"));
    assert_eq!(verdicts(base, ""), Vec::<String>::new());
}

#[test]
fn one_object_belongs_to_one_folder() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: org}\n";
    let shared = id("ConfigMap org/shared");
    let mut applied = Inventory::default();
    applied.intend(&shared, "v1", "shared");
    let (rendered, home) = placed(config, "");
    let verdict = |index: &OwnerIndex, of: &str| -> Vec<Beyond> {
        let found = boundary(&rendered, &home, &Scopes::default(), &folder(of), index);
        found.into_iter().map(|outside| outside.why).collect()
    };
    let (one, two) = (folder("one"), folder("two"));

    let mut both = OwnerIndex::default();
    both.renders(&one, [&shared]);
    both.renders(&two, [&shared]);
    assert_eq!(verdict(&both, "one"), [Beyond::TwoFolders(two.clone())], "nobody can say who is right");
    assert_eq!(verdict(&both, "two"), [Beyond::TwoFolders(one.clone())]);

    both.records(&one, &applied);
    assert_eq!(verdict(&both, "one"), [], "who has applied it keeps it");
    assert_eq!(verdict(&both, "two"), [Beyond::AnothersObject(one.clone())]);

    let mut moved = OwnerIndex::default();
    moved.renders(&two, [&shared]);
    moved.records(&one, &applied);
    assert_eq!(verdict(&moved, "two"), [], "what the one gave up is the other's");

    moved.unreadable(&one);
    assert_eq!(verdict(&moved, "two"), [Beyond::PerhapsAnothers(one)], "nobody knows whether it gave it up");
}
