//! An object on its way to another version: what is done to it, what is said of it, and what keeps it from there.

use crate::conversion::apply::{Did, apply_step};
use crate::conversion::paths::before;
use crate::conversion::refusal::ConversionRefusal;
use crate::conversion::step::ConversionStep::{self, Add, Move, Remove};
use crate::conversion::step::{AtHand, ConversionNote};
use capstan_model::object::FieldPath;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Node, NodeKind, YamlFile};

/// An object during its conversion, and the result so far.
pub(super) struct TableRun<'a> {
    /// The object before all steps.
    was: &'a Node,
    /// The object after the steps.
    pub(super) object: Node,
    pub(super) steps: Vec<ConversionStep>,
    pub(super) notes: Vec<ConversionNote>,
    pub(super) refused: Vec<ConversionRefusal>,
    at_hand: AtHand,
}

/// The object at a path below a place: `a.b`.
pub(super) fn below(base: &FieldPath, relative: &str) -> FieldPath {
    relative.split('.').filter(|key| !key.is_empty()).fold(base.clone(), |path, key| path.key(key))
}

impl<'a> TableRun<'a> {
    pub(super) fn new(was: &'a Node, at_hand: AtHand) -> Self {
        let object = was.clone();
        Self { was, object, steps: Vec::new(), notes: Vec::new(), refused: Vec::new(), at_hand }
    }

    /// Whether what is absent in the object is absent in the cluster.
    pub(super) fn is_whole(&self) -> bool {
        self.at_hand != AtHand::Part
    }

    /// Whether what the newer version requires has to be there.
    pub(super) fn is_complete(&self) -> bool {
        self.at_hand == AtHand::Whole
    }

    pub(super) fn step(&mut self, step: ConversionStep) {
        if apply_step(&mut self.object, &step) == Did::Something {
            self.steps.push(step);
        }
    }

    /// Where a field was that is now at a path.
    fn origin(&self, path: &FieldPath) -> FieldPath {
        before(&self.steps, path)
    }

    pub(super) fn note(&mut self, path: &FieldPath, text: impl Into<String>) {
        let field = self.origin(path);
        self.notes.push(ConversionNote { field, text: text.into() });
    }

    pub(super) fn refuse(&mut self, path: &FieldPath, why: impl Into<String>, advice: impl Into<String>) {
        let field = self.origin(path);
        let value = self.was.at(&field).or_else(|| self.object.at(path)).map(Node::value);
        self.refused.push(ConversionRefusal {
            field,
            value,
            why: why.into(),
            advice: advice.into(),
            asks: false,
        });
    }

    pub(super) fn ask(&mut self, path: &FieldPath, why: impl Into<String>, advice: impl Into<String>) {
        self.refuse(path, why, advice);
        if let Some(refused) = self.refused.last_mut() {
            refused.asks = true;
        }
    }

    /// A value that says something. In a whole object, `null` says nothing and goes.
    pub(super) fn found(&mut self, path: &FieldPath) -> Option<Node> {
        let node = self.object.at(path)?.clone();
        if node.is_null() && self.is_whole() {
            self.step(Remove { at: path.clone() });
            return None;
        }
        Some(node)
    }

    /// Moves a value to a place where nothing may be yet.
    pub(super) fn go(&mut self, from: &FieldPath, to: &FieldPath) {
        if self.object.at(to).is_some_and(|node| !node.is_null()) {
            let why = format!("{from} goes here, and the older version has no such field");
            return self.refuse(to, why, "remove one of the two");
        }
        self.step(Move { from: from.clone(), to: to.clone() });
    }

    /// Writes a value, given as YAML, where nothing says anything.
    pub(super) fn write(&mut self, place: &FieldPath, yaml: &str) {
        let Some(value) = written(yaml) else { return };
        self.step(Remove { at: place.clone() });
        self.step(Add { at: place.clone(), value });
    }
}

/// A value of a table, which is written as YAML.
pub(super) fn written(yaml: &str) -> Option<Node> {
    let read = YamlFile::read(yaml).ok()?;
    read.documents().first().map(|document| own(&document.root))
}

/// A value without its place in the text.
pub(super) fn own(node: &Node) -> Node {
    Node { span: 0..0, shared: false, ..node.clone() }
}

/// Whether a value is more than an empty text, list or mapping, at whatever depth.
pub(super) fn says_something(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.iter().any(|entry| says_something(&entry.value)),
        NodeKind::Sequence(items) => !items.is_empty(),
        NodeKind::Scalar(scalar) => !matches!(
            scalar.reading(),
            ScalarReading::Null
                | ScalarReading::String("")
                | ScalarReading::Integer(0)
                | ScalarReading::Bool(false)
        ),
    }
}

/// Whether nothing is written there: no value, or an empty one.
pub(super) fn is_empty(node: &Node) -> bool {
    node.is_null() || node.is_empty_collection() || node.as_str() == Some("")
}
