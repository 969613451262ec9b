//! Another network of pods in the place of the one that is there: refused, forced, and the old one taken away.

use std::sync::Arc;

use capstan_live::services::ServiceState;
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::ports::PreflightVerdict;
use capstan_reconciler::reconcile::resources::ConditionType;

use super::applying::plain;
use super::fake::FakeCluster;
use super::preflight::judge;
use super::services::{CILIUM, come_up, named, states};
use super::world::World;

const LIST: &str = "services:\n- {name: cilium, role: cni, from: {folder: services/cilium}}\n";
const CALICO: &str = "services:
- name: calico
  role: cni
  from: {folder: services/calico}
";
const FORCE: &str = "  force: {from: cilium, to: calico, reason: nothing runs here yet}\n";
const TOMBSTONE: &str = "delete:\n- {group: capstan.dev, kind: Service, name: cilium}\n";

/// A cluster in which the network of pods is there.
async fn with_network() -> (World, Arc<FakeCluster>) {
    let world = World::new();
    plain(&world, "peu01");
    world.write("gauss/peu01/services/cilium/cilium.yaml", CILIUM);
    world.write("gauss/peu01/capstan.yaml", LIST);
    world.reconcile("gauss/peu01").await;
    let workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["apply DaemonSet kube-system/cilium"]);
    (world, workload)
}

#[tokio::test]
async fn a_network_is_switched_only_where_somebody_says_so_and_the_old_one_goes_by_tombstone() {
    let (world, workload) = with_network().await;

    // Merged past the check, it is refused here.
    world.remove("gauss/peu01/services/cilium/cilium.yaml");
    let node = CILIUM.replace("name: cilium", "name: calico-node").replace("v1.16.0", "v3.30.1");
    world.write("gauss/peu01/services/calico/node.yaml", &node);
    world.write("gauss/peu01/capstan.yaml", CALICO);
    for _ in 0..2 {
        world.reconcile("gauss/peu01").await;
        assert_eq!(workload.take_writes(), [""; 0]);
        let removing = ServiceState::Removing;
        assert_eq!(states(&world), named([("calico", ServiceState::Failed), ("cilium", removing)]));
    }
    let calico = world.status("gauss-peu01").services[0].clone();
    assert_eq!(calico.reason.as_deref(), Some("CniSwitchRefused"));
    let words = calico.message.unwrap();
    assert!(
        words.starts_with("the pod network changes from `cilium` to `calico`: Capstan refuses this."),
        "{words}"
    );
    assert!(words.contains("write `force: {from: cilium, to: calico, reason: …}` at `calico`"), "{words}");
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False ServicesNotReady");

    // One that allows another switch allows nothing.
    world.write(
        "gauss/peu01/capstan.yaml",
        &format!("{CALICO}{}", FORCE.replace("from: cilium", "from: flannel")),
    );
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), [""; 0]);

    world.write("gauss/peu01/capstan.yaml", &format!("{CALICO}{FORCE}"));
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["apply DaemonSet kube-system/calico-node"]);
    let cilium = world.status("gauss-peu01").services[1].clone();
    assert_eq!((cilium.state, cilium.reason.as_deref()), (ServiceState::Removing, Some("ServiceKept")));
    assert!(cilium.message.unwrap().contains("`- {group: capstan.dev, kind: Service, name: cilium}`"));

    // It is there now, with `force` and without.
    world.write("gauss/peu01/capstan.yaml", &format!("{CALICO}{TOMBSTONE}"));
    world.reconcile("gauss/peu01").await;
    assert_eq!(workload.take_writes(), ["delete DaemonSet kube-system/cilium"]);
    assert_eq!(states(&world), named([("calico", ServiceState::Ready)]));
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done");
}

/// Between the two heads nothing of the network changes: only the reconciler knows that the old one is there still.
#[tokio::test]
async fn a_network_switched_off_or_renamed_earlier_still_rejects_another_one() {
    for first in
        [LIST.replace("role: cni, from", "enabled: false, role: cni, from"), LIST.replace("role: cni, ", "")]
    {
        let (world, _workload) = with_network().await;
        world.write("gauss/peu01/capstan.yaml", &first);
        assert_eq!(judge(&world, "gauss/peu01").await.verdict, PreflightVerdict::Accepted);
        world.reconcile("gauss/peu01").await;

        let node = CILIUM.replace("name: cilium", "name: calico-node");
        world.write("gauss/peu01/services/calico/node.yaml", &node);
        let second = format!("{first}{}", CALICO.trim_start_matches("services:\n"));
        world.write("gauss/peu01/capstan.yaml", &second);
        let answer = judge(&world, "gauss/peu01").await;
        assert_eq!(answer.verdict, PreflightVerdict::Rejected, "{first}");
        let told = answer.reasons[0].line();
        let expected = "gauss/peu01/capstan.yaml:3: the pod network changes from `cilium` to `calico`: Capstan refuses this.";
        assert!(told.starts_with(expected), "{told}");
        world.write("gauss/peu01/capstan.yaml", &format!("{second}{FORCE}"));
        assert_eq!(judge(&world, "gauss/peu01").await.verdict, PreflightVerdict::Accepted);
    }
}

fn chart(name: &str) -> String {
    format!(
        "apiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata: {{name: {name}}}\nspec: {{chartName: {name}}}\n"
    )
}

fn entry(name: &str, more: &str) -> String {
    format!(
        "services:\n- {{name: {name}, role: cni, from: {{objects: [{{kind: HelmChartProxy, name: {name}}}]}}{more}}}\n"
    )
}

#[tokio::test]
async fn a_chart_that_brings_another_network_is_not_applied_either() {
    let world = World::new();
    plain(&world, "peu01");
    world.write("gauss/peu01/base/network.yaml", &chart("cilium"));
    world.write("gauss/peu01/capstan.yaml", &entry("cilium", ""));
    world.reconcile("gauss/peu01").await;
    let _workload = come_up(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    assert!(world.live.object("HelmChartProxy", "cilium").is_some());

    world.write("gauss/peu01/base/network.yaml", &chart("calico"));
    world.write("gauss/peu01/capstan.yaml", &entry("calico", ""));
    for _ in 0..3 {
        let outcome = world.reconcile("gauss/peu01").await;
        assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
        assert_eq!(world.live.names("HelmChartProxy"), ["cilium"]);
        let status = world.status("gauss-peu01");
        let held = "HelmChartProxy org/calico: the pod network changes from `cilium` to `calico`: Capstan refuses this.";
        assert!(status.withheld[0].starts_with(held), "{:?}", status.withheld);
        let calico = status.services.iter().find(|service| service.name == "calico").unwrap();
        assert_eq!(calico.reason.as_deref(), Some("CniSwitchRefused"));
    }
    let force = ", force: {from: cilium, to: calico, reason: tried}";
    world.write("gauss/peu01/capstan.yaml", &entry("calico", force));
    world.reconcile("gauss/peu01").await;
    assert_eq!(
        world.live.names("HelmChartProxy"),
        ["calico", "cilium"],
        "the old one wants a tombstone of its own"
    );
    let tombstone = "delete: [{kind: HelmChartProxy, name: cilium}]\n";
    world.write("gauss/peu01/capstan.yaml", &format!("{}{tombstone}", entry("calico", "")));
    for _ in 0..2 {
        world.reconcile("gauss/peu01").await;
    }
    assert_eq!(world.live.names("HelmChartProxy"), ["calico"]);
    let left: Vec<String> =
        world.status("gauss-peu01").services.into_iter().map(|service| service.name).collect();
    assert_eq!(left, ["calico"]);
}
