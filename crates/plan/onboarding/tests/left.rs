//! What the settings cannot include is reported: where it is, and what to do.

use capstan_model::wording::is_of_no_line;

use super::*;
use crate::settings::Mode;

const NOTHING_YET: &str = "
# No folder is a cluster of its own yet. Once each has one, its manifests directly in it, write for example:
#
# clusters:
#   paths: [\"clusters/*\"]
#   base: \".\"
";

#[test]
fn clusters_of_one_name_in_two_namespaces_are_two() {
    let of = |namespace: &str| {
        cluster("web").replace("name: web\n", &format!("name: web\n  namespace: {namespace}\n"))
    };
    let proposed = check(&[("fleet/dev.yaml", of("dev")), ("fleet/prod.yaml", of("prod"))], NOTHING_YET, &[]);
    assert_eq!(
        left_lines(&proposed),
        [
            "fleet/dev.yaml:1:1: `fleet` has 2 clusters, but a cluster is a folder: move the files of `dev/web` to fleet/dev-web/",
            "fleet/prod.yaml:1:1: `fleet` has 2 clusters, but a cluster is a folder: move the files of `prod/web` to fleet/prod-web/",
        ]
    );
}

#[test]
fn a_cluster_without_a_namespace_may_be_any_of_its_name_in_whatever_order_the_files_are() {
    let of = |namespace: &str| {
        cluster("web").replace("name: web\n", &format!("name: web\n  namespace: {namespace}\n"))
    };
    let fleet = |first: String, second: String, third: String| {
        let files = [("fleet/a.yaml", first), ("fleet/b.yaml", second), ("fleet/c.yaml", third)];
        left_lines(&check(&files, NOTHING_YET, &[])).concat()
    };
    for told in [
        fleet(cluster("web"), of("eu"), of("us")),
        fleet(of("eu"), cluster("web"), of("us")),
        fleet(of("eu"), of("us"), cluster("web")),
    ] {
        assert!(told.contains("`fleet` has 2 clusters"), "{told}");
        for name in ["`eu/web` to fleet/eu-web/", "`us/web` to fleet/us-web/"] {
            assert!(told.contains(name), "{told}");
        }
    }
}

#[test]
fn a_file_for_each_cluster_in_one_folder() {
    let proposed = check(
        &[
            ("clusters/management/clusters/default/demo.yaml", cluster("demo")),
            ("clusters/management/clusters/default/test.yaml", cluster("test")),
        ],
        NOTHING_YET,
        &[],
    );
    assert_eq!(
        left_lines(&proposed),
        [
            "clusters/management/clusters/default/demo.yaml:1:1: `clusters/management/clusters/default` has 2 clusters, but a cluster is a folder: move the files of `demo` to clusters/management/clusters/default/demo/",
            "clusters/management/clusters/default/test.yaml:1:1: `clusters/management/clusters/default` has 2 clusters, but a cluster is a folder: move the files of `test` to clusters/management/clusters/default/test/",
        ]
    );
}

