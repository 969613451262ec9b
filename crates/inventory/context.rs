//! Values as templates and expressions see them: every reading is noted, and expressions get their value on demand.
//!
//! An expression's value is complete before it is used, inner expressions included. So no value contains
//! itself, and a walk through a value ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Error, ErrorKind};

use super::braces::Segment;
use super::engine::{
    EXPRESSIONS_FUEL, Engines, RenderValue, VALUES_WEIGHT, ValueRoom, guard_expression, height, is_limit,
    to_json, weight,
};

/// How many expressions may depend on one another in a row (I8).
pub(crate) const LINKS: usize = 32;

/// How deep the expressions that wait for one another may lie, together: evaluating them recurses so deep.
const WAITING_DEPTH: usize = 256;

/// How many bytes of a text are as much to look at as one value.
const BYTES_A_VALUE: usize = 16;

/// What a value weighs besides its text.
const SLOT: usize = 8;

/// How deep values may be nested, those that expressions make included: as deep as YAML may.
const DEPTH: usize = 200;

/// All values of one cluster.
pub(crate) struct ValueContext {
    /// In the order of the text: inner items follow the outer one.
    items: Vec<Item>,
    /// How much the items before each one hold, and all of them.
    weights: Vec<usize>,
    state: Mutex<ContextState>,
    expressions: Option<&'static Engines>,
}

struct ContextState {
    /// What was read, in order.
    reads: Vec<usize>,
    /// What expressions came to.
    known: BTreeMap<usize, EvaluatedExpression>,
    /// The expressions that are being evaluated, the outermost first.
    stack: Vec<WaitingExpression>,
    /// Steps that are left for all expressions.
    fuel: u64,
    /// Bytes and slots that are left for the values of all expressions.
    weight: u64,
}

/// What an expression came to.
struct EvaluatedExpression {
    made: Result<ExpressionValue, Arc<EvaluationFailure>>,
    row: ExpressionChain,
}

/// Expressions that need each other in a row.
#[derive(Clone, Copy, Default)]
struct ExpressionChain {
    /// How many, the first included.
    links: usize,
    /// The second.
    next: Option<usize>,
}

/// An expression's value.
#[derive(Clone)]
struct ExpressionValue {
    value: minijinja::Value,
    json: Arc<Value>,
    weight: usize,
    height: usize,
}

/// An expression that is being evaluated.
struct WaitingExpression {
    at: usize,
    row: ExpressionChain,
    /// The first thing that it needs and that failed.
    failure: Option<Arc<EvaluationFailure>>,
}

/// Why an expression has no value.
#[derive(Debug, Clone)]
pub(crate) struct EvaluationFailure {
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
    /// It ran out of steps, or its value is too large or too deep.
    Limit,
    /// All expressions of the cluster together ran out of steps, or their values are too large.
    SumLimit,
    /// The engine says so.
    Engine(String),
}

struct Item {
    path: FieldPath,
    kind: ItemKind,
    /// The first item behind it that does not stand inside of it.
    end: usize,
}

enum ItemKind {
    Scalar(Value),
    Map(Entries),
    List(Vec<usize>),
    /// An expression, and whether it is the whole scalar.
    Expression(Vec<Segment>),
}

/// The items of a mapping in their order, and that order by name.
struct Entries {
    entries: Vec<(String, usize)>,
    by_name: Vec<usize>,
}

impl Entries {
    fn new(entries: Vec<(String, usize)>) -> Self {
        let mut by_name: Vec<usize> = (0..entries.len()).collect();
        by_name.sort_by(|a, b| entries[*a].0.cmp(&entries[*b].0));
        Self { entries, by_name }
    }

    fn find(&self, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|at| self.entries[*at].0.as_str().cmp(name)).ok()?;
        Some(self.entries[self.by_name[found]].1)
    }
}

/// What a context is made of.
pub(crate) enum ContextShape<'s> {
    Scalar(Value),
    /// A mapping.
    Map(Vec<(&'s str, ContextShape<'s>)>),
    List(Vec<ContextShape<'s>>),
    /// A text with braces.
    Expression(Vec<Segment>),
}

