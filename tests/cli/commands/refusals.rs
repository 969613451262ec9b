//! What cannot be done says what, where, and what to do.

use super::{fleet, sandbox};

#[test]
fn no_repository_and_no_directory() {
    let folder = tempfile::tempdir().unwrap();
    let said = sandbox::capstan(folder.path(), &["plan"]);
    said.ended(2);
    assert!(
        said.err.contains("no Git repository here or in a directory above; run `git init` in it"),
        "{}",
        said.err
    );
    let said = sandbox::capstan(folder.path(), &["--repo", "absent", "plan"]);
    said.refused(2, "error: absent: there is no such directory; give a Git checkout with --repo");
}

#[test]
fn a_cluster_release_revision_path_or_rule_that_does_not_exist() {
    let sandbox = fleet();
    sandbox
        .capstan(&["plan", "acme/aa"])
        .refused(2, "error: there is no cluster `acme/aa`; did you mean `acme/a`? `capstan clusters` lists what was found");
    for (arguments, part) in [
        (&["plan", "acme/a", "--to", "aws/v1.9.0"][..], "aws/v1.9.0"),
        (&["plan", "acme/a", "--to", "newest"], "`newest` is not a release: give its id, e.g. aws/v21.0.0"),
        (&["plan", "acme/a", "--to", "aws/v1.1"], "`aws/v1.1` is not a release; did you mean `aws/v1.1.0`?"),
        (
            &["create", "acme/new", "--from", "aws/v1.1"],
            "`aws/v1.1` is not a release; did you mean `aws/v1.1.0`?",
        ),
        (&["upgrade", "acme/a", "--to", "aws/v9.0.0", "--write"], "aws/v9.0.0"),
        (&["render", "acme/c"], "there is no cluster `acme/c`"),
        (&["plan", "--at", "nowhere"], "there is no revision `nowhere`"),
        (&["validate", "acme/c"], "there is no file or folder `acme/c` in the repository"),
        (&["validate", "--from", "nowhere"], "there is no revision `nowhere`"),
        (&["rules", "kubernetes-minor-skp"], "did you mean `kubernetes-minor-skip`?"),
        (&["diff", "acme/c", "--from", "HEAD"], "there is no cluster `acme/c`"),
        (&["plan", "-o", "xml"], "possible values: text, json, yaml, markdown, diff"),
        (&["render", "acme/a", "-o", "markdown"], "possible values: yaml, json"),
        (&["upgrade"], "<CLUSTER>..."),
        (&["serve", "--at", "HEAD"], "`--at` is for commands on a checkout"),
        (&["upgrade", "acme/a", "--to", "aws/v1.1.0", "--write", "--at", "HEAD"], "cannot be used with"),
        (&["uprgade"], "similar subcommand exists: 'upgrade'"),
    ] {
        let said = sandbox.capstan(arguments);
        said.ended(2);
        assert!(said.err.contains(part) && said.out.is_empty(), "{arguments:?}: {said:?}");
    }
}

#[test]
fn what_is_refused_names_the_page_that_explains_it() {
    let sandbox = fleet();
    let named = |arguments: &[&str]| sandbox.capstan(arguments).page().unwrap_or_default().to_owned();
    for (arguments, page) in [
        (&["uprgade"][..], "command-line#flags"),
        (&["render", "acme/a", "-o", "markdown"], "command-line#flags"),
        (&["plan", "acme/c"], "troubleshooting#on-the-command-line"),
        (&["plan", "--at", "nowhere"], "troubleshooting#on-the-command-line"),
        (&["rules", "nothing-like-it"], "rules#rules"),
        (&["create", "acme/a", "--from", "aws/v1.1.0"], "create-cluster#on-a-checkout"),
        (&["serve", "--listen", "x"], "troubleshooting#when-the-bot-starts"),
        (&["plan", "--help"], ""),
    ] {
        assert_eq!(named(arguments), page, "{arguments:?}");
    }
    sandbox.write(".capstan.yaml", "mode: observes\n");
    assert_eq!(named(&["plan"]), "settings#all-keys");
}

#[test]
fn settings_that_nobody_meant_stop_everything_with_their_place() {
    let sandbox = fleet();
    for (text, line) in [
        (
            "upgrade:\n  conflict: keep\n",
            "error: .capstan.yaml:2:3: unknown key `conflict` in `upgrade`; did you mean `conflicts`?",
        ),
        ("mode: [observe]\n", "error: .capstan.yaml:1:7: `mode` must be one word, found a list"),
    ] {
        sandbox.write(".capstan.yaml", text);
        sandbox.capstan(&["plan"]).refused(1, line);
        sandbox.capstan(&["clusters"]).refused(1, line);
    }
    sandbox.write(".capstan.yaml", "mode: \"observe\n");
    let said = sandbox.capstan(&["plan"]);
    assert!(said.ended(1).err.starts_with("error: .capstan.yaml:"), "{}", said.err);
}

#[test]
fn a_release_that_cannot_be_read_is_named_with_its_place_and_others_go_on() {
    let sandbox = fleet();
    sandbox.write("aws/v1.2.0/base/md.yaml", "kind: MachineDeployment\nspec: {replicas: [}\n");
    for name in ["aws/v1.2.0", "v1.2.0"] {
        let said = sandbox.capstan(&["plan", "acme/a", "--to", name]);
        said.ended(1);
        assert!(said.err.contains(" that can be read: aws/v1.2.0/base/md.yaml:2:"), "{}", said.err);
    }
    // The newest is what the cluster would be offered: no plan without it, and no table that hides it.
    let plans = sandbox.capstan(&["plan", "-o", "json"]).json(1);
    let error = &plans[0]["error"];
    assert_eq!((&error["file"], &error["line"]), (&"aws/v1.2.0/base/md.yaml".into(), &2.into()), "{error}");
    let clusters = sandbox.capstan(&["clusters", "-o", "json"]).json(1);
    assert_eq!(clusters[0]["error"], *error);
    // An older one that is broken is passed over, and the plan says so.
    sandbox.write(
        "aws/v1.3.0/base/md.yaml",
        "kind: MachineDeployment\nspec: {replicas: 3, template: {spec: {version: v1.30.4}}}\n",
    );
    let said = sandbox.capstan(&["plan", "acme/a"]);
    assert!(said.ended(0).out.contains("aws/v1.2.0 is ignored, because it cannot be read: "), "{}", said.out);
    assert!(sandbox.capstan(&["releases"]).ended(1).err.contains("aws/v1.2.0/base/md.yaml:2:"));
}

#[test]
fn a_clusters_own_settings_concern_it_alone() {
    let sandbox = fleet();
    sandbox.write("acme/a/capstan.yaml", "release: aws/v1.0.0\ntrak: minor\n");
    let plans = sandbox.capstan(&["plan", "-o", "json"]).json(1);
    let error = &plans[0]["error"];
    assert_eq!(
        (&error["file"], &error["line"], &error["column"]),
        (&"acme/a/capstan.yaml".into(), &2.into(), &1.into())
    );
    assert!(error["message"].as_str().unwrap().contains("did you mean `track`?"), "{error}");
    assert_eq!(plans[1]["to"], "aws/v1.1.0");
}

#[test]
fn a_repository_without_clusters_says_what_a_cluster_is() {
    let sandbox = sandbox::Sandbox::with(&[("README.md", "hello\n")]);
    let said = sandbox.capstan(&["plan", "-o", "json"]);
    assert_eq!(said.json(0), serde_json::json!([]));
    assert!(
        said.err.contains("no cluster was found: a cluster is a folder that holds `base/`"),
        "{}",
        said.err
    );
}
