//! Which folders are found, by shape and by pattern.

use super::*;
use crate::settings::{RepositorySettings, RuleIds};
use capstan_model::tree::{EntryKind, TreeEntry};
use capstan_test_support::Files;

const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\n";
const OTHER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
const BROKEN: &str = "apiVersion : cluster.x-k8s.io/v1beta1\nspec: [\n";

fn settings(text: &str) -> RepositorySettings {
    let file = RepoPath::parse(".capstan.yaml").unwrap();
    RepositorySettings::read(&file, text, &RuleIds::default()).unwrap()
}

fn ids(layout: &Layout) -> (Vec<&str>, Vec<&str>) {
    (
        layout.releases.iter().map(|release| release.folder.as_str()).collect(),
        layout.targets.iter().map(|cluster| cluster.id.as_str()).collect(),
    )
}

fn names(entries: &[TreeEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.path.as_str()).collect()
}

fn problem_lines(layout: &Layout) -> Vec<String> {
    layout.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn the_shape_decides_where_no_pattern_does() {
    let files = [
        ("aws/v21.0.0/base/mp.yaml", OTHER),
        ("aws/v21.0.0/overlay/patch.yaml", OTHER),
        ("aws/v21.0.0/capstan.yaml", "variables: {}\n"),
        ("aws/9.0.0/base/cluster.yaml", CLUSTER),
        ("aws/archived/v20.0.0/base/mp.yaml", OTHER),
        ("aws/v1.2.3-gs1/base/mp.yaml", OTHER),
        ("aws/v21/base/mp.yaml", OTHER),
        ("capa/v34.5.0/release.yaml", "kind: Release\n"),
        ("gauss/peu01/base/cluster.yaml", CLUSTER),
        ("gauss/peu01/base/sub/more.yaml", OTHER),
        ("gauss/peu01/base/README.md", "text"),
        ("gauss/peu01/overlay/patch.yaml", OTHER),
        ("gauss/peu01/overlay/capstan.yaml", "track: none\n"),
        ("gauss/peu01/capstan.yaml", "track: any\n"),
        ("gauss/peu01-b/base/cluster.yaml", CLUSTER),
        ("gauss/apps/base/app.yaml", OTHER),
        ("README.md", "text"),
    ];
    let tree = Files::new(&files);
    let layout = discover(&tree, &RepositorySettings::default());
    assert_eq!(
        ids(&layout),
        (
            vec!["aws/v1.2.3-gs1", "aws/9.0.0", "aws/archived/v20.0.0", "aws/v21.0.0", "capa/v34.5.0"],
            vec!["gauss/peu01", "gauss/peu01-b"]
        )
    );
    assert_eq!(problem_lines(&layout), [""; 0]);
    let archived = &layout.releases[2];
    assert_eq!(
        (archived.id.as_str(), archived.provider.as_str(), archived.shelf),
        ("aws/v20.0.0", "aws", ReleaseShelf::Archived)
    );
    let release = &layout.releases[3];
    assert_eq!(names(&release.base_files), ["aws/v21.0.0/base/mp.yaml"]);
    assert_eq!(names(&release.overlay_files), ["aws/v21.0.0/overlay/patch.yaml"]);
    assert!(release.settings.is_some() && release.manifest.is_none());
    let cluster = layout.target("gauss/peu01").unwrap();
    assert_eq!(
        names(&cluster.base_files),
        ["gauss/peu01/base/README.md", "gauss/peu01/base/cluster.yaml", "gauss/peu01/base/sub/more.yaml"]
    );
    assert_eq!(names(&cluster.overlay_files), ["gauss/peu01/overlay/patch.yaml"]);
    assert_eq!(cluster.settings_path().as_str(), "gauss/peu01/capstan.yaml");
    assert!(cluster.settings.is_some() && cluster.overlay_settings.is_some());
}

#[test]
fn patterns_replace_the_search_for_the_shape() {
    let tree = Files::new(&[
        ("aws/v21.0.0/base/a.yaml", OTHER),
        ("aws/archived/v20.0.0/base/a.yaml", OTHER),
        ("aws/next/base/a.yaml", OTHER),
        ("capa/v1.0.0/base/a.yaml", OTHER),
        ("gauss/peu01/base/a.yaml", OTHER),
        ("gauss/peu02/readme.md", "no base"),
        ("deep/er/peu01/base/a.yaml", CLUSTER),
    ]);
    let layout = discover(&tree, &settings("releases: {paths: ['aws/*']}\nclusters: {paths: ['gauss/*']}\n"));
    assert_eq!(ids(&layout), (vec!["aws/v21.0.0"], vec!["gauss/peu01"]));
    assert_eq!(
        problem_lines(&layout),
        [
            "aws/next: `releases.paths` matches this folder, but its name is not a version such as v21.0.0: rename it, \
          or narrow the pattern"
        ]
    );
}

#[test]
fn files_may_lie_directly_in_a_clusters_folder() {
    let tree = Files::new(&[
        ("aws/v21.0.0/base/cluster.yaml", CLUSTER),
        ("gauss/peu01/cluster.yaml", CLUSTER),
        ("gauss/peu01/pools/mp.yaml", OTHER),
        ("gauss/peu01/capstan.yaml", "track: any\n"),
        ("gauss/peu01/overlay/patch.yaml", CLUSTER),
        ("gauss/kustomization.yaml", OTHER),
    ]);
    let layout = discover(&tree, &settings("clusters: {base: .}"));
    assert_eq!(ids(&layout), (vec!["aws/v21.0.0"], vec!["gauss/peu01"]));
    let cluster = layout.target("gauss/peu01").unwrap();
    assert_eq!(names(&cluster.base_files), ["gauss/peu01/cluster.yaml", "gauss/peu01/pools/mp.yaml"]);
    assert_eq!(names(&cluster.overlay_files), ["gauss/peu01/overlay/patch.yaml"]);
    assert_eq!(problem_lines(&layout), [""; 0]);
}

#[test]
fn a_cluster_never_contains_another() {
    let tree = Files::new(&[
        ("gauss/peu01/base/cluster.yaml", CLUSTER),
        ("gauss/peu01/base/sub/base/cluster.yaml", CLUSTER),
        ("gauss/peu01/overlay/base/cluster.yaml", CLUSTER),
        ("gauss/peu01/base/v1.0.0/base/cluster.yaml", CLUSTER),
        ("gauss/peu01/nested/base/cluster.yaml", CLUSTER),
    ]);
    let layout = discover(&tree, &RepositorySettings::default());
    assert_eq!(ids(&layout), (vec![], vec!["gauss/peu01"]));
    assert_eq!(
        problem_lines(&layout),
        [
            "gauss/peu01/nested: this folder has the content of a cluster, but is inside the cluster gauss/peu01: a cluster never contains another. Move one of them, or list the cluster folders in `clusters.paths`"
        ]
    );
}

#[test]
fn a_cluster_in_the_root_is_refused() {
    let layout = discover(&Files::new(&[("base/cluster.yaml", CLUSTER)]), &RepositorySettings::default());
    assert_eq!(ids(&layout), (vec![], vec![]));
    assert!(
        problem_lines(&layout)[0].starts_with(".: the repository's root has the files of a cluster"),
        "{:?}",
        problem_lines(&layout)
    );
}

#[test]
fn a_broken_file_hides_no_cluster() {
    let tree = Files::new(&[
        ("gauss/peu01/base/a.yaml", BROKEN),
        ("gauss/peu01/base/b.yaml", CLUSTER),
        ("gauss/peu02/base/a.yaml", BROKEN),
    ]);
    let layout = discover(&tree, &RepositorySettings::default());
    assert_eq!(ids(&layout).1, ["gauss/peu01"]);
    let told = problem_lines(&layout);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("gauss/peu02/base/a.yaml:"), "{told:?}");
    assert!(told[0].contains("cannot tell whether gauss/peu02 is a cluster: "), "{told:?}");
}

