//! Services inside clusters: applied in their order, judged, reported and removed. A problem of one cluster does not
//! affect the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_agent_client::rollout_report;
use capstan_live::agent::Progress;
use capstan_live::services::ServiceState;
use capstan_model::tree::CommitId;
use capstan_plan::settings::RepositoryName;
use capstan_ports::{KindScope, KubeconfigRefused, ManagementCluster, WorkloadClusters};
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::{Adopt, ConditionType};
use capstan_report::{RolloutSubject, rollout_check};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::adopting::with_machines;
use super::applying::{plain, sorted};
use super::fake::{Crowd, FakeCluster};
use super::world::{World, id};

/// Workload clusters by the text of their kubeconfigs.
#[derive(Default)]
pub(crate) struct FakeWorkloads {
    pub(super) clusters: Mutex<BTreeMap<String, Arc<FakeCluster>>>,
    pub(crate) opened: Mutex<usize>,
}

#[async_trait]
impl WorkloadClusters for FakeWorkloads {
    async fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn ManagementCluster>, KubeconfigRefused> {
        *self.opened.lock().unwrap() += 1;
        match self.clusters.lock().unwrap().get(kubeconfig.expose_secret()) {
            Some(cluster) => Ok(Arc::clone(cluster) as Arc<dyn ManagementCluster>),
            None => Err(KubeconfigRefused { why: "its user has `exec`".to_owned() }),
        }
    }
}

/// The workload cluster of a cluster: its control plane has come up, and its kubeconfig is there.
pub(super) fn come_up(world: &World, name: &str) -> Arc<FakeCluster> {
    world.live.change("Cluster", name, |cluster| {
        cluster["status"] = json!({"initialization": {"controlPlaneInitialized": true}});
    });
    world.live.put(json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {"name": format!("{name}-kubeconfig"), "namespace": "org"}, "data": {"value": STANDARD.encode(name)}}));
    let workload = Arc::new(FakeCluster::new(&["kube-system", "default"]));
    use KindScope::{Cluster, Namespaced};
    workload.serve(&[
        ("apps", "DaemonSet", Namespaced),
        ("apps", "Deployment", Namespaced),
        ("", "Pod", Namespaced),
        ("", "Node", Cluster),
        ("storage.k8s.io", "StorageClass", Cluster),
        ("apiextensions.k8s.io", "CustomResourceDefinition", Cluster),
    ]);
    // Their controllers are quick.
    workload.state().reactions.push(Box::new(|object: &mut Value| {
        let generation = object["metadata"]["generation"].clone();
        match object["kind"].as_str() {
            Some("DaemonSet") => {
                object["status"] = json!({"observedGeneration": generation, "desiredNumberScheduled": 1,
                    "updatedNumberScheduled": 1, "numberAvailable": 1});
            }
            Some("Deployment") => {
                object["status"] = json!({"observedGeneration": generation, "replicas": 1, "updatedReplicas": 1,
                    "availableReplicas": 1, "conditions": [{"type": "Available", "status": "True"}]});
            }
            Some("CustomResourceDefinition") => {
                object["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
            }
            _ => {}
        }
    }));
    world.workloads.clusters.lock().unwrap().insert(name.to_owned(), Arc::clone(&workload));
    workload
}

pub(super) const CILIUM: &str = "apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: cilium
  namespace: kube-system
  labels: {app.kubernetes.io/version: v1.16.0}
spec:
  selector: {matchLabels: {k8s-app: cilium}}
";

pub(super) const INGRESS: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: ingress
spec:
  replicas: 1
";

pub(super) const SERVICES: &str = "services:
- name: ingress
  from: {folder: services/ingress}
  after: [cilium]
- name: cilium
  role: cni
  from: {folder: services/cilium}
";

/// A cluster with a network, and an ingress after it.
pub(super) fn with_services(world: &World, name: &str) {
    plain(world, name);
    world.write(&format!("gauss/{name}/services/cilium/cilium.yaml"), CILIUM);
    world.write(&format!("gauss/{name}/services/ingress/ingress.yaml"), INGRESS);
    world.write(&format!("gauss/{name}/capstan.yaml"), SERVICES);
}

