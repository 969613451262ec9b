//! Repositories with crowded folders: a small tree in, the files that change out.

use capstan_model::tree::{EntryKind, RepoPath};
use capstan_test_support::Files;

use super::{Moving, differences, plan_moves};
use crate::onboarding::propose;
use crate::onboarding::tests::{argo, cluster, flux, kustomization, named};

const WORKERS: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: NAME-md-0\nspec:\n  clusterName: NAME\n  template:\n    spec:\n      infrastructureRef:\n        kind: AWSMachineTemplate\n        name: NAME-small\n";
const TEMPLATE: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata:\n  name: NAME\n";
const CLASS: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata:\n  name: quick\n";

fn joined(documents: &[&str]) -> String {
    documents.join("---\n")
}

/// What is planned for these files, and the files as they would be.
fn moved(files: &[(&str, String)]) -> (Moving, Vec<(String, String)>) {
    let texts: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let before = Files::new(&texts);
    let moving = plan_moves(&before);
    let gone = |path: &str| moving.changes.iter().any(|change| change.path.as_str() == path);
    let mut after: Vec<(String, String)> = files
        .iter()
        .filter(|(path, _)| !gone(path))
        .map(|(path, text)| ((*path).to_owned(), text.clone()))
        .collect();
    for change in &moving.changes {
        after.extend(change.after.clone().map(|text| (change.path.to_string(), text)));
    }
    after.sort();
    (moving, after)
}

/// Looks at all files after the move, proves it, and looks at the clusters that are found then.
fn check(files: &[(&str, String)], expected: &[(&str, String)], clusters: &[&str]) -> Moving {
    let (moving, after) = moved(files);
    assert_eq!(told(&moving), [""; 0]);
    let expected: Vec<(String, String)> =
        expected.iter().map(|(path, text)| ((*path).to_owned(), text.clone())).collect();
    assert_eq!(after, expected);
    let texts: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let after: Vec<(&str, &str)> = after.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (before, after) = (Files::new(&texts), Files::new(&after));
    assert_eq!(differences(&before, &after, &moving), []);
    let found = propose(&after).unwrap();
    assert_eq!(found.clusters.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), clusters);
    assert_eq!(found.crowded, 0);
    moving
}

fn told(moving: &Moving) -> Vec<String> {
    moving.refused.iter().map(ToString::to_string).collect()
}

/// What is refused, and that then nothing would change.
fn refused(files: &[(&str, String)]) -> Vec<String> {
    let (moving, _) = moved(files);
    assert_eq!(moving.changes, []);
    told(&moving)
}

#[test]
fn a_flat_folder_with_files_for_each_cluster() {
    let files = [
        ("fleet/a.yaml", cluster("a")),
        ("fleet/a-workers.yaml", joined(&[&named(WORKERS, "a"), &named(TEMPLATE, "a-small")])),
        ("fleet/b.yaml", joined(&[&cluster("b"), &named(WORKERS, "b"), &named(TEMPLATE, "b-small")])),
        ("fleet/notes.md", "two clusters\n".to_owned()),
    ];
    check(
        &files,
        &[
            ("fleet/a/a-workers.yaml", files[1].1.clone()),
            ("fleet/a/a.yaml", files[0].1.clone()),
            ("fleet/b/b.yaml", files[2].1.clone()),
            ("fleet/notes.md", "two clusters\n".to_owned()),
        ],
        &["fleet/a", "fleet/b"],
    );
}

