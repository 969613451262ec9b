//! `create`: a new cluster out of a release, shown, and written with `--write`.

use serde_json::json;

use super::workers;
use capstan_test_parts::sandbox::Sandbox;

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: ${CLUSTER_NAME} # its name
  namespace: acme
spec:
  clusterNetwork: {pods: {cidrBlocks: [\"${PODS:=10.0.0.0/16}\"]}}
";
const MD: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: \"${CLUSTER_NAME}-md-0\", namespace: acme}
spec:
  clusterName: ${CLUSTER_NAME}
  replicas: 2
  template:
    spec:
      clusterName: ${CLUSTER_NAME}
      version: v1.30.4
      failureDomain: ${ZONE}
";
const ONE: [&str; 8] =
    ["create", "gauss/one", "--from", "aws/v1.0.0", "--set", "CLUSTER_NAME=one", "--set", "ZONE=eu-1a"];

fn sandbox(settings: &str, more: &[(&str, &str)]) -> Sandbox {
    let mut files = vec![
        (".capstan.yaml", settings),
        ("aws/v1.0.0/base/cluster.yaml", CLUSTER),
        ("aws/v1.0.0/base/md.yaml", MD),
    ];
    files.extend(more);
    Sandbox::with(&files)
}

#[test]
fn a_cluster_is_shown_and_only_write_writes_it_and_then_it_is_one_like_all_others() {
    let sandbox = sandbox("clusters: {paths: [\"gauss/*\"]}\n", &[]);
    let before = sandbox.files();
    let said = sandbox.capstan(&ONE);
    sandbox.git_apply(&said.ended(0).out, &["--check"]).unwrap();
    assert!(
        said.err.contains("gauss/one would be made (with `--write`): 2 objects of aws/v1.0.0"),
        "{}",
        said.err
    );
    let json = sandbox.capstan(&[&ONE[..], &["-o", "json"]].concat()).json(0);
    assert_eq!(
        json,
        json!({
            "cluster": "gauss/one", "release": "aws/v1.0.0", "written": false, "claimedBy": null,
            "variables": {"CLUSTER_NAME": "one", "ZONE": "eu-1a"},
            "files": [
                {"path": "gauss/one/base/cluster.yaml", "action": "add"},
                {"path": "gauss/one/base/md.yaml", "action": "add"},
                {"path": "gauss/one/capstan.yaml", "action": "add"},
            ],
            "objects": [
                {"group": "cluster.x-k8s.io", "kind": "Cluster", "namespace": "acme", "name": "one"},
                {"group": "cluster.x-k8s.io", "kind": "MachineDeployment", "namespace": "acme", "name": "one-md-0"},
            ],
            "findings": [], "notes": [],
        })
    );
    assert_eq!(sandbox.files(), before);

    let said = sandbox.capstan(&[&ONE[..], &["--write"]].concat());
    assert_eq!(said.ended(0).out, "");
    assert_eq!(
        sandbox.read("gauss/one/base/cluster.yaml"),
        CLUSTER.replace("${CLUSTER_NAME}", "one").replace("${PODS:=10.0.0.0/16}", "10.0.0.0/16")
    );
    assert_eq!(
        sandbox.read("gauss/one/base/md.yaml"),
        MD.replace("${CLUSTER_NAME}", "one").replace("${ZONE}", "eu-1a")
    );
    let tree = sandbox.tree_id("aws/v1.0.0");
    assert_eq!(
        sandbox.read("gauss/one/capstan.yaml"),
        format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: ClusterSettings\nmetadata:\n  name: one\n  annotations:\n    \
             config.kubernetes.io/local-config: \"true\"\nrelease: aws/v1.0.0\nreleaseTree: {tree}\nvariables:\n  \
             CLUSTER_NAME: one\n  ZONE: eu-1a\n"
        )
    );
    // To its own release it is offered nothing; the next one reaches it with its values.
    let plan = sandbox.capstan(&["plan", "gauss/one", "--to", "aws/v1.0.0", "-o", "json"]).json(0);
    assert_eq!((&plan[0]["files"], &plan[0]["changes"]), (&json!([]), &json!([])));
    sandbox.write("aws/v1.1.0/base/cluster.yaml", CLUSTER);
    sandbox.write("aws/v1.1.0/base/md.yaml", &MD.replace("v1.30.4", "v1.31.2"));
    let plan = sandbox.capstan(&["plan", "gauss/one", "-o", "json"]).json(0);
    assert_eq!(
        (&plan[0]["to"], &plan[0]["changes"][0]["path"]),
        (&json!("aws/v1.1.0"), &json!("/spec/template/spec/version"))
    );
    assert_eq!(plan[0]["changes"].as_array().unwrap().len(), 1, "{plan}");
    sandbox.capstan(&["render", "gauss/one"]).ended(0);

    sandbox
        .capstan(&ONE)
        .refused(2, "error: gauss/one already exists, and a new cluster never overwrites anything");
}

#[test]
fn what_a_cluster_cannot_be_made_of_is_said_and_nothing_is_written() {
    let sandbox = sandbox(
        "clusters: {paths: [\"gauss/*\"]}\n",
        &[
            ("aws/v2.0.0/base/md.yaml", "kind: MachineDeployment\nspec: {replicas: 3}\n"),
            ("gcp/v1.0.0/base/cluster.yaml", CLUSTER),
            ("gauss/two/base/md.yaml", &workers("two", 2, "v1.30.4")),
            ("notes", "text\n"),
        ],
    );
    let before = sandbox.files();
    let set = ["--set", "CLUSTER_NAME=one", "--set", "ZONE=eu-1a"];
    let no_value = "error: 2 values are wrong or missing:\n  \
                    aws/v1.0.0/base/cluster.yaml:4: ${CLUSTER_NAME} has no value (and in another object): give it one, `--set CLUSTER_NAME=VALUE`\n  \
                    aws/v1.0.0/base/md.yaml:11: ${ZONE} has no value: give it one, `--set ZONE=VALUE`";
    for (cluster, from, set, code, line) in [
        ("gauss/one", "aws/v1.0.0", &[][..], 2, no_value),
        (
            "gauss/one",
            "aws/v1.0.0",
            &["--set", "CLUSTER_NAME=one", "--set", "ZONE=a", "--set", "ZON=b"],
            2,
            "error: aws/v1.0.0 has no variable `ZON`; did you mean `ZONE`?",
        ),
        ("gauss/one", "aws/v1.0.0", &["--set", "ZONE"], 2, "error: `--set ZONE` is not KEY=VALUE"),
        (
            "gauss/one",
            "aws/v1.0.1",
            &set,
            2,
            "error: there is no release `aws/v1.0.1`; did you mean `aws/v1.0.0`?",
        ),
        (
            "gauss/one",
            "v1.0.0",
            &set,
            2,
            "error: several releases have the name `1.0.0`: aws/v1.0.0, gcp/v1.0.0",
        ),
        (
            "gauss/one",
            "aws/v2.0.0",
            &[],
            2,
            "error: aws/v2.0.0 holds no complete `Cluster`, so no cluster can be made from it: its objects are for existing clusters",
        ),
        (
            "euler/one",
            "aws/v1.0.0",
            &set,
            2,
            "error: euler/one would not be found as a cluster: `clusters.paths` in .capstan.yaml has `gauss/*`",
        ),
        (
            "gauss/two/inner",
            "aws/v1.0.0",
            &set,
            2,
            "error: gauss/two/inner would be in the cluster gauss/two, and a cluster never contains another",
        ),
        (
            "gauss",
            "aws/v1.0.0",
            &set,
            2,
            "error: gauss already exists, and a new cluster never overwrites anything",
        ),
        ("notes/one", "aws/v1.0.0", &set, 2, "error: notes is a file, so notes/one cannot be a folder"),
        ("aws/v1.0.0/x", "aws/v1.0.0", &set, 2, "error: aws/v1.0.0/x would be in the release aws/v1.0.0"),
        (
            "gauss/v1.0.0",
            "aws/v1.0.0",
            &set,
            2,
            "error: `gauss/v1.0.0` has the name of a version: such a folder is a release",
        ),
        (
            ".github/one",
            "aws/v1.0.0",
            &set,
            2,
            "error: `.github/one` has a part that begins with a dot: such folders belong to other programs",
        ),
        (
            "../one",
            "aws/v1.0.0",
            &set,
            2,
            "error: `../one` is not a path of a folder in the repository, e.g. gauss/peu01",
        ),
    ] {
        let arguments = [&["create", cluster, "--from", from, "--write"][..], set].concat();
        sandbox.capstan(&arguments).refused(code, line);
    }
    assert_eq!(sandbox.files(), before);
}

#[test]
fn no_two_clusters_of_a_management_cluster_have_one_name() {
    let claims = "managementClusters:\n  - {name: mc-eu, uid: 6f1c0000-0000-0000-0000-000000000000, clusters: [\"*/*\"]}\n";
    let one = CLUSTER.replace("${CLUSTER_NAME}", "one").replace("${PODS:=10.0.0.0/16}", "10.0.0.0/16");
    let other = [("euler/one/base/cluster.yaml", one.as_str())];
    sandbox(claims, &other).capstan(&ONE).refused(
        2,
        "error: euler/one has a `Cluster` one in the namespace acme too, and mc-eu applies both: give this one another name",
    );
    // Without claims Capstan cannot know whether one management cluster gets both: it only notes that.
    let said = sandbox("{}\n", &other).capstan(&[&ONE[..], &["-o", "json"]].concat()).json(0);
    assert_eq!(
        said["notes"],
        json!([
            "euler/one has a `Cluster` one in the namespace acme too: they must not be applied to one management cluster."
        ])
    );
    let namespaced = one.replace("namespace: acme", "namespace: euler");
    let said = sandbox(claims, &[("euler/one/base/cluster.yaml", &namespaced)]).capstan(&ONE);
    assert!(said.ended(0).out.contains("+  name: one # its name"), "{said:?}");
}

#[test]
fn releases_of_another_repository_are_as_good() {
    let releases =
        Sandbox::with(&[("aws/v1.0.0/base/cluster.yaml", CLUSTER), ("aws/v1.0.0/base/md.yaml", MD)]);
    let sandbox = Sandbox::with(&[(".capstan.yaml", "releases: {repository: acme/releases}\n")]);
    let said = sandbox.capstan(&ONE);
    assert!(said.code == 1 && said.err.contains("name a checkout of it with --releases DIR"), "{}", said.err);
    let folder = releases.at("").to_str().unwrap().to_owned();
    sandbox.capstan(&[&ONE[..], &["--releases", &folder, "--write"]].concat()).ended(0);
    assert!(
        sandbox
            .read("gauss/one/capstan.yaml")
            .contains(&format!("releaseTree: {}", releases.tree_id("aws/v1.0.0")))
    );
}

#[test]
fn a_real_template_becomes_a_cluster_that_its_release_has_nothing_to_add_to() {
    let Some(folder) = capstan_test_support::shared_data::folder() else { return };
    let template =
        folder.join("manifests/cluster-api-provider-openstack/v0.10.8/templates/cluster-template.yaml");
    let template = std::fs::read_to_string(template).unwrap();
    let sandbox = Sandbox::with(&[("openstack/v0.10.8/base/cluster-template.yaml", &template)]);
    let create = ["create", "acme/dus1", "--from", "openstack/v0.10.8", "--write"];
    let said = sandbox.capstan(&create);
    let missing: Vec<&str> = said
        .err
        .lines()
        .filter_map(|line| line.split_once("give it one, `--set ")?.1.split('=').next())
        .collect();
    assert!(said.code == 2 && missing.contains(&"CLUSTER_NAME") && missing.len() > 8, "{}", said.err);
    let value = |name: &&str| match *name {
        name if name.ends_with("_COUNT") => format!("{name}=3"),
        "KUBERNETES_VERSION" => "KUBERNETES_VERSION=v1.30.4".to_owned(),
        name => format!("{name}=dus1"),
    };
    let values: Vec<String> = missing.iter().flat_map(|name| ["--set".to_owned(), value(name)]).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let said = sandbox.capstan(&[&create[..], &values].concat());
    assert!(matches!(said.code, 0 | 3), "{}", said.err);
    let made = sandbox.read("acme/dus1/base/cluster-template.yaml");
    assert!(!made.contains("${"), "{made}");
    // Also where nobody knew where it comes from, the release adds nothing.
    let record = sandbox.read("acme/dus1/capstan.yaml");
    let unknown: String =
        record.lines().filter(|line| !line.starts_with("release")).map(|line| format!("{line}\n")).collect();
    for record in [record, unknown] {
        sandbox.write("acme/dus1/capstan.yaml", &record);
        sandbox.write(".capstan.yaml", "upgrade: {whenReleaseUnknown: overwrite}\n");
        let plan = sandbox.capstan(&["plan", "acme/dus1", "--to", "openstack/v0.10.8", "-o", "json"]);
        let plan: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
        assert_eq!((&plan[0]["changes"], &plan[0]["conflicts"]), (&json!([]), &json!([])));
    }
}