pub(super) fn states(world: &World) -> Vec<(String, ServiceState)> {
    let status = world.status("gauss-peu01");
    status.services.iter().map(|service| (service.name.clone(), service.state)).collect()
}

pub(super) fn named<const N: usize>(wanted: [(&str, ServiceState); N]) -> Vec<(String, ServiceState)> {
    wanted.map(|(name, state)| (name.to_owned(), state)).to_vec()
}

#[tokio::test]
async fn services_come_when_the_api_does_each_after_those_that_it_waits_for() {
    use ServiceState::{Progressing, Ready, Waiting};
    let world = World::new();
    with_services(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    assert_eq!(states(&world), named([("ingress", Waiting), ("cilium", Waiting)]));
    assert_eq!(world.condition("gauss-peu01", ConditionType::ServicesReady), "False Progressing");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False ServicesNotReady");

    let workload = come_up(&world, "peu01");
    workload.state().reactions.push(Box::new(|object: &mut Value| {
        if object["metadata"]["labels"]["app.kubernetes.io/version"] == "v1.16.0" {
            object["status"]["numberAvailable"] = json!(0);
        }
    }));
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied) && outcome.again, "{:?}", outcome.ended);
    assert_eq!(states(&world), named([("ingress", Waiting), ("cilium", Progressing)]));
    assert_eq!(workload.take_writes(), ["apply DaemonSet kube-system/cilium"]);
    let cilium = world.status("gauss-peu01").services[1].clone();
    assert_eq!(cilium.version.as_deref(), Some("1.16.0"));
    assert_eq!(cilium.message.as_deref(), Some("DaemonSet kube-system/cilium: 0 of 1 pods are ready"));
    assert_eq!(cilium.inventory.objects().len(), 1);

    workload.change("DaemonSet", "cilium", |object| object["status"]["numberAvailable"] = json!(1));
    world.reconcile("gauss/peu01").await;
    assert_eq!(states(&world), named([("ingress", Ready), ("cilium", Ready)]));
    assert_eq!(workload.take_writes(), ["apply Deployment default/ingress"]);
    assert_eq!(world.condition("gauss-peu01", ConditionType::ServicesReady), "True Ready");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");

    // A look at what is well writes nothing, anywhere.
    let (writes, reports) = (world.status_store.posted().writes, world.bot.reports.lock().unwrap().len());
    world.live.take_writes();
    for _ in 0..3 {
        world.pass_time(300);
        let outcome = world.reconcile("gauss/peu01").await;
        assert!(!outcome.again);
    }
    assert_eq!(workload.state().log.len(), 0, "not even a dry run");
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.status_store.posted().writes, writes);
    assert_eq!(world.bot.reports.lock().unwrap().len(), reports);
    assert_eq!(*world.workloads.opened.lock().unwrap(), 1, "the client is kept while its Secret is the same");
}

#[tokio::test]
async fn drift_inside_the_cluster_is_repaired_and_a_new_kubeconfig_taken_up() {
    let world = World::new();
    with_services(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    workload.take_writes();
    workload.change("Deployment", "ingress", |object| object["spec"]["replicas"] = json!(7));
    world.live.change("Secret", "peu01-kubeconfig", |_| {});
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["apply Deployment default/ingress"]);
    assert_eq!(*world.workloads.opened.lock().unwrap(), 2);
}

#[tokio::test]
async fn what_others_applied_inside_is_taken_over_when_somebody_says_so() {
    let world = World::new();
    with_services(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    let cilium: Value = json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "cilium", "namespace": "kube-system"}, "spec": {"old": true}});
    workload.put_by_kubectl(cilium);
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0]);
    let found = world.status("gauss-peu01").services[1].clone();
    assert_eq!((found.state, found.reason.as_deref()), (ServiceState::Failed, Some("AdoptionNeeded")));
    world.status_store.posted().clusters.get_mut("gauss-peu01").unwrap().spec.adopt = Some(Adopt::Take);
    world.reconcile("gauss/peu01").await;
    assert_eq!(
        sorted(workload.take_writes()),
        [
            "apply DaemonSet kube-system/cilium",
            "apply Deployment default/ingress",
            "take over DaemonSet kube-system/cilium"
        ]
    );
}

