//! The two credentials of a cluster, and which Secrets hold them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_ports::CredentialForms;
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value};

/// What a credential is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Cluster API's infrastructure provider, here.
    ClusterApi,
    /// The cloud's controller and its storage driver, inside of the cluster.
    Controllers,
}

impl Purpose {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::ClusterApi, Self::Controllers];

    /// The word for it in labels, and in the names that the cloud has.
    pub const fn word(self) -> &'static str {
        match self {
            // What the first provider is called: Secrets that are there bear it.
            Self::ClusterApi => "capo",
            Self::Controllers => "controllers",
        }
    }

    /// The name of the Secret beside the `Cluster` that holds it.
    pub fn secret_name(self, cluster: &str) -> String {
        match self {
            // As the provider's own templates call it.
            Self::ClusterApi => format!("{cluster}-cloud-config"),
            Self::Controllers => format!("{cluster}-cloud-controllers"),
        }
    }

    /// The data of the Secret, by keys, encoded as Kubernetes wants it.
    pub fn data(self, forms: CredentialForms) -> Map<String, Value> {
        let form = match self {
            Self::ClusterApi => forms.cluster_api,
            Self::Controllers => forms.controllers,
        };
        let encoded = form.into_iter().map(|(key, text)| (key, STANDARD.encode(text.expose_secret()).into()));
        encoded.collect()
    }
}
