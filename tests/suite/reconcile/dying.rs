//! The process, or the API server, dies between any two writes: nothing is orphaned, nothing is doubled.

use capstan::app::reconcile::Ended;

use super::applying::plain;
use super::world::World;

/// What is there in the end, without what depends on the order of requests.
fn end_state(world: &World) -> Vec<(String, String)> {
    let state = world.live.state();
    let objects = state.objects.iter().filter(|(key, _)| key.1 != "Namespace");
    objects
        .map(|(key, value)| {
            let mut value = value.clone();
            for field in ["uid", "resourceVersion", "generation", "managedFields"] {
                value["metadata"].as_object_mut().unwrap().remove(field);
            }
            (format!("{} {}", key.1, key.3), value.to_string())
        })
        .collect()
}

fn make(world: &World) {
    plain(world, "peu01");
    for name in ["c", "d", "e"] {
        world.write(
            &format!("gauss/peu01/base/{name}.yaml"),
            &format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: peu01-{name}\ndata: {{key: \"1\"}}\n"
            ),
        );
    }
}

#[tokio::test]
async fn a_death_between_any_two_writes_ends_in_the_same_state() {
    let whole = World::new();
    make(&whole);
    whole.reconcile("gauss/peu01").await;
    let wanted = end_state(&whole);
    assert_eq!(wanted.len(), 6);

    for answers in [true, false] {
        for writes in 0..7 {
            let world = World::new();
            make(&world);
            {
                let mut state = world.live.state();
                state.dies_after = Some(writes);
                state.answers = answers;
            }
            let _ended = world.reconcile("gauss/peu01").await;
            // Whatever is there stands in the inventory, so that nothing is forgotten.
            let inventory = world.status("gauss-peu01").inventory;
            for (key, _) in world.live.state().objects.iter().filter(|(key, _)| key.1 != "Namespace") {
                let known =
                    inventory.objects().iter().any(|object| object.kind == key.1 && object.name == key.3);
                assert!(known, "{key:?} is an orphan after {writes} writes");
            }
            {
                let mut state = world.live.state();
                state.dies_after = None;
                state.answers = true;
            }
            let outcome = world.reconcile("gauss/peu01").await;
            assert!(matches!(outcome.ended, Ended::Applied), "{:?}", outcome.ended);
            assert_eq!(end_state(&world), wanted, "after a death at write {writes}");
            let inventory = world.status("gauss-peu01").inventory;
            assert_eq!(inventory.objects().len(), 6);
            assert!(inventory.objects().iter().all(|object| object.uid.is_some()));
            let forms = &world.live.state().forms;
            assert!(
                forms.values().all(|forms| forms.len() == 1),
                "an object was written in two forms: {forms:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_was_intended_and_never_applied_is_forgotten_when_git_drops_it() {
    let world = World::new();
    make(&world);
    world.live.state().dies_after = Some(1);
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, Ended::Failed(_)), "{:?}", outcome.ended);
    world.live.state().dies_after = None;
    for name in ["c", "d", "e"] {
        world.remove(&format!("gauss/peu01/base/{name}.yaml"));
    }
    world.reconcile("gauss/peu01").await;
    world.reconcile("gauss/peu01").await;
    let inventory = world.status("gauss-peu01").inventory;
    let left: Vec<&str> = inventory.objects().iter().map(|object| object.name.as_str()).collect();
    let live: Vec<String> = world.live.names("ConfigMap");
    for name in &live {
        assert!(left.contains(&name.as_str()), "{name} is an orphan");
    }
}

#[tokio::test]
async fn a_cluster_that_is_deleted_between_look_and_apply_is_not_made_a_second_time_unseen() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.change("Cluster", "peu01", |object| object["spec"]["paused"] = serde_json::json!(true));
    world.live.state().loses_before_write = Some("peu01".to_owned());
    let outcome = world.reconcile("gauss/peu01").await;
    let Ended::Failed(failure) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(failure.kind, "Conflict");
    assert_eq!(world.live.names("Cluster"), Vec::<String>::new());

    // The next look sees that it is gone, and asks first whether it may be made.
    *world.bot.elsewhere.lock().unwrap() = Some("mc-us".to_owned());
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, Ended::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.names("Cluster"), Vec::<String>::new());
}
