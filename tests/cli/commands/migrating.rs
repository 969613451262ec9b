//! `migrate`: newer API versions without a release.

use serde_json::{Value, json};

use capstan_test_parts::sandbox::Sandbox;

const OPENSTACK: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: peu01, namespace: acme}
spec:
  # behind a VPN
  disableAPIServerFloatingIP: true # for good
  apiServerLoadBalancer: {enabled: true}
";

const OPENSTACK_AFTER: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata: {name: peu01, namespace: acme}
spec:
  apiServer:
    # behind a VPN
    enableFloatingIP: false # for good
    managedLoadBalancer: {enabled: true}
";

const MACHINES: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: peu01-md, namespace: acme}
spec:
  template:
    spec:
      flavor: m1.large
      image: {filter: {name: ubuntu}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md, namespace: acme}
spec:
  clusterName: peu01
  replicas: 3
  template:
    spec:
      clusterName: peu01
      nodeDrainTimeout: 5m
      bootstrap: {dataSecretName: data}
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: OpenStackMachineTemplate
        name: peu01-md
        namespace: acme
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: K0sControlPlane
metadata: {name: peu01, namespace: acme}
spec:
  replicas: 1
  version: v1.33.1+k0s.0
  k0sConfigSpec: {preStartCommands: [date], provisioner: {type: cloud-config, platform: linux}}
  machineTemplate:
    infrastructureRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
      kind: OpenStackMachineTemplate
      name: peu01-md
      namespace: acme
";

/// What the management cluster runs: a release that serves v1beta2.
const PROVIDERS: (&str, &str) = (
    "mgmt/clusterctl.yaml",
    "providers:\n- {name: openstack, type: InfrastructureProvider, url: \"https://example.org/releases/v0.15.0/infrastructure-components.yaml\"}\n",
);

fn sandbox() -> Sandbox {
    Sandbox::with(&[
        ("acme/peu01/base/cluster.yaml", OPENSTACK),
        ("acme/peu01/base/machines.yaml", MACHINES),
        PROVIDERS,
    ])
}

/// What `migrate` plans of the only cluster, without writing.
fn plan(sandbox: &Sandbox) -> Value {
    sandbox.capstan(&["migrate", "--all", "-o", "json"]).json(0)
}

#[test]
fn every_kind_goes_to_the_newest_version_and_what_names_it_follows() {
    let sandbox = sandbox();
    sandbox.capstan(&["migrate", "acme/peu01", "--write"]).ended(0);
    assert_eq!(sandbox.read("acme/peu01/base/cluster.yaml"), OPENSTACK_AFTER);
    assert_eq!(
        sandbox.read("acme/peu01/base/machines.yaml"),
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackMachineTemplate
metadata: {name: peu01-md, namespace: acme}
spec:
  template:
    spec:
      flavor:
        filter:
          name: m1.large
      image: {filter: {name: ubuntu}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: peu01-md, namespace: acme}
spec:
  clusterName: peu01
  replicas: 3
  template:
    spec:
      clusterName: peu01
      deletion:
        nodeDrainTimeoutSeconds: 300
      bootstrap: {dataSecretName: data}
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: OpenStackMachineTemplate
        name: peu01-md
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: K0sControlPlane
metadata: {name: peu01, namespace: acme}
spec:
  replicas: 1
  version: v1.33.1+k0s.0
  k0sConfigSpec: {preK0sCommands: [date], provisioner: {type: cloud-config, platform: linux}}
  machineTemplate:
    infrastructureRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
      kind: OpenStackMachineTemplate
      name: peu01-md
      namespace: acme
"
    );
    // Nothing is left to do.
    let plan = plan(&sandbox);
    assert_eq!(plan[0]["changes"], json!([]));
    assert_eq!(plan[0]["files"], json!([]));
}

