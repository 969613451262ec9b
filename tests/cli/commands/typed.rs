//! Clusters and paths as people type them, wherever they are.

use super::{RECORD, release, workers};
use capstan_test_parts::sandbox::{Said, Sandbox, capstan};

/// Two teams with a cluster `web` each, and one with a name that nobody else has.
fn teams() -> Sandbox {
    let web = workers("web", 2, "v1.30.4");
    Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
        (
            "gcp/v1.0.0/base/cluster.yaml",
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: \"${CLUSTER_NAME}\", namespace: acme}\nspec: {paused: false}\n",
        ),
        ("shop/web/base/md.yaml", &web),
        ("shop/web/capstan.yaml", RECORD),
        ("shop/lone/base/md.yaml", &workers("lone", 2, "v1.30.4")),
        ("shop/lone/capstan.yaml", RECORD),
        ("blog/web/base/md.yaml", &web),
        ("blog/web/capstan.yaml", RECORD),
    ])
}

/// The clusters that a plan is about.
fn planned(said: &Said) -> Vec<String> {
    let plans = said.json(0);
    plans.as_array().unwrap().iter().map(|plan| plan["cluster"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_cluster_is_named_from_the_current_folder_as_git_names_paths() {
    let sandbox = teams();
    let absolute = sandbox.at("shop/web").display().to_string();
    let absolute_file = sandbox.at("shop/web/base/md.yaml").display().to_string();
    for (folder, typed, expected) in [
        ("", "shop/web", vec!["shop/web"]),
        ("", "./shop/web/", vec!["shop/web"]),
        ("shop", "web", vec!["shop/web"]),
        ("shop", "./web", vec!["shop/web"]),
        ("shop", "../blog/web", vec!["blog/web"]),
        // An id counts everywhere.
        ("shop", "blog/web", vec!["blog/web"]),
        // A folder means all below it, and what is in a cluster's folder means the cluster.
        ("", "shop", vec!["shop/lone", "shop/web"]),
        ("shop", ".", vec!["shop/lone", "shop/web"]),
        ("", ".", vec!["blog/web", "shop/lone", "shop/web"]),
        ("shop/web", ".", vec!["shop/web"]),
        ("shop/web/base", ".", vec!["shop/web"]),
        ("shop/web", "base/md.yaml", vec!["shop/web"]),
        ("blog", &absolute, vec!["shop/web"]),
        ("blog", &absolute_file, vec!["shop/web"]),
        // The only one of that name.
        ("", "lone", vec!["shop/lone"]),
        ("blog", "lone", vec!["shop/lone"]),
    ] {
        let folder =
            if folder.is_empty() { sandbox.repository.path().to_owned() } else { sandbox.at(folder) };
        let said = capstan(&folder, &["plan", typed, "-o", "json"]);
        assert_eq!(planned(&said), expected, "{typed} in {}", folder.display());
    }
    // With `--repo`, a name is resolved as if it were typed in that folder.
    let elsewhere = tempfile::tempdir().unwrap();
    let shop = sandbox.at("shop").display().to_string();
    assert_eq!(
        planned(&capstan(elsewhere.path(), &["--repo", &shop, "plan", "web", "-o", "json"])),
        ["shop/web"]
    );
}

#[test]
fn what_no_cluster_is_named_by_is_refused_with_what_is_near() {
    let sandbox = teams();
    let see = "`capstan clusters` lists what was found";
    for (typed, said) in [
        (
            "web",
            "error: `web` may mean several clusters: `blog/web`, `shop/web`. Name one of them".to_owned(),
        ),
        ("shop/wbe", format!("error: there is no cluster `shop/wbe`; did you mean `shop/web`? {see}")),
        ("lnoe", format!("error: there is no cluster `lnoe`; did you mean `shop/lone`? {see}")),
        ("shop/web/nowhere", format!("error: there is no cluster `shop/web/nowhere`; {see}")),
        ("./lone", format!("error: there is no cluster `./lone`; did you mean `shop/lone`? {see}")),
        ("../outside", format!("error: there is no cluster `../outside`; {see}")),
        ("/etc", format!("error: there is no cluster `/etc`; {see}")),
    ] {
        sandbox.capstan(&["plan", typed]).refused(2, &said);
    }
    sandbox
        .capstan(&["render", "shop"])
        .refused(2, "error: `shop` holds several clusters: `shop/lone`, `shop/web`. This command takes one");
}

#[test]
fn a_part_of_a_name_suggests_all_clusters_with_it() {
    let sandbox = fleet_of(&["shop/web-eu", "shop/web-us", "shop/canary-eu", "bank/core-eu"]);
    let see = "`capstan clusters` lists what was found";
    for (typed, meant) in [
        ("web", "`shop/web-eu` or `shop/web-us`"),
        ("canary", "`shop/canary-eu`"),
        ("eu", "`bank/core-eu`, `shop/canary-eu` or `shop/web-eu`"),
        ("sho", "`shop/canary-eu`, `shop/web-eu` or `shop/web-us`"),
    ] {
        let said = format!("error: there is no cluster `{typed}`; did you mean {meant}? {see}");
        sandbox.capstan(&["plan", typed]).refused(2, &said);
    }
}

/// Clusters at the first of two releases.
fn fleet_of(ids: &[&str]) -> Sandbox {
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
    ]);
    for id in ids {
        let name = id.rsplit('/').next().unwrap();
        sandbox.write(&format!("{id}/base/md.yaml"), &workers(name, 2, "v1.30.4"));
        sandbox.write(&format!("{id}/capstan.yaml"), RECORD);
    }
    sandbox
}

fn assert_refused(said: &Said, why: &str) {
    assert!(said.ended(2).err.contains(why) && said.out.is_empty(), "{why}: {said:?}");
}

#[test]
fn an_empty_name_is_refused_and_nothing_is_written() {
    let sandbox = teams();
    let before = sandbox.files();
    for blank in ["", " ", "\t\n"] {
        for command in [
            &["upgrade", "--write"][..],
            &["plan"],
            &["adopt", "--write"],
            &["migrate", "--write"],
            &["inventory", "render"],
        ] {
            assert_refused(
                &sandbox.capstan(&[command, &[blank]].concat()),
                "the name is empty: give a cluster, or `.` for all of this folder",
            );
        }
        for command in [
            &["render"][..],
            &["diff", "--from", "HEAD"],
            &["create", "--from", "gcp/v1.0.0"],
            &["inventory", "values"],
            &["inventory", "explain"],
            &["init", "--release", "gcp/v2.0.0", "--from"],
        ] {
            assert_refused(
                &sandbox.capstan(&[command, &[blank]].concat()),
                "the name is empty: give a cluster",
            );
        }
        for command in [&["validate"][..], &["providers", "render"]] {
            let said = "the path is empty: give a file or folder, or `.` for this folder";
            assert_refused(&sandbox.capstan(&[command, &[blank]].concat()), said);
        }
        for command in [
            &["upgrade", "shop/web", "--to"][..],
            &["--at", blank, "plan", "--to"],
            &["rules"],
            &["help"],
            &["validate", "--from"],
            &["create", "shop/new", "--from"],
            &["inventory", "uses", "/a", "--level"],
            &["agents", "revoke"],
            &["providers", "fetch", "--into"],
        ] {
            assert_refused(&sandbox.capstan(&[command, &[blank]].concat()), "it must not be empty");
        }
    }
    assert_eq!(sandbox.files(), before);
}

#[test]
fn a_release_that_is_not_there_is_refused_with_the_nearest_one() {
    let sandbox = teams();
    let lists = "(`capstan releases` lists them)";
    for (typed, said) in [
        ("aws/v1.1", format!("error: `aws/v1.1` is not a release; did you mean `aws/v1.1.0`? {lists}")),
        ("aws/v1", format!("error: `aws/v1` is not a release; did you mean `aws/v1.1.0`? {lists}")),
        ("aws", format!("error: `aws` is not a release; did you mean `aws/v1.1.0`? {lists}")),
        ("v1.1", format!("error: `v1.1` is not a release; did you mean `aws/v1.1.0`? {lists}")),
        ("asw/v1.1.0", format!("error: there is no release asw/v1.1.0; did you mean aws/v1.1.0? {lists}")),
        ("v1.1.1", format!("error: there is no release 1.1.1; did you mean aws/v1.1.0? {lists}")),
        ("shop/web", format!("error: `shop/web` is a cluster, and a release is asked for {lists}")),
        ("newest", format!("error: `newest` is not a release: give its id, e.g. aws/v21.0.0 {lists}")),
    ] {
        for command in [&["plan", "lone"][..], &["plan", "lone", "--path"], &["upgrade", "lone"]] {
            sandbox.capstan(&[command, &["--to", typed]].concat()).refused(2, &said);
        }
    }
    let created = |from: &str| sandbox.capstan(&["create", "shop/new", "--from", from]);
    created("gcp/v1")
        .refused(2, &format!("error: `gcp/v1` is not a release; did you mean `gcp/v1.0.0`? {lists}"));
    created("gpc/v1.0.0").refused(2, "error: there is no release `gpc/v1.0.0`; did you mean `gcp/v1.0.0`?");
    created("shop/web")
        .refused(2, &format!("error: `shop/web` is a cluster, and a release is asked for {lists}"));
}

#[test]
fn a_release_is_not_a_cluster() {
    let sandbox = teams();
    let release = |typed: &str, id: &str| {
        format!(
            "error: `{typed}` is a release, and a cluster is asked for; `capstan clusters` lists them, `capstan plan CLUSTER --to {id}` plans to this release"
        )
    };
    for command in
        [&["plan"][..], &["upgrade"], &["render"], &["adopt"], &["migrate"], &["diff", "--from", "HEAD"]]
    {
        for typed in ["aws/v1.0.0", "./aws/v1.0.0/", "aws/v1.0.0/base/md.yaml"] {
            sandbox.capstan(&[command, &[typed]].concat()).refused(2, &release(typed, "aws/v1.0.0"));
        }
        sandbox
            .capstan(&[command, &["aws"]].concat())
            .refused(2, "error: `aws` holds releases and no cluster; `capstan clusters` lists the clusters");
    }
    let first = sandbox.capstan(&["init", "--release", "gcp/v2.0.0", "--from", "gcp/v1.0.0"]);
    first.refused(2, &release("gcp/v1.0.0", "gcp/v1.0.0"));
}

#[test]
fn paths_of_validate_and_new_folders_begin_at_the_current_folder() {
    let sandbox = teams();
    sandbox.write("shop/web/base/broken.yaml", "not: [yaml\n");
    let shop = sandbox.at("shop");
    for typed in ["web", "shop/web", "web/base/broken.yaml", "."] {
        assert_eq!(capstan(&shop, &["validate", typed]).code, 3, "{typed}");
    }
    let one = capstan(&shop, &["validate", "lone"]);
    assert_eq!(one.ended(0).out, "0 errors, 0 warnings in shop/lone; checked 3 clusters, 3 releases\n");
    capstan(&shop, &["validate", "nowhere"]).refused(
        2,
        "error: there is no file or folder `nowhere` in the repository: a path is relative to the working directory, or begins at the root of the repository",
    );
    let near = capstan(&shop, &["validate", "wbe/base"]).err;
    assert!(!near.contains("did you mean"), "{near}");
    let near = capstan(&shop, &["validate", "wbe"]).err;
    assert!(near.contains("root of the repository; did you mean `shop/web`?"), "{near}");
    let created =
        capstan(&shop, &["create", "new", "--from", "gcp/v1.0.0", "--set", "CLUSTER_NAME=new", "-o", "json"]);
    assert_eq!(created.json(0)["cluster"], "shop/new");
}

#[test]
fn an_upgrade_without_a_release_goes_to_the_offered_one() {
    let sandbox = teams();
    let diff = sandbox.capstan(&["upgrade", "lone"]);
    assert_eq!(diff.ended(0).out, sandbox.capstan(&["upgrade", "lone", "--to", "aws/v1.1.0"]).out);
    assert!(diff.out.contains("+release: aws/v1.1.0"), "{}", diff.out);
    // What `plan` says of a cluster that is offered nothing.
    sandbox.write(".capstan.yaml", "clusters: {rules: [{match: \"shop/lone\", track: none}]}\n");
    let withheld = sandbox.capstan(&["upgrade", "lone"]);
    assert_eq!(
        (withheld.ended(0).out.as_str(), withheld.err.as_str()),
        ("", "shop/lone: The cluster's track is `none`, so nothing is offered.\n")
    );
    sandbox.write(".capstan.yaml", "");
    sandbox.capstan(&["upgrade", "lone", "--write"]).ended(0);
    let nothing = sandbox.capstan(&["upgrade", "lone", "--write"]);
    assert_eq!(nothing.ended(0).out, "");
    assert!(nothing.err.contains("shop/lone"), "it is said that nothing is offered: {}", nothing.err);
}
