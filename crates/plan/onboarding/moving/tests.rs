//! Repositories with crowded folders: a small tree in, the files that change out.

use std::sync::Arc;

use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_test_support::Files;

use super::facts::{MoveFacts, Moving};
use super::{AppliedBelow, RepositoryAddresses, differences};
use crate::layout::discover;
use crate::onboarding::propose;
use crate::onboarding::survey::Survey;
use crate::onboarding::tests::{APP, argo, cluster, flux, kustomization, named};
use crate::onboarding::units::Units;
use crate::settings::RepositorySettings;

const WORKERS: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: NAME-md-0\nspec:\n  clusterName: NAME\n  template:\n    spec:\n      infrastructureRef:\n        kind: AWSMachineTemplate\n        name: NAME-small\n";
const TEMPLATE: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata:\n  name: NAME\n";
const CLASS: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata:\n  name: quick\n";

/// What is planned where a person says that what applies a folder takes what is below it.
fn planned(tree: &dyn Tree) -> Moving {
    super::plan_moves(tree, &own(), AppliedBelow::Stated)
}

/// What is planned where the repository has to show it.
fn shown(files: &[(&str, String)]) -> Vec<String> {
    let texts: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    refusal_lines(&super::plan_moves(&Files::new(&texts), &own(), AppliedBelow::Shown))
}

/// This repository, as its checkout knows it.
fn own() -> RepositoryAddresses {
    RepositoryAddresses::of(["git@git.example.com:acme/fleet.git"])
}

/// The source of Flux that a Kustomization names.
fn git_repository(url: &str) -> (&'static str, String) {
    let source = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: flux-system}}\nspec: {{url: {url}}}\n"
    );
    ("flux/source.yaml", source)
}

fn joined(documents: &[&str]) -> String {
    documents.join("---\n")
}

