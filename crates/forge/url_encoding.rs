//! Percent-encoding.

use std::collections::BTreeMap;

/// Percent-encodes a query value or path segment.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Undoes percent-encoding; what is not valid stays as it is.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (byte, hex) {
            (b'%', Some(value)) => {
                decoded.push(value);
                at += 3;
            }
            _ => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Parses `a=b&c=d`.
pub(crate) fn parse_query(query: &str) -> BTreeMap<String, String> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(&value.replace('+', " "))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode, parse_query};

    #[test]
    fn percent_encoding_goes_both_ways() {
        assert_eq!(encode("capstan/upgrade/gauss peu01"), "capstan%2Fupgrade%2Fgauss%20peu01");
        assert_eq!(decode("heads%2Fmain%zz"), "heads/main%zz");
        assert_eq!(parse_query("head=acme%3Amain&x")["head"], "acme:main");
    }
}
