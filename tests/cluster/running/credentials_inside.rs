//! The credential of the cloud's controllers inside their cluster: it is written there, and the old one is revoked once
//! the pods use the new one.

use serde_json::{Value, json};

use super::credential_town::{DAY, SECRETS, Town, annotation, content};
use super::services::come_up;

const CCM: &str = "apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: openstack-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      volumes:
      - {name: config, secret: {secretName: cloud-config}}
";
const LIST: &str =
    "cloud: eu-1\nservices:\n- {name: openstack, role: ccm, from: {folder: services/openstack}}\n";
const BEGAN_WITH: &str = "/spec/template/metadata/annotations/capstan.dev~1cloud-credential";

/// A pod of that template, ready.
fn pod(name: &str, template: &Value, made_at: &str) -> Value {
    let annotations = template.pointer("/metadata/annotations").cloned().unwrap_or_default();
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "kube-system", "annotations": annotations, "creationTimestamp": made_at},
        "spec": template["spec"],
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
}

#[tokio::test]
async fn a_new_credential_is_brought_inside_and_the_old_one_goes_once_pods_work_with_it() {
    let mut town = Town::new();
    town.world.write("gauss/peu01/services/openstack/ccm.yaml", CCM);
    town.world.write("gauss/peu01/capstan.yaml", LIST);
    town.pass().await;
    let workload = come_up(&town.world, "peu01");
    town.pass().await;
    assert_eq!(
        workload.take_writes(),
        [
            "apply Secret kube-system/cloud-config",
            "apply DaemonSet kube-system/openstack-cloud-controller-manager"
        ]
    );
    let inside = workload.object("Secret", "cloud-config").unwrap();
    let here = town.secret(SECRETS[1]).unwrap();
    assert_eq!(inside["data"], here["data"]);
    assert!(content(&inside, "cloud.conf").starts_with("[Global]\n"));
    assert_eq!(annotation(&inside, "capstan.dev/credential-id"), "c2");
    let live = || workload.object("DaemonSet", "openstack-cloud-controller-manager").unwrap();
    assert_eq!(live().pointer(BEGAN_WITH), Some(&json!("c2")));
    workload.put(pod("ccm-1", &live()["spec"]["template"], &town.now().to_string()));
    let in_use = |town: &Town| {
        let status = town.world.status("gauss-peu01").cloud_credentials.unwrap();
        status.secrets.into_iter().find(|secret| secret.name == SECRETS[1]).unwrap().in_use
    };
    town.pass().await;
    assert_eq!(in_use(&town).as_deref(), Some("c2"));
    // What is as it should be costs no write.
    for _ in 0..2 {
        town.pass_time(300);
        town.pass().await;
    }
    assert_eq!(workload.take_writes(), [""; 0]);

    town.pass_time(20 * DAY);
    town.pass().await;
    assert_eq!(
        workload.take_writes(),
        [
            "apply Secret kube-system/cloud-config",
            "apply DaemonSet kube-system/openstack-cloud-controller-manager"
        ]
    );
    assert_eq!(live().pointer(BEGAN_WITH), Some(&json!("c4")));
    // Old and new one beside each other: somebody works with the old credential.
    workload.put(pod("ccm-2", &live()["spec"]["template"], &town.now().to_string()));
    town.provider_reconciles();
    town.pass_time(3_700);
    town.pass().await;
    town.pass_time(610);
    town.pass().await;
    assert_eq!(in_use(&town).as_deref(), Some("c2"));
    assert_eq!(town.keystone.ids("ops"), ["c2", "c3", "c4"]);
    workload.remove("Pod", "ccm-1");
    town.pass().await;
    assert_eq!(in_use(&town).as_deref(), Some("c4"));
    town.pass_time(610);
    town.pass().await;
    assert_eq!(town.keystone.ids("ops"), ["c3", "c4"]);
}

#[tokio::test]
async fn with_the_last_service_of_its_cloud_the_credential_goes() {
    let mut town = Town::new();
    town.world.write("gauss/peu01/services/openstack/ccm.yaml", CCM);
    town.world.write(
        "gauss/peu01/services/cinder/csi.yaml",
        &CCM.replace("openstack-cloud-controller-manager", "csi"),
    );
    let csi = "- {name: cinder, role: csi, from: {folder: services/cinder}}\n";
    town.world.write("gauss/peu01/capstan.yaml", &format!("{LIST}{csi}"));
    town.pass().await;
    let workload = come_up(&town.world, "peu01");
    workload.put(json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}));
    town.pass().await;
    town.pass().await;
    workload.take_writes();
    let gone = |names: &[&str]| {
        let rows =
            names.iter().map(|name| format!("- {{group: capstan.dev, kind: Service, name: {name}}}\n"));
        format!("delete:\n{}cloud: eu-1\n", rows.collect::<String>())
    };
    town.world.write("gauss/peu01/capstan.yaml", &format!("{}services:\n{csi}", gone(&["openstack"])));
    town.pass().await;
    assert_eq!(workload.take_writes(), ["delete DaemonSet kube-system/openstack-cloud-controller-manager"]);
    // If a pass is killed in between, the next one continues.
    town.world.write("gauss/peu01/capstan.yaml", &gone(&["openstack", "cinder"]));
    workload.state().dies_after = Some(1);
    town.pass().await;
    workload.state().dies_after = None;
    town.pass_time(20);
    town.pass().await;
    assert_eq!(
        workload.take_writes(),
        ["delete DaemonSet kube-system/csi", "delete Secret kube-system/cloud-config"]
    );
    town.pass().await;
    assert_eq!((workload.take_writes(), town.world.status("gauss-peu01").services), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn a_secret_of_another_writer_inside_is_left_alone_and_reported() {
    let town = Town::new();
    town.world.write("gauss/peu01/services/openstack/ccm.yaml", CCM);
    town.world.write("gauss/peu01/capstan.yaml", LIST);
    town.pass().await;
    let workload = come_up(&town.world, "peu01");
    workload.put(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "cloud-config", "namespace": "kube-system"}, "data": {"cloud.conf": "b3du"}}));
    town.pass().await;
    assert_eq!(
        workload.take_writes(),
        ["apply DaemonSet kube-system/openstack-cloud-controller-manager"],
        "it works with what somebody gave it"
    );
    assert_eq!(workload.object("Secret", "cloud-config").unwrap()["data"]["cloud.conf"], "b3du");
    let reports = town.world.bot.reports.lock().unwrap();
    let told = format!("{:?}", reports.last().unwrap());
    assert!(told.contains("SecretNotCapstans"), "{told}");
}
