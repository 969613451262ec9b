//! What comes next of a lease.

use jiff::{SignedDuration, Timestamp};

/// A lease as it is remembered: no value of what it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Vault's id.
    pub id: String,
    /// The accessor of the login that it hangs on.
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

impl Lease {
    /// When two thirds of its time are over.
    pub fn due(&self) -> Timestamp {
        two_thirds(self.since, self.expires)
    }
}

/// When two thirds of a time are over.
pub(super) fn two_thirds(since: Timestamp, end: Timestamp) -> Timestamp {
    let seconds = end.duration_since(since).as_secs();
    since.saturating_add(SignedDuration::from_secs(seconds * 2 / 3)).unwrap_or(end)
}

/// What is known of a lease besides itself.
#[derive(Debug, Clone, Copy)]
pub struct LeaseFacts<'a> {
    /// Of what is asked with now.
    pub request: &'a str,
    /// The accessor of the login with which one would be asked for; `None` where there is none yet.
    pub login: Option<&'a str>,
    /// What the Secret holds.
    pub content: Content,
}

/// What the Secret of a lease holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// What the lease gave.
    AsWritten,
    /// Something else, or it is gone: nobody is told a second time what a lease gave.
    Lost,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStep {
    /// Nothing before then.
    Keep(Timestamp),
    /// It is renewed.
    Renew,
    /// Another one is taken.
    Take(Superseded),
}

/// What becomes of the earlier lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superseded {
    /// There is none.
    None,
    /// It ends by itself: whoever works with it has a third of its time to take up the new one.
    RunsOut,
    /// Nobody can work with it: what it gave is lost.
    Revoke,
    /// It ends once the other one stands, which is another thing: until then it serves.
    Replaced,
}

/// What comes next, at that time.
pub fn next_lease_step(lease: Option<&Lease>, facts: &LeaseFacts<'_>, now: Timestamp) -> LeaseStep {
    let Some(lease) = lease.filter(|lease| now < lease.expires) else {
        return LeaseStep::Take(Superseded::None);
    };
    if lease.request != facts.request {
        return LeaseStep::Take(Superseded::Replaced);
    }
    // Its login ends; it goes along as soon as nobody hangs on that any more.
    if facts.login.is_none_or(|login| login != lease.login) {
        return LeaseStep::Take(Superseded::RunsOut);
    }
    if facts.content == Content::Lost {
        return LeaseStep::Take(Superseded::Revoke);
    }
    let left = lease.expires.duration_since(lease.since).as_secs();
    // What is renewed for less than a third of its first time has come to the longest that it may live.
    let is_worn = left * 3 < lease.first_seconds;
    match (now < lease.due(), lease.is_renewable) {
        (true, _) if !is_worn => LeaseStep::Keep(lease.due()),
        (false, true) if !is_worn => LeaseStep::Renew,
        _ => LeaseStep::Take(Superseded::RunsOut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Given at 0 for 120 s, and renewed last at `since` to end at `expires`.
    fn lease(since: i64, expires: i64, is_renewable: bool) -> Lease {
        Lease {
            id: "database/creds/capi/1".to_owned(),
            login: "accessor".to_owned(),
            since: at(since),
            expires: at(expires),
            first_seconds: 120,
            is_renewable,
            request: "r".to_owned(),
        }
    }

    const FACTS: LeaseFacts<'_> =
        LeaseFacts { request: "r", login: Some("accessor"), content: Content::AsWritten };

    #[test]
    fn a_lease_is_renewed_or_taken_anew_from_two_thirds_of_its_time() {
        for (now, renewable, expected) in [
            (0, true, LeaseStep::Keep(at(80))),
            (79, true, LeaseStep::Keep(at(80))),
            (80, true, LeaseStep::Renew),
            (80, false, LeaseStep::Take(Superseded::RunsOut)),
            (119, true, LeaseStep::Renew),
            (120, true, LeaseStep::Take(Superseded::None)),
        ] {
            let step = next_lease_step(Some(&lease(0, 120, renewable)), &FACTS, at(now));
            assert_eq!(step, expected, "{now} {renewable}");
        }
        assert_eq!(next_lease_step(None, &FACTS, at(0)), LeaseStep::Take(Superseded::None));
    }

    #[test]
    fn one_that_is_renewed_for_little_has_come_to_its_end() {
        let step = |since, expires, now| next_lease_step(Some(&lease(since, expires, true)), &FACTS, at(now));
        assert_eq!(step(400, 440, 400), LeaseStep::Keep(at(426)));
        assert_eq!(step(400, 439, 400), LeaseStep::Take(Superseded::RunsOut));
    }

    #[test]
    fn what_was_asked_for_and_what_is_there_make_it_another_lease() {
        let lease = lease(0, 120, true);
        let step = |facts: LeaseFacts<'_>| next_lease_step(Some(&lease), &facts, at(10));
        assert_eq!(step(LeaseFacts { request: "other", ..FACTS }), LeaseStep::Take(Superseded::Replaced));
        let of_another_store = LeaseFacts { request: "other", login: Some("theirs"), ..FACTS };
        assert_eq!(step(of_another_store), LeaseStep::Take(Superseded::Replaced));
        assert_eq!(step(LeaseFacts { content: Content::Lost, ..FACTS }), LeaseStep::Take(Superseded::Revoke));
        assert_eq!(step(LeaseFacts { login: Some("next"), ..FACTS }), LeaseStep::Take(Superseded::RunsOut));
    }
}
