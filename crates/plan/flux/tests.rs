//! Which Kustomization is a cluster's, and what it gives.

use super::*;
use crate::layout::{self, Layout};
use crate::settings::RepositorySettings;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_test_support::Files;

fn post_build(files: &[(&str, &str)]) -> PostBuild {
    let tree = Files::new(files);
    let layout: Layout = layout::discover(&tree as &dyn Tree, &RepositorySettings::default());
    let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
    FluxIndex::read(&tree, &layout).post_build(&cluster)
}

fn kustomization(name: &str, path: &str, post_build: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  path: {path}\n  sourceRef: {{kind: GitRepository, name: fleet}}\n  postBuild: {post_build}\n"
    )
}

#[test]
fn inline_values_win_over_later_sources_and_those_over_earlier_ones() {
    let ks = kustomization(
        "peu01",
        "./gauss/peu01/overlay",
        "{substitute: {A: inline}, substituteFrom: [{kind: ConfigMap, name: one}, {kind: ConfigMap, name: two}]}",
    );
    let found = post_build(&[
        ("flux/ks.yaml", &ks),
        (
            "flux/one.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: flux-system}\ndata: {A: 1, B: one, C: one}\n",
        ),
        (
            "flux/two.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\ndata:\n  B: two\n  D: |\n    with a\n    line feed\n",
        ),
    ]);
    assert_eq!(found.value("A"), Some("inline"));
    assert_eq!(found.value("B"), Some("two"));
    assert_eq!(found.value("C"), Some("one"));
    assert_eq!(found.value("D"), Some("with aline feed"));
    assert!(found.is_complete());
    let given = found.given("B").unwrap();
    assert_eq!(given.to_string(), "ConfigMap two (flux/two.yaml:5)");
}

#[test]
fn a_secret_says_that_there_is_a_value_and_not_which() {
    let ks = kustomization(
        "peu01",
        "gauss/peu01",
        "{substituteFrom: [{kind: Secret, name: keys}, {kind: ConfigMap, name: vars}, {kind: Secret, name: none, optional: true}]}",
    );
    let found = post_build(&[
        ("flux/ks.yaml", &ks),
        (
            "flux/a.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: flux-system}\nstringData: {TOKEN: hunter2}\n",
        ),
        (
            "flux/b.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {USER: \"ENC[AES256_GCM,data:x]\"}\nsops: {version: 3.8.1}\n",
        ),
    ]);
    assert!(found.is_secret("TOKEN") && found.gives("TOKEN"));
    assert!(found.is_secret("USER"));
    assert_eq!(found.value("TOKEN"), None);
    assert!(!format!("{found:?}").contains("hunter2"));
    assert!(found.is_complete(), "an optional source may be absent");
}

#[test]
fn a_source_that_is_not_in_the_repository_may_give_any_name() {
    let ks = kustomization("peu01", "gauss/peu01", "{substituteFrom: [{kind: ConfigMap, name: elsewhere}]}");
    assert!(!post_build(&[("flux/ks.yaml", &ks)]).is_complete());
    // Another namespace's is another's.
    let other =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: elsewhere, namespace: other}\ndata: {A: x}\n";
    assert!(!post_build(&[("flux/ks.yaml", &ks), ("flux/other.yaml", other)]).gives("A"));
}

#[test]
fn the_clusters_own_kustomization_counts_before_one_above_it() {
    let all = kustomization("gauss", "./gauss", "{substitute: {A: all, B: all}}");
    let own = kustomization("peu01", "./gauss/peu01/base", "{substitute: {A: own}}");
    let sibling = kustomization("old", "./gauss/peu01-old", "{substitute: {A: sibling}}");
    let found = post_build(&[("flux/all.yaml", &all), ("flux/own.yaml", &own), ("flux/old.yaml", &sibling)]);
    assert_eq!((found.value("A"), found.value("B")), (Some("own"), None));
    let found = post_build(&[("flux/all.yaml", &all), ("flux/old.yaml", &sibling)]);
    assert_eq!(found.value("A"), Some("all"));
    assert_eq!(post_build(&[("flux/old.yaml", &sibling)]), PostBuild::default());
}

#[test]
fn a_kustomization_that_names_the_cluster_from_elsewhere_applies_it() {
    let ks = kustomization("prod", "./clusters/prod", "{substitute: {A: prod}}");
    let named = "resources: [../../gauss/peu01/overlay]\n";
    let found = post_build(&[("flux/ks.yaml", &ks), ("clusters/prod/kustomization.yaml", named)]);
    assert_eq!(found.value("A"), Some("prod"));
    // A folder with its own kustomization reaches only what that names, not everything below it.
    let above = kustomization("gauss", "./gauss", "{substitute: {A: gauss}}");
    let found = post_build(&[("flux/ks.yaml", &above), ("gauss/kustomization.yaml", "resources: [other]\n")]);
    assert_eq!(found.value("A"), None);
}

#[test]
fn two_kustomizations_that_disagree_bind_neither() {
    let one = kustomization("prod", "gauss/peu01/overlay", "{substitute: {A: prod, B: same}}");
    let two = kustomization("test", "gauss/peu01/overlay", "{substitute: {A: test, B: same}}");
    let found = post_build(&[("flux/prod.yaml", &one), ("flux/test.yaml", &two)]);
    assert_eq!((found.value("A"), found.value("B")), (None, Some("same")));
    assert!(found.gives("A"));
    let [item] = found.disagreements() else { panic!("{found:?}") };
    assert_eq!((item.one.text.as_deref(), item.other.text.as_deref()), (Some("prod"), Some("test")));
    assert_eq!(item.other.place.clone().without_column().to_string(), "flux/test.yaml:7");
}

#[test]
fn an_object_may_ask_to_be_passed_over() {
    let read = |text: &str| passes_over(&capstan_yaml::YamlFile::read(text).unwrap().documents()[0].root);
    assert!(read("metadata: {labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\n"));
    assert!(read("metadata: {annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\n"));
    assert!(!read("metadata: {annotations: {kustomize.toolkit.fluxcd.io/substitute: enabled}}\n"));
    assert!(!read("kind: ConfigMap\n"));
}

#[test]
fn a_real_repository_gives_its_clusters_their_values() {
    let folder = "manifests/giantswarm-gitops-template/main-72f74f116";
    let Some(files) = capstan_test_support::shared_data::files(folder) else { return };
    let index = FluxIndex::read(&Files::from_bytes(files), &Layout::default());
    let of = |name: &str| {
        let folder =
            format!("management-clusters/MC_NAME/organizations/ORG_NAME/workload-clusters/{name}/mapi");
        index.post_build(&ClusterId::new(RepoPath::parse(&folder).unwrap()))
    };
    assert_eq!(of("HELLO_APP_DEV_CLUSTER_1").value("cluster_name"), Some("hello-app-dev-1"));
    assert_eq!(of("HELLO_APP_DEV_CLUSTER_1").value("cluster_release"), Some("0.8.1"));
    assert!(of("HELLO_APP_PROD_CLUSTER_EU_CENTRAL").is_complete());
    assert_eq!(of("NO_SUCH_CLUSTER"), PostBuild::default());
}
