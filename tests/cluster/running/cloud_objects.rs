//! Objects of the OpenStack resource controller: machines wait for them, the controller's errors refuse a folder, and
//! an object whose create was interrupted is recreated.

use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::ConditionType;
use serde_json::{Value, json};

use super::world::World;

const FOLDER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
spec: {paused: false}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: md, namespace: org}
spec:
  clusterName: peu01
  replicas: 2
  template:
    spec:
      clusterName: peu01
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, name: md}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: md, namespace: org}
spec: {template: {spec: {image: {imageRef: {name: ubuntu}}}}}
";

const IMAGE: &str = "\
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Image
metadata: {name: ubuntu, namespace: org}
spec:
  managementPolicy: managed
  cloudCredentialsRef: {secretName: cloud, cloudName: openstack}
  resource: {visibility: private}
";

const RESET: &str = "invalid configuration creating image: Post \"http://glance/v2/images\": read tcp 127.0.0.1:5->127.0.0.1:9292: read: connection reset by peer";

fn world() -> World {
    let world = World::new();
    world.write("gauss/peu01/base/all.yaml", FOLDER);
    world.write("gauss/peu01/base/image.yaml", IMAGE);
    world
}

/// What ORC says of the image.
fn says(world: &World, id: Option<&str>, (kind, status): (&str, &str), reason: &str, message: &str) {
    world.live.change("Image", "ubuntu", |image| {
        let generation = image["metadata"]["generation"].clone();
        image["status"] = json!({"conditions": [{"type": kind, "status": status, "reason": reason,
            "message": message, "observedGeneration": generation}]});
        if let Some(id) = id {
            image["status"]["id"] = json!(id);
        }
    });
}

fn dies(world: &World) {
    says(world, None, ("Progressing", "False"), "InvalidConfiguration", RESET);
}

fn recreations(world: &World) -> u32 {
    let status = world.status("gauss-peu01");
    status.inventory.objects().iter().find(|object| object.kind == "Image").unwrap().made_anew
}

fn uid(world: &World) -> Value {
    world.live.object("Image", "ubuntu").unwrap()["metadata"]["uid"].clone()
}

#[tokio::test]
async fn machines_wait_until_the_image_of_this_generation_is_available() {
    let world = world();
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert!(outcome.again, "somebody looks again soon");
    let writes = world.live.take_writes();
    assert_eq!(writes[0], "apply Image org/ubuntu", "first of all");
    assert!(!writes.iter().any(|write| write.contains("MachineDeployment")), "{writes:?}");
    let withheld = |world: &World| world.status("gauss-peu01").withheld;
    let waits = "MachineDeployment org/md waits until Image org/ubuntu is done: ";
    assert_eq!(withheld(&world), [format!("{waits}it changes first")]);
    for (reason, message) in
        [("Progressing", "Image is queued"), ("TransientError", "503 Service Unavailable")]
    {
        says(&world, None, ("Progressing", "True"), reason, message);
        let outcome = world.reconcile("gauss/peu01").await;
        assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
        assert_eq!(withheld(&world), [format!("{waits}{reason}: {message}")]);
        assert_eq!(world.condition("gauss-peu01", ConditionType::Applied), "False WorkersWithheld");
    }
    // A condition of an earlier generation does not count.
    says(&world, Some("i"), ("Available", "True"), "Success", "");
    world.live.change("Image", "ubuntu", |image| image["metadata"]["generation"] = json!(2));
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    says(&world, Some("i"), ("Available", "True"), "Success", "");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["apply MachineDeployment org/md"]);
    assert_eq!(withheld(&world), Vec::<String>::new());
}

#[tokio::test]
async fn what_orc_gives_up_refuses_the_folder_in_its_words_until_git_changes_it() {
    let world = world();
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    for reason in ["InvalidConfiguration", "UnrecoverableError"] {
        says(
            &world,
            None,
            ("Progressing", "False"),
            reason,
            "found more than one matching OpenStack resource",
        );
        world.write("gauss/peu01/base/all.yaml", &FOLDER.replace("paused: false", "paused: true"));
        let outcome = world.reconcile("gauss/peu01").await;
        assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
        assert_eq!(world.live.take_writes(), Vec::<String>::new(), "nothing of it is applied");
        let refused = &world.status("gauss-peu01").refused[0];
        assert_eq!(
            (refused.reason.as_str(), refused.object.as_deref(), refused.file.as_deref(), refused.line),
            ("CloudObjectGivenUp", Some("Image org/ubuntu"), Some("gauss/peu01/base/image.yaml"), Some(1))
        );
        let words = format!("{reason}: found more than one matching OpenStack resource. Correct it in Git");
        assert!(refused.message.contains(&words), "{}", refused.message);
        assert_eq!(world.condition("gauss-peu01", ConditionType::Refused), "True CloudObjectGivenUp");
    }
    // Another wish is another try.
    world.write("gauss/peu01/base/image.yaml", &IMAGE.replace("private", "shared"));
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    let mut writes = world.live.take_writes();
    writes.sort();
    assert_eq!(writes, ["apply Cluster org/peu01", "apply Image org/ubuntu"]);
}

