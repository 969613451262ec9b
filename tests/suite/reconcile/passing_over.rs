//! A folder that an earlier process died of.

use capstan::app::reconcile::Ended;
use capstan::app::reconcile::resources::ConditionType;

use super::applying::plain;
use super::world::World;

#[tokio::test]
async fn a_folder_that_was_in_hand_at_a_death_is_refused_and_its_neighbour_applied() {
    let world = World::new();
    plain(&world, "peu01");
    plain(&world, "peu02");
    world.revision().await;
    world.quarantine.die_in("gauss/peu02");
    world.restart();

    let revision = world.revision().await;
    assert!(revision.is_tried_again);
    let outcome = world.reconcile_at(&revision, "gauss/peu01").await;
    assert!(matches!(outcome.ended, Ended::Applied), "{:?}", outcome.ended);
    world.live.take_writes();
    let outcome = world.reconcile_at(&revision, "gauss/peu02").await;
    assert!(matches!(outcome.ended, Ended::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.condition("gauss-peu02", ConditionType::Refused), "True PassedOver");
    assert_eq!(
        world.status("gauss-peu02").refused[0].message,
        "the reconciler ended while it read this: it is passed over until all else is applied, and then tried once \
         more"
    );

    // What a neighbour changes does not have it tried again; what it changes itself does.
    world.write("gauss/peu01/base/more.yaml", "# nothing\n");
    assert!(world.revision().await.is_tried_again);
    world.write("gauss/peu02/base/more.yaml", "# nothing\n");
    let outcome = world.reconcile("gauss/peu02").await;
    assert!(matches!(outcome.ended, Ended::Applied), "{:?}", outcome.ended);
}

#[tokio::test]
async fn a_folder_that_is_passed_over_loses_nothing() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    world.remove("gauss/peu01/base/maps.yaml");
    world.revision().await;
    world.quarantine.die_in("gauss/peu01");
    world.restart();
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.status("gauss-peu01").inventory.objects().len(), 3);
}
