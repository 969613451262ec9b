//! A file of age as Capstan writes it, as far as it can be checked without a key
//! (<https://github.com/C2SP/C2SP/blob/main/age.md>).
//!
//! | part | what is held to |
//! |---|---|
//! | armor | the two marker lines, lines of 64 letters between them, canonical base64, nothing before or after |
//! | header | the version, stanzas of the three kinds that Capstan encrypts to, the line of the MAC |
//! | payload | a nonce, whole chunks, and a last one that holds something |
//!
//! The library that encrypts adds one stanza without a recipient, so that readers keep ignoring unknown stanzas (its
//! kind ends with `-grease`). One such stanza is ignored, if it is small.
//!
//! Deliberately absent: the MAC and the chunks, which take a key to be judged.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use capstan_plan::settings::Recipient;

const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----\n";
const END: &str = "\n-----END AGE ENCRYPTED FILE-----\n";
/// Letters of a line, of the armor and of a stanza's body.
const COLUMNS: usize = 64;
const VERSION: &str = "age-encryption.org/v1";
/// Bytes of a point on Curve25519, of a digest, and of a file's key that is encrypted with ChaCha20-Poly1305.
const WORD: usize = 32;
/// Bytes of an SSH key's SHA-256 that its stanza names.
const TAG: usize = 4;
const NONCE: usize = 16;
const CHUNK: usize = 64 << 10;
/// What authenticates a chunk.
const SEAL: usize = 16;
/// Bytes of the first line and of the body of a stanza without a recipient.
const MOST_GREASE: usize = 128;

/// The recipient of a stanza, as far as the stanza names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stanza {
    /// An age key, and it does not say which one.
    X25519,
    /// An SSH key of type ssh-ed25519.
    Ed25519([u8; TAG]),
    /// An SSH key of type ssh-rsa.
    Rsa {
        tag: [u8; TAG],
        /// Bytes of its modulus.
        modulus: usize,
    },
}

impl Stanza {
    /// The stanza that is for an owner.
    pub(super) fn of(owner: &Recipient) -> Option<Self> {
        let Some(digest) = owner.fingerprint().strip_prefix("SHA256:") else { return Some(Self::X25519) };
        let digest = STANDARD_NO_PAD.decode(digest).ok()?;
        let tag = *digest.first_chunk::<TAG>()?;
        match owner.key().split_once(' ')? {
            ("ssh-ed25519", _) => Some(Self::Ed25519(tag)),
            ("ssh-rsa", key) => Some(Self::Rsa { tag, modulus: modulus(&STANDARD.decode(key).ok()?)? }),
            _ => None,
        }
    }
}

/// Bytes of the modulus of an ssh-rsa key: the last of three fields, each with four bytes of length before it (RFC 4253,
/// section 6.6).
fn modulus(key: &[u8]) -> Option<usize> {
    let mut rest = key;
    let mut last: &[u8] = &[];
    for _ in 0..3 {
        let (length, after) = rest.split_first_chunk::<4>()?;
        (last, rest) = after.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    }
    let zeros = last.iter().take_while(|byte| **byte == 0).count();
    Some(last.len() - zeros)
}

/// The stanzas of a file, without the one that has no recipient.
///
/// # Errors
/// Capstan did not write this file; why, as part of a sentence.
pub(super) fn stanzas(file: &[u8]) -> Result<Vec<Stanza>, String> {
    let bytes = without_armor(file).ok_or("is not encrypted by age: its armor is not what Capstan writes")?;
    let mut rest = bytes.as_slice();
    if line(&mut rest) != Some(VERSION) {
        return Err("is not encrypted by age: it does not begin with the line of its version".to_owned());
    }
    let mut found = Vec::new();
    let mut is_greased = false;
    loop {
        let next = line(&mut rest).ok_or("has a header of age that does not end")?;
        if let Some(mac) = next.strip_prefix("--- ") {
            word(mac).ok_or("has no whole MAC in its header of age")?;
            break;
        }
        let number = found.len() + usize::from(is_greased) + 1;
        let wrong = || format!("has a header of age whose stanza {number} was not written by Capstan");
        let said = next.strip_prefix("-> ").ok_or_else(wrong)?;
        let body = body(&mut rest).ok_or_else(wrong)?;
        match stanza(said, &body) {
            Some(stanza) => found.push(stanza),
            None if !is_greased && is_for_nobody(said, &body) => is_greased = true,
            None => return Err(wrong()),
        }
    }
    if !is_payload(rest) {
        return Err("has no whole payload of age".to_owned());
    }
    Ok(found)
}

fn without_armor(file: &[u8]) -> Option<Vec<u8>> {
    let letters = std::str::from_utf8(file).ok()?.strip_prefix(BEGIN)?.strip_suffix(END)?;
    let lines: Vec<&str> = letters.split('\n').collect();
    let (last, full) = lines.split_last()?;
    let fits = full.iter().all(|line| line.len() == COLUMNS) && (1..=COLUMNS).contains(&last.len());
    if fits { STANDARD.decode(lines.concat()).ok() } else { None }
}

/// The next line of a header.
fn line<'b>(rest: &mut &'b [u8]) -> Option<&'b str> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = rest.split_at_checked(end)?;
    *rest = after.get(1..)?;
    std::str::from_utf8(line).ok()
}

/// The body of a stanza: full lines, and a shorter one that ends it.
fn body(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut letters = String::new();
    loop {
        let line = line(rest)?;
        letters.push_str(line);
        if line.len() < COLUMNS {
            return STANDARD_NO_PAD.decode(letters).ok();
        }
        if line.len() > COLUMNS {
            return None;
        }
    }
}

/// 32 bytes that are not all zeros.
fn word(letters: &str) -> Option<()> {
    let bytes = STANDARD_NO_PAD.decode(letters).ok()?;
    (bytes.len() == WORD && bytes.iter().any(|byte| *byte != 0)).then_some(())
}

fn stanza(said: &str, body: &[u8]) -> Option<Stanza> {
    let words: Vec<&str> = said.split(' ').collect();
    let tag = |letters: &str| <[u8; TAG]>::try_from(STANDARD_NO_PAD.decode(letters).ok()?).ok();
    match words[..] {
        ["X25519", share] if body.len() == WORD => word(share).map(|()| Stanza::X25519),
        ["ssh-ed25519", key, share] if body.len() == WORD => {
            word(share)?;
            Some(Stanza::Ed25519(tag(key)?))
        }
        ["ssh-rsa", key] => Some(Stanza::Rsa { tag: tag(key)?, modulus: body.len() }),
        _ => None,
    }
}

fn is_for_nobody(said: &str, body: &[u8]) -> bool {
    let kind = said.split(' ').next().unwrap_or_default();
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
    kind.ends_with("-grease")
        && said.split(' ').all(is_word)
        && said.len() <= MOST_GREASE
        && body.len() <= MOST_GREASE
}

/// A nonce, full chunks, and a last one that is not empty.
fn is_payload(bytes: &[u8]) -> bool {
    let Some(chunks) = bytes.len().checked_sub(NONCE) else { return false };
    let last = chunks % (CHUNK + SEAL);
    chunks > 0 && (last == 0 || last > SEAL)
}
