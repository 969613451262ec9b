//! Why there is no answer, as a kind.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use rustls::CertificateError;

use crate::repetition::CallOutcome;
use crate::resolver::{Nowhere, OutOfReach};

/// Why there is no answer. Each is the end of a sentence that begins with the host: `registry.example.com …`.
/// It contains no text of the other side, such as a name in its certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// The name leads to addresses that the client may not call, and where those lie.
    #[error(
        "resolves to an address {0}, which Capstan may not call by this name: correct the name, or its DNS"
    )]
    OutOfReach(&'static str),
    /// The name is not known.
    #[error("has no address: correct the name, or check its DNS")]
    Nowhere,
    /// Nobody listens there.
    #[error("refuses the connection")]
    Refused,
    /// Nobody answers there.
    #[error("does not accept the connection in time")]
    Silent,
    /// TLS does not come about.
    #[error("does not speak TLS, or only versions that Capstan does not accept")]
    NoTls,
    /// Its certificate is not taken.
    #[error("has a certificate that Capstan does not accept: {0}")]
    Certificate(&'static str),
    /// The connection ended before the answer did.
    #[error("breaks off")]
    Broken,
    /// The answer is longer than it may be.
    #[error("answers with more than {0} bytes")]
    TooLarge(usize),
    /// The answer takes longer than it may.
    #[error("does not answer within {} s", .0.as_secs_f64())]
    TooSlow(Duration),
}

impl OutboundError {
    /// Whether the call that ended so may be repeated; `told` is its answer.
    pub const fn outcome<T>(&self, told: T) -> CallOutcome<T> {
        match self {
            // Nothing was sent.
            Self::Refused => CallOutcome::Refused(told),
            Self::OutOfReach(_) | Self::Certificate(_) | Self::NoTls | Self::TooLarge(_) => {
                CallOutcome::Final(told)
            }
            Self::Nowhere | Self::Silent | Self::Broken | Self::TooSlow(_) => CallOutcome::Unknown(told),
        }
    }

    /// The reason for an error of a client that [`configure_blocking`](crate::configure_blocking) made, with
    /// that `stalled`; `None` for other errors, or a status.
    pub fn of_client(error: &(dyn Error + 'static), stalled: Duration) -> Option<Self> {
        let error = error.downcast_ref::<reqwest::Error>().filter(|error| !error.is_status())?;
        match Self::of(error) {
            Self::Silent if !error.is_connect() => Some(Self::TooSlow(stalled)),
            trouble => Some(trouble),
        }
    }

    /// What an error of the client comes to.
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(known) = known(error) {
                return known;
            }
            // The source of a system error does not include the error that it wraps.
            let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            cause = wrapped.map(|error| error as &(dyn Error + 'static)).or_else(|| error.source());
        }
        if error.is_timeout() { Self::Silent } else { Self::Broken }
    }
}

fn known(error: &(dyn Error + 'static)) -> Option<OutboundError> {
    if let Some(OutOfReach(place)) = error.downcast_ref() {
        return Some(OutboundError::OutOfReach(place.words()));
    }
    if error.is::<Nowhere>() {
        return Some(OutboundError::Nowhere);
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(of_tls(error));
    }
    match error.downcast_ref::<io::Error>()?.kind() {
        ErrorKind::ConnectionRefused => Some(OutboundError::Refused),
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            Some(OutboundError::Silent)
        }
        _ => None,
    }
}

fn of_tls(error: &rustls::Error) -> OutboundError {
    let rustls::Error::InvalidCertificate(why) = error else { return OutboundError::NoTls };
    OutboundError::Certificate(match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet",
        CertificateError::UnknownIssuer => "no trusted CA signed it",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name"
        }
        CertificateError::Revoked => "it was revoked",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for servers"
        }
        _ => "it is invalid",
    })
}
