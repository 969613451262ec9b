//! Whole trees.

use super::{TODAY, lines, path};
use crate::flux::FluxIndex;
use crate::layout::discover;
use crate::policy::{Snapshot, ValidationScope, folders_of, validate};
use crate::settings::{RepositorySettings, RuleIds};
use capstan_kustomize::schema::Schemas;
use capstan_model::tree::{EntryKind, Tree};
use capstan_test_support::Files;

pub(super) const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
";
const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: w, namespace: org}
spec:
  template:
    spec:
      infrastructureRef: {kind: DockerMachineTemplate, name: gone, apiVersion: infrastructure.cluster.x-k8s.io/v1beta1}
      clusterName: peu01
  clusterName: peu01
";

pub(super) fn validated(
    settings: &str,
    now: &[(&str, &str)],
    before: Option<&[(&str, &str)]>,
) -> Vec<String> {
    let settings =
        RepositorySettings::read(&path(".capstan.yaml"), settings, &RuleIds::of_catalogue()).unwrap();
    validated_tree(&settings, &Files::new(now), before)
}

pub(super) fn validated_tree(
    settings: &RepositorySettings,
    tree: &dyn Tree,
    before: Option<&[(&str, &str)]>,
) -> Vec<String> {
    let layout = discover(tree, settings);
    let schemas = crate::layout::schemas_of(tree, &layout);
    let flux = FluxIndex::read(tree, &layout);
    let old = before.map(Files::new);
    let old_layout = old.as_ref().map(|tree| discover(tree, settings)).unwrap_or_default();
    let before = old.as_ref().map(|tree| Snapshot {
        tree,
        layout: &old_layout,
        schemas: &schemas,
        cluster_api: None,
        flux: None,
        neighbours: None,
        supplies: None,
    });
    lines(&validate(
        Snapshot {
            tree,
            layout: &layout,
            schemas: &schemas,
            cluster_api: None,
            flux: Some(&flux),
            neighbours: None,
            supplies: None,
        },
        before,
        settings,
        ValidationScope::Everything,
        TODAY,
    ))
}

#[test]
fn a_tree_in_order_has_no_findings() {
    assert_eq!(validated("", &[("gauss/peu01/base/c.yaml", CLUSTER)], None), [""; 0]);
}

#[test]
fn every_file_that_is_wrong_is_found_and_hides_nothing_else() {
    let now = [
        ("gauss/peu01/base/c.yaml", CLUSTER),
        ("gauss/peu01/base/bad.yaml", "a: [\n"),
        ("gauss/peu01/base/worse.yaml", "a: b: 1\n"),
        ("gauss/peu01/capstan.yaml", "realease: aws/v1.0.0\n"),
        ("gauss/peu02/base/c.yaml", CLUSTER),
        ("gauss/peu02/base/w.yaml", WORKERS),
        ("gauss/peu03/base/c.yaml", CLUSTER),
        ("gauss/peu03/overlay/kustomization.yaml", "resources: []\nvars: [{name: x}]\n"),
        ("aws/v1.0.0/base/a.yaml", "a: {\n"),
    ];
    let found = validated("", &now, None);
    let start = |line: &String| line.split(' ').take(3).collect::<Vec<_>>().join(" ");
    assert_eq!(
        found.iter().map(start).collect::<Vec<_>>(),
        [
            "invalid-yaml Error aws/v1.0.0/base/a.yaml:1:4",
            "invalid-yaml Error gauss/peu01/base/bad.yaml:1:4",
            "invalid-yaml Error gauss/peu01/base/worse.yaml:1:5",
            "invalid-settings Error gauss/peu01/capstan.yaml:1:1",
            "missing-reference Warning gauss/peu02/base/w.yaml:7:62",
            "render-failed Error gauss/peu03/overlay/kustomization.yaml:2:8",
        ]
    );
}

#[test]
fn a_second_tree_brings_the_rules_that_compare() {
    let before = [
        ("gauss/peu01/base/c.yaml", CLUSTER),
        ("gauss/peu01/base/w.yaml", WORKERS),
        ("gauss/peu02/base/c.yaml", CLUSTER),
    ];
    let now = [("gauss/peu01/base/c.yaml", CLUSTER)];
    assert_eq!(
        validated("policy: {missing-reference: off}\n", &now, Some(&before)),
        [
            "removes-machines Error gauss/peu01/base/w.yaml:1:1 MachineDeployment org/w ",
            "removes-machines Error gauss/peu02/base/c.yaml:1:1 Cluster org/peu01 ",
        ]
    );
    assert_eq!(validated("policy: {removes-machines: off}\n", &now, Some(&before)), [""; 0]);
}

