//! A Keystone, a Secret and its consumers in memory, and somebody who dies between any two writes.

use std::collections::{BTreeMap, BTreeSet};

use capstan_ports::Issued;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::next::{Basis as _, Next};

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// What there is.
#[derive(Debug, Clone, Default)]
struct Town {
    now: Timestamp,
    keystone: BTreeMap<String, HandedOut>,
    /// Who makes credentials now.
    user: String,
    secret: Option<CredentialRecord>,
    consumers: BTreeMap<String, Option<String>>,
    made: u32,
    /// Writes so far, and after which one the process dies.
    writes: u32,
    dies_after: Option<u32>,
    log: Vec<String>,
    /// What the Secret held whenever a pass came to its end.
    remembered: BTreeSet<String>,
    /// What was deleted by others: no step can have kept it.
    taken_away: BTreeSet<String>,
}

struct Dead;

impl Town {
    fn new(dies_after: Option<u32>) -> Self {
        let consumers = BTreeMap::from([("ccm".to_owned(), None), ("csi".to_owned(), None)]);
        let user = "ops".to_owned();
        Self { now: Timestamp::UNIX_EPOCH, dies_after, consumers, user, ..Self::default() }
    }

    fn facts(&self, wish: Wish) -> CredentialFacts {
        CredentialFacts {
            now: self.now,
            wish,
            lifetime: DAY * 30,
            user: self.user.clone(),
            issued: self
                .keystone
                .iter()
                .filter(|(_, one)| one.user == self.user)
                .map(|(id, one)| Issued { id: id.clone(), expires_at: Some(one.expires_at) })
                .collect(),
            written: self.secret.clone(),
            remembered: self.remembered.clone(),
            consumers: self
                .consumers
                .iter()
                .filter(|(_, on)| on.is_some())
                .map(|(what, on)| Consumer { what: what.clone(), on: on.clone() })
                .collect(),
        }
    }

    /// One write, after which he may be dead.
    fn write(&mut self, what: String, wish: Wish) -> Result<(), Dead> {
        self.log.push(what);
        self.writes += 1;
        if wish == Wish::Keep {
            self.hold();
        }
        if self.dies_after == Some(self.writes) { Err(Dead) } else { Ok(()) }
    }

    /// What holds after every write.
    fn hold(&self) {
        let lives = |id: &str| {
            self.taken_away.contains(id) || self.keystone.get(id).is_some_and(|one| self.now < one.expires_at)
        };
        if let Some(secret) = &self.secret {
            assert!(lives(&secret.current), "the Secret names one that is not valid: {self:#?}");
        }
        for id in self.consumers.values().flatten() {
            assert!(lives(id), "somebody works with one that is not valid: {self:#?}");
        }
    }

    fn perform(&mut self, step: CredentialStep, wish: Wish) -> Result<(), Dead> {
        match step {
            CredentialStep::Issue { expires_at, previous } => {
                self.made += 1;
                let id = format!("c{}", self.made);
                let user = self.user.clone();
                self.keystone.insert(id.clone(), HandedOut { user: user.clone(), expires_at });
                self.write(format!("make {id}"), wish)?;
                self.secret = Some(CredentialRecord {
                    current: id.clone(),
                    user,
                    issued_at: self.now,
                    expires_at,
                    previous,
                    state: WrittenState::AsWished,
                });
                self.write(format!("write {id}"), wish)?;
            }
            CredentialStep::Revoke(id) => {
                assert!(self.keystone.remove(&id).is_some(), "{id}");
                self.write(format!("revoke {id}"), wish)?;
            }
            CredentialStep::Forget(previous) => {
                self.secret.as_mut().unwrap().previous = previous;
                self.write("forget".to_owned(), wish)?;
            }
            CredentialStep::RemoveSecret => {
                self.secret = None;
                self.write("remove the Secret".to_owned(), wish)?;
            }
        }
        Ok(())
    }

    /// Performs steps until there is nothing to do; after a death the next process continues.
    fn pass(&mut self, wish: Wish) {
        for _ in 0..50 {
            match self.facts(wish).next() {
                Next::Step(step) => drop(self.perform(step, wish)),
                Next::Rest(_) => {
                    let named = self.secret.iter().flat_map(|one| one.previous.keys().chain([&one.current]));
                    let named: BTreeSet<&String> = named.collect();
                    let own = self.keystone.iter().filter(|(_, one)| one.user == self.user);
                    let orphans: Vec<_> = own.filter(|(id, _)| !named.contains(id)).collect();
                    assert!(orphans.is_empty(), "{orphans:?} {self:#?}");
                    self.remembered = named.into_iter().cloned().collect();
                    return;
                }
            }
        }
        unreachable!("it does not come to rest: {:#?}", self.log);
    }

