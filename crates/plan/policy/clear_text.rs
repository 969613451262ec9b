//! What gives a secret away: texts that are nothing else, and texts that only stand for one.

use std::fmt;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClearTextKind {
    PrivateKey,
    AwsKey,
    GitHubToken,
    ClientKey,
    Password,
}

impl fmt::Display for ClearTextKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrivateKey => "a private key",
            Self::AwsKey => "an AWS secret key",
            Self::GitHubToken => "a GitHub token",
            Self::ClientKey => "the key of a kubeconfig",
            Self::Password => "a password's hash",
        })
    }
}

/// The secret that a text holds, where it cannot be anything else, and the byte at which it gives itself away.
/// Also looked for inside base64, which gives itself away as a whole.
pub(super) fn give_away(text: &str) -> Option<(ClearTextKind, usize)> {
    if text.len() < 20 {
        return None;
    }
    let plain = in_plain(text);
    if plain.is_some() || text.contains([' ', '\n', '-', '.', ':', '$', '{']) {
        return plain;
    }
    in_plain(&String::from_utf8(decode(text)?).ok()?).map(|(kind, _)| (kind, 0))
}

fn in_plain(text: &str) -> Option<(ClearTextKind, usize)> {
    // Asked of every text of every cluster: what lacks a letter of a mark is not searched for the mark.
    let has = |letter: u8| text.as_bytes().contains(&letter);
    let (has_dash, has_underscore) = (has(b'-'), has(b'_'));
    if has_dash
        && has(b' ')
        && let Some(start) = text.find("PRIVATE KEY-----")
        && text[..start].ends_with([' ', '-'])
        && let Some(begin) = text[..start].rfind("-----BEGIN")
        // An example most often has dots or a variable where the key would be.
        && body(&text[start + "PRIVATE KEY-----".len()..])
    {
        return Some((ClearTextKind::PrivateKey, begin));
    }
    let after = |mark: &str| {
        let at = text.find(mark)?;
        Some((text[at + mark.len()..].trim_start_matches([' ', '"', '\'', '=', ':']), at))
    };
    let word = |text: &str, allowed: fn(char) -> bool| text.chars().take_while(|c| allowed(*c)).count();
    if has_underscore
        && let Some((key, at)) = after("aws_secret_access_key").or_else(|| after("AWS_SECRET_ACCESS_KEY"))
        && word(key, |c| c.is_ascii_alphanumeric() || c == '/' || c == '+') == 40
    {
        return Some((ClearTextKind::AwsKey, at));
    }
    for mark in ["ghp_", "gho_", "ghs_"] {
        if has_underscore
            && let Some((token, at)) = after(mark)
            && word(token, |c| c.is_ascii_alphanumeric()) >= 36
        {
            return Some((ClearTextKind::GitHubToken, at));
        }
    }
    let (key, at) = if has_dash && has(b':') { after("client-key-data:")? } else { return None };
    let is_key = word(key, |c| c.is_ascii_alphanumeric() || c == '/' || c == '+') >= 100;
    is_key.then_some((ClearTextKind::ClientKey, at))
}

/// Whether what follows the first line of a key is a key.
fn body(rest: &str) -> bool {
    let line: String = rest.chars().filter(|c| !c.is_whitespace()).take(64).collect();
    line.len() == 64 && line.chars().all(|c| c.is_ascii_alphanumeric() || "+/=:,-".contains(c))
}

/// Whether a value is only a placeholder: empty, a variable, an encrypted text, or a word such as `changeme`.
pub(super) fn is_placeholder(text: &str, base64: bool) -> bool {
    let decoded =
        if base64 { decode(text.trim()).and_then(|bytes| String::from_utf8(bytes).ok()) } else { None };
    is_placeholder_text(text) || decoded.is_some_and(|text| is_placeholder_text(&text))
}

/// Whether a key names something that is not a secret: an id (`tenantId`, `AZURE_SUBSCRIPTION_ID`), a name, a place.
pub(super) fn names_no_secret(key: &str) -> bool {
    const LAST: [&str; 8] = ["id", "region", "url", "endpoint", "host", "username", "user", "email"];
    const SECRET: [&str; 8] =
        ["secret", "key", "token", "password", "passwd", "session", "credentials", "credential"];
    let words = words(key);
    words.last().is_some_and(|last| LAST.contains(&last.as_str()))
        && !words.iter().any(|word| SECRET.contains(&word.as_str()))
}

