//! What an API version leaves behind ([U8]): an object of one version must not hold fields in the shape of
//! another.
//!
//! The three inputs show the fields of either version. A field that stays in (or comes into) an object of the other
//! version is recognised by its path and its type. Its *shape* is the path without indexes. If a release has that
//! shape in the one version, and none has it in the other, the field moved. Then only a person can say where the
//! cluster's own value belongs now.
//!
//! Where definitions of the result's version are known (`capstan_kustomize::schema`), they decide instead.
//!
//! [U8]: crate::merge::fields#u8

use std::collections::{BTreeMap, BTreeSet};

use super::cluster_merge::Sides;
use super::nodes::text;
use crate::substitution::{TextToken, tokens};
use capstan_kustomize::conversion::has_variables;
use capstan_kustomize::schema::{self, Schema, Schemas, Unlisted};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Edit, Node, NodeKind, Value};

/// A field in an object of an API version that none of the inputs has in that place and type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Foreign {
    /// The field, with the indexes of the cluster's lists.
    pub(crate) path: FieldPath,
    /// Byte offset of the cluster's value; `None` where the release's value would come.
    pub(crate) at: Option<usize>,
    /// The value that stays or comes.
    pub(crate) value: Value,
    pub(crate) origin: FieldOrigin,
}

/// Where a foreign field comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldOrigin {
    /// A release has it in another version, in the object's none, or the object's version does not know
    /// it: it moved, or is no more.
    OtherVersion,
    /// The cluster alone has it: it may be in both versions.
    ClusterAlone,
}

/// Whether the inputs are not all of one API version.
pub(crate) fn differ(old: Option<&Node>, cluster: &Node, new: &Node) -> bool {
    let own = version(cluster);
    [old, Some(new)].into_iter().flatten().filter_map(version).any(|other| Some(other) != own)
}

fn version(node: &Node) -> Option<&str> {
    text(node, "apiVersion")
}

/// The API version of the result.
pub(crate) fn version_after<'n>(cluster: &'n Node, edits: &'n [Edit]) -> Option<&'n str> {
    let set = edits.iter().find_map(|edit| match edit {
        Edit::Set { path, node } if *path == FieldPath::root().key("apiVersion") => node.as_scalar(),
        _ => None,
    });
    set.map(|scalar| scalar.text.as_str()).or_else(|| version(cluster))
}

/// The foreign fields of the object that `edits` make of the cluster's.
pub(crate) fn foreign(sides: &Sides, schemas: &Schemas, cluster: &Node, edits: &[Edit]) -> Vec<Foreign> {
    let after = version_after(cluster, edits);
    let kind = text(cluster, "kind").unwrap_or_default();
    let definitions =
        schemas.definitions(kind, after.unwrap_or_default()).map(|(schema, _)| schema).collect();
    let is_native = |node: &Node| version(node) == after;
    let releases = || sides.old.iter().chain([&sides.new]);
    let (mut native, mut other) = (TypeShape::default(), TypeShape::default());
    for node in releases() {
        if is_native(node) { native.learn(node) } else { other.learn(node) }
    }
    let known_old = sides.old.is_some();
    let mut search = FitSearch { definitions, native, other, edits, known_old, found: Vec::new() };
    if is_native(cluster) {
        search.native.learn(cluster);
    } else {
        search.stays(&FieldPath::root(), cluster);
    }
    if !is_native(&sides.new) {
        for edit in edits {
            search.comes(edit);
        }
    }
    search.found
}

