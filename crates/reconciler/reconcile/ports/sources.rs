//! How the source of a Fleet is opened.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use secrecy::SecretString;

use super::{Bot, FleetRecord, SourceError, TreeSource};
use crate::reconcile::Ports;

/// The data of the Secret that a source names.
pub type SecretData = BTreeMap<String, SecretString>;

/// An open source, and the bot that goes with it.
#[derive(Clone)]
pub struct OpenSource {
    /// Where trees come from.
    pub tree: Arc<dyn TreeSource>,
    /// Who asks for preflights and hears reports; [`NoBot`](super::NoBot) with a Git URL.
    pub bot: Arc<dyn Bot>,
}

/// Opens sources. The only one who knows which adapters there are.
#[async_trait]
pub trait SourceOpener: Send + Sync {
    /// Opens the source of a Fleet on the management cluster with that UID, which these ports reach. What is wrong with
    /// the Fleet is an error; a remote that does not answer is not: what is kept of it can still be used.
    async fn open(
        &self,
        ports: &Ports,
        fleet: &FleetRecord,
        uid: &str,
        secret: Option<SecretData>,
    ) -> Result<OpenSource, SourceError>;
}
