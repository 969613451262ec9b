//! Digests of texts, as they are stored and shown.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Lowercase hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// SHA-256 in hex digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 in hex digits of lines, of which one at a time is held.
pub fn sha256_of_lines(lines: impl IntoIterator<Item = String>) -> String {
    let mut hash = Sha256::new();
    for (at, line) in lines.into_iter().enumerate() {
        if at > 0 {
            hash.update(b"\n");
        }
        hash.update(line);
    }
    hex(&hash.finalize())
}

/// Identifies a list of texts: no two different lists are the same. New digests have names: `capstan_report::Fingerprint`.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())[..24].to_owned()
}