/// The types of the values at each path without indexes.
#[derive(Debug, Default)]
struct TypeShape(BTreeMap<String, BTreeSet<ValueType>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ValueType {
    Mapping,
    Sequence,
    String,
    Number,
    Boolean,
    /// Any type, because a variable fills it in.
    Any,
}

fn type_of(node: &Node) -> Option<ValueType> {
    match &node.kind {
        NodeKind::Mapping(_) => Some(ValueType::Mapping),
        NodeKind::Sequence(_) => Some(ValueType::Sequence),
        NodeKind::Scalar(scalar) if matches!(*tokens(&scalar.text), [TextToken::Variable(_)]) => {
            Some(ValueType::Any)
        }
        NodeKind::Scalar(scalar) => match scalar.value() {
            Value::String(_) => Some(ValueType::String),
            Value::Number(_) => Some(ValueType::Number),
            Value::Bool(_) => Some(ValueType::Boolean),
            _ => None,
        },
    }
}

impl TypeShape {
    fn learn(&mut self, node: &Node) {
        self.learn_below(String::new(), node);
    }

    fn learn_below(&mut self, path: String, node: &Node) {
        let Some(of) = type_of(node) else { return };
        match &node.kind {
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    self.learn_below(format!("{path}/{}", entry.key), &entry.value);
                }
            }
            NodeKind::Sequence(items) => {
                items.iter().for_each(|item| self.learn_below(format!("{path}/*"), item));
            }
            NodeKind::Scalar(_) => {}
        }
        self.0.entry(path).or_default().insert(of);
    }

    fn types(&self, path: &str) -> Option<&BTreeSet<ValueType>> {
        self.0.get(path)
    }
}

/// A path without indexes.
fn erased(path: &FieldPath) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!("/{key}"),
        Step::Index(_) | Step::New => "/*".to_owned(),
    };
    path.steps().iter().map(step).collect()
}

/// Names and labels are the same in all versions, and their keys are anybody's.
fn is_metadata(path: &FieldPath) -> bool {
    matches!(path.steps().last(), Some(Step::Key(key)) if matches!(key.as_str(), "metadata" | "apiVersion" | "kind"))
}

/// What a definition says of a place and a value there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefinitionWord {
    /// The field may be there.
    Known,
    /// The server drops or refuses it.
    Refused,
    Nothing,
}

fn definition_word(mut schema: &Schema, path: &FieldPath, node: &Node) -> DefinitionWord {
    for step in path.steps() {
        let below = match step {
            Step::Key(key) => schema.field(key),
            Step::Index(_) | Step::New => schema.item(),
        };
        schema = match (below, schema.unlisted) {
            (Some(below), _) => below,
            (None, Unlisted::Pruned) if matches!(step, Step::Key(_)) => return DefinitionWord::Refused,
            (None, Unlisted::Kept) => return DefinitionWord::Known,
            (None, _) => return DefinitionWord::Nothing,
        };
    }
    let has_variables = node.as_scalar().is_some_and(|scalar| has_variables(&scalar.text));
    let fits = match (schema.kind, type_of(node)) {
        (schema::SchemaType::Any, _) => return DefinitionWord::Nothing,
        (_, None | Some(ValueType::Any)) => true,
        (schema::SchemaType::Object, Some(own)) => own == ValueType::Mapping,
        (schema::SchemaType::Array, Some(own)) => own == ValueType::Sequence,
        (_, Some(ValueType::Mapping | ValueType::Sequence)) => false,
        _ if has_variables => true,
        (schema::SchemaType::String, Some(own)) => own == ValueType::String,
        (schema::SchemaType::Integer | schema::SchemaType::Number, Some(own)) => own == ValueType::Number,
        (schema::SchemaType::Boolean, Some(own)) => own == ValueType::Boolean,
        (schema::SchemaType::IntOrString, Some(own)) => matches!(own, ValueType::String | ValueType::Number),
    };
    if fits { DefinitionWord::Known } else { DefinitionWord::Refused }
}

struct FitSearch<'s> {
    /// Definitions of the result's version.
    definitions: Vec<&'s Schema>,
    /// What the result's version looks like.
    native: TypeShape,
    /// What the releases look like in other versions.
    other: TypeShape,
    edits: &'s [Edit],
    known_old: bool,
    found: Vec<Foreign>,
}

/// How a value fits into the result's version.
enum ValueFit {
    Fits,
    /// Fits with everything in it, because one of the two is a variable.
    Whole,
    Foreign(FieldOrigin),
}

