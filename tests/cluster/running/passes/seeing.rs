//! What a pass reads again: the objects that a watch reported, otherwise everything.

use capstan_model::object::ObjectId;
use capstan_ports::{LiveChange, ObjectChange};
use serde_json::json;

use super::town::{ACME, CORE, Town, components};

/// A change of a live object, as a watch reports it.
fn change_of(town: &Town, kind: &str, name: &str, change: ObjectChange) -> LiveChange {
    let object = town.live.object(kind, name).unwrap();
    let api_version = object["apiVersion"].as_str().unwrap();
    let id = ObjectId {
        group: api_version.split_once('/').map_or("", |(group, _)| group).to_owned(),
        kind: kind.to_owned(),
        namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
        name: name.to_owned(),
    };
    let resource_version = object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    LiveChange { object: id, change, resource_version }
}

async fn installed() -> Town {
    let mut town = Town::new();
    for row in [CORE, ACME] {
        town.publish(row, "v1.0.0", &components(row, "one", &["v1beta1"]));
        town.ask(row, "v1.0.0");
    }
    assert!(!town.settle().await.is_waiting);
    town.live.take_writes();
    town.live.state().reads.clear();
    town
}

fn take_reads(town: &Town) -> Vec<String> {
    std::mem::take(&mut town.live.state().reads).into_iter().collect()
}

fn label(town: &Town, value: &str) {
    town.live.change("Deployment", "acme-manager", |object| {
        object["metadata"]["labels"]["cluster.x-k8s.io/provider"] = json!(value);
    });
}

#[tokio::test]
async fn only_objects_that_watches_report_are_read() {
    let mut town = installed().await;
    town.memory.is_up_to_date();
    town.try_pass().await.unwrap();
    assert_eq!((take_reads(&town), town.live.take_writes()), (vec![], vec![]), "nothing was told");

    // The events of its own writes, and of a status, start no pass.
    for (kind, name) in [("Deployment", "acme-manager"), ("CustomResourceDefinition", "boxes.acme.example")] {
        let echo = change_of(&town, kind, name, ObjectChange::Spec);
        assert!(!town.memory.hears(&echo), "{kind}");
    }
    let status = change_of(&town, CORE.kind, CORE.name, ObjectChange::Status);
    assert!(!town.memory.hears(&status));

    label(&town, "somebody");
    let drift = change_of(&town, "Deployment", "acme-manager", ObjectChange::Spec);
    assert!(town.memory.hears(&drift));
    town.memory.is_up_to_date();
    town.try_pass().await.unwrap();
    assert_eq!(take_reads(&town), ["Deployment acme-system/acme-manager"]);
    assert_eq!(town.live.take_writes(), ["apply Deployment acme-system/acme-manager"]);

    // A change that no watch reported is found by a full pass: after a restart, a failure, or the interval.
    label(&town, "somebody else");
    town.memory.is_up_to_date();
    town.try_pass().await.unwrap();
    assert_eq!(town.live.take_writes(), [""; 0]);
    town.try_pass().await.unwrap();
    assert_eq!(town.live.take_writes(), ["apply Deployment acme-system/acme-manager"]);
}

#[tokio::test]
async fn a_new_version_is_noticed_and_all_of_it_is_tried() {
    let mut town = installed().await;
    town.publish(ACME, "v1.1.0", &components(ACME, "two", &["v1beta1"]));
    town.ask(ACME, "v1.1.0");
    let changed = change_of(&town, ACME.kind, ACME.name, ObjectChange::Spec);
    assert!(town.memory.hears(&changed));
    town.memory.is_up_to_date();
    assert!(!town.settle().await.is_waiting);
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.0.0", "v1.1.0"]);
    assert_eq!(town.runs(ACME), "registry.example/acme:two x1");
}

/// Asked for while a pass is made, after its look and before its word: the word does not hide it.
#[tokio::test]
async fn what_is_asked_for_during_a_pass_is_news() {
    let mut town = installed().await;
    town.publish(ACME, "v1.1.0", &components(ACME, "two", &["v1beta1"]));
    let before = change_of(&town, ACME.kind, ACME.name, ObjectChange::Spec);
    // The status that is written next differs, since it says another thing of the Deployment.
    town.broken.lock().unwrap().insert("registry.example/acme:one".to_owned());
    town.live.change("Deployment", "acme-manager", |object| {
        object["status"]["availableReplicas"] = json!(0);
        object["status"]["conditions"][0]["status"] = json!("False");
    });
    let asked = std::sync::Mutex::new(Some(()));
    let live = town.live.clone();
    let during: Box<dyn Fn(&mut serde_json::Value) + Send + Sync> = Box::new(move |object| {
        // Written beside the first status of the provider, as another client's would be a moment before.
        if object["kind"] == ACME.kind && asked.lock().unwrap().take().is_some() {
            object["spec"]["version"] = json!("v1.1.0");
            let generation = object["metadata"]["generation"].as_i64().unwrap();
            object["metadata"]["generation"] = json!(generation + 1);
        }
    });
    live.state().reactions.push(during);
    town.try_pass().await.unwrap();
    let after = change_of(&town, ACME.kind, ACME.name, ObjectChange::Spec);
    assert_ne!(before.resource_version, after.resource_version, "its status was written");
    assert!(town.memory.hears(&after), "somebody asked for something else");
}