#[test]
fn several_clusters_in_one_file_are_reported_by_line_and_the_others_are_taken() {
    let both = format!("{}---\n{}", cluster("a"), cluster("b"));
    let proposed = check(
        &[("capi/all.yaml", both), ("fleet/c/cluster.yaml", cluster("c"))],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 1 cluster today.
  paths: [\"fleet/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[("fleet/c", "")],
    );
    assert_eq!(
        left_lines(&proposed),
        [
            "capi/all.yaml:1:1: `capi` has 2 clusters, but a cluster is a folder: move the files of `a` to capi/a/",
            "capi/all.yaml:7:1: `capi` has 2 clusters, but a cluster is a folder: move the files of `b` to capi/b/",
        ]
    );
}

#[test]
fn the_root_and_a_folder_around_others() {
    let proposed = check(
        &[
            ("cluster.yaml", cluster("top")),
            ("mgmt/cluster.yaml", cluster("mgmt")),
            ("mgmt/one/cluster.yaml", cluster("one")),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 1 cluster today.
  paths: [\"mgmt/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[("mgmt/one", "")],
    );
    assert_eq!(
        left_lines(&proposed),
        [
            "cluster.yaml:1:1: the repository's root cannot be a cluster's folder: move the files of this cluster to a folder, whose path becomes the cluster's id",
            "mgmt/cluster.yaml:1:1: mgmt has this cluster and the folders of others, but a cluster never contains another: move its manifests to a folder of their own",
        ]
    );
}

#[test]
fn two_shapes_in_one_repository() {
    let proposed = check(
        &[
            ("gauss/a/base/c.yaml", cluster("a")),
            ("gauss/a/overlay/p.yaml", APP.to_owned()),
            ("gauss/b/base/c.yaml", cluster("b")),
            ("old/c/c.yaml", cluster("c")),
        ],
        "\n# Clusters are found by their shape, a folder with `base/` and perhaps `overlay/`: 2 clusters today.\n",
        &[("gauss/a", ""), ("gauss/b", "")],
    );
    assert_eq!(
        left_lines(&proposed),
        [
            "old/c/c.yaml:1:1: the manifests of this cluster are in old/c, but those of others in `base` of their folders. All clusters of a repository need the same layout: move them to such a folder"
        ]
    );
}

#[test]
fn examples_do_not_count_unless_something_applies_them() {
    let example = ("docs/examples/quick/cluster.yaml", cluster("quick"));
    let told_of = left_lines(&proposed(std::slice::from_ref(&example)));
    assert_eq!(
        told_of,
        [
            "docs/examples/quick/cluster.yaml:1:1: it is below `docs`, and neither Flux nor Argo CD applies it from here, so Capstan treats it as an example. If it is a cluster, add docs/examples/quick to `clusters.paths`"
        ]
    );
    let applied = proposed(&[example, ("flux/quick.yaml", flux("quick", "docs/examples/quick", ""))]);
    assert_eq!(applied.clusters.len(), 1);
}

#[test]
fn what_no_kustomization_names_and_what_cannot_be_read() {
    let proposed = proposed(&[
        ("c/one/kustomization.yaml", kustomization("resources: [other.yaml]\n")),
        ("c/one/other.yaml", APP.to_owned()),
        ("c/one/cluster.yaml", cluster("one")),
        ("c/two/cluster.yaml", "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nspec: [\n".to_owned()),
    ]);
    assert!(proposed.clusters.is_empty());
    let told = left_lines(&proposed);
    assert_eq!(
        told[0],
        "c/one/cluster.yaml:1:1: the kustomization of c/one does not name this file, so nothing builds it: name it there, or move it"
    );
    assert!(
        told[1].starts_with(
            "c/two/cluster.yaml:3:7: this file mentions a cluster, but Capstan cannot read it: "
        ),
        "{told:?}"
    );
}

#[test]
fn objects_without_a_cluster_are_reported_and_templates_alone_are_not() {
    let class =
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: quick}\nspec: {}\n"
            .to_owned();
    let of_class = proposed(&[("classes/quick.yaml", class)]);
    assert_eq!(
        left_lines(&of_class),
        [
            "classes/quick.yaml:1:1: there is a `ClusterClass` here, and no cluster in this repository: Capstan upgrades folders \
             that hold a `Cluster`, or the App or HelmRelease of one"
        ]
    );
    let template = ("templates/cluster.yaml", named(CLUSTER, "${CLUSTER_NAME}"));
    let kind = ("dev/kind.yaml", "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\nname: a\n".to_owned());
    assert!(!proposed(&[template, kind, ("apps/web.yaml", APP.to_owned())]).is_worth_it());
    // A release alone is worth it: clusters may use it from another repository.
    assert!(proposed(&[("aws/v1.0.0/base/pool.yaml", named(POOL, "a"))]).is_worth_it());
}

#[test]
fn names_that_mean_something_in_patterns_or_yaml() {
    let proposed = proposed(&[
        ("odd/[a]/c.yaml", cluster("a")),
        ("odd/\"b\": {c/c.yaml", cluster("b")),
        ("odd/c/web.yaml", APP.to_owned()),
    ]);
    let found: Vec<&str> = proposed.clusters.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(found, ["odd/\"b\": {c", "odd/[a]"]);
    assert_eq!(left_lines(&proposed), [""; 0]);
}

/// Names of folders that a hostile author may choose.
const HOSTILE: [&str; 22] = [
    "*",
    "**",
    "?",
    "[!a]",
    "{a,b}",
    "!x",
    "'",
    "\"",
    "a: b",
    "- a",
    "# forged",
    "&a",
    "*a",
    "null",
    "~",
    "a\nmode: propose",
    "a\r\n\r\nclusters: {paths: []}",
    "a\tb",
    "a\u{1b}[31m\u{7f}\u{9b}",
    "a\u{202e}\u{2028}\u{feff}b",
    "\u{1f980}\u{300}",
    "{{ a }} ${B}",
];

#[test]
fn hostile_names_are_read_back_as_what_they_are() {
    let long = "ö".repeat(300);
    for name in HOSTILE.into_iter().chain([long.as_str()]) {
        // Beside a folder that no pattern may take, and one that a pattern takes that is read otherwise.
        for beside in [None, Some("odd/other/web.yaml"), Some("odd/a/web.yaml")] {
            let own = format!("odd/{name}/c.yaml");
            let mut files = vec![(own.as_str(), cluster("one")), ("odd/two/c.yaml", cluster("two"))];
            files.extend(beside.map(|beside| (beside, APP.to_owned())));
            let proposed = proposed(&files);
            let found: BTreeSet<&str> = proposed.clusters.iter().map(|(id, _)| id.as_str()).collect();
            let own = format!("odd/{name}");
            assert_eq!(found, BTreeSet::from([own.as_str(), "odd/two"]), "{}", proposed.text);
            assert_eq!(left_lines(&proposed), [""; 0], "{name:?}");
            assert_eq!(proposed.settings.mode, Mode::Observe, "{}", proposed.text);
            let line =
                |line: &str| line.contains(|letter: char| is_of_no_line(letter) || letter == '\u{feff}');
            assert!(!proposed.text.lines().any(line), "{:?}", proposed.text);
        }
    }
}

#[test]
fn thousands_of_clusters_take_no_square_of_time() {
    let paths: Vec<String> =
        (0..6_000).map(|at| format!("r{}/g{}/c{at}/cluster.yaml", at % 7, at % 300)).collect();
    let texts: Vec<String> = (0..6_000).map(|at| cluster(&format!("c{at}"))).collect();
    let files: Vec<(&str, &str)> =
        paths.iter().zip(&texts).map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let proposed = propose(&Files::new(&files)).unwrap();
    assert_eq!(proposed.clusters.len(), 6_000);
    assert!(proposed.text.contains("  paths: [\"*/*/*\"]\n"), "{}", proposed.text);
}

/// What follows where folders have the shape of a cluster and none is one.
const NO_CLUSTERS: &str = "
clusters:
  # Folders with `base/` look like clusters here, but are not: list the patterns of the cluster folders.
  paths: []
";

#[test]
fn an_example_with_the_shape_of_a_cluster_does_not_become_one() {
    let proposed = check(
        &[("docs/examples/a/base/cluster.yaml", cluster("a"))],
        &format!("{NOTHING_YET}{NO_CLUSTERS}"),
        &[],
    );
    assert!(proposed.layout.targets.is_empty());
    assert_eq!(
        left_lines(&proposed),
        [
            "docs/examples/a/base/cluster.yaml:1:1: it is below `docs`, and neither Flux nor Argo CD applies it from here, so Capstan treats it as an example. If it is a cluster, add docs/examples/a to `clusters.paths`"
        ]
    );
}

#[test]
fn a_provider_set_alone_is_something_to_set_up_and_is_named() {
    let provider =
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: cluster-api}\n";
    let expected = "\n# Provider sets are found by their shape, too: folders whose `base/` holds provider objects of the Cluster API operator.\n\
        #   \"mc-eu/providers\"\n\
        # Which management cluster runs one, and who applies it, is written so:\n#\n# managementClusters:\n#   - name: NAME\n\
        #     uid: UID  # kubectl get namespace kube-system -o jsonpath={.metadata.uid}\n\
        #     providers: {path: \"mc-eu/providers\", by: others}\n";
    let proposed = check(&[("mc-eu/providers/base/core.yaml", provider.to_owned())], expected, &[]);
    assert!(proposed.is_worth_it(), "{proposed:?}");
    let sets: Vec<&str> = proposed.sets.iter().map(|set| set.as_str()).collect();
    assert_eq!(sets, ["mc-eu/providers"]);
    // Objects outside of a `base/` are not a set, because it is unclear what belongs to it.
    let proposed = check(&[("infra/capi-operator/core.yaml", provider.to_owned())], "", &[]);
    assert!(!proposed.is_worth_it(), "{proposed:?}");
}

#[test]
fn a_provider_set_that_patterns_do_not_find_is_reported() {
    let provider =
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: cluster-api}\n";
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01}\n";
    let files = [("mc-eu/providers/base/core.yaml", provider), ("clusters/peu01/cluster.yaml", cluster)];
    let proposed = propose(&Files::new(&files)).unwrap();
    let left: Vec<String> = proposed.left.iter().map(ToString::to_string).collect();
    assert_eq!(
        left,
        [
            "mc-eu/providers: mc-eu/providers is a provider set by its shape, and these settings go by patterns: name it under `providers` of its management cluster in `managementClusters`, or add it to `clusters.paths`"
        ]
    );
}

#[test]
fn a_template_with_the_shape_of_a_cluster_that_nobody_here_fills_in() {
    let proposed = check(
        &[("fleet/x/base/cluster.yaml", named(CLUSTER, "${NAME}"))],
        &format!("{NOTHING_YET}{NO_CLUSTERS}"),
        &[],
    );
    assert_eq!(
        left_lines(&proposed),
        [
            "fleet/x/base/cluster.yaml:1:1: its name is a variable without a value in this repository, so Capstan treats it as a template. If Flux substitutes it from another repository, add fleet/x to `clusters.paths`"
        ]
    );
}

#[test]
fn a_template_in_the_root_that_flux_fills_in() {
    let given = flux("a", "./", "  postBuild: {substitute: {NAME: a}}\n");
    let proposed =
        check(&[("cluster.yaml", named(CLUSTER, "${NAME}")), ("flux/a.yaml", given)], NOTHING_YET, &[]);
    assert_eq!(
        left_lines(&proposed),
        [
            "cluster.yaml:1:1: the repository's root cannot be a cluster's folder: move the files of this cluster to a folder, whose path becomes the cluster's id"
        ]
    );
}