#[test]
fn a_file_with_several_clusters_is_cut_and_each_byte_is_in_one_of_the_files() {
    let a = "# The fleet.\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a} # first\nspec: &spec {x: 'y'}\nother: *spec\n\n";
    let b =
        "# about b\n---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n    name: \"b\"\n";
    let workers = named(WORKERS, "a");
    let files =
        [("fleet/all.yaml", format!("{a}{b}---\n{workers}---\n{}---\n{CLASS}", named(TEMPLATE, "a-small")))];
    let moving = check(
        &files,
        &[
            ("fleet/a/all.yaml", format!("{a}---\n{workers}---\n{}", named(TEMPLATE, "a-small"))),
            ("fleet/all.yaml", format!("---\n{CLASS}")),
            ("fleet/b/all.yaml", b.to_owned()),
        ],
        &["fleet/a", "fleet/b"],
    );
    let kept: Vec<String> = moving.kept.iter().map(|(place, words)| format!("{place}: {words}")).collect();
    assert_eq!(kept, ["fleet/all.yaml:32:1: ClusterClass quick, which any cluster may use"]);
}

#[test]
fn what_two_clusters_use_stays_and_what_one_uses_goes_with_it() {
    let workers =
        |name: &str, template: &str| named(WORKERS, name).replace(&format!("{name}-small"), template);
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: cloud}\n";
    let with_identity = format!(
        "{}  identityRef: {{kind: Secret, name: cloud}}\n",
        cluster("b").replace("spec: {}\n", "spec:\n")
    );
    let files = [
        ("fleet/a.yaml", joined(&[&cluster("a"), &workers("a", "small")])),
        ("fleet/b.yaml", joined(&[&with_identity, &workers("b", "small")])),
        ("fleet/common.yaml", joined(&[&named(TEMPLATE, "small"), secret])),
    ];
    let moving = check(
        &files,
        &[
            ("fleet/a/a.yaml", files[0].1.clone()),
            ("fleet/b/b.yaml", files[1].1.clone()),
            ("fleet/b/common.yaml", format!("---\n{secret}")),
            ("fleet/common.yaml", named(TEMPLATE, "small")),
        ],
        &["fleet/a", "fleet/b"],
    );
    assert_eq!(moving.kept[0].1, "AWSMachineTemplate small, which `a` and `b` use");
}

#[test]
fn a_kustomization_names_the_folders_and_each_gets_its_own() {
    let files = [
        ("fleet/a.yaml", cluster("a")),
        ("fleet/all.yaml", joined(&[&named(WORKERS, "b"), &named(TEMPLATE, "a-small"), CLASS])),
        ("fleet/b.yaml", cluster("b")),
        (
            "fleet/kustomization.yaml",
            kustomization("# in order\nresources:\n  - all.yaml # both\n  - 'b.yaml'\n  - a.yaml\n"),
        ),
        ("top/kustomization.yaml", kustomization("resources: [../fleet]\nnamePrefix: x-\n")),
    ];
    let own = |files: &str| {
        format!("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{files}")
    };
    let moving = check(
        &files,
        &[
            ("fleet/a/a.yaml", cluster("a")),
            ("fleet/a/all.yaml", format!("---\n{}", named(TEMPLATE, "a-small"))),
            ("fleet/a/kustomization.yaml", own("- all.yaml\n- a.yaml\n")),
            ("fleet/all.yaml", format!("---\n{CLASS}")),
            ("fleet/b/all.yaml", named(WORKERS, "b")),
            ("fleet/b/b.yaml", cluster("b")),
            ("fleet/b/kustomization.yaml", own("- all.yaml\n- b.yaml\n")),
            (
                "fleet/kustomization.yaml",
                kustomization("# in order\nresources:\n  - all.yaml # both\n  - a\n  - b\n"),
            ),
            files[4].clone(),
        ],
        &["fleet/a", "fleet/b"],
    );
    assert_eq!(moving.edited, [RepoPath::parse("fleet/kustomization.yaml").unwrap()]);
    assert_eq!(moving.rendered.iter().map(RepoPath::as_str).collect::<Vec<_>>(), ["fleet", "top"]);
}

