//! Releases of both shapes, and every real one.

use std::collections::BTreeMap;

use super::*;
use crate::layout::discover;
use crate::settings::RepositorySettings;
use capstan_model::ids::{Provider, ReleaseId};
use capstan_model::version::{KubernetesVersion, LooseVersion};
use capstan_test_support::Files;

fn read(files: &[(&str, &str)]) -> Catalogue {
    let tree = Files::new(files);
    Catalogue::read(&tree, &discover(&tree, &RepositorySettings::default()))
}

const GIANT_SWARM: &str = "apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-34.5.0}
spec:
  apps:
  - name: cilium
    version: 1.4.3
    catalog: cluster
    dependsOn: [cloud-provider-aws]
  components:
  - name: kubernetes
    version: 1.34.10
  - {name: flatcar, version: 4593.2.4}
  date: \"2026-07-23T09:17:35Z\"
  state: STATE
";

#[test]
fn a_giant_swarm_release_says_what_is_in_it() {
    let catalogue = read(&[("capa/v34.5.0/release.yaml", &GIANT_SWARM.replace("STATE", "active"))]);
    let release = catalogue.find(&ReleaseId::from_path("capa/v34.5.0")).unwrap();
    assert_eq!(release.state, ReleaseState::Active);
    assert_eq!(release.kubernetes.as_ref().unwrap().as_str(), "1.34.10");
    assert_eq!(release.date.as_deref(), Some("2026-07-23T09:17:35Z"));
    let cilium = App {
        name: "cilium".into(),
        version: LooseVersion::new("1.4.3"),
        catalog: Some("cluster".into()),
        depends_on: vec!["cloud-provider-aws".into()],
    };
    assert_eq!(release.apps, [cilium]);
    assert_eq!(release.components[1].version.as_str(), "4593.2.4");
}

#[test]
fn the_strongest_reason_not_to_offer_a_release_counts() {
    let cases = [
        ("capa/v1.0.0", "active", ReleaseState::Active),
        ("capa/v1.0.0", "wip", ReleaseState::Wip),
        ("capa/v1.0.0", "preview", ReleaseState::Preview),
        ("capa/v1.0.0", "deprecated", ReleaseState::Deprecated),
        ("capa/archived/v1.0.0", "deprecated", ReleaseState::Archived),
        ("capa/v1.0.0-beta1", "active", ReleaseState::Prerelease),
        ("capa/v1.0.0-beta1", "deprecated", ReleaseState::Deprecated),
    ];
    for (folder, state, expected) in cases {
        let catalogue = read(&[(&format!("{folder}/release.yaml"), &GIANT_SWARM.replace("STATE", state))]);
        assert_eq!(catalogue.releases()[0].state, expected, "{folder} {state}");
    }
}

#[test]
fn a_release_that_cannot_be_read_is_kept_aside_with_its_place() {
    let cases = [
        ("a: [\n", "aws/v1.0.0/release.yaml:1:4: "),
        ("kind: Other\n", "aws/v1.0.0/release.yaml:1:1: no document is a `Release`"),
        (&GIANT_SWARM.replace("STATE", "gone"), "aws/v1.0.0/release.yaml:15:10: `spec.state` must be"),
        (
            "apiVersion: release.giantswarm.io/v1alpha1\nkind: Release\nspec:\n  apps:\n  - name: a\n",
            "aws/v1.0.0/release.yaml:5:5: an app or component must have `name` and `version`",
        ),
    ];
    for (text, expected) in cases {
        let catalogue = read(&[("aws/v1.0.0/release.yaml", text), ("aws/v2.0.0/base/a.yaml", "kind: A\n")]);
        let told: Vec<String> = catalogue.unreadable().iter().map(|(_, error)| error.to_string()).collect();
        assert!(told.len() == 1 && told[0].starts_with(expected), "{told:?}");
        assert_eq!(catalogue.releases().len(), 1, "the others are read");
    }
}

#[test]
fn kubernetes_is_found_in_objects_fragments_and_wrapped_fragments() {
    let cases: [(&[&str], Option<&str>); 11] = [
        (
            &[
                "kind: KubeadmControlPlane\nspec: {version: v1.30.2}\n",
                "kind: MachineDeployment\nspec: {template: {spec: {version: v1.31.0}}}\n",
            ],
            Some("v1.30.2"),
        ),
        (&["kind: Cluster\nspec: {topology: {version: v1.30.2}}\n"], Some("v1.30.2")),
        (&["spec: {template: {spec: {version: v1.21.4}}}\n"], Some("v1.21.4")),
        (
            &[
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: machinepool-21-0-0}\ndata:\n  spec:\n    replicas: 3\n    template: {spec: {version: v1.21.4}}\n",
            ],
            Some("v1.21.4"),
        ),
        (
            &[
                "apiVersion: v1\nkind: ConfigMap\ndata:\n  spec: |\n    template: {spec: {version: v1.21.4}}\n",
            ],
            Some("v1.21.4"),
        ),
        (
            &[
                "apiVersion: v1\nkind: ConfigMap\ndata:\n  mp.yaml: |\n    kind: MachinePool\n    spec: {template: {spec: {version: v1.21.4}}}\n",
            ],
            Some("v1.21.4"),
        ),
        (&["kind: KubeadmControlPlane\nspec: {version: \"${K8S}\"}\n"], Some("v1.29.9")),
        (&["kind: Deployment\nspec: {version: v1.30.2}\n"], None),
        (
            &[
                "kind: GCPManagedControlPlane\nspec: {controlPlaneVersion: 1.30.2-gke.100}\n",
                "kind: MachinePool\nspec: {template: {spec: {version: v1.29.1}}}\n",
            ],
            Some("1.30.2-gke.100"),
        ),
        (
            &[
                "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1\nkind: VCluster\nspec: {kubernetesVersion: 1.30.2}\n",
            ],
            Some("1.30.2"),
        ),
        (&["apiVersion: mesh.example.org/v2\nkind: ServiceMeshControlPlane\nspec: {version: v2.4}\n"], None),
    ];
    for (texts, expected) in cases {
        let paths: Vec<String> =
            (0..texts.len()).map(|index| format!("aws/v1.0.0/base/{index}.yaml")).collect();
        let mut files: Vec<(&str, &str)> =
            paths.iter().map(String::as_str).zip(texts.iter().copied()).collect();
        files.push(("aws/v1.0.0/capstan.yaml", "variables: {K8S: v1.29.9}\n"));
        let catalogue = read(&files);
        let found = catalogue.releases()[0].kubernetes.as_ref().map(KubernetesVersion::as_str);
        assert_eq!(found, expected, "{texts:?}");
    }
    let catalogue = read(&[(
        "aws/v1.0.0/base/a.yaml",
        "kind: KubeadmControlPlane\nspec: {version: \"${K8S:=v1.28.1}\"}\n",
    )]);
    assert_eq!(catalogue.releases()[0].kubernetes.as_ref().unwrap().as_str(), "v1.28.1");
}

