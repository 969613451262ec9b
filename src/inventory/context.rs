//! Values as templates and expressions see them: every reading is noted, and expressions get their value on demand.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use capstan_model::object::FieldPath;
use capstan_yaml::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Environment, Error, ErrorKind};

use super::braces::Segment;
use super::engine::{Given, to_json};

/// How many expressions may depend on one another in a row (I8).
pub(crate) const LINKS: usize = 32;

/// All values of one cluster.
pub(crate) struct Context {
    items: Vec<Item>,
    state: Mutex<State>,
    expressions: Option<&'static Environment<'static>>,
}

/// A context in the hands of who made it. What expressions came to may refer to the context that knows it: unless it is
/// forgotten in the end, neither ever goes.
pub(crate) struct Owned(Arc<Context>);

impl Deref for Owned {
    type Target = Arc<Context>;

    fn deref(&self) -> &Arc<Context> {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let known = std::mem::take(&mut self.0.state().known);
        drop(known);
    }
}

#[derive(Default)]
struct State {
    /// What was read, in order.
    reads: Vec<usize>,
    /// What expressions came to.
    known: BTreeMap<usize, minijinja::Value>,
    /// The expressions that are being evaluated, the outermost first.
    stack: Vec<usize>,
    /// The first that failed.
    failure: Option<Failure>,
}

/// Why an expression has no value.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// The expressions concerned, the one that failed last; of a circle, every link.
    pub(crate) links: Vec<FieldPath>,
    /// What is wrong.
    pub(crate) kind: FailureKind,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// It needs its own value.
    Cycle,
    /// More than [`LINKS`] expressions need each other in a row.
    TooLong,
    /// It ran out of steps.
    Limit,
    /// The engine says so.
    Engine(String),
}

struct Item {
    path: FieldPath,
    kind: ItemKind,
}

enum ItemKind {
    Scalar(Value),
    Map(Vec<(String, usize)>),
    List(Vec<usize>),
    /// An expression, and whether it stands alone.
    Expression(Vec<Segment>),
}

/// What a context is made of.
pub(crate) enum Shape<'s> {
    /// A scalar.
    Scalar(Value),
    /// A mapping.
    Map(Vec<(&'s str, Shape<'s>)>),
    /// A list.
    List(Vec<Shape<'s>>),
    /// A text with braces.
    Expression(Vec<Segment>),
}

impl<'s> Shape<'s> {
    /// A plain value.
    pub(crate) fn of(value: &'s Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(fields) => {
                Self::Map(fields.iter().map(|(key, value)| (key.as_str(), Self::of(value))).collect())
            }
            scalar => Self::Scalar(scalar.clone()),
        }
    }
}

impl Context {
    /// The context of these values. `expressions` evaluates those among them.
    pub(crate) fn of(root: Shape<'_>, expressions: Option<&'static Environment<'static>>) -> Owned {
        let mut items = Vec::new();
        add(&mut items, root, FieldPath::root());
        Owned(Arc::new(Self { items, state: Mutex::default(), expressions }))
    }

    /// All values, as the engine wants them.
    pub(crate) fn root(self: &Arc<Self>) -> minijinja::Value {
        minijinja::Value::from_object(Reference { context: Arc::clone(self), at: 0 })
    }

    /// How much was read so far.
    pub(crate) fn mark(&self) -> usize {
        self.state().reads.len()
    }

    /// What was read since a mark, each once: of what stands in one another only the innermost.
    pub(crate) fn reads_since(&self, mark: usize) -> Vec<FieldPath> {
        let state = self.state();
        let read: Vec<usize> = state.reads.get(mark..).unwrap_or_default().to_vec();
        drop(state);
        let mut paths: Vec<&FieldPath> =
            read.iter().filter_map(|at| Some(&self.items.get(*at)?.path)).collect();
        paths.sort();
        paths.dedup();
        let inside = |path: &FieldPath| paths.iter().any(|other| *other != path && other.starts_with(path));
        paths.iter().filter(|path| !path.is_root() && !inside(path)).map(|path| (*path).clone()).collect()
    }