#[tokio::test]
async fn one_cluster_that_does_not_answer_costs_its_own_services_alone() {
    let world = World::new();
    for name in ["peu01", "peu02"] {
        with_services(&world, name);
        world.reconcile(&format!("gauss/{name}")).await;
    }
    let (away, well) = (come_up(&world, "peu01"), come_up(&world, "peu02"));
    away.state().is_away = Some("no answer within 10 s".to_owned());
    for name in ["peu01", "peu02"] {
        let outcome = world.reconcile(&format!("gauss/{name}")).await;
        assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    }
    assert_eq!(world.condition("gauss-peu02", ConditionType::Ready), "True Done");
    assert!(well.object("Deployment", "ingress").is_some());
    assert_eq!(world.condition("gauss-peu01", ConditionType::ServicesReady), "Unknown WorkloadUnreachable");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Applied), "True Applied");
    assert_eq!(world.status("gauss-peu01").services[1].state, ServiceState::Unknown);

    // It is left alone for a while.
    away.state().is_away = None;
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.status("gauss-peu01").services[1].state, ServiceState::Unknown);
    world.pass_time(16);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_one_cluster_and_all_of_them_bear() {
    let world = World::new();
    let names: Vec<String> = (0..20).map(|number| format!("peu{number:02}")).collect();
    let maps = (0..12).map(|number| {
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{number}, namespace: kube-system}}\ndata: {{a: b}}\n")
    });
    let maps: String = maps.collect();
    for name in &names {
        plain(&world, name);
        world.write(&format!("gauss/{name}/services/maps/maps.yaml"), &maps);
        let list = "services:\n- {name: maps, from: {folder: services/maps}}\n";
        world.write(&format!("gauss/{name}/capstan.yaml"), list);
        world.reconcile(&format!("gauss/{name}")).await;
    }
    let of_all = Arc::<Crowd>::default();
    let inside: Vec<(Arc<FakeCluster>, Arc<Crowd>)> = names
        .iter()
        .map(|name| {
            let (workload, own) = (come_up(&world, name), Arc::<Crowd>::default());
            workload.state().crowds = vec![Arc::clone(&own), Arc::clone(&of_all)];
            (workload, own)
        })
        .collect();
    let folders: Vec<String> = names.iter().map(|name| format!("gauss/{name}")).collect();
    futures_util::future::join_all(folders.iter().map(|folder| world.reconcile(folder))).await;
    for (workload, _) in &inside {
        assert!(workload.object("ConfigMap", "m11").is_some());
    }
    let most: Vec<usize> = inside.iter().map(|(_, own)| own.most()).collect();
    println!("at a time: {most:?}, of all {}", of_all.most());
    // The bound of each is reached, and that of all holds below twenty times four.
    assert!(most.iter().all(|most| *most == 4), "{most:?}");
    assert_eq!(of_all.most(), 64);
}

#[tokio::test]
async fn a_service_that_changes_waits_while_the_control_plane_rolls() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    world.write("gauss/peu01/services/cilium/cilium.yaml", CILIUM);
    let list = "services:\n- {name: cilium, role: cni, from: {folder: services/cilium}}\n";
    world.write("gauss/peu01/capstan.yaml", list);
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    // Nodes need it to become ready: what was never there goes at once.
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["apply DaemonSet kube-system/cilium"]);
    world.write("gauss/peu01/services/cilium/cilium.yaml", &CILIUM.replace("v1.16.0", "v1.17.0"));
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0]);
    let found = world.status("gauss-peu01").services[0].clone();
    assert_eq!((found.state, found.reason.as_deref()), (ServiceState::Waiting, Some("WaitsForRollout")));
    world.write("gauss/peu01/capstan.yaml", &list.replace("cilium}}", "cilium}, when: beforeControlPlane}"));
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["apply DaemonSet kube-system/cilium"]);
}

