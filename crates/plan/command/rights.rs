//! Who may use which verb on which clusters.
//!
//! *Guarantee*: only the settings and the `CODEOWNERS` of the default branch decide, and GitHub's word about who a
//! user is. Nothing that a pull request brings decides. Whether a user belongs to a team costs a call, so it is
//! asked only if it decides ([`RightsVerdict::Ask`]).

use std::collections::BTreeMap;

use super::hearing::Right;
use super::owners::CodeOwners;
use crate::settings::{CommandSettings, FOLDER_FILE, Principal};
use crate::verbs::{NeededRight, Verb, VerbEffect};

/// A team of an organisation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Team {
    /// The organisation's login.
    pub organisation: String,
    /// The team's name in URLs.
    pub slug: String,
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// Their login.
    pub login: &'a str,
    /// What they may do in the repository.
    pub right: Right,
    /// Teams of which it is known whether they belong to them.
    pub teams: &'a BTreeMap<Team, bool>,
}

/// Where a command is given.
#[derive(Debug, Clone, Copy)]
pub struct CommandPlace<'a> {
    /// The clusters that it is about.
    pub clusters: &'a [String],
    /// Who opened the pull request, if its head is in a fork.
    pub fork_author: Option<&'a str>,
}

/// Why a user may not use a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// The asker is not among those who may.
    NotOneOf {
        /// Those who may.
        allowed: Vec<String>,
        /// The first cluster for which the asker may not. `None` if the command is not about a cluster.
        cluster: Option<String>,
    },
    /// They opened this pull request from a fork: it never makes Capstan write to the repository's branches.
    ForkAuthor,
}

/// The judgement of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RightsVerdict {
    /// They may.
    Allowed,
    /// They may not.
    Denied(Denied),
    /// It depends on whether they belong to this team.
    Ask(Team),
}

/// Whether a user may use a verb there.
pub fn judge(
    verb: Verb,
    asker: Asker<'_>,
    place: CommandPlace<'_>,
    settings: &CommandSettings,
    owners: &CodeOwners,
) -> RightsVerdict {
    if verb.effect() != VerbEffect::Notes
        && place.fork_author.is_some_and(|author| author.eq_ignore_ascii_case(asker.login))
    {
        return RightsVerdict::Denied(Denied::ForkAuthor);
    }
    if asker.right == Right::Admin {
        return RightsVerdict::Allowed;
    }
    let by_default = [default_principal(verb.needs())];
    let one = |cluster: Option<&String>| {
        let said = settings.principals(verb, cluster.map(String::as_str));
        let owned = cluster.and_then(|cluster| owners.of(&format!("{cluster}/{}", FOLDER_FILE)));
        judge_one(asker, said.unwrap_or(&by_default), owned.as_deref(), cluster)
    };
    // A right to one cluster is not a right to the whole repository.
    if place.clusters.is_empty() || verb.needs() == NeededRight::Admin {
        return one(None);
    }
    let mut asked = None;
    for cluster in place.clusters {
        match one(Some(cluster)) {
            RightsVerdict::Allowed => {}
            denied @ RightsVerdict::Denied(_) => return denied,
            ask @ RightsVerdict::Ask(_) => asked = asked.or(Some(ask)),
        }
    }
    asked.unwrap_or(RightsVerdict::Allowed)
}

fn judge_one(
    asker: Asker<'_>,
    principals: &[Principal],
    owners: Option<&[&Principal]>,
    cluster: Option<&String>,
) -> RightsVerdict {
    let mut ask = None;
    for principal in principals {
        let is_one = match principal {
            // An owner without write permission does not count: GitHub does not request their review, either.
            Principal::Owners => match owners {
                Some(owners) if asker.right >= Right::Write => {
                    owners.iter().fold(Belongs::No, |known, owner| known.or(belongs(asker, owner)))
                }
                Some(_) => Belongs::No,
                None => Belongs::of(asker.right >= Right::Write),
            },
            principal => belongs(asker, principal),
        };
        match is_one {
            Belongs::Yes => return RightsVerdict::Allowed,
            Belongs::Perhaps(team) => ask = ask.or(Some(team)),
            Belongs::No => {}
        }
    }
    if let Some(team) = ask {
        return RightsVerdict::Ask(team);
    }
    let named = |principal: &Principal| match (principal, owners) {
        (Principal::Owners, Some(owners)) if !owners.is_empty() => {
            let owners: Vec<String> = owners.iter().map(|owner| format!("`{owner}`")).collect();
            format!("an owner of its folder in `CODEOWNERS` ({})", owners.join(", "))
        }
        (Principal::Owners, Some(_)) => "an owner of its folder in `CODEOWNERS`".to_owned(),
        (Principal::Owners, None) => in_words(&Principal::Write),
        (principal, _) => in_words(principal),
    };
    let mut allowed: Vec<String> = principals.iter().map(named).collect();
    allowed.push(in_words(&Principal::Admin));
    allowed.dedup();
    RightsVerdict::Denied(Denied::NotOneOf { allowed, cluster: cluster.cloned() })
}

enum Belongs {
    Yes,
    No,
    Perhaps(Team),
}

impl Belongs {
    const fn of(belongs: bool) -> Self {
        if belongs { Self::Yes } else { Self::No }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Perhaps(team), _) | (_, Self::Perhaps(team)) => Self::Perhaps(team),
            (Self::No, Self::No) => Self::No,
        }
    }
}

fn belongs(asker: Asker<'_>, principal: &Principal) -> Belongs {
    match principal {
        Principal::Read => Belongs::of(asker.right >= Right::Read),
        Principal::Write => Belongs::of(asker.right >= Right::Write),
        Principal::Admin => Belongs::of(asker.right >= Right::Admin),
        Principal::User(login) => Belongs::of(login.eq_ignore_ascii_case(asker.login)),
        Principal::Team { organisation, slug } => {
            let team = Team { organisation: organisation.clone(), slug: slug.clone() };
            match asker.teams.get(&team) {
                Some(belongs) => Belongs::of(*belongs),
                None => Belongs::Perhaps(team),
            }
        }
        // Nobody owns owners.
        Principal::Owners => Belongs::No,
    }
}

const fn default_principal(needs: NeededRight) -> Principal {
    match needs {
        NeededRight::Write => Principal::Write,
        NeededRight::Owner => Principal::Owners,
        NeededRight::Admin => Principal::Admin,
    }
}

fn in_words(principal: &Principal) -> String {
    match principal {
        Principal::Read => "somebody with read permission in this repository".to_owned(),
        Principal::Write => "somebody with write permission in this repository".to_owned(),
        Principal::Admin => "an administrator of this repository".to_owned(),
        Principal::Owners => "an owner of its folder in `CODEOWNERS`".to_owned(),
        Principal::User(login) => format!("`{login}`"),
        Principal::Team { organisation, slug } => format!("a member of `{organisation}/{slug}`"),
    }
}

/// For the help.
pub(super) const fn by_default(needs: NeededRight) -> &'static str {
    match needs {
        NeededRight::Write => "who may write",
        NeededRight::Owner => {
            "owners of the cluster's folder (`CODEOWNERS`); if it has none, people with write permission"
        }
        NeededRight::Admin => "administrators",
    }
}

#[cfg(test)]
#[path = "rights_tests.rs"]
mod tests;
