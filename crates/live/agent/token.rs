//! The claims of an agent's token, and when they are believed.
//!
//! A token is a JSON Web Token signed with the agent's own key (EdDSA), made for one request: its `jti` is
//! accepted once. Whether the signature is good is the caller's affair; nothing here is secret.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::identity::AgentId;
use super::limits::{CLOCK_SECONDS, TOKEN_SECONDS};

/// What a token says. Times are seconds since 1970 in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The agent.
    pub iss: String,
    /// The bot that it is meant for.
    pub aud: String,
    /// When it was made.
    pub iat: i64,
    /// When it ends.
    pub exp: i64,
    /// Its own id; accepted once.
    pub jti: String,
}

impl Claims {
    /// The claims of a token that begins now.
    pub fn new(agent: &AgentId, audience: &str, jti: String, now: Timestamp) -> Self {
        let now = now.as_second();
        Self { iss: agent.to_string(), aud: audience.to_owned(), iat: now, exp: now + 60, jti }
    }

    /// Until when its `jti` has to be remembered.
    pub fn remembered_until(&self) -> Timestamp {
        Timestamp::from_second(self.exp.saturating_add(CLOCK_SECONDS)).unwrap_or(Timestamp::MAX)
    }
}

/// Why a token is not believed. For the log: the client gets the same sentence for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// It names another agent than the one whose key it was checked with.
    #[error("its issuer is not the agent")]
    Issuer,
    /// It was made for another bot.
    #[error("it is for another bot")]
    Audience,
    /// It is over.
    #[error("it has expired")]
    Expired,
    /// It was made in the future.
    #[error("it was made in the future: is the agent's clock right?")]
    Future,
    /// It lives longer than tokens may.
    #[error("it lives longer than {TOKEN_SECONDS} s")]
    LivesTooLong,
    /// Its id is missing or malformed.
    #[error("its jti is missing or invalid")]
    Id,
}

/// Whether the claims of a token whose signature is good hold.
///
/// # Errors
/// The first thing that is wrong.
pub fn judge_claims(
    claims: &Claims,
    agent: &AgentId,
    audience: &str,
    now: Timestamp,
) -> Result<(), TokenRefusal> {
    let now = now.as_second();
    let id = &claims.jti;
    if claims.iss != agent.as_str() {
        Err(TokenRefusal::Issuer)
    } else if claims.aud != audience {
        Err(TokenRefusal::Audience)
    } else if claims.exp.saturating_add(CLOCK_SECONDS) <= now {
        Err(TokenRefusal::Expired)
    } else if claims.iat > now.saturating_add(CLOCK_SECONDS) {
        Err(TokenRefusal::Future)
    } else if claims.exp.saturating_sub(claims.iat) > TOKEN_SECONDS || claims.exp < claims.iat {
        Err(TokenRefusal::LivesTooLong)
    } else if !(16..=64).contains(&id.len()) || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        Err(TokenRefusal::Id)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_believed_within_their_time_and_for_their_bot_alone() {
        let agent = AgentId::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        let now = Timestamp::from_second(1_000_000).unwrap();
        let good = Claims::new(&agent, "bot", "01ARZ3NDEKTSV4RRFFQ69G5FAW".to_owned(), now);
        let with = |change: fn(&mut Claims)| {
            let mut claims = good.clone();
            change(&mut claims);
            judge_claims(&claims, &agent, "bot", now)
        };
        assert_eq!(with(|_| {}), Ok(()));
        assert_eq!(with(|c| c.iss = "01ARZ3NDEKTSV4RRFFQ69G5FAX".to_owned()), Err(TokenRefusal::Issuer));
        assert_eq!(with(|c| c.aud = "other".to_owned()), Err(TokenRefusal::Audience));
        assert_eq!(with(|c| (c.iat, c.exp) = (999_800, 999_940)), Err(TokenRefusal::Expired));
        assert_eq!(with(|c| (c.iat, c.exp) = (999_800, 999_941)), Ok(()), "clocks may differ by a minute");
        assert_eq!(with(|c| (c.iat, c.exp) = (1_000_061, 1_000_100)), Err(TokenRefusal::Future));
        assert_eq!(with(|c| c.exp = c.iat + 301), Err(TokenRefusal::LivesTooLong));
        assert_eq!(with(|c| c.exp = i64::MAX), Err(TokenRefusal::LivesTooLong));
        assert_eq!(with(|c| (c.iat, c.exp) = (i64::MIN, 1_000_001)), Err(TokenRefusal::LivesTooLong));
        assert_eq!(with(|c| c.jti = String::new()), Err(TokenRefusal::Id));
        assert_eq!(with(|c| c.jti = "x".repeat(65)), Err(TokenRefusal::Id));
        assert_eq!(good.remembered_until().as_second(), 1_000_120);
    }
}