#[test]
fn a_reference_into_another_clusters_folder_is_reported_where_it_is_named() {
    let other = CLUSTER.replace("peu01", "peu02");
    let told = |settings: &str, overlay: &str| {
        let now = [
            ("gauss/a/base/c.yaml", CLUSTER),
            ("gauss/a/overlay/kustomization.yaml", overlay),
            ("gauss/b/base/c.yaml", &other),
            (
                "gauss/b/overlay/labels.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: l, namespace: org}\n",
            ),
            ("gauss/b/overlay/notes.txt", "theirs\n"),
            ("parts/kustomization.yaml", PARTS),
        ];
        let found = validated(settings, &now, None);
        found.into_iter().filter(|line| line.starts_with("reads-other-cluster")).collect::<Vec<_>>()
    };
    const PARTS: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [../gauss/b/overlay/labels.yaml]
";
    let generated =
        "namespace: org\nconfigMapGenerator:\n- name: n\n  files: [notes=../../b/overlay/notes.txt]\n";
    let at = "reads-other-cluster Error gauss/a/overlay/kustomization.yaml:4:11 - -";
    assert_eq!(told("", generated), [at]);
    // A file outside the folder names it, so the finding is at the file that is read.
    let through = "components: [../../../parts]\n";
    assert_eq!(told("", through), ["reads-other-cluster Error gauss/b/overlay/labels.yaml:1:1 - -"]);
    // A folder that cannot be rendered has still read the file.
    let broken = "resources: [../../b/overlay/labels.yaml, gone.yaml]\n";
    assert_eq!(told("", broken), ["reads-other-cluster Error gauss/a/overlay/kustomization.yaml:1:13 - -"]);
    let one_owner = "clusters: {oneOwner: ['gauss/*']}\n";
    assert_eq!(told(one_owner, generated), [""; 0]);
    // One owner or not: what another management cluster has never travels.
    let uid = "00000000-0000-4000-8000-00000000000";
    let apart = format!(
        "{one_owner}managementClusters:\n- {{name: one, uid: {uid}1, clusters: [gauss/a]}}\n- {{name: two, uid: {uid}2, \
         clusters: [gauss/b]}}\n"
    );
    assert_eq!(told(&apart, generated), [at]);
}

#[test]
fn a_tombstone_of_something_rendered_is_a_contradiction() {
    let now = [
        ("gauss/peu01/base/c.yaml", CLUSTER),
        ("gauss/peu01/capstan.yaml", "delete:\n- {kind: Cluster, name: peu01}\n"),
    ];
    assert_eq!(
        validated("", &now, None),
        ["rendered-tombstone Error gauss/peu01/capstan.yaml:2:3 Cluster org/peu01 -"]
    );
}

#[test]
fn machines_that_a_new_tombstone_deletes_are_reported() {
    let settings = |text: &'static str| ("gauss/peu01/capstan.yaml", text);
    let (cluster, workers) = (("gauss/peu01/base/c.yaml", CLUSTER), ("gauss/peu01/base/w.yaml", WORKERS));
    let quiet = "policy: {missing-reference: off}\n";
    let silent = [""; 0];
    let whole = "# goodbye\ndelete: cluster\n";
    let lost = ["removes-machines Error gauss/peu01/capstan.yaml:2:9 Cluster org/peu01 -"];
    let before = [cluster, workers];
    assert_eq!(validated(quiet, &[cluster, workers, settings(whole)], Some(&before)), lost);
    // It was said when it came.
    let before = [cluster, workers, settings(whole)];
    assert_eq!(validated(quiet, &[cluster, workers, settings(whole)], Some(&before)), silent);
    // Alone, a tree tells of no change; a cluster that comes with it was never there.
    assert_eq!(validated(quiet, &[cluster, workers, settings(whole)], None), silent);
    assert_eq!(validated(quiet, &[cluster, workers, settings(whole)], Some(&[])), silent);

    // Workers that left the folder earlier, and stayed in the live cluster until now.
    let two = "delete:\n- {kind: ConfigMap, name: w}\n- {kind: MachineDeployment, name: w}\n";
    assert_eq!(
        validated(quiet, &[cluster, settings(two)], Some(&[cluster])),
        ["removes-machines Error gauss/peu01/capstan.yaml:3:3 - -"]
    );
    assert_eq!(validated(quiet, &[cluster, settings(two)], Some(&[cluster, settings(two)])), silent);
    // Workers that leave with the same change are reported once, at their former place.
    assert_eq!(
        validated(quiet, &[cluster, settings(two)], Some(&[cluster, workers])),
        ["removes-machines Error gauss/peu01/base/w.yaml:1:1 MachineDeployment org/w "]
    );
}

