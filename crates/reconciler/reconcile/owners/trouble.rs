//! Why owners have no key, or not the newest.

use capstan_live::services::{Cause, Problem};

use crate::reconcile::ports::BotError;
use crate::reconcile::services::is_of_cluster;
use capstan_ports::LiveError;

/// Why, as a word of conditions and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleKind {
    /// No private key can be made.
    KeyNotMade,
    /// The cluster's signer refuses, or what it gave is not used.
    CertificateRefused,
    /// Somebody else writes what is written here.
    Changed,
    /// An API server does not answer as it should.
    NotAnswered,
    /// The key cannot be encrypted to the owners.
    NotEncrypted,
    /// The Secret is somebody else's.
    SecretNotCapstans,
    /// The cluster takes no request for a certificate.
    SignerNotServed,
    /// The bot has not taken the file.
    BotNotReached,
    /// What an API server refuses, or a cluster lacks.
    Said(Cause),
}

impl TroubleKind {
    /// The word: CamelCase.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::KeyNotMade => "KeyNotMade",
            Self::CertificateRefused => "CertificateRefused",
            Self::Changed => "Changed",
            Self::NotAnswered => "NotAnswered",
            Self::NotEncrypted => "NotEncrypted",
            Self::SecretNotCapstans => "SecretNotCapstans",
            Self::SignerNotServed => "SignerNotServed",
            Self::BotNotReached => "BotNotReached",
            Self::Said(cause) => cause.as_str(),
        }
    }

    /// Whether it does not pass by itself within minutes.
    pub(super) const fn lasts(self) -> bool {
        match self {
            Self::CertificateRefused
            | Self::SecretNotCapstans
            | Self::SignerNotServed
            | Self::Said(Cause::KubeconfigRefused | Cause::WorkloadShared) => true,
            Self::KeyNotMade
            | Self::Changed
            | Self::NotAnswered
            | Self::NotEncrypted
            | Self::BotNotReached
            | Self::Said(_) => false,
        }
    }

    /// Whether the cluster's signer said no: it is not asked again at once.
    pub(super) const fn is_of_signer(self) -> bool {
        match self {
            Self::SignerNotServed | Self::CertificateRefused => true,
            Self::KeyNotMade
            | Self::Changed
            | Self::NotAnswered
            | Self::NotEncrypted
            | Self::SecretNotCapstans
            | Self::BotNotReached
            | Self::Said(_) => false,
        }
    }
}

/// Why, in a word and a sentence.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    /// What it is.
    pub(super) kind: TroubleKind,
    /// What was found and what to do; no byte of a key.
    pub(super) message: String,
    /// The cluster does not do its part.
    pub(super) of_cluster: Option<Box<Problem>>,
}

impl Trouble {
    pub(super) fn new(kind: TroubleKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), of_cluster: None }
    }
}

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        let told = Self::new(TroubleKind::Said(problem.cause), problem.line());
        Self { of_cluster: Some(problem).filter(is_of_cluster).map(Box::new), ..told }
    }
}

impl From<LiveError> for Trouble {
    fn from(error: LiveError) -> Self {
        let refused = error.refusal().map(|refusal| TroubleKind::Said(Cause::Refused(refusal.kind)));
        Self::new(refused.unwrap_or(TroubleKind::NotAnswered), error.to_string())
    }
}

impl From<BotError> for Trouble {
    fn from(error: BotError) -> Self {
        let message = format!("the file lies ready, and the bot has not taken it: {error}");
        Self::new(TroubleKind::BotNotReached, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words stand in conditions, and metrics count by them.
    #[test]
    fn each_trouble_has_its_word_and_says_how_long_it_lasts() {
        for (kind, word, lasts, is_of_signer) in [
            (TroubleKind::KeyNotMade, "KeyNotMade", false, false),
            (TroubleKind::CertificateRefused, "CertificateRefused", true, true),
            (TroubleKind::Changed, "Changed", false, false),
            (TroubleKind::NotAnswered, "NotAnswered", false, false),
            (TroubleKind::NotEncrypted, "NotEncrypted", false, false),
            (TroubleKind::SecretNotCapstans, "SecretNotCapstans", true, false),
            (TroubleKind::SignerNotServed, "SignerNotServed", true, true),
            (TroubleKind::BotNotReached, "BotNotReached", false, false),
            (TroubleKind::Said(Cause::KubeconfigRefused), "KubeconfigRefused", true, false),
            (TroubleKind::Said(Cause::WorkloadShared), "WorkloadShared", true, false),
            (TroubleKind::Said(Cause::WorkloadUnreachable), "WorkloadUnreachable", false, false),
        ] {
            assert_eq!((kind.as_str(), kind.lasts(), kind.is_of_signer()), (word, lasts, is_of_signer));
        }
    }
}