#[test]
fn a_release_that_exists_twice_is_found_in_use() {
    let catalogue = read(&[
        ("aws/v1.0.0/base/a.yaml", "kind: A\n"),
        ("aws/archived/v1.0.0/base/a.yaml", "kind: B\n"),
        ("aws/archived/v0.9.0/base/a.yaml", "kind: C\n"),
    ]);
    let folder = |id: &str| catalogue.find(&ReleaseId::from_path(id)).map(|release| release.folder.as_str());
    assert_eq!(folder("aws/v1.0.0"), Some("aws/v1.0.0"));
    assert_eq!(folder("aws/1.0.0"), Some("aws/v1.0.0"));
    assert_eq!(folder("aws/archived/v0.9.0"), Some("aws/archived/v0.9.0"));
    assert_eq!(folder("aws/v2.0.0"), None);
    assert_eq!(catalogue.of_provider(&Provider::new("aws")).count(), 2);
    let archived = catalogue.releases()[2].content.clone().unwrap();
    assert_eq!(catalogue.find_content(&archived).unwrap().folder.as_str(), "aws/archived/v1.0.0");
}

#[test]
fn a_provider_is_found_by_path_by_name_and_by_infrastructure() {
    let object = |kind: &str| {
        format!("apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: a}}\n")
    };
    let catalogue = read(&[
        (
            "providers/capa/v1.0.0/base/a.yaml",
            &(object("AWSCluster") + "---\n" + &object("AWSMachineTemplate")),
        ),
        ("providers/capo/v1.0.0/base/a.yaml", &object("OpenStackCluster")),
        ("a/same/v1.0.0/base/a.yaml", "kind: A\n"),
        ("b/same/v1.0.0/base/a.yaml", "kind: A\n"),
    ]);
    let found = |name: &str| catalogue.find_provider(&Provider::new(name)).map(Provider::as_str);
    assert_eq!(found("providers/capa"), Some("providers/capa"));
    assert_eq!(found("capa"), Some("providers/capa"));
    assert_eq!(found("same"), None, "two have that name");
    let with = |kinds: &[&str]| {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        catalogue
            .providers_with(&kinds)
            .into_iter()
            .map(|provider| provider.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(with(&["AWSCluster", "AWSMachineTemplate"]), ["capa"]);
    assert_eq!(with(&["AWSCluster", "AWSMachinePool"]), ["capa"]);
    assert_eq!(with(&["AzureCluster"]), [""; 0]);
    assert_eq!(with(&[]), [""; 0]);
}

#[test]
fn every_real_release_is_read() {
    let Some(files) = capstan_test_support::shared_data::files("releases/giantswarm") else { return };
    let tree = Files::from_bytes(files);
    let layout = discover(&tree, &RepositorySettings::default());
    let catalogue = Catalogue::read(&tree, &layout);
    assert_eq!(layout.problems, []);
    assert_eq!(layout.targets, []);
    assert!(catalogue.unreadable().is_empty(), "{:?}", catalogue.unreadable());
    assert_eq!(catalogue.releases().len(), 253);
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for release in catalogue.releases() {
        let count = counts.entry(release.provider.as_str()).or_default();
        count.0 += 1;
        count.1 += usize::from(release.state != ReleaseState::Archived);
        assert!(release.kubernetes.is_some(), "{} names its Kubernetes", release.id);
        assert!(release.content.is_some() && release.date.is_some());
    }
    // As INDEX.md of the data counts them: all, and not archived.
    let expected = [
        ("aks", (2, 1)),
        ("azure", (81, 5)),
        ("capa", (97, 10)),
        ("cloud-director", (37, 5)),
        ("eks", (5, 3)),
        ("vsphere", (31, 5)),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
    let newest = catalogue.of_provider(&Provider::new("capa")).last().unwrap();
    assert_eq!((newest.id.as_str(), newest.apps.len(), newest.components.len()), ("capa/v34.5.0", 37, 4));
}
