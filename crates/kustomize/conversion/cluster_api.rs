//! Cluster API's own kinds, from v1beta1 to v1beta2: the object is walked with the tables of fields of
//! both versions, and the rules say what goes elsewhere.

use std::collections::{HashMap, HashSet};

use super::has_variables::has_variables;
use super::refusal::{ConversionRefusal, Refusals};
use super::rules::{self, ConversionRule};
use super::step::ConversionStep::{self, Add, Itemize, Move, Remove, Replace};
use super::step::{AtHand, ItemFields};
use crate::schema::{FieldContent, TypeField, TypeFields, Zero, nanoseconds};
use capstan_model::object::{FieldPath, api_group};
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Entry, Node, NodeKind, Scalar};

/// The steps from `from` to `to`, but for `apiVersion`.
pub(super) fn steps(
    object: &Node,
    kind: &'static str,
    (from, to): (&'static TypeFields, &'static TypeFields),
    at_hand: AtHand,
) -> Result<Vec<ConversionStep>, Refusals> {
    let mut walk =
        ConversionWalk { from, to, at_hand, steps: Vec::new(), claimed: HashSet::new(), refused: Vec::new() };
    let root = FieldPath::root();
    if let Some(annotation) = object.get("metadata").and_then(|node| node.get("annotations"))
        && let Some(data) = annotation.get(DATA)
    {
        return Err(ConversionRefusal::new(
            root.key("metadata").key("annotations").key(DATA),
            data,
            "this annotation is the server's own note of values that the older version cannot hold",
            "remove the annotation, which has no place in a file",
        )
        .into());
    }
    if object.get("status").is_some() {
        walk.steps.push(Remove { at: root.key("status") });
    }
    if let Some(spec) = object.get("spec") {
        let (own, other) = (from.field(kind, "spec"), to.field(kind, "spec"));
        if let Some(own) = own {
            walk.value(&root.key("spec"), spec, own, other)?;
        }
    }
    Refusals::none(walk.refused).map(|()| walk.steps)
}

/// Where the webhooks keep what an older version cannot hold.
const DATA: &str = "cluster.x-k8s.io/conversion-data";

/// How many seconds a duration may have; what is longer is cut to it.
const MOST_SECONDS: i128 = i32::MAX as i128;

struct ConversionWalk {
    from: &'static TypeFields,
    to: &'static TypeFields,
    at_hand: AtHand,
    steps: Vec<ConversionStep>,
    /// Fields that a rule takes care of.
    claimed: HashSet<FieldPath>,
    /// Fields that prevent the conversion, and why.
    refused: Vec<ConversionRefusal>,
}

/// Whether a value is still there after its own steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    There,
    Gone,
}

impl ConversionWalk {
    /// Continues after a field that prevents the conversion, so that all such fields are found at once.
    fn note(&mut self, done: Result<(), Box<ConversionRefusal>>) {
        self.refused.extend(done.err().map(|refusal| *refusal));
    }

    /// Converts a value in place.
    fn value(
        &mut self,
        path: &FieldPath,
        node: &Node,
        own: &'static TypeField,
        other: Option<&'static TypeField>,
    ) -> Result<Left, Box<ConversionRefusal>> {
        // A zero that the older version cannot tell from nothing says nothing in the newer one.
        let distinguishes = other.is_some_and(|other| other.zero == Zero::Kept);
        if own.zero == Zero::Dropped && distinguishes && is_false_or_zero(node) {
            self.steps.push(Remove { at: path.clone() });
            return Ok(Left::Gone);
        }
        self.inside(path, node, &own.of, other.map(|other| &other.of))?;
        Ok(Left::There)
    }

