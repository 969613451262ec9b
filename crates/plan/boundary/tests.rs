//! What folders try to bring, one attempt a row.

use super::*;
use crate::layout::discover;
use crate::settings::RuleIds;
use capstan_kustomize::render::{Folders, render};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

pub(super) const BASE: &str = "\
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
    ClusterId::new(path(id))
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

/// `.capstan.yaml` of a management cluster that claims all folders, with more under `clusters`.
fn settings(clusters: &str) -> RepositorySettings {
    let text = format!(
        "managementClusters:\n- {{name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: ['*']}}\nclusters: {clusters}\n"
    );
    RepositorySettings::read(&path(".capstan.yaml"), &text, &RuleIds::of_catalogue()).unwrap()
}

/// `Kind ns/name field why file:line`, a line each, for the folder `c` beside the folder `d`.
pub(super) fn beside(own: [&str; 2], other: [&str; 2], clusters: &str) -> Vec<String> {
    judged(own, other, clusters, |rendered, around| {
        let mut rendered = rendered.clone();
        match place_in_namespaces(&mut rendered, around.scopes) {
            Ok(home) => boundary(&rendered, &home, around),
            Err(outside) => vec![*outside],
        }
    })
}

/// The same before the merge.
fn beside_in_git(own: [&str; 2], other: [&str; 2], clusters: &str) -> Vec<String> {
    let mut found = judged(own, other, clusters, boundary_in_git);
    found.sort();
    found
}

pub(super) fn judged(
    own: [&str; 2],
    other: [&str; 2],
    clusters: &str,
    judge: impl Fn(&RenderedFolder, &Surroundings<'_>) -> Vec<ForeignObject>,
) -> Vec<String> {
    let files = [("c", own), ("d", other)].map(|(folder, [base, overlay])| {
        [(format!("{folder}/base/a.yaml"), base), (format!("{folder}/overlay/a.yaml"), overlay)]
    });
    let files = files.iter().flatten().filter(|(_, text)| !text.is_empty());
    let files: Vec<(&str, &str)> = files.map(|(path, text)| (path.as_str(), *text)).collect();
    let (tree, settings) = (Files::new(&files), settings(clusters));
    let neighbours = Neighbours::read(&tree, &discover(&tree, &settings), &settings, &mut |_, read| read());
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    let rendered = render(&tree, &folders).unwrap();
    let (scopes, folder) = (Scopes::default(), folder("c"));
    let around =
        Surroundings { folder: &folder, settings: &settings, scopes: &scopes, neighbours: Some(&neighbours) };
    judge(&rendered, &around).iter().map(line).collect()
}

/// The same for a folder that is alone.
fn verdicts(base: &str, overlay: &str) -> Vec<String> {
    beside([base, overlay], ["", ""], "{}")
}

fn line(outside: &ForeignObject) -> String {
    let why = format!("{:?}", outside.why);
    let why = why.split([' ', '(']).next().unwrap().to_owned();
    let (file, line) = (outside.written.file(), outside.written.line().unwrap());
    format!("{} {} {why} {file}:{line}", outside.object, outside.field)
}

/// A base with its namespaces.
fn placed(base: &str) -> (RenderedFolder, FolderHome) {
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    let mut rendered = render(&Files::new(&[("c/base/a.yaml", base)]), &folders).unwrap();
    let home = place_in_namespaces(&mut rendered, &Scopes::default()).unwrap();
    (rendered, home)
}

fn object<'r>(rendered: &'r RenderedFolder, id: &str) -> Option<&'r RenderedObject> {
    rendered.objects.iter().find(|object| object.id.to_string() == id)
}

