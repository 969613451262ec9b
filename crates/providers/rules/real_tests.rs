//! Upgrades of real providers: what `tests/components/build` has put beside the checkout. What is expected was read out of
//! the releases by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use capstan_kustomize::render::{PlacedValue, placed_documents};
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;
use capstan_yaml::YamlFile;

use super::*;
use crate::definitions::VersionState;
use crate::rendering::Inputs;
use crate::set::ProviderSet;
use crate::variables::VariableValues;

const CORE: &[(&str, &str)] =
    &[("CoreProvider", "cluster-api"), ("BootstrapProvider", "kubeadm"), ("ControlPlaneProvider", "kubeadm")];

/// The folder of components; `None`, said aloud, where there is none.
fn components() -> Option<PathBuf> {
    let tools = std::env::var_os("CAPSTAN_TOOLS").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".cache/capstan"))
    });
    let folder =
        tools.map(|tools| tools.join("components")).filter(|folder| folder.join("complete").is_file());
    if folder.is_none() {
        println!("SKIPPED: no components of real providers: tests/components/build has not been run");
    }
    folder
}

/// A repository with these providers, `(kind, name, version)`, their components beside them, and more of the object's
/// `spec`.
fn tree(folder: &std::path::Path, providers: &[(&str, &str, &str)], spec: &str) -> Files {
    let mut files = Vec::new();
    let mut objects = String::new();
    for (kind, name, version) in providers {
        let kind = ProviderKind::parse(kind).unwrap();
        let label = kind.label(name);
        for file in ["metadata.yaml".to_owned(), kind.components_file()] {
            let bytes = std::fs::read(folder.join(&label).join(version).join(&file)).unwrap();
            files.push((format!(".capstan/providers/{label}/{version}/{file}"), bytes));
        }
        objects += &format!(
            "---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: {name}, namespace: {name}-{}}}\nspec:\n  version: {version}\n{spec}",
            kind.word()
        );
    }
    files.push(("mc/providers.yaml".to_owned(), objects.into_bytes()));
    Files::from_bytes(files)
}

fn rendered(tree: &Files) -> RenderedSet {
    let set = ProviderSet::read(tree, &RepoPath::parse("mc").unwrap()).unwrap();
    let variables = VariableValues::default();
    let read = RenderedSet::read(Inputs { tree, set: &set, variables: &variables, configuration: None });
    for member in &read.members {
        assert!(member.rendered().is_some(), "{:?}", member.components);
    }
    read
}

fn of(folder: &std::path::Path, version: &str) -> RenderedSet {
    let all: Vec<_> = CORE.iter().map(|(kind, name)| (*kind, *name, version)).collect();
    rendered(&tree(folder, &all, ""))
}

/// Definitions, schema paths added, and what is gone.
fn figures(comparison: &SetComparison) -> (usize, usize, usize) {
    let crds = || comparison.providers.iter().flat_map(|provider| &provider.crds);
    (crds().count(), crds().map(|crd| crd.added).sum(), crds().map(|crd| crd.gone.len()).sum())
}

#[test]
fn from_1_10_to_1_12_every_definition_gets_v1beta2_and_stores_it() {
    let Some(folder) = components() else { return };
    let comparison =
        compare(Some(&of(&folder, "v1.10.10")), &of(&folder, "v1.12.8"), &ProviderRuleFacts::default());
    assert_eq!(figures(&comparison), (17, 84, 0));
    for crd in comparison.providers.iter().flat_map(|provider| &provider.crds) {
        let new = crd.versions.iter().find(|version| version.name == "v1beta2").unwrap();
        assert_eq!((new.from, new.to), (None, Some(VersionState::Stored)), "{}", crd.name);
        // What was stored before is served on.
        let old: Vec<_> = crd.versions.iter().filter(|version| version.name != "v1beta2").collect();
        let [old] = old.as_slice() else { panic!("{crd:?}") };
        assert_eq!(
            (old.from, old.to),
            (Some(VersionState::Stored), Some(VersionState::Served)),
            "{}",
            crd.name
        );
    }
    let core = comparison.providers.iter().find(|provider| provider.label == "cluster-api").unwrap();
    let gates: BTreeMap<&str, (Option<&str>, Option<&str>)> = core
        .feature_gates
        .iter()
        .map(|gate| (gate.name.as_str(), (gate.change.from.as_deref(), gate.change.to.as_deref())))
        .collect();
    assert_eq!(
        gates,
        BTreeMap::from([
            ("ClusterResourceSet", (Some("true"), None)),
            ("InPlaceUpdates", (None, Some("false"))),
            ("MachineTaintPropagation", (None, Some("false"))),
            ("ReconcilerRateLimiting", (None, Some("false"))),
        ])
    );
    assert_eq!((core.from.as_deref(), core.to.as_deref()), (Some("v1.10.10"), Some("v1.12.8")));
    assert_eq!(core.contract.as_deref(), Some("v1beta2"));
    let rules: BTreeSet<&str> = comparison.findings.iter().map(|finding| finding.rule.id()).collect();
    assert!(rules.contains("provider-rolls-machines"), "{rules:?}");
    assert!(!rules.contains("provider-contract") && !rules.contains("provider-minor-skip"), "{rules:?}");
}

