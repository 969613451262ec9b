//! Objects that kubectl and Flux applied in Cluster API's v1beta1, taken over from a Git that speaks v1beta2.
//!
//! Between the two stand Cluster API's own conversion webhooks: fields have other names and other forms
//! (`nodeDrainTimeout` is `deletion.nodeDrainTimeoutSeconds`, `extraArgs` was a map and is a list). Both clusters
//! are paused, so that no machines come of them.

use capstan_reconciler::reconcile::resources::PlaceStatus;
use jiff::Timestamp;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::{CUSTOMER, HOME, Parts, Town, rows};
use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::world::World;

/// What kubectl applied.
const BY_KUBECTL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: old
  namespace: gauss
  labels: {kept: \"1\", dropped: \"1\", shared: \"1\"}
spec:
  paused: true
  clusterNetwork:
    pods: {cidrBlocks: [192.168.0.0/16]}
    serviceDomain: cluster.local
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: old}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: old, namespace: gauss}
spec:
  replicas: 3
  version: v1.34.3
  machineTemplate:
    nodeDrainTimeout: 30s
    nodeDeletionTimeout: 20s
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DevMachineTemplate, name: old}
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs: {v: \"2\", audit-log-maxage: \"7\"}
    joinConfiguration: {nodeRegistration: {criSocket: \"unix:///run/one.sock\", kubeletExtraArgs: {v: \"2\"}}}
    preKubeadmCommands: [echo 1]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DevMachineTemplate
metadata: {name: old, namespace: gauss}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 1s}}}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineHealthCheck
metadata: {name: old, namespace: gauss}
spec:
  clusterName: old
  maxUnhealthy: 40%
  nodeStartupTimeout: 20m
  selector: {matchLabels: {a: b}}
  unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}, {type: Ready, status: \"False\", timeout: 200s}]
";

/// What Flux applied.
const BY_FLUX: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: pool, namespace: gauss}
spec:
  paused: true
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DevCluster, name: pool}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DevCluster
metadata: {name: pool, namespace: gauss, annotations: {example.com/sample: \"true\"}}
spec: {backend: {inMemory: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DevMachineTemplate
metadata: {name: pool, namespace: gauss}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 1s}}}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: pool, namespace: gauss}
spec:
  clusterName: pool
  replicas: 3
  minReadySeconds: 7
  selector: {matchLabels: {}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}
  template:
    metadata: {labels: {kept: \"1\", dropped: \"1\"}}
    spec:
      clusterName: pool
      version: v1.34.3
      nodeDrainTimeout: 30s
      nodeVolumeDetachTimeout: 40s
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DevMachineTemplate, name: pool}
";

/// What Git says of the first: the same, without some fields.
const OLD: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: old
  namespace: gauss
  labels: {kept: \"1\"}
spec:
  paused: true
  clusterNetwork:
    pods: {cidrBlocks: [192.168.0.0/16]}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: old}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: old, namespace: gauss}
