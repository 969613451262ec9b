//! Which folder a Flux Kustomization applies, with or without substitution.

use capstan_model::object::api_group;
use capstan_model::tree::RepoPath;
use capstan_yaml::Node;

/// What a Flux Kustomization applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Apply {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    /// Where `spec.path` leads.
    pub(crate) path: RepoPath,
    /// Whether its source is a Git repository, so that the path may be one of this one.
    pub(crate) from_git: bool,
}

/// Reads a document. `None` if it is not a Flux Kustomization, or if its path is itself a template.
pub(crate) fn read_apply(root: &Node) -> Option<Apply> {
    let is_flux = api_group(root.get("apiVersion")?.as_str()?) == "kustomize.toolkit.fluxcd.io";
    if !is_flux || root.get("kind")?.as_str()? != "Kustomization" {
        return None;
    }
    let spec = root.get("spec")?;
    let metadata = root.get("metadata")?;
    let below = spec.text_at("path").unwrap_or_default();
    if below.contains("${") {
        return None;
    }
    let source = spec.get("sourceRef").and_then(|source| source.text_at("kind"));
    Some(Apply {
        name: metadata.text_at("name")?.to_owned(),
        namespace: metadata.text_at("namespace").map(str::to_owned),
        path: RepoPath::root().join(below.trim_start_matches('/')).ok()?,
        from_git: source.is_none_or(|kind| kind == "GitRepository"),
    })
}