#[test]
fn every_rule_that_the_code_names_is_in_the_catalogue() {
    fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut files = Vec::new();
    sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    let mut unknown = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for found in text.split("rule: \"").skip(1) {
            let id = found.split('"').next().unwrap();
            if crate::policy::rule(id).is_none() {
                unknown.push(format!("{}: {id}", file.display()));
            }
        }
    }
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn the_whole_corpus_is_judged_without_a_panic() {
    let Some(files) = capstan_test_support::shared_data::files("") else { return };
    let tree = Files::from_bytes(files);
    let settings = RepositorySettings::default();
    let layout = discover(&tree, &settings);
    let schemas = crate::layout::schemas_of(&tree, &layout);
    let flux = FluxIndex::read(&tree, &layout);
    let flux = Some(&flux);
    let now = Snapshot {
        tree: &tree,
        layout: &layout,
        schemas: &schemas,
        cluster_api: None,
        flux,
        neighbours: None,
        supplies: None,
    };
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for finding in validate(now, Some(now), &settings, ValidationScope::Everything, TODAY) {
        assert!(!finding.message.is_empty() && finding.file().is_some(), "{finding:?}");
        *counts.entry(finding.rule.id()).or_default() += 1;
    }
    println!("{} releases, {} clusters: {counts:?}", layout.releases.len(), layout.targets.len());
    assert!(layout.releases.len() > 200);
}

/// Every real manifest as a cluster of its own, and every folder with a kustomization as one.
#[test]
fn real_manifests_are_judged_and_only_what_is_wrong_with_them_is_found() {
    let Some(files) = capstan_test_support::shared_data::files("manifests") else { return };
    let corpus = Files::from_bytes(files);
    let settings = RepositorySettings::default();
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    let (mut clusters, mut told) = (0, Vec::new());
    for entry in corpus.entries().iter().filter(|entry| capstan_model::tree::is_manifest(&entry.path)) {
        let bytes = corpus.read(entry).unwrap();
        let tree = Files::from_bytes([("c/base/a.yaml".to_owned(), bytes.to_vec())]);
        let layout = discover(&tree, &settings);
        clusters += layout.targets.len();
        let schemas = Schemas::built_in();
        let now = Snapshot {
            tree: &tree,
            layout: &layout,
            schemas,
            cluster_api: None,
            flux: None,
            neighbours: None,
            supplies: None,
        };
        for finding in validate(now, None, &settings, ValidationScope::Everything, TODAY) {
            *counts.entry(finding.rule.id()).or_default() += 1;
            let line = finding.line().unwrap_or_default();
            told.push(format!("{} {}:{line}: {}", finding.rule.id(), entry.path, finding.message));
        }
    }
    told.sort();
    if std::env::var_os("SHOW_FINDINGS").is_some() {
        println!("{}", told.join("\n"));
    }
    println!("{clusters} clusters: {counts:#?}");
    assert!(clusters > 100);
    // Templates of released providers are right: what these rules would find there is their own mistake.
    for rule in [
        "autoscaler-owns-replicas",
        "control-plane-replicas-even",
        "duplicate-object",
        "file-not-listed",
        "kubernetes-workers-ahead",
        "kubernetes-workers-behind",
        "reference-mismatch",
    ] {
        assert_eq!(counts.get(rule), None, "{rule}: {told:#?}");
    }
}

#[test]
fn a_file_that_no_kustomization_lists_is_reported_even_if_it_is_not_yaml() {
    let kustomization = ("gauss/peu01/base/kustomization.yaml", "resources: [c.yaml]\n");
    let cluster = (
        "gauss/peu01/base/c.yaml",
        "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: org}}\n",
    );
    for (text, expected) in [
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", Some("1:1")),
        ("apiVersion: v1\nkind: [Secret\n", Some("2:7")),
        ("a: [1\n", None),
        ("a: 1\n", None),
    ] {
        let found = validated("", &[kustomization, cluster, ("gauss/peu01/base/s.yaml", text)], None);
        let found: Vec<&String> = found.iter().filter(|line| line.starts_with("file-not-listed")).collect();
        let expected =
            expected.map(|place| format!("file-not-listed Warning gauss/peu01/base/s.yaml:{place} - -"));
        assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn an_app_may_depend_on_one_outside_the_release() {
    let release = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.0.0}
spec:
  apps:
  - {name: cilium, version: 0.16.0, dependsOn: [prometheus-operator-crd]}
  components:
  - {name: kubernetes, version: 1.29.3}
  state: active
";
    assert_eq!(validated("", &[("aws/v29.0.0/release.yaml", release)], None), [""; 0]);
}

#[test]
fn which_cluster_api_manages_is_read_where_exactly_one_is_installed() {
    let core = |version: &str| {
        format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {{name: cluster-api}}\nspec: {{version: {version}}}\n"
        )
    };
    let clusterctl = "providers:\n- {name: cluster-api, type: CoreProvider, url: \"https://github.com/kubernetes-sigs/cluster-api/releases/v1.9.4/core-components.yaml\"}\n";
    let (one, other) = (core("v1.8.3"), core("v1.10.0"));
    type Files<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Files<'_>, Option<&str>); 5] = [
        (&[("mc-eu/set/base/core.yaml", &one), ("aws/v1.0.0/base/core.yaml", &other)], Some("1.8.3")),
        (&[("mgmt/capi/core.yaml", &one)], Some("1.8.3")),
        (&[("mgmt/clusterctl.yaml", clusterctl)], Some("1.9.4")),
        (&[("a/capi/core.yaml", &one), ("b/capi/core.yaml", &other)], None),
        (&[("mgmt/README.yaml", &one)], None),
    ];
    for (files, expected) in cases {
        let tree = capstan_test_support::Files::new(files);
        let layout = discover(&tree, &RepositorySettings::default());
        let installed = crate::policy::InstalledProviders::read(&tree, &layout);
        assert_eq!(installed.core().map(ToString::to_string).as_deref(), expected, "{files:?}");
    }
}