#[test]
fn links_and_submodules_are_reported_and_never_followed() {
    let tree = Files::new(&[
        ("gauss/peu01/base/a.yaml", CLUSTER),
        ("gauss/peu01/base/b.yaml", "../../other"),
        ("gauss/peu02/base", "../peu01/base"),
    ])
    .with_kind("gauss/peu01/base/b.yaml", EntryKind::Symlink)
    .with_kind("gauss/peu02/base", EntryKind::Submodule);
    let layout = discover(&tree, &RepositorySettings::default());
    assert_eq!(ids(&layout).1, ["gauss/peu01"]);
    assert_eq!(names(&layout.targets[0].base_files), ["gauss/peu01/base/a.yaml"]);
    assert_eq!(
        problem_lines(&layout),
        [
            "gauss/peu01/base/b.yaml: Capstan does not follow symbolic links: put the files themselves here",
            "gauss/peu02/base: Capstan does not follow submodules: put the files themselves here"
        ]
    );
}

#[test]
fn two_clusters_that_read_as_one_are_reported() {
    let machines = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\n";
    let tree = Files::new(&[
        ("mgmt/cluster.yaml", CLUSTER),
        ("mgmt/pools/md.yaml", machines),
        ("mgmt/peu01/cluster.yaml", CLUSTER),
        ("gauss/peu02/md.yaml", machines),
        ("gauss/peu02/core/cluster.yaml", CLUSTER),
    ]);
    let layout = discover(&tree, &settings("clusters: {base: .}"));
    assert_eq!(ids(&layout).1, ["gauss/peu02", "mgmt"]);
    assert_eq!(
        problem_lines(&layout),
        [
            "mgmt/peu01: this folder has its own `Cluster`, but Capstan reads it as part of the cluster mgmt, because subfolders belong to a base: list the cluster folders in `clusters.paths`"
        ]
    );
}