#[test]
fn a_folder_around_others_and_the_root() {
    let base = kustomization("resources: [cluster.yaml]\n");
    let files = [
        ("fleet/one/cluster.yaml", cluster("one")),
        ("fleet/outer.yaml", cluster("outer")),
        ("fleet/two/cluster.yaml", cluster("two")),
        ("fleet/two/kustomization.yaml", base.clone()),
        ("flux/all.yaml", flux("all", "./", "")),
        ("top.yaml", cluster("top")),
    ];
    check(
        &files,
        &[
            ("clusters/top/top.yaml", cluster("top")),
            files[0].clone(),
            ("fleet/outer/outer.yaml", cluster("outer")),
            files[2].clone(),
            files[3].clone(),
            files[4].clone(),
        ],
        &["clusters/top", "fleet/one", "fleet/outer", "fleet/two"],
    );
}

#[test]
fn clusters_get_the_layout_of_the_others() {
    let files = [
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b.yaml", cluster("b")),
        ("gauss/c/base/cluster.yaml", cluster("c")),
        ("gauss/c/overlay/app.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n".to_owned()),
    ];
    check(
        &files,
        &[
            ("fleet/a/base/a.yaml", cluster("a")),
            ("fleet/b/base/b.yaml", cluster("b")),
            files[2].clone(),
            files[3].clone(),
        ],
        &["fleet/a", "fleet/b", "gauss/c"],
    );
}

#[test]
fn what_belongs_to_none_or_to_two_is_refused_with_its_place() {
    let pair =
        |more: &str| [("fleet/a.yaml", cluster("a")), ("fleet/b.yaml", joined(&[&cluster("b"), more]))];
    assert_eq!(
        refused(&pair(&named(TEMPLATE, "old"))),
        [
            "fleet/b.yaml:7:1: no cluster of this folder names AWSMachineTemplate old, so Capstan cannot tell to which it belongs: give it the label `cluster.x-k8s.io/cluster-name`, or remove it"
        ]
    );
    assert_eq!(
        refused(&pair(&named(WORKERS, "z"))),
        [
            "fleet/b.yaml:7:1: MachineDeployment z-md-0 belongs to the cluster `z`, which is not in this folder: move it to the folder of that cluster"
        ]
    );
    let labelled = named(WORKERS, "a")
        .replace("spec:\n  cl", "  labels: {cluster.x-k8s.io/cluster-name: b}\nspec:\n  cl");
    assert_eq!(
        refused(&pair(&labelled)),
        [
            "fleet/b.yaml:7:1: MachineDeployment a-md-0 says that it belongs to `a` and to `b`: `spec.clusterName` and the label `cluster.x-k8s.io/cluster-name` must name the same cluster"
        ]
    );
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineSet, metadata: {name: first}, spec: {clusterName: a}}\n- {apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineSet, metadata: {name: second}, spec: {clusterName: b}}\n";
    assert_eq!(
        refused(&pair(list)),
        [
            "fleet/b.yaml:10:3: this list has objects of several clusters, or also of none: write each object as a document of its own, after a line `---`"
        ]
    );
    let twice = cluster("a").replace("name: a", "name: a\n  namespace: other");
    assert_eq!(
        refused(&[("fleet/a.yaml", cluster("a")), ("fleet/b.yaml", joined(&[&cluster("b"), &twice]))]),
        [
            "fleet/a.yaml:1:1: two clusters of this folder are called `a`, in different namespaces, and would get the same folder: move one of them by hand"
        ]
    );
}

#[test]
fn files_that_cannot_be_cut_are_refused() {
    let anchored = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\nspec: &spec {paused: true}\n---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: b}\nspec: *spec\n";
    // An alias of another document is no YAML: such a file names no cluster, and stays.
    assert_eq!(refused(&[("fleet/all.yaml", anchored.to_owned())]), [""; 0]);
    let sealed = joined(&[&cluster("a"), &cluster("b").replace("spec: {}", "spec: {}\nsops: {mac: x}")]);
    assert_eq!(
        refused(&[("fleet/all.yaml", sealed)]),
        [
            "fleet/all.yaml:12:1: this file was encrypted by sops, and its seal breaks when it is cut: put each cluster's documents into a file of their own with sops"
        ]
    );
}

