//! A renamed folder: its cluster continues under the new name, and what people had set for it stays.

use capstan_ports::LiveError;
use capstan_reconciler::reconcile::ports::ClusterKey;
use capstan_reconciler::reconcile::ports::ClusterRecord;
use capstan_reconciler::reconcile::resources::{
    Adopt, ConditionType, CreateClusters, ManagedClusterSpec, ManagedClusterStatus,
};

use super::applying::plain;
use super::world::{World, id};

/// A cluster that is applied, and then suspended by hand, with all else that a hand can set.
async fn suspended() -> World {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    ask(&world, "gauss-peu01", true);
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False Suspended");
    world.live.take_writes();
    world
}

fn ask(world: &World, name: &str, suspend: bool) {
    let mut posted = world.status_store.posted();
    let record = posted.clusters.get_mut(name).unwrap();
    record.spec.suspend = suspend;
    record.spec.adopt = Some(Adopt::Take);
    record.spec.create_cluster = Some(CreateClusters::Always);
    record.generation += 1;
}

/// Renames a folder and changes what it asks for, as a commit does.
fn rename(world: &World, from: &str, to: &str) {
    world.rename(&format!("gauss/{from}/"), &format!("gauss/{to}/"));
    let path = format!("gauss/{to}/base/more.yaml");
    let more =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: more-of-{to}}}\ndata: {{key: \"1\"}}\n");
    world.write(&path, &more);
}

/// A turn for every cluster, and a word on every ManagedCluster without one, as far as the status store lets it.
pub(crate) async fn round(world: &World) -> Result<(), LiveError> {
    let revision = world.revision().await;
    let mut ended = Ok(());
    for id in revision.clusters() {
        let turn = world.try_turn(&revision, id.as_str()).await;
        ended = ended.and(turn.map(drop));
    }
    ended.and(world.try_say_unclaimed(&revision).await)
}

/// The ManagedClusters: name, whether it is suspended, how many objects are in its inventory.
fn posted(world: &World) -> Vec<(String, bool, usize)> {
    let posted = world.status_store.posted();
    let row = |(name, record): (&String, &ClusterRecord)| {
        (name.clone(), record.spec.suspend, record.status.inventory.objects().len())
    };
    posted.clusters.iter().map(row).collect()
}

fn is(name: &str, suspend: bool, objects: usize) -> (String, bool, usize) {
    (name.to_owned(), suspend, objects)
}

#[tokio::test]
async fn what_a_hand_set_goes_with_the_folder() {
    let world = suspended().await;
    rename(&world, "peu01", "moved");
    round(&world).await.unwrap();
    assert_eq!(posted(&world), [is("gauss-moved", true, 3)]);
    assert_eq!(world.live.take_writes(), [""; 0]);
    let spec = world.status_store.posted().clusters["gauss-moved"].spec.clone();
    let wanted = ManagedClusterSpec {
        suspend: true,
        adopt: Some(Adopt::Take),
        create_cluster: Some(CreateClusters::Always),
        ..ManagedClusterSpec::of(&id("gauss/moved"), "fleet")
    };
    assert_eq!(spec, wanted);
    assert_eq!(world.condition("gauss-moved", ConditionType::Ready), "False Suspended");

    // It is asked for as any other: who lets it go on is not overruled.
    ask(&world, "gauss-moved", false);
    round(&world).await.unwrap();
    round(&world).await.unwrap();
    assert_eq!(posted(&world), [is("gauss-moved", false, 4)]);
    assert_eq!(world.live.take_writes(), ["apply ConfigMap org/more-of-moved"]);
}