impl<'s> ContextShape<'s> {
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

/// A context in the hands of who made it. What expressions came to may refer to the context that knows it: unless it is
/// forgotten in the end, neither ever goes.
pub(crate) struct Owned(Arc<ValueContext>);

impl std::ops::Deref for Owned {
    type Target = Arc<ValueContext>;

    fn deref(&self) -> &Arc<ValueContext> {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let known = std::mem::take(&mut self.0.state().known);
        drop(known);
    }
}

impl ValueContext {
    /// The context of these values. `expressions` evaluates those among them.
    pub(crate) fn of(root: ContextShape<'_>, expressions: Option<&'static Engines>) -> Owned {
        let mut items = Vec::new();
        add(&mut items, root, FieldPath::root());
        let state = ContextState {
            reads: Vec::new(),
            known: BTreeMap::new(),
            stack: Vec::new(),
            fuel: EXPRESSIONS_FUEL,
            weight: VALUES_WEIGHT,
        };
        let mut weights = vec![0];
        let mut sum = 0_usize;
        for item in &items {
            let text = if let ItemKind::Scalar(Value::String(text)) = &item.kind { text.len() } else { 0 };
            sum = sum.saturating_add(1 + text / BYTES_A_VALUE);
            weights.push(sum);
        }
        Owned(Arc::new(Self { items, weights, state: Mutex::new(state), expressions }))
    }

    /// All values, as the engine wants them.
    pub(crate) fn root(self: &Arc<Self>) -> minijinja::Value {
        minijinja::Value::from_object(ContextReference { context: Arc::clone(self), at: 0 })
    }

    /// How much was read so far.
    pub(crate) fn mark(&self) -> usize {
        self.state().reads.len()
    }

    /// Paths read since a mark, each once: of nested ones only the innermost.
    pub(crate) fn reads_since(&self, mark: usize) -> Vec<FieldPath> {
        let mut read: Vec<usize> = self.state().reads.get(mark..).unwrap_or_default().to_vec();
        read.sort_unstable();
        read.dedup();
        // An inner path of an item is the next one that was read, if there is one.
        let innermost = |(at, next): (&usize, Option<&usize>)| {
            let item = self.items.get(*at)?;
            let is_outer = item.path.is_root() || next.is_some_and(|next| *next < item.end);
            (!is_outer).then(|| item.path.clone())
        };
        let nexts = read.iter().skip(1).map(Some).chain([None]);
        let mut paths: Vec<FieldPath> = read.iter().zip(nexts).filter_map(innermost).collect();
        paths.sort();
        paths
    }

    /// Tells of a value whether it, or one in it, was ever read.
    pub(crate) fn was_read(&self) -> impl Fn(&FieldPath) -> bool + '_ {
        let mut read = self.state().reads.clone();
        read.sort_unstable();
        read.dedup();
        move |path| {
            self.find(path).is_some_and(|at| {
                let first = read.get(read.partition_point(|read| *read < at));
                first.zip(self.items.get(at)).is_some_and(|(first, item)| *first < item.end)
            })
        }
    }

    fn find(&self, path: &FieldPath) -> Option<usize> {
        path.steps().iter().try_fold(0, |at, step| match (&self.items.get(at)?.kind, step) {
            (ItemKind::Map(entries), Step::Key(key)) => entries.find(key),
            (ItemKind::Map(entries), Step::Index(index)) => entries.find(&index.to_string()),
            (ItemKind::List(items), Step::Index(index)) => items.get(*index).copied(),
            _ => None,
        })
    }

    /// The steps that expressions took so far.
    pub(crate) fn steps(&self) -> u64 {
        EXPRESSIONS_FUEL - self.state().fuel
    }

