//! `migrate --new-releases`: a release in newer API versions is a new version of it.

use capstan_test_parts::sandbox::Sandbox;
use serde_json::json;

const OLD: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: '${CLUSTER_NAME}', namespace: '${NAMESPACE}'}
spec:
  # the same port everywhere
  apiServerPort: 6443
";

const NEW: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata: {name: '${CLUSTER_NAME}', namespace: '${NAMESPACE}'}
spec:
  apiServer:
    # the same port everywhere
    port: 6443
";

fn sandbox() -> Sandbox {
    Sandbox::with(&[
        ("openstack/v1.0.0/base/cluster.yaml", OLD),
        ("openstack/v1.1.0/base/cluster.yaml", OLD),
        ("openstack/v1.1.0/release.md", "Our first release.\n"),
        (
            "acme/peu01/base/cluster.yaml",
            &OLD.replace("${CLUSTER_NAME}", "peu01").replace("${NAMESPACE}", "acme"),
        ),
    ])
}

#[test]
fn the_newest_release_of_a_provider_gets_a_version_beside_it() {
    let sandbox = sandbox();
    let before = sandbox.files();
    let plan = sandbox.capstan(&["migrate", "--new-releases", "--to", "v1beta2", "-o", "json"]).json(0);
    assert_eq!(sandbox.files(), before, "without --write nothing changes");
    assert_eq!(plan.as_array().unwrap().len(), 1, "{plan}");
    assert_eq!(plan[0]["changes"][1]["path"], "/spec/apiServer/port");
    sandbox.capstan(&["migrate", "--new-releases", "--to", "v1beta2", "--write"]).ended(0);
    assert_eq!(sandbox.read("openstack/v1.1.1/base/cluster.yaml"), NEW);
    assert_eq!(sandbox.read("openstack/v1.1.1/release.md"), "Our first release.\n");
    for unchanged in ["openstack/v1.0.0", "openstack/v1.1.0"] {
        assert_eq!(sandbox.read(&format!("{unchanged}/base/cluster.yaml")), OLD);
    }
    // The new version has nothing that moves.
    let plan = sandbox.capstan(&["migrate", "--new-releases", "--to", "v1beta2", "-o", "json"]).json(0);
    assert_eq!(plan[0]["files"], json!([]));
}

#[test]
fn a_new_version_takes_no_id_of_an_archived_release() {
    let sandbox = sandbox();
    sandbox.write("openstack/archived/v1.1.1/base/cluster.yaml", OLD);
    sandbox.capstan(&["migrate", "--new-releases", "--to", "v1beta2", "--write"]).ended(0);
    assert_eq!(sandbox.read("openstack/v1.1.2/base/cluster.yaml"), NEW);
    assert!(!sandbox.files().keys().any(|path| path.starts_with("openstack/v1.1.1/")));
}

#[test]
fn a_version_that_no_release_can_come_to_is_refused() {
    sandbox().capstan(&["migrate", "--new-releases", "--to", "v1beta9"]).refused(
        2,
        "error: `--to v1beta9`: no object here has this API version or can be converted to it; here Capstan converts to infrastructure.cluster.x-k8s.io/v1beta2",
    );
}
