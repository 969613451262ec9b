//! The operator and Capstan, each on a management cluster of its own, with the same API server, provider objects and ConfigMaps.

use capstan_test_support::PATIENCE;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use super::differences::{Meant, held, objects};
use super::figures::{Figures, Side, down};
use super::rendering::built;
use super::running::{self, ACCOUNT, Running};
use crate::installing::town::{Row, Town};
use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::reconciler::HOME;
use capstan_test_parts::plane::tail;

/// Starts the operator on a management cluster.
pub(super) fn operate(town: &Town) -> Option<Running> {
    Some(running::operate(&town.plane, &built()?.join("operator")))
}

/// Both.
pub(super) struct Pair {
    pub(super) theirs: Town,
    pub(super) ours: Town,
    operator: Running,
    /// What was not as it is written down.
    strays: Mutex<Vec<String>>,
}

impl Pair {
    /// With these flags of the reconciler; `None`, said aloud, where something was never built.
    pub(super) fn start(flags: &[&str]) -> Option<Self> {
        built()?;
        let (theirs, ours) = (Town::build()?, Town::build_with(flags)?);
        let operator = operate(&theirs)?;
        ours.reconciler.start();
        Some(Self { theirs, ours, operator, strays: Mutex::default() })
    }

    pub(super) fn each(&self, act: impl Fn(&Town)) {
        act(&self.theirs);
        act(&self.ours);
    }

    /// Waits until something holds on both.
    pub(super) fn wait(&self, otherwise: &str, holds: impl Fn(&Town) -> bool) {
        self.ours.wait(&format!("with Capstan: {otherwise}"), || holds(&self.ours));
        let begun = Instant::now();
        while !holds(&self.theirs) {
            let stands = self.theirs.statuses();
            assert!(
                begun.elapsed() < PATIENCE,
                "with the operator: {otherwise}:\n{stands}\n{}",
                self.operator.log()
            );
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Waits until all of them are ready at their versions and both sides have stopped writing.
    pub(super) fn wait_for(&self, wanted: &[(Row, &str)]) {
        self.wait("the providers are not ready", |town| {
            wanted.iter().all(|(row, version)| town.is_ready(*row, version))
        });
        self.settle();
    }

    /// Waits until neither of them has written anything for a while.
    pub(super) fn settle(&self) {
        self.ours.settle();
        let (mut known, mut quiet) = (self.written_by_operator().len(), Instant::now());
        while quiet.elapsed() < Duration::from_secs(4) {
            std::thread::sleep(Duration::from_secs(2));
            let now = self.written_by_operator().len();
            if now != known {
                (known, quiet) = (now, Instant::now());
            }
        }
    }

    /// What it cost both since then.
    pub(super) fn print_figures(&self, what: &str, since: Timestamp) {
        let sides = [
            ("the operator", &self.theirs, ACCOUNT, self.operator.peak_memory()),
            ("Capstan", &self.ours, (HOME, "capstan-providers"), self.ours.reconciler.peak_memory()),
        ];
        for (who, town, account, peak) in sides {
            let mut requests = town.plane.audit();
            requests.retain(|one| one.is_by(account.0, account.1));
            let side = Side { requests, peak };
            Figures::of(&side, since).print(&format!("{what}, {who}"));
            let (times, most) = down(&side.requests, since);
            if !times.is_empty() {
                let times: Vec<String> =
                    times.iter().map(|(who, time)| format!("{who} {:.1} s", time.as_secs_f64())).collect();
                println!("  down with {who}: {}; {most} at once at most", times.join(", "));
            }
        }
    }

    pub(super) fn written_by_operator(&self) -> Vec<Request> {
        let all = self.theirs.plane.audit().into_iter();
        all.filter(|one| one.is_by(ACCOUNT.0, ACCOUNT.1) && one.is_write()).collect()
    }

    /// Compares both management clusters. Unintended differences are collected and reported at the end of the test.
    pub(super) fn compare(&self, what: &str, namespaces: &[&str], meant: &[&[Meant]]) {
        let (theirs, ours) = (objects(&self.theirs, namespaces), objects(&self.ours, namespaces));
        if let Err(strays) = held(what, &theirs, &ours, meant) {
            println!("{strays}");
            self.strays.lock().unwrap().push(strays);
        }
    }

    /// Everything that was compared was alike.
    pub(super) fn end(self) {
        let strays = self.strays.into_inner().unwrap();
        assert!(strays.is_empty(), "{}", strays.join("\n\n"));
    }

    /// Reason and message of `PreflightCheckPassed`, where it is False: the operator's, and Capstan's.
    pub(super) fn refusal(&self, row: Row) -> [(String, String); 2] {
        self.wait(&format!("nothing is said of {} {}/{}", row.kind, row.namespace, row.name), |town| {
            refused(town, row).is_some()
        });
        [&self.theirs, &self.ours].map(|town| refused(town, row).unwrap())
    }
}

fn refused(town: &Town, row: Row) -> Option<(String, String)> {
    let field = |field: &str| {
        town.field(row, &format!(".status.conditions[?(@.type==\"PreflightCheckPassed\")].{field}"))
    };
    (field("status") == "False").then(|| (field("reason"), field("message")))
}

/// What the operator said last.
pub(super) fn log(running: &Running) -> String {
    tail(&running.log(), 20)
}

/// A list of objects, as kubectl prints it.
pub(super) fn items(town: &Town, arguments: &[&str]) -> Vec<Value> {
    let text = town.plane.kubectl(&[&["get", "-o", "json"], arguments].concat());
    serde_json::from_str::<Value>(&text).unwrap()["items"].as_array().unwrap().clone()
}