    /// A consumer takes up what the Secret holds.
    fn takes_up(&mut self, who: &str) {
        let current = self.secret.as_ref().map(|secret| secret.current.clone());
        self.consumers.insert(who.to_owned(), current);
        self.hold();
    }

    /// A whole life: made, taken up, renewed twice, once with a consumer that lags, removed.
    fn live(&mut self) {
        self.pass(Wish::Keep);
        self.takes_up("ccm");
        self.takes_up("csi");
        self.pass(Wish::Keep);
        self.now += DAY * 20;
        self.pass(Wish::Keep);
        self.takes_up("ccm");
        self.pass(Wish::Keep);
        self.takes_up("csi");
        self.pass(Wish::Keep);
        self.now += DAY * 20;
        self.pass(Wish::Keep);
        self.takes_up("csi");
        self.takes_up("ccm");
        self.pass(Wish::Keep);
        assert_eq!(self.keystone.len(), 1, "{self:#?}");
        self.consumers.clear();
        self.pass(Wish::Remove);
        assert!(self.keystone.is_empty() && self.secret.is_none());
    }
}

#[test]
fn a_credential_is_renewed_at_two_thirds_and_the_old_one_goes_once_nobody_works_with_it() {
    let mut town = Town::new(None);
    town.live();
    assert_eq!(
        town.log,
        [
            "make c1",
            "write c1",
            "make c2",
            "write c2",
            "revoke c1",
            "forget",
            "make c3",
            "write c3",
            "revoke c2",
            "forget",
            "revoke c3",
            "remove the Secret",
        ]
    );
}

#[test]
fn nothing_is_renewed_a_day_before_two_thirds() {
    let mut town = Town::new(None);
    town.pass(Wish::Keep);
    town.now += DAY * 19;
    town.pass(Wish::Keep);
    assert_eq!(town.made, 1);
    let Next::Rest(Rest::Wait { until, behind }) = town.facts(Wish::Keep).next() else { unreachable!() };
    assert_eq!((until, behind), (Timestamp::UNIX_EPOCH + DAY * 20, vec![]));
}

#[test]
fn killed_between_any_two_writes_nothing_is_lost_and_nothing_is_left() {
    let mut whole = Town::new(None);
    whole.live();
    for dies_after in 1..=whole.writes {
        let mut town = Town::new(Some(dies_after));
        town.live();
        assert!(town.writes >= whole.writes, "{dies_after}");
    }
}

#[test]
fn a_consumer_that_lags_keeps_the_old_one_until_that_ends() {
    let mut town = Town::new(None);
    town.pass(Wish::Keep);
    town.takes_up("csi");
    town.now += DAY * 20;
    town.pass(Wish::Keep);
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c1", "c2"]);
    let Next::Rest(Rest::Wait { behind, .. }) = town.facts(Wish::Keep).next() else { unreachable!() };
    assert_eq!(behind, ["csi"]);
    // What has ended helps nobody.
    town.consumers.clear();
    town.consumers.insert("csi".to_owned(), None);
    town.now += DAY * 11;
    town.pass(Wish::Keep);
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c2"]);
}

#[test]
fn a_credential_that_was_taken_away_is_created_again() {
    let mut town = Town::new(None);
    town.pass(Wish::Keep);
    town.taken_away = std::mem::take(&mut town.keystone).into_keys().collect();
    town.pass(Wish::Keep);
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c2"]);
    // Without its Secret it is unknown who works with it: the old one stays until the new one is taken up.
    town.takes_up("ccm");
    town.secret = None;
    town.pass(Wish::Keep);
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c2", "c3"]);
    town.takes_up("ccm");
    town.pass(Wish::Keep);
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c3"]);
}

