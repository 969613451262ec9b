//! A configuration of Dex: the issuer, the audience, and the connectors that authenticate people.
//!
//! Dex reads YAML, and JSON is YAML: the whole is made of parsed values and written as JSON, so that no value is anything else
//! there. Dex would replace `$NAME` in connectors by variables of its environment; [`ENVIRONMENT`] forbids that, and fields
//! that Dex does not know stop it instead of being passed over
//! (<https://github.com/dexidp/dex/blob/v2.44.0/cmd/dex/config.go>).

use core::net::IpAddr;

use capstan_model::dns_name::is_subdomain;
use capstan_yaml::YamlFile;
use serde_json::{Map, Value, json};

/// What its environment says.
pub const ENVIRONMENT: [(&str, &str); 2] =
    [("DEX_EXPAND_ENV", "false"), ("DEX_CONFIG_DISALLOW_UNKNOWN_FIELDS", "true")];
/// A list with more connectors is refused.
const MOST_CONNECTORS: usize = 32;
/// A longer text is refused.
const LONGEST_TEXT: usize = 256 * 1024;
/// The default audience of tokens.
const CLIENT: &str = "kubernetes";
const LONGEST_CLIENT: usize = 64;
/// The port of https, which a URL leaves out.
const HTTPS: u16 = 443;

/// A name or an address, as a URL and a certificate hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A DNS name.
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Reads one; `None` of anything else.
    pub fn read(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return (!address.is_unspecified()).then_some(Self::Address(address));
        }
        // What ends in a number is an address or nothing (https://url.spec.whatwg.org/#ends-in-a-number-checker).
        let is_number = |label: &str| label.chars().all(|letter| letter.is_ascii_digit());
        let is_name = is_subdomain(text) && !text.rsplit('.').next().is_some_and(is_number);
        is_name.then(|| Self::Name(text.to_owned()))
    }

    /// The URL of an issuer there.
    pub fn url(&self, port: u16) -> String {
        let host = match self {
            Self::Name(name) => name.clone(),
            Self::Address(IpAddr::V4(address)) => address.to_string(),
            Self::Address(IpAddr::V6(address)) => format!("[{address}]"),
        };
        if port == HTTPS { format!("https://{host}") } else { format!("https://{host}:{port}") }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(address) => address.fmt(formatter),
        }
    }
}

/// The audience of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientId(String);

impl ClientId {
    /// Reads one; the default for an empty text, `None` for an invalid one.
    pub fn read(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(CLIENT.to_owned()));
        }
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        (text.len() <= LONGEST_CLIENT && text.chars().all(is_plain)).then(|| Self(text.to_owned()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who vouches for people. They hold passwords: `Debug` counts them.
#[derive(Clone, PartialEq)]
pub struct Connectors(Vec<Value>);

impl std::fmt::Debug for Connectors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Connectors({})", self.0.len())
    }
}

/// Why a text is not a list of connectors. It repeats no value, because the text is from a Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoConnectors {
    /// It is something else.
    #[error("its key connectors has no list, neither in YAML nor in JSON")]
    Unreadable,
    /// Nobody could log in.
    #[error("its list of connectors is empty: nobody could log in")]
    Empty,
    /// There are too many, or they are too long.
    #[error("it has more than {MOST_CONNECTORS} connectors, or more than {} KiB", LONGEST_TEXT / 1024)]
    TooMany,
    /// One of them cannot be taken: which, and why.
    #[error("connectors[{0}]: {1}")]
    Entry(usize, &'static str),
}

