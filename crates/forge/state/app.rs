//! The App, its installations, and tokens.

use std::collections::{BTreeMap, BTreeSet};

use super::account::Account;
use super::repository::ForgeRepository;
use crate::app_key::AppKey;
use crate::clock::Seconds;

/// The App as it was registered.
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) slug: String,
    pub(crate) owner: Account,
    pub(crate) bot: Account,
    pub(crate) key: AppKey,
    pub(crate) webhook_secret: String,
    pub(crate) client_secret: String,
    /// Where people who sign in may be sent back to; none may where it is `None`.
    pub(crate) callback: Option<String>,
    pub(crate) webhook_url: Option<String>,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) events: Vec<String>,
    pub(crate) created_at: Seconds,
}

impl App {
    /// What the App is called where people sign in.
    pub(crate) fn client_id(&self) -> String {
        format!("Iv1.{:016x}", self.id)
    }
}

/// Somebody said who they are, and is on the way back with a code.
#[derive(Clone, Debug)]
pub(crate) struct Authorization {
    pub(crate) account: Account,
    pub(crate) callback: String,
    /// SHA-256 of the proof key (PKCE), in base64url.
    pub(crate) challenge: Option<String>,
}

/// Somebody agreed to a manifest, and is on the way back with a code.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) name: String,
    /// A login.
    pub(crate) owner: String,
    /// Where the browser goes.
    pub(crate) back: String,
    pub(crate) webhook_url: String,
    pub(crate) callback: Option<String>,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) events: Vec<String>,
}

/// Which repositories of an account an installation covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of them, future ones included.
    All,
    /// Those with these names (`owner/name`).
    Selected(BTreeSet<String>),
}

/// The App on one account.
#[derive(Clone, Debug)]
pub(crate) struct AppInstallation {
    pub(crate) id: u64,
    pub(crate) account: Account,
    pub(crate) selection: Selection,
    pub(crate) suspended: bool,
    pub(crate) created_at: Seconds,
}

impl AppInstallation {
    pub(crate) fn covers(&self, repository: &ForgeRepository) -> bool {
        !self.suspended
            && self.account.login == repository.owner.login
            && match &self.selection {
                Selection::All => true,
                Selection::Selected(names) => names.contains(&repository.full_name()),
            }
    }
}

/// The owner of a bearer token.
#[derive(Clone, Debug)]
pub(crate) enum BearerToken {
    User(Account),
    Installation {
        installation: u64,
        permissions: BTreeMap<String, String>,
        /// Names (without owner) the token is limited to.
        repositories: Option<BTreeSet<String>>,
        expires_at: Seconds,
    },
}
