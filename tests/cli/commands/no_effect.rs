//! What is typed has an effect, or it is said that it has none.

use super::{fleet, release, workers};
use capstan_test_parts::sandbox::Sandbox;

#[test]
fn an_upgrade_to_the_inventory_needs_an_inventory() {
    let sandbox = fleet();
    let none =
        "error: there is no inventory here: `.capstan.yaml` names its folder, `inventory: {path: inventory}`";
    for arguments in [
        &["upgrade", "acme/a", "--inventory"][..],
        &["upgrade", "acme/a", "--inventory", "--write"],
        &["inventory", "list"],
    ] {
        sandbox.capstan(arguments).refused(2, none);
    }
}

#[test]
fn an_upgrade_to_an_inventory_that_does_not_define_the_cluster_says_so() {
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", "inventory: {path: inventory}\n");
    sandbox.write(
        "inventory/web.yaml",
        "apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\nmetadata: {name: web}\nspec: {folder: acme/web}\n",
    );
    let lists = "(`capstan inventory list` lists what it defines)";
    sandbox
        .capstan(&["upgrade", "acme/a", "--inventory"])
        .refused(2, &format!("error: the inventory does not define acme/a {lists}"));
    sandbox
        .capstan(&["upgrade", "acme/a", "acme/b", "--inventory"])
        .refused(2, &format!("error: the inventory defines none of these 2 clusters {lists}"));
}

#[test]
fn a_migration_to_a_version_that_nothing_has_or_comes_to_is_refused() {
    let sandbox = fleet();
    let known = "here Capstan converts to cluster.x-k8s.io/v1beta2";
    for version in ["v9", "v1beta9", "example.com/v1beta2"] {
        sandbox.capstan(&["migrate", "acme/a", "--to", version]).refused(
            2,
            &format!("error: `--to {version}`: no object here has this API version or can be converted to it; {known}"),
        );
    }
    sandbox.capstan(&["migrate", "--all", "--to", "v1beta2,v9"]).ended(2);
    // What they have already is nothing to do, and nobody speaks of releases.
    let said = sandbox.capstan(&["migrate", "acme/a", "--to", "v1beta1"]);
    assert_eq!(
        said.ended(0).out,
        "acme/a  nothing to migrate\n  No object has a newer API version that is asked for and that Capstan converts to.\n"
    );
}

#[test]
fn overwriting_has_an_effect_or_it_is_said_that_it_has_none() {
    let sandbox = fleet();
    let known = "warning: `--overwrite` has no effect: the old release of each of these clusters is known\n";
    for arguments in [
        &["plan", "acme/a", "--overwrite", "/spec"][..],
        &["plan", "--overwrite"],
        &["upgrade", "acme/a", "--overwrite"],
    ] {
        let said = sandbox.capstan(arguments);
        assert!(said.ended(0).err.ends_with(known), "{arguments:?}: {}", said.err);
    }
    let unknown = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
        ("acme/a/base/md.yaml", &workers("a", 5, "v1.30.4")),
    ]);
    let typed = ["plan", "acme/a", "--to", "aws/v1.1.0"];
    let with = |overwrite: &[&str]| unknown.capstan(&[&typed, overwrite].concat()).err;
    assert_eq!(with(&["--overwrite"]), "");
    assert_eq!(with(&["--overwrite", "/spec/replicas"]), "");
    assert_eq!(
        with(&["--overwrite", "/spec/replica"]),
        "warning: `--overwrite=/spec/replica` has no effect: nothing changes at this field\n"
    );
}

#[test]
fn an_explanation_is_given_in_every_format() {
    let sandbox = fleet();
    let plain = sandbox.capstan(&["plan", "acme/a", "--explain"]);
    let explained = plain.ended(0).out.replace(&sandbox.capstan(&["plan", "acme/a"]).out, "");
    assert!(explained.contains("/spec/replicas"), "{}", plain.out);
    for format in ["diff", "markdown"] {
        let said = sandbox.capstan(&["plan", "acme/a", "--explain", "-o", format]);
        assert_eq!(said.ended(0).err, explained, "{format}");
    }
}

#[test]
fn a_flag_of_a_checkout_is_refused_where_no_checkout_is_read() {
    let sandbox = fleet();
    sandbox.write("clusterctl.yaml", "A: b\n");
    for arguments in [
        &["inventory", "import", "clusterctl.yaml", "--at", "HEAD"][..],
        &["inventory", "import", "clusterctl.yaml", "--repo", "/nonexistent"],
        &["diff", "acme/a", "--from", "HEAD", "--at", "HEAD"],
        &["inventory", "diff", "--from", "HEAD", "--at", "HEAD"],
        &["providers", "fetch", "--at", "HEAD"],
    ] {
        assert_eq!(sandbox.capstan(arguments).ended(2).out, "", "{arguments:?}");
    }
}

#[test]
fn counts_of_one_and_of_many_are_words() {
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("acme/a/base/md.yaml", &workers("a", 2, "v1.30.4")),
    ]);
    assert_eq!(
        sandbox.capstan(&["validate"]).ended(0).out.lines().last(),
        Some("0 errors, 0 warnings; checked 1 cluster, 1 release")
    );
    sandbox.write("acme/b/base/md.yaml", &workers("b", 2, "v1.30.4"));
    sandbox.write("acme/b/base/broken.yaml", "a: [\n");
    let said = sandbox.capstan(&["validate"]);
    assert!(
        said.ended(3).out.contains("\n1 error, 0 warnings; checked 2 clusters, 1 release\n"),
        "{}",
        said.out
    );
}
