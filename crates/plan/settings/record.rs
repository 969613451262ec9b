//! Writing a cluster's record in its `capstan.yaml`: its release and that release's content.

use std::collections::BTreeMap;

use super::cluster::{ClusterSettings, ComponentsRecord};
use capstan_model::finding::FileError;
use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::object::FieldPath;
use capstan_model::tree::RepoPath;
use capstan_yaml::{
    DocumentEdit, Edit, EditRefused, Node, Scalar, ScalarStyle, YamlError, YamlFile, edit, write,
};

/// Why a record cannot be written. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The file is not YAML.
    #[error("{0}")]
    Yaml(#[from] YamlError),
    /// The file is YAML, but not a cluster's settings.
    #[error("{0}")]
    Settings(#[from] FileError),
    /// The edit would have changed more than the record.
    #[error("{0}")]
    Refused(#[from] EditRefused),
}

/// A release and its content, as a cluster records them.
#[derive(Debug, Clone, Copy)]
pub struct RecordedRelease<'r> {
    pub release: &'r ReleaseId,
    /// Its content, where that has an id.
    pub content: Option<&'r ContentId>,
}

impl RecordedRelease<'_> {
    /// Key and value, in their order; `None` removes the key, so that no stale content remains beside a release.
    fn entries(self) -> [(&'static str, Option<Node>); 3] {
        let reads = self.content.map(|content| &content.reads).filter(|reads| !reads.is_empty());
        let reads = reads.map(|reads| {
            Node::mapping(reads.iter().map(|(path, blob)| (path.to_string(), Node::string(blob.as_str()))))
        });
        [
            ("release", Some(Node::string(self.release.as_str()))),
            ("releaseTree", self.content.map(|content| Node::string(content.tree.as_str()))),
            ("releaseReads", reads),
        ]
    }

    /// What turns the settings in a document into ones with this record.
    pub(crate) fn edits(self, root: &Node) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut after = ["metadata", "kind", "apiVersion"].into_iter().find(|key| root.get(key).is_some());
        for (key, value) in self.entries() {
            let path = FieldPath::root().key(key);
            match (root.get(key), value) {
                (Some(node), Some(value)) if says_the_same(node, &value) => {}
                (Some(_), Some(node)) => edits.push(Edit::Set { path, node }),
                (Some(_), None) => edits.push(Edit::Remove { path }),
                (None, Some(node)) => {
                    let after = after.map(str::to_owned);
                    edits.push(Edit::Insert { parent: FieldPath::root(), key: key.to_owned(), node, after });
                }
                (None, None) => continue,
            }
            after = Some(key);
        }
        edits
    }

    /// The settings in a file that says nothing else but `more`.
    pub(crate) fn node(self, more: Option<(&'static str, Node)>) -> Node {
        let written = self.entries().into_iter().filter_map(|(key, value)| Some((key, value?)));
        Node::mapping(written.chain(more))
    }
}

fn says_the_same(node: &Node, value: &Node) -> bool {
    match (node.as_scalar(), value.as_scalar()) {
        (Some(one), Some(other)) => one.text == other.text,
        _ => node.value() == value.value(),
    }
}

/// The lines by which kustomize and Flux pass over a `capstan.yaml`; `name` is that of the cluster's folder.
pub(crate) fn heading(name: &str) -> Node {
    let truth = Scalar { text: "true".to_owned(), style: ScalarStyle::DoubleQuoted };
    let metadata = Node::mapping([
        ("name", Node::string(name)),
        ("annotations", Node::mapping([("config.kubernetes.io/local-config", Node::scalar(truth))])),
    ]);
    Node::mapping([
        ("apiVersion", Node::string("capstan.dev/v1alpha1")),
        ("kind", Node::string("ClusterSettings")),
        ("metadata", metadata),
    ])
}

/// The same with a value for a variable, where the file says none for it yet.
///
/// # Errors
/// As [`record_release`].
pub fn record_first_release(
    file: &RepoPath,
    text: Option<&str>,
    name: &str,
    record: RecordedRelease<'_>,
    (variable, value): (&str, &str),
) -> Result<String, RecordError> {
    let recorded = record_release(file, text, name, record)?;
    let yaml = YamlFile::read(&recorded)?;
    let Some(root) = yaml.documents().first().map(|document| &document.root) else { return Ok(recorded) };
    let key = "variables";
    let edit_of = |edit| DocumentEdit::Edit { document: 0, edit };
    let only = || Node::mapping([(variable, Node::string(value))]);
    let wanted = match root.get(key) {
        Some(known) if known.get(variable).is_some() => return Ok(recorded),
        Some(known) if known.as_mapping().is_some_and(|entries| !entries.is_empty()) => Edit::Insert {
            parent: FieldPath::root().key(key),
            key: variable.to_owned(),
            node: Node::string(value),
            after: None,
        },
        Some(_) => Edit::Set { path: FieldPath::root().key(key), node: only() },
        None => {
            let after = ["releaseTree", "release"].into_iter().find(|key| root.get(key).is_some());
            Edit::Insert {
                parent: FieldPath::root(),
                key: key.to_owned(),
                node: only(),
                after: after.map(str::to_owned),
            }
        }
    };
    Ok(edit(&yaml, &[edit_of(wanted)])?.text().to_owned())
}

/// The text of a cluster's `capstan.yaml` that has the whole cluster deleted, in the place of single tombstones. Comments
/// and everything else stay.
///
/// # Errors
/// As [`record_release`].
pub fn record_deletion(file: &RepoPath, text: Option<&str>, name: &str) -> Result<String, RecordError> {
    let word = || Node::string("cluster");
    let made = || write(&Node::mapping([("delete", word())]));
    let Some(text) = text else { return Ok(format!("{}{}", write(&heading(name)), made())) };
    ClusterSettings::read(file, text)?;
    let yaml = YamlFile::read(text)?;
    let Some(root) = yaml.documents().first().map(|document| &document.root).filter(|root| !root.is_null())
    else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{}{}", write(&heading(name)), made()));
    };
    let path = FieldPath::root().key("delete");
    let wanted = match root.get("delete") {
        Some(_) => Edit::Set { path, node: word() },
        None => {
            Edit::Insert { parent: FieldPath::root(), key: "delete".to_owned(), node: word(), after: None }
        }
    };
    Ok(edit(&yaml, &[DocumentEdit::Edit { document: 0, edit: wanted }])?.text().to_owned())
}

