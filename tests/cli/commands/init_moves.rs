//! `init --write --move`: clusters that share a folder or a file get folders of their own; and every command that `init`
//! names works as it is printed.

use std::collections::BTreeMap;
use std::fs;

use capstan_test_support::tally;
use serde_json::{Value, json};

use super::sandbox::Said;
use super::{Sandbox, workers};

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: NAME
  namespace: acme
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}
";
const CLASS: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: quick, namespace: acme}\nspec: {}\n";
const FLUX: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: fleet, namespace: flux-system}\n\
                    spec: {path: ./fleet, sourceRef: {kind: GitRepository, name: flux-system}}\n\
                    ---\n\
                    apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n\
                    spec: {url: ssh://git@git.example.com/acme/fleet.git}\n";

fn cluster(name: &str) -> String {
    CLUSTER.replace("NAME", name)
}

/// A flat folder that Flux applies, with a file of two clusters and what they share.
fn crowded() -> Sandbox {
    let all = format!(
        "# Both.\n{}---\n{}---\n{CLASS}---\n{}",
        cluster("a"),
        cluster("b"),
        workers("a", 3, "v1.31.2")
    );
    let sandbox = Sandbox::with(&[
        ("fleet/all.yaml", &all),
        ("fleet/b-workers.yaml", &workers("b", 2, "v1.31.2")),
        ("fleet/c.yaml", &cluster("c")),
        ("flux/fleet.yaml", FLUX),
    ]);
    // What Flux applies is this repository.
    sandbox.repository.git(&["remote", "add", "origin", "https://git.example.com/acme/fleet"]);
    sandbox
}

/// The commands that a text names, each on a line of its own.
fn commands(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("  capstan ")).map(str::to_owned).collect()
}

/// Runs a command as a shell reads it.
fn typed(sandbox: &Sandbox, command: &str) -> Said {
    let words = tally::command("sh").args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    sandbox.capstan(&words.lines().collect::<Vec<_>>())
}

/// Runs every command that `init` prints, in its order, and again with what it prints afterwards.
fn follow(sandbox: &Sandbox) -> Vec<String> {
    let mut ran: Vec<String> = Vec::new();
    loop {
        let text = sandbox.capstan(&["init"]).ended(0).out.clone();
        let named: Vec<String> =
            commands(&text).into_iter().filter(|command| !ran.contains(command)).collect();
        if named.is_empty() {
            return ran;
        }
        for command in named {
            typed(sandbox, &command).ended(0);
            // A page of the documentation changes nothing that could be committed.
            if !command.starts_with("help ") {
                sandbox.repository.commit_all(&command);
            }
            ran.push(command);
        }
    }
}

