//! Giant Swarm's `release.yaml`: `release.giantswarm.io/v1alpha1`, kind `Release`.
//!
//! Shapes follow the CRD (<https://github.com/giantswarm/releases/tree/master/sdk/config/crd/bases>). Unknown fields
//! are ignored.

use super::parts::{App, ReleaseComponent, ReleaseState};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::object::api_group;
use capstan_model::tree::RepoPath;
use capstan_model::version::{KubernetesVersion, LooseVersion};
use capstan_yaml::{Node, YamlFile};

/// What a `release.yaml` says.
#[derive(Debug, Default)]
pub(super) struct ReleaseManifest {
    pub(super) state: Option<ReleaseState>,
    pub(super) date: Option<String>,
    pub(super) components: Vec<ReleaseComponent>,
    pub(super) apps: Vec<App>,
}

impl ReleaseManifest {
    /// The component `kubernetes`.
    pub(super) fn kubernetes(&self) -> Option<KubernetesVersion> {
        let component = self.components.iter().find(|component| component.name == "kubernetes")?;
        KubernetesVersion::parse(component.version.as_str())
    }
}

pub(super) fn read(path: &RepoPath, file: &YamlFile) -> Result<ReleaseManifest, FileError> {
    let refuse = |node: Option<&Node>, message: &str| {
        let position = file.position(node.map_or(0, |node| node.span.start));
        FileError::new(rules::INVALID_YAML, Place::at(path.clone(), position), message)
    };
    let is_release = |root: &&Node| {
        text(root, "kind") == Some("Release")
            && text(root, "apiVersion").map(api_group) == Some("release.giantswarm.io")
    };
    let root = file.documents().iter().map(|document| &document.root).find(is_release).ok_or_else(|| {
        refuse(None, "no document is a `Release` of release.giantswarm.io: a release.yaml must have one")
    })?;
    let spec = root.get("spec").ok_or_else(|| refuse(Some(root), "the Release has no `spec`"))?;
    let state = match text(spec, "state") {
        None | Some("active") => None,
        Some("deprecated") => Some(ReleaseState::Deprecated),
        Some("wip") => Some(ReleaseState::Wip),
        Some("preview") => Some(ReleaseState::Preview),
        Some(_) => {
            let message = "`spec.state` must be active, deprecated, wip or preview";
            return Err(refuse(spec.get("state"), message));
        }
    };
    let items = |key: &str| {
        let node = spec.get(key).filter(|node| !node.is_null());
        match node.map(|node| node.as_sequence().ok_or(node)) {
            None => Ok(&[][..]),
            Some(Ok(items)) => Ok(items),
            Some(Err(node)) => Err(refuse(Some(node), &format!("`spec.{key}` must be a list"))),
        }
    };
    let named = |item: &Node| match (scalar(item, "name"), scalar(item, "version")) {
        (Some(name), Some(version)) => Ok((name, LooseVersion::new(&version))),
        _ => Err(refuse(Some(item), "an app or component must have `name` and `version`")),
    };
    let component = |item: &Node| named(item).map(|(name, version)| ReleaseComponent { name, version });
    let app = |item: &Node| {
        let (name, version) = named(item)?;
        let before = item.get("dependsOn").and_then(Node::as_sequence).unwrap_or_default();
        let depends_on = before.iter().filter_map(|app| Some(app.as_scalar()?.text.clone())).collect();
        Ok::<App, FileError>(App { name, version, catalog: scalar(item, "catalog"), depends_on })
    };
    Ok(ReleaseManifest {
        state,
        date: scalar(spec, "date"),
        components: items("components")?.iter().map(component).collect::<Result<_, _>>()?,
        apps: items("apps")?.iter().map(app).collect::<Result<_, _>>()?,
    })
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key)?.as_str()
}

/// A scalar's own text, so that a version `1.30` without quotes stays one.
fn scalar(node: &Node, key: &str) -> Option<String> {
    let value = node.get(key)?;
    if value.is_null() { None } else { Some(value.as_scalar()?.text.clone()) }
}