    fn inside(
        &mut self,
        path: &FieldPath,
        node: &Node,
        own: &'static FieldContent,
        other: Option<&'static FieldContent>,
    ) -> Result<(), Box<ConversionRefusal>> {
        if node.is_null() {
            return Ok(());
        }
        match (own, &node.kind) {
            (FieldContent::Anything | FieldContent::Metadata, _) => Ok(()),
            (FieldContent::Struct(name), NodeKind::Mapping(_)) => {
                let other = if let Some(FieldContent::Struct(other)) = other { Some(*other) } else { None };
                self.mapping(path, node, name, other)
            }
            (FieldContent::Map(own), NodeKind::Mapping(entries)) => {
                let other = if let Some(FieldContent::Map(other)) = other { Some(&**other) } else { None };
                for entry in entries {
                    let done = self.element(&path.key(&entry.key), &entry.value, own, other);
                    self.note(done);
                }
                Ok(())
            }
            (FieldContent::List(own), NodeKind::Sequence(items)) => {
                let other = if let Some(FieldContent::List(other)) = other { Some(&**other) } else { None };
                for (index, item) in items.iter().enumerate() {
                    let done = self.element(&path.index(index), item, own, other);
                    self.note(done);
                }
                Ok(())
            }
            (_, NodeKind::Scalar(scalar)) if fits(own, scalar) => Ok(()),
            _ => Err(ConversionRefusal::new(
                path.clone(),
                node,
                format!("{} is needed here", own.noun()),
                "write it as such (put a number or a boolean in quotes to make it a string)",
            )),
        }
    }

    /// An item of a list, or a value of a map.
    fn element(
        &mut self,
        path: &FieldPath,
        node: &Node,
        own: &'static FieldContent,
        other: Option<&'static FieldContent>,
    ) -> Result<(), Box<ConversionRefusal>> {
        if node.is_null() && !matches!(own, FieldContent::Anything) {
            let why = format!("{} is needed here, but there is nothing", own.noun());
            return Err(ConversionRefusal::new(path.clone(), node, why, "fill it in, or remove the entry"));
        }
        self.inside(path, node, own, other)
    }

    fn mapping(
        &mut self,
        path: &FieldPath,
        node: &Node,
        own: &'static str,
        other: Option<&'static str>,
    ) -> Result<(), Box<ConversionRefusal>> {
        let at = |relative: &str| relative.split('.').fold(path.clone(), |path, key| path.key(key));
        self.claimed.extend(rules::at(own).filter_map(ConversionRule::field).map(at));
        for rule in rules::at(own) {
            let done = self.rule(path, node, own, other, rule);
            self.note(done);
        }
        for entry in node.as_mapping().unwrap_or_default() {
            let path = path.key(&entry.key);
            if self.claimed.contains(&path) {
                continue;
            }
            let done = self.entry(path, entry, own, other);
            self.note(done);
        }
        Ok(())
    }

    /// A field of a mapping of which no rule takes care.
    fn entry(
        &mut self,
        path: FieldPath,
        entry: &Entry,
        own: &'static str,
        other: Option<&'static str>,
    ) -> Result<(), Box<ConversionRefusal>> {
        let newer = other.and_then(|other| self.to.field(other, &entry.key));
        let Some(older) = self.from.field(own, &entry.key) else {
            if newer.is_some() && !entry.value.is_null() {
                return Err(ConversionRefusal::new(
                    path,
                    &entry.value,
                    "the older version has no such field, so the server drops it today, but the newer one would use it",
                    "remove the field, or convert the object to the newer version by hand",
                ));
            }
            return Ok(());
        };
        self.value(&path, &entry.value, older, newer)?;
        // Everything in it has moved, or nearly everything.
        let is_null = entry.value.is_null() && self.at_hand != AtHand::Part;
        if newer.is_none() && (entry.value.is_empty_collection() || is_null) {
            self.steps.push(Remove { at: path });
        }
        Ok(())
    }