impl Connectors {
    /// Reads what the Secret holds.
    ///
    /// # Errors
    /// The text is not a list of connectors, or a connector lets everybody in.
    pub fn read(text: &str) -> Result<Self, NoConnectors> {
        if text.len() > LONGEST_TEXT {
            return Err(NoConnectors::TooMany);
        }
        let Value::Array(list) = value(text).ok_or(NoConnectors::Unreadable)? else {
            return Err(NoConnectors::Unreadable);
        };
        match list.len() {
            0 => return Err(NoConnectors::Empty),
            1..=MOST_CONNECTORS => {}
            _ => return Err(NoConnectors::TooMany),
        }
        let mut ids = Vec::new();
        for (at, one) in list.iter().enumerate() {
            check(one, &mut ids).map_err(|why| NoConnectors::Entry(at, why))?;
        }
        Ok(Self(list))
    }
}

fn value(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let file = YamlFile::read(text).ok()?;
    let [document] = file.documents() else { return None };
    Some(document.root.value())
}

fn check(one: &Value, ids: &mut Vec<String>) -> Result<(), &'static str> {
    let fields = one.as_object().ok_or("it is not a mapping")?;
    if fields.keys().any(|key| !["type", "id", "name", "config"].contains(&key.as_str())) {
        return Err("it has other keys than type, id, name and config");
    }
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_plain = |text: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        !text.is_empty() && text.len() <= LONGEST_CLIENT && text.chars().all(is_letter)
    };
    if !is_plain(text("type")) {
        return Err("its type is not a connector type of Dex");
    }
    // The one accepts anybody, the other trusts a header.
    if text("type").starts_with("mock") || text("type") == "authproxy" {
        return Err("a connector of this type lets in everybody who reaches it");
    }
    if !is_plain(text("id")) {
        return Err("its id is missing, or is not made of letters, digits, points and dashes");
    }
    if ids.iter().any(|held| held == text("id")) {
        return Err("another one before it has its id");
    }
    ids.push(text("id").to_owned());
    let name = text("name");
    if name.is_empty() || name.chars().count() > 128 || name.chars().any(char::is_control) {
        return Err("its name is missing, too long, or has control characters");
    }
    match fields.get("config") {
        None | Some(Value::Object(_)) => Ok(()),
        Some(_) => Err("its config is not a mapping"),
    }
}

/// Where the program finds its files and listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DexPaths<'a> {
    /// The port at which it listens, at every address.
    pub port: u16,
    /// Path of the certificate that it serves.
    pub certificate: &'a str,
    /// Path of its key.
    pub key: &'a str,
}

/// The configuration. It holds what the connectors do: it is a secret.
pub fn configuration(
    place: &DexPaths<'_>,
    issuer: &str,
    client: &ClientId,
    connectors: &Connectors,
) -> String {
    let connectors: Vec<Value> = connectors.0.iter().map(with_config).collect();
    let whole = json!({
        "issuer": issuer,
        // Its own kinds of Kubernetes would need rights that a tenant does not have: after a restart people
        // log in again.
        "storage": {"type": "memory"},
        "web": {"https": format!(":{}", place.port), "tlsCert": place.certificate, "tlsKey": place.key},
        "oauth2": {"responseTypes": ["code"], "skipApprovalScreen": true},
        // People have no secret to keep: a public client may be sent back to their own machine alone.
        "staticClients": [{"id": client.as_str(), "name": "Kubernetes", "public": true}],
        "connectors": connectors,
    });
    format!("{whole:#}\n")
}