#[test]
fn links_and_what_is_there_already_are_refused() {
    let texts = [
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b.yaml", cluster("b")),
        ("fleet/c.yaml", "elsewhere.yaml".to_owned()),
        ("latest.yaml", "./fleet/a.yaml".to_owned()),
    ];
    let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let tree = Files::new(&texts)
        .with_kind("fleet/c.yaml", EntryKind::Symlink)
        .with_kind("latest.yaml", EntryKind::Symlink);
    let moving = plan_moves(&tree);
    assert_eq!(moving.changes, []);
    assert_eq!(
        told(&moving),
        [
            "fleet/c.yaml: this is a symbolic link, which Capstan does not follow: replace it by the file that it leads to",
            "latest.yaml: this is a symbolic link to fleet/a.yaml, which would move: replace the link by what needs the file, or remove it",
        ]
    );
    assert_eq!(
        refused(&[
            ("fleet/a.yaml", cluster("a")),
            ("fleet/a/a.yaml", "x: y\n".to_owned()),
            ("fleet/b", "a file\n".to_owned()),
            ("fleet/b.yaml", cluster("b")),
        ]),
        [
            "fleet/a/a.yaml: this is where Capstan would put a file of a cluster, and it never overwrites anything: rename or remove it",
            "fleet/b: this is where Capstan would put a file of a cluster, and it never overwrites anything: rename or remove it",
        ]
    );
}

#[test]
fn kustomizations_that_change_and_those_of_a_cluster_are_refused() {
    let files = |rest: &str| {
        [
            ("fleet/all.yaml", joined(&[&cluster("a"), &cluster("b")])),
            ("fleet/kustomization.yaml", kustomization(rest)),
        ]
    };
    assert_eq!(
        refused(&files("namePrefix: eu-\nresources: [all.yaml]\n")),
        [
            "fleet/kustomization.yaml:3:1: this kustomization also changes what it builds (`namePrefix`): Cluster a of fleet/all.yaml would not be as it is written there. A cluster's own folder would lack that: render each cluster (`kustomize build`) into a folder of its own by hand"
        ]
    );
    // What it does to others is its own affair.
    let more = "resources: [all.yaml]\npatches: [{path: class.yaml}]\n";
    let mut others = files(more).to_vec();
    others.insert(0, ("fleet/class.yaml", format!("{CLASS}spec: {{x: y}}\n")));
    others[1].1.push_str(&format!("---\n{CLASS}"));
    let own = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- all.yaml\n";
    check(
        &others,
        &[
            ("fleet/a/all.yaml", cluster("a")),
            ("fleet/a/kustomization.yaml", own.to_owned()),
            ("fleet/all.yaml", format!("---\n{CLASS}")),
            ("fleet/b/all.yaml", format!("---\n{}", cluster("b"))),
            ("fleet/b/kustomization.yaml", own.to_owned()),
            ("fleet/class.yaml", others[0].1.clone()),
            ("fleet/kustomization.yaml", kustomization(&more.replace("[all.yaml]", "[all.yaml, a, b]"))),
        ],
        &["fleet/a", "fleet/b"],
    );
    let two = [
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b.yaml", cluster("b")),
        ("fleet/b-workers.yaml", joined(&[&named(WORKERS, "b"), &named(TEMPLATE, "b-small")])),
        ("fleet/kustomization.yaml", kustomization("resources: [a.yaml, b.yaml]\n")),
        ("kustomization.yaml", kustomization("resources: [fleet/b-workers.yaml]\n")),
    ];
    let (moving, after) = moved(&two);
    assert_eq!(told(&moving), [""; 0]);
    let texts: Vec<(&str, &str)> = two.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let after: Vec<(&str, &str)> = after.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let told = differences(&Files::new(&texts), &Files::new(&after), &moving);
    assert_eq!(
        told.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "kustomization.yaml: after the move, what is applied from here would differ, so nothing is moved: Cluster b would be added",
            "fleet/kustomization.yaml: after the move, what is applied from here would differ, so nothing is moved: AWSMachineTemplate b-small would be added",
        ]
    );
}