/// The report about clusters elsewhere, and the clusters that the settings in it find.
fn outside_of(files: &[(&str, &str)], text: &str) -> (String, Vec<String>) {
    let tree = Files::new(files);
    let settings_now = settings(text);
    let layout = discover(&tree, &settings_now);
    let Some(problem) = outside(&tree, &layout, &settings_now) else { return (String::new(), Vec::new()) };
    let advised = problem.message.split('`').find(|part| part.starts_with("clusters: {")).unwrap_or_default();
    let taken = discover(&tree, &settings(advised));
    assert!(taken.problems.is_empty(), "{:?}", taken.problems);
    (problem.to_string(), taken.targets.iter().map(|cluster| cluster.id.to_string()).collect())
}

#[test]
fn clusters_elsewhere_are_reported_with_the_settings_that_include_them() {
    let (told, taken) = outside_of(
        &[
            ("clusters/a/cluster.yaml", CLUSTER),
            ("clusters/a/more.yaml", OTHER),
            ("clusters/b/cluster.yaml", CLUSTER),
            ("aws/v21.0.0/base/cluster.yaml", CLUSTER),
        ],
        "",
    );
    assert_eq!(
        told,
        "clusters/a/cluster.yaml: the `Cluster` here is outside any cluster's folder `base`, so Capstan ignores it, and those of clusters/b/cluster.yaml. To include all of them, write \
         `clusters: {paths: [\"clusters/*\"], base: \".\"}` in .capstan.yaml"
    );
    assert_eq!(taken, ["clusters/a", "clusters/b"]);
    // A folder beside them that has other manifests is not a cluster.
    let (told, taken) = outside_of(
        &[("fleet/a/capi/c.yaml", CLUSTER), ("fleet/b/c.yaml", CLUSTER), ("fleet/apps/a.yaml", OTHER)],
        "",
    );
    assert!(told.contains("{paths: [\"fleet/b\", \"fleet/a/*\"], base: \".\"}"), "{told}");
    assert_eq!(taken, ["fleet/a/capi", "fleet/b"]);
    // At the top.
    let (told, taken) = outside_of(&[("a/c.yaml", CLUSTER), ("b/c.yaml", CLUSTER), ("x/a.yaml", OTHER)], "");
    assert!(told.contains("{paths: [\"a\", \"b\"], base: \".\"}"), "{told}");
    assert_eq!(taken, ["a", "b"]);
    // Many: few words.
    let many: Vec<String> =
        (0..3000).map(|at| format!("eu/region-{}/cluster-{at}/c.yaml", at % 30)).collect();
    let files: Vec<(&str, &str)> = many.iter().map(|path| (path.as_str(), CLUSTER)).collect();
    let (told, taken) = outside_of(&files, "");
    assert!(
        told.contains("and 2996 more files") && told.contains("{paths: [\"eu/*/*\"], base: \".\"}"),
        "{told}"
    );
    assert!(told.len() < 500 && taken.len() == 3000, "{told}");
}

