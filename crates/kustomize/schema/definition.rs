//! Reading CustomResourceDefinitions: which documents are some, and the versions each defines.
//!
//! `apiextensions.k8s.io/v1`, and `v1beta1` with its one schema for all versions; alone, in a `List`,
//! or in a provider's components, which Cluster API's operator keeps as a string in a ConfigMap.

use super::node::Schema;
use super::read::{Pruning, ReadBudget, read_schema};
use capstan_yaml::{Node, Position, YamlFile};

/// One kind as one document defines it.
#[derive(Debug)]
pub(super) struct KindDefinition {
    pub(super) group: Box<str>,
    pub(super) kind: Box<str>,
    /// Name and schema of each version.
    pub(super) versions: Vec<(Box<str>, Schema)>,
    /// Those that the API server does not serve (`served: false`).
    pub(super) unserved: Vec<Box<str>>,
    /// The document's line.
    pub(super) line: u32,
}

/// What is wrong in a definition: its place, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where.
    pub position: Position,
    /// What was found and what to do.
    pub message: String,
}

/// What a file defines, and what is wrong in it. One flaw hides nothing else.
pub(super) fn read_file(file: &YamlFile) -> (Vec<KindDefinition>, Vec<Flaw>) {
    let mut budget = ReadBudget::default();
    let mut reader = DefinitionReader {
        file,
        within: None,
        budget: &mut budget,
        definitions: Vec::new(),
        flaws: Vec::new(),
    };
    for document in file.documents() {
        reader.document(&document.root);
    }
    (reader.definitions, reader.flaws)
}

/// Flaws of one file that are reported.
const FLAWS: usize = 20;

struct DefinitionReader<'r> {
    file: &'r YamlFile,
    /// Where the file is a string of another: that file, and where the string begins.
    within: Option<(&'r YamlFile, usize)>,
    budget: &'r mut ReadBudget,
    definitions: Vec<KindDefinition>,
    flaws: Vec<Flaw>,
}

impl DefinitionReader<'_> {
    fn document(&mut self, root: &Node) {
        let kind = root.text_at("kind").unwrap_or_default();
        match kind {
            "CustomResourceDefinition" => self.definition(root),
            "List" | "CustomResourceDefinitionList" => {
                for item in root.get("items").and_then(Node::as_sequence).unwrap_or_default() {
                    if item.text_at("kind") == Some("CustomResourceDefinition") {
                        self.definition(item);
                    }
                }
            }
            "ConfigMap" if self.within.is_none() => self.components(root),
            _ => {}
        }
    }

    /// A provider's components in a ConfigMap.
    fn components(&mut self, root: &Node) {
        let Some(components) = root.get("data").and_then(|data| data.get("components")) else { return };
        let Some(text) = components.as_str().filter(|text| text.contains("CustomResourceDefinition")) else {
            return;
        };
        let start = components.span.start;
        match YamlFile::read(text) {
            Ok(inner) => {
                let mut reader = DefinitionReader {
                    file: &inner,
                    within: Some((self.file, start)),
                    budget: self.budget,
                    definitions: Vec::new(),
                    flaws: Vec::new(),
                };
                inner.documents().iter().for_each(|document| reader.document(&document.root));
                let DefinitionReader { definitions, flaws, .. } = reader;
                self.definitions.extend(definitions);
                self.flaws.extend(flaws);
            }
            Err(error) => self.flaws.push(Flaw {
                position: self.file.position(start),
                message: format!("the components in this string are not YAML ({error})"),
            }),
        }
    }

    fn definition(&mut self, root: &Node) {
        let spec = root.get("spec");
        let at = |key: &str| spec.and_then(|spec| spec.get(key));
        let (group, names, versions) = (at("group"), at("names"), at("versions"));
        if group.is_none() && names.is_none() && versions.is_none() && at("version").is_none() {
            // A patch of a definition, as kustomize takes them.
            return;
        }
        let api = root.text_at("apiVersion").unwrap_or_default();
        let is_old = match api {
            "apiextensions.k8s.io/v1" => false,
            "apiextensions.k8s.io/v1beta1" => true,
            other => {
                let message = format!(
                    "a CustomResourceDefinition of `{other}` is not known: use apiextensions.k8s.io/v1"
                );
                return self.flaw(root.get("apiVersion").unwrap_or(root), message);
            }
        };
        let group = group.and_then(Node::as_str);
        let kind = names.and_then(|names| names.get("kind")).and_then(Node::as_str);
        let (Some(group), Some(kind)) = (group, kind) else {
            let missing = if group.is_none() { "spec.group" } else { "spec.names.kind" };
            let message = format!("this definition has no `{missing}`, so it defines nothing");
            return self.flaw(names.or(spec).unwrap_or(root), message);
        };
        let preserves = at("preserveUnknownFields").map_or(is_old, |node| node.value() == true);
        let pruning = if preserves { Pruning::Off } else { Pruning::On };
        let shared = at("validation").and_then(|validation| validation.get("openAPIV3Schema"));
        let (mut read, mut unserved) = (Vec::new(), Vec::<Box<str>>::new());
        for version in versions.and_then(Node::as_sequence).unwrap_or_default() {
            let Some(name) = version.text_at("name") else {
                self.flaw(version, "this version has no `name`".to_owned());
                continue;
            };
            if version.get("served").is_some_and(|served| served.value() == false) {
                unserved.push(name.into());
            }
            let own = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
            match own.or(shared) {
                Some(schema) => read.push((name, schema, replicas(version).or(spec.and_then(replicas)))),
                None if is_old => {}
                None => self.flaw(
                    version,
                    format!("version {name} of {kind} has no `schema.openAPIV3Schema`, which v1 requires"),
                ),
            }
        }
        if let (Some(name), Some(schema), true) =
            (at("version").and_then(Node::as_str), shared, versions.is_none())
        {
            read.push((name, schema, spec.and_then(replicas)));
        }
        let mut known = Vec::new();
        for (name, node, replicas) in read {
            let mut flaws = Vec::new();
            let mut schema = read_schema(node, pruning, self.budget, &mut flaws);
            if let Some(field) = replicas.and_then(|path| at_mut(&mut schema, path)) {
                field.limits.get_or_insert_default().add_scale();
            }
            known.push((name.into(), schema));
            for (node, message) in flaws {
                self.flaw(node, message);
            }
        }
        let line = self.position(root).line;
        if !known.is_empty() {
            self.definitions.push(KindDefinition {
                group: group.into(),
                kind: kind.into(),
                versions: known,
                unserved,
                line,
            });
        }
    }

    /// In the file, even if the node is in a string of it.
    fn position(&self, node: &Node) -> Position {
        let at = node.span.start;
        match self.within {
            None => self.file.position(at),
            Some((outer, start)) => outer.position(outer.offset_inside(start, self.file.text(), at)),
        }
    }

    fn flaw(&mut self, node: &Node, message: String) {
        if self.flaws.len() < FLAWS {
            let position = self.position(node);
            self.flaws.push(Flaw { position, message });
        }
    }
}

/// Where the replicas of a kind are that can be scaled (`.spec.replicas`).
fn replicas(version: &Node) -> Option<&str> {
    version.get("subresources")?.get("scale")?.text_at("specReplicasPath")
}

fn at_mut<'s>(schema: &'s mut Schema, path: &str) -> Option<&'s mut Schema> {
    path.strip_prefix('.')?.split('.').try_fold(schema, Schema::listed_mut)
}