#[test]
fn a_base_may_bring_what_a_cluster_needs() {
    assert_eq!(verdicts(BASE, ""), Vec::<String>::new());
    let (rendered, home) = placed(BASE);
    assert_eq!(home.namespace(), Some("org"));
    assert_eq!(home.clusters().collect::<Vec<_>>(), ["peu01"]);
    let deployment = object(&rendered, "MachineDeployment org/peu01-md-0").unwrap();
    assert_eq!(deployment.value["metadata"]["namespace"], "org");
    assert_eq!(deployment.placed.text_at(&["metadata", "namespace"]), Some("org"));
    // A Namespace object has no namespace, even if one is written.
    assert!(object(&rendered, "Namespace org").is_some());
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
            vec![
                "Secret org/peu02-ca /metadata/labels/cluster.x-k8s.io~1cluster-name OtherCluster c/overlay/a.yaml:6",
                "Secret org/peu02-ca /metadata/name TrustedSecret c/overlay/a.yaml:4",
            ],
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
            vec!["Kustomization org/k  KindNotAllowed c/overlay/a.yaml:1"],
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
        // Nothing determines the namespace of this one.
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
fn a_reference_to_vault_belongs_in_base_and_a_store_in_no_folder() {
    let reference = |name: &str, path: &str| {
        format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: VaultSecret\nmetadata: {{name: {name}}}\nspec:\n  store: eu\n  data:\n    k: {{mount: kv, path: {path}, key: k}}\n"
        )
    };
    let base = format!("{BASE}---\n{}", reference("cloud", "acme/fra1"));
    assert_eq!(verdicts(&base, ""), [""; 0]);
    assert_eq!(
        verdicts(&base, &reference("more", "other/fra1")),
        ["VaultSecret org/more  KindFromOverlay c/overlay/a.yaml:1"]
    );
    assert_eq!(
        verdicts(&base, &reference("cloud", "other/fra1")),
        ["VaultSecret org/cloud /spec/data/k/path KindFromOverlay c/overlay/a.yaml:7"]
    );
    let store = "apiVersion: capstan.dev/v1alpha1\nkind: VaultStore\nmetadata: {name: mine}\n";
    assert_eq!(verdicts(&format!("{BASE}---\n{store}"), ""), ["VaultStore org/mine  Kind c/base/a.yaml:30"]);
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
    let (rendered, home) = placed(base);
    assert_eq!(home.namespace(), Some("org-acme"));
    assert!(object(&rendered, "ConfigMap org-acme/peu01-values").is_some());
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
    assert_eq!(placed(base).1.namespace(), Some("org"));
    assert_eq!(verdicts(base, ""), Vec::<String>::new());
}

#[test]
fn what_overlays_may_bring_is_widened_by_kind() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: ingress}\nspec: {kubeConfig: {secretRef: {name: peu01-kubeconfig}}}\n";
    let hosts = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h}\n";
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\n";
    let widened = "{overlayKinds: [{group: helm.toolkit.fluxcd.io, kinds: [HelmRelease]}, {group: metal3.io}, {group: rbac.authorization.k8s.io}]}";
    for (overlay, by_default, then) in [
        (release, Some("HelmRelease org/ingress  KindNotAllowed c/overlay/a.yaml:1"), None),
        (
            hosts,
            Some("BareMetalHost org/h  KindFromOverlay c/overlay/a.yaml:1"),
            Some("BareMetalHost org/h  KindFromOverlay c/overlay/a.yaml:1"),
        ),
        (
            role,
            Some("Role org/r  KindFromOverlay c/overlay/a.yaml:1"),
            Some("Role org/r  KindFromOverlay c/overlay/a.yaml:1"),
        ),
    ] {
        assert_eq!(verdicts(BASE, overlay), Vec::from_iter(by_default), "{overlay}");
        let found = beside([BASE, overlay], ["", ""], widened);
        assert_eq!(found, Vec::from_iter(then), "widened: {overlay}");
    }
}

