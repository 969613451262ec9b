//! A process that dies, or loses its API server, after any write comes to the same end.

use serde_json::Value;

use super::town::{ACME, CORE, Town, components};

/// Asks for v1.0.0 of both, and lets that settle; then for v1.1.0, whose definitions lose a version.
async fn before_the_upgrade() -> Town {
    let mut town = Town::new();
    for row in [CORE, ACME] {
        town.publish(row, "v1.0.0", &components(row, "old", &["v1alpha3", "v1beta1"]));
        town.ask(row, "v1.0.0");
    }
    town.settle().await;
    for row in [CORE, ACME] {
        // On clusters that are old enough something is stored in it still.
        town.live.change("CustomResourceDefinition", &format!("boxes.{}.example", row.name), |definition| {
            definition["status"]["storedVersions"] = serde_json::json!(["v1alpha3", "v1beta1"]);
        });
        let group = format!("{}.example", row.name);
        town.live.put(serde_json::json!({"apiVersion": format!("{group}/v1alpha3"), "kind": "Box",
            "metadata": {"name": "kept", "namespace": row.namespace}}));
        town.publish(row, "v1.1.0", &components(row, "new", &["v1beta1"]));
        town.ask(row, "v1.1.0");
    }
    town.live.take_writes();
    town
}

/// What is there in the end, without what depends on the number of requests.
fn end_state(town: &Town) -> Vec<(String, String)> {
    let state = town.live.state();
    let words = state.objects.iter().map(|(key, value)| {
        let mut value = value.clone();
        for field in ["uid", "resourceVersion", "generation", "managedFields"] {
            value["metadata"].as_object_mut().unwrap().remove(field);
        }
        if let Some(status) = value.get_mut("status").and_then(Value::as_object_mut) {
            status.remove("observedGeneration");
        }
        (format!("{} {}", key.1, key.3), value.to_string())
    });
    words.collect()
}

#[tokio::test]
async fn a_process_that_dies_after_any_write_reaches_the_same_end() {
    let mut straight = before_the_upgrade().await;
    assert!(!straight.settle().await.is_waiting);
    assert_eq!([straight.installed(CORE), straight.installed(ACME)], ["v1.1.0", "v1.1.0"]);
    let writes = straight.live.take_writes().len();
    let wanted = end_state(&straight);
    assert!(writes > 10, "{writes}");
    let definition = straight.live.object("CustomResourceDefinition", "boxes.acme.example").unwrap();
    assert_eq!(definition["status"]["storedVersions"], serde_json::json!(["v1beta1"]));

    for answers in [true, false] {
        for left in 0..writes {
            let mut town = before_the_upgrade().await;
            {
                let mut state = town.live.state();
                state.dies_after = Some(left);
                state.answers = answers;
            }
            let died = town.try_pass().await;
            assert!(died.is_err(), "{left} of {writes} writes");
            {
                let mut state = town.live.state();
                state.dies_after = None;
                state.answers = true;
            }
            town.restart();
            let outcome = town.settle().await;
            assert!(!outcome.is_waiting, "after {left} writes: {}", town.condition(CORE, "ProviderUpgraded"));
            for (one, other) in end_state(&town).iter().zip(&wanted) {
                assert_eq!(one, other, "after {left} writes");
            }
            assert_eq!(end_state(&town).len(), wanted.len(), "after {left} writes");
            town.live.take_writes();
            town.restart();
            town.settle().await;
            assert_eq!(
                town.live.take_writes(),
                [""; 0],
                "after {left} writes: a pass with nothing to do wrote"
            );
        }
    }
}