spec:
  replicas: 3
  version: v1.34.3
  machineTemplate:
    spec:
      deletion: {nodeDrainTimeoutSeconds: 60}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: old}
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs: [{name: v, value: \"2\"}]
    joinConfiguration: {nodeRegistration: {criSocket: \"unix:///run/one.sock\"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: old, namespace: gauss}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 1s}}}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: old, namespace: gauss}
spec:
  clusterName: old
  selector: {matchLabels: {a: b}}
  checks:
    unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]
";

/// And of the second, whose count is to be an autoscaler's.
const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: pool, namespace: gauss}
spec:
  paused: true
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: pool}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: pool, namespace: gauss, annotations: {example.com/sample: \"true\"}}
spec: {backend: {inMemory: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: pool, namespace: gauss}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 1s}}}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: pool, namespace: gauss}
spec:
  clusterName: pool
  selector: {matchLabels: {}}
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}}
  template:
    metadata: {labels: {kept: \"1\"}}
    spec:
      clusterName: pool
      version: v1.34.3
      deletion: {nodeDrainTimeoutSeconds: 30}
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: pool}
";

/// What is said before anybody allowed it: object, and what taking it over would do.
const PREVIEW: &[(&str, &str)] = &[
    ("Cluster gauss/old", "removes /metadata/labels/dropped, /spec/clusterNetwork/serviceDomain"),
    (
        "KubeadmControlPlane gauss/old",
        "sets /spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds and removes \
         /spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/0, \
         /spec/kubeadmConfigSpec/joinConfiguration/nodeRegistration/kubeletExtraArgs, \
         /spec/kubeadmConfigSpec/preKubeadmCommands, \
         /spec/machineTemplate/spec/deletion/nodeDeletionTimeoutSeconds",
    ),
    ("DevMachineTemplate gauss/old", "changes nothing"),
    (
        "MachineHealthCheck gauss/old",
        "sets /spec/checks/unhealthyNodeConditions and removes /spec/checks/nodeStartupTimeoutSeconds, \
         /spec/remediation/triggerIf/unhealthyLessThanOrEqualTo",
    ),
    ("Cluster gauss/pool", "changes nothing"),
    ("DevCluster gauss/pool", "changes nothing"),
    ("DevMachineTemplate gauss/pool", "changes nothing"),
    (
        "MachineDeployment gauss/pool",
        "removes /spec/template/metadata/labels/dropped, \
         /spec/template/spec/deletion/nodeVolumeDetachTimeoutSeconds, /spec/template/spec/minReadySeconds and \
         leaves to others /spec/replicas",
    ),
];

#[tokio::test]
async fn what_was_applied_in_v1beta1_is_taken_over_in_v1beta2() {
    let Some(town) = Town::found(Parts::Everything).await else { return };
    let plane = &town.plane;
    plane.kubectl_with(&["apply", "-f", "-"], BY_KUBECTL);
    let flux = ["apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-"];
    plane.kubectl_with(&flux, BY_FLUX);
    // Somebody else's tool holds one of the labels too.
    // (Not by kubectl, which would make its own older entries that tool's.)
    let shared = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "old", "labels": {"shared": "1"}}});
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Cluster"));
    let clusters: Api<DynamicObject> = Api::namespaced_with(plane.client().await, CUSTOMER, &resource);
    clusters.patch("old", &PatchParams::apply("pipeline"), &Patch::Apply(&shared)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history");
    let kinds = [("cluster.x-k8s.io", "v1beta2", "MachineDeployment")];
    let world = World::watch(&plane.admin_kubeconfig(), &kinds, Some(&history));

    let since = Timestamp::now();
    town.write([("gauss/old/base/all.yaml", OLD), ("gauss/pool/base/all.yaml", POOL)]);
    town.commit("In the words of v1beta2", &[]);
    let preview: Vec<String> = PREVIEW.iter().map(|(object, does)| {
        let by = if object.ends_with("old") { "kubectl-client-side-apply" } else { "kustomize-controller" };
        format!("{object}: was applied by {by}, not by Capstan; taking it over {does}. Allow it by `adopt: take`, in the Fleet's guards or the ManagedCluster's spec")
    }).collect();
    let said = |statuses: &super::Statuses| -> Vec<String> {
        let places = statuses.values().flat_map(|status| &status.refused);
        places
            .map(|place: &PlaceStatus| format!("{}: {}", place.object.as_deref().unwrap(), place.message))
            .collect()
    };
    let missing = town
        .wait(async || {
            let said = said(&town.statuses().await);
            preview
                .iter()
                .filter(|words| !said.contains(words))
                .cloned()
                .chain(
                    said.iter().filter(|words| !preview.contains(words)).map(|words| format!("but {words}")),
                )
                .collect()
        })
        .await;
    assert_eq!(missing, [""; 0], "the preview");
    let written: Vec<String> = town
        .asked(since)
        .iter()
        .filter(|request| request.is_write())
        .map(|request| request.words())
        .collect();
    assert_eq!(written, [""; 0], "a preview writes nothing");

    let take = r#"{"spec": {"guards": {"adopt": "take"}}}"#;
    plane.kubectl(&["patch", "fleet", "fleet", "-n", HOME, "--type=merge", "-p", take]);
    // Nobody judges a paused control plane: what is applied counts.
    let is_taken = |name: &'static str, kept: &[&str]| {
        let kept: Vec<String> = kept.iter().map(|text| (*text).to_owned()).collect();
        move |statuses: &super::Statuses| {
            let status = &statuses[name];
            let applied = status.applied_commit.is_some();
            let told = rows::ready_and_reasons(status).1;
            (!applied || told != kept).then(|| format!("{name}: applied {applied}, {told:?}"))
        }
    };
    let survivor = "FieldSurvived gauss/old/base/all.yaml:6: Git removed /metadata/labels/shared, but it stays: pipeline also manages it";
    let looks = [is_taken("gauss-old", &[survivor]), is_taken("gauss-pool", &[])];
    let missing = town
        .wait(async || {
            let statuses = town.statuses().await;
            looks.iter().filter_map(|look| look(&statuses)).collect()
        })
        .await;
    assert_eq!(missing, [""; 0], "taken over");

    let live = async |kind: &str, group: &str, name: &str| {
        let manifest = json!({"apiVersion": format!("{group}/v1beta2"), "kind": kind,
            "metadata": {"name": name, "namespace": CUSTOMER}});
        town.object(&manifest).await.unwrap()
    };
    let core = "cluster.x-k8s.io";
    let cluster = live("Cluster", core, "old").await;
    assert_eq!(cluster["metadata"]["labels"], json!({"kept": "1", "shared": "1"}));
    assert_eq!(cluster["spec"]["clusterNetwork"], json!({"pods": {"cidrBlocks": ["192.168.0.0/16"]}}));
    let control_plane = live("KubeadmControlPlane", "controlplane.cluster.x-k8s.io", "old").await;
    assert_eq!(
        control_plane["spec"]["kubeadmConfigSpec"],
        json!({"clusterConfiguration": {"apiServer": {"extraArgs": [{"name": "v", "value": "2"}]}},
            "joinConfiguration": {"nodeRegistration": {"criSocket": "unix:///run/one.sock"}}})
    );
    assert_eq!(
        control_plane["spec"]["machineTemplate"]["spec"]["deletion"],
        json!({"nodeDrainTimeoutSeconds": 60})
    );
    let check = live("MachineHealthCheck", core, "old").await;
    assert_eq!(
        check["spec"]["checks"],
        json!({"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}]})
    );
    assert_eq!(check["spec"].get("remediation"), None);
    let pool = live("MachineDeployment", core, "pool").await;
    let spec = &pool["spec"]["template"]["spec"];
    assert_eq!(spec["deletion"], json!({"nodeDrainTimeoutSeconds": 30}));
    assert_eq!(spec.get("minReadySeconds"), None);
    assert_eq!(pool["spec"]["template"]["metadata"]["labels"].get("dropped"), None);
    assert_eq!(pool["spec"]["replicas"], 3);
    for object in [&cluster, &control_plane, &check, &pool] {
        assert_eq!(tools(object), ["capstan Apply v1beta2"], "{}", object["kind"]);
        assert!(
            !object["metadata"]["annotations"].to_string().contains("last-applied"),
            "{}",
            object["kind"]
        );
    }

    // The autoscaler writes the count, and Git has no say in it any more.
    plane.kubectl(&["scale", "machinedeployment/pool", "-n", CUSTOMER, "--replicas=5"]);
    let since = Timestamp::now();
    let missing = town
        .wait(async || {
            town.ask();
            let asked = town.asked(since);
            let is_look =
                |request: &&Request| request.verb == "get" && request.resource == "machinedeployments";
            let looks = asked.iter().filter(is_look).count();
            (looks < 3).then(|| format!("{looks} looks")).into_iter().collect()
        })
        .await;
    assert_eq!(missing, [""; 0], "nobody looks at the scaled workers");
    assert_eq!(live("MachineDeployment", core, "pool").await["spec"]["replicas"], 5);
    drop(world);
    let seen: Vec<Value> = std::fs::read_to_string(&history)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["object"]["spec"]["replicas"].clone())
        .collect();
    assert!(seen.iter().all(|count| *count == 3 || *count == 5), "the count fell for a moment: {seen:?}");
}

/// The managers of an object, except Cluster API's controllers and `pipeline`: name, operation and version.
fn tools(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    entries
        .iter()
        .filter(|entry| {
            let manager = entry["manager"].as_str().unwrap();
            !manager.starts_with("capi-") && manager != "pipeline"
        })
        .map(|entry| {
            let version = text(entry, "apiVersion").rsplit('/').next().unwrap().to_owned();
            format!("{} {} {version}", text(entry, "manager"), text(entry, "operation"))
        })
        .collect()
}