#[test]
fn every_provider_that_a_repository_installs_has_its_releases() {
    let object = |kind: &str, name: &str, version: &str| {
        format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{version: {version}}}\n---\n"
        )
    };
    let set =
        object("InfrastructureProvider", "aws", "v2.8.0") + &object("BootstrapProvider", "rke2", "v0.21.0");
    let other =
        object("InfrastructureProvider", "aws", "v2.13.0") + &object("CoreProvider", "capi", "v1.11.1");
    let clusterctl = "providers:\n- {name: in-cluster, type: IPAMProvider, url: \"https://example.org/releases/v1.0.3/ipam-components.yaml\"}\n";
    let tree = Files::new(&[
        ("mc-eu/set/base/set.yaml", set.as_str()),
        ("mc-us/set/base/set.yaml", other.as_str()),
        ("mgmt/clusterctl.yaml", clusterctl),
    ]);
    let layout = discover(&tree, &RepositorySettings::default());
    let installed = crate::policy::InstalledProviders::read(&tree, &layout);
    for (label, expected) in [
        ("infrastructure-aws", &["2.8.0", "2.13.0"][..]),
        ("bootstrap-rke2", &["0.21.0"]),
        ("ipam-in-cluster", &["1.0.3"]),
        ("cluster-api", &["1.11.1"]),
        ("infrastructure-vsphere", &[]),
    ] {
        let found: Vec<String> = installed.releases_of(label).map(ToString::to_string).collect();
        assert_eq!(found, expected, "{label}");
    }
}

#[test]
fn files_that_generators_read_and_components_that_nobody_includes_are_left_out_on_purpose() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: org}\n";
    let now = [
        (
            "gauss/peu01/base/kustomization.yaml",
            "resources: [c.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator:\n- {name: g, files: [payload.yaml]}\n",
        ),
        ("gauss/peu01/base/c.yaml", CLUSTER),
        ("gauss/peu01/base/payload.yaml", object),
        ("gauss/peu01/base/optional/kustomization.yaml", "kind: Component\nresources: [b.yaml]\n"),
        ("gauss/peu01/base/optional/b.yaml", object),
        ("gauss/peu01/base/values.yaml", "replicas: 2\n"),
    ];
    assert_eq!(validated("", &now, None), [""; 0]);
}

#[test]
fn folders_that_flux_applies_to_the_cluster_itself_are_judged_by_the_clusters_kubernetes() {
    let cluster = "\
{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: peu01, namespace: org}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: org}
spec: {version: v1.25.3, replicas: 3}
";
    let budget = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: dns, namespace: kube-system}\n";
    let kustomization = |path: &str, secret: &str| {
        format!(
            "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps, namespace: org}}
spec:
  path: {path}
  sourceRef: {{kind: GitRepository, name: fleet}}
  kubeConfig: {{secretRef: {{name: {secret}}}}}
"
        )
    };
    let (own, elsewhere) = (
        kustomization("./apps/own", "peu01-kubeconfig"),
        kustomization("./apps/elsewhere", "peu01-kubeconfig"),
    );
    let other = kustomization("./apps/other", "peu02-kubeconfig");
    let found = validated(
        "",
        &[
            ("gauss/peu01/base/cluster.yaml", cluster),
            // This one is for the management cluster, whose version of Kubernetes is unknown.
            ("gauss/peu01/base/budget.yaml", budget),
            ("gauss/peu01/base/apps.yaml", &own),
            ("mc/apps.yaml", &elsewhere),
            ("mc/other.yaml", &other),
            ("apps/own/budget.yaml", budget),
            ("apps/elsewhere/sub/budget.yaml", budget),
            ("apps/other/budget.yaml", budget),
        ],
        None,
    );
    let removed: Vec<&String> = found.iter().filter(|line| line.contains("kubernetes-api-removed")).collect();
    assert_eq!(removed.len(), 2, "{found:#?}");
    for (line, place) in
        removed.iter().zip(["apps/elsewhere/sub/budget.yaml:1:13", "apps/own/budget.yaml:1:13"])
    {
        assert!(line.contains(place), "{line}");
    }
}

