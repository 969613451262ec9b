//! The process, or the API server, dies between any two writes: nothing is orphaned, nothing is doubled.

use std::time::Instant;

use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::resources::Adopt;
use serde_json::json;

use super::adopting::with_machines;
use super::applying::plain;
use super::machines;
use super::moving::round;
use super::pruning;
use super::rows;
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
            // Every live object is in the inventory, so none is forgotten.
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
            assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
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
    assert!(matches!(outcome.ended, ReconcileEnd::Failed(_)), "{:?}", outcome.ended);
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
    let ReconcileEnd::Failed(failure) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(failure.kind, "Conflict");
    assert_eq!(world.live.names("Cluster"), Vec::<String>::new());

    // The next look sees that it is gone, and asks first whether it may be made.
    *world.bot.elsewhere.lock().unwrap() = Some("mc-us".to_owned());
    let outcome = world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.names("Cluster"), Vec::<String>::new());
}

/// Git before and after one commit; what follows from it in so many rounds.
struct Story {
    name: String,
    before: Box<dyn Fn(&World)>,
    after: Box<dyn Fn(&World)>,
    rounds: usize,
}

impl Story {
    fn of(row: &'static rows::Row) -> Self {
        let before = move |world: &World| {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": rows::CUSTOMER}});
            world.live.put(namespace);
            row.files().iter().for_each(|(path, text)| world.write(path, text));
        };
        let after = move |world: &World| pruning::change(world, row);
        Self { name: row.name.to_owned(), before: Box::new(before), after: Box::new(after), rounds: 3 }
    }

    fn new(name: &str, rounds: usize, before: fn(&World), after: fn(&World)) -> Self {
        Self { name: name.to_owned(), before: Box::new(before), after: Box::new(after), rounds }
    }

    async fn begin(&self) -> World {
        let world = World::new();
        (self.before)(&world);
        round(&world).await.unwrap();
        round(&world).await.unwrap();
        (self.after)(&world);
        world
    }

    async fn end(&self, world: &World) -> Vec<String> {
        for _ in 0..self.rounds {
            round(world).await.unwrap();
        }
        let mut found: Vec<String> =
            end_state(world).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
        for (name, record) in &world.status_store.posted().clusters {
            let inventory: Vec<String> = record
                .status
                .inventory
                .objects()
                .iter()
                .map(|object| format!("{} {:?}", object.id(), object.uid.is_some()))
                .collect();
            found.push(format!("{name} {:?} {inventory:?}", rows::ready_and_reasons(&record.status)));
        }
        found
    }
}

/// Where a process or the API server dies.
#[derive(Debug, Clone, Copy)]
enum Death {
    /// Before a write of an object.
    Before,
    /// After it, and before the answer.
    After,
    /// Before a status is written.
    Status,
}

fn stories() -> Vec<Story> {
    let mut stories: Vec<Story> = rows::ALL.iter().filter(|row| row.is_text()).map(Story::of).collect();
    stories.extend([
        Story::new(
            "a template is rotated",
            4,
            |world| with_machines(world, "v1.34.3", "one"),
            |world| with_machines(world, "v1.34.3", "two"),
        ),
        Story::new(
            "the whole cluster is deleted",
            9,
            |world| with_machines(world, "v1.34.3", "one"),
            |world| world.write("gauss/peu01/capstan.yaml", "delete: cluster\n"),
        ),
        Story::new(
            "what kubectl applied is taken over",
            3,
            |world| {
                let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "0", "old": "1"},
                    "metadata": {"name": "peu01-a", "namespace": "org"}});
                world.live.put_by_kubectl(map);
            },
            |world| {
                plain(world, "peu01");
                world.fleet.lock().unwrap().spec.guards.adopt = Adopt::Take;
            },
        ),
        Story::new(
            "the folder is renamed with its machines, and a template is rotated",
            4,
            |world| with_machines(world, "v1.34.3", "one"),
            |world| {
                with_machines(world, "v1.34.3", "two");
                world.rename("gauss/peu01/", "gauss/moved/");
            },
        ),
        Story::new(
            "the control plane is renamed, and goes back a minor",
            3,
            |world| with_machines(world, "v1.35.1", "one"),
            |world| {
                machines::run(world, "v1.35.1");
                machines::rename_control_plane(world, "v1.34.3");
            },
        ),
        Story::new(
            "Git goes back a minor",
            3,
            |world| with_machines(world, "v1.35.1", "one"),
            |world| with_machines(world, "v1.34.3", "one"),
        ),
        Story::new(
            "a Cluster is deleted by hand",
            3,
            |world| plain(world, "peu01"),
            |world| world.live.remove("Cluster", "peu01"),
        ),
    ]);
    stories
}

#[tokio::test]
async fn whatever_git_does_a_death_in_its_middle_ends_in_the_same_state() {
    let begun = Instant::now();
    let (mut wrong, mut deaths) = (Vec::new(), 0);
    for story in stories() {
        let whole = story.begin().await;
        let wanted = story.end(&whole).await;
        for death in [Death::Before, Death::After, Death::Status] {
            for writes in 0.. {
                assert!(writes < 40, "{}: it never comes to an end", story.name);
                let world = story.begin().await;
                match death {
                    Death::Status => world.status_store.posted().dies_after = Some(writes),
                    _ => {
                        let mut state = world.live.state();
                        state.dies_after = Some(writes);
                        state.answers = matches!(death, Death::Before);
                    }
                }
                let ended = round(&world).await;
                let died = match death {
                    Death::Status => ended.is_err(),
                    _ => world.live.state().dies_after == Some(0),
                };
                world.status_store.posted().dies_after = None;
                {
                    let mut state = world.live.state();
                    state.dies_after = None;
                    state.answers = true;
                }
                let found = story.end(&world).await;
                if found != wanted {
                    wrong.push(format!(
                        "{}, {death:?} {writes}:\n    is {found:#?}\n    not {wanted:#?}",
                        story.name
                    ));
                }
                if !died {
                    break;
                }
                deaths += 1;
            }
        }
    }
    eprintln!("{deaths} deaths in {:?}", begun.elapsed());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(deaths > 100, "{deaths} deaths");
}