#[test]
fn clusters_that_have_no_folder_of_their_own_need_one_first() {
    let tree = Files::new(&[("clusters/a.yaml", CLUSTER), ("clusters/b.yaml", CLUSTER)]);
    let told = outside(&tree, &discover(&tree, &settings("")), &settings("")).unwrap().message;
    assert!(
        told.ends_with(
            "This folder has clusters (clusters), but a cluster is a folder: give each its own folder: `capstan init --write --move` moves them; or move them by hand, and write `clusters: {paths: [\"clusters/*\"], base: \".\"}` in .capstan.yaml"
        ),
        "{told}"
    );
    let tree = Files::new(&[("gauss/peu01/base/c.yaml", CLUSTER), ("gauss/peu02/c.yaml", CLUSTER)]);
    let told = outside(&tree, &discover(&tree, &settings("")), &settings("")).unwrap().message;
    assert!(
        told.ends_with("Give each cluster a folder with its manifests in `base`, like gauss/peu01"),
        "{told}"
    );
}

#[test]
fn no_alarm_for_what_has_its_place() {
    let template = CLUSTER.replace("name: a", "name: \"${CLUSTER_NAME}\"");
    let lies = [
        ("aws/v21.0.0/base/cluster.yaml", CLUSTER),
        ("aws/v21.0.0/flavours/ha/cluster.yaml", CLUSTER),
        ("aws/v21.0.0/release.yaml", "kind: Release\n"),
        ("gauss/peu01/base/cluster.yaml", CLUSTER),
        ("gauss/peu01/overlay/patch.yaml", CLUSTER),
        ("gauss/peu01/docs/cluster.yaml", CLUSTER),
        (".github/testdata/cluster.yaml", CLUSTER),
        ("flux-system/gotk-sync.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"),
        ("crds/cluster.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"),
        ("templates/cluster.yaml", template.as_str()),
        (
            "charts/cluster.yaml",
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{ .meta }}\n",
        ),
        ("dev/kind.yaml", "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\nname: a\n"),
    ];
    assert_eq!(outside_of(&lies, ""), (String::new(), Vec::new()));
    // Nothing is reported if the settings say which folders are clusters.
    let named = [("clusters/a/c.yaml", CLUSTER), ("sandbox/b/c.yaml", CLUSTER)];
    let settings = "clusters: {paths: [\"clusters/*\"], base: \".\"}";
    assert_eq!(outside_of(&named, settings), (String::new(), Vec::new()));
}

const WORKERS: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: a}\nspec: {clusterName: peu01}\n";

#[test]
fn workers_and_control_planes_outside_every_cluster_are_reported() {
    let plane = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {name: a}\nspec: {}\n";
    let cluster = ("gauss/peu01/base/c.yaml", CLUSTER);
    let told = |files: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = files.iter().copied().chain([cluster]).collect();
        let tree = Files::new(&all);
        outside(&tree, &discover(&tree, &settings("")), &settings("")).map(|problem| problem.to_string())
    };
    assert_eq!(
        told(&[("gauss/pools/one.yaml", WORKERS), ("gauss/pools/two.yaml", plane)]).unwrap(),
        "gauss/pools/one.yaml: the `MachineDeployment` here is outside any cluster's folder, and no kustomization names the file, so Capstan ignores it, and those of gauss/pools/two.yaml. Move it into \
         gauss/peu01/base, or name it in a kustomization there"
    );
    let said = told(&[("planes/a.yaml", plane)]).unwrap();
    assert!(said.contains("Move it into the folder `base` of its cluster, or"), "{said}");
    // A file that a kustomization or Flux reaches, by its file or its folder.
    let names = "resources: [c.yaml, ../../pools/one.yaml]\n";
    let flux = |path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: a}}\nspec: {{path: {path}}}\n"
        )
    };
    let reaching = [
        ("gauss/peu01/base/kustomization.yaml", names.to_owned()),
        ("gauss/pools/kustomization.yaml", "patches: [{path: one.yaml}]\n".to_owned()),
        ("apps/pools.yaml", flux("./gauss/pools")),
        ("gauss/peu01/base/flux.yaml", flux("gauss")),
    ];
    for (path, text) in &reaching {
        assert_eq!(told(&[("gauss/pools/one.yaml", WORKERS), (path, text)]), None, "{path}");
    }
    for text in ["resources: [two.yaml]\n".to_owned(), flux("./gauss/pool")] {
        assert!(
            told(&[("gauss/pools/one.yaml", WORKERS), ("gauss/pools/kustomization.yaml", &text)]).is_some()
        );
    }
    // If a `Cluster` is outside as well, only that is reported.
    let said = told(&[("gauss/pools/one.yaml", WORKERS), ("elsewhere/c.yaml", CLUSTER)]).unwrap();
    assert!(said.starts_with("elsewhere/c.yaml: the `Cluster` here"), "{said}");
}

