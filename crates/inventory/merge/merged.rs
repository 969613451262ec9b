//! A value after merging: the value, the object that sets it, and those that it overrides.

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Node, NodeKind, Scalar, Value};
use serde_json::Map;

use crate::origin::InventoryOrigin;

/// A value with its history.
#[derive(Debug, Clone)]
pub struct MergedValue {
    /// What it is.
    pub kind: MergedKind,
    /// Who says it; of a mapping or list that several say, who said it first.
    pub origin: InventoryOrigin,
    /// What that overrides, the last one first.
    pub overrides: Vec<Overridden>,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum MergedKind {
    /// Somebody says `null`: it is not there, whatever upper levels and the default say.
    Absent,
    Scalar(Scalar),
    /// A mapping.
    Map(Vec<(String, MergedValue)>),
    List(Vec<MergedValue>),
}

/// A value that a lower level overrides.
#[derive(Debug, Clone)]
pub struct Overridden {
    /// Who said it.
    pub origin: InventoryOrigin,
    /// What it was; null where it was made absent.
    pub value: Value,
}

impl MergedKind {
    /// `a mapping`, `a list`, `a scalar`, `nothing`
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::Scalar(_) => "a scalar",
            Self::Map(_) => "a mapping",
            Self::List(_) => "a list",
        }
    }
}

impl MergedValue {
    /// A value that overrides nothing.
    pub const fn new(kind: MergedKind, origin: InventoryOrigin) -> Self {
        Self { kind, origin, overrides: Vec::new() }
    }

    /// A node with each value at its own place.
    pub fn of_node(node: &Node, origin: &InventoryOrigin) -> Self {
        let at = |node: &Node| InventoryOrigin::new(origin.level.clone(), node.span.start);
        let kind = match &node.kind {
            NodeKind::Scalar(_) if node.is_null() => MergedKind::Absent,
            NodeKind::Scalar(scalar) => MergedKind::Scalar(scalar.clone()),
            NodeKind::Mapping(entries) => MergedKind::Map(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), Self::of_node(&entry.value, origin)))
                    .collect(),
            ),
            NodeKind::Sequence(items) => {
                MergedKind::List(items.iter().map(|item| Self::of_node(item, origin)).collect())
            }
        };
        Self::new(kind, at(node))
    }

    /// The value of an expression: everything in it has the expression's place.
    pub fn of_value(value: &Value, origin: &InventoryOrigin) -> Self {
        let mut merged = Self::of_node(&Node::from_value(value), origin);
        merged.stand_at(origin);
        merged
    }

    fn stand_at(&mut self, origin: &InventoryOrigin) {
        self.origin = origin.clone();
        match &mut self.kind {
            MergedKind::Absent | MergedKind::Scalar(_) => {}
            MergedKind::Map(entries) => entries.iter_mut().for_each(|(_, value)| value.stand_at(origin)),
            MergedKind::List(items) => items.iter_mut().for_each(|item| item.stand_at(origin)),
        }
    }

    /// The same after something else: it overrides that.
    #[must_use]
    pub fn over(mut self, upper: Option<Self>) -> Self {
        if let Some(upper) = upper {
            let value = upper.value().unwrap_or_default();
            self.overrides.push(Overridden { origin: upper.origin, value });
            self.overrides.extend(upper.overrides);
        }
        self
    }

    /// The value as JSON, what is absent left out; `None` where it is itself.
    pub fn value(&self) -> Option<Value> {
        Some(match &self.kind {
            MergedKind::Absent => return None,
            MergedKind::Scalar(scalar) => scalar.value(),
            MergedKind::Map(entries) => Value::Object(
                entries
                    .iter()
                    .filter_map(|(key, value)| Some((key.clone(), value.value()?)))
                    .collect::<Map<_, _>>(),
            ),
            MergedKind::List(items) => Value::Array(items.iter().filter_map(Self::value).collect()),
        })
    }

    /// The value one step below; what is absent too.
    pub fn step(&self, step: &Step) -> Option<&Self> {
        let named =
            |entries: &'_ [(String, Self)], key: &str| entries.iter().position(|(name, _)| name == key);
        match (&self.kind, step) {
            (MergedKind::Map(entries), Step::Key(key)) => {
                entries.get(named(entries, key)?).map(|(_, value)| value)
            }
            (MergedKind::Map(entries), Step::Index(index)) => {
                entries.get(named(entries, &index.to_string())?).map(|(_, value)| value)
            }
            (MergedKind::List(items), Step::Index(index)) => items.get(*index),
            _ => None,
        }
    }

    /// The value at a path.
    pub fn at(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |value, step| value.step(step))
    }

    /// Calls `visit` with every scalar and every mapping or list that is empty, and its path.
    pub fn leaves<'m>(&'m self, path: &FieldPath, visit: &mut impl FnMut(&FieldPath, &'m Self)) {
        match &self.kind {
            MergedKind::Map(entries) if !entries.is_empty() => {
                for (key, value) in entries {
                    value.leaves(&path.key(key), visit);
                }
            }
            MergedKind::List(items) if !items.is_empty() => {
                for (at, item) in items.iter().enumerate() {
                    item.leaves(&path.index(at), visit);
                }
            }
            _ => visit(path, self),
        }
    }

    /// The same, each to be changed: what `visit` makes of a leaf is not visited.
    pub fn leaves_mut(&mut self, path: &FieldPath, visit: &mut impl FnMut(&FieldPath, &mut Self)) {
        match &mut self.kind {
            MergedKind::Map(entries) if !entries.is_empty() => {
                for (key, value) in entries {
                    value.leaves_mut(&path.key(key), visit);
                }
            }
            MergedKind::List(items) if !items.is_empty() => {
                for (at, item) in items.iter_mut().enumerate() {
                    item.leaves_mut(&path.index(at), visit);
                }
            }
            _ => visit(path, self),
        }
    }
}
