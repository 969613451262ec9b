//! Accounts, and what they may do.

use crate::clock::now;
use crate::store::Signature;

/// What kind of account a login belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountKind {
    User,
    Organization,
    Bot,
}

/// Somebody with a login.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) kind: AccountKind,
}

impl Account {
    /// The identity that commits made on the web carry.
    pub(crate) fn signature(&self) -> Signature {
        Signature { name: self.login.clone(), email: self.email(), seconds: now() }
    }

    pub(crate) fn email(&self) -> String {
        format!("{}+{}@users.noreply.github.com", self.id, self.login)
    }
}

/// What somebody may do in a repository; later includes earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Nothing.
    None,
    Read,
    /// Read, and manage issues and pull requests without writing code.
    Triage,
    /// Push.
    Write,
    /// Push, and manage the repository without its dangerous settings.
    Maintain,
    /// Everything.
    Admin,
}

impl Permission {
    pub(crate) fn role(self) -> &'static str {
        match self {
            Permission::None => "none",
            Permission::Read => "read",
            Permission::Triage => "triage",
            Permission::Write => "write",
            Permission::Maintain => "maintain",
            Permission::Admin => "admin",
        }
    }
}
