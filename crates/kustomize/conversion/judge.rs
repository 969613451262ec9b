//! What the newer version's definition says of a converted object: a field that it lacks, another type, a limit that is
//! new, items that its keys do not tell apart, a default that changed. What the older version asks in the same way is
//! not the conversion's matter.
//!
//! A default that changed is written out as it was, since silence would mean another thing. An empty list goes where the
//! newer version takes none.
//!
//! Deliberately absent: rules by expressions (`x-kubernetes-validations`), which the server asks.

use super::has_variables::has_variables;
use super::paths::before;
use super::refusal::{ConversionRefusal, Refusals};
use super::step::{AtHand, ConversionNote, ConversionStep};
use crate::schema::{ListType, Schema, SchemaType, Schemas, Unlisted, ValueLimits};
use capstan_model::object::FieldPath;
use capstan_yaml::{Node, NodeKind, Scalar, Value};

/// The steps that are left to do, and what is to be said of them. `was` is the object before all steps, `now` after them.
pub(super) fn judge(
    (was, now): (&Node, &Node),
    steps: &[ConversionStep],
    at_hand: AtHand,
    schemas: &Schemas,
) -> Result<(Vec<ConversionStep>, Vec<ConversionNote>), Refusals> {
    let kind = now.text_at("kind").unwrap_or_default();
    let definition = |version: &str| schemas.definitions(kind, version).map(|(found, _)| found).next();
    let version = |object: &Node| object.text_at("apiVersion").unwrap_or_default().to_owned();
    let Some(newer) = definition(&version(now)) else { return Ok((Vec::new(), Vec::new())) };
    let mut judge = DefinitionJudge {
        was,
        steps,
        older: definition(&version(was)),
        at_hand,
        refused: Vec::new(),
        added: Vec::new(),
        notes: Vec::new(),
    };
    for entry in now.as_mapping().unwrap_or_default() {
        if !matches!(entry.key.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            judge.field(&FieldPath::root(), &entry.key, &entry.value, newer);
        }
    }
    // Nothing is left of it, and the newer version may require something.
    let spec = FieldPath::root().key("spec");
    if was.at(&spec).is_some()
        && now.at(&spec).is_none()
        && let Some(limits) = newer.field("spec").and_then(|spec| spec.limits.as_deref())
    {
        judge.limits(&spec, &Node::new(NodeKind::Mapping(Vec::new())), limits, None);
    }
    Refusals::none(judge.refused).map(|()| (judge.added, judge.notes))
}

struct DefinitionJudge<'a> {
    was: &'a Node,
    steps: &'a [ConversionStep],
    older: Option<&'a Schema>,
    at_hand: AtHand,
    refused: Vec<ConversionRefusal>,
    added: Vec<ConversionStep>,
    notes: Vec<ConversionNote>,
}