    /// Whether a value, or one in it, was ever read.
    pub(crate) fn was_read(&self, path: &FieldPath) -> bool {
        let state = self.state();
        state.reads.iter().any(|at| self.items.get(*at).is_some_and(|item| item.path.starts_with(path)))
    }

    /// The value of the expression at a path as JSON, and what it read.
    ///
    /// # Errors
    /// Why it has none.
    pub(crate) fn evaluate(self: &Arc<Self>, path: &FieldPath) -> Result<(Value, Vec<FieldPath>), Failure> {
        let Some(at) = self.items.iter().position(|item| item.path == *path) else {
            return Err(Failure {
                links: vec![path.clone()],
                kind: FailureKind::Engine("nothing stands there".to_owned()),
            });
        };
        self.state().failure = None;
        let mark = self.mark();
        let value = self.value(at);
        let json = to_json(&value, &plain);
        let reads = self.reads_since(mark).into_iter().filter(|read| read != path).collect();
        let failure = self.state().failure.take();
        match (json, failure) {
            (_, Some(failure)) => Err(failure),
            (Ok(json), None) => Ok((json, reads)),
            (Err(error), None) => Err(self.failed(at, &error)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic elsewhere left behind is notes alone.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn value(self: &Arc<Self>, at: usize) -> minijinja::Value {
        self.state().reads.push(at);
        match self.items.get(at).map(|item| &item.kind) {
            None => minijinja::Value::UNDEFINED,
            Some(ItemKind::Scalar(value)) => scalar(value),
            Some(ItemKind::Map(_) | ItemKind::List(_)) => {
                minijinja::Value::from_object(Reference { context: Arc::clone(self), at })
            }
            Some(ItemKind::Expression(segments)) => self.expression(at, segments),
        }
    }

    fn expression(self: &Arc<Self>, at: usize, segments: &[Segment]) -> minijinja::Value {
        if let Some(known) = self.state().known.get(&at) {
            return known.clone();
        }
        let mut state = self.state();
        let cycle = state.stack.iter().position(|other| *other == at);
        if cycle.is_some() || state.stack.len() >= LINKS {
            let links = state.stack[cycle.unwrap_or_default()..].iter().chain([&at]);
            let links = links.filter_map(|at| Some(self.items.get(*at)?.path.clone())).collect();
            let kind = if cycle.is_some() { FailureKind::Cycle } else { FailureKind::TooLong };
            state.failure.get_or_insert(Failure { links, kind });
            drop(state);
            return Error::new(ErrorKind::InvalidOperation, "an expression without a value").into();
        }
        state.stack.push(at);
        drop(state);
        let result = self.parts(segments);
        let mut state = self.state();
        state.stack.pop();
        match result {
            Ok(value) => {
                state.known.insert(at, value.clone());
                value
            }
            Err(error) => {
                drop(state);
                let failure = self.failed(at, &error);
                self.state().failure.get_or_insert(failure);
                error.into()
            }
        }
    }

    fn failed(&self, at: usize, error: &Error) -> Failure {
        let kind = if super::engine::is_limit(error) {
            FailureKind::Limit
        } else {
            FailureKind::Engine(super::engine::reason(error))
        };
        Failure { links: self.items.get(at).map(|item| item.path.clone()).into_iter().collect(), kind }
    }

    fn parts(self: &Arc<Self>, segments: &[Segment]) -> Result<minijinja::Value, Error> {
        let eval = |source: &str| {
            let environment = self
                .expressions
                .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "no expressions here"))?;
            let value = environment.compile_expression_owned(source.to_owned())?.eval(self.root())?;
            if value.is_undefined() {
                return Err(Error::new(ErrorKind::UndefinedError, format!("`{source}` is undefined")));
            }
            Ok(value)
        };
        if let [Segment::Expression(source)] = segments {
            return eval(source);
        }
        let mut text = String::new();
        for segment in segments {
            match segment {
                Segment::Text(part) => text.push_str(part),
                Segment::Expression(source) => text.push_str(&text_of(&to_json(&eval(source)?, &plain)?)),
            }
        }
        Ok(minijinja::Value::from(text))
    }
}

/// A value as text (T3): booleans are `true` and `false`, null is nothing, mappings and lists are JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn scalar(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(truth) => minijinja::Value::from(*truth),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => minijinja::Value::from(number),
            (_, Some(number), _) => minijinja::Value::from(number),
            (.., Some(number)) => minijinja::Value::from(number),
            _ => minijinja::Value::from(number.to_string()),
        },
        Value::String(text) => minijinja::Value::from(text.as_str()),
        Value::Array(_) | Value::Object(_) => minijinja::Value::UNDEFINED,
    }
}

