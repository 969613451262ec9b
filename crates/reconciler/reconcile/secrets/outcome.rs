//! What a turn came to, and when the next one is.

use jiff::{SignedDuration, Timestamp};

use super::subject::VaultSecretSubject;

/// After how long is looked again at what passes by itself.
pub(super) const SOON: SignedDuration = SignedDuration::from_secs(30);
/// The same while something is being ended.
pub(super) const AT_ONCE: SignedDuration = SignedDuration::from_secs(2);

/// What a turn came to.
pub(super) struct SecretTurn {
    /// When the VaultSecret is due next.
    pub(super) next: Timestamp,
}

/// What a turn that went well says.
pub(super) struct SecretSuccess {
    pub(super) message: String,
    pub(super) next: Timestamp,
}

/// How often a VaultSecret is due.
pub(super) fn refresh(subject: &VaultSecretSubject) -> SignedDuration {
    const DEFAULT: u32 = 300;
    let seconds = subject.spec.as_ref().map_or(DEFAULT, |spec| spec.refresh_seconds);
    SignedDuration::from_secs(i64::from(seconds))
}

pub(super) fn after(now: Timestamp, pause: SignedDuration) -> Timestamp {
    now.saturating_add(pause).unwrap_or(Timestamp::MAX)
}
