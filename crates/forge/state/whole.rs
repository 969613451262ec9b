//! Everything that the forge knows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use super::account::Account;
use super::app::{App, AppInstallation, Authorization, BearerToken, Registration};
use super::repository::ForgeRepository;
use crate::clock::{Seconds, now};
use crate::error::ApiError;
use crate::faults::Faults;
use crate::log::Log;
use crate::outbox::Outbox;

/// A team of an organization.
#[derive(Clone, Debug, Default)]
pub(crate) struct Team {
    pub(crate) id: u64,
    pub(crate) members: BTreeSet<String>,
}

/// Everything; guarded by one lock.
pub(crate) struct State {
    pub(crate) web: String,
    /// The server that hands out files of releases, where it is another one.
    pub(crate) storage: Option<String>,
    /// The version of a GitHub Enterprise Server, where it is one.
    pub(crate) enterprise: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) last_id: u64,
    /// The last of those events whose order their times show.
    pub(crate) last_event: Seconds,
    pub(crate) accounts: BTreeMap<String, Account>,
    /// `organization/slug` to team.
    pub(crate) teams: BTreeMap<String, Team>,
    pub(crate) app: App,
    pub(crate) installations: BTreeMap<u64, AppInstallation>,
    pub(crate) tokens: HashMap<String, BearerToken>,
    /// By code; each is good once.
    pub(crate) authorizations: HashMap<String, Authorization>,
    /// Manifests that somebody agreed to, by their code.
    pub(crate) registrations: HashMap<String, Registration>,
    pub(crate) repositories: BTreeMap<String, ForgeRepository>,
    pub(crate) outbox: Outbox,
    pub(crate) faults: Faults,
    pub(crate) log: Log,
    /// How often a read says that mergeability is being computed before it is.
    pub(crate) mergeability_reads: u32,
    /// What the first page says above the repositories, in Markdown.
    pub(crate) welcome: String,
}

impl State {
    pub(crate) fn fresh_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The second of something that people do. GitHub's times are whole seconds; here things happen within one that
    /// take people minutes, so that each has a second of its own.
    pub(crate) fn next_second(&mut self) -> Seconds {
        self.last_event = now().max(self.last_event + 1);
        self.last_event
    }

    pub(crate) fn account(&self, login: &str) -> Result<&Account, ApiError> {
        self.accounts
            .values()
            .find(|account| account.login.eq_ignore_ascii_case(login))
            .ok_or_else(ApiError::not_found)
    }

    pub(crate) fn repository(&self, full_name: &str) -> Result<&ForgeRepository, ApiError> {
        self.repositories.get(&full_name.to_ascii_lowercase()).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn repository_mut(&mut self, full_name: &str) -> Result<&mut ForgeRepository, ApiError> {
        self.repositories.get_mut(&full_name.to_ascii_lowercase()).ok_or_else(ApiError::not_found)
    }

    /// The installation that covers a repository.
    pub(crate) fn installation_for(&self, repository: &ForgeRepository) -> Option<&AppInstallation> {
        self.installations.values().find(|installation| installation.covers(repository))
    }
}
