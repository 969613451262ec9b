//! Two `capstan serve` on one PostgreSQL: one is killed at random moments, the network between them and the database
//! is cut. Nothing is lost, nothing is done twice, and what a dead one was at, the other takes over.
//!
//! `CAPSTAN_REPLICA_KILLS` and `CAPSTAN_CUT_SECONDS` make it longer.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use capstan_forge::{Forge, MergeMethod, PullState};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use sqlx::{Connection as _, PgConnection};

use super::kills::{CLUSTERS, Place, Process, is_kept, wait_until_settled};
use super::relay::{Far, Relay, Wire};
use super::sample;
use super::town::{REPOSITORY, SEALING_KEY, forge};
use crate::database::engines::fresh_postgres;
use capstan_test_parts::conformance::assert_conforms;

/// Two places, each with a wire of its own to the one database, behind one address for webhooks.
struct Pair {
    forge: Forge,
    places: [Place; 2],
    wires: [Relay; 2],
    database: String,
    runtime: tokio::runtime::Runtime,
    _balancer: Relay,
}

impl Pair {
    /// `None` where there is no PostgreSQL.
    fn new() -> Option<Self> {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let database = runtime.block_on(fresh_postgres());
        let Some(database) = database else {
            println!("SKIPPED: PostgreSQL is not installed; `apt-get install postgresql` to run this");
            return None;
        };
        let (server, socket) = database.split_once("?host=").unwrap();
        let socket = PathBuf::from(socket).join(".s.PGSQL.5432");
        let wires = [(); 2].map(|()| Relay::to(Far::Socket(socket.clone())));
        let forge = forge();
        let mut places = [(); 2].map(|()| Place::new(&forge));
        for (place, wire) in places.iter_mut().zip(&wires) {
            let url = server.replace("localhost", &wire.address.to_string());
            place.environment.push(("CAPSTAN_DATABASE_URL".to_owned(), url));
            // One key for both, as replicas share it.
            let key = place.state().with_file_name("key");
            std::fs::write(&key, SEALING_KEY).unwrap();
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
            place.environment.push(("CAPSTAN_KEY_FILE".to_owned(), key.display().to_string()));
        }
        let balancer =
            Relay::to(Far::OneOf(places.iter().map(|place| place.listen.parse().unwrap()).collect()));
        forge.deliver_to(&format!("http://{}/github/webhook", balancer.address));
        Some(Self { forge, places, wires, database, runtime, _balancer: balancer })
    }

    /// The fleet, offered its first release by both, which begin at once on an empty database.
    fn begin(&self) -> [Process; 2] {
        let files = sample::repository("upgrade: {proposals: {open: 1000, perHour: 10000}}\n", &CLUSTERS);
        self.forge.commit(REPOSITORY, "main", "ada", "Begin", &files).unwrap();
        self.release("v22.0.0", "v1.22.0");
        let processes = [self.places[0].start(), self.places[1].start()];
        for place in &self.places {
            place.wait_until_serving();
        }
        wait_until_settled(&self.forge, &self.places[0], "v22.0.0", "at first");
        processes
    }

    fn release(&self, name: &str, kubernetes: &str) {
        self.forge
            .commit(REPOSITORY, "main", "ada", "Release", &[sample::release(name, kubernetes)])
            .unwrap();
    }

    fn query(&self, sql: &'static str) -> Vec<String> {
        self.runtime.block_on(async {
            let mut connection = PgConnection::connect(&self.database).await.unwrap();
            sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
        })
    }

    /// A minute passes for what a dead process held.
    fn let_leases_run_out(&self, place: &Place) {
        self.runtime.block_on(async {
            let mut connection = PgConnection::connect(&self.database).await.unwrap();
            let held = "UPDATE jobs SET lease_until_ms = lease_until_ms - 60000
                        WHERE state = 'running' AND worker LIKE '%:' || $1";
            sqlx::query(held)
                .bind(place.state().display().to_string())
                .execute(&mut connection)
                .await
                .unwrap();
        });
    }

    /// Asks GitHub to redeliver what no process accepted: a killed process did not answer.
    fn redeliver(&self) {
        assert!(self.runtime.block_on(self.forge.delivered(Duration::from_secs(60))));
        let all = self.forge.deliveries();
        let taken: BTreeSet<&str> =
            all.iter().filter(|one| one.status_code == 202).map(|one| one.guid.as_str()).collect();
        let lost: BTreeSet<(&str, u64)> = all
            .iter()
            .filter(|one| !taken.contains(one.guid.as_str()))
            .map(|one| (one.guid.as_str(), one.id))
            .collect();
        for (_, id) in lost {
            self.forge.redeliver(id).unwrap();
        }
    }