#[tokio::test]
async fn a_chart_of_base_waits_for_the_service_that_it_comes_after() {
    let world = World::new();
    with_services(&world, "peu01");
    world.write(
        "gauss/peu01/base/chart.yaml",
        "apiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata: {name: ccm}\nspec: {chartName: ccm}\n",
    );
    list(&world, "- {name: ccm, from: {objects: [{kind: HelmChartProxy, name: ccm}]}, after: [cilium]}\n");
    world.reconcile("gauss/peu01").await;
    assert!(world.live.object("HelmChartProxy", "ccm").is_none());
    assert_eq!(
        world.status("gauss-peu01").withheld,
        ["HelmChartProxy org/ccm: it waits for service cilium, which is waiting"]
    );
    let _workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.reconcile("gauss/peu01").await;
    assert!(world.live.object("HelmChartProxy", "ccm").is_some());
    assert_eq!(world.status("gauss-peu01").withheld, [""; 0]);
}

#[tokio::test]
async fn a_control_plane_waits_for_the_services_that_come_before_it() {
    let world = World::new();
    with_machines(&world, "v1.35.1", "one");
    world.write("gauss/peu01/services/cilium/cilium.yaml", CILIUM);
    world.write(
        "gauss/peu01/capstan.yaml",
        "services:\n- {name: cilium, role: cni, from: {folder: services/cilium}, when: beforeControlPlane}\n",
    );
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    workload.take_writes();
    world.live.take_writes();
    workload
        .state()
        .reactions
        .push(Box::new(|object: &mut Value| object["status"]["numberAvailable"] = json!(0)));
    with_machines(&world, "v1.35.2", "one");
    world.write("gauss/peu01/services/cilium/cilium.yaml", &CILIUM.replace("v1.16.0", "v1.17.0"));
    let outcome = world.reconcile("gauss/peu01").await;
    let ReconcileEnd::Waiting(reasons) = &outcome.ended else { unreachable!("{:?}", outcome.ended) };
    assert_eq!(
        reasons[0].line(),
        "the control plane waits for service cilium (`when: beforeControlPlane`): DaemonSet kube-system/cilium: 0 of 1 pods are ready"
    );
    assert_eq!(workload.take_writes(), ["apply DaemonSet kube-system/cilium"]);
    assert!(!world.live.take_writes().iter().any(|write| write.contains("KubeadmControlPlane")));
    workload.change("DaemonSet", "cilium", |object| object["status"]["numberAvailable"] = json!(1));
    world.reconcile("gauss/peu01").await;
    assert!(world.live.take_writes().contains(&"apply KubeadmControlPlane org/peu01-cp".to_owned()));
}

/// What the check on the pull request says of the cluster, as the bot would write it.
fn check(world: &World) -> String {
    let reports = world.bot.reports.lock().unwrap();
    let last = reports.last().unwrap();
    let report = rollout_report(last, &RepositoryName::parse("acme/gitops").unwrap()).unwrap();
    let progress = Progress::waiting(report.observed_at).after(None, &report).unwrap();
    let subject = RolloutSubject {
        cluster: id("gauss/peu01"),
        management_cluster: "mc-eu".to_owned(),
        progress,
        files_url: None,
    };
    let commit = CommitId::parse(&world.commit()).unwrap();
    let check = rollout_check(&[subject], &commit, "https://github.com/acme/gitops");
    let annotations = check.annotations.iter().map(|annotation| {
        format!("{}:{}: {}: {}", annotation.path, annotation.line, annotation.title, annotation.message)
    });
    let summary = check.summary.replace(['`', '\\'], "");
    format!("{}\n{}\n{summary}", check.title, annotations.collect::<Vec<_>>().join("\n"))
}

/// One thing that fails.
struct Failing {
    name: &'static str,
    /// Before the cluster is made.
    declare: fn(&World),
    /// Once its API is up.
    happen: fn(&World, &FakeCluster),
    /// Texts that the check contains: cause, object and place.
    says: &'static [&'static str],
}

fn list(world: &World, more: &str) {
    world.write("gauss/peu01/capstan.yaml", &format!("{SERVICES}{more}"));
}

fn nothing(_: &World) {}