/// Hosts, wishes for them, and the Secrets that they name are the platform team's; other Secrets are not.
#[test]
fn hosts_and_their_secrets_come_from_the_base_alone() {
    let base = format!(
        "{BASE}---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {{name: bm-1, namespace: org}}
spec: {{online: true, bmc: {{credentialsName: bm-1-bmc}}, networkData: {{name: bm-1-net}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: bm-1-bmc, namespace: org}}
stringData: {{username: a}}
---
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {{name: peu01, namespace: org}}
spec: {{nodes: {{Worker: {{count: {{active: 1}}}}}}, services: {{jumpHost: [{{image: a, nodePort: 1, nodeSSHPrivateKeys: keys}}]}}}}
"
    );
    assert_eq!(verdicts(&base, ""), Vec::<String>::new());
    let host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: bm-1, namespace: org}\nspec: {online: false}\n";
    let wish = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: peu01, namespace: org}\nspec: {nodes: {Worker: {count: {active: 9}}}}\n";
    let secret = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: org}}\nstringData: {{username: b}}\n"
        )
    };
    for (overlay, told) in [
        (host.to_owned(), Some("BareMetalHost org/bm-1 /spec/online KindFromOverlay c/overlay/a.yaml:4")),
        (
            wish.to_owned(),
            Some("SIPCluster org/peu01 /spec/nodes/Worker/count/active KindFromOverlay c/overlay/a.yaml:4"),
        ),
        (
            secret("bm-1-bmc"),
            Some("Secret org/bm-1-bmc /stringData/username KindFromOverlay c/overlay/a.yaml:4"),
        ),
        (secret("bm-1-net"), Some("Secret org/bm-1-net  KindFromOverlay c/overlay/a.yaml:1")),
        (secret("keys"), Some("Secret org/keys  KindFromOverlay c/overlay/a.yaml:1")),
        (secret("others"), None),
    ] {
        assert_eq!(verdicts(&base, &overlay), Vec::from_iter(told), "{overlay}");
    }
}

const RELEASES: &str = "\
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: there, namespace: org}
spec:
  chart: {spec: {chart: ingress, version: 1.0.0, sourceRef: {kind: HelmRepository, name: ours}}}
  kubeConfig: {secretRef: {name: peu01-kubeconfig}}
  serviceAccountName: helm
  targetNamespace: ingress
  values: {replicas: 1}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: here, namespace: org}
spec: {chartRef: {kind: OCIRepository, name: ours}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: org}
spec: {path: ./apps, sourceRef: {kind: GitRepository, name: ours}, serviceAccountName: restricted}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: ours, namespace: org}
spec: {url: 'https://charts.example.com'}
";

