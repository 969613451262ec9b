//! Keys at rest: sealed with a key that is not in the database.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};

/// The beginning of sealed bytes. A key that is not sealed is PKCS#8, which begins otherwise.
const MARK: &[u8] = b"capstan-sealed-1:";

/// A key that seals others.
pub struct SealingKey(LessSafeKey);

/// Sealing or unsealing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotSealed;

/// What is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoredKey {
    /// It was sealed with this key.
    Sealed(Vec<u8>),
    /// It was written before keys were sealed.
    Plain(Vec<u8>),
    /// It was sealed with another key, or damaged.
    Foreign,
}

impl SealingKey {
    /// From 32 bytes in base64; `None` where the text is something else.
    pub fn parse(text: &SecretString) -> Option<Self> {
        let key = STANDARD.decode(text.expose_secret().trim()).ok()?;
        Some(Self(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key).ok()?)))
    }

    /// Seals bytes for that name: they open under no other.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn seal(&self, name: &str, plain: &[u8]) -> Result<Vec<u8>, NotSealed> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| NotSealed)?;
        let mut sealed = plain.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(unique, Aad::from(name), &mut sealed).map_err(|_| NotSealed)?;
        Ok([MARK, nonce.as_slice(), sealed.as_slice()].concat())
    }

    /// Opens what was sealed for that name; `None` where it was not, or with another key.
    pub fn open_sealed(&self, name: &str, kept: &[u8]) -> Option<Vec<u8>> {
        match self.open(name, kept) {
            StoredKey::Sealed(plain) => Some(plain),
            StoredKey::Plain(_) | StoredKey::Foreign => None,
        }
    }

    pub(super) fn open(&self, name: &str, kept: &[u8]) -> StoredKey {
        let Some(sealed) = kept.strip_prefix(MARK) else { return StoredKey::Plain(kept.to_vec()) };
        let Some((nonce, sealed)) = sealed.split_first_chunk::<NONCE_LEN>() else {
            return StoredKey::Foreign;
        };
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        match self.0.open_in_place(nonce, Aad::from(name), &mut sealed) {
            Ok(plain) => StoredKey::Sealed(plain.to_vec()),
            Err(_) => StoredKey::Foreign,
        }
    }
}

impl std::fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealingKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SealingKey {
        SealingKey::parse(&STANDARD.encode([byte; 32]).into()).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_with_its_key_and_under_its_name_alone() {
        let sealed = key(1).seal("agent-api", b"PKCS#8").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"PKCS#8"));
        assert_eq!(key(1).open("agent-api", &sealed), StoredKey::Sealed(b"PKCS#8".to_vec()));
        assert_eq!(key(2).open("agent-api", &sealed), StoredKey::Foreign);
        assert_eq!(key(1).open("other", &sealed), StoredKey::Foreign);
        let mut damaged = sealed.clone();
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(key(1).open("agent-api", &damaged), StoredKey::Foreign);
        assert_eq!(key(1).open("agent-api", b"0 plain"), StoredKey::Plain(b"0 plain".to_vec()));
        assert_ne!(key(1).seal("agent-api", b"PKCS#8").unwrap(), sealed, "never the same nonce twice");
    }

    #[test]
    fn a_key_has_32_bytes() {
        assert!(SealingKey::parse(&STANDARD.encode([1; 31]).into()).is_none());
        assert!(SealingKey::parse(&"hunter2".into()).is_none());
    }
}
