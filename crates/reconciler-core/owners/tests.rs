//! Owners who come and go, and somebody who dies between any two writes.

use std::collections::BTreeSet;

use capstan_live::owners::{BindingWord, OwnersForm};
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::next::{Basis as _, Next};

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn at(days: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH.saturating_add(DAY * i32::try_from(days).unwrap()).unwrap()
}

fn people(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn wanted(names: &[&str]) -> Option<WantedAccess> {
    Some(WantedAccess { form: OwnersForm::Certificate, recipients: people(names), input: names.join(" ") })
}

fn file(generation: u64, names: &[&str]) -> Option<LastOwnersFile> {
    let input = names.join(" ");
    Some(LastOwnersFile {
        generation,
        form: OwnersForm::Certificate,
        input,
        issued_at: at(0),
        expires_at: Some(at(30)),
    })
}

/// Ada and Bob have a file of the third generation.
fn facts() -> OwnersFacts {
    OwnersFacts {
        now: at(1),
        wanted: wanted(&["ada", "bob"]),
        handed: Handed { generation: 3, recipients: people(&["ada", "bob"]) },
        file: file(3, &["ada", "bob"]),
        bound: BindingWord::To(3),
    }
}

#[test]
fn what_comes_next_follows_from_what_is_there() {
    let rows: Vec<(&str, OwnersFacts, Next<OwnersStep, OwnersRest>)> = vec![
        ("all is well", facts(), Next::Rest(OwnersRest::Serves(Some(at(20))))),
        (
            "two thirds of its life are not over",
            OwnersFacts { now: at(19), ..facts() },
            Next::Rest(OwnersRest::Serves(Some(at(20)))),
        ),
        (
            "two thirds of its life are over",
            OwnersFacts { now: at(20), ..facts() },
            Next::Step(OwnersStep::Issue(3)),
        ),
        (
            "somebody came",
            OwnersFacts { wanted: wanted(&["ada", "bob", "eve"]), ..facts() },
            Next::Step(OwnersStep::Issue(3)),
        ),
        (
            "somebody left",
            OwnersFacts { wanted: wanted(&["ada"]), ..facts() },
            Next::Step(OwnersStep::Count(4)),
        ),
        (
            "the old group goes before anything else",
            OwnersFacts {
                wanted: wanted(&["ada"]),
                handed: Handed { generation: 4, recipients: people(&[]) },
                ..facts()
            },
            Next::Step(OwnersStep::Bind(4)),
        ),
        (
            "then those who stay get a new file",
            OwnersFacts {
                wanted: wanted(&["ada"]),
                handed: Handed { generation: 4, recipients: people(&[]) },
                bound: BindingWord::To(4),
                ..facts()
            },
            Next::Step(OwnersStep::Issue(4)),
        ),
        (
            "the first time",
            OwnersFacts { handed: Handed::default(), file: None, bound: BindingWord::Nobody, ..facts() },
            Next::Step(OwnersStep::Count(1)),
        ),
        (
            "somebody changed the binding",
            OwnersFacts { bound: BindingWord::Others, ..facts() },
            Next::Step(OwnersStep::Bind(3)),
        ),
        (
            "somebody took the binding away",
            OwnersFacts { bound: BindingWord::Nobody, ..facts() },
            Next::Step(OwnersStep::Bind(3)),
        ),
        (
            "somebody counted in the cluster itself",
            OwnersFacts { bound: BindingWord::To(9), ..facts() },
            Next::Step(OwnersStep::Count(10)),
        ),
        (
            "nobody counts so far, and Capstan does not count on from there",
            OwnersFacts { bound: BindingWord::To(u64::MAX - 1), ..facts() },
            Next::Step(OwnersStep::Bind(3)),
        ),
        ("the file is gone", OwnersFacts { file: None, ..facts() }, Next::Step(OwnersStep::Issue(3))),
        (
            "nobody remembers who has what",
            OwnersFacts { handed: Handed::default(), file: None, ..facts() },
            Next::Step(OwnersStep::Count(4)),
        ),
        (
            "nobody is an owner any more",
            OwnersFacts { wanted: None, ..facts() },
            Next::Step(OwnersStep::Count(4)),
        ),
        (
            "of nobody no binding is left",
            OwnersFacts {
                wanted: None,
                handed: Handed { generation: 4, recipients: people(&[]) },
                ..facts()
            },
            Next::Step(OwnersStep::Unbind),
        ),
        (
            "and no file",
            OwnersFacts {
                wanted: None,
                handed: Handed { generation: 4, recipients: people(&[]) },
                bound: BindingWord::Nobody,
                ..facts()
            },
            Next::Step(OwnersStep::RemoveFile),
        ),
        (
            "there never was anybody",
            OwnersFacts {
                wanted: None,
                handed: Handed::default(),
                file: None,
                bound: BindingWord::Nobody,
                ..facts()
            },
            Next::Rest(OwnersRest::Nobody),
        ),
        (
            "Cluster API's own key needs no binding",
            OwnersFacts {
                wanted: wanted(&["ada", "bob"]).map(|one| WantedAccess { form: OwnersForm::Admin, ..one }),
                ..facts()
            },
            Next::Step(OwnersStep::Unbind),
        ),
        (
            "and is made of what is there",
            OwnersFacts {
                wanted: wanted(&["ada", "bob"]).map(|one| WantedAccess { form: OwnersForm::Admin, ..one }),
                bound: BindingWord::Nobody,
                ..facts()
            },
            Next::Step(OwnersStep::Make(OwnersForm::Admin, 3)),
        ),
    ];
    for (when, facts, next) in rows {
        assert_eq!(facts.next(), next, "{when}");
    }
}

/// A cluster, what is remembered of it, and who can do anything there.
#[derive(Debug, Default)]
struct Town {
    day: i64,
    owners: Vec<&'static str>,
    handed: Handed,
    file: Option<(LastOwnersFile, BTreeSet<String>)>,
    bound: Option<u64>,
    /// Who has ever had a certificate of which generation.
    had: BTreeSet<(String, u64)>,
    issued: usize,
}

impl Town {
    fn facts(&self) -> OwnersFacts {
        OwnersFacts {
            now: at(self.day),
            wanted: wanted(&self.owners).filter(|_| !self.owners.is_empty()),
            handed: self.handed.clone(),
            file: self.file.as_ref().map(|(file, _)| file.clone()),
            bound: self.bound.map_or(BindingWord::Nobody, BindingWord::To),
        }
    }

    /// Performs steps until there is nothing to do, or until the process dies after this number of writes.
    fn look(&mut self, mut writes: usize) {
        for _ in 0..50 {
            let Next::Step(step) = self.facts().next() else { return };
            if writes == 0 {
                return;
            }
            writes -= 1;
            self.perform(&step);
            if !matches!(step, OwnersStep::Count(_)) {
                self.hold();
            }
        }
        panic!("no end: {self:#?}");
    }

    fn perform(&mut self, step: &OwnersStep) {
        match step {
            OwnersStep::Count(generation) => {
                self.handed = Handed { generation: *generation, ..Handed::default() }
            }
            OwnersStep::Bind(generation) => self.bound = Some(*generation),
            OwnersStep::Unbind => self.bound = None,
            OwnersStep::Issue(generation) => {
                let recipients = people(&self.owners);
                let new = LastOwnersFile {
                    issued_at: at(self.day),
                    expires_at: Some(at(self.day + 30)),
                    ..file(*generation, &self.owners).unwrap()
                };
                self.file = Some((new, recipients.clone()));
                self.had.extend(recipients.iter().map(|name| (name.clone(), *generation)));
                self.handed.recipients.extend(recipients);
                self.issued += 1;
            }
            OwnersStep::Make(..) => panic!("{step:?}"),
            OwnersStep::RemoveFile => self.file = None,
        }
    }

    fn hold(&self) {
        let owners = people(&self.owners);
        for (name, generation) in &self.had {
            let is_in = self.bound == Some(*generation);
            assert!(!is_in || owners.contains(name), "{name} left and can do everything: {self:#?}");
        }
    }
}

#[test]
fn former_owners_have_no_access_whenever_the_process_dies() {
    let lives: [&[&'static str]; 6] =
        [&["ada", "bob"], &["ada"], &["ada", "bob"], &[], &["bob"], &["bob", "eve"]];
    for dies_after in 0..8 {
        let mut town = Town::default();
        for owners in lives {
            town.owners = owners.to_vec();
            town.day += 3;
            town.look(dies_after);
            // The next process comes to the end.
            town.look(50);
            let has = town.file.as_ref().map(|(_, recipients)| recipients.clone()).unwrap_or_default();
            assert_eq!(has, people(owners), "{town:#?}");
            let issued = town.issued;
            town.look(50);
            assert_eq!(town.issued, issued, "nothing is made anew");
        }
        // Bob was an owner twice, and what he had the first time is not worth anything.
        assert!(town.had.iter().filter(|(name, _)| name == "bob").count() >= 3, "{town:#?}");
    }
}