#[test]
fn a_version_that_a_definition_does_not_serve_is_reported_with_the_served_ones() {
    let definition = |served: &str| {
        format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: awsmachinetemplates.infrastructure.cluster.x-k8s.io}}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {{kind: AWSMachineTemplate, plural: awsmachinetemplates}}
  scope: Namespaced
  versions:
  - {{name: v1beta1, served: {served}, storage: false, schema: {{openAPIV3Schema: {{type: object}}}}}}
  - {{name: v1beta2, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}
"
        )
    };
    let (unserved, served) = (definition("false"), definition("true"));
    let template = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AWSMachineTemplate
metadata: {name: peu01, namespace: org}
";
    let not_served = |definitions: &[(&str, &str)]| -> Vec<String> {
        let mut files = vec![("gauss/peu01/base/template.yaml", template)];
        files.extend_from_slice(definitions);
        let found = validated("", &files, None);
        found.into_iter().filter(|line| line.contains("api-version-not-served")).collect()
    };
    assert_eq!(
        not_served(&[(".capstan/crds/aws.yaml", &unserved)]),
        [
            "api-version-not-served Warning gauss/peu01/base/template.yaml:1:13 AWSMachineTemplate org/peu01 /apiVersion"
        ]
    );
    assert_eq!(not_served(&[(".capstan/crds/aws.yaml", &served)]), [""; 0]);
    // Another definition serves it, and it is unknown which of them is in use.
    assert_eq!(not_served(&[("crds/old.yaml", &served), ("crds/new.yaml", &unserved)]), [""; 0]);
}

#[test]
fn variables_without_a_value_are_reported_for_the_tree_too() {
    let workers = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      failureDomain: ${ZONE}
      version: ${VERSION:=v1.30.2}
      nodeDrainTimeout: $${LITERAL}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {preKubeadmCommands: ['echo ${HOSTNAME}']}}}
";
    let flux = |substitute: &str| {
        format!(
            "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: fleet, namespace: flux-system}}
spec:
  path: ./gauss/peu01/base
  sourceRef: {{kind: GitRepository, name: fleet}}
  postBuild: {{substitute: {{{substitute}}}}}
"
        )
    };
    let found = |settings: &str, more: &[(&str, &str)]| -> Vec<String> {
        let mut files = vec![("gauss/peu01/base/workers.yaml", workers)];
        files.extend_from_slice(more);
        let all = validated(settings, &files, None);
        all.into_iter().filter(|line| line.contains("variable") || line.contains("substitution")).collect()
    };
    let zone = "unbound-variable Error gauss/peu01/base/workers.yaml:7:22 MachineDeployment org/peu01-md-0 /spec/template/spec/failureDomain";
    let version = "unbound-variable Error gauss/peu01/base/workers.yaml:8:16 MachineDeployment org/peu01-md-0 /spec/template/spec/version";
    let script = "unbound-variable Error gauss/peu01/base/workers.yaml:14:47 KubeadmConfigTemplate org/peu01-md-0 /spec/template/spec/preKubeadmCommands/0";
    assert_eq!(found("", &[]), [zone, version], "nobody substitutes, and scripts may mean their own");
    let own = ("gauss/peu01/capstan.yaml", "variables: {ZONE: eu-1a, VERSION: v1.30.2}\n");
    assert_eq!(found("", &[own]), [""; 0], "whoever applies the cluster may use these");
    let claimed = "managementClusters: [{name: mc, uid: 6f1c0000-0000-4000-8000-000000000001, clusters: ['gauss/*']}]\n";
    assert_eq!(found(claimed, &[own]), [zone, version], "the reconciler applies texts as they stand");
    let (all, some) = (flux("ZONE: eu-1a, HOSTNAME: x"), flux("ZONE: eu-1a"));
    assert_eq!(found("", &[("flux/a.yaml", &all)]), [""; 0]);
    assert_eq!(found("", &[("flux/a.yaml", &some)]), [script], "Flux knows no scripts");
    let other = flux("ZONE: eu-1b, HOSTNAME: x").replace("name: fleet,", "name: other,");
    let twice = found("", &[("flux/a.yaml", &all), ("flux/b.yaml", &other)]);
    assert_eq!(twice, ["variable-contradiction Warning flux/b.yaml:7:28 - -"]);
    // The last is clusterctl's spelling, and none to Flux.
    for written in ["${LIST[0]}", "${ HOSTNAME }"] {
        let broken = workers.replace("${HOSTNAME}", written);
        let broken =
            validated("", &[("gauss/peu01/base/workers.yaml", &broken), ("flux/a.yaml", &all)], None);
        let broken: Vec<&String> = broken.iter().filter(|line| line.contains("substitution")).collect();
        assert_eq!(
            broken,
            [
                "unsupported-substitution Error gauss/peu01/base/workers.yaml:14:47 KubeadmConfigTemplate org/peu01-md-0 /spec/template/spec/preKubeadmCommands/0"
            ],
            "{written}"
        );
    }
}