#[test]
fn clusters_that_share_a_folder_and_a_file_move_and_are_found_and_planned() {
    let sandbox = crowded();
    let before = sandbox.files();
    let text = sandbox.capstan(&["init"]).ended(0).out.clone();
    let said = "\
`--write --move` moves
  fleet/all.yaml
    -> fleet/a/all.yaml
    -> fleet/b/all.yaml
    the rest stays
  fleet/b-workers.yaml
    -> fleet/b/b-workers.yaml
  fleet/c.yaml
    -> fleet/c/c.yaml

stays where it is
  fleet/all.yaml:18:1: ClusterClass acme/quick, which any cluster may use

This command gives each cluster a folder of its own, and writes the settings. What the Flux and Argo CD objects in this repository apply stays the same. Capstan does not know objects elsewhere:
  capstan init --write --move
";
    assert!(text.contains(said), "{text}");
    assert_eq!(sandbox.files(), before);

    let answer = sandbox.capstan(&["init", "--write", "--move", "-o", "json"]).json(0);
    assert_eq!((&answer["moves"]["moved"], &answer["moves"]["refused"]), (&json!(true), &json!([])));
    assert_eq!(
        answer["moves"]["files"][0],
        json!({"from": "fleet/all.yaml", "to": ["fleet/a/all.yaml", "fleet/all.yaml", "fleet/b/all.yaml"]})
    );
    let mut after: BTreeMap<String, String> = sandbox.files();
    let settings = after.remove(".capstan.yaml").unwrap();
    assert!(
        settings.contains("  paths: [\"fleet/*\"]\n") && settings.contains("3 clusters today"),
        "{settings}"
    );
    let expected = [
        ("fleet/a/all.yaml", format!("# Both.\n{}---\n{}", cluster("a"), workers("a", 3, "v1.31.2"))),
        ("fleet/all.yaml", format!("---\n{CLASS}")),
        ("fleet/b/all.yaml", format!("---\n{}", cluster("b"))),
        ("fleet/b/b-workers.yaml", workers("b", 2, "v1.31.2")),
        ("fleet/c/c.yaml", cluster("c")),
        ("flux/fleet.yaml", FLUX.to_owned()),
    ];
    assert_eq!(after, expected.into_iter().map(|(path, text)| (path.to_owned(), text)).collect());

    let found = sandbox.capstan(&["clusters", "-o", "json"]).json(0);
    let ids = |found: &Value| -> Vec<String> {
        found.as_array().unwrap().iter().map(|one| one["cluster"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&found), ["fleet/a", "fleet/b", "fleet/c"]);
    assert_eq!(ids(&sandbox.capstan(&["plan", "-o", "json"]).json(0)), ["fleet/a", "fleet/b", "fleet/c"]);
    sandbox.capstan(&["validate"]).ended(0);
    sandbox.capstan(&["init", "--write", "--move"]).refused(
        2,
        "error: .capstan.yaml already exists, and each cluster has its folder: there is nothing to move",
    );
}

#[test]
fn a_kustomization_continues_to_build_the_same() {
    let sandbox = Sandbox::with(&[
        ("fleet/a.yaml", &cluster("a")),
        ("fleet/b.yaml", &cluster("b")),
        ("fleet/kustomization.yaml", "resources:\n- a.yaml # the first\n- b.yaml\n"),
    ]);
    sandbox.capstan(&["init", "--write", "--move"]).ended(0);
    assert_eq!(sandbox.read("fleet/kustomization.yaml"), "resources:\n- a # the first\n- b\n");
    assert_eq!(
        sandbox.read("fleet/a/kustomization.yaml"),
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a.yaml\n"
    );
    let rendered = sandbox.capstan(&["render", "fleet/a", "-o", "json"]).json(0);
    assert_eq!((rendered.as_array().unwrap().len(), &rendered[0]["metadata"]["name"]), (1, &json!("a")));
}

/// Nothing is written where something is refused: it says what, and where.
fn is_refused(sandbox: &Sandbox, said: &str) {
    let before = sandbox.files();
    let answer = sandbox.capstan(&["init", "--write", "--move"]);
    answer.ended(1);
    assert_eq!(answer.err_before_page().trim_end(), said);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn what_is_refused_is_written_nowhere() {
    let orphan = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata: {name: old}\n";
    let sandbox = crowded();
    sandbox.write("fleet/c.yaml", &(cluster("c") + orphan));
    sandbox.repository.commit_all("an orphan");
    is_refused(
        &sandbox,
        "error: nothing is moved:\n  fleet/c.yaml:9:1: no cluster of this folder names AWSMachineTemplate old, so Capstan cannot tell to which it belongs: give it the label `cluster.x-k8s.io/cluster-name`, or remove it",
    );
    let text = sandbox.capstan(&["init"]).ended(0).out.clone();
    assert!(
        text.contains(
            "`--write --move` gives each cluster its folder, once this is settled\n  fleet/c.yaml:9:1: no"
        ),
        "{text}"
    );
    assert!(!text.contains("  capstan init --write --move"), "{text}");
}

#[test]
fn files_with_changes_that_are_not_committed_do_not_move() {
    let sandbox = crowded();
    sandbox.write("fleet/c.yaml", &cluster("d"));
    sandbox.write("fleet/e.yaml", &cluster("e"));
    sandbox.write("README.md", "of no concern\n");
    is_refused(
        &sandbox,
        "error: nothing is moved: these files have changes that are not committed. Commit or stash them first: only what is committed shows what is applied, and the move can be undone then\n  fleet/c.yaml\n  fleet/e.yaml",
    );
    sandbox.repository.commit_all("committed");
    // An object that is not committed applies nothing.
    for (path, text) in
        [("flux/fleet.yaml", format!("{FLUX}# mine\n")), (".sourceignore", "*.md\n".to_owned())]
    {
        let committed = sandbox.files().get(path).cloned();
        sandbox.write(path, &text);
        is_refused(
            &sandbox,
            &format!(
                "error: nothing is moved: these files have changes that are not committed. Commit or stash them first: only what is committed shows what is applied, and the move can be undone then\n  {path}"
            ),
        );
        match committed {
            Some(text) => sandbox.write(path, &text),
            None => fs::remove_file(sandbox.at(path)).unwrap(),
        }
    }
    sandbox.write("README.md", "not committed\n");
    sandbox.capstan(&["init", "--write", "--move"]).ended(0);
    assert_eq!(sandbox.read("fleet/d/c.yaml"), cluster("d"));
}

#[test]
fn a_person_says_what_the_repository_does_not_show() {
    let sandbox = crowded();
    fs::remove_file(sandbox.at("flux/fleet.yaml")).unwrap();
    sandbox.repository.commit_all("no applier");
    let unseen = "error: nothing is moved:\n  fleet/all.yaml: nothing in this repository shows that what applies fleet takes its subfolders, too, and if it does not, it deletes the clusters that move down: commit the Flux Kustomization of this folder and its GitRepository, or its Argo CD Application with `directory: {recurse: true}`, first. The URL of its source must be a remote of this checkout (`git remote -v`). If you know that all that applies it takes its subfolders, run `capstan init --write --move --applied-below`";
    is_refused(&sandbox, unseen);
    assert_eq!(commands(&sandbox.capstan(&["init"]).ended(0).out), ["help first-contact#the-first-release"]);
    let said = sandbox.capstan(&["init", "--applied-below"]);
    assert_eq!(said.code, 2);
    sandbox.capstan(&["init", "--write", "--move", "--applied-below"]).ended(0);
    assert_eq!(sandbox.read("fleet/c/c.yaml"), cluster("c"));
}

#[test]
fn a_move_of_nothing_fails_where_a_file_with_clusters_cannot_be_read() {
    let broken = format!("{}---\n{}other: *spec\n", cluster("a"), cluster("b"));
    let sandbox = Sandbox::with(&[("fleet/all.yaml", &broken), ("one/c.yaml", &cluster("c"))]);
    let before = sandbox.files();
    let said = sandbox.capstan(&["init", "--write", "--move"]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.starts_with("error: nothing is moved:\n  fleet/all.yaml:16:8: this file mentions a cluster, but Capstan cannot read it: "),
        "{}",
        said.err
    );
    assert_eq!(sandbox.files(), before);
}

#[cfg(unix)]
#[test]
fn a_link_and_a_file_in_the_way_are_refused() {
    let sandbox = crowded();
    std::os::unix::fs::symlink("fleet/c.yaml", sandbox.at("newest.yaml")).unwrap();
    sandbox.repository.commit_all("a link");
    is_refused(
        &sandbox,
        "error: nothing is moved:\n  newest.yaml: this is a symbolic link to fleet/c.yaml, which would move: replace the link by what needs the file, or remove it",
    );
    // What Git ignores is in no tree, and is not overwritten either.
    let sandbox = crowded();
    sandbox.write(".gitignore", "/fleet/a/\n");
    sandbox.repository.commit_all("ignored");
    sandbox.write("fleet/a/all.yaml", "mine: true\n");
    let before = sandbox.files();
    assert_eq!(sandbox.capstan(&["init", "--write", "--move"]).code, 1);
    assert_eq!(sandbox.files(), before);
}

/// What `git add` would leave out, or would store otherwise.
#[test]
fn new_files_that_git_does_not_take_as_it_took_the_old_ones_are_refused() {
    let left_out = "error: nothing is moved:\n  fleet/c/c.yaml: `git add` would not take this new file, so its cluster would be missing from the next commit: it is ignored, or in another repository. Change `.gitignore`, or remove the other repository";
    for ignored in ["c/\n", "/fleet/*/\n!/fleet/a/\n!/fleet/b/\n", "/fleet/c/*.yaml\n"] {
        let sandbox = crowded();
        sandbox.write(".gitignore", ignored);
        sandbox.repository.commit_all("ignored");
        is_refused(&sandbox, left_out);
    }
    let sandbox = crowded();
    fs::create_dir_all(sandbox.at("fleet/c")).unwrap();
    let made =
        tally::command("git").args(["init", "-q"]).current_dir(sandbox.at("fleet/c")).status().unwrap();
    assert!(made.success());
    is_refused(&sandbox, left_out);

    let sandbox = crowded();
    sandbox.write(".gitattributes", "fleet/c.yaml filter=git-crypt\nfleet/b/* filter=other\n");
    sandbox.repository.commit_all("attributes");
    is_refused(
        &sandbox,
        "error: nothing is moved:\n  fleet/b/all.yaml: Git would store this new file otherwise than fleet/all.yaml, perhaps without encryption: write `.gitattributes` so that both have the same attributes\n  fleet/b/b-workers.yaml: Git would store this new file otherwise than fleet/b-workers.yaml, perhaps without encryption: write `.gitattributes` so that both have the same attributes\n  fleet/c/c.yaml: Git would store this new file otherwise than fleet/c.yaml, perhaps without encryption: write `.gitattributes` so that both have the same attributes",
    );
    sandbox.write(".gitattributes", "fleet/** filter=git-crypt\n");
    sandbox.repository.git(&["add", ".gitattributes"]);
    sandbox.repository.git(&["commit", "-qm", "all of them"]);
    sandbox.capstan(&["init", "--write", "--move"]).ended(0);
}

#[test]
fn settings_of_a_person_stay_and_must_find_the_new_folders() {
    let sandbox = crowded();
    sandbox.capstan(&["init", "--write"]).ended(0);
    sandbox.repository.commit_all("as Capstan proposes it");
    sandbox.capstan(&["init", "--write", "--move"]).ended(0);
    assert!(sandbox.read(".capstan.yaml").contains("paths: [\"fleet/*\"]"));

    let own = "mode: propose\nclusters: {paths: [\"other/*\"], base: \".\"}\n";
    let sandbox = crowded();
    sandbox.write(".capstan.yaml", own);
    sandbox.repository.commit_all("settings");
    is_refused(
        &sandbox,
        "error: nothing is moved:\n  .capstan.yaml: these settings would not find fleet/a, where the manifests of a cluster would be after the move: change `clusters` so that they do, or remove this file, and run the command again",
    );
    let own = own.replace("other", "fleet");
    sandbox.write(".capstan.yaml", &own);
    sandbox.repository.commit_all("settings that find them");
    sandbox.capstan(&["init", "--write", "--move"]).ended(0);
    assert_eq!((sandbox.read(".capstan.yaml"), sandbox.read("fleet/c/c.yaml")), (own, cluster("c")));
}

#[test]
fn every_command_that_init_prints_works_where_it_is_printed() {
    let release = "capstan init --release platform/v1.0.0 --from".trim_start_matches("capstan ");
    let overlay = |name: &str| format!("resources: [../../base]\nnamePrefix: {name}-\n");
    let page = "help first-contact#the-first-release".to_owned();
    let states: [(Sandbox, Vec<String>); 5] = [
        (
            Sandbox::with(&[("fleet/the first/cluster.yaml", &cluster("one"))]),
            vec!["init --write".to_owned(), format!("{release} 'fleet/the first' --write")],
        ),
        (
            crowded(),
            vec!["init --write --move".to_owned(), page.clone(), format!("{release} fleet/a --write")],
        ),
        // Nothing is in a shared base that a release of one of them could be made of.
        (
            Sandbox::with(&[
                ("capi/base/kustomization.yaml", "resources: [cluster.yaml]\n"),
                ("capi/base/cluster.yaml", &cluster("one")),
                ("capi/overlays/dev/kustomization.yaml", &overlay("dev")),
                ("capi/overlays/prod/kustomization.yaml", &overlay("prod")),
            ]),
            vec![page.clone()],
        ),
        // Settings of a person that do not find the cluster.
        (
            Sandbox::with(&[
                ("fleet/one/cluster.yaml", &cluster("one")),
                (".capstan.yaml", "mode: propose\n"),
            ]),
            vec![page],
        ),
        // The second one can be made a release, the first has one of Giant Swarm's.
        (
            Sandbox::with(&[
                (
                    "fleet/a/cluster.yaml",
                    &cluster("a").replace(
                        "  namespace: acme\n",
                        "  namespace: acme\n  labels: {release.giantswarm.io/version: 29.0.0}\n",
                    ),
                ),
                ("fleet/b/cluster.yaml", &cluster("b")),
            ]),
            vec!["init --write".to_owned(), format!("{release} fleet/b --write")],
        ),
    ];
    for (sandbox, expected) in states {
        assert_eq!(follow(&sandbox), expected, "{:?}", sandbox.files().keys());
    }
}

/// The commands of the settings' comments, and of what `init` says of templates.
#[test]
fn the_commands_in_its_sentences_work_too() {
    let overlay = |name: &str| format!("resources: [../../base]\nnamePrefix: {name}-\n");
    let shared = Sandbox::with(&[
        ("capi/base/kustomization.yaml", "resources: [cluster.yaml]\n"),
        ("capi/base/cluster.yaml", &cluster("one")),
        ("capi/overlays/dev/kustomization.yaml", &overlay("dev")),
        ("capi/overlays/prod/kustomization.yaml", &overlay("prod")),
    ]);
    shared.capstan(&["init", "--write"]).ended(0);
    let settings = shared.read(".capstan.yaml");
    assert!(
        settings.contains("`capstan schema`") && settings.contains("`capstan render CLUSTER`"),
        "{settings}"
    );
    shared.capstan(&["schema"]).ended(0);
    shared.capstan(&["render", "capi/overlays/dev"]).ended(0);

    let template = "{{- if .Values.on }}\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {{ .Values.name }}\n{{- end }}\n";
    let variables = cluster("${CLUSTER_NAME}");
    let charts: [&[(&str, &str)]; 2] = [
        &[("capi/Chart.yaml", "name: capi\nversion: 0.1.0\n"), ("capi/templates/cluster.yaml", template)],
        &[("cluster-template.yaml", &variables)],
    ];
    for files in charts {
        let sandbox = Sandbox::with(files);
        let said = sandbox.capstan(&["init"]).err;
        let command = said.split('`').find(|part| part.starts_with("mkdir")).unwrap().replace("NAME", "one");
        // Programs of others: here they only have to be called so that a shell takes it.
        let programs = tempfile::tempdir().unwrap();
        for program in ["helm", "clusterctl"] {
            let path = programs.path().join(program);
            fs::write(&path, format!("#!/bin/sh\ncat <<'END'\n{}END\n", cluster("one"))).unwrap();
            tally::command("chmod").arg("+x").arg(&path).status().unwrap();
        }
        let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
        let ran = tally::command("sh")
            .args(["-c", &command])
            .env("PATH", path)
            .current_dir(sandbox.at("."))
            .status()
            .unwrap();
        assert!(ran.success(), "{command}");
        sandbox.capstan(&["init", "--write"]).ended(0);
        assert_eq!(sandbox.capstan(&["clusters", "-o", "json"]).json(0)[0]["cluster"], "clusters/one");
    }
}

/// Moves the clusters of `crowded`, as a person says that all subfolders are applied.
const MOVE: [&str; 4] = ["init", "--write", "--move", "--applied-below"];

/// Writes all files of a folder again, with the same content: Git compares content then.
fn write_again(sandbox: &Sandbox, folder: &str) {
    for (path, text) in sandbox.files().into_iter().filter(|(path, _)| path.starts_with(folder)) {
        sandbox.write(&path, &text);
    }
}

#[test]
fn a_file_that_git_would_not_change_has_no_changes() {
    let sandbox = crowded();
    sandbox.repository.git(&["config", "core.autocrlf", "true"]);
    fs::remove_dir_all(sandbox.at("fleet")).unwrap();
    sandbox.repository.git(&["checkout", "--", "fleet"]);
    assert!(sandbox.read("fleet/c.yaml").contains("kind: Cluster\r\n"));
    write_again(&sandbox, "fleet/");
    sandbox.write("fleet/c.yaml", &cluster("d").replace('\n', "\r\n"));
    let said = sandbox.capstan(&MOVE);
    assert_eq!(said.ended(1).err_before_page().lines().last(), Some("  fleet/c.yaml"), "{}", said.err);
    sandbox.write("fleet/c.yaml", &cluster("c").replace('\n', "\r\n"));
    sandbox.capstan(&MOVE).ended(0);
    sandbox.repository.git(&["add", "-A"]);
    assert_eq!(sandbox.repository.git(&["show", ":fleet/c/c.yaml"]), cluster("c").trim_end());

    // A filter that stores another text, as Git LFS does.
    let sandbox = crowded();
    sandbox.write(".gitattributes", "fleet/** filter=short\n");
    sandbox.repository.git(&["config", "filter.short.clean", "sed s/10.0.0.0/TEN/"]);
    sandbox.repository.git(&["config", "filter.short.smudge", "sed s/TEN/10.0.0.0/"]);
    write_again(&sandbox, "fleet/");
    sandbox.repository.commit_all("filtered");
    assert!(sandbox.repository.git(&["show", "HEAD:fleet/c.yaml"]).contains("[TEN/16]"));
    write_again(&sandbox, "fleet/");
    sandbox.capstan(&MOVE).ended(0);
    assert_eq!(sandbox.read("fleet/c/c.yaml"), cluster("c"));
}

#[test]
fn a_sparse_checkout_with_all_files_of_the_clusters_is_enough() {
    let sparse = |arguments: &[&str]| {
        let sandbox = crowded();
        sandbox.write("other/notes.txt", "of no concern\n");
        sandbox.repository.commit_all("another folder");
        sandbox.repository.git(&[&["sparse-checkout", "set"], arguments].concat());
        sandbox
    };
    for index in ["--no-sparse-index", "--sparse-index"] {
        let sandbox = sparse(&["--cone", index, "fleet", "flux"]);
        assert!(!sandbox.at("other").exists());
        sandbox.capstan(&MOVE).ended(0);
        assert_eq!(sandbox.read("fleet/c/c.yaml"), cluster("c"));
    }
    // The files are there, and the new folders are not in it.
    let sandbox = sparse(&["--no-cone", "/fleet/*.yaml", "/flux/", "!/fleet/c/"]);
    let said = sandbox.capstan(&MOVE);
    assert_eq!(
        said.ended(1).err_before_page().lines().nth(1),
        Some(
            "  fleet/a/all.yaml: `git add` would not take this new file, since it would be outside of the sparse checkout: run `git sparse-checkout add fleet/a`, and the command again"
        ),
        "{}",
        said.err
    );
    sandbox.repository.git(&["sparse-checkout", "add", "fleet/a", "fleet/b", "fleet/c"]);
    sandbox.capstan(&MOVE).ended(0);
}

/// Flux takes each file for a manifest where it applies the root, `.capstan.yaml` too.
#[test]
fn settings_that_flux_would_apply_are_not_written() {
    let all = FLUX.replace("./fleet", "./");
    let sandbox = Sandbox::with(&[
        ("one/cluster.yaml", &cluster("one")),
        ("two/cluster.yaml", &cluster("two")),
        ("flux/all.yaml", &all),
    ]);
    for command in [&["init", "--write"][..], &["init", "--write", "--move"]] {
        sandbox.capstan(command).refused(
            1,
            "error: nothing is written:\n  flux/all.yaml:1:1: this Kustomization of Flux applies every manifest below the repository's root, and would fail on .capstan.yaml, which has no kind: add the line `.capstan.yaml` to .sourceignore, commit it, and run the command again",
        );
    }
    assert!(!sandbox.at(".capstan.yaml").exists());
    sandbox.capstan(&["init"]).ended(0);
    sandbox.write(".sourceignore", "/.capstan.yaml\n");
    sandbox.repository.commit_all("settings are no manifest");
    sandbox.capstan(&["init", "--write"]).ended(0);
}
