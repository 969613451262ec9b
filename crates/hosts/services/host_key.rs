//! A host key of a jump host, as OpenSSH writes it: Ed25519, without a passphrase.
//!
//! The format is `openssh-key-v1` (<https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.key>). Who makes the
//! key is the shell: here are no random numbers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::ssh::PublicKey;

const KIND: &str = "ssh-ed25519";

/// The halves of an Ed25519 key (RFC 8032).
pub struct KeyPairHalves<'a> {
    /// The private half: the seed.
    pub seed: &'a [u8; 32],
    /// The public half.
    pub public: &'a [u8; 32],
}

impl KeyPairHalves<'_> {
    /// The public half, as a line of `authorized_keys` names it.
    pub fn public_line(&self) -> String {
        format!("{KIND} {}", STANDARD.encode(self.public_blob()))
    }

    /// The public half; `None` where these bytes are not a key.
    pub fn public_key(&self) -> Option<PublicKey> {
        PublicKey::read(&self.public_line()).ok()
    }

    /// The whole key, as `ssh-keygen` writes it into a file.
    pub fn private_file(&self) -> String {
        // Tells a wrong passphrase from a right one; there is none.
        let check = [0_u8; 4];
        let mut secret = [check, check].concat();
        for part in [KIND.as_bytes(), self.public, &[self.seed.as_slice(), self.public].concat(), b""] {
            append(&mut secret, part);
        }
        secret.extend((1..).take((8 - secret.len() % 8) % 8));
        let mut whole = b"openssh-key-v1\0".to_vec();
        // Cipher, key derivation, and what that takes.
        for part in [b"none".as_slice(), b"none", b""] {
            append(&mut whole, part);
        }
        whole.extend(1_u32.to_be_bytes());
        append(&mut whole, &self.public_blob());
        append(&mut whole, &secret);
        let text = STANDARD.encode(whole);
        let lines: Vec<&str> =
            text.as_bytes().chunks(70).filter_map(|line| core::str::from_utf8(line).ok()).collect();
        format!(
            "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
            lines.join("\n")
        )
    }

    fn public_blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        append(&mut blob, KIND.as_bytes());
        append(&mut blob, self.public);
        blob
    }
}

/// A part, behind its length in four bytes.
fn append(whole: &mut Vec<u8>, part: &[u8]) {
    // No part is longer than some hundred bytes.
    whole.extend(u32::try_from(part.len()).unwrap_or_default().to_be_bytes());
    whole.extend_from_slice(part);
}