/// The words of a key in small letters: `tenantID`, `tenant_id`, `tenant-id`.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in key.chars() {
        if !letter.is_ascii_alphanumeric() || letter.is_ascii_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if letter.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a value is a certificate and nothing else: those are public.
pub(super) fn is_certificate(text: &str, base64: bool) -> bool {
    let decoded =
        if base64 { decode(text.trim()).and_then(|bytes| String::from_utf8(bytes).ok()) } else { None };
    let text = decoded.as_deref().unwrap_or(text);
    text.trim_start().starts_with("-----BEGIN CERTIFICATE-----") && !text.contains("PRIVATE KEY")
}

fn is_placeholder_text(text: &str) -> bool {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    const STARTS: [&str; 7] = ["enc[", "ref+", "vault:", "<", "$(", "avp:", "op://"];
    const WORDS: [&str; 8] =
        ["changeme", "change-me", "change_me", "replace", "placeholder", "redacted", "dummy", "your-"];
    text.is_empty()
        || text.contains("${")
        || text.contains("{{")
        || STARTS.iter().any(|start| lower.starts_with(start))
        || WORDS.iter().any(|word| lower.contains(word)) && text.len() < 80
        || text.chars().all(|c| c == 'x' || c == 'X' || c == '*' || c == '.')
}

/// The bytes of a base64 text; `None` where the text is not base64.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let digits = text.trim_end_matches('=').bytes().filter(|byte| !byte.is_ascii_whitespace());
    let (mut out, mut buffer, mut bits) = (Vec::with_capacity(text.len() * 3 / 4), 0_u32, 0);
    for byte in digits {
        buffer = (buffer << 6) | u32::from(digit(byte)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from((buffer >> bits) & 0xff).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgwMbRvI0MBZhpI\nabc\n";

    #[test]
    fn keys_are_known_by_what_they_are_and_examples_are_not() {
        let hidden = "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUVwQUlCQUFLQ0FRRUEwWjNWUzVKSmNkczN4Zm4veWdXeUY4UGJuR3kwQUhCN01oZ3dNYlJ2STBNQlpocEkK";
        let within = format!("#!/bin/sh\ncat <<E\n{KEY}E\n");
        let cases = [
            (KEY, Some((ClearTextKind::PrivateKey, 0))),
            (&within, Some((ClearTextKind::PrivateKey, 18))),
            (hidden, Some((ClearTextKind::PrivateKey, 0))),
            ("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n", None),
            ("-----BEGIN PRIVATE KEY-----\n${KEY}\n-----END PRIVATE KEY-----\n", None),
            (
                "-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgwMbRvI0MBZhpI",
                None,
            ),
            (
                "[default]\naws_secret_access_key = abcdefghijABCDEFGHIJ0123456789abcdefghij\n",
                Some((ClearTextKind::AwsKey, 10)),
            ),
            ("aws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}\n", None),
            ("token: ghp_abcdefghijABCDEFGHIJ0123456789abcdef", Some((ClearTextKind::GitHubToken, 7))),
            ("a plain sentence that says nothing", None),
        ];
        for (text, kind) in cases {
            assert_eq!(give_away(text), kind, "{text}");
        }
    }

    #[test]
    fn ids_and_places_are_not_secrets() {
        for (key, expected) in [
            ("tenantId", true),
            ("AZURE_SUBSCRIPTION_ID", true),
            ("clientID", true),
            ("project-id", true),
            ("username", true),
            ("region", true),
            ("secret_id", false),
            ("AWS_ACCESS_KEY_ID", false),
            ("application_credential_secret", false),
            ("password", false),
            ("valid", false),
        ] {
            assert_eq!(names_no_secret(key), expected, "{key}");
        }
    }

    #[test]
    fn placeholders_stand_for_secrets() {
        for (text, base64, expected) in [
            ("", false, true),
            ("${TOKEN}", false, true),
            ("JHtUT0tFTn0=", true, true),
            ("ENC[AES256_GCM,data:x]", false, true),
            ("<your token>", false, true),
            ("changeme", false, true),
            ("hunter2", false, false),
            ("aHVudGVyMg==", true, false),
        ] {
            assert_eq!(is_placeholder(text, base64), expected, "{text}");
        }
    }
}
