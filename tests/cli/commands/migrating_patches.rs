//! `migrate`: patches follow the objects that they are for.

use capstan_test_parts::sandbox::Sandbox;

const CLUSTER: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: peu01, namespace: acme}
spec:
  apiServerPort: 6443
";

const OVERLAY: &str = "\
resources: [../base]
patches:
- path: balancer.yaml
# our own routers
- target: {kind: OpenStackCluster, version: v1beta1}
  patch: |-
    - op: add
      path: /spec/disableAPIServerFloatingIP
      value: true
";

const BALANCER: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: peu01, namespace: acme}
spec:
  # a pair
  apiServerLoadBalancer: {enabled: true}
";

fn sandbox(overlay: &str) -> Sandbox {
    Sandbox::with(&[
        ("acme/peu01/base/cluster.yaml", CLUSTER),
        ("acme/peu01/base/kustomization.yaml", "resources: [cluster.yaml]\n"),
        ("acme/peu01/overlay/kustomization.yaml", overlay),
        ("acme/peu01/overlay/balancer.yaml", BALANCER),
    ])
}

const MIGRATE: [&str; 4] = ["migrate", "acme/peu01", "--to", "v1beta2"];

#[test]
fn the_overlay_is_edited_where_its_owner_asks_and_else_a_finding_says_what_to_write() {
    let sandbox = sandbox(OVERLAY);
    let plan = sandbox.capstan(&[&MIGRATE[..], &["-o", "json"]].concat()).json(3);
    let messages: Vec<String> = plan[0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let message = finding["message"].as_str().unwrap();
            format!("{}:{} {}", finding["file"].as_str().unwrap(), finding["line"], message)
        })
        .collect();
    let instead = [
        "acme/peu01/overlay/balancer.yaml:6 This patch is for /spec/apiServerLoadBalancer of OpenStackCluster acme/peu01, which the upgrade converts to infrastructure.cluster.x-k8s.io/v1beta2. There the field is /spec/apiServer/managedLoadBalancer, so the patch fails or has no effect after the upgrade. Write it for infrastructure.cluster.x-k8s.io/v1beta2 in the same change: `/spec/apiServer/managedLoadBalancer: {enabled: true}`.",
        "acme/peu01/overlay/kustomization.yaml:8 This patch is for /spec/disableAPIServerFloatingIP of OpenStackCluster acme/peu01, which the upgrade converts to infrastructure.cluster.x-k8s.io/v1beta2. There the field is /spec/apiServer/enableFloatingIP, so the patch fails or has no effect after the upgrade. Write it for infrastructure.cluster.x-k8s.io/v1beta2 in the same change: `{op: add, path: /spec/apiServer/enableFloatingIP, value: false}`.",
    ];
    for line in instead {
        assert!(messages.iter().any(|other| other == line), "{line:?} is not in {messages:#?}");
    }
    sandbox.capstan(&[&MIGRATE[..], &["--overlay", "--write"]].concat()).ended(0);
    assert_eq!(
        sandbox.read("acme/peu01/overlay/kustomization.yaml"),
        OVERLAY
            .replace("v1beta1", "v1beta2")
            .replace("disableAPIServerFloatingIP", "apiServer/enableFloatingIP")
            .replace("value: true", "value: false")
    );
    assert_eq!(
        sandbox.read("acme/peu01/overlay/balancer.yaml"),
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata: {name: peu01, namespace: acme}
spec:
  apiServer:
    # a pair
    managedLoadBalancer: {enabled: true}
"
    );
    // Nothing is left to do, and the patches find their object.
    let plan = sandbox.capstan(&[&MIGRATE[..], &["-o", "json"]].concat()).json(0);
    assert_eq!((&plan[0]["files"], &plan[0]["findings"]), (&serde_json::json!([]), &serde_json::json!([])));
}

/// A JSON patch makes no parents, so the patch of a field whose new parent is nowhere cannot follow.
#[test]
fn a_patch_that_cannot_follow_is_named_and_stays() {
    let overlay = OVERLAY
        .replace("/spec/disableAPIServerFloatingIP", "/spec/networkMTU")
        .replace("value: true", "value: 1450");
    let sandbox = sandbox(&overlay);
    let plan = sandbox.capstan(&[&MIGRATE[..], &["--overlay", "-o", "json"]].concat()).json(3);
    let findings = plan[0]["findings"].to_string();
    assert!(findings.contains("There the field is /spec/managedNetwork/mtu"), "{findings}");
    let files = plan[0]["files"].to_string();
    assert!(!files.contains("overlay/kustomization.yaml"), "{files}");
}

#[test]
fn a_finding_says_the_version_of_a_patch_whose_fields_stay() {
    let sandbox = Sandbox::with(&[
        ("acme/peu01/base/cluster.yaml", CLUSTER),
        ("acme/peu01/base/kustomization.yaml", "resources: [cluster.yaml]\n"),
        ("acme/peu01/overlay/kustomization.yaml", "resources: [../base]\npatches: [{path: labels.yaml}]\n"),
        (
            "acme/peu01/overlay/labels.yaml",
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: OpenStackCluster\nmetadata: {name: peu01, namespace: acme, labels: {a: b}}\n",
        ),
    ]);
    let plan = sandbox.capstan(&[&MIGRATE[..], &["-o", "json"]].concat()).json(3);
    let findings = plan[0]["findings"].to_string();
    let version = "which comes to infrastructure.cluster.x-k8s.io/v1beta2: write that version in the patch";
    assert!(findings.contains(version), "{findings}");
    sandbox.capstan(&[&MIGRATE[..], &["--overlay", "--write"]].concat()).ended(0);
    let labels = sandbox.read("acme/peu01/overlay/labels.yaml");
    assert!(labels.starts_with("apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n"), "{labels}");
}
