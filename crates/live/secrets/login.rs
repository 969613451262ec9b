//! What comes next of a login.

use jiff::Timestamp;

use super::lease::two_thirds;

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

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStep {
    /// It serves; nothing before then, if ever.
    Keep(Option<Timestamp>),
    /// It is renewed.
    Renew,
    /// Another one is made, and this one serves no new lease.
    Replace,
}

/// What comes next, at that time.
pub fn next_login_step(login: &LoginTimes, now: Timestamp) -> LoginStep {
    let Some(expires) = login.expires else { return LoginStep::Keep(None) };
    let due = two_thirds(login.since, expires);
    let is_worn = expires.duration_since(login.since).as_secs() * 3 < login.first_seconds;
    match (now < due, login.is_renewable) {
        (true, _) if !is_worn => LoginStep::Keep(Some(due)),
        (false, true) if !is_worn && now < expires => LoginStep::Renew,
        _ => LoginStep::Replace,
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
        for (login, now, expected) in [
            (login(0, 30, true), 19, LoginStep::Keep(Some(at(20)))),
            (login(0, 30, true), 20, LoginStep::Renew),
            (login(0, 30, false), 20, LoginStep::Replace),
            (login(0, 30, true), 30, LoginStep::Replace),
            // Renewed for less than a third: it has come to the longest that it may live.
            (login(60, 69, true), 60, LoginStep::Replace),
        ] {
            assert_eq!(next_login_step(&login, at(now)), expected, "{login:?} at {now}");
        }
        let for_ever = LoginTimes { expires: None, ..login(0, 0, false) };
        assert_eq!(next_login_step(&for_ever, at(1_000_000)), LoginStep::Keep(None));
    }
}