/// A machine of the cluster, and what it says of its infrastructure.
fn machine(world: &World, message: &str) {
    world.live.change("Cluster", "peu01", |cluster| {
        cluster["spec"]["infrastructureRef"] = json!({"apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "OpenStackCluster", "name": "peu01"});
    });
    world.live.put(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": "peu01-cp-1", "namespace": "org",
            "labels": {"cluster.x-k8s.io/cluster-name": "peu01", "cluster.x-k8s.io/control-plane": ""},
            "ownerReferences": [{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
                "kind": "KubeadmControlPlane", "name": "peu01-cp"}]},
        "spec": {"clusterName": "peu01", "version": "v1.35.1", "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": "peu01-cp-1"}},
        "status": {"conditions": [{"type": "InfrastructureReady", "status": "False", "reason": "NotReady", "message": message}]}}));
}

fn warn(world: &World, (api_version, kind, name): (&str, &str, &str), reason: &str, message: &str) {
    world.live.put(
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "org"},
        "type": "Warning", "reason": reason, "message": message, "lastTimestamp": "2026-11-27T20:00:00Z",
        "involvedObject": {"apiVersion": api_version, "kind": kind, "namespace": "org", "name": name}}),
    );
}

const FAILING: &[Failing] = &[
    Failing {
        name: "the image of the network is not had",
        declare: nothing,
        happen: |_, workload| {
            workload.state().reactions.push(Box::new(|object: &mut Value| {
                if object["kind"] == "DaemonSet" {
                    object["status"]["numberAvailable"] = json!(0);
                }
            }));
            workload.put(json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "cilium-x", "namespace": "kube-system", "labels": {"k8s-app": "cilium"}},
                "status": {"containerStatuses": [{"name": "agent", "state": {"waiting": {
                    "reason": "ImagePullBackOff", "message": "Back-off pulling image"}}}]}}));
        },
        says: &[
            "gauss/peu01/services/cilium/cilium.yaml:1: PodFailing",
            "DaemonSet kube-system/cilium",
            "Pod kube-system/cilium-x: container agent: ImagePullBackOff: Back-off pulling image",
        ],
    },
    Failing {
        name: "a definition is missing",
        declare: |world| {
            world.write(
                "gauss/peu01/services/cilium/policy.yaml",
                "\napiVersion: cilium.io/v2\nkind: CiliumPolicy\nmetadata: {name: p, namespace: default}\n",
            );
        },
        happen: |_, _| {},
        says: &["gauss/peu01/services/cilium/policy.yaml:2: MissingKind", "CiliumPolicy default/p"],
    },
    Failing {
        name: "a check is false",
        declare: |world| list(world, "  checks: [\"size(objects) == 7\"]\n"),
        happen: |_, _| {},
        says: &["gauss/peu01/capstan.yaml:8: CheckFalse", "service cilium", "size(objects) == 7"],
    },
    Failing {
        name: "a check is wrong",
        declare: |world| list(world, "  checks: [\"nodes.size() == 7\"]\n"),
        happen: |_, _| {},
        says: &["gauss/peu01/capstan.yaml:8: CheckInvalid", "service cilium", "there is no nodes"],
    },
    Failing {
        name: "the API forbids an object",
        declare: nothing,
        happen: |_, workload| {
            workload.webhook(|_, object| {
                (object["kind"] == "DaemonSet").then(|| (403, "daemonsets is forbidden: no".to_owned()))
            });
        },
        says: &[
            "gauss/peu01/services/cilium/cilium.yaml:1: Forbidden",
            "DaemonSet kube-system/cilium",
            "daemonsets is forbidden",
        ],
    },
    Failing {
        name: "the API does not answer",
        declare: nothing,
        happen: |_, workload| workload.state().is_away = Some("no answer within 10 s".to_owned()),
        says: &[
            "gauss/peu01/capstan.yaml:5: WorkloadUnreachable",
            "services cilium, ingress",
            "the API of the cluster does not answer: no answer within 10 s",
        ],
    },
    Failing {
        name: "the API has another certificate",
        declare: nothing,
        happen: |_, workload| {
            workload.state().is_away = Some("invalid peer certificate: UnknownIssuer".to_owned());
        },
        says: &["gauss/peu01/capstan.yaml:5: WorkloadCertificate", "UnknownIssuer"],
    },
    Failing {
        name: "a chart fails",
        declare: |world| {
            world.write(
                "gauss/peu01/base/chart.yaml",
                "apiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata: {name: ccm}\nspec: {chartName: ccm}\n",
            );
            list(world, "- {name: ccm, from: {objects: [{kind: HelmChartProxy, name: ccm}]}}\n");
        },
        happen: |world, _| {
            world.live.change("HelmChartProxy", "ccm", |chart| {
                chart["status"] = json!({"observedGeneration": 1, "conditions": [
                    {"type": "HelmReleaseProxySpecsUpToDate", "status": "True"},
                    {"type": "HelmReleaseProxiesReady", "status": "False", "severity": "Error",
                     "reason": "HelmInstallOrUpgradeFailed", "message": "no such chart"}]});
            });
        },
        says: &[
            "gauss/peu01/base/chart.yaml:1: ObjectFailed",
            "HelmChartProxy org/ccm",
            "service ccm: HelmInstallOrUpgradeFailed: no such chart",
        ],
    },
    Failing {
        name: "a service that it waits for is not ready",
        declare: nothing,
        happen: |_, workload| {
            workload.state().reactions.push(Box::new(|object: &mut Value| {
                if object["kind"] == "DaemonSet" {
                    object["status"]["numberAvailable"] = json!(0);
                }
            }));
        },
        says: &[
            "gauss/peu01/capstan.yaml:2: WaitsForService",
            "service ingress: it waits for service cilium, which is not ready yet",
        ],
    },
    Failing {
        name: "a machine warns",
        declare: |world| with_machines(world, "v1.35.1", "one"),
        happen: |world, _| {
            machine(world, "it is not there yet");
            warn(
                world,
                ("cluster.x-k8s.io/v1beta2", "Machine", "peu01-cp-1"),
                "BootstrapTimedOut",
                "kubeadm did not end",
            );
        },
        says: &["Machine org/peu01-cp-1", "BootstrapTimedOut: kubeadm did not end"],
    },
    Failing {
        name: "infrastructure warns",
        declare: |world| with_machines(world, "v1.35.1", "one"),
        happen: |world, _| {
            machine(world, "it is not there yet");
            warn(
                world,
                ("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", "peu01"),
                "Failedcreaterouter",
                "no external network",
            );
        },
        says: &["OpenStackCluster org/peu01", "Failedcreaterouter: no external network"],
    },
    Failing {
        name: "the cloud has no more cores",
        declare: |world| with_machines(world, "v1.35.1", "one"),
        happen: |world, _| {
            machine(world, "InstanceCreateFailed: Quota exceeded for cores: 40 of 40 are used");
        },
        says: &["OpenStackMachine org/peu01-cp-1", "Quota exceeded for cores: 40 of 40 are used"],
    },
];

