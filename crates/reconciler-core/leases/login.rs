//! What comes next of a login.

use jiff::Timestamp;

use crate::next::{Basis, Next};
use crate::term::two_thirds;

/// How long a login lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginTimes {
    /// When it was made, or renewed last.
    pub since: Timestamp,
    /// When it ends; `None` for one that never does.
    pub expires: Option<Timestamp>,
    /// How long it was given for at first, in seconds.
    pub first_seconds: i64,
    /// Whether Vault renews it.
    pub is_renewable: bool,
}

/// Everything that is decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginFacts {
    pub now: Timestamp,
    /// How long it lives.
    pub times: LoginTimes,
}

/// What is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStep {
    /// It is renewed.
    Renew,
    /// Another one is made, and this one serves no new lease.
    Replace,
}

impl Basis for LoginFacts {
    type Step = LoginStep;
    /// It serves; nothing before then, if ever.
    type Rest = Option<Timestamp>;

    fn next(&self) -> Next<LoginStep, Option<Timestamp>> {
        let Self { now, times } = *self;
        let Some(expires) = times.expires else { return Next::Rest(None) };
        let due = two_thirds(times.since, expires);
        let is_worn = expires.duration_since(times.since).as_secs() * 3 < times.first_seconds;
        match (now < due, times.is_renewable) {
            (true, _) if !is_worn => Next::Rest(Some(due)),
            (false, true) if !is_worn && now < expires => Next::Step(LoginStep::Renew),
            _ => Next::Step(LoginStep::Replace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_login_lives_as_long_as_it_can_be_renewed() {
        let login = |since, expires, is_renewable| LoginTimes {
            since: at(since),
            expires: Some(at(expires)),
            first_seconds: 30,
            is_renewable,
        };
        for (times, now, expected) in [
            (login(0, 30, true), 19, Next::Rest(Some(at(20)))),
            (login(0, 30, true), 20, Next::Step(LoginStep::Renew)),
            (login(0, 30, false), 20, Next::Step(LoginStep::Replace)),
            (login(0, 30, true), 30, Next::Step(LoginStep::Replace)),
            // Renewed for less than a third: it has reached its maximum lifetime.
            (login(60, 69, true), 60, Next::Step(LoginStep::Replace)),
        ] {
            assert_eq!(LoginFacts { now: at(now), times }.next(), expected, "{times:?} at {now}");
        }
        let for_ever = LoginTimes { expires: None, ..login(0, 0, false) };
        assert_eq!(LoginFacts { now: at(1_000_000), times: for_ever }.next(), Next::Rest(None));
    }
}
