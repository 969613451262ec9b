//! What befalls clusters, and the API server that they live on.

use capstan_test_support::tally;
use jiff::Timestamp;

use super::{CUSTOMER, HOME, Table, is_applied, is_status_of, rows};
use crate::running::real::deletions::{finish_pool, machine_of};

/// A control plane at a version, on a template.
const PLANE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: tall, namespace: gauss}
spec:
  paused: true
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: tall-old}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: tall-old}
spec:
  replicas: 1
  version: VERSION
  kubeadmConfigSpec: {preKubeadmCommands: [echo 1]}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: tall}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: tall}
spec: {template: {spec: {backend: {inMemory: {}}}}}
";

/// A pool without machines, on a template of that name.
const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: wide, namespace: gauss}
spec: {paused: true}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: wide}
spec:
  clusterName: wide
  replicas: 0
  selector: {matchLabels: {pool: wide}}
  template:
    metadata: {labels: {pool: wide}}
    spec:
      clusterName: wide
      version: v1.34.3
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: TEMPLATE}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: TEMPLATE}
spec: {template: {spec: {backend: {inMemory: {}}}}}
";

/// What the pool's controller made of its first template.
const MACHINE_SET: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineSet
metadata:
  name: wide-1
  namespace: gauss
  labels: {cluster.x-k8s.io/cluster-name: wide}
spec:
  clusterName: wide
  replicas: 0
  selector: {matchLabels: {pool: wide}}
  template:
    metadata: {labels: {pool: wide, cluster.x-k8s.io/cluster-name: wide}}
    spec:
      clusterName: wide
      version: v1.34.3
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: TEMPLATE}
";

pub(super) async fn attempt(table: &mut Table) {
    is_deleted_by_hand(table).await;
    goes_back_a_minor(table).await;
    loses_a_template(table).await;
    is_claimed_elsewhere_and_back(table).await;
    is_suspended(table).await;
    loses_its_api_server(table).await;
}

/// A Cluster that somebody deletes is made again, once.
async fn is_deleted_by_hand(table: &mut Table) {
    let uid = table.field("cluster", "two", ".metadata.uid");
    let since = Timestamp::now();
    table.town.plane.kubectl(&["delete", "cluster", "two", "-n", CUSTOMER]);
    let killed = table.kill_at(since, |request| is_applied(request) && request.name == "two").await;
    table.town.look_again().await;
    table.applied().await;
    let anew = table.field("cluster", "two", ".metadata.uid");
    assert_ne!(anew, uid);
    let inventory = table.town.statuses().await["gauss-two"].inventory.clone();
    let known = inventory.objects().iter().find(|object| object.kind == "Cluster").unwrap();
    assert_eq!(known.uid.as_deref(), Some(anew.as_str()));
    assert_eq!(table.deleted(since), [""; 0]);
    table.note("a Cluster deleted by hand", "made again, once", &killed);
}

/// A merge that is reverted asks for what no control plane survives.
async fn goes_back_a_minor(table: &mut Table) {
    let path = format!("{CUSTOMER}/tall/base/all.yaml");
    for version in ["v1.34.3", "v1.35.1"] {
        table.town.repository.write(&path, &PLANE.replace("VERSION", version));
        table.commit(version);
        let live = async || {
            let said = table.town.plane.try_kubectl(
                &["get", "kubeadmcontrolplane", "tall-old", "-n", CUSTOMER, "-o", "jsonpath={.spec.version}"],
                "",
            );
            (said.as_deref() != Ok(version)).then(|| format!("{said:?}")).into_iter().collect()
        };
        assert_eq!(table.town.wait(live).await, [""; 0]);
    }
    let uid = table.field("kubeadmcontrolplane", "tall-old", ".metadata.uid");
    table.town.plane.apply(&machine_of("tall", &uid));
    table.town.look_again().await;

    let since = Timestamp::now();
    table.town.repository.git(&["revert", "--no-edit", "HEAD"]);
    table.town.ask();
    let killed = table.kill_at(since, is_status_of("tall")).await;
    let refused = "VersionBelowLive gauss/tall/base/all.yaml:13: KubeadmControlPlane gauss/tall-old would go back from the live Kubernetes v1.35.1 to v1.34.3";
    table.wait_for_status("tall", "False Refused", &[refused]).await;
    table.town.look_again().await;
    assert_eq!(table.written(since), [""; 0]);
    assert_eq!(table.field("kubeadmcontrolplane", "tall-old", ".spec.version"), "v1.35.1");
    table.town.repository.git(&["revert", "--no-edit", "HEAD"]);
    table.note("a downgrade by a revert", "refused, and nothing is touched", &killed);
}

