//! Making the GitHub App where there is none: pages on the internal listener, until an App is kept.

use std::path::PathBuf;
use std::sync::Arc;

use capstan::cli::CommandFailure;
use capstan::config::{KeptApp, SetupConfig, keep_app, try_to_keep};
use capstan_bot::setup::Setup;
use capstan_github::{GitHubLimits, GitHubManifests};
use capstan_ports::{AppKeeper, Clock, CreatedApp, SystemClock};
use capstan_serve::bind_internal;
use capstan_server::{self as server, SetUp, SetupParts};
use secrecy::ExposeSecret as _;
use tokio_util::sync::CancellationToken;

use super::failed;

/// Keeps the App in the state directory.
struct StateDirectory(PathBuf);

impl AppKeeper for StateDirectory {
    fn try_to_keep(&self) -> std::io::Result<()> {
        try_to_keep(&self.0)
    }

    fn keep(&self, app: &CreatedApp) -> std::io::Result<PathBuf> {
        let app = KeptApp {
            id: app.id,
            private_key: &app.private_key,
            webhook_secret: &app.webhook_secret,
            client_id: &app.client_id,
            client_secret: &app.client_secret,
        };
        keep_app(&self.0, &app)
    }
}

/// Shows `/setup` until an App is kept.
pub(super) async fn run(config: SetupConfig, stop: CancellationToken) -> Result<SetUp, CommandFailure> {
    let public = server::bind(config.listen, "--listen").await.map_err(failed)?;
    let internal = bind_internal(config.internal_listen).await.map_err(failed)?;
    let address = internal.local_addr().map_err(failed)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let manifests = GitHubManifests::connect(&config.api_url, GitHubLimits::default()).map_err(failed)?;
    let keeper = StateDirectory(config.state_dir);
    let setup = Setup::new(Arc::new(manifests), Arc::new(keeper), Arc::clone(&clock)).map_err(failed)?;
    // The one thing that the log is given of secrets: without an App there is nothing else that only an operator knows.
    // The token is good until an App is made, the ticket once, and both for that alone.
    let token = setup.token().expose_secret().to_owned();
    match setup.ticket().filter(|_| address.ip().is_loopback()) {
        Some(ticket) => {
            let open = format!("http://{address}/setup?ticket={}", ticket.expose_secret());
            tracing::warn!(%address, open, token, "no GitHub App is configured: open the address, which works once, or http://{address}/setup with this token");
        }
        // Others would see the address on its way.
        None => {
            tracing::warn!(%address, token, "no GitHub App is configured: create one at http://{address}/setup, with this token");
        }
    }
    let parts = SetupParts {
        setup: Arc::new(setup),
        public_url: config.public_url,
        web_url: config.web_url,
        callback: config.callback,
        clock,
    };
    server::serve_setup(public, internal, parts, stop).await.map_err(failed)
}