/// What is planned for these files, and the files as they would be.
fn moved(files: &[(&str, String)]) -> (Moving, Vec<(String, String)>) {
    let texts: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let before = Files::new(&texts);
    let moving = planned(&before);
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
    assert_eq!(refusal_lines(&moving), [""; 0]);
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

fn refusal_lines(moving: &Moving) -> Vec<String> {
    moving.refused.iter().map(ToString::to_string).collect()
}

/// What is refused, and that then nothing would change.
fn refused(files: &[(&str, String)]) -> Vec<String> {
    let (moving, _) = moved(files);
    assert_eq!(moving.changes, []);
    refusal_lines(&moving)
}

/// What is refused, by the plan or by its proof.
fn disproved(files: &[(&str, String)]) -> Vec<String> {
    let (moving, after) = moved(files);
    let mut all = refusal_lines(&moving);
    if all.is_empty() {
        all.extend(differing(&moving, files, &after));
    }
    all
}

/// The differences that the proof finds between a repository before and after.
fn differing(moving: &Moving, before: &[(&str, String)], after: &[(String, String)]) -> Vec<String> {
    let before: Vec<(&str, &str)> = before.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let after: Vec<(&str, &str)> = after.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let found = differences(&Files::new(&before), &Files::new(&after), moving);
    found.iter().map(ToString::to_string).collect()
}

/// Files of which one is too large to be read.
struct WithLarge(Files, &'static str);

impl WithLarge {
    fn of(files: &[(&str, String)], large: &'static str) -> Self {
        let texts: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        Self(Files::new(&texts), large)
    }
}

impl Tree for WithLarge {
    fn entries(&self) -> &[TreeEntry] {
        self.0.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        if entry.path.as_str() == self.1 {
            return Err(Unreadable { path: entry.path.clone(), reason: "too large".to_owned() });
        }
        self.0.read(entry)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.0.folder_id(folder)
    }
}

/// What is refused where one of the files is too large.
fn refusals_with_large(files: &[(&str, String)], large: &'static str) -> Vec<String> {
    let moving = planned(&WithLarge::of(files, large));
    assert_eq!(moving.changes, []);
    refusal_lines(&moving)
}

#[test]
fn what_applies_the_folder_where_files_arrive_is_refused() {
    let files = |applier: String| {
        [
            ("apps/applier.yaml", applier),
            ("clusters/a.yaml", cluster("a")),
            ("clusters/a/apps.yaml", APP.to_owned()),
            ("clusters/b.yaml", cluster("b")),
        ]
    };
    let added = "clusters/a: after the move, what is applied from here would differ, so nothing is moved: Cluster a would be added";
    let there = "clusters/a/apps.yaml: this is in the folder that `a` would get, and what applies it would apply the cluster too: move or remove it first";
    let own = files(flux("own", "./clusters/a", "  prune: true\n"));
    assert_eq!(disproved(&own), [there]);
    let mut built = own.to_vec();
    built.push(("clusters/kustomization.yaml", kustomization("resources: [a.yaml, b.yaml]\n")));
    assert_eq!(disproved(&built), [there]);
    let app = |more: &str| {
        argo("Application", "own", &format!("  source: {{repoURL: x, path: clusters/a{more}}}\n"))
    };
    assert_eq!(
        disproved(&files(app(""))),
        [
            "apps/applier.yaml:1:1: the Application `own` of Argo CD applies clusters/a, where files of a cluster would arrive: move the clusters by hand, or let it apply another folder first",
            there
        ]
    );
    assert_eq!(disproved(&files(app(", directory: {recurse: true}"))), [there]);
    // A folder without manifests is one, too.
    let mut empty = own.to_vec();
    empty[2] = ("clusters/a/notes.md", "soon\n".to_owned());
    assert_eq!(disproved(&empty), [added]);
    let top = [
        ("clusters/one/cluster.yaml", cluster("one")),
        ("clusters/two/cluster.yaml", cluster("two")),
        ("flux/clusters.yaml", flux("clusters", "./clusters", "")),
        ("top.yaml", cluster("top")),
    ];
    assert_eq!(
        disproved(&top),
        [
            "clusters: after the move, what is applied from here would differ, so nothing is moved: Cluster top would be added"
        ]
    );
    // A generator of files makes an Application of the folder around each.
    let set = "  generators: [{git: {repoURL: x, files: [{path: 'clusters/*/config.json'}]}}]\n  template: {spec: {source: {repoURL: x, path: '{{path}}'}}}\n";
    let mut generated = files(argo("ApplicationSet", "own", set)).to_vec();
    generated.push(("clusters/a/config.json", "{}\n".to_owned()));
    assert_eq!(
        disproved(&generated),
        [
            "apps/applier.yaml:1:1: the ApplicationSet `own` of Argo CD applies clusters/a, where files of a cluster would arrive: move the clusters by hand, or let it apply another folder first",
            there
        ]
    );
}

#[test]
fn what_cannot_be_rendered_before_is_refused() {
    let files = [
        (".sourceignore", ".capstan.yaml\n".to_owned()),
        ("docs/large.yaml", "x: y\n".to_owned()),
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b.yaml", cluster("b")),
        ("flux/all.yaml", flux("all", "./", "")),
    ];
    let before = WithLarge::of(&files, "docs/large.yaml");
    let moving = planned(&before);
    assert_eq!(refusal_lines(&moving), [""; 0]);
    let mut after = files.clone();
    (after[2].0, after[3].0) = ("fleet/a/a.yaml", "fleet/b/b.yaml");
    assert_eq!(differences(&before, &WithLarge::of(&after, "docs/large.yaml"), &moving), []);
    let told: Vec<String> = differences(&before, &WithLarge::of(&after[..3], "docs/large.yaml"), &moving)
        .iter()
        .map(ToString::to_string)
        .collect();
    let missing = "after the move, what is applied from here would differ, so nothing is moved: Cluster b would be missing";
    assert!(told.len() == 2 && told.iter().all(|told| told.ends_with(missing)), "{told:?}");

    let links = Files::new(&[
        ("fleet/a.yaml", &cluster("a")),
        ("fleet/b.yaml", &cluster("b")),
        ("fleet/kustomization.yaml", "../base/fleet.yaml"),
    ]);
    let moving = planned(&links.with_kind("fleet/kustomization.yaml", EntryKind::Symlink));
    assert_eq!(
        moving.refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "fleet/kustomization.yaml: this kustomization is a symbolic link or cannot be read, so Capstan cannot tell whether it builds what would move: replace it by the file that it leads to"
        ]
    );

    let remote = "resources: [../fleet/b-workers.yaml, 'https://github.com/kubernetes-sigs/kustomize//examples/multibases?ref=v1.0.6']\n";
    let told = disproved(&[
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b-workers.yaml", joined(&[&named(WORKERS, "b"), &named(TEMPLATE, "b-small")])),
        ("fleet/b.yaml", cluster("b")),
        ("fleet/kustomization.yaml", kustomization("resources: [a.yaml, b.yaml, b-workers.yaml]\n")),
        ("other/kustomization.yaml", kustomization(remote)),
    ]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with(
            "other/kustomization.yaml: Capstan cannot render this, so it cannot prove that the move changes nothing here: "
        ),
        "{told:?}"
    );
}

#[test]
fn one_source_of_several_that_takes_only_its_folder_is_enough() {
    let files = |sources: &str| {
        [
            ("apps/fleet.yaml", argo("Application", "fleet", sources)),
            ("fleet/a.yaml", cluster("a")),
            ("fleet/b.yaml", cluster("b")),
        ]
    };
    let told = refused(&files(
        "  sources:\n  - {repoURL: x, path: fleet}\n  - {repoURL: x, path: other, directory: {recurse: true}}\n",
    ));
    assert_eq!(
        told,
        [
            "apps/fleet.yaml:1:1: the Application `fleet` of Argo CD applies only what is directly in fleet, and would delete what moves down: give each of its sources `directory: {recurse: true}` without `include` and `exclude`, let Argo CD apply that, and run the command again"
        ]
    );
    let deep = "{repoURL: x, path: fleet, directory: {recurse: true}}";
    let both = format!("  sources:\n  - {deep}\n  - {}\n", deep.replace("fleet", "other"));
    assert_eq!(disproved(&files(&both)), [""; 0]);
}

#[test]
fn paths_that_are_filled_in_may_be_any_that_fit() {
    let files = |path: &str| {
        let spec = format!(
            "  generators: [{{git: {{repoURL: x, directories: [{{path: 'apps/*'}}]}}}}]\n  template: {{spec: {{source: {{repoURL: x, path: '{path}'}}}}}}\n"
        );
        [
            ("apps/x/fleet/a.yaml", cluster("a")),
            ("apps/x/fleet/b.yaml", cluster("b")),
            ("argo/apps.yaml", argo("ApplicationSet", "apps", &spec)),
        ]
    };
    for path in ["{{path}}/fleet", "apps/{{ .path.basename }}/fleet"] {
        let told = refused(&files(path));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with(
                "argo/apps.yaml:1:1: the ApplicationSet `apps` of Argo CD applies only what is directly in apps/x/fleet, "
            ),
            "{told:?}"
        );
    }
    assert_eq!(disproved(&files("{{path}}/other")), [""; 0]);
    let variable = flux("fleet", "./apps/${name}", "");
    let mut by_flux = files("{{path}}/other").to_vec();
    by_flux.push(("flux/apps.yaml", variable));
    assert_eq!(
        refused(&by_flux),
        [
            "flux/apps.yaml:1:1: the path of this Kustomization of Flux is filled in, so Capstan cannot tell which folder it applies: move the clusters by hand"
        ]
    );
}