#[tokio::test]
async fn the_check_reports_each_failure_with_its_cause_its_object_and_its_place() {
    assert_eq!(FAILING.len(), 12);
    for Failing { name, declare, happen, says } in FAILING {
        let world = World::new();
        with_services(&world, "peu01");
        declare(&world);
        if world.files.lock().unwrap().contains_key("gauss/peu01/base/all.yaml") {
            world.remove("gauss/peu01/base/cluster.yaml");
        }
        world.reconcile("gauss/peu01").await;
        let workload = come_up(&world, "peu01");
        happen(&world, &workload);
        let outcome = world.reconcile("gauss/peu01").await;
        assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{name}: {:?}", outcome.ended);
        let check = check(&world);
        for part in *says {
            assert!(check.contains(part), "{name}: no `{part}` in\n{check}");
        }
        assert!(!world.status("gauss-peu01").conditions.hold(ConditionType::Ready), "{name}");
    }
}

#[tokio::test]
async fn a_cloud_that_is_down_keeps_a_cluster_from_being_ready() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.change("Cluster", "peu01", |cluster| {
        cluster["spec"]["infrastructureRef"] = json!({"apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "OpenStackCluster", "name": "peu01"});
    });
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::CloudReady), "True Ready");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");
    world.live.change("Cluster", "peu01", |cluster| {
        cluster["status"] = json!({"conditions": [{"type": "InfrastructureReady", "status": "False",
            "reason": "NotReady", "message": "OpenStackError: no route to host"}]});
    });
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::CloudReady), "False CloudNotReady");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False CloudNotReady");
}