#[test]
fn what_reads_a_file_that_moves_is_refused() {
    let generator = "configMapGenerator:\n- name: fleet\n  files: [fleet.yaml=../fleet/a.yaml]\n";
    assert_eq!(
        refused(&[
            ("fleet/a.yaml", cluster("a")),
            ("fleet/b.yaml", cluster("b")),
            ("shown/kustomization.yaml", kustomization(generator)),
        ]),
        [
            "shown/kustomization.yaml:5:11: this kustomization also reads fleet/a.yaml, which would move: give it a copy of its own that is not a manifest of a cluster, or move the clusters by hand"
        ]
    );
    let both = [
        (
            "apps/fleet.yaml",
            argo("Application", "fleet", "  source: {path: fleet, directory: {recurse: true}}\n"),
        ),
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b.yaml", cluster("b")),
        ("kustomization.yaml", kustomization("resources: [fleet/a.yaml]\n")),
    ];
    assert_eq!(
        refused(&both),
        [
            "apps/fleet.yaml:1:1: the Application `fleet` of Argo CD applies all manifests below fleet, and the new folders get kustomizations, which it would take for manifests: give fleet a kustomization first, or move the clusters by hand"
        ]
    );
}

#[test]
fn examples_stay() {
    let files = [("docs/examples/a.yaml", cluster("a")), ("docs/examples/b.yaml", cluster("b"))];
    assert_eq!(moved(&files).0, Moving::default());
}

#[test]
fn what_applies_a_folder_must_reach_the_new_ones() {
    let files = |applier: String| {
        [("apps/fleet.yaml", applier), ("fleet/a.yaml", cluster("a")), ("fleet/b.yaml", cluster("b"))]
    };
    let app =
        |directory: &str| argo("Application", "fleet", &format!("  source:\n    path: fleet\n{directory}"));
    assert_eq!(
        refused(&files(app(""))),
        [
            "apps/fleet.yaml:1:1: the Application `fleet` of Argo CD applies only what is directly in fleet, and would delete what moves down: give its source `directory: {recurse: true}` without `include` and `exclude`, let Argo CD apply that, and run the command again"
        ]
    );
    assert_eq!(refused(&files(app("    directory: {recurse: true, include: '*.yaml'}\n"))).len(), 1);
    let deep = files(app("    directory: {recurse: true}\n"));
    let split = [deep[0].clone(), ("fleet/a/a.yaml", cluster("a")), ("fleet/b/b.yaml", cluster("b"))];
    check(&deep, &split, &["fleet/a", "fleet/b"]);
    let set = |pattern: &str| {
        let spec = format!("  generators:\n  - git:\n      directories:\n      - path: {pattern}\n");
        argo("ApplicationSet", "all", &spec)
    };
    assert_eq!(
        refused(&files(set("fleet/*"))),
        [
            "apps/fleet.yaml:1:1: the ApplicationSet `all` of Argo CD makes an Application of each folder that `fleet/*` matches, and would make one of fleet/a too: exclude the new folders from it first"
        ]
    );
    let by_flux = |ignored: &str| {
        let mut all = files(flux("fleet", "./fleet", "")).to_vec();
        all.push((".sourceignore", ignored.to_owned()));
        all
    };
    assert_eq!(
        refused(&by_flux("# all but\n/*\n!/fleet/\n*.md\nb\n")),
        [
            ".sourceignore:5: Flux leaves out what this pattern matches, and it may match a new folder of a cluster and not the one around it: write it so that it names no folder at that depth, or move the clusters by hand"
        ]
    );
    assert_eq!(told(&moved(&by_flux("/*\n!/fleet\n")).0), [""; 0]);
}

#[test]
fn a_repository_in_which_each_cluster_has_its_folder_has_nothing_to_move() {
    let files = [("fleet/a/cluster.yaml", cluster("a")), ("fleet/b/cluster.yaml", cluster("b"))];
    assert_eq!(moved(&files).0, Moving::default());
}
