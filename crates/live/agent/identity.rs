//! Ids, join codes and public keys.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use capstan_model::digest::sha256;

/// Text that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a valid {0}")]
pub struct Malformed(pub &'static str);

macro_rules! ulid {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Reads an ULID: 26 digits and capitals, the first at most `7`.
            ///
            /// # Errors
            /// It is not one.
            pub fn parse(text: &str) -> Result<Self, Malformed> {
                let digits = text.bytes().all(|b| {
                    b.is_ascii_digit() || (b.is_ascii_uppercase() && !matches!(b, b'I' | b'L' | b'O' | b'U'))
                });
                if text.len() == 26 && digits && text.as_bytes()[0] <= b'7' {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(Malformed($what))
                }
            }

            /// As it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Malformed;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

ulid!(
    /// Id of an enrolled agent.
    AgentId,
    "id of an agent"
);
ulid!(
    /// Id of a preflight that the bot asked for.
    PreflightId,
    "id of a preflight"
);
ulid!(
    /// Id of a report. The ids of one agent grow: they say which report is newer.
    ReportId,
    "id of a report"
);

/// How far ahead the clock of a reconciler may be in the ids that it gives its reports.
const AHEAD_MS: u64 = 5 * 60 * 1000;

/// Whether the id of a report was given at a time that has not come: whatever is reported afterwards would
/// seem older, for ever.
pub fn is_of_the_future(id: &ReportId, now: Timestamp) -> bool {
    let now_ms = u64::try_from(now.as_millisecond()).unwrap_or(0);
    id.made_at_ms() > now_ms.saturating_add(AHEAD_MS)
}

impl ReportId {
    /// When it was given, by the reporter's clock: an ULID begins with that.
    fn made_at_ms(&self) -> u64 {
        const DIGITS: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let value = |digit: &u8| DIGITS.iter().position(|known| known == digit).unwrap_or_default() as u64;
        self.0.as_bytes().iter().take(10).fold(0, |ms, digit| ms << 5 | value(digit))
    }
}

/// An Ed25519 public key: 32 bytes, written as base64url without padding.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// From the key's bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads base64url.
    ///
    /// # Errors
    /// Where it is not that of 32 bytes.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        const WHAT: Malformed = Malformed("Ed25519 public key (32 bytes in base64url)");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| WHAT)?;
        bytes.try_into().map(Self).map_err(|_| WHAT)
    }

    /// The key's bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The bot with this key, as its agents' tokens name it: the same for ever, whatever its URL is.
    pub fn audience(&self) -> String {
        format!("capstan-bot:{}", &sha256(self.0)[..32])
    }

    /// A few letters by which people tell keys apart.
    pub fn fingerprint(&self) -> String {
        sha256(self.0)[..16].to_owned()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl TryFrom<String> for PublicKey {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

/// What a join code begins with, so that scanners for secrets know it.
const JOIN_PREFIX: &str = "capstan-join-";
/// Digits of a join code: no letters or digits that are taken for one another.
const JOIN_DIGITS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
/// Digits in a code: 130 bits.
const JOIN_LENGTH: usize = 26;

/// A one-time join code: `capstan-join-` and 26 digits. It lets its holder enrol, once, within the hour.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinCode(String);

impl JoinCode {
    /// From random bytes; of each the lower five bits count.
    pub fn from_random(bytes: [u8; JOIN_LENGTH]) -> Self {
        let digits = bytes.iter().map(|byte| char::from(JOIN_DIGITS[usize::from(byte & 31)]));
        Self(JOIN_PREFIX.chars().chain(digits).collect())
    }

    /// Reads what a person pasted: surrounding blanks do not matter.
    ///
    /// # Errors
    /// It is not a join code. The error does not quote it.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let text = text.trim();
        let good = text.strip_prefix(JOIN_PREFIX).is_some_and(|digits| {
            digits.len() == JOIN_LENGTH && digits.bytes().all(|digit| JOIN_DIGITS.contains(&digit))
        });
        if good { Ok(Self(text.to_owned())) } else { Err(Malformed("join code")) }
    }

    /// The code itself; to be shown once.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is stored of it: with 130 random bits a plain hash can be neither guessed nor reversed.
    pub fn hash(&self) -> String {
        sha256(&self.0)
    }
}

impl fmt::Debug for JoinCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_code_is_read_back_and_never_shown_by_accident() {
        let code = JoinCode::from_random(std::array::from_fn(|at| u8::try_from(at * 9).unwrap()));
        assert_eq!(code.expose(), "capstan-join-akv5eqz9ju4dpy8ht3cnx7gs2b");
        assert_eq!(JoinCode::parse(" capstan-join-akv5eqz9ju4dpy8ht3cnx7gs2b\n").unwrap(), code);
        assert_eq!(format!("{code:?}"), "JoinCode(…)");
        assert_eq!(code.hash().len(), 64);
        for wrong in
            ["", "capstan-join-", "akv5eqz9ju4dpy8ht3cnx7gs2b", "capstan-join-akv5eqz9ju4dpy8ht3cnx7gs21"]
        {
            assert_eq!(JoinCode::parse(wrong).unwrap_err().to_string(), "this is not a valid join code");
        }
    }

    #[test]
    fn ids_are_ulids() {
        assert!(AgentId::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").is_ok());
        for wrong in
            ["", "01ARZ3NDEKTSV4RRFFQ69G5FA", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav"]
        {
            assert!(AgentId::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_id_may_be_five_minutes_ahead_and_no_more() {
        // The example of the ULID's specification: 2016-07-30T23:54:10.259Z.
        let id = ReportId::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        let of = |text: &str| is_of_the_future(&id, text.parse().unwrap());
        assert!(!of("2026-11-21T12:00:00Z") && !of("2016-07-30T23:54:10.259Z"));
        assert!(!of("2016-07-30T23:49:10.259Z"));
        assert!(of("2016-07-30T23:49:10.258Z"));
        assert!(is_of_the_future(&ReportId::parse(&"7".repeat(26)).unwrap(), Timestamp::MAX));
    }

    #[test]
    fn a_key_names_its_bot() {
        let key = PublicKey::new([7; 32]);
        assert_eq!(PublicKey::parse(&key.to_string()).unwrap(), key);
        assert_eq!(key.to_string().len(), 43);
        assert_eq!(key.audience().len(), "capstan-bot:".len() + 32);
        assert_ne!(key.audience(), PublicKey::new([8; 32]).audience());
        assert!(PublicKey::parse("AAAA").is_err());
    }
}
