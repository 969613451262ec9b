//! `init`: settings for a repository without, and the first release out of a cluster.

use serde_json::json;

use super::{release, workers};
use capstan_test_parts::sandbox::Sandbox;

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: one
  namespace: acme
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}
";

/// Two flat clusters, one of them applied by Flux; no release.
fn flat() -> Sandbox {
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: one, namespace: flux-system}\n\
                spec: {path: ./fleet/one, sourceRef: {kind: GitRepository, name: flux-system}}\n";
    Sandbox::with(&[
        ("fleet/one/cluster.yaml", CLUSTER),
        ("fleet/one/workers.yaml", &workers("one", 3, "v1.31.2")),
        ("fleet/two/cluster.yaml", &CLUSTER.replace("one", "two")),
        ("flux/one.yaml", flux),
        ("crowd/all.yaml", &format!("{}---\n{}", CLUSTER.replace("one", "a"), CLUSTER.replace("one", "b"))),
    ])
}

const SETTINGS: &str = "\
# Settings of Capstan for this repository. Everything else has a default; `capstan schema` lists all keys.

# observe: checks on pull requests and answers to commands; no branch, commit or pull request of Capstan's.
# propose: newer releases are offered to clusters, each as a pull request.
mode: observe

clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"fleet/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
";

#[test]
fn the_settings_are_shown_with_what_they_find_and_only_write_writes() {
    let sandbox = flat();
    let before = sandbox.files();
    let answer = sandbox.capstan(&["init", "-o", "json"]).json(0);
    assert_eq!(answer["settings"], SETTINGS);
    assert_eq!(answer["written"], false);
    assert_eq!(
        answer["clusters"][0],
        json!({
            "cluster": "fleet/one", "outcome": "no-candidate", "release": null, "fit": null, "offered": null, "reason": "No releases were found.",
            "appliedBy": [{"with": "flux-kustomization", "name": "flux-system/one", "file": "flux/one.yaml", "line": 1}],
        })
    );
    assert_eq!(
        answer["left"][1],
        json!({
            "file": "crowd/all.yaml", "line": 9, "column": 1,
            "message": "`crowd` has 2 clusters, but a cluster is a folder: move the files of `b` to crowd/b/",
        })
    );
    let text = sandbox.capstan(&["init"]).ended(0).out.clone();
    for line in [
        ".capstan.yaml, as `--write` writes it:",
        "    paths: [\"fleet/*\"]",
        "found, and left for you to decide",
        "  capstan init --release platform/v1.0.0 --from fleet/one --write",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    assert_eq!(sandbox.files(), before);

    sandbox.capstan(&["init", "--write"]).ended(0);
    assert_eq!(sandbox.read(".capstan.yaml"), SETTINGS);
    let found = sandbox.capstan(&["clusters", "-o", "json"]).json(0);
    assert_eq!((&found[0]["cluster"], &found[1]["cluster"]), (&json!("fleet/one"), &json!("fleet/two")));
    assert_eq!(found.as_array().unwrap().len(), 2);
}

#[test]
fn the_command_for_the_first_release_is_one_that_a_shell_takes() {
    let sandbox = Sandbox::with(&[("fleet/the first/cluster.yaml", CLUSTER)]);
    let text = sandbox.capstan(&["init"]).ended(0).out.clone();
    let line = "  capstan init --release platform/v1.0.0 --from 'fleet/the first' --write";
    assert!(text.lines().any(|known| known == line), "{text}");
}

#[test]
fn settings_that_are_there_are_never_overwritten() {
    let sandbox = flat();
    sandbox.write(".capstan.yaml", "mode: propose\n");
    sandbox.capstan(&["init", "--write"]).refused(
        2,
        "error: .capstan.yaml already exists, and Capstan never overwrites it: edit it, or compare it with what `capstan init` prints",
    );
    assert_eq!(sandbox.read(".capstan.yaml"), "mode: propose\n");
    let said = sandbox.capstan(&["init", "-o", "json"]);
    assert_eq!(said.json(0)["settings"], SETTINGS);
    Sandbox::with(&[("README.md", "hello\n")])
        .capstan(&["init"])
        .refused(2, "error: there is nothing to set up here: no cluster, no provider set, no other object of Cluster API's and no release was found");
}

/// Where a chart makes the clusters, `init` names its templates: it does not say that there are no clusters.
#[test]
fn templates_of_clusters_are_named_with_what_to_do() {
    let template = "{{- if .Values.on }}\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {{ .Values.name }}\n{{- end }}\n";
    let files =
        [("capi/Chart.yaml", "name: capi\nversion: 0.1.0\n"), ("capi/templates/cluster.yaml", template)];
    Sandbox::with(&files).capstan(&["init"]).refused(
        2,
        "error: there is nothing to set up here yet: only templates make clusters\n  capi/templates/cluster.yaml: this is a template of a Helm chart that makes clusters. Capstan upgrades manifests, not templates. Render each cluster into its own folder (`mkdir -p clusters/NAME && helm template NAME capi > clusters/NAME/cluster.yaml`, with its values), and apply that instead",
    );
    // Applied from here, it is something to set up, and the file can be written.
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: capi}\nspec:\n  source: {repoURL: here, path: capi}\n";
    let said = Sandbox::with(&[files[0], files[1], ("argocd/capi.yaml", application)])
        .capstan(&["init", "-o", "json"])
        .json(0);
    assert_eq!(said["left"][0]["file"], "capi/templates/cluster.yaml");
    assert_eq!(said["clusters"], json!([]));
}

