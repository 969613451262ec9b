//! What a public key of an owner has to be so that something can be encrypted to it, as age does.
//!
//! | taken | |
//! |---|---|
//! | `age1…` | X25519, <https://github.com/C2SP/C2SP/blob/main/age.md#the-x25519-recipient-type> |
//! | `ssh-ed25519 AAAA…` | |
//! | `ssh-rsa AAAA…` | of 2048 bits and more: what age takes |
//!
//! Deliberately absent: encrypting.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::services::PublicKey;

/// The fewest bits of an RSA key.
const RSA_BITS: usize = 2048;
/// The most: what the library that encrypts takes.
const MOST_RSA_BITS: usize = 4096;
/// Bytes of a public key on Curve25519.
const POINT: usize = 32;
/// What to use instead.
const INSTEAD: &str = "use an age key (`age-keygen` prints `age1…`), or an SSH key of type ssh-ed25519 or ssh-rsa (2048 to 4096 bits)";

/// A public key that something can be encrypted to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recipient {
    key: String,
    fingerprint: String,
}

impl Recipient {
    /// Reads a key as it is in `capstan.yaml`. The comment after an SSH key does not count.
    ///
    /// # Errors
    /// Nothing can be encrypted to it: why, and what to use.
    pub fn parse(key: &PublicKey) -> Result<Self, Unusable> {
        let text = key.as_str();
        let mut words = text.split_ascii_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        if let Some(kind) = second.and_then(|_| Ssh::named(first)) {
            return Self::of_ssh(kind, first, second.unwrap_or_default());
        }
        if second.is_none() && first.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("age1")) {
            return Self::of_age(first);
        }
        Err(Unusable(format!("{}: {INSTEAD}", what_else(first, text))))
    }

    /// The key without a comment: what is encrypted to.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What people compare: of an SSH key what `ssh-keygen -l` prints, of an age key the key itself.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn of_age(text: &str) -> Result<Self, Unusable> {
        let point = bech32(text).filter(|(human, bytes)| human == "age" && bytes.len() == POINT);
        let Some((_, point)) = point else {
            let why = if text.to_ascii_lowercase().starts_with("age1pq") {
                "it is a post-quantum key of age, which few programs open so far"
            } else {
                "it begins like a key of age but is not one: a letter is missing or wrong, or it is the key of a plugin"
            };
            return Err(Unusable(format!("{why}: {INSTEAD}")));
        };
        // Nobody has the other half of it.
        if point.iter().all(|byte| *byte == 0) {
            return Err(Unusable(format!("it is not a valid key: {INSTEAD}")));
        }
        let key = text.to_ascii_lowercase();
        Ok(Self { fingerprint: key.clone(), key })
    }

    fn of_ssh(kind: Ssh, name: &str, encoded: &str) -> Result<Self, Unusable> {
        if let Ssh::Other(why) = kind {
            return Err(Unusable(format!("{why}: {INSTEAD}")));
        }
        let broken =
            || Unusable(format!("it is not a complete {name} key: copy the line of the `.pub` file again"));
        let blob = STANDARD.decode(encoded).map_err(|_| broken())?;
        let (own_name, rest) = field(&blob).ok_or_else(broken)?;
        if own_name != name.as_bytes() {
            return Err(broken());
        }
        match kind {
            Ssh::Ed25519 => {
                let (point, rest) = field(rest).ok_or_else(broken)?;
                if point.len() != POINT || !rest.is_empty() {
                    return Err(broken());
                }
            }
            Ssh::Rsa => {
                let (exponent, rest) = field(rest).ok_or_else(broken)?;
                let (modulus, rest) = field(rest).ok_or_else(broken)?;
                let (exponent, modulus) = (bits(exponent), bits(modulus));
                if !rest.is_empty() || !(2..=64).contains(&exponent) {
                    return Err(broken());
                }
                if !(RSA_BITS..=MOST_RSA_BITS).contains(&modulus) {
                    return Err(Unusable(format!("it is an ssh-rsa key of {modulus} bits: {INSTEAD}")));
                }
            }
            Ssh::Other(_) => return Err(broken()),
        }
        let fingerprint = format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&blob)));
        Ok(Self { key: format!("{name} {encoded}"), fingerprint })
    }
}

/// Why nothing can be encrypted to a key, and what to use: part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

