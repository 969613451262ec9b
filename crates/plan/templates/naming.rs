//! Names of rotated templates: `<base name>-<8 hex of the canonical spec>`, a valid DNS-1123 name of
//! at most 63 characters.
//!
//! The canonical form is frozen: another form would rename every template of every fleet, and replace
//! every machine. It is JSON (RFC 8785 as far as specs go) without blanks, keys sorted by their bytes,
//! nulls left out (absent and null are the same in a typed object), integral numbers without a point.

use std::fmt;

use sha2::{Digest, Sha256};

use capstan_model::digest::{hex, sha256};
use capstan_yaml::Value;

/// The SHA-256 of a spec's canonical form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecDigest([u8; 32]);

impl SpecDigest {
    /// Of a spec.
    pub fn of(spec: &Value) -> Self {
        let mut text = String::new();
        write_canonical(spec, &mut text);
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// From 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |byte: u8| match byte {
                b'0'..=b'9' => Some(byte - b'0'),
                b'a'..=b'f' => Some(byte - b'a' + 10),
                _ => None,
            };
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// The first eight hex digits: what a name ends in.
    pub fn short(&self) -> String {
        hex(&self.0[..4])
    }
}

impl fmt::Display for SpecDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for SpecDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpecDigest({self})")
    }
}

impl serde::Serialize for SpecDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for SpecDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "`{text}` is not a SHA-256: it must have 64 lower-case hex digits"
            ))
        })
    }
}

/// Eight hex digits of the canonical form of a template's `spec`.
pub fn spec_hash(spec: &Value) -> String {
    SpecDigest::of(spec).short()
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Number(number) => {
            let text = number.to_string();
            out.push_str(text.strip_suffix(".0").unwrap_or(&text));
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// The base name: the name without a `-<8 hex>` that is the hash of this very spec. A suffix that
/// only looks like one belongs to the name.
pub fn base_name<'n>(name: &'n str, spec: &Value) -> &'n str {
    match split_suffix(name) {
        Some((base, suffix)) if suffix == spec_hash(spec) => base,
        _ => name,
    }
}

/// A name's last part, where it looks like a rotation suffix.
pub fn split_suffix(name: &str) -> Option<(&str, &str)> {
    let (base, suffix) = name.rsplit_once('-')?;
    let hex = suffix.len() == 8 && suffix.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    (hex && !base.is_empty()).then_some((base, suffix))
}

/// The longest name: Cluster API writes names into labels, whose values end there.
const LONGEST: usize = 63;

/// The longest base name that a suffix fits behind.
const LONGEST_BASE: usize = LONGEST - 9;

/// The name of a template with this spec: `<base>-<8 hex>`.
pub fn rotated_name(base: &str, spec: &Value) -> String {
    name_with(base, &spec_hash(spec))
}