#[test]
fn from_1_12_to_1_13_unserved_versions_go_and_no_field_does() {
    let Some(folder) = components() else { return };
    let (before, after) = (of(&folder, "v1.12.8"), of(&folder, "v1.13.4"));
    let comparison = compare(Some(&before), &after, &ProviderRuleFacts::default());
    assert_eq!(figures(&comparison).1, 202);
    assert_eq!(figures(&comparison).2, 0);
    let mut lost = BTreeSet::new();
    for crd in comparison.providers.iter().flat_map(|provider| &provider.crds) {
        for version in &crd.versions {
            assert!(["v1alpha3", "v1alpha4"].contains(&version.name.as_str()), "{crd:?}");
            assert_eq!((version.from, version.to), (Some(VersionState::Unserved), None), "{}", crd.name);
            lost.insert(&crd.name);
        }
    }
    assert_eq!(lost.len(), 13);
    let core = &comparison.providers[0];
    let gates: Vec<(&str, Option<&str>, Option<&str>)> = core
        .feature_gates
        .iter()
        .map(|gate| (gate.name.as_str(), gate.change.from.as_deref(), gate.change.to.as_deref()))
        .collect();
    assert_eq!(
        gates,
        [
            ("PriorityQueue", Some("false"), Some("true")),
            ("ReconcilerRateLimiting", Some("false"), Some("true")),
        ]
    );
    // What breaks there is stored on clusters that are old enough.
    let live = Live {
        stored_versions: BTreeMap::from([(
            "clusters.cluster.x-k8s.io".to_owned(),
            vec!["v1alpha4".to_owned(), "v1beta1".to_owned(), "v1beta2".to_owned()],
        )]),
        managed: Vec::new(),
    };
    let facts = ProviderRuleFacts { live: Some(live), ..ProviderRuleFacts::default() };
    let found = compare(Some(&before), &after, &facts).findings;
    let found: Vec<&str> = found
        .iter()
        .filter(|one| one.rule.id() == "provider-api-in-use")
        .map(|one| one.message.as_str())
        .collect();
    assert_eq!(
        found,
        [
            "the management cluster has v1alpha4 in `status.storedVersions` of clusters.cluster.x-k8s.io, but cluster-api v1.13.4 no longer defines it, which an API server refuses: migrate it first"
        ]
    );
}

/// A real file that the API still accepts, and one that it does not.
#[test]
fn files_are_held_against_real_definitions() {
    let Some(folder) = components() else { return };
    let path = RepoPath::parse("a.yaml").unwrap();
    let file = YamlFile::read(
        "apiVersion: cluster.x-k8s.io/v1alpha4\nkind: Cluster\nmetadata: {name: old}\n---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: new}\nspec: {controlPlaneEndpoint: {host: a, port: 6443}, paused: true}\n",
    )
    .unwrap();
    let objects: Vec<PlacedValue> = placed_documents(&path, &file);
    let facts = ProviderRuleFacts { objects: objects.iter().collect(), ..ProviderRuleFacts::default() };
    let comparison = compare(Some(&of(&folder, "v1.12.8")), &of(&folder, "v1.13.4"), &facts);
    let found: Vec<String> = comparison
        .findings
        .iter()
        .filter(|finding| finding.rule.id() == "provider-api-in-use")
        .map(|finding| format!("{} {}", finding.place.as_ref().unwrap(), finding.message))
        .collect();
    assert_eq!(
        found,
        [
            "a.yaml:1:13 Cluster old uses v1alpha4 of clusters.cluster.x-k8s.io, which cluster-api v1.13.4 does not serve: write it in v1beta2 or v1beta1"
        ]
    );
}

/// Prints what comparing seven providers costs: `cargo test --release -p capstan-providers -- --ignored --nocapture
/// seven_providers`.
#[test]
#[ignore = "a measurement, to be run alone in a release build"]
fn seven_providers_are_compared_in_under_two_seconds() {
    let Some(folder) = components() else { return };
    let versions = |core: &'static str, test: &'static str| {
        let mut all: Vec<_> = CORE.iter().map(|(kind, name)| (*kind, *name, core)).collect();
        all.extend([
            ("InfrastructureProvider", "aws", "v2.8.4"),
            ("InfrastructureProvider", "docker", test),
            ("IPAMProvider", "in-cluster", "v1.0.3"),
            ("RuntimeExtensionProvider", "test", test),
        ]);
        all
    };
    let spec = "  fetchConfig: {selector: {matchLabels: {none: here}}}\n";
    let (before, after) = (
        tree(&folder, &versions("v1.12.8", "v1.13.4"), spec),
        tree(&folder, &versions("v1.13.4", "v1.14.0"), spec),
    );
    let start = std::time::Instant::now();
    let (before, after) = (rendered(&before), rendered(&after));
    let read = start.elapsed();
    let comparison = compare(Some(&before), &after, &ProviderRuleFacts::default());
    let all = start.elapsed();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!(
        "seven providers, both versions: rendered {read:?}, with the comparison {all:?}, {} findings, {peak}",
        comparison.findings.len()
    );
    assert!(all.as_secs_f64() < 2.0, "{all:?}");
}
