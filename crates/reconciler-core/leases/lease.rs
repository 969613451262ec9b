//! What comes next of a lease.

use jiff::Timestamp;

use crate::next::{Basis, Next};
use crate::term::two_thirds;

/// A lease as it is remembered: no value of what it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedLease {
    /// Vault's id.
    pub id: String,
    /// The accessor of its login.
    pub login: String,
    /// When it was given, or renewed last.
    pub since: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// How long it was given for at first, in seconds.
    pub first_seconds: i64,
    /// Whether Vault renews it.
    pub is_renewable: bool,
    /// Of what was asked with: another one is another lease.
    pub request: String,
}

impl RememberedLease {
    /// When two thirds of its time are over.
    pub fn due(&self) -> Timestamp {
        two_thirds(self.since, self.expires)
    }
}

/// Everything that is decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseDecisionFacts {
    pub now: Timestamp,
    /// The VaultStore that is asked.
    pub store: String,
    /// Of what is asked with now.
    pub request: String,
    /// What is there.
    pub look: LeaseLook,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseLook {
    /// One was about to be asked for, and may have been given without a record. Nothing else was looked up.
    Asked(PendingLease),
    /// No unrecorded lease can exist.
    Standing(LeaseFacts),
}

/// A lease that was about to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingLease {
    /// The accessor of the login that it was to be asked for with, where that was written down.
    pub login: Option<String>,
    /// The VaultStore that was to be asked, where that was written down.
    pub store: Option<String>,
}

/// What is known of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseFacts {
    /// The lease; `None` where there is none.
    pub lease: Option<RememberedLease>,
    /// The accessor of the login with which one would be asked for.
    pub login: String,
    /// What the Secret holds.
    pub content: LeaseSecret,
    /// Whether Vault was asked, in this look, that it knows the lease, or gave it.
    pub is_looked_up: bool,
}

/// What the Secret of a lease holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseSecret {
    /// What the lease gave.
    AsWritten,
    /// Something else, or it is gone: Vault does not give the content of a lease again.
    Lost,
}

/// What is done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseStep {
    /// What was about to be asked for is another store's matter: it is ended there.
    SetAsideAsked,
    /// What was about to be asked for ends with this login: that serves no more.
    Retire(String),
    /// Vault is asked whether it knows the lease still.
    LookUp(RememberedLease),
    /// It is renewed.
    Renew(RememberedLease),
    /// It is ended: nobody can work with it, because what it gave is lost.
    Revoke(RememberedLease),
    /// Another one is taken.
    Take(Superseded),
}

/// Nothing is to be done before then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRest {
    /// When the lease is due.
    pub until: Timestamp,
}

/// What becomes of the earlier lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superseded {
    /// There is none.
    None,
    /// It ends by itself: those who work with it have a third of its time to take up the new one.
    RunsOut,
    /// The new one is for something else: until that is written, this one serves, and then it is ended.
    Replaced,
}

impl Basis for LeaseDecisionFacts {
    type Step = LeaseStep;
    type Rest = LeaseRest;

    fn next(&self) -> Next<LeaseStep, LeaseRest> {
        match &self.look {
            LeaseLook::Asked(PendingLease { store: Some(of), .. }) if *of != self.store => {
                Next::Step(LeaseStep::SetAsideAsked)
            }
            LeaseLook::Asked(PendingLease { login: Some(login), .. }) => {
                Next::Step(LeaseStep::Retire(login.clone()))
            }
            // It was never said with which login: so it was never asked for.
            LeaseLook::Asked(PendingLease { login: None, .. }) => Next::Step(LeaseStep::SetAsideAsked),
            LeaseLook::Standing(standing) => self.of_lease(standing),
        }
    }
}