    /// What was answered with 202 is in the database; nothing was written twice.
    fn nothing_is_lost(&self, pulls: usize, told: &str) {
        assert!(self.runtime.block_on(self.forge.delivered(Duration::from_secs(60))), "{told}");
        let stored: BTreeSet<String> = self.query("SELECT guid FROM deliveries").into_iter().collect();
        for delivery in self.forge.deliveries().iter().filter(|one| is_kept(one)) {
            assert!(
                stored.contains(&delivery.guid),
                "{told}: {} was answered with 202, and is lost",
                delivery.event
            );
        }
        assert_eq!(self.forge.pulls(REPOSITORY).unwrap().len(), pulls, "{told}: never a second pull request");
        for pull in self.forge.pulls(REPOSITORY).unwrap() {
            let checks = self.forge.checks(REPOSITORY, &pull.head).unwrap();
            let own = checks.iter().filter(|check| check.name == "capstan").count();
            assert_eq!(own, 1, "{told}: #{} has {own} checks", pull.number);
        }
    }
}

#[test]
fn one_of_two_replicas_is_killed_repeatedly_and_the_other_continues() {
    let kills: u32 = std::env::var("CAPSTAN_REPLICA_KILLS").ok().map_or(6, |kills| kills.parse().unwrap());
    let seed: u64 = std::env::var("CAPSTAN_SEED")
        .ok()
        .map_or_else(|| rand::rng().next_u64(), |seed| seed.parse().unwrap());
    println!("CAPSTAN_SEED={seed} CAPSTAN_REPLICA_KILLS={kills}");
    let mut random = rand::rngs::StdRng::seed_from_u64(seed);
    let Some(pair) = Pair::new() else { return };
    let mut processes = pair.begin().map(Some);
    let mut expected = CLUSTERS.len();

    for round in 1..=kills {
        if round % 3 == 0 {
            for pull in pair.forge.pulls(REPOSITORY).unwrap() {
                if pull.state == PullState::Open {
                    pair.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
                    expected += 1;
                }
            }
        }
        let release = format!("v22.{round}.0");
        pair.release(&release, &format!("v1.22.{round}"));
        let moment = Duration::from_micros(random.random_range(0..400_000));
        std::thread::sleep(moment);
        let killed = random.random_range(0..2);
        drop(processes[killed].take());
        let told = format!("seed {seed}, round {round}, replica {killed} killed after {moment:?}");
        pair.let_leases_run_out(&pair.places[killed]);
        pair.redeliver();
        // The other does it alone: the dead one comes back only after that.
        wait_until_settled(&pair.forge, &pair.places[1 - killed], &release, &told);
        pair.nothing_is_lost(expected, &told);
        processes[killed] = Some(pair.places[killed].start());
        pair.places[killed].wait_until_serving();
    }
    end(pair, processes);
}

#[test]
fn the_network_to_the_database_is_cut_and_nothing_is_lost() {
    let cut: f64 = std::env::var("CAPSTAN_CUT_SECONDS").ok().map_or(2.0, |cut| cut.parse().unwrap());
    println!("CAPSTAN_CUT_SECONDS={cut}");
    let Some(pair) = Pair::new() else { return };
    let mut processes = pair.begin();
    // For both, for one, without a word, with broken connections.
    let cuts = [
        (vec![0, 1], Wire::Silent),
        (vec![0, 1], Wire::Broken),
        (vec![0], Wire::Silent),
        (vec![1], Wire::Broken),
    ];
    for (round, (cut_off, wire)) in (1..).zip(cuts) {
        let release = format!("v22.{round}.0");
        let told = format!("{cut_off:?} {wire:?}");
        let began = Instant::now();
        cut_off.iter().for_each(|replica| pair.wires[*replica].be(wire));
        pair.release(&release, &format!("v1.22.{round}"));
        while began.elapsed().as_secs_f64() < cut {
            std::thread::sleep(Duration::from_millis(50));
        }
        cut_off.iter().for_each(|replica| pair.wires[*replica].be(Wire::Whole));
        pair.redeliver();
        wait_until_settled(&pair.forge, &pair.places[0], &release, &told);
        pair.nothing_is_lost(CLUSTERS.len(), &told);
        assert!(processes.iter_mut().all(Process::is_alive), "{told}");
    }
    end(pair, processes.map(Some));
}

fn end(pair: Pair, processes: [Option<Process>; 2]) {
    drop(processes);
    let Pair { forge, places, .. } = pair;
    places.into_iter().for_each(Place::done);
    assert_conforms(&forge);
}