/// What an overlay makes of the base's releases.
#[test]
fn where_and_with_whose_rights_flux_acts_is_the_bases_to_say() {
    let release = |spec: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: there, namespace: org}}\nspec: {spec}\n"
        )
    };
    let kustomization = |name: &str, spec: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: org}}\nspec: {spec}\n"
        )
    };
    let there = |field: &str, line: &str| vec![format!("HelmRelease org/there {field} BasesOwnField {line}")];
    for (overlay, expected) in [
        (release("{values: {replicas: 3}, chart: {spec: {version: 1.1.0}}}"), Vec::new()),
        (release("{kubeConfig: null}"), there("/spec/kubeConfig", "c/base/a.yaml:34")),
        (release("{kubeConfig: {secretRef: {name: ''}}}"), there("/spec/kubeConfig", "c/base/a.yaml:35")),
        (release("{kubeConfig: {secretRef: {name: mine}}}"), there("/spec/kubeConfig", "c/base/a.yaml:35")),
        (release("{serviceAccountName: ''}"), there("/spec/serviceAccountName", "c/overlay/a.yaml:4")),
        (release("{serviceAccountName: default}"), there("/spec/serviceAccountName", "c/overlay/a.yaml:4")),
        (release("{targetNamespace: kube-system}"), there("/spec/targetNamespace", "c/overlay/a.yaml:4")),
        (release("{storageNamespace: other}"), there("/spec/storageNamespace", "c/overlay/a.yaml:4")),
        (release("{chart: {spec: {chart: mine}}}"), there("/spec/chart/spec/chart", "c/overlay/a.yaml:4")),
        (
            release("{chart: {spec: {sourceRef: {kind: HelmRepository, name: mine}}}}"),
            there("/spec/chart/spec/sourceRef", "c/base/a.yaml:34"),
        ),
        (
            release("{chartRef: {kind: OCIRepository, name: mine}}"),
            there("/spec/chartRef", "c/overlay/a.yaml:4"),
        ),
        // What the controller does with all of its rights takes no values from a customer.
        (
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: here, namespace: org}\nspec: {values: {extraObjects: []}}\n".to_owned(),
            vec!["HelmRelease org/here /spec OtherRights c/base/a.yaml:43".to_owned()],
        ),
        (kustomization("apps", "{interval: 1m}"), Vec::new()),
        (
            kustomization("apps", "{path: ./mine, serviceAccountName: capstan-applier}"),
            vec![
                "Kustomization org/apps /spec/path BasesOwnField c/overlay/a.yaml:4".to_owned(),
                "Kustomization org/apps /spec/serviceAccountName BasesOwnField c/overlay/a.yaml:4".to_owned(),
            ],
        ),
        (
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: ours, namespace: org}\nspec: {url: 'https://mine.example.com'}\n".to_owned(),
            vec!["HelmRepository org/ours /spec/url KindNotAllowed c/overlay/a.yaml:4".to_owned()],
        ),
    ] {
        assert_eq!(verdicts(&format!("{BASE}{RELEASES}"), &overlay), expected, "{overlay}");
    }
    // Of kinds that overlays may bring, what acts on the management cluster itself stays outside.
    let flux = "{overlayKinds: [{group: kustomize.toolkit.fluxcd.io}]}";
    for (spec, expected) in [
        ("{path: ./mine, kubeConfig: {secretRef: {name: peu01-kubeconfig}}}", None),
        ("{path: ./mine, serviceAccountName: capstan-applier}", Some("OtherRights")),
        ("{path: ./mine, kubeConfig: {secretRef: {name: ''}}}", Some("OtherRights")),
        ("{path: ./mine, kubeConfig: {configMapRef: {name: mine}}}", Some("OtherRights")),
    ] {
        let found = beside([BASE, &kustomization("mine", spec)], ["", ""], flux);
        let expected = expected.map(|why| format!("Kustomization org/mine  {why} c/overlay/a.yaml:1"));
        assert_eq!(found, Vec::from_iter(expected), "{spec}");
    }
}

pub(super) const NEIGHBOUR: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu02, namespace: org, labels: {env: prod, team: two}}
---
apiVersion: v1
kind: Secret
metadata: {name: cloud-two}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: two}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: two}
spec: {clusterSelector: {matchLabels: {logs: two}}, resources: [{kind: Secret, name: cloud-two}]}
";