    /// The value of the expression at a path as JSON, and what it read.
    ///
    /// # Errors
    /// Why it has none.
    pub(crate) fn evaluate(
        self: &Arc<Self>,
        path: &FieldPath,
    ) -> Result<(Value, Vec<FieldPath>), EvaluationFailure> {
        let found = self.find(path).and_then(|at| Some((at, self.items.get(at)?)));
        let Some((at, Item { kind: ItemKind::Expression(segments), .. })) = found else {
            let kind = FailureKind::Engine("there is no expression".to_owned());
            return Err(EvaluationFailure { links: vec![path.clone()], kind });
        };
        let mark = self.mark();
        self.state().reads.push(at);
        let made = self.made(at, segments);
        let reads = self.reads_since(mark).into_iter().filter(|read| read != path).collect();
        match made {
            Ok(made) => Ok((Value::clone(&made.json), reads)),
            Err(failure) => Err(EvaluationFailure::clone(&failure)),
        }
    }

    fn state(&self) -> MutexGuard<'_, ContextState> {
        // What a panic elsewhere left behind is notes alone.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn value(self: &Arc<Self>, at: usize) -> minijinja::Value {
        self.state().reads.push(at);
        match self.items.get(at).map(|item| &item.kind) {
            None => minijinja::Value::UNDEFINED,
            Some(ItemKind::Scalar(value)) => scalar(value),
            Some(ItemKind::Map(_) | ItemKind::List(_)) => {
                minijinja::Value::from_object(ContextReference { context: Arc::clone(self), at })
            }
            Some(ItemKind::Expression(segments)) => match self.made(at, segments) {
                Ok(made) => made.value,
                Err(_) => no_value().into(),
            },
        }
    }

    /// The value of an expression, made where it is not known yet.
    fn made(
        self: &Arc<Self>,
        at: usize,
        segments: &[Segment],
    ) -> Result<ExpressionValue, Arc<EvaluationFailure>> {
        let path = |at: usize| self.items.get(at).map(|item| item.path.clone());
        let mut state = self.state();
        if let Some(known) = state.known.get(&at) {
            let (made, links) = (known.made.clone(), known.row.links);
            state.needed(at, links, made.as_ref().err());
            return made;
        }
        let circle = state.stack.iter().position(|waiting| waiting.at == at);
        let deep = || {
            let waiting = state.stack.iter().map(|waiting| waiting.at).chain([at]);
            waiting.filter_map(|at| Some(self.items.get(at)?.path.steps().len())).sum::<usize>()
        };
        let kind = match circle {
            Some(_) => Some(FailureKind::Cycle),
            None if state.stack.len() >= LINKS => Some(FailureKind::TooLong),
            None if !state.stack.is_empty() && deep() > WAITING_DEPTH => Some(FailureKind::Limit),
            None => None,
        };
        if let Some(kind) = kind {
            let row = &mut state.stack[circle.unwrap_or_default()..];
            let links = row.iter().map(|waiting| waiting.at).chain([at]).filter_map(path).collect();
            let failure = Arc::new(EvaluationFailure { links, kind });
            for waiting in row {
                waiting.failure.get_or_insert_with(|| Arc::clone(&failure));
            }
            return Err(failure);
        }
        state.stack.push(WaitingExpression {
            at,
            row: ExpressionChain { links: 1, next: None },
            failure: None,
        });
        drop(state);
        let made = self.evaluated(at, segments);
        let mut state = self.state();
        let waiting = state.stack.pop();
        let row = waiting.as_ref().map(|waiting| waiting.row).unwrap_or_default();
        let made = match (waiting.and_then(|waiting| waiting.failure), made) {
            // What it needs has no value, whatever it makes of that.
            (Some(failure), _) => Err(failure),
            (None, Ok(_)) if row.links > LINKS => {
                let next = |at: &usize| state.known.get(at)?.row.next;
                let links = [at].into_iter().chain(std::iter::successors(row.next, next));
                let links = links.take(LINKS + 1).filter_map(path).collect();
                Err(Arc::new(EvaluationFailure { links, kind: FailureKind::TooLong }))
            }
            (None, Ok(made)) => Ok(made),
            (None, Err(kind)) => {
                Err(Arc::new(EvaluationFailure { links: path(at).into_iter().collect(), kind }))
            }
        };
        state.needed(at, row.links, made.as_ref().err());
        state.known.insert(at, EvaluatedExpression { made: made.clone(), row });
        made
    }

    /// Evaluates an expression, all of its value at once.
    fn evaluated(self: &Arc<Self>, at: usize, segments: &[Segment]) -> Result<ExpressionValue, FailureKind> {
        let failed = |error: &Error| {
            if is_limit(error) {
                FailureKind::Limit
            } else {
                FailureKind::Engine(super::engine::reason(error))
            }
        };
        let value = match segments {
            [Segment::Expression(source)] => self.run(source)?,
            segments => {
                let mut text = String::new();
                for segment in segments {
                    match segment {
                        Segment::Text(part) => text.push_str(part),
                        Segment::Expression(source) => {
                            let json = to_json(&self.run(source)?, &plain).map_err(|error| failed(&error))?;
                            text.push_str(&text_of(&json));
                        }
                    }
                }
                minijinja::Value::from(text)
            }
        };
        let json = to_json(&value, &plain).map_err(|error| failed(&error))?;
        let (weighs, height) = (weight(&json), height(&json));
        let above = self.items.get(at).map_or(0, |item| item.path.steps().len());
        if height + above > DEPTH {
            return Err(FailureKind::Limit);
        }
        let mut state = self.state();
        state.weight = state.weight.checked_sub(weighs).ok_or(FailureKind::SumLimit)?;
        Ok(ExpressionValue {
            value,
            json: Arc::new(json),
            weight: usize::try_from(weighs).unwrap_or(usize::MAX),
            height,
        })
    }

    /// Evaluates the text between braces: with few steps first, since the engine does not say how many it
    /// took.
    fn run(self: &Arc<Self>, source: &str) -> Result<minijinja::Value, FailureKind> {
        let engines =
            self.expressions.ok_or_else(|| FailureKind::Engine("no expressions here".to_owned()))?;
        let mut last = FailureKind::Limit;
        for (fuel, environment) in engines {
            {
                let mut state = self.state();
                if state.fuel < *fuel {
                    // A sum that exceeds the limit is reported for all.
                    state.fuel = 0;
                    return Err(FailureKind::SumLimit);
                }
                state.fuel -= *fuel;
            }
            let value = environment.compile_expression_owned(guard_expression(source));
            let error = match value.and_then(|expression| expression.eval(self.root())) {
                Ok(value) if value.is_undefined() => {
                    return Err(FailureKind::Engine(format!("`{source}` is undefined")));
                }
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let is_doomed = self.state().stack.last().is_some_and(|waiting| waiting.failure.is_some());
            if !is_limit(&error) {
                last = FailureKind::Engine(super::engine::reason(&error));
            }
            if is_doomed || !is_limit(&error) {
                break;
            }
        }
        Err(last)
    }
}