/// Types of SSH keys.
#[derive(Clone, Copy)]
enum Ssh {
    Ed25519,
    Rsa,
    /// Nothing can be encrypted to it, and why.
    Other(&'static str),
}

impl Ssh {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ssh-ed25519" => Self::Ed25519,
            "ssh-rsa" => Self::Rsa,
            name if name.starts_with("sk-") => {
                Self::Other("it is in a security key (FIDO), which signs but cannot decrypt")
            }
            name if name.starts_with("ecdsa-") => {
                Self::Other("it is an ecdsa key, which age does not encrypt to")
            }
            "ssh-dss" => Self::Other("it is a DSA key, which age does not encrypt to"),
            name if name.contains("-cert-") => {
                Self::Other("it is a certificate, not the key that it certifies")
            }
            _ => return None,
        })
    }
}

/// What a text is that is not a key for age, in words.
fn what_else(first: &str, text: &str) -> String {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b' ');
    if text.starts_with("AGE-SECRET-KEY-") || text.contains("PRIVATE KEY") {
        // The message does not repeat the key: its reader has the file.
        "it is a private key, which everybody who reads this repository now has: make a new one, and write its public key"
            .to_owned()
    } else if text.starts_with("-----BEGIN PGP") || text.starts_with("mQ") && text.len() > 100 {
        "it is a PGP key, which age does not encrypt to".to_owned()
    } else if text.starts_with("0x") || is_hex(text) && text.len() >= 8 {
        "it looks like the fingerprint of a PGP key, which is not a key".to_owned()
    } else if text.starts_with("RW") && text.len() == 56 {
        "it is a minisign key, which is for signatures and cannot be encrypted to".to_owned()
    } else if Ssh::named(first).is_some() {
        format!("it has `{first}` but no key")
    } else {
        "it is not a key that age encrypts to".to_owned()
    }
}

/// A text of an SSH key's wire format and what follows it: four bytes of length, most significant first, and so many bytes
/// (RFC 4251, section 5).
fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// Bits of a positive number, most significant byte first.
fn bits(number: &[u8]) -> usize {
    let significant = number.iter().position(|byte| *byte != 0).map_or(&[][..], |first| &number[first..]);
    let leading = significant.first().map_or(0, |first| usize::try_from(first.leading_zeros()).unwrap_or(0));
    (significant.len() * 8).saturating_sub(leading)
}

/// The part before the `1` of a Bech32 text, and the bytes after it; `None` where its checksum is wrong (BIP 173).
fn bech32(text: &str) -> Option<(String, Vec<u8>)> {
    const DIGITS: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const CHECKSUM: usize = 6;
    let lower = text.to_ascii_lowercase();
    if text != lower && text != text.to_ascii_uppercase() {
        return None;
    }
    let (human, digits) = lower.rsplit_once('1')?;
    let digits: Option<Vec<u8>> =
        digits.chars().map(|digit| DIGITS.find(digit).and_then(|at| u8::try_from(at).ok())).collect();
    let digits = digits.filter(|digits| digits.len() >= CHECKSUM)?;
    let high = human.bytes().map(|byte| byte >> 5);
    let low = human.bytes().map(|byte| byte & 31);
    if checksum(high.chain([0]).chain(low).chain(digits.iter().copied())) != 1 {
        return None;
    }
    let (mut bytes, mut held, mut count) = (Vec::new(), 0_u32, 0_u32);
    for digit in &digits[..digits.len() - CHECKSUM] {
        held = held << 5 | u32::from(*digit);
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(held >> count & 0xff).ok()?);
        }
        held &= (1 << count) - 1;
    }
    // What is left over of the last digit is zeros.
    (count < 5 && held == 0).then(|| (human.to_owned(), bytes))
}