#[tokio::test]
async fn a_death_between_any_two_writes_loses_neither_suspension_nor_inventory() {
    let mut deaths = 0;
    for writes in 0..12 {
        let world = suspended().await;
        rename(&world, "peu01", "moved");
        world.status_store.posted().dies_after = Some(writes);
        let died = round(&world).await.is_err();
        deaths += usize::from(died);
        assert_eq!(world.live.take_writes(), [""; 0], "after {writes} writes");
        // In every case one ManagedCluster is suspended and lists all objects.
        let knows = |name: &str, objects: usize| posted(&world).contains(&is(name, true, objects));
        assert!(knows("gauss-peu01", 3) || knows("gauss-moved", 3), "{writes}: {:?}", posted(&world));

        // The next process finds the folder where it is, or renamed once more.
        world.status_store.posted().dies_after = None;
        let last = if writes % 2 == 0 { "moved" } else { "moved-again" };
        if last != "moved" {
            rename(&world, "moved", last);
        }
        round(&world).await.unwrap();
        round(&world).await.unwrap();
        assert_eq!(posted(&world), [is(&format!("gauss-{last}"), true, 3)], "after {writes} writes");
        assert_eq!(world.live.take_writes(), [""; 0], "after {writes} writes");
    }
    assert!((4..12).contains(&deaths), "{deaths} deaths: the writes of a move are not what they were");
}

#[tokio::test]
async fn a_folder_that_had_a_managed_cluster_before_is_suspended_too() {
    let world = suspended().await;
    // The renamed folder is unreadable at first, so its ManagedCluster is created before its objects are known.
    world.rename("gauss/peu01/", "gauss/moved/");
    world.write("gauss/moved/base/more.yaml", "kind: [\n");
    round(&world).await.unwrap();
    assert_eq!(posted(&world), [is("gauss-moved", false, 0), is("gauss-peu01", true, 3)]);
    assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "False FolderGone");
    world.remove("gauss/moved/base/more.yaml");
    round(&world).await.unwrap();
    assert_eq!(posted(&world), [is("gauss-moved", true, 3)]);
    assert_eq!(world.condition("gauss-moved", ConditionType::Ready), "False Suspended");
    assert_eq!(world.live.take_writes(), [""; 0]);
}

#[tokio::test]
async fn one_that_was_suspended_before_it_was_ever_applied_is_known_by_its_files() {
    let world = World::new();
    plain(&world, "peu01");
    let key = ClusterKey { namespace: "capstan-system".into(), name: "gauss-peu01".into() };
    let record = ClusterRecord {
        key,
        uid: "uid".into(),
        resource_version: "1".into(),
        generation: 1,
        spec: ManagedClusterSpec { suspend: true, ..ManagedClusterSpec::of(&id("gauss/peu01"), "fleet") },
        status: ManagedClusterStatus::default(),
        reconcile_requested: false,
    };
    world.status_store.posted().clusters.insert("gauss-peu01".into(), record);
    round(&world).await.unwrap();
    world.rename("gauss/peu01/", "gauss/moved/");
    round(&world).await.unwrap();
    assert_eq!(posted(&world), [is("gauss-moved", true, 0)]);
    assert_eq!(world.live.take_writes(), [""; 0]);
}

#[tokio::test]
async fn a_folder_that_takes_a_part_of_a_suspended_cluster_is_suspended_where_it_is_new() {
    let world = suspended().await;
    plain(&world, "peu02");
    round(&world).await.unwrap();
    world.live.take_writes();
    let maps = |names: &[&str]| -> String {
        let map = |name: &&str| {
            format!(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{key: \"1\"}}\n"
            )
        };
        names.iter().map(map).collect()
    };
    // One map goes to a folder that is there, the other to one that is new; the Cluster goes from Git.
    world.remove("gauss/peu01/base/cluster.yaml");
    world.remove("gauss/peu01/base/maps.yaml");
    world.write("gauss/peu02/base/more.yaml", &maps(&["peu01-a"]));
    plain(&world, "peu03");
    world.write("gauss/peu03/base/more.yaml", &maps(&["peu01-b"]));
    round(&world).await.unwrap();
    assert_eq!(
        posted(&world),
        [is("gauss-peu01", true, 1), is("gauss-peu02", false, 4), is("gauss-peu03", true, 1)]
    );
}