/// A long base keeps its first characters and gets eight hex digits of itself, so that two bases that
/// begin alike stay apart. Such a base fits, and is its own base in the next rotation.
fn name_with(base: &str, suffix: &str) -> String {
    // What Flux will put in for a variable is not known, and half of one would be nonsense.
    if base.len() <= LONGEST_BASE || base.contains("${") {
        return format!("{base}-{suffix}");
    }
    let own = &sha256(base)[..8];
    let room = base.floor_char_boundary(LONGEST_BASE - 9);
    let first = base[..room].trim_end_matches(['-', '.']);
    format!("{first}-{own}-{suffix}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_canonical_form_is_frozen() {
        // Each digest was computed with `printf '%s' '<the canonical text above it>' | sha256sum`.
        let golden = [
            // {"template":{"spec":{"customImage":"kindest/node:v1.27.3"}}}
            (
                json!({"template": {"spec": {"extra": null, "customImage": "kindest/node:v1.27.3"}}}),
                "845d97eec1dea7bbaa5cdc68b1928eaca32adbdb3589e46900288ad70d0b051a",
            ),
            // {"a":[1,2.5,true,null,"x"],"b":{},"é":"tab\there"}
            (
                json!({"é": "tab\there", "b": {"gone": null}, "a": [1.0, 2.5, true, null, "x"]}),
                "29d9d4e6d3f6042d743d39b7c4600c7078a99a1aa5fc23ec3581d8a057b7e4e9",
            ),
            // {"template":{"spec":{"instanceType":"m5.large","rootVolume":{"size":80,"type":"gp3"},"sshKeyName":""}}}
            (
                json!({"template": {"spec": {
                    "sshKeyName": "",
                    "rootVolume": {"type": "gp3", "size": 80},
                    "instanceType": "m5.large",
                }}}),
                "b443cb8647af8ffd765a980e803da7af6135b6ff25928d0944a951b0ffada187",
            ),
            // null
            (Value::Null, "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"),
        ];
        for (spec, digest) in golden {
            assert_eq!(SpecDigest::of(&spec).to_string(), digest, "{spec}");
            assert_eq!(spec_hash(&spec), digest[..8]);
            assert_eq!(SpecDigest::parse(digest), Some(SpecDigest::of(&spec)));
        }
    }

    #[test]
    fn only_the_hash_of_its_own_spec_is_a_suffix() {
        let spec = json!({"a": 1});
        // printf '%s' '{"a":1}' | sha256sum
        assert_eq!(rotated_name("peu01-md-0", &spec), "peu01-md-0-015abd7f");
        assert_eq!(base_name("peu01-md-0-015abd7f", &spec), "peu01-md-0");
        assert_eq!(base_name("peu01-md-0-015abd7f", &json!({"a": 2})), "peu01-md-0-015abd7f");
        assert_eq!(base_name("peu01-deadbeef", &spec), "peu01-deadbeef");
    }

    #[test]
    fn a_long_base_is_shortened_and_stays_its_own() {
        let spec = json!({"a": 1});
        let longest = "x".repeat(54);
        assert_eq!(rotated_name(&longest, &spec), format!("{longest}-015abd7f"));
        let one = "customer-gauss-production-europe-west-1-workers-general-purpose-large-a";
        let other = "customer-gauss-production-europe-west-1-workers-general-purpose-large-b";
        // printf '%s' customer-...-a | sha256sum, and of -b
        assert_eq!(
            rotated_name(one, &spec),
            "customer-gauss-production-europe-west-1-worke-bdd4b0fd-015abd7f"
        );
        assert_eq!(
            rotated_name(other, &spec),
            "customer-gauss-production-europe-west-1-worke-fa003659-015abd7f"
        );
        assert_eq!(rotated_name(one, &spec).len(), 63);
        // The next rotation keeps the shortened base.
        let base = base_name("customer-gauss-production-europe-west-1-worke-bdd4b0fd-015abd7f", &spec);
        assert_eq!(base, "customer-gauss-production-europe-west-1-worke-bdd4b0fd");
        // printf '%s' '{"a":2}' | sha256sum
        assert_eq!(
            rotated_name(base, &json!({"a": 2})),
            "customer-gauss-production-europe-west-1-worke-bdd4b0fd-7e8059f4"
        );
    }

    #[test]
    fn a_cut_never_ends_in_a_dash_or_a_dot() {
        let base = format!("{}--.{}", "x".repeat(42), "y".repeat(30));
        let name = rotated_name(&base, &json!({"a": 1}));
        assert!(name.starts_with(&format!("{}-", "x".repeat(42))) && !name.contains("--"), "{name}");
        assert!(!name.contains('.'), "{name}");
    }

    #[test]
    fn a_variable_in_a_name_is_never_cut() {
        let base = format!("${{CLUSTER_NAME}}-{}", "x".repeat(60));
        assert_eq!(rotated_name(&base, &json!({"a": 1})), format!("{base}-015abd7f"));
    }
}