#[test]
fn a_secret_in_a_text_of_many_lines_is_pointed_at_in_its_line() {
    let key = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgwMbRvI0MBZhpI";
    let literal = format!(
        "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {{name: w, namespace: org}}\nspec:\n  template:\n    spec:\n      files:\n      - path: /etc/ca\n        content: |\n          #!/bin/sh\n          cat >key <<E\n          -----BEGIN PRIVATE KEY-----\n          {key}\n          E\n"
    );
    let quoted = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: org}}\ndata:\n  script: \"set -e\\nexport K=1\\n-----BEGIN PRIVATE KEY-----\\n{key}\\n\"\n"
    );
    let now = [
        ("gauss/peu01/base/c.yaml", CLUSTER),
        ("gauss/peu01/base/config.yaml", &literal),
        ("gauss/peu01/base/script.yaml", &quoted),
    ];
    let found = validated("", &now, None);
    let start = |line: &String| line.split(' ').take(3).collect::<Vec<_>>().join(" ");
    assert_eq!(
        found.iter().map(start).filter(|line| line.starts_with("secret")).collect::<Vec<_>>(),
        [
            "secret-in-clear-text Error gauss/peu01/base/config.yaml:12:11",
            "secret-in-clear-text Error gauss/peu01/base/script.yaml:5:32",
        ]
    );
}

/// Their content is invisible, and without it the cluster would be a different one.
#[test]
fn names_that_cannot_be_read_are_findings_of_their_cluster() {
    let names = ["peu01/base/a%5Cb.yaml", "peu01/overlay/more%5C", "peu01/%FF", "docs/%FF"];
    let files = names.map(|name| (name, ""));
    let tree = Files::new(&[&[("peu01/base/cluster.yaml", CLUSTER)][..], &files].concat());
    let tree = names.iter().fold(tree, |tree, name| tree.with_kind(name, EntryKind::Unnamed));
    let settings = RepositorySettings::default();
    let layout = discover(&tree, &settings);
    let now = Snapshot {
        tree: &tree,
        layout: &layout,
        schemas: Schemas::built_in(),
        cluster_api: None,
        flux: None,
        neighbours: None,
        supplies: None,
    };
    let found = validate(now, None, &settings, ValidationScope::Everything, TODAY);
    assert_eq!(
        lines(&found),
        [
            "unreadable-file Error peu01/%FF - -",
            "unreadable-file Error peu01/base/a%5Cb.yaml - -",
            "unreadable-file Error peu01/overlay/more%5C - -",
        ]
    );
    let folders = folders_of(&layout.targets[0]);
    assert!(capstan_kustomize::render::render(&tree, &folders).is_err(), "nothing is applied without it");
}

#[test]
fn what_flux_fills_in_is_judged_as_the_yaml_that_it_becomes() {
    let cluster = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: peu01
  labels: {desk: \"${DESK}\", hall: \"${HALL}\", zone: \"${ZONE}\", part: \"a-${DESK}\"}
  annotations:
    example.com/open: ${OPEN}
    example.com/text: ${TEXT}
    example.com/note: |
      ${DESK}
      and more
spec:
  paused: ${OPEN}
  clusterNetwork:
    serviceDomain: \"${DESK}\"
    apiServerPort: ${ZONE}
  controlPlaneEndpoint: {host: \"${BROKEN}\"}
";
    let flux = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: peu01, namespace: flux-system}
spec:
  path: ./gauss/peu01/base
  sourceRef: {kind: GitRepository, name: fleet}
  postBuild:
    substitute: {DESK: '0042', HALL: '\"0042\"', OPEN: 'off', TEXT: 'a #b', ZONE: a1, BROKEN: 'a: b', gate.address: x}
";
    let found = validated("", &[("gauss/peu01/base/c.yaml", cluster), ("flux/a.yaml", flux)], None);
    let place = |line: &str, path: &str| {
        format!("wrong-type Error gauss/peu01/base/c.yaml:{line} Cluster peu01 {path}")
    };
    assert_eq!(
        found,
        [
            "variable-name Error flux/a.yaml:8:101 - -".to_owned(),
            place("5:18", "/metadata/labels/desk"),
            place("7:23", "/metadata/annotations/example.com~1open"),
            place("15:20", "/spec/clusterNetwork/serviceDomain"),
            place("16:20", "/spec/clusterNetwork/apiServerPort"),
            place("17:32", "/spec/controlPlaneEndpoint/host"),
        ]
    );
}

#[test]
fn a_name_that_a_kustomization_changes_is_missed_where_kustomize_does_not_follow_it() {
    let set = "\
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: net}
spec:
  clusterSelector: {matchLabels: {net: one}}
  resources: [{kind: ConfigMap, name: net}, {kind: Secret, name: other}]
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: first}
spec:
  files:
  - {path: /etc/a, contentFrom: {secret: {name: key, key: a}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: net}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {a: ENC}}
";
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01}\nspec: {paused: false}\n";
    let files = |kustomization: &'static str| {
        [
            ("gauss/peu01/base/c.yaml", cluster),
            ("gauss/peu01/base/net.yaml", set),
            ("gauss/peu01/base/kustomization.yaml", kustomization),
        ]
    };
    let found = |kustomization| -> Vec<String> {
        let all = validated("", &files(kustomization), None);
        all.into_iter().filter(|line| line.starts_with("missing-reference")).collect()
    };
    assert_eq!(found("resources: [c.yaml, net.yaml]\n"), [""; 0]);
    assert_eq!(
        found("resources: [c.yaml, net.yaml]\nnameSuffix: \"-2\"\n"),
        [
            "missing-reference Warning gauss/peu01/base/net.yaml:6:39 ClusterResourceSet net-2 /spec/resources/0/name",
            "missing-reference Warning gauss/peu01/base/net.yaml:13:49 KubeadmConfig first-2 /spec/files/0/contentFrom/secret/name",
        ]
    );
}

