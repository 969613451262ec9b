//! Who asks which Vault, and with whose rights.

use jiff::Timestamp;

use super::memory::VaultSecrets;
use crate::reconcile::dependencies::Ports;
use capstan_ports::{As, ServiceAccount};

/// What it takes to ask Vault and the API server for one VaultSecret.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) vault: &'a VaultSecrets,
    pub(super) ports: &'a Ports,
    /// With whose rights the namespace is read and written.
    pub(super) by: &'a As,
    /// Who logs in.
    pub(super) account: &'a ServiceAccount,
    pub(super) now: Timestamp,
}
