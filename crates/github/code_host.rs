//! [`GitHub`] as the [`CodeHost`] of the use cases: it has every subject. Their calls are in the neighbouring files.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::OnceCell;
use url::Url;

use capstan_budget::Meter;
use capstan_ports::{CodeHost, Contents, Stacks, Statuses};

use super::app_client::AppClient;
use super::connect::{ConnectError, http_client};
use super::credentials::AppCredentials;
use super::layers::{LayerState, begin_counts};
use super::limits::GitHubLimits;
use super::transport::Transport;

/// GitHub as one App sees it. Cheap to share; holds tokens, in memory only.
pub struct GitHub {
    pub(super) transport: Transport,
    pub(super) app_id: u64,
    pub(super) slug: OnceCell<String>,
    /// The server is older than merge queues: it was asked for one, and knows no such field.
    pub(super) lacks_merge_queues: AtomicBool,
}

impl GitHub {
    /// Prepares to talk to the API at `api_url` (`https://api.github.com`, `https://ghes.example/api/v3`);
    /// plain HTTP is taken on this machine and within the cluster only. Nothing is sent yet, but a Tokio runtime must be there.
    pub fn connect(
        api_url: &Url,
        credentials: AppCredentials,
        limits: GitHubLimits,
    ) -> Result<Self, ConnectError> {
        let (client, rest) = http_client(api_url, limits.timeout)?;
        let shared = Arc::new(LayerState::new(rest, client, limits));
        let app_id = credentials.0.app_id.into_inner();
        Ok(Self {
            transport: Transport::new(AppClient::new(credentials, shared)),
            app_id,
            slug: OnceCell::new(),
            lacks_merge_queues: AtomicBool::new(false),
        })
    }

    /// Counts what is asked as the App and its installations, and asks no more than there is.
    #[must_use]
    pub fn within(self, meter: Meter) -> Self {
        begin_counts();
        // A second one would count from the beginning what the first has counted.
        let _first = self.transport.client.shared.meter.set(meter);
        self
    }
}

impl std::fmt::Debug for GitHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitHub")
            .field("api", &self.transport.client.shared.rest.as_str())
            .finish_non_exhaustive()
    }
}

impl CodeHost for GitHub {
    fn stacks(&self) -> Option<&dyn Stacks> {
        Some(self)
    }

    fn statuses(&self) -> Option<&dyn Statuses> {
        Some(self)
    }

    fn contents(&self) -> Option<&dyn Contents> {
        Some(self)
    }
}