#[test]
fn files_that_a_generator_reads_stay_where_they_are() {
    for (path, read) in [("fleet/a.yaml", "fleet/a.yaml"), ("'fleet/*/*.yaml'", "fleet/a/a.yaml")] {
        let spec = format!("  generators: [{{git: {{repoURL: x, files: [{{path: {path}}}]}}}}]\n");
        let told = refused(&[
            ("apps/fleet.yaml", argo("ApplicationSet", "fleet", &spec)),
            ("fleet/a.yaml", cluster("a")),
            ("fleet/b.yaml", cluster("b")),
        ]);
        assert_eq!(told.len(), 1, "{told:?}");
        let said = format!(
            "apps/fleet.yaml:1:1: the ApplicationSet `fleet` of Argo CD reads {read}, which would move or change: "
        );
        assert!(told[0].starts_with(&said), "{told:?}");
    }
}

#[test]
fn a_move_reads_dot_folders_and_refuses_what_it_cannot_read() {
    let files = |path: &'static str, text: String| {
        [(path, text), ("fleet/a.yaml", cluster("a")), ("fleet/b.yaml", cluster("b"))]
    };
    let app = argo("Application", "fleet", "  source: {repoURL: x, path: fleet}\n");
    let told = refused(&files(".argocd/apps.yaml", app.clone()));
    assert!(told.len() == 1 && told[0].starts_with(".argocd/apps.yaml:1:1: "), "{told:?}");
    let (moving, _) =
        moved(&files(".gitops/kustomization.yaml", kustomization("resources: [../fleet/a.yaml]\n")));
    assert_eq!(moving.edited, [RepoPath::parse(".gitops/kustomization.yaml").unwrap()]);

    let many: String = (0..101).map(|at| format!("  - {{repoURL: x, path: p{at}}}\n")).collect();
    let told = refused(&files("apps/many.yaml", argo("Application", "m", &format!("  sources:\n{many}"))));
    assert_eq!(
        told,
        [
            "apps/many.yaml:1:1: this object names more than 100 paths, which is the limit: move the clusters by hand"
        ]
    );
    let many: Vec<String> = (0..2001).map(|at| flux(&format!("k{at}"), "./other", "")).collect();
    let told = refused(&files("apps/many.yaml", many.join("---\n")));
    assert_eq!(
        told,
        [
            "apps/many.yaml:14001:1: 2000 objects apply folders, which is the limit, and Capstan did not look at this one: move the clusters by hand"
        ]
    );
    let told = refused(&files("apps/broken.yaml", format!("{app}  x: {{\n")));
    assert!(
        told.len() == 1
            && told[0].contains("this file may say what Flux or Argo CD applies, but Capstan cannot read it"),
        "{told:?}"
    );
    let broken = kustomization("resources: [../fleet/a.yaml\n");
    assert_eq!(
        refused(&files("other/kustomization.yaml", broken)),
        [
            "other/kustomization.yaml: Capstan cannot read this kustomization, which mentions a file that would move: correct it, and run the command again"
        ]
    );
}

/// The limit of files itself is too high for a test.
#[test]
fn a_survey_that_stopped_early_proves_nothing() {
    let files = Files::new(&[("fleet/a.yaml", &cluster("a")), ("fleet/b.yaml", &cluster("b"))]);
    let mut moving = planned(&files);
    let place = Place::whole(RepoPath::parse("z.yaml").unwrap());
    let unfinished = FileError::new(rules::CLUSTER_OUTSIDE, place, "too many files");
    let own = own();
    let facts = MoveFacts {
        tree: &files,
        own: &own,
        shaped: discover(&files, &RepositorySettings::default()),
        survey: Survey { unfinished: Some(unfinished), ..Survey::default() },
        units: Units::default(),
        base: RepoPath::root(),
    };
    moving.refuse_unread_files(&facts);
    assert_eq!(refusal_lines(&moving), ["z.yaml: too many files"]);
}

