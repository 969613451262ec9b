//! Slash-commands: what they begin with, and who may use which.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::CommandPrefix;
use super::values::pattern_of_a_right;
use crate::verbs::Verb;
use capstan_model::glob::Glob;

/// Slash-commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CommandSettings {
    /// What a command begins with; `/capstan` by default.
    #[schemars(with = "String")]
    pub prefix: CommandPrefix,
    /// Who may use which commands on which clusters; later entries win. `help` lists what applies without an entry.
    /// Administrators of the repository may use all.
    pub permissions: Vec<CommandPermission>,
}

/// Who may use some commands on some clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandPermission {
    /// Pattern over cluster ids; without it, every cluster, and commands about none.
    #[serde(rename = "match", default, deserialize_with = "pattern_of_a_right")]
    #[schemars(with = "Option<String>")]
    pub matches: Option<Glob>,
    /// The commands: `hold`, `unhold`.
    #[schemars(with = "Vec<String>")]
    pub verbs: Vec<Verb>,
    /// Who may: `read`, `write` or `admin` (permission in the repository), `owners` (of the cluster's folder in
    /// `CODEOWNERS`), `@login`, `@organisation/team`. An empty list leaves only administrators.
    #[schemars(with = "Vec<String>")]
    pub allow: Vec<Principal>,
}

impl CommandSettings {
    /// Who may use a verb on a cluster, or on none; `None` where nothing is said.
    pub fn principals(&self, verb: Verb, cluster: Option<&str>) -> Option<&[Principal]> {
        let concerns = |permission: &&CommandPermission| {
            permission.verbs.contains(&verb)
                && match (&permission.matches, cluster) {
                    (None, _) => true,
                    (Some(glob), Some(cluster)) => glob.matches(cluster),
                    (Some(_), None) => false,
                }
        };
        self.permissions.iter().rfind(concerns).map(|permission| permission.allow.as_slice())
    }

    /// Whether somebody without write permission may use any.
    pub fn admits_readers(&self) -> bool {
        let admits = |principal: &Principal| {
            matches!(principal, Principal::Read | Principal::User(_) | Principal::Team { .. })
        };
        self.permissions.iter().any(|permission| permission.allow.iter().any(admits))
    }
}

/// Whose word counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Principal {
    /// Every user who may read the repository.
    Read,
    /// Every user who may write to it.
    Write,
    /// Every user who administers it.
    Admin,
    /// The owners of the cluster's folder.
    Owners,
    /// One person.
    User(String),
    /// The members of a team.
    Team {
        /// The organisation's login.
        organisation: String,
        /// The team's name in URLs.
        slug: String,
    },
}

impl Principal {
    /// Reads one.
    ///
    /// # Errors
    /// What it should look like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= 100
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        let named = match text {
            "read" => return Ok(Self::Read),
            "write" => return Ok(Self::Write),
            "admin" => return Ok(Self::Admin),
            "owners" => return Ok(Self::Owners),
            _ => text.strip_prefix('@').map(|name| {
                name.split_once('/').map_or((name, None), |(organisation, slug)| (organisation, Some(slug)))
            }),
        };
        match named {
            Some((login, None)) if is_name(login) => Ok(Self::User(login.to_owned())),
            Some((organisation, Some(slug))) if is_name(organisation) && is_name(slug) => {
                Ok(Self::Team { organisation: organisation.to_owned(), slug: slug.to_owned() })
            }
            _ => Err(format!(
                "`{text}` must be `read`, `write`, `admin`, `owners`, `@login` or `@organisation/team`"
            )),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Write => f.write_str("write"),
            Self::Admin => f.write_str("admin"),
            Self::Owners => f.write_str("owners"),
            Self::User(login) => write!(f, "@{login}"),
            Self::Team { organisation, slug } => write!(f, "@{organisation}/{slug}"),
        }
    }
}

impl Serialize for Principal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl TryFrom<String> for Principal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}