#[test]
fn a_key_that_occurs_twice_is_reported_where_nothing_refuses_it() {
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01}\nspec:\n  paused: false\n  paused: true\n";
    let plain = validated("", &[("gauss/peu01/base/c.yaml", cluster)], None);
    assert_eq!(plain, ["invalid-yaml Warning gauss/peu01/base/c.yaml:6:3 - -"]);
    let listed = [
        ("gauss/peu01/base/c.yaml", cluster),
        ("gauss/peu01/base/kustomization.yaml", "resources: [c.yaml]\n"),
    ];
    assert_eq!(validated("", &listed, None), ["render-failed Error gauss/peu01/base/c.yaml:6:3 - -"]);
}

#[test]
fn a_name_is_judged_with_the_value_of_its_variable_and_so_are_labels_and_services() {
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: \"${NAME}\", namespace: org, labels: {team: \"${TEAM:=A b}\"}}\n";
    let judged = |variables: &str| {
        let files = [("gauss/peu01/base/c.yaml", cluster), ("gauss/peu01/capstan.yaml", variables)];
        let found = validated("", &files, None);
        found.into_iter().filter(|line| line.starts_with("invalid-name")).collect::<Vec<_>>()
    };
    assert_eq!(judged("variables: {NAME: peu01, TEAM: a}\n"), [""; 0]);
    let place = "invalid-name Error gauss/peu01/base/c.yaml";
    assert_eq!(
        judged("variables: {NAME: 'peu01-A b: c'}\n"),
        [
            format!("{place}:3:18 Cluster org/${{NAME}} /metadata/name"),
            format!("{place}:3:60 Cluster org/${{NAME}} /metadata/labels/team"),
        ]
    );
    // A name whose value is unknown may be anything.
    assert_eq!(judged("variables: {TEAM: a}\n"), [""; 0]);
    let text = CLUSTER.replace("namespace: org", "namespace: org, labels: {a b: c}");
    let found = validated("", &[("gauss/peu01/base/c.yaml", &text)], None);
    assert!(found.contains(&format!("{place}:3:50 Cluster org/peu01 /metadata/labels/a b")), "{found:#?}");
}

/// A customer's overlay is judged in every folder. The base of an unclaimed folder is not: its applier has agreed to
/// it.
#[test]
fn an_object_outside_an_unclaimed_folders_boundary_is_a_warning_unless_the_settings_say_more() {
    let binding =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all}\n";
    let files = |overlay: &'static str| [("peu01/base/a.yaml", CLUSTER), ("peu01/overlay/a.yaml", overlay)];
    let outside = |settings: &str, files: &[(&str, &str)]| -> Vec<String> {
        validated(settings, files, None)
            .into_iter()
            .filter(|line| line.contains("outside-boundary"))
            .collect()
    };
    let claim =
        "managementClusters:\n- {name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: ['*']}\n";
    for (settings, severity) in
        [("", "Warning"), ("policy: {outside-boundary: error}\n", "Error"), (claim, "Error")]
    {
        // One finding because the object does not belong to the folder, one because it grants rights.
        let told = format!("outside-boundary {severity} peu01/overlay/a.yaml:1:1 ClusterRoleBinding all ");
        assert_eq!(outside(settings, &files(binding)), [told.clone(), told], "{settings}");
    }
    let of_base = format!("{CLUSTER}---\n{binding}");
    let honest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    assert_eq!(outside("", &[("peu01/base/a.yaml", &of_base), ("peu01/overlay/a.yaml", honest)]), [""; 0]);
    assert_eq!(outside("", &[("peu01/base/a.yaml", &of_base)]), [""; 0]);
    // Without a namespace in the file, Flux chooses it.
    let nowhere = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: peu01}\n";
    assert_eq!(outside("", &[("peu01/base/a.yaml", nowhere), ("peu01/overlay/a.yaml", honest)]), [""; 0]);
    let elsewhere = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n";
    let found = outside("", &[("peu01/base/a.yaml", nowhere), ("peu01/overlay/a.yaml", elsewhere)]);
    let told = "outside-boundary Warning peu01/overlay/a.yaml:3:32 ConfigMap other/a /metadata/namespace";
    assert_eq!(found, [told]);
}

