//! One object that says values: a level or a cluster.

use std::sync::Arc;

use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::ReleaseId;
use capstan_model::object::FieldPath;
use capstan_model::spelling::hint;
use capstan_model::track::Track;
use capstan_model::tree::RepoPath;
use capstan_yaml::{Entry, Node};

use super::super::fields::{Fields, noun};
use super::super::origin::{InventoryLevel, LevelKind};
use super::metadata::read_metadata;

/// A word of an object and its byte in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedWord<T> {
    /// The word.
    pub value: T,
    /// Where it begins.
    pub offset: usize,
}

/// An `Environment`, `Customer`, `Site`, `InfraProvider`, `ClusterDefinition` or `ManagementClusterDefinition`.
#[derive(Debug)]
pub struct Object {
    /// Who it is, and its file.
    pub level: Arc<InventoryLevel>,
    /// Where its document begins.
    pub offset: usize,
    /// The levels that it, or an object that names it, belongs to.
    pub membership: Vec<PlacedWord<(LevelKind, String)>>,
    /// The release that it asks for.
    pub release: Option<PlacedWord<ReleaseId>>,
    /// How far newer releases are followed.
    pub track: Option<PlacedWord<Track>>,
    /// Kustomize components, paths from the repository's root.
    pub components: Vec<PlacedWord<RepoPath>>,
    /// The values, a mapping; `None` where it says none.
    pub values: Option<Node>,
    /// Pointers that lower levels may not set to something else.
    pub finals: Vec<PlacedWord<FieldPath>>,
    /// The folder that a cluster's definition names.
    pub folder: Option<PlacedWord<RepoPath>>,
    /// Where a cluster's definition says `retire: true`.
    pub retire: Option<usize>,
    /// The place of an error in it: an object that names it is refused.
    pub broken: Option<Place>,
}

impl Object {
    /// Reads a document of that kind, whose name is known.
    pub(super) fn read(level: Arc<InventoryLevel>, root: &Node) -> (Self, Vec<Finding>) {
        let mut object = Self {
            level: Arc::clone(&level),
            offset: root.span.start,
            membership: Vec::new(),
            release: None,
            track: None,
            components: Vec::new(),
            values: None,
            finals: Vec::new(),
            folder: None,
            retire: None,
            broken: None,
        };
        let mut fields = Fields::new(&level);
        for entry in fields.entries(root, "", &["apiVersion", "kind", "metadata", "spec"]) {
            match entry.key.as_str() {
                "metadata" => read_metadata(&mut fields, &entry.value, &level.name),
                "spec" => object.spec(&mut fields, &entry.value),
                _ => {}
            }
        }
        object.broken = fields.findings.first().and_then(|finding| finding.place.clone());
        (object, fields.findings)
    }

    fn spec(&mut self, fields: &mut Fields<'_>, node: &Node) {
        let shared: &[&str] = &["in", "release", "track", "components", "values", "final"];
        let known: Vec<&str> = match self.level.kind {
            LevelKind::ClusterDefinition => [shared, &["folder", "retire"]].concat(),
            LevelKind::ManagementClusterDefinition => [shared, &["folder"]].concat(),
            _ => shared.to_vec(),
        };
        // As the API server has it: null is nothing.
        let said = fields.entries(node, "spec.", &known).iter().filter(|entry| !entry.value.is_null());
        for Entry { key, value, .. } in said {
            let at = value.span.start;
            match key.as_str() {
                "in" => self.read_membership(fields, value),
                "release" => {
                    let Some(text) = fields.text(value, "spec.release") else { continue };
                    let id = ReleaseId::from_path(text);
                    if id.version().is_some() && RepoPath::parse(text).is_ok() {
                        self.release = Some(PlacedWord { value: id, offset: at });
                    } else {
                        let message = format!(
                            "`spec.release` must be a release's path, like `openstack/v1.4.0`, found `{text}`"
                        );
                        fields.wrong(rules::INVENTORY_TYPE, at, message);
                    }
                }
                "track" => {
                    let Some(text) = fields.text(value, "spec.track") else { continue };
                    match Track::ALL.into_iter().find(|track| track.to_string() == text) {
                        Some(track) => self.track = Some(PlacedWord { value: track, offset: at }),
                        None => {
                            let known = ["any", "minor", "patch", "none"];
                            let message = format!("`spec.track` has no word `{text}`{}", hint(text, &known));
                            fields.wrong(rules::INVENTORY_TYPE, at, message);
                        }
                    }
                }
                "components" => {
                    for (text, offset) in fields.texts(value, "spec.components") {
                        match RepoPath::parse(text) {
                            Ok(value) if !value.is_root() => {
                                self.components.push(PlacedWord { value, offset });
                            }
                            Ok(_) => fields.wrong(
                                rules::INVENTORY_TYPE,
                                offset,
                                "a component's path must not be empty".to_owned(),
                            ),
                            Err(error) => fields.wrong(rules::INVENTORY_TYPE, offset, error.to_string()),
                        }
                    }
                }
                "values" => self.read_values(fields, value),
                "final" => {
                    for (text, offset) in fields.texts(value, "spec.final") {
                        match FieldPath::parse(text).filter(|path| !path.is_root()) {
                            Some(value) => self.finals.push(PlacedWord { value, offset }),
                            None => {
                                let message = format!(
                                    "`{text}` is not a JSON Pointer to a value: write it like `/network/external`"
                                );
                                fields.wrong(rules::INVENTORY_TYPE, offset, message);
                            }
                        }
                    }
                }
                "folder" => {
                    let Some(text) = fields.text(value, "spec.folder") else { continue };
                    match RepoPath::parse(text) {
                        Ok(path) if !path.is_root() => {
                            self.folder = Some(PlacedWord { value: path, offset: at });
                        }
                        Ok(_) => fields.wrong(
                            rules::INVENTORY_TYPE,
                            at,
                            "`spec.folder` must not be empty".to_owned(),
                        ),
                        Err(error) => fields.wrong(rules::INVENTORY_TYPE, at, error.to_string()),
                    }
                }
                "retire" => match value.value() {
                    serde_json::Value::Bool(retire) => self.retire = retire.then_some(at),
                    _ => {
                        let message = format!("`spec.retire` must be true or false, found {}", noun(value));
                        fields.wrong(rules::INVENTORY_TYPE, at, message);
                    }
                },
                _ => {}
            }
        }
    }

    fn read_membership(&mut self, fields: &mut Fields<'_>, node: &Node) {
        let known = LevelKind::SHARED.map(LevelKind::word);
        let said = fields.entries(node, "spec.in.", &known).iter().filter(|entry| !entry.value.is_null());
        for Entry { key, value, .. } in said {
            let Some(level) = LevelKind::of_word(key) else { continue };
            let Some(name) = fields.text(value, &format!("spec.in.{key}")) else { continue };
            self.membership.push(PlacedWord { value: (level, name.to_owned()), offset: value.span.start });
        }
    }

    fn read_values(&mut self, fields: &mut Fields<'_>, node: &Node) {
        if node.as_mapping().is_none() {
            let message = format!("`spec.values` must be a mapping, found {}", noun(node));
            return fields.wrong(rules::INVENTORY_TYPE, node.span.start, message);
        }
        for entry in node.as_mapping().unwrap_or_default() {
            if matches!(entry.key.as_str(), "cluster" | "levels" | "clusters") {
                let message = format!(
                    "`{}` is not allowed as a name: in templates it is the cluster itself. Choose another",
                    entry.key
                );
                fields.wrong(rules::INVENTORY_TYPE, entry.key_span.start, message);
            }
        }
        self.values = Some(node.clone());
    }
}