fn add(items: &mut Vec<Item>, shape: Shape<'_>, path: FieldPath) -> usize {
    let at = items.len();
    items.push(Item { path: path.clone(), kind: ItemKind::List(Vec::new()) });
    let kind = match shape {
        Shape::Scalar(value) => ItemKind::Scalar(value),
        Shape::Expression(segments) => ItemKind::Expression(segments),
        Shape::Map(entries) => ItemKind::Map(
            entries
                .into_iter()
                .map(|(key, below)| (key.to_owned(), add(items, below, path.key(key))))
                .collect(),
        ),
        Shape::List(list) => ItemKind::List(
            list.into_iter().enumerate().map(|(at, below)| add(items, below, path.index(at))).collect(),
        ),
    };
    if let Some(item) = items.get_mut(at) {
        item.kind = kind;
    }
    at
}

/// A mapping or list of a context.
struct Reference {
    context: Arc<Context>,
    at: usize,
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values")
    }
}

impl Reference {
    fn kind(&self) -> Option<&ItemKind> {
        self.context.items.get(self.at).map(|item| &item.kind)
    }
}

impl Object for Reference {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match self.kind() {
            Some(ItemKind::List(_)) => ObjectRepr::Seq,
            _ => ObjectRepr::Map,
        }
    }

    fn get_value(self: &Arc<Self>, key: &minijinja::Value) -> Option<minijinja::Value> {
        let at = match self.kind()? {
            ItemKind::Map(entries) => {
                let name = key.as_str()?;
                entries.iter().find(|(known, _)| known == name)?.1
            }
            ItemKind::List(items) => *items.get(key.as_usize()?)?,
            _ => return None,
        };
        Some(self.context.value(at))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.kind() {
            Some(ItemKind::Map(entries)) => Enumerator::Values(
                entries.iter().map(|(key, _)| minijinja::Value::from(key.as_str())).collect(),
            ),
            Some(ItemKind::List(items)) => Enumerator::Seq(items.len()),
            _ => Enumerator::Empty,
        }
    }
}

/// What the engine is told of values of a context.
pub(crate) const GIVEN: Given =
    Given { is: |value| value.downcast_object_ref::<Reference>().is_some(), json: plain };

/// A mapping or list of a context as JSON, without the engine's detours; `None` for anything else.
pub(crate) fn plain(value: &minijinja::Value) -> Option<Result<Value, Error>> {
    let reference = value.downcast_object_ref::<Reference>()?;
    Some(reference.context.json(reference.at, 0))
}

impl Context {
    fn json(self: &Arc<Self>, at: usize, depth: usize) -> Result<Value, Error> {
        if depth > 200 {
            return Err(Error::from(ErrorKind::OutOfFuel));
        }
        let below = |at: &usize| self.json(*at, depth + 1);
        match self.items.get(at).map(|item| &item.kind) {
            None => Ok(Value::Null),
            Some(ItemKind::Scalar(value)) => {
                self.state().reads.push(at);
                Ok(value.clone())
            }
            Some(ItemKind::Map(entries)) => {
                self.state().reads.push(at);
                entries.iter().map(|(key, at)| Ok((key.clone(), below(at)?))).collect()
            }
            Some(ItemKind::List(items)) => {
                self.state().reads.push(at);
                items.iter().map(below).collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            Some(ItemKind::Expression(_)) => to_json(&self.value(at), &plain),
        }
    }
}
