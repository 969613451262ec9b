//! Whose an object is: a folder that is refused owns nothing that it has not applied, and of two Fleets one has an
//! object.

use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::ports::{FleetKey, FleetRecord};
use capstan_reconciler::reconcile::resources::ConditionType;
use serde_json::json;

use super::applying::plain;
use super::pruning::round;
use super::rows;
use super::world::{UID, World};

const SHARED: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: org}\ndata: {key: \"1\"}\n";

/// An object in an overlay for which every pass refuses the folder: a ClusterRoleBinding.
const ROOT: &str =
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: root}\n";

async fn rounds(world: &World) {
    for _ in 0..3 {
        round(world).await;
    }
}

fn ready(world: &World, name: &str) -> String {
    world.condition(name, ConditionType::Ready)
}

/// Names in the inventory of a folder.
fn inventory(world: &World, name: &str) -> Vec<String> {
    world.status(name).inventory.objects().iter().map(|object| object.name.clone()).collect()
}

/// Makes the folder `gauss/evil` refused: by a file in Git, or by an answer of the API server.
fn refuse(world: &World, how: &str) {
    match how {
        "in Git" => world.write("gauss/evil/overlay/root.yaml", ROOT),
        "by the API server" => {
            let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil-bad}\ndata: {bad: \"1\"}\n";
            world.write("gauss/evil/base/bad.yaml", bad);
            world.live.webhook(|_, object| {
                object["data"]["bad"].is_string().then(|| (422, "data.bad: Forbidden: not here".to_owned()))
            });
        }
        other => unreachable!("{other}"),
    }
}

const WAYS: [&str; 2] = ["in Git", "by the API server"];

#[tokio::test]
async fn what_a_refused_folder_renders_is_not_taken_from_the_folder_that_has_it() {
    for how in WAYS {
        let world = World::new();
        plain(&world, "peu01");
        world.write("gauss/peu01/base/shared.yaml", SHARED);
        round(&world).await;
        // The one gives it up, the other is refused.
        plain(&world, "evil");
        refuse(&world, how);
        world.remove("gauss/peu01/base/shared.yaml");
        world.write("gauss/evil/base/shared.yaml", SHARED);
        world.live.take_writes();
        rounds(&world).await;
        assert_eq!(ready(&world, "gauss-evil"), "False Refused", "{how}");
        assert_eq!(inventory(&world, "gauss-evil"), [""; 0], "{how}");
        assert_eq!(inventory(&world, "gauss-peu01"), ["peu01-a", "peu01-b", "shared", "peu01"], "{how}");
        assert_eq!(world.live.take_writes(), [""; 0], "{how}");
        let kept = &world.status("gauss-peu01").kept[0];
        assert_eq!(
            kept.message,
            "ConfigMap org/shared is kept: the folder gauss/evil renders it but has not applied it yet. It belongs to that folder after that"
        );
        // Git takes it back: it was the first one's all the time.
        world.write("gauss/peu01/base/shared.yaml", SHARED);
        rounds(&world).await;
        assert_eq!(ready(&world, "gauss-peu01"), "True Done", "{how}");
        world.remove("gauss/peu01/base/shared.yaml");

        // The other is mended: now it passes, and nobody has it twice.
        for path in ["gauss/evil/overlay/root.yaml", "gauss/evil/base/bad.yaml"] {
            world.remove(path);
        }
        rounds(&world).await;
        assert_eq!(ready(&world, "gauss-evil"), "True Done", "{how}");
        assert_eq!(inventory(&world, "gauss-evil"), ["evil-a", "evil-b", "shared", "evil"], "{how}");
        assert_eq!(inventory(&world, "gauss-peu01"), ["peu01-a", "peu01-b", "peu01"], "{how}");
        assert!(world.live.object("ConfigMap", "shared").is_some());
        let deleted = world.live.take_writes().into_iter().filter(|write| write.starts_with("delete"));
        assert_eq!(deleted.collect::<Vec<_>>(), [""; 0], "{how}");
    }
}

#[tokio::test]
async fn what_a_refused_folder_renders_blocks_no_new_cluster() {
    for how in WAYS {
        let world = World::new();
        plain(&world, "evil");
        refuse(&world, how);
        plain(&world, "peu09");
        let cluster = world.files.lock().unwrap()["gauss/peu09/base/cluster.yaml"].clone();
        world.write("gauss/evil/base/cluster-of-another.yaml", &cluster);
        rounds(&world).await;
        assert_eq!(ready(&world, "gauss-evil"), "False Refused", "{how}");
        assert_eq!(ready(&world, "gauss-peu09"), "True Done", "{how}");
        assert_eq!(world.live.names("Cluster"), ["peu09"], "{how}");
        // Mended, it is refused for what is another's by now.
        for path in ["gauss/evil/overlay/root.yaml", "gauss/evil/base/bad.yaml"] {
            world.remove(path);
        }
        rounds(&world).await;
        assert_eq!(world.status("gauss-evil").refused[0].reason, "OwnedByAnotherFolder", "{how}");
        assert_eq!(ready(&world, "gauss-peu09"), "True Done", "{how}");
    }
}