#[test]
fn the_plan_says_what_moves_and_that_no_machine_is_replaced() {
    let sandbox = sandbox();
    let before = sandbox.files();
    let plan = plan(&sandbox);
    assert_eq!(sandbox.files(), before, "without --write nothing changes");
    assert_eq!(plan[0]["to"], "migration://v1beta2");
    assert_eq!(plan[0]["rollouts"], json!([]));
    assert_eq!(plan[0]["findings"], json!([]));
    let moves: Vec<&Value> =
        plan[0]["changes"].as_array().unwrap().iter().filter(|change| change["op"] == "move").collect();
    let told: Vec<Value> =
        moves.iter().map(|change| json!([change["line"], change["from"], change["path"]])).collect();
    assert_eq!(
        told,
        [
            json!([6, "/spec/disableAPIServerFloatingIP", "/spec/apiServer/enableFloatingIP"]),
            json!([7, "/spec/apiServerLoadBalancer", "/spec/apiServer/managedLoadBalancer"]),
            json!([
                19,
                "/spec/template/spec/nodeDrainTimeout",
                "/spec/template/spec/deletion/nodeDrainTimeoutSeconds"
            ]),
            json!([
                22,
                "/spec/template/spec/infrastructureRef/apiVersion",
                "/spec/template/spec/infrastructureRef/apiGroup"
            ]),
            json!([33, "/spec/k0sConfigSpec/preStartCommands", "/spec/k0sConfigSpec/preK0sCommands"]),
        ]
    );
    let said = sandbox.capstan(&["migrate", "acme/peu01"]).ended(0).out.clone();
    let markdown = sandbox.capstan(&["migrate", "acme/peu01", "-o", "markdown"]).ended(0).out.clone();
    assert_eq!(markdown.lines().next(), Some("## Migrate acme/peu01 to API versions v1beta2"));
    for line in [
        "acme/peu01  API versions, to v1beta2",
        "  Moves MachineDeployment of cluster.x-k8s.io/v1beta1; K0sControlPlane of controlplane.cluster.x-k8s.io/v1beta1; \
         OpenStackCluster and OpenStackMachineTemplate of infrastructure.cluster.x-k8s.io/v1beta1.",
        "  0 machines are replaced.",
    ] {
        assert!(said.lines().any(|other| other == line), "{line:?} is not in\n{said}");
    }
}

#[test]
fn one_group_moves_alone_and_references_to_it_follow() {
    let sandbox = sandbox();
    let to = "infrastructure.cluster.x-k8s.io/v1beta2";
    sandbox.capstan(&["migrate", "acme/peu01", "--to", to, "--write"]).ended(0);
    assert_eq!(sandbox.read("acme/peu01/base/cluster.yaml"), OPENSTACK_AFTER);
    let expected = MACHINES
        .replace("infrastructure.cluster.x-k8s.io/v1beta1", to)
        .replace("      flavor: m1.large\n", "      flavor:\n        filter:\n          name: m1.large\n");
    assert_eq!(sandbox.read("acme/peu01/base/machines.yaml"), expected);
}

#[test]
fn a_definition_that_serves_no_newer_version_keeps_its_kind() {
    let sandbox = Sandbox::with(&[
        ("acme/peu01/base/cluster.yaml", OPENSTACK),
        (
            "crds/openstackclusters.yaml",
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: openstackclusters.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: OpenStackCluster, plural: openstackclusters}
  scope: Namespaced
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
",
        ),
    ]);
    let plan = plan(&sandbox);
    assert_eq!(plan[0]["changes"], json!([]));
    let none = "No object has a newer API version that is asked for and that Capstan converts to.";
    assert_eq!(plan[0]["notes"], json!([none]));
}

#[test]
fn nothing_goes_by_itself_to_a_version_that_the_providers_do_not_serve() {
    let set = |openstack: &str, core: &str| {
        format!(
            "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {{name: openstack, namespace: capo-system}}
spec: {{version: {openstack}}}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {{name: cluster-api, namespace: capi-system}}
spec: {{version: {core}}}
"
        )
    };
    let with = |set: Option<String>| {
        let mut files = vec![
            ("acme/peu01/base/cluster.yaml", OPENSTACK.to_owned()),
            ("acme/peu01/base/machines.yaml", MACHINES.to_owned()),
        ];
        files.extend(set.map(|set| ("mgmt/providers.yaml", set)));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        Sandbox::with(&files)
    };
    let moves = |sandbox: &Sandbox| {
        let plan = plan(sandbox);
        let changes = plan[0]["changes"].as_array().unwrap().iter();
        let kinds = changes.filter(|change| change["path"] == "/apiVersion");
        let kinds: Vec<String> =
            kinds.map(|change| change["object"]["kind"].as_str().unwrap().to_owned()).collect();
        (kinds, plan[0]["notes"].to_string())
    };
    let openstack = "OpenStackCluster and OpenStackMachineTemplate of infrastructure.cluster.x-k8s.io/v1beta1 could go to infrastructure.cluster.x-k8s.io/v1beta2 with infrastructure-openstack v0.15.0-alpha.0, ";
    // Nothing says which version runs there: the newest final release at best.
    let (kinds, notes) = moves(&with(None));
    assert_eq!(kinds, ["MachineDeployment", "K0sControlPlane"]);
    assert!(notes.contains(&format!("{openstack}which is not known to be a final release: name the version with `--to`, if your management cluster serves it.")), "{notes}");
    // The core provider is too old as well.
    let (kinds, notes) = moves(&with(Some(set("v0.14.2", "v1.10.4"))));
    assert_eq!(kinds, ["K0sControlPlane"]);
    assert!(notes.contains(&format!("{openstack}and the repository installs v0.14.2: upgrade the provider first, or name the version with `--to`.")), "{notes}");
    assert!(notes.contains("MachineDeployment of cluster.x-k8s.io/v1beta1 could go to cluster.x-k8s.io/v1beta2 with cluster-api v1.11.0, and the repository installs v1.10.4:"), "{notes}");
    let (kinds, notes) = moves(&with(Some(set("v0.15.0-beta.0", "v1.11.0"))));
    assert_eq!(
        kinds,
        ["OpenStackCluster", "OpenStackMachineTemplate", "MachineDeployment", "K0sControlPlane"]
    );
    assert!(!notes.contains("could go"), "{notes}");
    // A person who names the version knows better.
    let asked = with(Some(set("v0.14.2", "v1.10.4")));
    asked.capstan(&["migrate", "--all", "--to", "v1beta2", "--write"]).ended(0);
    assert_eq!(asked.read("acme/peu01/base/cluster.yaml"), OPENSTACK_AFTER);
}