impl FitSearch<'_> {
    /// Looks through what stays of the cluster's object.
    fn stays(&mut self, path: &FieldPath, node: &Node) {
        if is_metadata(path) || self.is_replaced(path) {
            return;
        }
        match self.fit(path, node) {
            ValueFit::Fits => self.each_below(path, node, &mut |search, path, node| search.stays(path, node)),
            ValueFit::Whole => {}
            ValueFit::Foreign(origin) => self.report(path, node, origin),
        }
    }

    /// Of a mapping that moved, what stays in it.
    fn report(&mut self, path: &FieldPath, node: &Node, origin: FieldOrigin) {
        if node.is_null() || self.is_replaced(path) {
            return;
        }
        if origin == FieldOrigin::OtherVersion && node.as_mapping().is_some_and(|entries| !entries.is_empty())
        {
            self.each_below(path, node, &mut |search, path, node| search.report(path, node, origin));
        } else {
            let at = Some(node.span.start);
            self.found.push(Foreign { path: path.clone(), at, value: node.value(), origin });
        }
    }

    fn each_below(
        &mut self,
        path: &FieldPath,
        node: &Node,
        act: &mut dyn FnMut(&mut Self, &FieldPath, &Node),
    ) {
        match &node.kind {
            NodeKind::Mapping(entries) => {
                entries.iter().for_each(|entry| act(self, &path.key(&entry.key), &entry.value));
            }
            NodeKind::Sequence(items) => {
                items.iter().enumerate().for_each(|(at, item)| act(self, &path.index(at), item));
            }
            NodeKind::Scalar(_) => {}
        }
    }

    /// Looks through what an edit brings into an object of another version.
    fn comes(&mut self, edit: &Edit) {
        let (path, node) = match edit {
            Edit::Set { path, node } => (path.clone(), node),
            Edit::Insert { parent, key, node, .. } => (parent.key(key), node),
            Edit::InsertItem { list, node, .. } => (list.join(Step::New), node),
            Edit::Remove { .. } | Edit::Within { .. } => return,
        };
        self.brings(&path, node);
    }

    fn brings(&mut self, path: &FieldPath, node: &Node) {
        if path.steps().iter().any(|step| matches!(step, Step::Key(key) if key == "metadata"))
            || is_metadata(path)
        {
            return;
        }
        match self.fit(path, node) {
            ValueFit::Fits => {
                self.each_below(path, node, &mut |search, path, node| search.brings(path, node))
            }
            ValueFit::Whole => {}
            ValueFit::Foreign(_) => {
                let (path, value) = (path.clone(), node.value());
                self.found.push(Foreign { path, at: None, value, origin: FieldOrigin::OtherVersion });
            }
        }
    }

    fn fit(&self, path: &FieldPath, node: &Node) -> ValueFit {
        let Some(own) = type_of(node) else { return ValueFit::Fits };
        let mut definitions = self.definitions.iter().map(|schema| definition_word(schema, path, node));
        if let Some(first) = definitions.next()
            && definitions.all(|other| other == first)
        {
            match first {
                DefinitionWord::Known => return ValueFit::Fits,
                DefinitionWord::Refused => return ValueFit::Foreign(FieldOrigin::OtherVersion),
                DefinitionWord::Nothing => {}
            }
        }
        let at = erased(path);
        let elsewhere = || self.other.types(&at).is_some_and(|types| types.contains(&own));
        match self.native.types(&at) {
            Some(types) if types.contains(&own) => ValueFit::Fits,
            Some(types) if types.contains(&ValueType::Any) => ValueFit::Whole,
            Some(_) if own == ValueType::Any => ValueFit::Whole,
            // Some fields take numbers and strings: foreign is what a release changed the type of.
            Some(types) => {
                let collection = |of: &ValueType| matches!(of, ValueType::Mapping | ValueType::Sequence);
                let clashes = collection(&own) || types.iter().any(collection);
                if clashes || elsewhere() {
                    ValueFit::Foreign(FieldOrigin::OtherVersion)
                } else {
                    ValueFit::Fits
                }
            }
            // Without the old release it is unknown which of the cluster's fields belong to its version.
            None if elsewhere() || self.other.types(&at).is_some() || !self.known_old => {
                ValueFit::Foreign(FieldOrigin::OtherVersion)
            }
            None => ValueFit::Foreign(FieldOrigin::ClusterAlone),
        }
    }

    fn is_replaced(&self, path: &FieldPath) -> bool {
        self.edits.iter().any(|edit| match edit {
            Edit::Set { path: set, .. } | Edit::Remove { path: set } => set == path,
            _ => false,
        })
    }
}
