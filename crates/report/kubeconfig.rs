//! The pull request that puts the kubeconfig of a cluster's owners into Git.

use super::markdown::code;
use capstan_campaign::wording::minute;
use capstan_live::agent::{Kubeconfig, KubeconfigForm};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;

pub fn kubeconfig_title(cluster: &ClusterId) -> String {
    format!("Key of {cluster} for its owners")
}

/// The whole body. It holds the SHA-256, which identifies a declined file.
pub fn kubeconfig_body(cluster: &ClusterId, said: &Kubeconfig, path: &RepoPath) -> String {
    let what = match said.form {
        KubeconfigForm::Age => {
            "is a key of the cluster, encrypted to its owners: only they can decrypt it with `age -d`"
        }
        KubeconfigForm::Plain => "says how to log in, and holds no secret",
    };
    let until = said.expires_at.map(|at| format!(" It is valid until {}.", minute(at)));
    let owners: String = said
        .recipients
        .iter()
        .map(|one| format!("- {}: {}\n", code(one.name.as_str(), 253), code(one.fingerprint.as_str(), 100)))
        .collect();
    format!(
        "{} {what}.{}\n\nCluster {}, SHA-256 `{}`.\n\n{owners}\nGit keeps this file for ever. A person who leaves keeps the file too, but the cluster refuses the key in it.\n",
        code(&path.to_string(), 500),
        until.unwrap_or_default(),
        code(cluster.as_str(), 300),
        said.sha256
    )
}