    fn rule(
        &mut self,
        base: &FieldPath,
        node: &Node,
        own: &'static str,
        other: Option<&'static str>,
        rule: ConversionRule,
    ) -> Result<(), Box<ConversionRefusal>> {
        let at = |relative: &str| relative.split('.').fold(base.clone(), |path, key| path.key(key));
        let found = |relative: &str| node.at(&at_of(relative));
        if let Some((from, value)) = rule.field().and_then(|from| Some((from, found(from)?)))
            && value.is_null()
        {
            if self.at_hand == AtHand::Part {
                // In a patch it takes the field out.
                let to = rule.target().filter(|to| *to != from);
                self.steps.extend(to.map(|to| Move { from: at(from), to: at(to) }));
                return Ok(());
            }
            // Cluster API itself cannot read nothing where a duration must stand.
            let must_stand =
                matches!(rule, ConversionRule::Seconds(..) | ConversionRule::SecondsUnlessZero(..))
                    && self.from.below(own, from).is_some_and(|field| field.zero != Zero::Kept);
            if must_stand {
                let why = "a duration is needed here, but there is nothing";
                return Err(ConversionRefusal::new(at(from), value, why, "fill it in, or remove the field"));
            }
            self.steps.push(Remove { at: at(from) });
            return Ok(());
        }
        if let (Some(from), Some(to)) = (rule.field(), rule.target())
            && from != to
            && found(from).is_some()
            && let Some(there) = found(to).filter(|there| !there.is_null())
        {
            return Err(ConversionRefusal::new(
                at(to),
                there,
                format!("{} belongs here, but there is already a value", at(from)),
                "remove one of the two",
            ));
        }
        match rule {
            ConversionRule::Move(from, to) => {
                let Some(value) = found(from) else { return Ok(()) };
                let newer = other.and_then(|other| self.to.below(other, to));
                let Some(older) = self.from.below(own, from) else { return Ok(()) };
                if self.value(&at(from), value, older, newer)? == Left::There {
                    self.steps.push(Move { from: at(from), to: at(to) });
                }
            }
            ConversionRule::Seconds(from, to) => {
                let Some(value) = found(from) else { return Ok(()) };
                let value = seconds_of(&at(from), value)?;
                self.steps.push(Replace { at: at(from), value: number(value) });
                self.steps.push(Move { from: at(from), to: at(to) });
            }
            ConversionRule::SecondsUnlessZero(from, to) => {
                let Some(value) = found(from) else { return Ok(()) };
                if value.as_str().and_then(nanoseconds) == Some(0) {
                    self.steps.push(Remove { at: at(from) });
                } else {
                    return self.rule(base, node, own, other, ConversionRule::Seconds(from, to));
                }
            }
            ConversionRule::SecondsToo(from, to) => {
                let Some(value) = found(from).filter(|value| !value.is_null()) else { return Ok(()) };
                let value = seconds_of(&at(from), value)?;
                self.steps.push(Add { at: at(to), value: number(value) });
            }
            ConversionRule::Arguments(field) => {
                let Some(value) = found(field) else { return Ok(()) };
                let list = arguments(&at(field), value, &mut self.refused)?;
                self.steps.push(Itemize { at: at(field), value: list, item: ItemFields::ARGUMENT });
            }
            ConversionRule::Reference(from, to) => {
                let Some(value) = found(from) else { return Ok(()) };
                self.reference(&at(from), value, ReferenceVersion::GroupOnly)?;
                if from != to {
                    self.steps.push(Move { from: at(from), to: at(to) });
                }
            }
            ConversionRule::VersionedReference(from, to) => {
                let Some(value) = found(from) else { return Ok(()) };
                self.reference(&at(from), value, ReferenceVersion::Whole)?;
                self.steps.push(Move { from: at(from), to: at(to) });
            }
            ConversionRule::Drop(field) => {
                if found(field).is_some() {
                    self.steps.push(Remove { at: at(field) });
                }
            }
            ConversionRule::Default(fields, within, field, text) => {
                let has_value = |name: &&str| found(name).is_some_and(|node| !node.is_null());
                let Some(within_node) = found(within).filter(|_| fields.iter().any(has_value)) else {
                    return Ok(());
                };
                let value = Node::string(text);
                let at = at(within).key(field);
                match within_node.get(field) {
                    None => self.steps.push(Add { at, value }),
                    Some(node) if node.is_null() || node.as_str() == Some("") => {
                        self.steps.push(Replace { at, value });
                    }
                    Some(_) => {}
                }
            }
            ConversionRule::FirstOf(list, name, switch) => {
                self.refused.extend(first_of(&at(list), found(list), name, switch));
            }
            ConversionRule::Unique(list, name) => self.refused.extend(unique(&at(list), found(list), name)),
        }
        Ok(())
    }

