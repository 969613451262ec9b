//! Flux Kustomizations that apply a folder to another cluster: with `kubeConfig`
//! (<https://fluxcd.io/flux/components/kustomize/kustomizations/#kubeconfig-remote-clusters>).

use serde_json::Value;

use capstan_model::object::api_group;
use capstan_model::tree::RepoPath;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FluxRemote {
    /// The Secret that holds the other cluster's kubeconfig.
    secret: String,
    pub folder: RepoPath,
}

impl FluxRemote {
    /// Reads an object. `None` if it is not one of them, if its path is itself a template, or if its source is not
    /// a Git repository.
    pub fn read(object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer)?.as_str();
        let is_flux = api_group(text("/apiVersion")?) == "kustomize.toolkit.fluxcd.io";
        if !is_flux || text("/kind")? != "Kustomization" {
            return None;
        }
        let path = text("/spec/path").unwrap_or_default();
        let from_git = text("/spec/sourceRef/kind").is_none_or(|kind| kind == "GitRepository");
        if path.contains("${") || !from_git {
            return None;
        }
        Some(Self {
            secret: text("/spec/kubeConfig/secretRef/name")?.to_owned(),
            folder: RepoPath::root().join(path.trim_start_matches('/')).ok()?,
        })
    }

    /// Whether it reaches the cluster of that name: Cluster API puts a cluster's kubeconfig into a Secret
    /// called after it (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane>).
    pub fn reaches(&self, cluster: &str) -> bool {
        self.secret.strip_suffix("-kubeconfig") == Some(cluster)
    }
}