#[test]
fn init_shows_fitting_releases_and_the_upgrades_on_offer() {
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
        ("acme/a/base/md.yaml", &workers("a", 2, "v1.30.4")),
    ]);
    let answer = sandbox.capstan(&["init", "-o", "json"]).json(0);
    let cluster = &answer["clusters"][0];
    assert_eq!(cluster["release"], "aws/v1.0.0");
    assert_eq!(
        cluster["fit"],
        json!({"release": "aws/v1.0.0", "equal": 3, "differing": 0, "missing": 0, "percent": 100})
    );
    assert_eq!(cluster["offered"], json!({"to": "aws/v1.1.0", "changes": 2, "machines": 2, "blocked": null}));
}

#[test]
fn the_first_release_is_made_of_a_cluster_and_planning_it_changes_nothing() {
    let sandbox = flat();
    sandbox.capstan(&["init", "--write"]).ended(0);
    sandbox.repository.commit_all("settings");
    let before = sandbox.files();
    let arguments = ["init", "--release", "aws/v1.0.0", "--from", "fleet/one"];
    let diff = sandbox.capstan(&arguments).ended(0).out.clone();
    assert_eq!(sandbox.files(), before);
    sandbox.git_apply(&diff, &["--check"]).unwrap();

    let said = sandbox.capstan(&[&arguments[..], &["--write"]].concat());
    said.ended(0);
    assert!(said.err.contains("planning it to this release changes nothing"), "{}", said.err);
    assert_eq!(
        sandbox.read("aws/v1.0.0/base/cluster.yaml"),
        CLUSTER.replace("name: one", "name: ${CLUSTER_NAME}")
    );
    sandbox.repository.commit_all("release");
    let tree = sandbox.tree_id("aws/v1.0.0");
    let record = sandbox.read("fleet/one/capstan.yaml");
    assert!(
        record.ends_with(&format!(
            "release: aws/v1.0.0\nreleaseTree: {tree}\nvariables:\n  CLUSTER_NAME: one\n"
        )),
        "{record}"
    );
    let plan = sandbox.capstan(&["plan", "fleet/one", "--to", "aws/v1.0.0", "-o", "json"]).json(0);
    assert_eq!((&plan[0]["files"], &plan[0]["changes"]), (&json!([]), &json!([])));
    // Its own cluster knows the name by the variable: the next release reaches it.
    let next = sandbox.read("aws/v1.0.0/base/workers.yaml").replace("v1.31.2", "v1.32.0");
    sandbox.write("aws/v1.1.0/base/workers.yaml", &next);
    sandbox.write("aws/v1.1.0/base/cluster.yaml", &sandbox.read("aws/v1.0.0/base/cluster.yaml"));
    let plan = sandbox.capstan(&["plan", "fleet/one", "-o", "json"]).json(0);
    assert_eq!(plan[0]["to"], "aws/v1.1.0");
    assert_eq!(plan[0]["changes"].as_array().unwrap().len(), 1, "{plan}");

    sandbox
        .capstan(&arguments)
        .refused(2, "error: aws/v1.0.0 already exists, and Capstan never overwrites a release");
}

#[test]
fn what_is_asked_for_in_vain_is_said() {
    let sandbox = flat();
    sandbox.capstan(&["init", "--write"]).ended(0);
    let ask = |release: &str, from: &str| {
        let said = sandbox.capstan(&["init", "--release", release, "--from", from, "--write"]);
        (said.code, said.err)
    };
    let (code, said) = ask("v1.0.0", "fleet/one");
    assert!(code == 2 && said.contains("is not a release: give a provider and a version"), "{said}");
    let (code, said) = ask("aws/one", "fleet/one");
    assert!(code == 2 && said.contains("is not a release"), "{said}");
    let (code, said) = ask("aws/v1.0.0", "fleet/onne");
    assert!(code == 2 && said.contains("did you mean `fleet/one`?"), "{said}");
    sandbox.write("fleet/one/capstan.yaml", "variables: {CLUSTER_NAME: other}\n");
    let (code, said) = ask("aws/v1.0.0", "fleet/one");
    assert!(code == 2 && said.contains("gives CLUSTER_NAME the value `other`"), "{said}");
    assert!(!sandbox.at("aws").exists());
    assert_eq!(sandbox.capstan(&["init", "--release", "aws/v1.0.0"]).code, 2);
}

#[test]
fn clusters_of_a_shared_base_are_offered_nothing_for_an_upgrade_would_make_second_ones() {
    let overlay = |name: &str| format!("resources: [../../base]\nnamePrefix: {name}-\n");
    let md = |name: &str| workers(name, 2, "v1.30.4");
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
        ("capi/base/kustomization.yaml", "resources: [cluster.yaml, md.yaml]\n"),
        ("capi/base/cluster.yaml", CLUSTER),
        ("capi/base/md.yaml", &md("one")),
        ("capi/overlays/dev/kustomization.yaml", &overlay("dev")),
        ("capi/overlays/prod/kustomization.yaml", &overlay("prod")),
    ]);
    sandbox.capstan(&["init", "--write"]).ended(0);
    assert!(sandbox.read(".capstan.yaml").contains("    - {match: \"capi/overlays/*\", track: none}\n"));
    let plan = sandbox.capstan(&["plan", "-o", "json"]).json(0);
    let offered: Vec<_> =
        plan.as_array().unwrap().iter().map(|plan| (&plan["cluster"], &plan["to"])).collect();
    assert_eq!(
        offered,
        [(&json!("capi/overlays/dev"), &json!(null)), (&json!("capi/overlays/prod"), &json!(null))]
    );
    let said = sandbox.capstan(&["init", "--release", "aws/v2.0.0", "--from", "capi/overlays/dev"]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("this kustomization takes `../../base` from outside of the base"),
        "{}",
        said.err
    );
}