    fn reference(
        &mut self,
        path: &FieldPath,
        node: &Node,
        version: ReferenceVersion,
    ) -> Result<(), Box<ConversionRefusal>> {
        let is_known = |key: &str| self.from.field("ObjectReference", key).is_some();
        let steps = reference_steps(path, node, version, &is_known)?;
        self.steps.extend(steps);
        Ok(())
    }
}

/// Takes from a reference what the newer version does not have. `is_known` says whether the older one has a field.
pub(super) fn reference_steps(
    path: &FieldPath,
    node: &Node,
    version: ReferenceVersion,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Vec<ConversionStep>, Box<ConversionRefusal>> {
    let mut steps = Vec::new();
    let wanted = |why: String, at: FieldPath, node: &Node| {
        ConversionRefusal::new(at, node, why, "write a reference: apiVersion, kind and name")
    };
    let Some(entries) = node.as_mapping() else {
        return Err(wanted("a mapping is needed here".to_owned(), path.clone(), node));
    };
    for entry in entries {
        let at = path.key(&entry.key);
        let text = entry.value.as_str();
        if text.is_none() && !entry.value.is_null() && is_known(&entry.key) {
            return Err(wanted("a string is needed here".to_owned(), at, &entry.value));
        }
        match entry.key.as_str() {
            "kind" | "name" => {}
            "apiVersion" if version == ReferenceVersion::Whole => {}
            "apiVersion" => {
                let text = text.unwrap_or_default();
                let group = api_group(text);
                if text.split('/').count() > 2
                    || (has_variables(text) && group.is_empty())
                    || has_variables(group)
                {
                    return Err(wanted(
                        "the API group must be known to convert this reference".to_owned(),
                        at,
                        &entry.value,
                    ));
                }
                if group.is_empty() {
                    steps.push(Remove { at });
                } else {
                    steps.push(Replace { at: at.clone(), value: Node::string(group) });
                    steps.push(Move { from: at, to: path.key("apiGroup") });
                }
            }
            "apiGroup" if version == ReferenceVersion::GroupOnly => {
                return Err(ConversionRefusal::new(
                    at,
                    &entry.value,
                    "the older version has no such field, but the newer one would use it",
                    "remove the field, or convert the object to the newer version by hand",
                ));
            }
            _ => steps.push(Remove { at }),
        }
    }
    Ok(steps)
}

/// What of `apiVersion` a reference keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceVersion {
    GroupOnly,
    Whole,
}

fn at_of(relative: &str) -> FieldPath {
    FieldPath::of_keys(relative.split('.'))
}

fn is_false_or_zero(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| {
        matches!(scalar.reading(), ScalarReading::Bool(false) | ScalarReading::Integer(0))
    })
}

fn fits(of: &FieldContent, scalar: &Scalar) -> bool {
    let reading = scalar.reading();
    match of {
        _ if has_variables(&scalar.text) => {
            !matches!(of, FieldContent::Struct(_) | FieldContent::List(_) | FieldContent::Map(_))
        }
        FieldContent::Text | FieldContent::Time | FieldContent::Duration => {
            matches!(reading, ScalarReading::String(_))
        }
        FieldContent::Integer => matches!(reading, ScalarReading::Integer(_) | ScalarReading::Unsigned(_)),
        FieldContent::Number => {
            matches!(
                reading,
                ScalarReading::Integer(_) | ScalarReading::Unsigned(_) | ScalarReading::Float(_)
            )
        }
        FieldContent::Truth => matches!(reading, ScalarReading::Bool(_)),
        FieldContent::IntegerOrText => {
            matches!(reading, ScalarReading::Integer(_) | ScalarReading::String(_))
        }
        FieldContent::Anything | FieldContent::Metadata => true,
        FieldContent::List(_) | FieldContent::Map(_) | FieldContent::Struct(_) => false,
    }
}

