//! Why owners have no key, or not the newest.

use capstan_live::applying::{ApiRefusal, RefusalKind};
use capstan_live::services::{Problem, ServiceCause};
use capstan_ports::LiveError;

use crate::reports::BotError;
use crate::services::{is_of_cluster, problem_of};

/// Why, as a word of conditions and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// No private key can be made.
    KeyNotMade,
    /// The cluster's signer refuses, or what it gave is not used.
    CertificateRefused,
    /// Another client writes what is written here.
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
    Said(ServiceCause),
}

impl TroubleKind {
    /// The word: CamelCase.
    pub const fn as_str(self) -> &'static str {
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
    pub const fn lasts(self) -> bool {
        match self {
            Self::CertificateRefused
            | Self::SecretNotCapstans
            | Self::SignerNotServed
            | Self::Said(ServiceCause::KubeconfigRefused | ServiceCause::WorkloadShared) => true,
            Self::KeyNotMade
            | Self::Changed
            | Self::NotAnswered
            | Self::NotEncrypted
            | Self::BotNotReached
            | Self::Said(_) => false,
        }
    }

    /// Whether the cluster's signer said no: it is not asked again at once.
    pub const fn is_of_signer(self) -> bool {
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
pub struct OwnersError {
    /// What it is.
    pub kind: TroubleKind,
    /// What was found and what to do; no byte of a key.
    pub message: String,
    /// The cluster does not do its part.
    pub of_cluster: Option<Box<Problem>>,
}

impl OwnersError {
    /// Of that kind, in these words.
    pub fn new(kind: TroubleKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), of_cluster: None }
    }

    /// What an answer of the cluster itself means.
    pub fn inside(error: LiveError) -> Self {
        problem_of(&error, None).map_or_else(|| Self::from(error), Self::from)
    }

    /// The same of what it takes to have a certificate signed: a cluster that does not serve it says so at once.
    pub fn unserved(error: LiveError) -> Self {
        let is_for_good = |refusal: &ApiRefusal| {
            refusal.kind == RefusalKind::MissingKind || !error.worth_retrying() && !error.is_conflict()
        };
        match error.refusal() {
            Some(refusal) if is_for_good(refusal) => Self::new(
                TroubleKind::SignerNotServed,
                format!("the cluster refuses the request for a certificate: {error}"),
            ),
            _ => Self::inside(error),
        }
    }
}

impl From<Problem> for OwnersError {
    fn from(problem: Problem) -> Self {
        let told = Self::new(TroubleKind::Said(problem.cause), problem.line());
        Self { of_cluster: Some(problem).filter(is_of_cluster).map(Box::new), ..told }
    }
}

impl From<LiveError> for OwnersError {
    fn from(error: LiveError) -> Self {
        let refused = error.refusal().map(|refusal| TroubleKind::Said(ServiceCause::Refused(refusal.kind)));
        Self::new(refused.unwrap_or(TroubleKind::NotAnswered), error.to_string())
    }
}

impl From<BotError> for OwnersError {
    fn from(error: BotError) -> Self {
        let message = format!("the file is ready, but the bot has not accepted it: {error}");
        Self::new(TroubleKind::BotNotReached, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conditions show these words, and metrics count by them.
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
            (TroubleKind::Said(ServiceCause::KubeconfigRefused), "KubeconfigRefused", true, false),
            (TroubleKind::Said(ServiceCause::WorkloadShared), "WorkloadShared", true, false),
            (TroubleKind::Said(ServiceCause::WorkloadUnreachable), "WorkloadUnreachable", false, false),
        ] {
            assert_eq!((kind.as_str(), kind.lasts(), kind.is_of_signer()), (word, lasts, is_of_signer));
        }
    }
}