#[test]
fn neighbours_in_one_namespace_are_kept_apart() {
    let addon = |kind: &str, group: &str, selector: &str| {
        format!(
            "apiVersion: {group}\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  clusterSelector: {selector}\n"
        )
    };
    let set = |selector: &str| addon("ClusterResourceSet", "addons.cluster.x-k8s.io/v1beta2", selector);
    let secret = |name: &str| format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\n");
    let config = |files: &str| {
        format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate\nmetadata: {{name: k}}\nspec: {{template: {{spec: {{\n  {files}}}}}}}\n"
        )
    };
    let infrastructure = |spec: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\nmetadata: {{name: peu01}}\nspec: {{\n  {spec}}}\n"
        )
    };
    let from =
        |name: &str| format!("files: [{{path: /a, contentFrom: {{secret: {{name: {name}, key: value}}}}}}]");
    let names = "KubeadmConfigTemplate org/k /spec/template/spec/files/0/contentFrom/secret/name";
    let selects = "/spec/clusterSelector SelectsOther c/overlay/a.yaml:5";
    for (overlay, expected) in [
        (set("{matchLabels: {env: prod}}"), Some(format!("ClusterResourceSet org/a {selects}"))),
        // Without a word a ClusterResourceSet selects nothing, and a HelmChartProxy everything.
        (set("{}"), None),
        (
            addon("HelmChartProxy", "addons.cluster.x-k8s.io/v1alpha1", "{}"),
            Some(format!("HelmChartProxy org/a {selects}")),
        ),
        (
            addon("HelmChartProxy", "addons.cluster.x-k8s.io/v1alpha1", "{matchLabels: {}}"),
            Some(format!("HelmChartProxy org/a {selects}")),
        ),
        (
            "apiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata: {name: a}\nspec: {chartName: mine}\n".to_owned(),
            Some("HelmChartProxy org/a /spec SelectsOther c/overlay/a.yaml:4".to_owned()),
        ),
        (
            "apiVersion: config.projectsveltos.io/v1beta1\nkind: Profile\nmetadata: {name: a}\nspec:\n  setRefs: [all]\n".to_owned(),
            Some("Profile org/a /spec/setRefs SelectsOther c/overlay/a.yaml:5".to_owned()),
        ),
        (set("{matchExpressions: [{key: env, operator: In, values: [dev, prod]}]}"), Some(format!("ClusterResourceSet org/a {selects}"))),
        (set("{matchExpressions: [{key: team, operator: Exists}]}"), Some(format!("ClusterResourceSet org/a {selects}"))),
        (set("{matchExpressions: [{key: team, operator: NotIn, values: [one]}]}"), Some(format!("ClusterResourceSet org/a {selects}"))),
        (set("{matchLabels: {env: prod, team: one}}"), None),
        (set("{matchExpressions: [{key: team, operator: DoesNotExist}]}"), None),
        (
            addon("HelmChartProxy", "addons.cluster.x-k8s.io/v1alpha1", "{matchLabels: {team: two}}"),
            Some(format!("HelmChartProxy org/a {selects}")),
        ),
        (
            addon("Profile", "config.projectsveltos.io/v1beta1", "env=prod"),
            Some(format!("Profile org/a {selects}")),
        ),
        (
            "apiVersion: config.projectsveltos.io/v1beta1\nkind: Profile\nmetadata: {name: a}\nspec:\n  clusterRefs:\n  - {kind: Cluster, namespace: org, name: peu02}\n".to_owned(),
            Some("Profile org/a /spec/clusterRefs/0 SelectsOther c/overlay/a.yaml:6".to_owned()),
        ),
        (
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDrainRule\nmetadata: {name: a}\nspec: {drain: {behavior: Skip}}\n".to_owned(),
            Some("MachineDrainRule org/a /spec SelectsOther c/overlay/a.yaml:4".to_owned()),
        ),
        (
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01, namespace: org, labels: {logs: two}}\n".to_owned(),
            Some("Cluster org/peu01 /metadata/labels SelectedByOther c/overlay/a.yaml:3".to_owned()),
        ),
        (secret("peu02-ca"), Some("Secret org/peu02-ca /metadata/name NamedAfter c/overlay/a.yaml:4".to_owned())),
        (secret("peu02-etcd"), Some("Secret org/peu02-etcd /metadata/name NamedAfter c/overlay/a.yaml:4".to_owned())),
        (secret("peu02-sa"), Some("Secret org/peu02-sa /metadata/name NamedAfter c/overlay/a.yaml:4".to_owned())),
        (secret("peu02-proxy"), Some("Secret org/peu02-proxy /metadata/name NamedAfter c/overlay/a.yaml:4".to_owned())),
        (
            secret("peu02-kubeconfig"),
            Some("Secret org/peu02-kubeconfig /metadata/name NamedAfter c/overlay/a.yaml:4".to_owned()),
        ),
        (secret("peu01-ca"), Some("Secret org/peu01-ca /metadata/name TrustedSecret c/overlay/a.yaml:4".to_owned())),
        (secret("peu02-registry"), None),
        (config(&from("peu02-kubeconfig")), Some(format!("{names} NeighboursSecret c/overlay/a.yaml:5"))),
        (config(&from("cloud-two")), Some(format!("{names} NeighboursSecret c/overlay/a.yaml:5"))),
        (config(&from("peu01-etcd")), None),
        // In no folder: perhaps the platform's own.
        (config(&from("registry")), Some(format!("{names} NotBrought c/overlay/a.yaml:5"))),
        (
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {name: m}\nspec:\n  clusterName: peu01\n  bootstrap: {dataSecretName: cloud-two}\n".to_owned(),
            Some("Machine org/m /spec/bootstrap/dataSecretName NeighboursSecret c/overlay/a.yaml:6".to_owned()),
        ),
        (
            infrastructure("caBundle: {secretRef: {name: cloud-two}}"),
            Some("AWSCluster org/peu01 /spec/caBundle/secretRef/name NeighboursSecret c/overlay/a.yaml:5".to_owned()),
        ),
        (
            infrastructure("identityRef: {kind: AWSClusterStaticIdentity, name: two}"),
            Some("AWSCluster org/peu01 /spec/identityRef/name OthersIdentity c/overlay/a.yaml:5".to_owned()),
        ),
        // In no folder: perhaps the platform's own.
        (
            infrastructure("identityRef: {kind: AWSClusterControllerIdentity, name: default}"),
            Some("AWSCluster org/peu01 /spec/identityRef/name OthersIdentity c/overlay/a.yaml:5".to_owned()),
        ),
        (
            infrastructure("identityRef: {name: cloud-two, cloudName: openstack}"),
            Some("AWSCluster org/peu01 /spec/identityRef/name NeighboursSecret c/overlay/a.yaml:5".to_owned()),
        ),
        (
            infrastructure("identityRef: {kind: AzureClusterIdentity, name: a, namespace: victim}"),
            Some("AWSCluster org/peu01 /spec/identityRef/name NamesOutside c/overlay/a.yaml:5".to_owned()),
        ),
        (infrastructure("identityRef: {kind: AWSClusterStaticIdentity, name: peu01}"), None),
    ] {
        let kinds = "overlayKinds: [{group: config.projectsveltos.io}]";
        let found = beside([BASE, &overlay], [NEIGHBOUR, ""], &format!("{{{kinds}}}"));
        let expected_alone = expected.is_some();
        assert_eq!(found, Vec::from_iter(expected), "{overlay}");
        let one_owner = format!("{{{kinds}, oneOwner: ['{{c,d}}']}}");
        let found = beside([BASE, &overlay], [NEIGHBOUR, ""], &one_owner);
        // That nobody gave the customer these, or that controllers trust them, has nothing to do with the neighbour.
        let never = ["ControllerIdentity", "AzureClusterIdentity", "name: registry", "kind: Secret\nmetadata"];
        let never = expected_alone && never.iter().any(|credentials| overlay.contains(credentials));
        assert_eq!(found.len(), usize::from(never), "of one owner: {found:?}");
    }
}