/// The text of a cluster's `capstan.yaml` with that record. Comments and everything else stay; a file that is
/// not there (or says nothing) is made, with the lines by which kustomize and Flux pass over it.
///
/// `file` is its path, for errors; `name` is the name of the cluster's folder.
///
/// # Errors
/// Where the file is not a cluster's settings, or cannot be edited without touching something else.
pub fn record_release(
    file: &RepoPath,
    text: Option<&str>,
    name: &str,
    record: RecordedRelease<'_>,
) -> Result<String, RecordError> {
    let made = || format!("{}{}", write(&heading(name)), write(&record.node(None)));
    let Some(text) = text else { return Ok(made()) };
    ClusterSettings::read(file, text)?;
    let yaml = YamlFile::read(text)?;
    let Some(root) = yaml.documents().first().map(|document| &document.root).filter(|root| !root.is_null())
    else {
        // Comments alone: they stay on top.
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{}", made()));
    };
    let edits: Vec<DocumentEdit> =
        record.edits(root).into_iter().map(|edit| DocumentEdit::Edit { document: 0, edit }).collect();
    Ok(edit(&yaml, &edits)?.text().to_owned())
}

/// The text of a provider set's `capstan.yaml` that has these digests of components; `None` where there is neither a
/// file nor a digest. Comments and everything else stay.
///
/// # Errors
/// As [`record_release`].
pub fn record_components(
    file: &RepoPath,
    text: Option<&str>,
    name: &str,
    components: &BTreeMap<String, ComponentsRecord>,
) -> Result<Option<String>, RecordError> {
    const KEY: &str = "components";
    let one = |record: &ComponentsRecord| {
        Node::mapping([
            ("version", Node::string(record.version.as_str())),
            ("sha256", Node::string(record.sha256.as_str())),
        ])
    };
    let all = || Node::mapping(components.iter().map(|(label, record)| (label.clone(), one(record))));
    let alone = || format!("{}{}", write(&heading(name)), write(&Node::mapping([(KEY, all())])));
    let Some(text) = text else { return Ok((!components.is_empty()).then(alone)) };
    ClusterSettings::read(file, text)?;
    let yaml = YamlFile::read(text)?;
    let root = yaml.documents().first().map(|document| &document.root).filter(|root| !root.is_null());
    let Some(root) = root else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let made = if components.is_empty() { String::new() } else { alone() };
        return Ok(Some(format!("{text}{gap}{made}")));
    };
    let path = FieldPath::root().key(KEY);
    let wanted = match (root.get(KEY), components.is_empty()) {
        (Some(node), false) if node.value() == all().value() => None,
        (Some(_), false) => Some(Edit::Set { path, node: all() }),
        (Some(_), true) => Some(Edit::Remove { path }),
        (None, true) => None,
        (None, false) => {
            let keys = ["releaseReads", "releaseTree", "release", "metadata", "kind", "apiVersion"];
            let after = keys.into_iter().find(|key| root.get(key).is_some()).map(str::to_owned);
            Some(Edit::Insert { parent: FieldPath::root(), key: KEY.to_owned(), node: all(), after })
        }
    };
    let Some(wanted) = wanted else { return Ok(Some(text.to_owned())) };
    Ok(Some(edit(&yaml, &[DocumentEdit::Edit { document: 0, edit: wanted }])?.text().to_owned()))
}