/// Of two Clusters in a folder, and of a control plane that is not there.
#[test]
fn workers_are_held_against_the_control_plane_of_their_own_cluster() {
    let cluster = |name: &str, namespace: &str, plane: &str| {
        format!(
            "---\n{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: {plane}}}}}}}\n"
        )
    };
    let plane = |name: &str, namespace: &str| {
        format!(
            "---\n{{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlane, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{version: v1.34.0}}}}\n"
        )
    };
    let workers = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, metadata: {name: w, namespace: org}, spec: {clusterName: a, template: {spec: {version: v1.33.0, bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}}}}}}\n";
    for (others, expected) in [
        ([cluster("a", "org", "a"), plane("a", "org")], 1),
        ([cluster("a", "org", "a"), plane("b", "org")], 0),
        ([cluster("a", "org", "b"), plane("b", "org")], 1),
        // Another Cluster of that name.
        ([cluster("a", "other", "a"), plane("a", "other")], 0),
        ([cluster("b", "org", "b"), plane("b", "org")], 1),
    ] {
        let text = format!("{}{workers}", others.concat());
        let all = validated("", &[("gauss/peu01/base/c.yaml", &text)], None);
        let found = all.iter().filter(|line| line.starts_with("kubernetes-workers-cannot-grow"));
        assert_eq!(found.count(), expected, "{text}");
    }
}

/// Cluster API's preflight check of kubeadm, and who may turn it off.
#[test]
fn workers_that_kubeadm_joins_grow_at_the_minor_of_their_control_plane_alone() {
    let found = |kind: &str, version: &str, config: &str, annotations: [&str; 2]| {
        let [of_workers, of_template] = annotations;
        let text = format!(
            "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {{name: a, namespace: org}}
spec: {{version: v1.33.1}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: {kind}
metadata: {{name: w, namespace: org, annotations: {{{of_workers}}}}}
spec:
  template:
    spec:
      version: {version}
      bootstrap: {{configRef: {{apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: {config}, name: w}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: {config}
metadata: {{name: w, namespace: org, annotations: {{{of_template}}}}}
spec: {{template: {{spec: {{}}}}}}
"
        );
        let all =
            validated("", &[("gauss/peu01/base/c.yaml", CLUSTER), ("gauss/peu01/base/w.yaml", &text)], None);
        all.iter().filter(|line| line.starts_with("kubernetes-workers-cannot-grow")).count()
    };
    let kubeadm = "KubeadmConfigTemplate";
    let skip = |checks: &str| format!("machineset.cluster.x-k8s.io/skip-preflight-checks: \"{checks}\"");
    assert_eq!(found("MachineDeployment", "v1.32.4", kubeadm, ["", ""]), 1);
    assert_eq!(found("MachineSet", "v1.32.4", kubeadm, ["", ""]), 1);
    // A patch, and a newer minor, which is another rule's.
    assert_eq!(found("MachineDeployment", "v1.33.0", kubeadm, ["", ""]), 0);
    assert_eq!(found("MachineDeployment", "v1.34.0", kubeadm, ["", ""]), 0);
    // Nobody checks pools, and other bootstrap providers join older machines.
    assert_eq!(found("MachinePool", "v1.32.4", kubeadm, ["", ""]), 0);
    assert_eq!(found("MachineDeployment", "v1.32.4", "RKE2ConfigTemplate", ["", ""]), 0);
    for (checks, expected) in
        [("All", 0), ("ControlPlaneIsStable, KubeadmVersionSkew", 0), ("ControlPlaneIsStable", 1)]
    {
        assert_eq!(found("MachineDeployment", "v1.32.4", kubeadm, [&skip(checks), ""]), expected, "{checks}");
        assert_eq!(found("MachineDeployment", "v1.32.4", kubeadm, ["", &skip(checks)]), expected, "{checks}");
    }
    // The template is asked only where the workers say nothing.
    assert_eq!(
        found("MachineDeployment", "v1.32.4", kubeadm, [&skip("ControlPlaneIsStable"), &skip("All")]),
        1
    );
}