/// An overlay cannot make a folder refused that says nothing new.
#[test]
fn a_base_is_judged_by_what_other_bases_bring() {
    let own = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu01, namespace: org, labels: {env: one}}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: one}
spec: {clusterSelector: {matchLabels: {env: one}}, resources: [{kind: Secret, name: made-by-hand}]}
";
    let other =
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu02, namespace: org}\n";
    let overlay = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu02, namespace: org, labels: {env: one}}
---
apiVersion: v1
kind: Secret
metadata: {name: made-by-hand}
";
    assert_eq!(beside([own, ""], [other, overlay], "{}"), Vec::<String>::new());
    let found = beside([own, ""], [overlay, ""], "{}");
    assert_eq!(
        found,
        [
            "ClusterResourceSet org/one /spec/clusterSelector SelectsOther c/base/a.yaml:8",
            "ClusterResourceSet org/one /spec/resources/0/name NeighboursSecret c/base/a.yaml:8",
        ]
    );
}

/// A folder whose overlay adds a Cluster, or an object of another base, is refused. The other folder is not.
#[test]
fn what_an_overlay_adds_gets_no_other_folder_refused() {
    let own = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu01, namespace: org}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: all}
spec: {clusterSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}, resources: [{kind: Secret, name: prod-ca}]}
---
apiVersion: v1
kind: Secret
metadata: {name: prod-ca}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
";
    let other = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: other, namespace: org, labels: {env: prod}}
