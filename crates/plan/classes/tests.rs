//! Where a class is found, and what it is there. Each test has a repository, and asks for class `k` of namespace
//! `org`.

use std::sync::Arc;

use super::*;
use crate::layout::{Layout, discover};
use crate::settings::RepositorySettings;
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

/// A class and a template of it.
fn class(namespace: &str, image: &str) -> String {
    format!("{}---\n{}", class_alone(namespace), template(namespace, image))
}

fn class_alone(namespace: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {{name: k{namespace}}}\nspec:\n  workers:\n    machineDeployments:\n    - class: default\n      infrastructure: {{templateRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: md}}}}\n"
    )
}

fn template(namespace: &str, image: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevMachineTemplate\nmetadata: {{name: md{namespace}}}\nspec: {{template: {{spec: {{customImage: {image}}}}}}}\n"
    )
}

const IN_ORG: &str = ", namespace: org";
const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c, namespace: org}\nspec: {topology: {classRef: {name: k}, version: v1.30.0}}\n";

fn opened(files: &[(&str, &str)]) -> (Files, Layout) {
    let mut all = vec![("gauss/c/base/cluster.yaml", CLUSTER)];
    all.extend(files);
    let tree = Files::new(&all);
    let layout = discover(&tree, &RepositorySettings::default());
    (tree, layout)
}

/// The images of the templates that are found, or why there are none.
fn images_of_class(class: &ClassRef, files: &[(&str, &str)]) -> String {
    let (tree, layout) = opened(files);
    let asks = ClusterId::new(RepoPath::parse("gauss/c").unwrap());
    let index = ClassIndex::read(&tree, &layout);
    let found =
        look_up(class, &index.roots(class, Some(&asks)), |root| Arc::new(root.render(&tree, &layout)));
    if let Some(why) = found.why_unknown() {
        return why.to_owned();
    }
    let images: Vec<&str> = found
        .objects()
        .iter()
        .skip(1)
        .filter_map(|object| object.value["spec"]["template"]["spec"]["customImage"].as_str())
        .collect();
    match found.objects() {
        [] => "nowhere".to_owned(),
        [class, ..] => format!("{} {}", class.id.name, images.join(" ")),
    }
}

fn images_of(files: &[(&str, &str)]) -> String {
    images_of_class(&ClassRef { name: "k".to_owned(), namespace: Some("org".to_owned()) }, files)
}

#[test]
fn in_a_folder_that_no_kustomization_names_the_manifests_count_as_they_are() {
    let one = class(IN_ORG, "a");
    assert_eq!(images_of(&[("classes/k.yaml", &one)]), "k a");
    let (alone, below) = (class_alone(IN_ORG), template(IN_ORG, "a"));
    // Templates may be beside it and below. Files of no interest are not even read.
    let beside = [
        ("classes/k.yaml", alone.as_str()),
        ("classes/templates/md.yaml", below.as_str()),
        ("classes/values.yaml", "image: {{ broken\n"),
    ];
    assert_eq!(images_of(&beside), "k a");
    assert_eq!(images_of(&[("k.yaml", &one), ("charts/x.yaml", "a: {{ b }}\n")]), "k a");
    assert_eq!(images_of(&[]), "nowhere");
    // What a release holds is not applied.
    assert_eq!(images_of(&[("aws/v1.0.0/base/k.yaml", &one)]), "nowhere");
}

#[test]
fn a_kustomization_that_nobody_names_says_what_a_class_is() {
    let (base, one) = ("resources: [k.yaml]\n", class("", "a"));
    let patched = "resources: [../base]\nnamespace: org\npatches:\n- target: {kind: DevMachineTemplate}\n  patch: '[{\"op\": \"replace\", \"path\": \"/spec/template/spec/customImage\", \"value\": \"b\"}]'\n";
    let files = [
        ("classes/base/kustomization.yaml", base),
        ("classes/base/k.yaml", one.as_str()),
        ("classes/org/kustomization.yaml", patched),
    ];
    assert_eq!(images_of(&files), "k b");
    // Another namespace has a class of its own.
    let other = patched
        .replace("namespace: org", "namespace: others")
        .replace("\"value\": \"b\"", "\"value\": \"c\"");
    let both = [files.as_slice(), &[("classes/others/kustomization.yaml", &other)]].concat();
    assert_eq!(images_of(&both), "k b");
    let of_others = ClassRef { name: "k".to_owned(), namespace: Some("others".to_owned()) };
    assert_eq!(images_of_class(&of_others, &both), "k c");
    // And a prefix makes another name of it, and of its template, which kustomize does not tell the class.
    let prefixed = patched.replace("namespace: org", "namespace: org\nnamePrefix: dev-");
    let named = ClassRef { name: "dev-k".to_owned(), namespace: Some("org".to_owned()) };
    let files = [files[0], files[1], ("classes/org/kustomization.yaml", prefixed.as_str())];
    assert_eq!(images_of_class(&named, &files), "dev-k ");
    assert_eq!(images_of(&files), "nowhere");
}