#[test]
fn a_credential_that_no_secret_held_is_deleted_even_with_unknown_consumers() {
    let mut town = Town::new(Some(1));
    // A consumer whose credential is unknown, from the first moment on.
    let unknown = Consumer { what: "ccm".to_owned(), on: None };
    let facts = |town: &Town| CredentialFacts { consumers: vec![unknown.clone()], ..town.facts(Wish::Keep) };
    let Next::Step(step) = facts(&town).next() else { unreachable!() };
    assert!(town.perform(step, Wish::Keep).is_err(), "it dies before it writes the Secret");
    assert_eq!(facts(&town).next(), Next::Step(CredentialStep::Revoke("c1".to_owned())));
}

#[test]
fn a_secret_that_does_not_serve_any_more_gets_another_credential() {
    let mut town = Town::new(None);
    town.pass(Wish::Keep);
    town.takes_up("ccm");
    town.secret.as_mut().unwrap().state = WrittenState::Outdated;
    town.pass(Wish::Keep);
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c1", "c2"], "ccm works with the first one still");
    town.takes_up("ccm");
    town.pass(Wish::Keep);
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c2"]);
}

#[test]
fn the_user_who_makes_them_may_change_and_change_back() {
    let mut town = Town::new(None);
    town.pass(Wish::Keep);
    town.takes_up("ccm");
    town.takes_up("csi");
    town.user = "other".to_owned();
    town.pass(Wish::Keep);
    // What the first user made is there, and worked with: the second one cannot even see it.
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c1", "c2"]);
    town.takes_up("ccm");
    town.pass(Wish::Keep);
    town.user = "ops".to_owned();
    town.pass(Wish::Keep);
    assert_eq!(
        town.keystone.keys().collect::<Vec<_>>(),
        ["c1", "c2", "c3"],
        "csi works with c1, ccm with c2"
    );
    town.takes_up("csi");
    town.takes_up("ccm");
    town.pass(Wish::Keep);
    // c2 is its user's alone: it ends by itself.
    assert_eq!(town.keystone.keys().collect::<Vec<_>>(), ["c2", "c3"]);
    assert!(town.secret.unwrap().previous.is_empty());
}

/// Made on day 0 for 30 days; it is now day `day`.
fn table(day: i32) -> CredentialFacts {
    CredentialFacts {
        now: Timestamp::UNIX_EPOCH + DAY * day,
        wish: Wish::Keep,
        lifetime: DAY * 30,
        user: "ops".to_owned(),
        issued: vec![issued("c1", 30)],
        written: Some(CredentialRecord {
            current: "c1".to_owned(),
            user: "ops".to_owned(),
            issued_at: Timestamp::UNIX_EPOCH,
            expires_at: at(30),
            previous: BTreeMap::new(),
            state: WrittenState::AsWished,
        }),
        remembered: BTreeSet::new(),
        consumers: Vec::new(),
    }
}

fn at(day: i32) -> Timestamp {
    Timestamp::UNIX_EPOCH + DAY * day
}

fn issued(id: &str, day: i32) -> Issued {
    Issued { id: id.to_owned(), expires_at: Some(at(day)) }
}

fn handed(all: &[(&str, &str, i32)]) -> BTreeMap<String, HandedOut> {
    let one = |(id, user, day): &(&str, &str, i32)| {
        ((*id).to_owned(), HandedOut { user: (*user).to_owned(), expires_at: at(*day) })
    };
    all.iter().map(one).collect()
}

fn written(change: impl FnOnce(&mut CredentialRecord)) -> Option<CredentialRecord> {
    let mut written = table(0).written;
    if let Some(written) = &mut written {
        change(written);
    }
    written
}

fn on(what: &str, id: Option<&str>) -> Consumer {
    Consumer { what: what.to_owned(), on: id.map(str::to_owned) }
}