impl DefinitionJudge<'_> {
    fn origin(&self, path: &FieldPath) -> FieldPath {
        before(self.steps, path)
    }

    fn refuse(&mut self, path: &FieldPath, why: impl Into<String>, advice: &str) {
        let field = self.origin(path);
        let value = self.was.at(&field).map(Node::value);
        self.refused.push(ConversionRefusal {
            field,
            value,
            why: why.into(),
            advice: advice.into(),
            asks: false,
        });
    }

    fn field(&mut self, above: &FieldPath, key: &str, node: &Node, newer: &Schema) {
        let path = &above.key(key);
        let origin = self.origin(path);
        let own = self.older.map(|older| older.at(&origin));
        let Some(schema) = newer.field(key) else {
            let is_dropped_today = own.is_some_and(|own| own.is_none());
            if newer.unlisted == Unlisted::Pruned && !node.is_null() && !is_dropped_today {
                self.refuse(path, "the newer version has no such field", BY_HAND);
            }
            return;
        };
        let is_dropped_today =
            own.is_some_and(|own| own.is_none()) && origin == *path && self.was.at(path).is_some();
        if is_dropped_today && !node.is_null() {
            let why = "the older version has no such field, so the server drops it today";
            return self.refuse(
                path,
                why,
                "remove the field, or bring the object to the newer version by hand",
            );
        }
        // The older version's Go types write an empty list as none at all.
        let refuses_none =
            |schema: &Schema| schema.limits.as_ref().is_some_and(|limits| !limits.items.holds(0));
        let was_refused = self.older.and_then(|older| older.at(&origin)).is_some_and(refuses_none);
        let is_refused = refuses_none(schema) && !was_refused;
        let is_required =
            newer.limits.as_ref().is_some_and(|limits| limits.required.iter().any(|own| **own == *key));
        let is_empty = node.as_sequence().is_some_and(<[Node]>::is_empty);
        if is_empty && is_refused && !is_required && self.at_hand != AtHand::Part {
            return self.added.push(ConversionStep::Remove { at: path.clone() });
        }
        self.value(path, node, schema);
    }

    fn value(&mut self, path: &FieldPath, node: &Node, newer: &Schema) {
        if node.is_null() {
            return;
        }
        let older = self.older.and_then(|older| older.at(&self.origin(path)));
        let has_variables = node.as_scalar().is_some_and(|scalar| has_variables(&scalar.text));
        let fits = match &node.kind {
            NodeKind::Mapping(_) => matches!(newer.kind, SchemaType::Object | SchemaType::Any),
            NodeKind::Sequence(_) => matches!(newer.kind, SchemaType::Array | SchemaType::Any),
            NodeKind::Scalar(_) => has_variables || newer.kind.takes(&node.value()),
        };
        if !fits {
            if older.is_none_or(|older| older.kind != newer.kind) {
                let why = format!("the newer version wants {} here", newer.kind.noun());
                self.refuse(path, why, BY_HAND);
            }
            return;
        }
        let is_new_choice = older.is_none_or(|older| older.choices != newer.choices);
        if is_new_choice
            && !newer.choices.is_empty()
            && !has_variables
            && !newer.choices.contains(&node.value())
        {
            return self.refuse(path, "the newer version does not take this value", BY_HAND);
        }
        if let Some(limits) = &newer.limits
            && older.is_none_or(|older| older.limits != newer.limits)
        {
            let had = older.and_then(|older| older.limits.as_deref());
            self.limits(path, node, limits, had);
        }
        match &node.kind {
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    self.field(path, &entry.key, &entry.value, newer);
                }
                if let Some(older) = older.filter(|_| self.at_hand != AtHand::Part) {
                    self.defaults(path, node, older, newer);
                }
            }
            NodeKind::Sequence(items) => {
                if older.is_none_or(|older| older.list != newer.list) {
                    self.distinct(path, items, newer.list.as_ref());
                }
                let Some(item) = newer.item() else { return };
                for (at, node) in items.iter().enumerate() {
                    self.value(&path.index(at), node, item);
                }
            }
            NodeKind::Scalar(_) => {}
        }
    }

    fn limits(&mut self, path: &FieldPath, node: &Node, limits: &ValueLimits, had: Option<&ValueLimits>) {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        match &node.kind {
            NodeKind::Mapping(entries) => {
                let said = entries.iter().filter(|entry| !entry.value.is_null()).count();
                if !limits.properties.holds(count(said)) {
                    let why = format!("the newer version takes {} fields here", limits.properties);
                    self.refuse(path, why, "write one of them, or take the mapping out");
                }
                let was_required =
                    |name: &str| had.is_some_and(|had| had.required.iter().any(|own| **own == *name));
                let is_absent = |name: &str| node.get(name).is_none_or(Node::is_null);
                if self.at_hand == AtHand::Whole {
                    for name in limits.required.iter().filter(|name| is_absent(name) && !was_required(name)) {
                        let why = "the newer version requires this field, and the object does not have it";
                        self.refuse(&path.key(name), why, "write it");
                    }
                }
            }
            NodeKind::Sequence(items) => {
                if !limits.items.holds(count(items.len())) {
                    let why = format!("the newer version takes {} items here", limits.items);
                    self.refuse(path, why, "write so many, or take the list out");
                }
            }
            NodeKind::Scalar(scalar) if !has_variables(&scalar.text) => {
                let value = node.value();
                if let Some(text) = value.as_str() {
                    if !limits.length.holds(count(text.chars().count())) {
                        let why = format!("the newer version takes {} characters here", limits.length);
                        self.refuse(path, why, "write so many, or take the field out");
                    }
                    if let Some(pattern) = &limits.pattern
                        && pattern.fits(text) == Some(false)
                    {
                        let why = format!("the newer version takes what fits {}", pattern.as_str());
                        self.refuse(path, why, "write it so");
                    }
                }
                if value.as_f64().is_some_and(|number| !limits.number.holds(number)) {
                    let why = format!("the newer version takes {} here", limits.number);
                    self.refuse(path, why, "write such a number, if the provider may do so");
                }
            }
            NodeKind::Scalar(_) => {}
        }
    }

    fn distinct(&mut self, path: &FieldPath, items: &[Node], list: Option<&ListType>) {
        let mut seen: Vec<Vec<Value>> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let (own, said): (Vec<Value>, String) = match list {
                Some(ListType::Set) => (vec![item.value()], "as a whole".to_owned()),
                Some(ListType::Map(keys)) => {
                    let value = |key: &crate::schema::MapKey| match item.get(&key.name) {
                        Some(node) if !node.is_null() => node.value(),
                        _ => key.default.as_deref().map_or(Value::Null, Value::from),
                    };
                    let names: Vec<&str> = keys.iter().map(|key| &*key.name).collect();
                    (keys.iter().map(value).collect(), format!("by {}", names.join(" and ")))
                }
                Some(ListType::Atomic) | None => return,
            };
            if own.iter().all(|value| !value.is_null()) && seen.contains(&own) {
                let why = format!(
                    "the newer version tells the items of this list apart {said}, and an item before is the same"
                );
                self.refuse(&path.index(at), why, "make one item of the two, or let them differ");
            } else {
                seen.push(own);
            }
        }
    }

    /// Defaults that changed, of fields that are not there.
    fn defaults(&mut self, path: &FieldPath, node: &Node, older: &Schema, newer: &Schema) {
        for (name, now) in newer.listed_fields() {
            let Some(was) = older.listed(name) else { continue };
            if was.default == now.default || node.get(name).is_some() {
                continue;
            }
            let at = path.key(name);
            let said = |value: Option<&str>| {
                value.map_or_else(|| "nothing".to_owned(), |value| format!("`{value}`"))
            };
            let (before, after) = (said(was.default.as_deref()), said(now.default.as_deref()));
            let filled_in = format!(
                "where nothing is said, the older version fills in {before}, and the newer one {after}"
            );
            let text = match &was.default {
                Some(default) => {
                    let value = match was.kind {
                        SchemaType::String | SchemaType::IntOrString | SchemaType::Any => {
                            Node::string(&**default)
                        }
                        _ => Node::scalar(Scalar::plain(&**default)),
                    };
                    self.added.push(ConversionStep::Add { at: at.clone(), value });
                    format!("{filled_in}: the old value is written out")
                }
                None => filled_in,
            };
            self.notes.push(ConversionNote { field: self.origin(&at), text });
        }
    }
}

const BY_HAND: &str = "bring the object to the newer version by hand, as the provider's notes on it say";
