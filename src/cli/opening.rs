//! How commands reach the outside world: `main` passes it.

use std::path::Path;

use capstan_ports::{AllowedHosts, ComponentSource, FetchError, Workspace, WorkspaceError};

/// How `main` opens the checkout around a directory.
pub type Open<'a> = &'a dyn Fn(Option<&Path>) -> Result<Box<dyn Workspace>, WorkspaceError>;

/// How `main` speaks to hosts that components come from.
pub type Connect<'a> = &'a dyn Fn(AllowedHosts) -> Result<Box<dyn ComponentSource>, FetchError>;

/// What `main` passes to commands.
#[derive(Clone, Copy)]
pub struct CliOutside<'a> {
    /// Opens a checkout.
    pub open: Open<'a>,
    /// Connects to sources of components: `providers fetch` alone asks for it.
    pub connect: Connect<'a>,
}
