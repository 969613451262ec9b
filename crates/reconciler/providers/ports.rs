//! What a pass works with.

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_live::installing::InstallOwner;
use capstan_live::installing::pass::InstallPatience;
use jiff::SignedDuration;
use tokio::sync::watch;

use crate::gate::Gate;
use crate::reconcile::{DryRunCache, Operators};
use capstan_fleet::components::Downloads;
use capstan_ports::{As, Clock, LiveError, Post, ServiceAccount};

/// What a pass needs.
#[derive(Clone)]
pub struct ProviderPorts {
    /// The management cluster, behind the fence of the leader.
    pub live: Arc<Gate>,
    /// With whose rights everything is done.
    pub account: ServiceAccount,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What was tried and needs no second try.
    pub tried: Arc<DryRunCache>,
    /// What was seen of Cluster API operators here.
    pub operators: Arc<Operators>,
    /// How long workloads, webhooks, definitions and the ends of pods are waited for, each time.
    pub limit: SignedDuration,
    /// Fetches components that are lacking.
    pub downloads: Downloads,
    /// Receives what is worth watching, as soon as that is known.
    pub watched: watch::Sender<BTreeSet<Post>>,
}

impl ProviderPorts {
    /// Who installs providers here.
    ///
    /// # Errors
    /// Deployments or Leases cannot be listed.
    pub async fn owner(&self) -> Result<InstallOwner, LiveError> {
        self.operators.look(self.live.as_ref(), &self.by()).await
    }

    pub(super) fn watch(&self, posts: BTreeSet<Post>) {
        self.watched.send_if_modified(|known| {
            let is_new = *known != posts;
            *known = posts;
            is_new
        });
    }

    pub(super) fn patience(&self) -> InstallPatience {
        InstallPatience { now: self.clock.now(), limit: self.limit }
    }

    pub(super) fn by(&self) -> As {
        As::Impersonated(self.account.clone())
    }
}