/// Git takes a template away while machines are made from it.
async fn loses_a_template(table: &mut Table) {
    let path = format!("{CUSTOMER}/wide/base/all.yaml");
    table.town.repository.write(&path, &POOL.replace("TEMPLATE", "wide-first"));
    table.commit("A pool");
    table.wait_for_status("wide", "False Waiting", &[]).await;
    finish_pool(&table.town, "wide", 1);
    table.wait_for_status("wide", "True Done", &[]).await;
    let template = || table.field("machinedeployment", "wide", ".spec.template.spec.infrastructureRef.name");
    let first = template();
    table.town.plane.apply(&MACHINE_SET.replace("TEMPLATE", &first));

    let since = Timestamp::now();
    table.town.repository.write(&path, &POOL.replace("TEMPLATE", "wide-second"));
    table.commit("A pool on another template");
    let is_pool = |request: &capstan_test_parts::plane::audit::Request| {
        is_applied(request) && request.resource == "machinedeployments" && !request.dry_run
    };
    let killed = table.kill_at(since, is_pool).await;
    let kept = format!("Kept: DevMachineTemplate gauss/{first} is kept");
    table.wait_for_status("wide", "False Waiting", &[&kept]).await;
    let second = template();
    assert_ne!(second, first);
    finish_pool(&table.town, "wide", 2);
    table
        .wait_for_status("wide", "True Done", &[&format!("{kept} while MachineSet gauss/wide-1 names it")])
        .await;
    let both = table.live("devmachinetemplates");
    assert!(both.contains(&first) && both.contains(&second), "{both:?}");
    assert_eq!(table.deleted(since), [""; 0]);
    table.town.plane.kubectl(&["delete", "machineset", "wide-1", "-n", CUSTOMER]);
    table.town.look_again().await;
    table.wait_for_status("wide", "True Done", &[]).await;
    assert_eq!(table.deleted(since), [format!("devmachinetemplates {first}")]);
    table.note("a template removed during its rollout", "kept until no machine is made from it", &killed);
}

/// Another management cluster has the folder for a while.
async fn is_claimed_elsewhere_and_back(table: &mut Table) {
    let before = table.field("configmap", "three-a", ".metadata.resourceVersion");
    let since = Timestamp::now();
    let claim = |table: &Table, claims: &[(String, rows::Claim)]| {
        table.town.repository.write(".capstan.yaml", &table.town.claims(claims));
        table.town.repository.commit_all("Who has it");
        table.town.ask();
    };
    claim(table, &[(format!("{CUSTOMER}/three"), rows::Claim::Elsewhere)]);
    let killed = table.kill_at(since, is_status_of("three")).await;
    table.wait_for_status("three", "False NotClaimed", &[]).await;
    claim(table, &[]);
    table.wait_for_status("three", "True Done", &[]).await;
    assert_eq!(table.field("configmap", "three-a", ".metadata.resourceVersion"), before);
    assert_eq!(table.written(since), [""; 0]);
    table.note("a claim moved away, and back", "nothing is touched", &killed);
}

/// A suspended cluster misses a commit.
async fn is_suspended(table: &mut Table) {
    let suspend = |table: &Table, is: bool| {
        let change = format!(r#"{{"spec":{{"suspend":{is}}}}}"#);
        let object = ["patch", "managedcluster", "gauss-four", "-n", HOME, "--type=merge", "-p", &change];
        table.town.plane.kubectl(&object);
    };
    suspend(table, true);
    table.wait_for_status("four", "False Suspended", &[]).await;
    let before = table.says_of("four-a");
    let since = Timestamp::now();
    table.say();
    table.commit("What a suspended cluster misses");
    let killed = table.kill_at(since, is_applied).await;
    table.applied_but(&["four"]).await;
    table.wait_for_status("four", "False Suspended", &[]).await;
    assert_eq!((table.says_of("four-a"), table.says_of("four-b")), (before.clone(), before));
    suspend(table, false);
    table.applied().await;
    table.note("`suspend`", "left alone, and brought up to date afterwards", &killed);
}

/// The API server ends in the middle of a commit.
async fn loses_its_api_server(table: &mut Table) {
    let uids = table.uids();
    let since = Timestamp::now();
    table.say();
    table.commit("In the middle of which the API server ends");
    let killed = loop {
        if let Some(request) = table.asked(since).into_iter().find(is_applied) {
            break request.words();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    table.town.plane.kill("kube-apiserver");
    tokio::time::sleep(tally::wait(std::time::Duration::from_secs(2))).await;
    table.town.reconciler.is_well().unwrap();
    table.town.reconciler.kill();
    table.town.plane.start_again("kube-apiserver");
    table.town.reconciler.start();
    table.applied().await;
    assert_eq!(table.uids(), uids);
    assert_eq!(table.deleted(since), [""; 0]);
    table.note("the API server restarted in mid-apply", "applied when it is back", &killed);
}
