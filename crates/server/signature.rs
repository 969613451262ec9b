//! GitHub's signature of a delivery: HMAC-SHA256 over the raw body.
//!
//! <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use secrecy::{ExposeSecret, SecretString};

/// The keys of which each is valid: two while a secret is being changed.
pub(super) struct Secrets(Vec<hmac::Key>);

impl Secrets {
    pub(super) fn new(secrets: &[SecretString]) -> Self {
        Self(
            secrets
                .iter()
                .map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes()))
                .collect(),
        )
    }

    /// Begins to check a body, which is shown to it part by part.
    pub(super) fn check(&self) -> SignatureCheck {
        SignatureCheck(self.0.iter().map(hmac::Context::with_key).collect())
    }
}

/// The signatures of what was shown so far, one for each secret.
pub(super) struct SignatureCheck(Vec<hmac::Context>);

impl SignatureCheck {
    pub(super) fn update(&mut self, part: &[u8]) {
        self.0.iter_mut().for_each(|context| context.update(part));
    }

    /// Whether the header `X-Hub-Signature-256` was made of what was shown with one of the secrets. The
    /// comparison takes the same time wherever the signatures differ.
    pub(super) fn signed(self, header: &[u8]) -> bool {
        let Some(told) = header.strip_prefix(b"sha256=").and_then(from_hex) else { return false };
        self.0.into_iter().any(|context| verify_slices_are_equal(context.sign().as_ref(), &told).is_ok())
    }
}

fn from_hex(text: &[u8]) -> Option<[u8; 32]> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let &[high, low] = pair else { return None };
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of GitHub's documentation.
    const BODY: &[u8] = b"Hello, World!";
    const SIGNATURE: &[u8] = b"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn secrets(secrets: &[&str]) -> Secrets {
        Secrets::new(&secrets.iter().map(|&secret| secret.into()).collect::<Vec<_>>())
    }

    /// Shown in two parts, as it may arrive.
    fn signed(secrets: &Secrets, header: &[u8], body: &[u8]) -> bool {
        let mut check = secrets.check();
        let (first, second) = body.split_at(body.len() / 2);
        check.update(first);
        check.update(second);
        check.signed(header)
    }

    #[test]
    fn githubs_own_example_is_signed_well() {
        assert!(signed(&secrets(&["It's a Secret to Everybody"]), SIGNATURE, BODY));
    }

    #[test]
    fn either_of_two_secrets_will_do() {
        assert!(signed(&secrets(&["old", "It's a Secret to Everybody"]), SIGNATURE, BODY));
        assert!(signed(&secrets(&["It's a Secret to Everybody", "new"]), SIGNATURE, BODY));
        assert!(!signed(&secrets(&["old", "new"]), SIGNATURE, BODY));
    }

    #[test]
    fn anything_else_is_refused() {
        let secrets = secrets(&["It's a Secret to Everybody"]);
        assert!(!signed(&secrets, SIGNATURE, b"Hello, World?"));
        assert!(!signed(&secrets, b"", BODY));
        assert!(!signed(&secrets, b"sha256=", BODY));
        assert!(!signed(&secrets, &SIGNATURE[..70], BODY));
        assert!(!signed(&secrets, &SIGNATURE[7..], BODY));
        let sha1 = b"sha1=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(!signed(&secrets, sha1, BODY));
        let not_hex = b"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e1g";
        assert!(!signed(&secrets, not_hex, BODY));
    }
}