pub(super) fn number(value: i128) -> Node {
    Node::scalar(Scalar::plain(value.to_string()))
}

/// The whole seconds of a duration; what is longer than 32 bits hold is cut.
pub(super) fn seconds_of(path: &FieldPath, node: &Node) -> Result<i128, Box<ConversionRefusal>> {
    let refused = |why: &str, advice: &str| Err(ConversionRefusal::new(path.clone(), node, why, advice));
    let Some(text) = node.as_str() else {
        return refused("a duration is needed here", "write it as a string such as 10m");
    };
    match nanoseconds(text).map(|nanoseconds| nanoseconds / 1_000_000_000) {
        Some(value) if value >= -MOST_SECONDS => Ok(value.min(MOST_SECONDS)),
        None if has_variables(text) => refused(
            "a duration becomes a number of seconds, but the value of the variable is unknown here",
            "write the duration itself, or convert the object to the newer version by hand, with a variable \
             that holds seconds",
        ),
        _ => refused("this is not a duration that Cluster API accepts", "write it as a string such as 10m"),
    }
}

/// A map of arguments as a list, ordered by name; without those that cannot be in it.
fn arguments(
    path: &FieldPath,
    node: &Node,
    refused: &mut Vec<ConversionRefusal>,
) -> Result<Node, Box<ConversionRefusal>> {
    let Some(entries) = node.as_mapping() else {
        let why = "a mapping of names and values is needed here";
        return Err(ConversionRefusal::new(path.clone(), node, why, "write the arguments as a mapping"));
    };
    let mut arguments = Vec::new();
    for entry in entries {
        if entry.value.as_str().is_none() {
            let why = "the value of an argument must be a string";
            let advice = "put it in quotes";
            refused.push(*ConversionRefusal::new(path.key(&entry.key), &entry.value, why, advice));
            continue;
        }
        arguments.push((entry.key.as_str(), &entry.value));
    }
    arguments.sort_by_key(|(name, _)| *name);
    let item = |(name, value): (&str, &Node)| {
        let value = Node { span: 0..0, shared: false, ..value.clone() };
        Node::mapping([("name", Node::string(name)), ("value", value)])
    };
    Ok(Node::sequence(arguments.into_iter().map(item)))
}

/// Refuses several items of one name that differ in a switch: Cluster API's own conversion gives all of
/// them the first one's.
fn first_of(path: &FieldPath, list: Option<&Node>, name: &str, switch: &str) -> Vec<ConversionRefusal> {
    let items = list.and_then(Node::as_sequence).unwrap_or_default();
    let is_on = |item: &Node| item.get(switch).is_some_and(|node| node.value() == true);
    let mut first = HashMap::new();
    let mut refused = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(own) = item.text_at(name) else { continue };
        if *first.entry(own).or_insert_with(|| is_on(item)) != is_on(item) {
            refused.push(*ConversionRefusal::new(
                path.index(index).key(switch),
                item.get(switch).unwrap_or(item),
                format!(
                    "another item of the list has the {name} {own}, and Cluster API's own conversion gives \
                     both the first one's `{switch}`"
                ),
                "merge the two items, or convert the object to the newer version by hand",
            ));
        }
    }
    refused
}

fn unique(path: &FieldPath, list: Option<&Node>, name: &str) -> Vec<ConversionRefusal> {
    let mut seen = HashSet::new();
    let mut refused = Vec::new();
    for (index, item) in list.and_then(Node::as_sequence).unwrap_or_default().iter().enumerate() {
        let Some(node) = item.get(name) else { continue };
        if node.as_str().is_some_and(|own| !seen.insert(own)) {
            let why = format!("the {name} of an item must be unique, but this occurs twice");
            refused.push(*ConversionRefusal::new(path.index(index).key(name), node, why, "give it another"));
        }
    }
    refused
}
