//! An operator that stopped: what is waited for, until when, and how long it takes.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::json;

use super::town::{CORE, Town};

const NAMESPACE: &str = "operators";
const LEASE: &str = "controller-leader-election-capi-operator";

/// How long the operator's Lease lasts, and the longest time between two looks at whether it lives.
const LASTS: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_secs(15);
/// For what a slow machine does besides: an API server that answers, a Lease that is taken.
const BESIDES: Duration = Duration::from_secs(5);

#[test]
fn an_operator_that_stopped_is_followed_after_its_lease_and_one_look() {
    let Some(town) = Town::build() else { return };
    town.plane.kubectl(&["create", "namespace", NAMESPACE]);
    town.plane.apply(OPERATOR);
    let renew = || {
        town.plane.apply(
            &json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE, "namespace": NAMESPACE},
                "spec": {"holderIdentity": "pod-1_a", "leaseDurationSeconds": LASTS.as_secs(),
                    "renewTime": format!("{:.6}", Timestamp::now())},
            })
            .to_string(),
        );
    };
    town.publish(CORE, "v1.12.8");
    town.ask(CORE, "v1.12.8", &json!({}));
    renew();
    town.reconciler.start();
    town.wait("it is not said that the operator lives", || {
        renew();
        town.reconciler.log().contains("the Cluster API operator installs providers here")
    });

    renew();
    town.plane.kubectl(&["scale", "deployment", "capi-operator", "-n", NAMESPACE, "--replicas=0"]);
    let stopped = Instant::now();
    let said = |field: &str| {
        town.field(CORE, &format!(".status.conditions[?(@.type==\"PreflightCheckPassed\")].{field}"))
    };
    town.wait("nothing is said of the Lease", || said("reason") == "WaitingForLease");
    let told_after = stopped.elapsed();
    let told = said("message");
    let (begin, until) = told.split_once(" has run out: at ").unwrap_or_default();
    assert_eq!(
        begin,
        format!(
            "The Cluster API operator has stopped. Capstan takes over once the Lease {NAMESPACE}/{LEASE}"
        ),
        "{told}"
    );
    let until: Timestamp = until.strip_suffix(" unless it is renewed.").unwrap().parse().unwrap();
    let left = until.duration_since(Timestamp::now());
    assert!(left.as_secs() <= 16, "{told}");

    town.wait("it is not taken over", || said("reason") == "PreflightChecksPassed");
    let taken_after = stopped.elapsed();
    println!("a stopped operator: told after {told_after:.1?}, followed after {taken_after:.1?}");
    assert!(told_after <= LOOK + BESIDES, "told after {told_after:?}");
    assert!(taken_after <= LASTS + LOOK + BESIDES, "followed after {taken_after:?}");
    town.wait_for(&[(CORE, "v1.12.8")]);
}

const OPERATOR: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: capi-operator
  namespace: operators
  labels: {clusterctl.cluster.x-k8s.io/core: capi-operator, control-plane: controller-manager}
spec:
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec: {containers: [{name: manager, image: registry.example/operator, args: [--leader-elect]}]}
";