#[test]
fn what_comes_next_of_a_credential_follows_from_what_is_there() {
    let issue = |expires: i32, previous: &[(&str, &str, i32)]| {
        Next::Step(CredentialStep::Issue { expires_at: at(expires), previous: handed(previous) })
    };
    let revoke = |id: &str| Next::Step(CredentialStep::Revoke(id.to_owned()));
    let wait = |behind: &[&str]| {
        let behind = behind.iter().map(|one| (*one).to_owned()).collect();
        Next::Rest(Rest::Wait { until: at(20), behind })
    };
    // c2 is the new one; c1 was before.
    let renewed = |consumers: Vec<Consumer>| CredentialFacts {
        issued: vec![issued("c1", 20), issued("c2", 30)],
        written: written(|one| {
            one.current = "c2".to_owned();
            one.previous = handed(&[("c1", "ops", 20)]);
        }),
        consumers,
        ..table(1)
    };
    let theirs = |change: fn(&mut CredentialRecord)| CredentialFacts { written: written(change), ..table(1) };
    let gone = CredentialFacts { wish: Wish::Remove, ..table(1) };
    let rows: Vec<(&str, CredentialFacts, Next<CredentialStep, Rest>)> = vec![
        ("all is well", table(1), wait(&[])),
        ("the day before two thirds", table(19), wait(&[])),
        ("two thirds are over", table(20), issue(50, &[("c1", "ops", 30)])),
        ("it has ended", table(30), issue(60, &[])),
        ("there is nothing", CredentialFacts { issued: vec![], written: None, ..table(1) }, issue(31, &[])),
        ("no Secret ever held it", CredentialFacts { written: None, ..table(1) }, revoke("c1")),
        (
            "the Secret that held it is gone",
            CredentialFacts { written: None, remembered: BTreeSet::from(["c1".to_owned()]), ..table(1) },
            issue(31, &[("c1", "ops", 30)]),
        ),
        (
            "Secrets held it, and one that nobody wrote down",
            CredentialFacts {
                issued: vec![issued("c1", 30), issued("c9", 30)],
                written: None,
                remembered: BTreeSet::from(["c1".to_owned()]),
                ..table(1)
            },
            revoke("c9"),
        ),
        (
            "somebody died before writing it down",
            CredentialFacts { issued: vec![issued("c1", 30), issued("c9", 30)], ..table(1) },
            revoke("c9"),
        ),
        ("somebody deleted it", CredentialFacts { issued: vec![], ..table(1) }, issue(31, &[])),
        (
            "the Secret was changed",
            theirs(|one| one.state = WrittenState::Outdated),
            issue(31, &[("c1", "ops", 30)]),
        ),
        (
            "another user makes them now",
            CredentialFacts { user: "other".to_owned(), issued: vec![], ..table(1) },
            issue(31, &[("c1", "ops", 30)]),
        ),
        (
            "it never ends",
            CredentialFacts { issued: vec![Issued { expires_at: None, ..issued("c1", 0) }], ..table(1) },
            wait(&[]),
        ),
        ("nobody works with the earlier one", renewed(vec![on("ccm", Some("c2"))]), revoke("c1")),
        ("nobody works with any", renewed(vec![]), revoke("c1")),
        ("somebody works with the earlier one", renewed(vec![on("ccm", Some("c1"))]), wait(&["ccm"])),
        ("nobody can tell", renewed(vec![on("ccm", None)]), wait(&["ccm"])),
        ("one of two lags", renewed(vec![on("ccm", Some("c2")), on("csi", Some("c1"))]), wait(&["csi"])),
        (
            "the earlier one has ended, whoever works with it",
            CredentialFacts { now: at(20), ..renewed(vec![on("csi", Some("c1"))]) },
            issue(50, &[("c2", "ops", 30)]),
        ),
        (
            "the earlier one is gone",
            CredentialFacts { issued: vec![issued("c2", 30)], ..renewed(vec![]) },
            Next::Step(CredentialStep::Forget(BTreeMap::new())),
        ),
        (
            "another user's is named while somebody lags",
            CredentialFacts {
                issued: vec![issued("c2", 30)],
                written: written(|one| {
                    one.current = "c2".to_owned();
                    one.previous = handed(&[("c1", "before", 20)]);
                }),
                consumers: vec![on("ccm", Some("c1"))],
                ..table(1)
            },
            wait(&["ccm"]),
        ),
        (
            "another user's is forgotten once nobody lags",
            CredentialFacts {
                issued: vec![issued("c2", 30)],
                written: written(|one| {
                    one.current = "c2".to_owned();
                    one.previous = handed(&[("c1", "before", 20)]);
                }),
                ..table(1)
            },
            Next::Step(CredentialStep::Forget(BTreeMap::new())),
        ),
        ("the cluster is gone: credentials first", gone.clone(), revoke("c1")),
        (
            "then the Secret",
            CredentialFacts { issued: vec![], ..gone.clone() },
            Next::Step(CredentialStep::RemoveSecret),
        ),
        ("then nothing", CredentialFacts { issued: vec![], written: None, ..gone }, Next::Rest(Rest::Gone)),
    ];
    for (when, facts, expected) in rows {
        assert_eq!(facts.next(), expected, "{when}");
    }
}