#[tokio::test]
async fn of_two_folders_that_are_as_good_neither_has_what_both_render() {
    let world = World::new();
    for name in ["one", "two"] {
        plain(&world, name);
        world.write(&format!("gauss/{name}/base/shared.yaml"), SHARED);
    }
    rounds(&world).await;
    assert_eq!(world.live.names("Cluster"), [""; 0]);
    for (name, other) in [("gauss-one", "gauss/two"), ("gauss-two", "gauss/one")] {
        let refused = &world.status(name).refused[0];
        assert_eq!(refused.reason, "OwnedByAnotherFolder");
        assert!(refused.message.contains(&format!("is also rendered by the folder {other}")), "{refused:?}");
    }
    world.remove("gauss/two/base/shared.yaml");
    rounds(&world).await;
    assert_eq!(
        (ready(&world, "gauss-one"), ready(&world, "gauss-two")),
        ("True Done".into(), "True Done".into())
    );
}

#[tokio::test]
async fn a_refused_folder_inherits_nothing_of_one_that_is_gone() {
    for how in WAYS {
        let world = World::new();
        plain(&world, "peu01");
        round(&world).await;
        let files = world.files.lock().unwrap().clone();
        // Its files are in the refused folder for one commit.
        plain(&world, "evil");
        refuse(&world, how);
        for file in ["cluster", "maps"] {
            world.remove(&format!("gauss/peu01/base/{file}.yaml"));
            let text = &files[&format!("gauss/peu01/base/{file}.yaml")];
            world.write(&format!("gauss/evil/base/its-{file}.yaml"), text);
        }
        world.live.take_writes();
        rounds(&world).await;
        assert_eq!(inventory(&world, "gauss-evil"), [""; 0], "{how}");
        assert_eq!(inventory(&world, "gauss-peu01"), ["peu01-a", "peu01-b", "peu01"], "{how}");
        assert_eq!(ready(&world, "gauss-peu01"), "False FolderGone", "{how}");
        // Back again, it has what it had, though the other renders it still.
        for file in ["cluster", "maps"] {
            let path = format!("gauss/peu01/base/{file}.yaml");
            world.write(&path, &files[&path]);
        }
        rounds(&world).await;
        assert_eq!(ready(&world, "gauss-peu01"), "True Done", "{how}");
        assert_eq!(ready(&world, "gauss-evil"), "False Refused", "{how}");
        assert_eq!(world.live.take_writes(), [""; 0], "{how}");
    }
}

#[tokio::test]
async fn a_folder_that_was_copied_and_then_removed_passes_to_neither_copy() {
    let world = World::new();
    plain(&world, "peu01");
    round(&world).await;
    let files = world.files.lock().unwrap().clone();
    world.live.take_writes();
    for copy in ["one", "two"] {
        for file in ["cluster", "maps"] {
            let text = &files[&format!("gauss/peu01/base/{file}.yaml")];
            world.write(&format!("gauss/{copy}/base/{file}.yaml"), text);
        }
    }
    // A copy beside the original is refused.
    rounds(&world).await;
    assert_eq!(world.status("gauss-one").refused[0].reason, "OwnedByAnotherFolder");
    assert_eq!(ready(&world, "gauss-peu01"), "True Done");
    for file in ["cluster", "maps"] {
        world.remove(&format!("gauss/peu01/base/{file}.yaml"));
    }
    rounds(&world).await;
    for name in ["gauss-one", "gauss-two"] {
        assert_eq!(
            (ready(&world, name), inventory(&world, name)),
            ("False Refused".to_owned(), vec![]),
            "{name}"
        );
    }
    assert_eq!(inventory(&world, "gauss-peu01"), ["peu01-a", "peu01-b", "peu01"]);
    for file in ["cluster", "maps"] {
        world.remove(&format!("gauss/two/base/{file}.yaml"));
    }
    rounds(&world).await;
    assert_eq!(ready(&world, "gauss-one"), "True Done");
    assert_eq!(inventory(&world, "gauss-one"), ["peu01-a", "peu01-b", "peu01"]);
    assert_eq!(world.live.take_writes(), [""; 0]);
}

#[tokio::test]
async fn a_claim_that_moves_away_and_back_changes_nothing() {
    let world = World::new();
    plain(&world, "peu01");
    round(&world).await;
    world.live.take_writes();
    let here = world.files.lock().unwrap()[".capstan.yaml"].clone();
    let away =
        [("gauss/peu01".to_owned(), rows::Claim::Elsewhere), ("gauss/other".to_owned(), rows::Claim::Here)];
    world.write(".capstan.yaml", &rows::settings(UID, &away));
    // Somebody edits the object by hand. This management cluster does not repair it while it does not claim the folder.
    world.live.change("ConfigMap", "peu01-a", |map| map["data"]["key"] = json!("by hand"));
    rounds(&world).await;
    assert_eq!(ready(&world, "gauss-peu01"), "False NotClaimed");
    assert_eq!(inventory(&world, "gauss-peu01"), ["peu01-a", "peu01-b", "peu01"]);
    assert_eq!(world.live.take_writes(), [""; 0]);
    world.write(".capstan.yaml", &here);
    rounds(&world).await;
    assert_eq!(ready(&world, "gauss-peu01"), "True Done");
    assert_eq!(world.live.take_writes(), ["apply ConfigMap org/peu01-a"]);
}