";
    let overlay = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: prod, namespace: org}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
";
    assert_eq!(beside([own, ""], [other, overlay], "{}"), Vec::<String>::new());
    let adds = "Cluster org/prod  AddsCluster c/overlay/a.yaml:1";
    assert_eq!(beside([other, overlay], [own, ""], "{}"), [adds]);
    assert_eq!(beside_in_git([own, ""], [other, overlay], "{}"), Vec::<String>::new());
    let notes = "ConfigMap notes  TwoFolders c/overlay/a.yaml:5";
    assert_eq!(beside_in_git([other, overlay], [own, ""], "{}"), [adds, notes]);
    // Of two bases neither is the first.
    let base = format!("{other}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: notes}}\n");
    assert_eq!(beside_in_git([own, ""], [&base, ""], "{}"), ["ConfigMap notes  TwoFolders c/base/a.yaml:14"]);
}

/// A chart's values are not judged, unless the chart is installed in the folder's namespace: then they name Secrets
/// of that namespace.
#[test]
fn values_of_a_chart_name_secrets_of_where_it_is_installed() {
    let release = |spec: &str| {
        format!(
            "{BASE}---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: apps}}\nspec:\n  {spec}\n  \
             values: {{ingress: {{tls: {{secretName: peu02-ca}}}}, dataSecretName: cloud-two}}\n"
        )
    };
    let away = "kubeConfig: {secretRef: {name: peu01-kubeconfig}}";
    let values =
        |field: &str| format!("HelmRelease org/apps /spec/values/{field} NeighboursSecret c/base/a.yaml:35");
    let here = [values("dataSecretName"), values("ingress/tls/secretName")];
    for (spec, expected) in [
        (away.to_owned(), vec![]),
        ("targetNamespace: elsewhere".to_owned(), vec![]),
        ("targetNamespace: org".to_owned(), here.to_vec()),
        ("interval: 1m".to_owned(), here.to_vec()),
        // Flux itself reads this Secret here, wherever the chart is installed.
        (
            format!("{away}\n  valuesFrom: [{{kind: Secret, name: cloud-two}}]"),
            vec!["HelmRelease org/apps /spec/valuesFrom/0/name NeighboursSecret c/base/a.yaml:35".to_owned()],
        ),
    ] {
        assert_eq!(beside([&release(&spec), ""], [NEIGHBOUR, ""], "{}"), expected, "{spec}");
    }
}

/// Where one cluster's name is the beginning of another's, a Secret belongs to the longer one.
#[test]
fn a_folders_own_secrets_are_its_own() {
    let own =
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: prod-user, namespace: org}\n";
    let other =
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: prod, namespace: org}\n";
    let overlay = "apiVersion: v1\nkind: Secret\nmetadata: {name: prod-user-kubeconfig}\n";
    let with = |secret: &str| format!("{own}---\n{secret}");
    assert_eq!(beside([&with(overlay), ""], [other, ""], "{}"), Vec::<String>::new());
    // The same with the folders swapped: the Secret of the longer name is not an EKS kubeconfig of the shorter.
    let found = beside([other, overlay], [own, ""], "{}");
    assert_eq!(found, ["Secret org/prod-user-kubeconfig /metadata/name NamedAfter c/overlay/a.yaml:3"]);
    // Another namespace is another world.
    let elsewhere = other.replace("namespace: org", "namespace: other");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: prod-ca}\n";
    assert_eq!(beside([&with(secret), ""], [&elsewhere, ""], "{}"), Vec::<String>::new());
}