#[test]
fn classes_templates_and_incomplete_objects_may_be_anywhere() {
    let class = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: k}\nspec: {}\n";
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DevMachineTemplate\nmetadata: {name: t}\nspec: {}\n";
    let check = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata: {name: a}\nspec: {clusterName: peu01}\n";
    let placeholder = WORKERS.replace("name: a", "name: \"${NAME}\"");
    let lies = [
        ("gauss/peu01/base/c.yaml", CLUSTER),
        ("classes/k/class.yaml", class),
        ("classes/k/template.yaml", template),
        ("checks/a.yaml", check),
        ("templates/workers.yaml", placeholder.as_str()),
        (
            "notes/a.yaml",
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: a}\n",
        ),
        ("aws/v21.0.0/base/workers.yaml", WORKERS),
        ("gauss/peu01/overlay/workers.yaml", WORKERS),
    ];
    assert_eq!(outside_of(&lies, ""), (String::new(), Vec::new()));
}

const PROVIDER: &str =
    "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: cluster-api}\n";

fn kinds(layout: &Layout) -> Vec<(&str, TargetKind)> {
    layout.targets.iter().map(|folder| (folder.id.as_str(), folder.kind)).collect()
}

#[test]
fn a_folder_whose_cluster_api_objects_are_all_provider_objects_is_a_provider_set() {
    use TargetKind::{Cluster, Providers};
    let files = [
        ("mc-eu/providers/base/core.yaml", PROVIDER),
        ("mc-eu/providers/base/secret.yaml", OTHER),
        ("mc-us/providers/base/core.yaml", PROVIDER),
        ("mc-us/providers/base/more/cluster.yaml", CLUSTER),
        ("gauss/peu01/base/cluster.yaml", CLUSTER),
        ("mc/v1.0.0/base/core.yaml", PROVIDER),
    ];
    let tree = Files::new(&files);
    let found = [("gauss/peu01", Cluster), ("mc-eu/providers", Providers), ("mc-us/providers", Cluster)];
    for text in ["", "clusters: {paths: ['*/*']}\n"] {
        let layout = discover(&tree, &settings(text));
        assert_eq!(kinds(&layout), found, "{text}");
        assert_eq!(layout.clusters().count(), 2);
        assert_eq!(problem_lines(&layout), [""; 0]);
    }
    let uid = "uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab";
    let named = |more: &str| {
        settings(&format!(
            "managementClusters: [{{name: a, {uid}, providers: {{path: mc-us/providers}}}}]\n{more}"
        ))
    };
    let layout = discover(&tree, &named(""));
    let both = [("gauss/peu01", Cluster), ("mc-eu/providers", Providers), ("mc-us/providers", Providers)];
    assert_eq!(kinds(&layout), both, "the settings know better");
    let layout = discover(&tree, &named("clusters: {paths: ['gauss/*']}\n"));
    assert_eq!(kinds(&layout), [("gauss/peu01", Cluster), ("mc-us/providers", Providers)]);
}

#[test]
fn a_change_that_makes_another_kind_of_a_folder_asks_for_a_new_search() {
    let text = RepositorySettings::default();
    let before = Files::new(&[("mc/set/base/core.yaml", PROVIDER)]);
    let layout = discover(&before, &text);
    let changed = |file: &str| [RepoPath::parse(file).unwrap()];
    let after = Files::new(&[("mc/set/base/core.yaml", PROVIDER), ("mc/set/base/more.yaml", OTHER)]);
    let followed = follow(&layout, &after, &text, &changed("mc/set/base/more.yaml")).unwrap();
    assert_eq!(followed.layout, discover(&after, &text));
    let after = Files::new(&[("mc/set/base/core.yaml", PROVIDER), ("mc/set/base/more.yaml", CLUSTER)]);
    assert!(follow(&layout, &after, &text, &changed("mc/set/base/more.yaml")).is_none());
}