#[test]
fn what_flux_leaves_out_is_known_without_its_kustomization() {
    let files = |path: &'static str, text: &str| {
        [("fleet/a.yaml", cluster("a")), ("fleet/b.yaml", cluster("b")), (path, text.to_owned())]
    };
    let source = |ignored: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: fleet}}\nspec:\n  ignore: |\n    /*\n    !/fleet\n{ignored}"
        )
    };
    let refusal = |place: &str| {
        format!(
            "{place}: Flux leaves out what this pattern matches, and it may match a new folder of a cluster and not the one around it: write it so that it names no folder at that depth, or move the clusters by hand"
        )
    };
    assert_eq!(
        refused(&files("flux/source.yaml", &source("    !/fleet/*.yaml\n"))),
        [refusal("flux/source.yaml:1:1")]
    );
    assert_eq!(disproved(&files("flux/source.yaml", &source(""))), [""; 0]);
    assert_eq!(refused(&files(".sourceignore", "# of b\nb\n")), [refusal(".sourceignore:2")]);
    assert_eq!(
        refused(&files("fleet/a/.sourceignore", "# all\n\n*.yaml\n")),
        [refusal("fleet/a/.sourceignore:3")]
    );
}

#[test]
fn an_object_without_a_name_stays_and_does_not_go_with_its_neighbour() {
    let machine = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Machine\nmetadata: {generateName: b-}\nspec: {clusterName: b}\n";
    let files = [("fleet/a.yaml", joined(&[&cluster("a"), machine])), ("fleet/b.yaml", cluster("b"))];
    let (moving, after) = moved(&files);
    assert_eq!(refusal_lines(&moving), [""; 0]);
    assert_eq!(
        after,
        [
            ("fleet/a.yaml".to_owned(), format!("---\n{machine}")),
            ("fleet/a/a.yaml".to_owned(), cluster("a")),
            ("fleet/b/b.yaml".to_owned(), cluster("b")),
        ]
    );
    for name in ["name: 1", "name: true", "generateName: b-"] {
        let list = format!(
            "apiVersion: v1\nkind: List\nitems:\n- {{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineSet, metadata: {{name: first}}, spec: {{clusterName: a}}}}\n- {{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineSet, metadata: {{{name}}}, spec: {{clusterName: b}}}}\n"
        );
        assert_eq!(
            refused(&[
                ("fleet/a.yaml", cluster("a")),
                ("fleet/b.yaml", cluster("b")),
                ("fleet/list.yaml", list)
            ]),
            [
                "fleet/list.yaml:5:3: this object of a list has no name, so Capstan cannot tell whose it is: write it as a document of its own, after a line `---`"
            ]
        );
    }
}

#[test]
fn a_link_to_a_folder_that_files_leave_is_refused() {
    let tree = Files::new(&[
        ("apps/kustomization.yaml", &kustomization("resources: [../prod/a.yaml]\n")),
        ("fleet/a.yaml", &cluster("a")),
        ("fleet/b.yaml", &cluster("b")),
        ("prod", "fleet"),
    ]);
    let moving = planned(&tree.with_kind("prod", EntryKind::Symlink));
    assert_eq!(moving.changes, []);
    assert_eq!(
        refusal_lines(&moving),
        [
            "prod: this is a symbolic link to fleet, where files would move or change, and Capstan does not look at what uses the link: replace the link by what needs the files, or remove it"
        ]
    );
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
        (".sourceignore", ".capstan.yaml\n".to_owned()),
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
            files[0].clone(),
            ("clusters/top/top.yaml", cluster("top")),
            files[1].clone(),
            ("fleet/outer/outer.yaml", cluster("outer")),
            files[3].clone(),
            files[4].clone(),
            files[5].clone(),
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
    // An alias of another document is not valid YAML, so such a file names no cluster.
    let told = refused(&[("fleet/all.yaml", anchored.to_owned())]);
    assert!(
        told.len() == 1 && told[0].starts_with("fleet/all.yaml:9:7: this file mentions a cluster"),
        "{told:?}"
    );
    let among = |path: &'static str, text: &str| {
        [(path, text.to_owned()), ("fleet/b.yaml", cluster("b")), ("fleet/c.yaml", cluster("c"))]
    };
    let told = refused(&among("fleet/all.yaml", anchored));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("fleet/all.yaml:9:7: this file mentions a cluster, but Capstan cannot read it: "),
        "{told:?}"
    );
    let broken = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineSet\nspec: {\n";
    for path in ["fleet/b-workers.yaml", "fleet/sub/b-workers.yaml"] {
        let told = refused(&among(path, broken));
        let of_path = |told: &String| told.starts_with(&format!("{path}:"));
        assert!(told.len() == 1 && told.iter().all(of_path), "{told:?}");
    }
    assert_eq!(
        refusals_with_large(&among("fleet/b-workers.yaml", "{}\n"), "fleet/b-workers.yaml"),
        [
            "fleet/b-workers.yaml: Capstan cannot read this file, so it cannot tell to which cluster it belongs: too large. Move the clusters of this folder by hand"
        ]
    );
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
    let moving = planned(&tree);
    assert_eq!(moving.changes, []);
    assert_eq!(
        refusal_lines(&moving),
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
            "fleet/a/a.yaml: this is in the folder that `a` would get, and what applies it would apply the cluster too: move or remove it first",
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
    assert_eq!(refusal_lines(&moving), [""; 0]);
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
            "apps/fleet.yaml:1:1: the Application `fleet` of Argo CD applies all manifests below fleet, and the new folders get kustomizations, which it would take for manifests: give it a kustomization instead first, or move the clusters by hand"
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
            "apps/fleet.yaml:1:1: the Application `fleet` of Argo CD applies only what is directly in fleet, and would delete what moves down: give each of its sources `directory: {recurse: true}` without `include` and `exclude`, let Argo CD apply that, and run the command again"
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
    assert_eq!(refusal_lines(&moved(&by_flux("/*\n!/fleet\n")).0), [""; 0]);
}

#[test]
fn a_repository_in_which_each_cluster_has_its_folder_has_nothing_to_move() {
    let files = [("fleet/a/cluster.yaml", cluster("a")), ("fleet/b/cluster.yaml", cluster("b"))];
    assert_eq!(moved(&files).0, Moving::default());
}

#[test]
fn the_repository_has_to_show_that_what_applies_a_folder_takes_what_is_below_it() {
    let clusters = [("fleet/a.yaml", cluster("a")), ("fleet/b.yaml", cluster("b"))];
    let with = |more: &[(&'static str, String)]| [&clusters[..], more].concat();
    let unseen = "fleet/a.yaml: nothing in this repository shows that what applies fleet takes its subfolders, too, and if it does not, it deletes the clusters that move down: commit the Flux Kustomization of this folder and its GitRepository, or its Argo CD Application with `directory: {recurse: true}`, first. The URL of its source must be a remote of this checkout (`git remote -v`). If you know that all that applies it takes its subfolders, run `capstan init --write --move --applied-below`";
    let app = |path: &str, more: &str| {
        let source =
            format!("  source: {{repoURL: 'https://git.example.com/acme/fleet', path: {path}{more}}}\n");
        argo("Application", "fleet", &source)
    };
    let deep = ", directory: {recurse: true}";
    let ours = git_repository("ssh://git@git.example.com/acme/fleet");
    for more in [
        vec![],
        vec![("flux/fleet.yaml", flux("other", "./other", ""))],
        vec![(
            "flux/fleet.yaml",
            flux("fleet", "./fleet", "").replace("kind: GitRepository", "kind: OCIRepository"),
        )],
        // Flux builds the kustomization, which does not take the folder.
        vec![
            ("flux/fleet.yaml", flux("all", "./", "")),
            ("kustomization.yaml", kustomization("resources: [flux]\n")),
        ],
        // The object is in a chart, which only Helm renders.
        vec![
            ("apps/Chart.yaml", "name: apps\n".to_owned()),
            ("apps/templates/fleet.yaml", app("fleet", deep)),
        ],
        // A patch may set another path.
        vec![
            ("apps/fleet.yaml", app("fleet", deep)),
            (
                "apps/kustomization.yaml",
                kustomization("resources: [fleet.yaml]\npatches: [{path: patch.yaml}]\n"),
            ),
        ],
        vec![
            ("flux/apps.yaml", flux("apps", "./apps", "  patches: []\n")),
            ("apps/fleet.yaml", app("fleet", deep)),
        ],
        vec![
            ("apps/base/fleet.yaml", flux("fleet", "./fleet", "")),
            ("apps/base/kustomization.yaml", kustomization("resources: [fleet.yaml]\n")),
            ("apps/kustomization.yaml", kustomization("resources: [base]\nreplacements: []\n")),
        ],
    ] {
        assert_eq!(shown(&with(&[&more[..], std::slice::from_ref(&ours)].concat())), [unseen], "{more:?}");
    }
    // What applies this folder of another repository, of one that nothing here names, or nothing until it is resumed.
    let of_flux = |more: &str, source: &[(&'static str, String)]| {
        shown(&with(&[&[("flux/fleet.yaml", flux("fleet", "./fleet", more))], source].concat()))
    };
    assert_eq!(of_flux("", std::slice::from_ref(&ours)), [""; 0]);
    assert_eq!(of_flux("", &[]), [unseen]);
    assert_eq!(of_flux("", &[git_repository("https://git.example.com/acme/podinfo")]), [unseen]);
    assert_eq!(of_flux("", &[git_repository("https://mirror.example.com/acme/fleet")]), [unseen]);
    assert_eq!(of_flux("  suspend: true\n", std::slice::from_ref(&ours)), [unseen]);
    assert_eq!(of_flux("  suspend: false\n", std::slice::from_ref(&ours)), [""; 0]);
    let other = app("fleet", deep).replace("acme/fleet'", "acme/podinfo'");
    assert_eq!(shown(&with(&[("apps/fleet.yaml", other)])), [unseen]);
    for more in [
        vec![("flux/fleet.yaml", flux("fleet", "./fleet", ""))],
        vec![(".sourceignore", ".capstan.yaml\n".to_owned()), ("flux/fleet.yaml", flux("all", "./", ""))],
        vec![("apps/fleet.yaml", app("fleet", deep))],
        vec![("apps/fleet.yaml", app(".", deep))],
        // A kustomization that does not reach into specs.
        vec![
            ("apps/fleet.yaml", app("fleet", deep)),
            ("apps/kustomization.yaml", kustomization("namespace: argocd\nresources: [fleet.yaml]\n")),
        ],
        // What builds the folder builds it as before.
        vec![("fleet/kustomization.yaml", kustomization("resources: [a.yaml, b.yaml]\n"))],
        // A kustomization elsewhere, itself applied.
        vec![
            ("all/kustomization.yaml", kustomization("resources: [../fleet/a.yaml, ../fleet/b.yaml]\n")),
            ("flux/all.yaml", flux("all", "./all", "")),
        ],
        vec![
            ("all/kustomization.yaml", kustomization("resources: [../fleet/a.yaml, ../fleet/b.yaml]\n")),
            ("all.yaml", app("top", "")),
            ("top/kustomization.yaml", kustomization("resources: [../all]\n")),
        ],
    ] {
        assert_eq!(shown(&with(&[&more[..], std::slice::from_ref(&ours)].concat())), [""; 0], "{more:?}");
    }
    let of_others = |kustomization: String| shown(&with(&[("all/kustomization.yaml", kustomization)]));
    assert_eq!(of_others(kustomization("resources: [../fleet/a.yaml, ../fleet/b.yaml]\n")), [unseen]);
    let root = shown(&[("a.yaml", cluster("a")), ("b.yaml", cluster("b"))]);
    assert!(root.len() == 1 && root[0].contains("that what applies the repository's root takes"), "{root:?}");
}

#[test]
fn a_source_that_reads_files_does_not_build_the_kustomization() {
    for more in ["directory: {}", "directory: {recurse: true}", "plugin: {name: vault}"] {
        let told = refused(&[
            (
                "apps/fleet.yaml",
                argo("Application", "fleet", &format!("  source: {{repoURL: x, path: fleet, {more}}}\n")),
            ),
            ("fleet/a.yaml", cluster("a")),
            ("fleet/b.yaml", cluster("b")),
            ("fleet/kustomization.yaml", kustomization("resources: [a.yaml, b.yaml]\n")),
        ]);
        assert_eq!(
            told,
            [
                "apps/fleet.yaml:1:1: the Application `fleet` of Argo CD reads the files of fleet, since its source says `directory` or `plugin`, and does not build the kustomization there: remove that from its source, let Argo CD apply that, and run the command again"
            ],
            "{more}"
        );
    }
}

#[test]
fn applicationsets_that_are_not_understood_are_refused() {
    let files = |generators: &str, source: &str, more: &str| {
        let spec = format!(
            "  generators: [{generators}]\n  template: {{spec: {{source: {{repoURL: x, {source}}}}}}}\n{more}"
        );
        disproved(&[
            ("apps/all.yaml", argo("ApplicationSet", "all", &spec)),
            ("fleet/a.yaml", cluster("a")),
            ("fleet/b.yaml", cluster("b")),
        ])
    };
    let of_folders = "{git: {repoURL: x, directories: [{path: 'fl*'}, {path: fleet, exclude: true}]}}";
    let deep = "path: '{{path}}', directory: {recurse: true}";
    let here = "path: '{{path}}'";
    let one = "apps/all.yaml:1:1: the ApplicationSet `all` of Argo CD applies only what is directly in fleet, and would delete";
    let several = "apps/all.yaml:1:1: the ApplicationSet `all` of Argo CD has several generators that read Git, and one of them may take what would move: move the clusters by hand";
    assert_eq!(files(of_folders, here, ""), [""; 0]);
    assert_eq!(files(&[of_folders; 2].join(", "), here, ""), [several]);
    let elsewhere = "{git: {repoURL: x, directories: [{path: 'o*'}]}}";
    assert_eq!(files(&[elsewhere; 2].join(", "), here, ""), [""; 0]);
    for (generators, source, more) in [
        ("{git: {repoURL: x, directories: [{path: '{fleet,other}'}]}}", here, ""),
        // The list gives one name, and Git may give others.
        (
            "{matrix: {generators: [{git: {repoURL: x, files: [{path: 'x/*.json'}]}}, {list: {elements: [{name: x}]}}]}}",
            "path: '{{name}}'",
            "",
        ),
        ("{list: {elements: []}}", here, ""),
        ("{list: {elementsYaml: 'x'}}", deep, ""),
        ("{plugin: {configMapRef: {name: x}}}", deep, ""),
        (of_folders, deep, "  templatePatch: 'x'\n"),
        ("{clusters: {}}", "path: '${DIR}'", ""),
        ("{clusters: {}}", "path: 'fl<<x>>'", ""),
    ] {
        let told = files(generators, source, more);
        assert!(!told.is_empty() && told.iter().any(|told| told.starts_with(one)), "{generators} {told:?}");
    }
}

#[test]
fn what_may_read_a_file_by_its_name_keeps_it() {
    let files = |more: &[(&'static str, String)]| {
        let clusters = [("fleet/a.yaml", cluster("a")), ("fleet/b.yaml", cluster("b"))];
        refused(&[&clusters[..], more].concat())
    };
    assert_eq!(
        files(&[("fleet/Chart.yaml", "name: fleet\n".to_owned())]),
        [
            "fleet/a.yaml: this file is in the Helm chart of fleet, which may read it by its path: move the clusters by hand",
            "fleet/b.yaml: this file is in the Helm chart of fleet, which may read it by its path: move the clusters by hand",
        ]
    );
    let generator = "kind: Generator\nfiles: [../fleet/b.yaml]\n";
    let said = |at: &str| {
        format!(
            "shown/kustomization.yaml:{at}: this kustomization uses a text that mentions b.yaml, and fleet/b.yaml would move: move the clusters by hand"
        )
    };
    assert_eq!(
        files(&[
            ("shown/generator.yaml", generator.to_owned()),
            ("shown/kustomization.yaml", kustomization("generators: [generator.yaml]\n")),
        ]),
        [said("3:14")]
    );
    let inline = "transformers:\n- |\n  kind: Replaces\n  files: [../fleet/b.yaml]\n";
    assert_eq!(files(&[("shown/kustomization.yaml", kustomization(inline))]), [said("4:3")]);
}

#[test]
fn a_comment_of_an_item_that_would_go_is_not_lost() {
    let files = |comment: &str| {
        [
            ("fleet/a-workers.yaml", joined(&[&named(WORKERS, "a"), &named(TEMPLATE, "a-small")])),
            ("fleet/a.yaml", cluster("a")),
            ("fleet/b.yaml", cluster("b")),
            (
                "fleet/kustomization.yaml",
                kustomization(&format!("resources:\n- a.yaml # a\n{comment}- b.yaml\n")),
            ),
        ]
    };
    let said = "fleet/kustomization.yaml:LINE:3: this item would be removed, since another one already names the cluster's folder, and its comment with it: move or remove the comment, and run the command again";
    assert_eq!(refused(&files("- a-workers.yaml # small\n")), [said.replace("LINE", "5")]);
    assert_eq!(refused(&files("# small\n- a-workers.yaml\n")), [said.replace("LINE", "6")]);
    assert_eq!(disproved(&files("- a-workers.yaml\n")), [""; 0]);
}

#[test]
fn clusters_of_one_name_and_names_of_examples() {
    let one = |path: &'static str| {
        [
            ("clusters/one.yaml", cluster("one")),
            ("clusters/two.yaml", cluster("two")),
            (path, cluster("one")),
            ("three.yaml", cluster("three")),
        ]
    };
    assert_eq!(
        refused(&one("root.yaml")),
        [
            "clusters/one: two clusters would get this folder, and a cluster is a folder: move one of them by hand"
        ]
    );
    assert_eq!(
        refused(&[("fleet/a.yaml", cluster("a")), ("fleet/test.yaml", cluster("test"))]),
        [
            "fleet/test: Capstan treats what is below a folder `test` as an example, unless something here applies it, so it would not find the cluster `test` there: move this cluster by hand, and add its folder to `clusters.paths`"
        ]
    );
}

#[test]
fn what_selects_clusters_is_everybodys() {
    let proxy = "apiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata: {name: a}\nspec: {clusterSelector: {}}\n";
    let (moving, _) =
        moved(&[("fleet/a.yaml", joined(&[&cluster("a"), proxy])), ("fleet/b.yaml", cluster("b"))]);
    assert_eq!(refusal_lines(&moving), [""; 0]);
    assert_eq!(moving.kept[0].1, "HelmChartProxy a, which any cluster may use");
}

#[test]
fn release_folders_and_names_that_are_not_text_are_read_too() {
    let app = argo("Application", "fleet", "  source: {repoURL: x, path: fleet}\n");
    let texts = [
        ("aws/v1.0.0/base/app.yaml", app),
        ("aws/v1.0.0/base/cluster.yaml", cluster("${CLUSTER_NAME}")),
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b.yaml", cluster("b")),
    ];
    let told = refused(&texts);
    assert!(
        told.len() == 1
            && told[0]
                .starts_with("aws/v1.0.0/base/app.yaml:1:1: the Application `fleet` of Argo CD applies only"),
        "{told:?}"
    );
    let files = Files::new(&[("fleet/a.yaml", &cluster("a")), ("fleet/b.yaml", &cluster("b")), ("x", "")]);
    let moving = planned(&files.with_kind("x", EntryKind::Unnamed));
    assert_eq!(
        refusal_lines(&moving),
        [
            "x: Capstan cannot read what has this name, since it is not UTF-8 or holds a backslash, so it cannot tell whether it applies or builds what would move: rename it, and run the command again"
        ]
    );
    let composed = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: x}\nspec: {include: [{repository: {name: y}}]}\n";
    assert_eq!(
        refused(&[
            ("fleet/a.yaml", cluster("a")),
            ("fleet/b.yaml", cluster("b")),
            ("x.yaml", composed.to_owned())
        ]),
        [
            "x.yaml:1:1: Flux composes a source of several here, so Capstan cannot tell where the files of this repository are in it: move the clusters by hand"
        ]
    );
}

#[test]
fn flux_must_not_take_the_settings_for_a_manifest() {
    let files = [
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b.yaml", cluster("b")),
        ("flux/all.yaml", flux("all", "./", "")),
    ];
    assert_eq!(
        refused(&files),
        [
            "flux/all.yaml:1:1: this Kustomization of Flux applies every manifest below the repository's root, and would fail on .capstan.yaml, which has no kind: add the line `.capstan.yaml` to .sourceignore, commit it, and run the command again"
        ]
    );
    for there in [".capstan.yaml", ".sourceignore"] {
        let with = [&[(there, ".capstan.yaml\n".to_owned())][..], &files[..]].concat();
        assert_eq!(disproved(&with), [""; 0]);
    }
    // The root of another repository is not ours.
    let of = |url: &str| refusal_lines(&moved(&[&files[..], &[git_repository(url)]].concat()).0).len();
    assert_eq!(of("https://git.example.com/acme/podinfo"), 0);
    assert_eq!(of("https://mirror.example.com/acme/fleet"), 1);
}

#[test]
fn an_executable_manifest_stays() {
    let files = Files::new(&[("fleet/a.yaml", &cluster("a")), ("fleet/b.yaml", &cluster("b"))]);
    let moving = planned(&files.with_kind("fleet/b.yaml", EntryKind::Executable));
    assert_eq!(
        refusal_lines(&moving),
        [
            "fleet/b.yaml: this file is executable, and the new one would not be: a manifest need not be (`git update-index --chmod=-x`), or move the clusters by hand"
        ]
    );
}

/// Machines that are not part of the folder's move, wherever they are.
#[test]
fn machines_that_would_stay_behind_are_named() {
    let clusters = [("fleet/a.yaml", cluster("a")), ("fleet/b.yaml", cluster("b"))];
    let workers = named(WORKERS, "a");
    let with = |more: &[(&'static str, String)]| refused(&[&clusters[..], more].concat());
    let said = |place: &str, entry: &str| {
        format!(
            "{place}: MachineDeployment a-md-0 belongs to the cluster `a`, which would move to fleet/a without it: move this file{entry} to fleet first, so that it moves too, or move the cluster by hand"
        )
    };
    let kustomized = |folder: &str| {
        let listed = kustomization("resources: [md.yaml]\n");
        [(format!("{folder}/md.yaml"), workers.clone()), (format!("{folder}/kustomization.yaml"), listed)]
    };
    for folder in ["fleet/workers", "fleet/x/z", "elsewhere/x"] {
        let files = kustomized(folder);
        let files: Vec<(&str, String)> =
            files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
        let all = [&clusters.clone().map(|(path, text)| (path as &str, text))[..], &files].concat();
        let entry = format!(" with its entry in {folder}/kustomization.yaml");
        assert_eq!(refused(&all), [said(&format!("{folder}/md.yaml:1:1"), &entry)]);
    }
    for place in ["fleet/.workers/md.yaml", "workers/md.yaml", "md.yaml"] {
        assert_eq!(with(&[(place, format!("---\n{workers}"))]), [said(&format!("{place}:2:1"), "")]);
    }
    // Below the folder they move; in the cluster's own folder they are there already.
    for place in ["fleet/x/md.yaml", "fleet/a/md.yaml"] {
        assert_eq!(disproved(&[&clusters[..], &[(place, workers.clone())]].concat()), [""; 0], "{place}");
    }
    // A label says it too, and the cluster names its control plane.
    let labelled = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: cp\n";
    let label = "  labels: {cluster.x-k8s.io/cluster-name: b}\n";
    let told = with(&[("cp/cp.yaml", format!("{labelled}{label}"))]);
    assert!(
        told.len() == 1 && told[0].contains("KubeadmControlPlane cp belongs to the cluster `b`"),
        "{told:?}"
    );
    let named_there = cluster("a") + "spec:\n  controlPlaneRef: {kind: KubeadmControlPlane, name: cp}\n";
    let of_reference =
        [("fleet/a.yaml", named_there), clusters[1].clone(), ("cp/cp.yaml", labelled.to_owned())];
    let told = refused(&of_reference);
    assert!(told.len() == 1 && told[0].starts_with("cp/cp.yaml:1:1: KubeadmControlPlane cp"), "{told:?}");
}

#[test]
fn machines_of_other_clusters_and_examples_stay_where_they_are() {
    let elsewhere = cluster("a").replace("metadata:\n", "metadata:\n  namespace: other\n");
    let of_other = named(WORKERS, "a").replace("metadata:\n", "metadata:\n  namespace: other\n");
    let here = |name: &str| cluster(name).replace("metadata:\n", "metadata:\n  namespace: here\n");
    for more in [
        // A cluster of that name is beside them.
        vec![("staging/a/cluster.yaml", cluster("a")), ("staging/a/md.yaml", named(WORKERS, "a"))],
        vec![("other/cluster.yaml", elsewhere), ("workers/md.yaml", of_other)],
        vec![("docs/md.yaml", named(WORKERS, "a"))],
        vec![("aws/v1.0.0/base/md.yaml", named(WORKERS, "a"))],
        vec![("workers/md.yaml", named(WORKERS, "c"))],
    ] {
        let files = [&[("fleet/a.yaml", here("a")), ("fleet/b.yaml", here("b"))][..], &more].concat();
        assert_eq!(disproved(&files), [""; 0], "{more:?}");
    }
}

/// A `GitRepository` of Flux that takes only some folders.
#[test]
fn a_source_that_takes_some_folders_has_to_take_the_new_ones() {
    let source = |folders: &str| {
        let (path, text) = git_repository("https://git.example.com/acme/fleet");
        (path, text.replace("acme/fleet}", &format!("acme/fleet, sparseCheckout: [{folders}]}}")))
    };
    let told = |folders: &str, more: &[(&'static str, String)]| {
        let files = [
            ("fleet/a.yaml", cluster("a")),
            ("fleet/b.yaml", cluster("b")),
            ("flux/fleet.yaml", flux("fleet", "./fleet", "")),
            source(folders),
        ];
        shown(&[&files[..], more].concat())
    };
    assert_eq!(told("fleet", &[]), [""; 0]);
    assert_eq!(told("./fleet/, other", &[]), [""; 0]);
    assert_eq!(
        told("other", &[]),
        [
            "fleet/a.yaml: the GitRepository at flux/source.yaml:1:1 takes only the folders of its `sparseCheckout`, which does not name fleet, so nothing shows that Flux applies the clusters that move down: add the folder there, commit that, and run the command again. If you know that all that applies it takes its subfolders, run `capstan init --write --move --applied-below`"
        ]
    );
    // It would begin to take one of the clusters.
    let told = told("fleet/b", &[]);
    assert_eq!(
        told[1..],
        [
            "flux/source.yaml:1:1: this GitRepository of Flux takes only the folders of its `sparseCheckout`: it would take one of fleet/b.yaml and fleet/b/b.yaml alone, where the file is and where it would move. Name a folder there that holds both, commit that, and run the command again"
        ]
    );
    // The root's own files are not in it, so nothing takes the settings for a manifest.
    let files = [
        ("fleet/a.yaml", cluster("a")),
        ("fleet/b.yaml", cluster("b")),
        ("flux/all.yaml", flux("all", "./", "")),
    ];
    let of = |more: (&'static str, String)| refusal_lines(&moved(&[&files[..], &[more]].concat()).0);
    assert_eq!(of(source("fleet")), [""; 0]);
    assert_eq!(of(git_repository("https://git.example.com/acme/fleet")).len(), 1);
}
