//! Writing a cluster's record: `release` and `releaseTree` in its `capstan.yaml`.

use super::cluster::ClusterSettings;
use super::error::SettingsError;
use crate::object::FieldPath;
use crate::release::ReleaseId;
use crate::tree::{RepoPath, TreeId};
use crate::yaml::{DocumentEdit, Edit, EditRefused, edit};
use crate::yaml::{Node, Scalar, YamlError, YamlFile};

/// Why a record cannot be written. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The file is no YAML.
    #[error("{0}")]
    Yaml(#[from] YamlError),
    /// The file is YAML, but not a cluster's settings.
    #[error("{0}")]
    Settings(#[from] SettingsError),
    /// The edit would have changed more than the record.
    #[error("{0}")]
    Refused(#[from] EditRefused),
}

/// The text of a cluster's `capstan.yaml` with the record of that release. Comments and everything else
/// stay; a file that is not there (or says nothing) is made, with the lines by which kustomize and
/// Flux pass over it.
///
/// `file` is where it stands, for errors; `name` is the name of the cluster's folder.
///
/// # Errors
/// Where the file is no cluster's settings, or cannot be edited without touching something else.
pub fn record_release(
    file: &RepoPath,
    text: Option<&str>,
    name: &str,
    release: &ReleaseId,
    tree: Option<&TreeId>,
) -> Result<String, RecordError> {
    let record = record(release, tree);
    let Some(text) = text else { return Ok(new_file(name, &record)) };
    ClusterSettings::read(file, text)?;
    let yaml = YamlFile::read(text)?;
    let Some(root) = yaml.documents().first().map(|document| &document.root).filter(|root| !root.is_null())
    else {
        // Comments alone: they stay on top.
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{}", new_file(name, &record)));
    };
    let mut edits = Vec::new();
    let mut after =
        ["metadata", "kind", "apiVersion"].into_iter().find(|key| root.get(key).is_some()).map(str::to_owned);
    for (key, value) in record {
        let path = FieldPath::root().key(key);
        match (root.get(key), value) {
            (Some(node), Some(value)) if node.as_str() == Some(value.as_str()) => {}
            (Some(_), Some(value)) => edits.push(Edit::Set { path, node: string(value) }),
            (Some(_), None) => edits.push(Edit::Remove { path }),
            (None, Some(value)) => edits.push(Edit::Insert {
                parent: FieldPath::root(),
                key: key.to_owned(),
                node: string(value),
                after: after.clone(),
            }),
            (None, None) => {}
        }
        after = Some(key.to_owned());
    }
    let edits: Vec<DocumentEdit> =
        edits.into_iter().map(|edit| DocumentEdit::Edit { document: 0, edit }).collect();
    Ok(edit(&yaml, &edits)?.text().to_owned())
}

/// Key and value, in their order; `None` takes the key out, so that no stale tree stands beside a release.
fn record(release: &ReleaseId, tree: Option<&TreeId>) -> [(&'static str, Option<String>); 2] {
    [("release", Some(release.to_string())), ("releaseTree", tree.map(ToString::to_string))]
}

fn string(text: String) -> Node {
    Node::scalar(Scalar::string(text))
}

fn new_file(name: &str, record: &[(&'static str, Option<String>)]) -> String {
    let metadata = Node::mapping([
        ("name", string(name.to_owned())),
        ("annotations", Node::mapping([("config.kubernetes.io/local-config", string("true".to_owned()))])),
    ]);
    let header = [
        ("apiVersion", string("capstan.dev/v1alpha1".to_owned())),
        ("kind", string("ClusterSettings".to_owned())),
        ("metadata", metadata),
    ];
    let written = record.iter().filter_map(|(key, value)| Some((*key, string(value.clone()?))));
    crate::yaml::write(&Node::mapping(header.into_iter().chain(written)))
}
