//! The errors of a Keystone that refuses, or does not answer.

use capstan_ports::CloudError;

/// It knows no such credential, or that has ended.
pub(super) fn refused(host: &str, status: u16) -> CloudError {
    CloudError::Refused(format!(
        "Keystone at {host} refuses the login ({status}): the credential is wrong, has expired or was deleted"
    ))
}

/// It does not answer; `reason` is the sentence's end: `answers 503`, `cannot be reached: …`.
pub(super) fn unanswered(host: &str, reason: &str) -> CloudError {
    CloudError::Unanswered(format!("Keystone at {host} {reason}"))
}