fn checksum(digits: impl Iterator<Item = u8>) -> u32 {
    const GENERATORS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    digits.fold(1, |sum, digit| {
        let top = sum >> 25;
        let next = (sum & 0x01ff_ffff) << 5 ^ u32::from(digit);
        let chosen = GENERATORS.iter().enumerate().filter(|(at, _)| top >> at & 1 == 1);
        chosen.fold(next, |next, (_, generator)| next ^ generator)
    })
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by ssh-keygen, which also said the fingerprints.
    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB/SIL13EX5ly7Fe3nnGtzIgWIx8Fe8qhaisPRJFHXhs ada@laptop";
    const RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCiICMMDHLUuEBELNIa2DFBUOlQe1XzGyP9zo6CvnMslrcYTNtlGc+L5tmrjKQ4ygXbBoebqjq3/vpO0VwpsxV0N6tv2qgDfFR0pHo+rxIdfTmNnW6X3QKYFhkUQ/cL7xpnlJjl3J4bTajp83T1XVhQu1UZphv2S4kGKREhswV2mDkQwg5Ie70wvV/XCSUk/66PBICmsIStC68NTGhLzqyA9aNIVK3op2cwW9NuWc/ozLQa4fw8TOpuo3Lc8ND2aw9suagRPlKKUZkKKVoYNGmiARpV7uZYwYFzNbTGJ86JaGKnQpJX7VdkiL1ReOJgpazKjoLk6owG8H2yEbuiwi/v";
    const SMALL_RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC+oo0Ya8znhKVUcI40yuqD6/QPj62XnSxWCmbY7u0FLceJU8UVVC7JJ+TVaij1Tmvpw6JAYbpBV0kKGnhEL370ul0KLvjkTU8utjWg1AumhvmBnPZE/mCcdUrn97M4curaF+++5gW5bksUjo3yUyqd6v0guKlCQPHX2JBPX8sRjQ==";
    const ECDSA: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBIPX1PZHxm2Jzaw0OycNmLbKpgO8ow3ZRUrLVygK2ZSEcGNOXKapwfl4/lO4IQ2qV8dLjnMKsLTWF60DAOv1DTE= ada@laptop";
    /// The example of age's own specification.
    const AGE: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

    fn read(text: &str) -> Result<Recipient, Unusable> {
        Recipient::parse(&PublicKey::parse(text).unwrap())
    }

    #[test]
    fn keys_that_age_encrypts_to_are_taken_and_known_by_their_fingerprints() {
        let ed25519 = read(ED25519).unwrap();
        assert_eq!(ed25519.fingerprint(), "SHA256:WbUK/Ttgi/pFrslRC0YhF0fq1Z4ZylISYR1oWWJTTdM");
        assert_eq!(
            ed25519.key(),
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB/SIL13EX5ly7Fe3nnGtzIgWIx8Fe8qhaisPRJFHXhs",
            "the comment does not count"
        );
        assert_eq!(read(RSA).unwrap().fingerprint(), "SHA256:HKNYSN4ECNmr2O3Js3zVv9YXwEtydDxF4wASR/qvzO4");
        assert_eq!((read(AGE).unwrap().key(), read(AGE).unwrap().fingerprint()), (AGE, AGE));
        assert_eq!(read(&AGE.to_ascii_uppercase()).unwrap().key(), AGE);
    }

    #[test]
    fn other_keys_are_refused_with_what_they_are() {
        let wrong_letter = AGE.replace("3equ", "3eqv");
        let cut_off = &ED25519[..60];
        let renamed = ECDSA.replace("ecdsa-sha2-nistp256 ", "ssh-ed25519 ");
        for (text, why) in [
            (ECDSA, "it is an ecdsa key, which age does not encrypt to"),
            (SMALL_RSA, "it is an ssh-rsa key of 1024 bits"),
            (
                "sk-ssh-ed25519@openssh.com AAAA",
                "it is in a security key (FIDO), which signs but cannot decrypt",
            ),
            (
                "sk-ecdsa-sha2-nistp256@openssh.com AAAA",
                "it is in a security key (FIDO), which signs but cannot decrypt",
            ),
            ("-----BEGIN PGP PUBLIC KEY BLOCK-----", "it is a PGP key, which age does not encrypt to"),
            ("3AA5 C343 71A3 E2D5 25C4", "it looks like the fingerprint of a PGP key, which is not a key"),
            (
                "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3",
                "it is a minisign key, which is for signatures and cannot be encrypted to",
            ),
            (
                &wrong_letter,
                "it begins like a key of age but is not one: a letter is missing or wrong, or it is the key of a plugin",
            ),
            (
                "age1",
                "it begins like a key of age but is not one: a letter is missing or wrong, or it is the key of a plugin",
            ),
            ("k", "it is not a key that age encrypts to"),
            ("ssh-rsa", "it has `ssh-rsa` but no key"),
            (
                "AGE-SECRET-KEY-1QQQ",
                "it is a private key, which everybody who reads this repository now has: make a new one, and write its public key",
            ),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert_eq!(message.strip_suffix(&format!(": {INSTEAD}")), Some(why), "{text}");
        }
        for broken in [cut_off, &renamed, "ssh-ed25519 AAAA", "ssh-rsa !!!!"] {
            let message = read(broken).unwrap_err().to_string();
            assert!(message.contains("copy the line of the `.pub` file again"), "{broken}: {message}");
        }
    }
}