#[tokio::test]
async fn an_interrupted_create_is_repeated_three_times_and_then_refused() {
    let world = world();
    world.reconcile("gauss/peu01").await;
    for times in 1..=3 {
        world.live.take_writes();
        dies(&world);
        let before = uid(&world);
        let outcome = world.reconcile("gauss/peu01").await;
        let ReconcileEnd::Waiting(reasons) = &outcome.ended else { panic!("{:?}", outcome.ended) };
        assert_eq!(reasons[0].kind, "CloudObjectMadeAnew");
        assert!(reasons[0].message.ends_with("connection reset by peer"), "{}", reasons[0].message);
        assert_eq!(world.live.take_writes(), ["delete Image org/ubuntu"]);
        assert_eq!(recreations(&world), times, "counted, and never forgotten with the object");
        world.reconcile("gauss/peu01").await;
        assert_eq!(world.live.take_writes(), ["apply Image org/ubuntu"]);
        assert_ne!(uid(&world), before);
        assert_eq!(recreations(&world), times);
    }
    dies(&world);
    let outcome = world.reconcile("gauss/peu01").await;
    let ReconcileEnd::Refused(reasons) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert!(reasons[0].message.starts_with("its creation failed, and so did that of its replacements: "));
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
    // Somebody saw to it: the next one that dies has its three tries again.
    says(&world, Some("i"), ("Available", "True"), "Success", "");
    world.reconcile("gauss/peu01").await;
    assert_eq!(recreations(&world), 0);
}

#[tokio::test]
async fn who_is_killed_before_the_deletion_has_counted_it() {
    let world = world();
    world.reconcile("gauss/peu01").await;
    dies(&world);
    world.live.take_writes();
    world.live.state().dies_after = Some(0);
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Failed(_)), "{:?}", outcome.ended);
    assert_eq!((world.live.take_writes(), recreations(&world)), (Vec::new(), 1));
    world.live.state().dies_after = None;
    world.reconcile("gauss/peu01").await;
    assert_eq!(
        (world.live.take_writes(), recreations(&world)),
        (vec!["delete Image org/ubuntu".to_owned()], 2)
    );
    // Killed after it: what is not there is applied.
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), ["apply Image org/ubuntu"]);
}

#[tokio::test]
async fn what_the_cloud_has_is_never_recreated() {
    let world = world();
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    says(&world, Some("i"), ("Progressing", "False"), "InvalidConfiguration", RESET);
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    // And not where it came to be between the look and the deletion.
    dies(&world);
    world.live.state().touches_before_delete = Some(Box::new(|image| image["status"]["id"] = json!("i")));
    let outcome = world.reconcile("gauss/peu01").await;
    let ReconcileEnd::Waiting(reasons) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert!(reasons[0].message.contains("was changed while Capstan checked it"), "{}", reasons[0].message);
    assert_eq!(world.live.take_writes(), Vec::<String>::new());
}

#[tokio::test]
async fn without_the_controller_nothing_is_applied_and_it_is_named() {
    let world = world();
    let kind = ("openstack.k-orc.cloud".to_owned(), "Image".to_owned());
    let scope = world.live.state().kinds.remove(&kind).unwrap();
    let outcome = world.reconcile("gauss/peu01").await;
    let ReconcileEnd::Refused(reasons) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(
        reasons.iter().map(|reason| format!("{} {}", reason.kind, reason.line())).collect::<Vec<_>>(),
        [
            "CloudControllerMissing gauss/peu01/base/image.yaml:1: Image org/ubuntu: the management cluster does not serve Image of openstack.k-orc.cloud: install a version of the OpenStack resource controller (ORC) that has it. Until then, nothing of the folder is applied"
        ]
    );
    assert_eq!(world.live.take_writes(), Vec::<String>::new(), "nothing half applied");
    world.live.state().kinds.insert(kind, scope);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes()[0], "apply Image org/ubuntu");
}
