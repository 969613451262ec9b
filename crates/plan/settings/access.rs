//! `access:` of a cluster's `capstan.yaml`: what its owners are given, for how long, and where they find it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::fields::text_type;

/// Days that a key is valid by default.
const DAYS: u16 = 30;
const MOST_DAYS: u16 = 365;

text_type!(
    /// The URL of an OpenID Connect issuer: `https://login.example.com`.
    IssuerUrl,
    |text| {
        let host = text.strip_prefix("https://").unwrap_or_default();
        (1..=500).contains(&host.len())
            && !host.starts_with('/')
            && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'\\<>?#@".contains(&byte))
    },
    "the address of an OpenID Connect issuer (https://…, without user, query and fragment)"
);

text_type!(
    /// A client id or a scope of such an issuer.
    OidcWord,
    |text| (1..=200).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()),
    "a word without blanks (1 to 200 characters)"
);

/// The access of a cluster's owners.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OwnersAccess {
    /// What the key is.
    pub credentials: OwnersCredentials,
    /// How many days it is valid: 1 to 365. It is renewed once two thirds of them are over.
    #[schemars(with = "u16", range(min = 1, max = 365))]
    pub lifetime_days: LifetimeDays,
    /// Where they find it.
    pub publish: PublishedAt,
    /// A login for all users instead of a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc: Option<OidcLogin>,
}

/// What a key is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OwnersCredentials {
    /// Their own certificate, which ends as soon as one of them leaves.
    #[default]
    Certificate,
    /// That of Cluster API, which cannot be revoked.
    Admin,
}

/// Where the encrypted key is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PublishedAt {
    /// At the bot.
    #[default]
    Bot,
    /// There, and in the cluster's folder, by a pull request.
    Git,
}

/// How many days a key is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct LifetimeDays(u16);

impl LifetimeDays {
    pub const fn days(self) -> u16 {
        self.0
    }
}

impl Default for LifetimeDays {
    fn default() -> Self {
        Self(DAYS)
    }
}

impl<'de> Deserialize<'de> for LifetimeDays {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let days = u64::deserialize(deserializer)?;
        u16::try_from(days).ok().filter(|days| (1..=MOST_DAYS).contains(days)).map(Self).ok_or_else(|| {
            de::Error::invalid_value(de::Unexpected::Unsigned(days), &"a number of days from 1 to 365")
        })
    }
}

/// A login by OpenID Connect, as `kubectl oidc-login` does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OidcLogin {
    /// The issuer that the cluster's API server trusts.
    #[schemars(with = "String")]
    pub issuer_url: IssuerUrl,
    /// The id of its client.
    #[schemars(with = "String")]
    pub client_id: OidcWord,
    /// Scopes to request besides `openid`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub extra_scopes: Vec<OidcWord>,
}