/// Two Fleets in one namespace whose trees both render the cluster, in folders of their own.
fn two_fleets(world: &World) -> [FleetRecord; 2] {
    world.write(".capstan.yaml", &super::world::SETTINGS.replace("\"gauss/*\"", "\"gauss/*\", \"newton/*\""));
    let one = world.fleet.lock().unwrap().clone();
    let key = FleetKey { name: "other".into(), ..one.key.clone() };
    let other = FleetRecord { key, uid: "uid-of-other".into(), ..one.clone() };
    world.status_store.posted().fleets = vec![one.clone(), other.clone()];
    [one, other]
}

fn in_both(world: &World) {
    plain(world, "peu01");
    let mut files = world.files.lock().unwrap();
    for file in ["cluster", "maps"] {
        let text = files[&format!("gauss/peu01/base/{file}.yaml")].clone();
        files.insert(format!("newton/peu01/base/{file}.yaml"), text);
    }
}

/// A turn of one Fleet's folder in a tree that has this one folder.
async fn turn(world: &World, fleet: &FleetRecord, folder: &str) -> ReconcileEnd {
    let revision = {
        *world.fleet.lock().unwrap() = fleet.clone();
        let all = world.files.lock().unwrap().clone();
        let of_tree = |path: &str| path == ".capstan.yaml" || path.starts_with(folder);
        world.files.lock().unwrap().retain(|path, _| of_tree(path));
        let revision = world.revision().await;
        *world.files.lock().unwrap() = all;
        revision
    };
    world.turn_of(fleet, &revision, folder).await.unwrap().ended
}

#[tokio::test]
async fn two_fleets_never_take_one_object() {
    let world = World::new();
    let [one, other] = two_fleets(&world);
    in_both(&world);
    let ended = turn(&world, &one, "gauss/peu01").await;
    assert!(matches!(ended, ReconcileEnd::Applied), "{ended:?}");
    let manifest = world.live.object("ConfigMap", "peu01-a").unwrap();
    world.live.take_writes();
    let path = "newton/peu01/base/maps.yaml";
    let changed = world.files.lock().unwrap()[path].replace("\"1\"", "\"2\"");
    world.write(path, &changed);
    for _ in 0..2 {
        let ended = turn(&world, &other, "newton/peu01").await;
        assert!(matches!(ended, ReconcileEnd::Refused(_)), "{ended:?}");
        assert_eq!(world.live.take_writes(), [""; 0]);
        let refused = &world.status("newton-peu01").refused[0];
        assert_eq!(
            (refused.reason.as_str(), refused.message.as_str()),
            (
                "OwnedByAnotherFleet",
                "ConfigMap org/peu01-a belongs to the Fleet fleet, which applies it from the folder gauss/peu01. An object belongs to one folder: rename it, or remove it there first"
            )
        );
        assert_eq!(inventory(&world, "newton-peu01"), [""; 0]);
        let ended = turn(&world, &one, "gauss/peu01").await;
        assert!(matches!(ended, ReconcileEnd::Applied), "{ended:?}");
    }
    assert_eq!(world.live.object("ConfigMap", "peu01-a").unwrap(), manifest);
    // Its Fleet lets it go: the ManagedCluster is deleted by hand.
    world.status_store.posted().clusters.remove("gauss-peu01");
    let ended = turn(&world, &other, "newton/peu01").await;
    assert!(matches!(ended, ReconcileEnd::Applied), "{ended:?}");
    assert_eq!(world.live.object("ConfigMap", "peu01-a").unwrap()["data"], json!({"key": "2"}));
}

#[tokio::test]
async fn of_two_fleets_that_begin_at_once_one_has_the_cluster() {
    let world = World::new();
    let [one, other] = two_fleets(&world);
    in_both(&world);
    let (first, second) = (turn(&world, &one, "gauss/peu01"), turn(&world, &other, "newton/peu01"));
    let ended = tokio::join!(first, second);
    let told = [&ended.0, &ended.1].map(|ended| matches!(ended, ReconcileEnd::Applied));
    assert_eq!(told.iter().filter(|applied| **applied).count(), 1, "{ended:?}");
    let writes = world.live.take_writes();
    assert_eq!(writes.len(), 3, "{writes:?}");
    let inventories = [inventory(&world, "gauss-peu01"), inventory(&world, "newton-peu01")];
    assert_eq!(inventories.iter().filter(|inventory| !inventory.is_empty()).count(), 1);
}