impl LeaseDecisionFacts {
    fn of_lease(&self, standing: &LeaseFacts) -> Next<LeaseStep, LeaseRest> {
        let now = self.now;
        let Some(lease) = standing.lease.as_ref().filter(|lease| now < lease.expires) else {
            return Next::Step(LeaseStep::Take(Superseded::None));
        };
        if lease.request != self.request {
            return Next::Step(LeaseStep::Take(Superseded::Replaced));
        }
        // Its login has retired and ends once it has no lease left: the lease ends with it.
        if standing.login != lease.login {
            return Next::Step(LeaseStep::Take(Superseded::RunsOut));
        }
        if standing.content == LeaseSecret::Lost {
            return Next::Step(LeaseStep::Revoke(lease.clone()));
        }
        let left = lease.expires.duration_since(lease.since).as_secs();
        // A lease that was renewed for less than a third of its first time has reached its maximum lifetime.
        let is_worn = left * 3 < lease.first_seconds;
        match (now < lease.due(), lease.is_renewable) {
            (true, _) if !is_worn && !standing.is_looked_up => Next::Step(LeaseStep::LookUp(lease.clone())),
            (true, _) if !is_worn => Next::Rest(LeaseRest { until: lease.due() }),
            (false, true) if !is_worn => Next::Step(LeaseStep::Renew(lease.clone())),
            _ => Next::Step(LeaseStep::Take(Superseded::RunsOut)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Given at 0 for 120 s, and renewed last at `since` to end at `expires`.
    fn lease(since: i64, expires: i64, is_renewable: bool) -> RememberedLease {
        RememberedLease {
            id: "database/creds/capi/1".to_owned(),
            login: "accessor".to_owned(),
            since: at(since),
            expires: at(expires),
            first_seconds: 120,
            is_renewable,
            request: "r".to_owned(),
        }
    }

    /// Looked up, and whole.
    fn standing(lease: RememberedLease) -> LeaseFacts {
        LeaseFacts {
            lease: Some(lease),
            login: "accessor".to_owned(),
            content: LeaseSecret::AsWritten,
            is_looked_up: true,
        }
    }

    fn facts(now: i64, look: LeaseLook) -> LeaseDecisionFacts {
        LeaseDecisionFacts { now: at(now), store: "corp".to_owned(), request: "r".to_owned(), look }
    }

    fn next(now: i64, standing: LeaseFacts) -> Next<LeaseStep, LeaseRest> {
        facts(now, LeaseLook::Standing(standing)).next()
    }

    fn rests(until: i64) -> Next<LeaseStep, LeaseRest> {
        Next::Rest(LeaseRest { until: at(until) })
    }

    fn takes(superseded: Superseded) -> Next<LeaseStep, LeaseRest> {
        Next::Step(LeaseStep::Take(superseded))
    }

    #[test]
    fn a_lease_is_renewed_or_replaced_from_two_thirds_of_its_time() {
        for (now, renewable, expected) in [
            (0, true, rests(80)),
            (79, true, rests(80)),
            (79, false, rests(80)),
            (80, true, Next::Step(LeaseStep::Renew(lease(0, 120, true)))),
            (80, false, takes(Superseded::RunsOut)),
            (119, true, Next::Step(LeaseStep::Renew(lease(0, 120, true)))),
            (119, false, takes(Superseded::RunsOut)),
            (120, true, takes(Superseded::None)),
            (121, false, takes(Superseded::None)),
        ] {
            assert_eq!(next(now, standing(lease(0, 120, renewable))), expected, "{now} {renewable}");
        }
        assert_eq!(
            next(0, LeaseFacts { lease: None, ..standing(lease(0, 1, true)) }),
            takes(Superseded::None)
        );
    }

    #[test]
    fn a_lease_that_is_renewed_for_little_time_is_replaced() {
        for (since, expires, now, expected) in [
            (400, 440, 400, rests(426)),
            (400, 439, 400, takes(Superseded::RunsOut)),
            (400, 439, 430, takes(Superseded::RunsOut)),
            (400, 520, 400, rests(480)),
        ] {
            assert_eq!(next(now, standing(lease(since, expires, true))), expected, "{since} to {expires}");
        }
    }

    #[test]
    fn what_was_asked_for_and_what_is_there_make_it_another_lease() {
        let known = || standing(lease(0, 120, true));
        let other =
            LeaseDecisionFacts { request: "other".to_owned(), ..facts(10, LeaseLook::Standing(known())) };
        assert_eq!(other.next(), takes(Superseded::Replaced));
        let theirs = LeaseFacts { login: "theirs".to_owned(), ..known() };
        let other = LeaseDecisionFacts {
            request: "other".to_owned(),
            ..facts(10, LeaseLook::Standing(theirs.clone()))
        };
        assert_eq!(other.next(), takes(Superseded::Replaced), "of another store");
        assert_eq!(next(10, theirs), takes(Superseded::RunsOut), "its login retires");
        let lost = LeaseFacts { content: LeaseSecret::Lost, ..known() };
        assert_eq!(next(10, lost.clone()), Next::Step(LeaseStep::Revoke(lease(0, 120, true))));
        let lost = LeaseFacts { login: "theirs".to_owned(), ..lost };
        assert_eq!(next(10, lost), takes(Superseded::RunsOut), "its login retires, and takes it along");
    }

    #[test]
    fn vault_is_asked_once_whether_it_knows_a_lease_that_is_kept() {
        let unknown = |lease: RememberedLease| LeaseFacts { is_looked_up: false, ..standing(lease) };
        for (now, known, expected) in [
            (10, unknown(lease(0, 120, true)), Next::Step(LeaseStep::LookUp(lease(0, 120, true)))),
            (10, standing(lease(0, 120, true)), rests(80)),
            // A lease that is renewed or replaced needs no lookup.
            (80, unknown(lease(0, 120, true)), Next::Step(LeaseStep::Renew(lease(0, 120, true)))),
            (80, unknown(lease(0, 120, false)), takes(Superseded::RunsOut)),
            (120, unknown(lease(0, 120, true)), takes(Superseded::None)),
        ] {
            assert_eq!(next(now, known), expected, "{now}");
        }
    }

    #[test]
    fn what_may_have_been_given_ends_before_anything_else() {
        let asked = |login: Option<&str>, store: Option<&str>| {
            let asked = PendingLease { login: login.map(str::to_owned), store: store.map(str::to_owned) };
            facts(10, LeaseLook::Asked(asked)).next()
        };
        for (login, store, expected, why) in [
            (Some("a1"), Some("corp"), LeaseStep::Retire("a1".to_owned()), "of this store"),
            (Some("a1"), None, LeaseStep::Retire("a1".to_owned()), "an earlier version named no store"),
            (Some("a1"), Some("other"), LeaseStep::SetAsideAsked, "it ends there"),
            (None, Some("other"), LeaseStep::SetAsideAsked, "nothing was asked for"),
            (None, Some("corp"), LeaseStep::SetAsideAsked, "nothing was asked for"),
        ] {
            assert_eq!(asked(login, store), Next::Step(expected), "{why}");
        }
    }
}
