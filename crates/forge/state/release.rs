//! Releases of a repository.

use super::account::Account;
use crate::clock::Seconds;

#[derive(Clone, Debug)]
pub(crate) struct ForgeRelease {
    pub(crate) id: u64,
    pub(crate) tag: String,
    pub(crate) prerelease: bool,
    pub(crate) author: Account,
    pub(crate) created_at: Seconds,
    pub(crate) assets: Vec<Asset>,
}

/// A file of a release.
#[derive(Clone, Debug)]
pub(crate) struct Asset {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}