/// Dex wants the key, also of a connector without settings.
fn with_config(connector: &Value) -> Value {
    let mut connector = connector.clone();
    if let Some(fields) = connector.as_object_mut() {
        fields.entry("config").or_insert_with(|| Value::Object(Map::new()));
    }
    connector
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "- type: oidc\n  id: corp\n  name: Example Corp\n  config:\n    issuer: https://id.example.com\n    clientID: dex\n    clientSecret: \"pa$HOME\\\"ss\\n- type: mockCallback\"\n";

    #[test]
    fn values_are_values_and_nothing_else() {
        let connectors = Connectors::read(ONE).unwrap();
        let place = DexPaths { port: 5556, certificate: "/a", key: "/b" };
        let client = ClientId::read("").unwrap();
        let text = configuration(&place, "https://dex.example.com:30556", &client, &connectors);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            read,
            json!({
                "issuer": "https://dex.example.com:30556",
                "storage": {"type": "memory"},
                "web": {"https": ":5556", "tlsCert": "/a", "tlsKey": "/b"},
                "oauth2": {"responseTypes": ["code"], "skipApprovalScreen": true},
                "staticClients": [{"id": "kubernetes", "name": "Kubernetes", "public": true}],
                "connectors": [{"type": "oidc", "id": "corp", "name": "Example Corp", "config": {
                    "issuer": "https://id.example.com", "clientID": "dex",
                    "clientSecret": "pa$HOME\"ss\n- type: mockCallback"}}]})
        );
        // The same as JSON, and as the YAML reader of Kubernetes reads what was written.
        let json = read["connectors"].to_string();
        assert_eq!(Connectors::read(&json), Ok(connectors.clone()));
        assert_eq!(format!("{connectors:?}"), "Connectors(1)");
        assert_eq!(YamlFile::read(&text).unwrap().documents()[0].root.value(), read);
    }

    #[test]
    fn an_invalid_connector_is_reported_without_its_values() {
        let of = |text: &str| Connectors::read(text).unwrap_err();
        assert_eq!(of(""), NoConnectors::Unreadable);
        assert_eq!(of("connectors: []"), NoConnectors::Unreadable);
        assert_eq!(of("[]"), NoConnectors::Empty);
        assert_eq!(of(&"- {}\n".repeat(33)), NoConnectors::TooMany);
        assert_eq!(of(&" ".repeat(300 * 1024)), NoConnectors::TooMany);
        for (entry, why) in [
            ("hidden", "it is not a mapping"),
            (
                "{type: ldap, id: a, name: A, secret: hidden}",
                "it has other keys than type, id, name and config",
            ),
            ("{type: 'hidden ldap', id: a, name: A}", "its type is not a connector type of Dex"),
            (
                "{type: mockPassword, id: a, name: A}",
                "a connector of this type lets in everybody who reaches it",
            ),
            (
                "{type: authproxy, id: a, name: A}",
                "a connector of this type lets in everybody who reaches it",
            ),
            (
                "{type: ldap, name: A}",
                "its id is missing, or is not made of letters, digits, points and dashes",
            ),
            ("{type: ldap, id: corp, name: A}", "another one before it has its id"),
            ("{type: ldap, id: a}", "its name is missing, too long, or has control characters"),
            ("{type: ldap, id: a, name: A, config: hidden}", "its config is not a mapping"),
        ] {
            let refused = of(&format!("{ONE}- {entry}\n"));
            assert_eq!(refused, NoConnectors::Entry(1, why), "{entry}");
            assert!(!refused.to_string().contains("hidden"));
        }
    }

    #[test]
    fn hosts_are_names_or_addresses() {
        for (text, port, url) in [
            ("dex.example.com", 30556, "https://dex.example.com:30556"),
            ("dex.example.com", 443, "https://dex.example.com"),
            ("192.0.2.1", 443, "https://192.0.2.1"),
            ("2001:db8::1", 30556, "https://[2001:db8::1]:30556"),
        ] {
            assert_eq!(Host::read(text).unwrap().url(port), url);
        }
        for text in [
            "",
            "a b",
            "a/b",
            "evil@dex",
            "dex:5556",
            "[::1]",
            "0.0.0.0",
            "1.2.3",
            "a.5",
            "https://dex",
            "dex\n",
        ] {
            assert_eq!(Host::read(text), None, "{text:?}");
        }
        for (text, id) in
            [("", Some("kubernetes")), ("a.b_c-1", Some("a.b_c-1")), ("a b", None), ("a\"", None)]
        {
            assert_eq!(ClientId::read(text).as_ref().map(ClientId::as_str), id);
        }
    }
}