/// The folder `c` as the provider set of its management cluster.
fn set_verdicts(base: &str, overlay: &str) -> Vec<String> {
    let text = "managementClusters:\n- {name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, providers: {path: c, by: operator}}\n";
    let settings = RepositorySettings::read(&path(".capstan.yaml"), text, &RuleIds::of_catalogue()).unwrap();
    let mut files = vec![("c/base/a.yaml", base)];
    files.extend((!overlay.is_empty()).then_some(("c/overlay/a.yaml", overlay)));
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    let rendered = render(&Files::new(&files), &folders).unwrap();
    let (scopes, folder) = (Scopes::default(), folder("c"));
    let around = Surroundings { folder: &folder, settings: &settings, scopes: &scopes, neighbours: None };
    boundary_in_git(&rendered, &around).iter().map(line).collect()
}

const PROVIDERS: &str = "apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {name: cluster-api, namespace: capi-system}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {name: aws, namespace: capa-system}
";

#[test]
fn a_provider_set_brings_providers_and_what_they_are_installed_from() {
    let beside = |text: &str| format!("{PROVIDERS}---\n{text}\n");
    for allowed in [
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: core, namespace: capi-system}}",
        "{apiVersion: v1, kind: Secret, metadata: {name: aws, namespace: capa-system}}",
        "{apiVersion: v1, kind: Namespace, metadata: {name: capa-system}}",
    ] {
        assert_eq!(set_verdicts(&beside(allowed), ""), Vec::<String>::new(), "{allowed}");
    }
    for (outside, expected) in [
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: core, namespace: kube-system}}",
            "ConfigMap kube-system/core /metadata/namespace Namespace c/base/a.yaml:9",
        ),
        (
            "{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}",
            "Namespace kube-system /metadata/name Namespace c/base/a.yaml:9",
        ),
        (
            "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: capi-system}}",
            "ServiceAccount capi-system/a  KindNotOfSet c/base/a.yaml:9",
        ),
        (
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: capi-system}}",
            "Deployment capi-system/a  KindNotOfSet c/base/a.yaml:9",
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: capi-system, ownerReferences: [{}]}}",
            "ConfigMap capi-system/a /metadata/ownerReferences OwnerReferences c/base/a.yaml:9",
        ),
        // Each of several providers has a namespace of its own, so the namespace is ambiguous.
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: core}}",
            "ConfigMap core  NoNamespace c/base/a.yaml:9",
        ),
    ] {
        assert_eq!(set_verdicts(&beside(outside), ""), [expected]);
    }
    // What is left of a provider that the set dropped is not refused. Without the ConfigMap of its components, the
    // rest does not count as left over.
    let components = "{apiVersion: v1, kind: ConfigMap, metadata: {name: v1.0.0, namespace: capz-system}, data: {metadata: a, components: b}}";
    let rest = "{apiVersion: v1, kind: Namespace, metadata: {name: capz-system}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: azure, namespace: capz-system}}";
    assert_eq!(set_verdicts(&beside(&format!("{components}\n---\n{rest}")), ""), Vec::<String>::new());
    assert_eq!(set_verdicts(&beside(rest), "").len(), 2);
    let in_use = components.replace("data: {metadata: a, components: b}", "data: {a: b}");
    assert_eq!(set_verdicts(&beside(&in_use), "").len(), 1);
    let overlay = "{apiVersion: v1, kind: ConfigMap, metadata: {name: core, namespace: capi-system}}\n";
    assert_eq!(
        set_verdicts(PROVIDERS, overlay),
        ["ConfigMap capi-system/core  KindFromOverlay c/overlay/a.yaml:1"]
    );
}