impl ContextState {
    /// Notes with the expression that is being evaluated what it needs.
    fn needed(&mut self, at: usize, links: usize, failure: Option<&Arc<EvaluationFailure>>) {
        if let Some(waiting) = self.stack.last_mut() {
            if links >= waiting.row.links {
                waiting.row = ExpressionChain { links: links + 1, next: Some(at) };
            }
            if let Some(failure) = failure {
                waiting.failure.get_or_insert_with(|| Arc::clone(failure));
            }
        }
    }
}

fn no_value() -> Error {
    Error::new(ErrorKind::InvalidOperation, "an expression without a value")
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

fn add(items: &mut Vec<Item>, shape: ContextShape<'_>, path: FieldPath) -> usize {
    let at = items.len();
    items.push(Item { path: FieldPath::root(), kind: ItemKind::List(Vec::new()), end: at });
    let kind = match shape {
        ContextShape::Scalar(value) => ItemKind::Scalar(value),
        ContextShape::Expression(segments) => ItemKind::Expression(segments),
        ContextShape::Map(entries) => {
            let entry = |(key, below): (&str, _)| (key.to_owned(), add(items, below, path.key(key)));
            ItemKind::Map(Entries::new(entries.into_iter().map(entry).collect()))
        }
        ContextShape::List(list) => ItemKind::List(
            list.into_iter().enumerate().map(|(at, below)| add(items, below, path.index(at))).collect(),
        ),
    };
    let end = items.len();
    if let Some(item) = items.get_mut(at) {
        *item = Item { path, kind, end };
    }
    at
}

/// A mapping or list of a context.
struct ContextReference {
    context: Arc<ValueContext>,
    at: usize,
}

impl fmt::Debug for ContextReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values")
    }
}