/// Nothing is wrong with a set that the inventory is to make, and that it is to make it may change.
#[test]
fn a_provider_set_that_the_inventory_defines_need_not_be_there_yet() {
    let text = "inventory: {path: inventory}\nmanagementClusters: [{name: mc, uid: 6f1c3a52-0d4e-4b7a-9c1e-2f3a4b5c6d7e, clusters: [\"acme/*\"], providers: {path: mc/set, by: others}}]\n";
    let (said, settings) = ((".capstan.yaml", text), settings(text));
    let object = |kind: &str| {
        format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: mc}}\nspec: {{folder: mc/own}}\n"
        )
    };
    let (defined, other) = (object("ManagementClusterDefinition"), object("ClusterDefinition"));
    let to_come = Files::new(&[said, ("inventory/mc.yaml", &defined)]);
    let layout = discover(&to_come, &settings);
    assert_eq!(problem_lines(&layout), [""; 0]);
    for (wrong, files) in [
        ("of another kind", vec![said, ("inventory/mc.yaml", other.as_str())]),
        ("not defined", vec![said]),
        (
            "something else",
            vec![said, ("inventory/mc.yaml", defined.as_str()), ("mc/set/base/a.yaml", OTHER)],
        ),
    ] {
        let after = Files::new(&files);
        let found = problem_lines(&discover(&after, &settings));
        assert!(
            found.len() == 1 && found[0].contains("`mc/set` has no provider object"),
            "{wrong}: {found:?}"
        );
        let changed = [RepoPath::parse(files.get(2).map_or("inventory/mc.yaml", |(path, _)| path)).unwrap()];
        assert!(follow(&layout, &after, &settings, &changed).is_none(), "{wrong}");
    }
}

#[test]
fn a_folder_named_like_a_version_is_a_cluster_where_a_pattern_names_it_and_nothing_makes_it_a_release() {
    let files = [
        ("trial/v0.4.8/c.yaml", CLUSTER),
        ("trial/v0.5.2/c.yaml", CLUSTER),
        ("aws/v21.0.0/base/mp.yaml", OTHER),
        ("capa/v34.5.0/release.yaml", "kind: Release\n"),
    ];
    let layout = discover(
        &Files::new(&files),
        &settings("clusters: {paths: ['trial/*', 'aws/*', 'capa/*'], base: '.'}\n"),
    );
    assert_eq!(ids(&layout), (vec!["aws/v21.0.0", "capa/v34.5.0"], vec!["trial/v0.4.8", "trial/v0.5.2"]));
    let layout = discover(&Files::new(&files), &settings("clusters: {base: '.'}\n"));
    assert_eq!(ids(&layout).1, [""; 0], "the shape alone says nothing of them");
}

#[test]
fn several_clusters_in_one_folder_are_reported() {
    let two = "\
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: one}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: '${OTHER}'}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: two}
";
    // One name in two namespaces is two clusters; what names no namespace may be in either.
    let of_one_name = "\
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: web}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: web, namespace: eu}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: web, namespace: us}
";
    let files =
        [("a/pair/base/c.yaml", two), ("a/alone/base/c.yaml", CLUSTER), ("a/twins/base/c.yaml", of_one_name)];
    let tree = Files::new(&files);
    let told: Vec<String> = crowded(&tree, &discover(&tree, &RepositorySettings::default()))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "a/pair/base/c.yaml:5:1: a/pair is one cluster for Capstan, but has 2 `Cluster` objects: `one` and `two`. Capstan plans, checks and releases all of them together. To upgrade them separately, give each its own folder",
            "a/twins/base/c.yaml:5:1: a/twins is one cluster for Capstan, but has 2 `Cluster` objects: `eu/web` and `us/web`. Capstan plans, checks and releases all of them together. To upgrade them separately, give each its own folder"
        ]
    );
}