#[test]
fn what_has_no_counterpart_blocks_its_cluster_alone() {
    let other = OPENSTACK.replace("peu01", "peu02");
    let plane = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: K0smotronControlPlane
metadata: {name: peu01}
spec:
  persistence: {type: pvc}
  service: {type: LoadBalancer, loadBalancerClass: ours}
";
    let sandbox = Sandbox::with(&[
        ("acme/peu01/base/cluster.yaml", OPENSTACK),
        ("acme/peu01/base/plane.yaml", plane),
        ("acme/peu02/base/cluster.yaml", &other),
        PROVIDERS,
    ]);
    let blocked = "blocked: acme/peu01: nothing is written; the findings say why\n";
    let diff = sandbox.capstan(&["migrate", "--all", "-o", "diff"]);
    diff.ended(3);
    assert_eq!(diff.err.matches(blocked).count(), 1, "{}", diff.err);
    assert!(diff.err.contains("/spec/service/loadBalancerClass"), "{}", diff.err);
    let said = sandbox.capstan(&["migrate", "--all", "--write"]);
    said.ended(3);
    assert!(said.out.contains("/spec/service/loadBalancerClass"), "{}", said.out);
    assert_eq!(said.err.matches(blocked).count(), 1, "{}", said.err);
    assert_eq!(sandbox.read("acme/peu01/base/cluster.yaml"), OPENSTACK);
    assert_eq!(sandbox.read("acme/peu01/base/plane.yaml"), plane);
    assert_eq!(sandbox.read("acme/peu02/base/cluster.yaml"), OPENSTACK_AFTER.replace("peu01", "peu02"));
}

#[test]
fn a_cluster_that_cannot_be_read_keeps_no_other_from_being_written() {
    let sandbox = Sandbox::with(&[
        ("acme/peu01/base/cluster.yaml", OPENSTACK),
        ("acme/peu01/base/machines.yaml", "a: [\n"),
        ("acme/peu02/base/cluster.yaml", OPENSTACK),
        PROVIDERS,
    ]);
    let said = sandbox.capstan(&["migrate", "--all", "--write"]);
    said.ended(1);
    assert!(said.out.contains("acme/peu01/base/machines.yaml:1:4"), "{}", said.out);
    assert_eq!(sandbox.read("acme/peu01/base/cluster.yaml"), OPENSTACK);
    assert_eq!(sandbox.read("acme/peu01/base/machines.yaml"), "a: [\n");
    assert_eq!(sandbox.read("acme/peu02/base/cluster.yaml"), OPENSTACK_AFTER);
}

/// The path is a stranger's, and a value in so deep a place is made step by step.
#[test]
fn a_patch_of_a_class_with_an_endless_path_is_named() {
    let class = format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {{name: quick}}
spec:
  infrastructure:
    templateRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackClusterTemplate, name: quick}}
  patches:
  - name: deep
    definitions:
    - selector: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackClusterTemplate, matchResources: {{}}}}
      jsonPatches:
      - {{op: add, path: {path}, value: 1}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackClusterTemplate
metadata: {{name: quick}}
spec: {{template: {{spec: {{networkMTU: 1450}}}}}}
",
        path = "/a".repeat(100_000)
    );
    let sandbox = Sandbox::with(&[("acme/peu01/base/class.yaml", &class), PROVIDERS]);
    let plan = sandbox.capstan(&["migrate", "--all", "-o", "json"]).json(3);
    assert_eq!(plan[0]["findings"][0]["rule"], "api-version-leaves-field");
    assert_eq!(plan[0]["findings"][0]["line"], 10);
    assert_eq!(plan[0]["findings"][0]["column"], 17);
}

#[test]
fn an_invalid_version_is_wrong_usage() {
    let sandbox = sandbox();
    for none in ["newest", "v1junk", "v1beta", "/v1beta2", "a/b/v1beta2"] {
        let said = sandbox.capstan(&["migrate", "acme/peu01", "--to", none]);
        said.ended(2);
        let why = format!("`{none}` is not an API version: write `v1beta2` or `GROUP/v1beta2`");
        assert!(said.err.contains(&why), "{}", said.err);
    }
    sandbox.capstan(&["migrate"]).ended(2);
    sandbox.capstan(&["migrate", "acme/peu01", "--all"]).ended(2);
}