impl ContextReference {
    fn kind(&self) -> Option<&ItemKind> {
        self.context.items.get(self.at).map(|item| &item.kind)
    }

    /// The key of a mapping at a place of its order.
    fn key(&self, at: usize) -> minijinja::Value {
        match self.kind() {
            Some(ItemKind::Map(entries)) => entries
                .entries
                .get(at)
                .map_or(minijinja::Value::UNDEFINED, |(key, _)| minijinja::Value::from(key.as_str())),
            _ => minijinja::Value::UNDEFINED,
        }
    }
}

impl Object for ContextReference {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match self.kind() {
            Some(ItemKind::List(_)) => ObjectRepr::Seq,
            _ => ObjectRepr::Map,
        }
    }

    fn get_value(self: &Arc<Self>, key: &minijinja::Value) -> Option<minijinja::Value> {
        let at = match self.kind()? {
            ItemKind::Map(entries) => entries.find(key.as_str()?)?,
            ItemKind::List(items) => *items.get(key.as_usize()?)?,
            _ => return None,
        };
        Some(self.context.value(at))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.kind() {
            Some(ItemKind::Map(entries)) => {
                let (count, held) = (entries.entries.len(), Arc::clone(self));
                Enumerator::Iter(Box::new((0..count).map(move |at| held.key(at))))
            }
            Some(ItemKind::List(items)) => Enumerator::Seq(items.len()),
            _ => Enumerator::Empty,
        }
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        match self.kind() {
            Some(ItemKind::Map(entries)) => Some(entries.entries.len()),
            Some(ItemKind::List(items)) => Some(items.len()),
            _ => Some(0),
        }
    }
}

/// The engine's settings for values of a context.
pub(crate) const GIVEN: RenderValue = RenderValue {
    weight: |value| {
        let reference = value.downcast_object_ref::<ContextReference>()?;
        Some(reference.context.weight(reference.at))
    },
    json: plain,
};

/// A mapping or list of a context as JSON, without the engine's detours; `None` for anything else.
pub(crate) fn plain(value: &minijinja::Value, room: &mut ValueRoom) -> Option<Result<Value, Error>> {
    let reference = value.downcast_object_ref::<ContextReference>()?;
    Some(reference.context.json(reference.at, room))
}

impl ValueContext {
    /// How much there is to look at in an item: values, and texts by their length.
    fn weight(&self, at: usize) -> usize {
        let Some(end) = self.items.get(at).map(|item| item.end) else { return 0 };
        let of = |at: usize| self.weights.get(at).copied().unwrap_or_default();
        let written = of(end).saturating_sub(of(at));
        if self.expressions.is_none() {
            return written;
        }
        let state = self.state();
        let made = state.known.range(at..end).filter_map(|(_, known)| known.made.as_ref().ok());
        made.map(|made| made.weight / SLOT).fold(written, usize::saturating_add)
    }

    fn json(self: &Arc<Self>, at: usize, room: &mut ValueRoom) -> Result<Value, Error> {
        let Some(item) = self.items.get(at) else { return Ok(Value::Null) };
        room.pay(1)?;
        self.state().reads.push(at);
        match &item.kind {
            ItemKind::Scalar(value) => {
                room.pay(value.as_str().map_or(0, str::len))?;
                Ok(value.clone())
            }
            ItemKind::Map(Entries { entries, .. }) => room.inside(|room| {
                let mut fields = serde_json::Map::new();
                for (key, at) in entries {
                    room.pay(key.len())?;
                    fields.insert(key.clone(), self.json(*at, room)?);
                }
                Ok(Value::Object(fields))
            }),
            ItemKind::List(items) => room.inside(|room| {
                items.iter().map(|at| self.json(*at, room)).collect::<Result<Vec<_>, _>>().map(Value::Array)
            }),
            ItemKind::Expression(segments) => {
                let made = self.made(at, segments).map_err(|_| no_value())?;
                room.pay(made.weight)?;
                room.fits(made.height)?;
                Ok(Value::clone(&made.json))
            }
        }
    }
}
