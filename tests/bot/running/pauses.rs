//! What takes too long to plan or to judge is begun again after a pause, by itself.

use std::sync::{Arc, Mutex};

use capstan_bot::sync::{Ports, Synced, sync_and_consumers};
use capstan_fleet::planner::{JudgedBy, OpenFailed, OpenFleet, Planner, PlannerFailed};
use capstan_model::source::SourceKind;
use capstan_model::tree::Tree;
use capstan_plan::proposal::Scope;
use capstan_plan::settings::RepositorySettings;
use capstan_ports::{CheckConclusion, Hints};
use capstan_report::JudgedCluster;
use jiff::Timestamp;
use jiff::civil::Date;

use super::memory::{World, repository, toy::Toy};

/// Judges nothing before a pause is over; counts how often it was asked.
#[derive(Default)]
struct Slow {
    asked: Mutex<usize>,
    until: Mutex<Option<Timestamp>>,
    pauses: Mutex<Vec<Timestamp>>,
}

impl Planner for Slow {
    fn kinds(&self) -> Vec<SourceKind> {
        Toy.kinds()
    }

    fn pauses(&self) -> Vec<Timestamp> {
        self.pauses.lock().unwrap().clone()
    }

    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        Toy.open(tree, today)
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        by: JudgedBy<'_>,
    ) -> Result<Vec<JudgedCluster>, PlannerFailed> {
        *self.asked.lock().unwrap() += 1;
        match *self.until.lock().unwrap() {
            Some(until) => {
                self.pauses.lock().unwrap().push(until);
                Err(PlannerFailed::Exceeded(format!("It is not begun again before {until}.")))
            }
            None => Toy.judge(before, after, by),
        }
    }

    fn scopes(
        &self,
        tree: Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<Scope>, PlannerFailed> {
        Toy.scopes(tree, settings)
    }
}

/// A job of its own: when it wants to look again.
async fn look(world: &World, slow: &Arc<Slow>) -> Option<Timestamp> {
    slow.pauses.lock().unwrap().clear();
    let planner = Arc::clone(slow) as Arc<dyn Planner>;
    let ports = Ports { planner, ..world.ports() };
    let (synced, afterwards) = sync_and_consumers(&ports, &repository(), &Hints::default()).await.unwrap();
    assert!(matches!(synced, Synced::Done), "{synced:?}");
    afterwards.look_again
}

#[tokio::test]
async fn a_check_that_took_too_long_is_repeated_after_its_pause() {
    let world = World::new(&[
        (".capstan.yaml", "mode: observe\ndashboard: {enabled: false}\n"),
        ("releases/v1/base/v", "one\n"),
        ("c/a/base/v", "one\n"),
        ("c/a/capstan.yaml", "release: releases/v1\n"),
    ]);
    let mine = world.open_pull("mine", &[("c/a/base/v", Some("one\nmine\n"))]);
    let slow = Arc::new(Slow::default());
    let at = |after: i64| Timestamp::from_second(1_800_000_000 + after).unwrap();
    let asked = || *slow.asked.lock().unwrap();
    let concluded = || world.check_on(mine).unwrap().conclusion;

    *slow.until.lock().unwrap() = Some(at(600));
    assert_eq!(look(&world, &slow).await, Some(at(600)));
    assert_eq!(concluded(), Some(CheckConclusion::ActionRequired));
    // Something else makes the bot look meanwhile, and nobody forgets the time.
    world.state().now += 599;
    assert_eq!(look(&world, &slow).await, Some(at(600)));
    // Then it is begun, and takes too long again.
    world.state().now += 1;
    *slow.until.lock().unwrap() = Some(at(4_200));
    assert_eq!(look(&world, &slow).await, Some(at(4_200)));
    assert_eq!(concluded(), Some(CheckConclusion::ActionRequired));
    let said = world.check_on(mine).unwrap().summary.replace('\u{200b}', "");
    assert!(said.contains(&at(4_200).to_string()), "{said}");
    // And now it does not.
    world.state().now += 3_600;
    *slow.until.lock().unwrap() = None;
    assert_eq!(look(&world, &slow).await, None);
    assert_eq!(concluded(), Some(CheckConclusion::Success));
    let in_all = asked();
    assert_eq!(look(&world, &slow).await, None);
    assert_eq!(asked(), in_all);
}
