//! GitHub's signature of a delivery: HMAC-SHA256 over the raw body.
//!
//! <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>

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

    /// Whether the header `X-Hub-Signature-256` was made of this body with one of the secrets. The
    /// comparison takes the same time wherever the signatures differ.
    pub(super) fn signed(&self, header: &[u8], body: &[u8]) -> bool {
        let Some(tag) = header.strip_prefix(b"sha256=").and_then(from_hex) else { return false };
        self.0.iter().any(|key| hmac::verify(key, body, &tag).is_ok())
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

    #[test]
    fn githubs_own_example_is_signed_well() {
        assert!(secrets(&["It's a Secret to Everybody"]).signed(SIGNATURE, BODY));
    }

    #[test]
    fn either_of_two_secrets_will_do() {
        assert!(secrets(&["old", "It's a Secret to Everybody"]).signed(SIGNATURE, BODY));
        assert!(secrets(&["It's a Secret to Everybody", "new"]).signed(SIGNATURE, BODY));
        assert!(!secrets(&["old", "new"]).signed(SIGNATURE, BODY));
    }

    #[test]
    fn anything_else_is_refused() {
        let secrets = secrets(&["It's a Secret to Everybody"]);
        assert!(!secrets.signed(SIGNATURE, b"Hello, World?"));
        assert!(!secrets.signed(b"", BODY));
        assert!(!secrets.signed(b"sha256=", BODY));
        assert!(!secrets.signed(&SIGNATURE[..70], BODY));
        assert!(!secrets.signed(&SIGNATURE[7..], BODY));
        let sha1 = b"sha1=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(!secrets.signed(sha1, BODY));
        let not_hex = b"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e1g";
        assert!(!secrets.signed(not_hex, BODY));
    }
}