#[test]
fn classes_that_differ_are_not_known_and_equal_ones_are() {
    let (a, b) = (class(IN_ORG, "a"), class(IN_ORG, "b"));
    assert_eq!(
        images_of(&[("one/k.yaml", &a), ("two/k.yaml", &b)]),
        "ClusterClass `k` is in one/k.yaml and two/k.yaml, and they differ."
    );
    // The same class in any namespace, and the same again.
    assert_eq!(images_of(&[("one/k.yaml", &a), ("two/k.yaml", &class("", "a"))]), "k a");
    assert_eq!(images_of(&[("one/k.yaml", &a), ("two/k.yaml", &class(", namespace: others", "b"))]), "k a");
    let overlay = |image: &str| {
        format!(
            "resources: [../base]\npatches:\n- target: {{kind: DevMachineTemplate}}\n  patch: '[{{\"op\": \"replace\", \"path\": \"/spec/template/spec/customImage\", \"value\": \"{image}\"}}]'\n"
        )
    };
    let files = [
        ("base/kustomization.yaml", "resources: [k.yaml]\n".to_owned()),
        ("base/k.yaml", a),
        ("dev/kustomization.yaml", overlay("c")),
        ("prod/kustomization.yaml", overlay("d")),
    ];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    assert_eq!(images_of(&files), "ClusterClass `k` is applied with dev and prod, and they differ.");
}

#[test]
fn a_class_in_another_clusters_folder_is_what_that_cluster_renders() {
    let one = class(IN_ORG, "a");
    let patch = template(IN_ORG, "b");
    let files = [("gauss/d/base/k.yaml", one.as_str()), ("gauss/d/overlay/md.yaml", patch.as_str())];
    assert_eq!(images_of(&files), "k b");
    // A class outside of clusters also belongs to a cluster whose kustomization names it.
    let files = [
        ("gauss/d/base/kustomization.yaml", "resources: [../../../classes/k.yaml]\n"),
        ("gauss/d/base/cluster.yaml", CLUSTER),
        ("gauss/d/overlay/md.yaml", patch.as_str()),
        ("classes/k.yaml", one.as_str()),
    ];
    assert_eq!(images_of(&files), "k b");
    // The cluster that asks has looked into its own.
    assert_eq!(images_of(&[("gauss/c/base/k.yaml", &one)]), "nowhere");
}

#[test]
fn what_cannot_be_rendered_and_what_is_too_much_is_not_known() {
    let one = class(IN_ORG, "a");
    let files = [
        ("classes/kustomization.yaml", "resources: [k.yaml, gone.yaml]\n"),
        ("classes/k.yaml", one.as_str()),
    ];
    let why = images_of(&files);
    let begins =
        "ClusterClass `k` is applied with classes, which cannot be rendered: classes/kustomization.yaml:1:";
    assert!(why.starts_with(begins) && why.contains("gone.yaml"), "{why}");
    let folders: Vec<String> = (0..17).map(|at| format!("f{at:02}/k.yaml")).collect();
    let files: Vec<(&str, &str)> = folders.iter().map(|path| (path.as_str(), one.as_str())).collect();
    assert_eq!(
        images_of(&files),
        "ClusterClass `k` is applied with f00, f01, f02 and 14 more: more than the 16 places that Capstan looks at."
    );
    assert_eq!(images_of(&files[..16]), "k a");
}

#[test]
fn kustomizations_that_name_one_another_end() {
    let one = class(IN_ORG, "a");
    let files = [
        ("one/kustomization.yaml", "resources: [k.yaml, ../two]\n"),
        ("two/kustomization.yaml", "resources: [../one]\n"),
        ("one/k.yaml", one.as_str()),
    ];
    let why = images_of(&files);
    assert!(why.starts_with("ClusterClass `k` is applied with one, which cannot be rendered: "), "{why}");
}

#[test]
fn the_index_is_the_same_where_nothing_of_classes_changes() {
    let one = class(IN_ORG, "a");
    let files = [
        ("classes/kustomization.yaml", "resources: [k.yaml]\n"),
        ("classes/k.yaml", one.as_str()),
        ("classes/md.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"),
    ];
    let (tree, layout) = opened(&files);
    let index = ClassIndex::read(&tree, &layout);
    let may_change = |path: &str| index.may_change(&tree, &layout, &RepoPath::parse(path).unwrap());
    let paths = ["classes/k.yaml", "classes/kustomization.yaml", "gone/kustomization.yaml"];
    assert_eq!(paths.map(may_change), [true, true, true]);
    let others = ["classes/md.yaml", "gauss/c/base/cluster.yaml", "gone.yaml"];
    assert_eq!(others.map(may_change), [false, false, false]);
}

#[test]
fn a_cluster_names_a_class_of_its_own_namespace_or_of_another_one() {
    let named = |topology: &str| {
        let text = format!("metadata: {{name: c, namespace: org}}\nspec: {{topology: {topology}}}\n");
        let file = capstan_yaml::YamlFile::read(&text).unwrap();
        ClassRef::of(&file.documents()[0].root).map(|class| (class.name, class.namespace.unwrap()))
    };
    let k = |namespace: &str| Some(("k".to_owned(), namespace.to_owned()));
    assert_eq!(named("{class: k}"), k("org"));
    assert_eq!(named("{class: k, classNamespace: shared}"), k("shared"));
    assert_eq!(named("{classRef: {name: k}}"), k("org"));
    assert_eq!(named("{classRef: {name: k, namespace: shared}}"), k("shared"));
    assert_eq!(named("{}"), None);
}
