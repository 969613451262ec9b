//! The file in which the owners of a cluster find its key, on its way to the bot.
//!
//! [`GitOwners`](super::GitOwners) judges what of it the bot accepts, and serves or proposes: nothing that holds a
//! secret in the open. So a reader of the bot's database finds no key.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::words::Words;
use super::{bounded, limits};
use capstan_model::ids::ClusterId;
use capstan_plan::settings::RepositoryName;

/// Has a file published, or none any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeconfigRequest {
    pub repository: RepositoryName,
    pub cluster: ClusterId,
    /// `None`: there is none any more.
    #[serde(default)]
    pub file: Option<KubeconfigFile>,
}

/// A file with its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeconfigFile {
    /// What is known of it.
    pub said: Kubeconfig,
    /// The file, in base64.
    #[serde(deserialize_with = "bounded::text::<_, { limits::KUBECONFIG_BASE64 }>")]
    pub content: String,
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubeconfig {
    /// What it is.
    pub form: KubeconfigForm,
    /// SHA-256 of the file in lowercase hex digits.
    #[serde(deserialize_with = "bounded::sha256")]
    pub sha256: String,
    /// The recipients that it is encrypted to.
    #[serde(default, deserialize_with = "bounded::at_most::<_, _, { limits::OWNERS }>")]
    pub recipients: Vec<KubeconfigRecipient>,
    /// When what is in it ends.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Where it is to be found.
    #[serde(default)]
    pub place: KubeconfigPlace,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KubeconfigForm {
    /// Encrypted by age: `kubeconfig.age`.
    Age,
    /// Without a secret: `kubeconfig`.
    Plain,
}

impl KubeconfigForm {
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Age => "kubeconfig.age",
            Self::Plain => "kubeconfig",
        }
    }
}

/// Where a file is to be found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KubeconfigPlace {
    #[default]
    Bot,
    /// There, and in the cluster's folder.
    Git,
}

/// A recipient that a file is encrypted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeconfigRecipient {
    /// What Git calls them.
    pub name: Words,
    /// The fingerprint of their public key.
    pub fingerprint: Words,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_larger_than_it_may_be_is_not_read() {
        let file = |sha256: &str, content: usize| {
            let said = json!({"form": "age", "sha256": sha256});
            json!({"said": said, "content": "A".repeat(content)})
        };
        let reads = |file: Value| serde_json::from_value::<KubeconfigFile>(file).is_ok();
        let digest = "ab".repeat(32);
        assert!(reads(file(&digest, limits::KUBECONFIG_BASE64)));
        assert!(!reads(file(&digest, limits::KUBECONFIG_BASE64 + 1)));
        for other in ["", "ab", &"AB".repeat(32), &"ab".repeat(33), &format!("{}`|", "ab".repeat(31))] {
            assert!(!reads(file(other, 4)), "{other}");
        }
    }
}
