//! Does the rules of a table on an object.

use super::rule::{Part, Rule, Short};
use crate::conversion::apply::{Did, apply_step};
use crate::conversion::cluster_api::{Version, number, reference_steps, seconds_of};
use crate::conversion::convert::Extent;
use crate::conversion::paths::before;
use crate::conversion::refusal::Refusal;
use crate::conversion::step::ConversionStep::{self, Add, Move, Remove, Replace};
use crate::conversion::step::Note;
use crate::schema::nanoseconds;
use capstan_model::object::FieldPath;
use capstan_yaml::scalar::Reading;
use capstan_yaml::{Entry, Node, NodeKind, YamlFile, same_meaning};

/// An object on its way, and what came of it so far.
pub(super) struct Run<'a> {
    /// The object before all steps.
    was: &'a Node,
    /// The object after the steps.
    pub(super) object: Node,
    pub(super) steps: Vec<ConversionStep>,
    pub(super) notes: Vec<Note>,
    pub(super) refused: Vec<Refusal>,
    extent: Extent,
}

/// The object at a path below a place: `a.b`.
pub(super) fn below(base: &FieldPath, relative: &str) -> FieldPath {
    relative.split('.').filter(|key| !key.is_empty()).fold(base.clone(), |path, key| path.key(key))
}

impl<'a> Run<'a> {
    pub(super) fn new(was: &'a Node, extent: Extent) -> Self {
        let object = was.clone();
        Self { was, object, steps: Vec::new(), notes: Vec::new(), refused: Vec::new(), extent }
    }

    /// Whether what is absent in the object is absent in the cluster.
    pub(super) fn is_whole(&self) -> bool {
        self.extent != Extent::Part
    }

    /// Whether what the newer version requires has to be there.
    pub(super) fn is_complete(&self) -> bool {
        self.extent == Extent::Whole
    }

    /// The parts of a table that speak of this kind.
    pub(super) fn parts(&mut self, kind: &str, parts: &[Part]) {
        for part in parts {
            for (_, place) in part.at.iter().filter(|(of, _)| *of == kind) {
                let base = below(&FieldPath::root(), place);
                if self.object.at(&base).is_some_and(|node| node.as_mapping().is_some()) {
                    self.rules(&base, part.rules);
                }
            }
        }
    }

    fn rules(&mut self, base: &FieldPath, rules: &[Rule]) {
        for rule in rules {
            self.rule(base, *rule);
        }
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
        self.notes.push(Note { field, text: text.into() });
    }

    pub(super) fn refuse(&mut self, path: &FieldPath, why: impl Into<String>, advice: impl Into<String>) {
        let field = self.origin(path);
        let value = self.was.at(&field).or_else(|| self.object.at(path)).map(Node::value);
        self.refused.push(Refusal { field, value, why: why.into(), advice: advice.into(), asks: false });
    }

    pub(super) fn ask(&mut self, path: &FieldPath, why: impl Into<String>, advice: impl Into<String>) {
        self.refuse(path, why, advice);
        if let Some(refused) = self.refused.last_mut() {
            refused.asks = true;
        }
    }

    /// A value that says something. In a whole object, `null` says nothing and goes.
    fn found(&mut self, path: &FieldPath) -> Option<Node> {
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

    fn rule(&mut self, base: &FieldPath, rule: Rule) {
        let at = |relative: &str| below(base, relative);
        match rule {
            Rule::In(field, rules) => {
                let place = at(field);
                if self.object.at(&place).is_some_and(|node| node.as_mapping().is_some()) {
                    self.rules(&place, rules);
                }
            }
            Rule::Each(field, rules) => {
                let place = at(field);
                let items: Vec<FieldPath> = match self.object.at(&place).map(|node| &node.kind) {
                    Some(NodeKind::Sequence(items)) => {
                        (0..items.len()).map(|index| place.index(index)).collect()
                    }
                    Some(NodeKind::Mapping(entries)) => {
                        entries.iter().map(|entry| place.key(&entry.key)).collect()
                    }
                    _ => Vec::new(),
                };
                items.iter().for_each(|item| self.rules(item, rules));
            }
            Rule::Move(from, to) => {
                let from = at(from);
                if self.found(&from).is_some() {
                    self.go(&from, &at(to));
                }
            }
            Rule::Append(from, to) => self.append(&at(from), &at(to)),
            Rule::Not(from, to) => self.not(&at(from), &at(to)),
            Rule::Seconds(from, to, short) => self.seconds(&at(from), &at(to), short),
            Rule::Wrap(field, within) => self.wrap(&at(field), within),
            Rule::Wins(winner, loser) => {
                let (winner, loser) = (at(winner), at(loser));
                if self.object.at(&winner).is_some_and(says_something) && self.found(&loser).is_some() {
                    let name = winner.to_string();
                    self.note(
                        &loser,
                        format!("{name} counts in the older version, so this has no effect and goes"),
                    );
                    self.step(Remove { at: loser });
                }
            }
            Rule::Pairs(field, [name, value]) => {
                let item = |entry: &Entry| {
                    Some(Node::mapping([(name, Node::string(&entry.key)), (value, own(&entry.value))]))
                };
                self.list(&at(field), item);
            }
            Rule::Named(field, name) => {
                let item = |entry: &Entry| {
                    let mut item = match &entry.value.kind {
                        NodeKind::Mapping(_) => own(&entry.value),
                        _ if entry.value.is_null() => Node::new(NodeKind::Mapping(Vec::new())),
                        _ => return None,
                    };
                    if let NodeKind::Mapping(entries) = &mut item.kind {
                        let named = Node::string(&entry.key);
                        entries.insert(0, Entry { key: name.to_owned(), key_span: 0..0, value: named });
                    }
                    Some(item)
                };
                self.list(&at(field), item);
            }
            Rule::Split(field) => self.split(&at(field)),
            Rule::Only(field, keys) => {
                let place = at(field);
                let entries = self.object.at(&place).and_then(Node::as_mapping).unwrap_or_default();
                let gone: Vec<FieldPath> = entries
                    .iter()
                    .filter(|entry| !keys.contains(&entry.key.as_str()))
                    .map(|entry| place.key(&entry.key))
                    .collect();
                gone.into_iter().for_each(|at| self.step(Remove { at }));
            }
            Rule::Group(from, to) => {
                let (from, to) = (at(from), at(to));
                let Some(node) = self.found(&from) else { return };
                match reference_steps(&from, &node, Version::GroupOnly, &|key| REFERENCE.contains(&key)) {
                    Ok(steps) => {
                        steps.into_iter().for_each(|step| self.step(step));
                        if from != to {
                            self.go(&from, &to);
                        }
                    }
                    Err(refusal) => {
                        let Refusal { field, why, advice, .. } = *refusal;
                        self.refuse(&field, why, advice);
                    }
                }
            }
            Rule::Copied(from, to) => {
                let (from, to) = (at(from), at(to));
                let Some(node) = self.found(&from) else { return };
                match self.object.at(&to).filter(|there| says_something(there)) {
                    None => {
                        self.step(Remove { at: to.clone() });
                        self.go(&from, &to);
                    }
                    Some(there) if same_meaning(&node, there) => self.step(Remove { at: from }),
                    Some(_) => {
                        let why = format!("{to} says something else, and the newer version has that alone");
                        self.refuse(&from, why, "take out one of the two, or let both say the same");
                    }
                }
            }
            Rule::Drop(field) => self.step(Remove { at: at(field) }),
            Rule::Leave(field, why) => {
                let place = at(field);
                if self.found(&place).is_some() {
                    self.note(&place, why);
                    self.step(Remove { at: place });
                }
            }
            Rule::Say(what) => self.note(base, what),
            Rule::Empty(field) => {
                let place = at(field);
                if self.is_whole() && self.object.at(&place).is_some_and(|node| !says_something(node)) {
                    self.step(Remove { at: place });
                }
            }
            Rule::Zero(field) => {
                let place = at(field);
                let is_zero = |node: &Node| {
                    node.as_scalar().is_some_and(|scalar| {
                        matches!(scalar.reading(), Reading::Bool(false) | Reading::Integer(0))
                    })
                };
                if self.is_whole() && self.object.at(&place).is_some_and(is_zero) {
                    self.step(Remove { at: place });
                }
            }
            Rule::NotPositive(field) => {
                let place = at(field);
                if self.object.at(&place).and_then(|node| node.value().as_i64()).is_some_and(|own| own <= 0) {
                    self.step(Remove { at: place });
                }
            }
            Rule::Refuse(field, why, advice) => {
                let place = at(field);
                let Some(node) = self.found(&place) else { return };
                if says_something(&node) || self.extent == Extent::Part {
                    self.refuse(&place, why, advice);
                } else {
                    self.step(Remove { at: place });
                }
            }
            Rule::RefuseTrue(field, why, advice) => {
                let place = at(field);
                let Some(node) = self.found(&place) else { return };
                if node.value() == false {
                    self.step(Remove { at: place });
                } else {
                    self.refuse(&place, why, advice);
                }
            }
            Rule::Ask(field, why, advice) => {
                let place = at(field);
                let Some(node) = self.found(&place) else { return };
                if says_something(&node) {
                    self.ask(&place, why, advice);
                } else {
                    self.step(Remove { at: place });
                }
            }
            Rule::Silent(field, value, why) => {
                let place = at(field);
                if self.is_whole() && self.object.at(&place).is_none_or(Node::is_null) {
                    self.write(&place, value);
                    self.note(&place, why);
                }
            }
            Rule::Required(field, advice) => {
                let place = at(field);
                if self.is_complete() && self.object.at(&place).is_none_or(is_empty) {
                    let why = "the newer version requires this field, and the object does not have it";
                    self.refuse(&place, why, advice);
                }
            }
            Rule::AskAbsent(field, why, advice) => {
                let place = at(field);
                if self.is_complete() && self.object.at(&place).is_none_or(is_empty) {
                    self.ask(&place, why, advice);
                }
            }
            Rule::Unique(list, key) => self.unique(&at(list), key),
            Rule::Least(field, least) => {
                let place = at(field);
                if self
                    .object
                    .at(&place)
                    .and_then(|node| node.value().as_i64())
                    .is_some_and(|own| own < least)
                {
                    let why = format!("the newer version takes {least} or more");
                    self.refuse(&place, why, format!("write {least} or more, if the provider may do so"));
                }
            }
            Rule::Choices(field, choices) => {
                let place = at(field);
                let is_other = |node: &Node| {
                    node.as_str().is_some_and(|text| !is_template(text) && !choices.contains(&text))
                };
                if self.object.at(&place).is_some_and(is_other) {
                    let choices = choices.join(", ");
                    let why = format!("the newer version takes {choices} alone");
                    self.refuse(&place, why, format!("write one of {choices}"));
                }
            }
            Rule::Uuid(field) => {
                let place = at(field);
                let is_other =
                    |node: &Node| node.as_str().is_some_and(|text| !is_template(text) && !is_uuid(text));
                if self.object.at(&place).is_some_and(is_other) {
                    let why = "the newer version takes a UUID here, and this is none";
                    self.refuse(&place, why, "write the UUID of the object, or name it with a filter");
                }
            }
            Rule::Hand(write) => write(self, base),
        }
    }

    /// Writes a value, given as YAML, where nothing says anything.
    pub(super) fn write(&mut self, place: &FieldPath, yaml: &str) {
        let read = YamlFile::read(yaml).ok();
        let Some(document) = read.as_ref().and_then(|file| file.documents().first()) else { return };
        let value = own(&document.root);
        self.step(Remove { at: place.clone() });
        self.step(Add { at: place.clone(), value });
    }

    fn append(&mut self, from: &FieldPath, to: &FieldPath) {
        let Some(node) = self.found(from) else { return };
        let Some(first) = self.object.at(to).and_then(Node::as_sequence) else { return self.go(from, to) };
        let items = first.iter().chain(node.as_sequence().unwrap_or_default()).map(own).collect::<Vec<_>>();
        self.step(Replace { at: to.clone(), value: Node::sequence(items) });
        self.step(Remove { at: from.clone() });
    }

    fn not(&mut self, from: &FieldPath, to: &FieldPath) {
        let Some(node) = self.found(from) else { return };
        match node.as_scalar().map(|scalar| scalar.reading()) {
            Some(Reading::Bool(is_on)) => {
                let value = Node::scalar(capstan_yaml::Scalar::plain((!is_on).to_string()));
                self.step(Replace { at: from.clone(), value });
                self.go(from, to);
            }
            Some(Reading::Null) => self.go(from, to),
            _ => {
                let why = format!(
                    "the newer version has the opposite at {to}, and what this becomes is not known here"
                );
                self.refuse(
                    from,
                    why,
                    "write true or false, or bring the field to the newer version by hand",
                );
            }
        }
    }

    fn seconds(&mut self, from: &FieldPath, to: &FieldPath, short: Short) {
        let Some(node) = self.found(from) else { return };
        if node.is_null() {
            return self.go(from, to);
        }
        let seconds = match seconds_of(from, &node) {
            Ok(seconds) => seconds,
            Err(refusal) => return self.refuse(from, refusal.why, refusal.advice),
        };
        let is_some = node.as_str().and_then(nanoseconds).is_some_and(|nanoseconds| nanoseconds > 0);
        let seconds = match short {
            Short::Gone(then) | Short::Least(_, then) if seconds == 0 => {
                self.note(from, format!("no whole second is left of it, so it goes: {then}"));
                return self.step(Remove { at: from.clone() });
            }
            Short::Least(least, _) if seconds < i128::from(least) => {
                let why = format!("the newer version takes {least} seconds or more");
                return self.refuse(from, why, format!("write {least}s or more"));
            }
            Short::One if seconds < 1 => i128::from(is_some),
            _ => seconds,
        };
        self.step(Replace { at: from.clone(), value: number(seconds) });
        self.go(from, to);
    }

    fn wrap(&mut self, place: &FieldPath, within: &str) {
        let Some(node) = self.found(place) else { return };
        if node.is_null() {
            return;
        }
        if node.as_scalar().is_none() {
            return self.refuse(
                place,
                "it is a string in the older version",
                "write it as a string, or bring the object to the newer version by hand",
            );
        }
        let value = within.rsplit('.').fold(own(&node), |node, key| Node::mapping([(key, node)]));
        self.step(Replace { at: place.clone(), value });
    }

    fn list(&mut self, place: &FieldPath, item: impl Fn(&Entry) -> Option<Node>) {
        let Some(node) = self.found(place) else { return };
        let Some(entries) = node.as_mapping() else {
            if !node.is_null() {
                let advice = "write it as a mapping, or bring the object to the newer version by hand";
                self.refuse(place, "it is a mapping in the older version", advice);
            }
            return;
        };
        if let Some(entry) = entries.iter().find(|entry| entry.key == "$patch") {
            let why = "the newer version has a list here, which a patch replaces as a whole";
            return self.refuse(&place.key(&entry.key), why, "write the whole list");
        }
        if entries.is_empty() {
            return self.step(Remove { at: place.clone() });
        }
        let mut sorted: Vec<&Entry> = entries.iter().collect();
        sorted.sort_by(|one, other| one.key.cmp(&other.key));
        let mut items = Vec::new();
        for entry in sorted {
            match item(entry) {
                Some(item) => items.push(item),
                None => {
                    let why = "it is a mapping in the older version";
                    return self.refuse(&place.key(&entry.key), why, "write it as a mapping");
                }
            }
        }
        self.step(Replace { at: place.clone(), value: Node::sequence(items) });
    }

    fn split(&mut self, place: &FieldPath) {
        let Some(node) = self.found(place).filter(|node| !node.is_null()) else { return };
        let Some(text) = node.as_str() else {
            let advice = "write it as a string, or bring the object to the newer version by hand";
            return self.refuse(place, "it is a string with commas in the older version", advice);
        };
        let parts = text.split(',').filter(|part| !part.is_empty());
        let items: Vec<Node> = parts.map(Node::string).collect();
        if items.is_empty() {
            self.step(Remove { at: place.clone() });
        } else if is_template(text) {
            let why = "the newer version has a list here, and what the variable holds is not known";
            self.refuse(place, why, "write the tags themselves");
        } else {
            self.step(Replace { at: place.clone(), value: Node::sequence(items) });
        }
    }

    fn unique(&mut self, list: &FieldPath, key: &str) {
        let items = self.object.at(list).and_then(Node::as_sequence).unwrap_or_default().to_vec();
        let mut seen: Vec<capstan_yaml::Value> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Some(own) = item.get(key).filter(|node| !node.is_null()).map(Node::value) else { continue };
            if seen.contains(&own) {
                let why = format!(
                    "the newer version tells the items of {list} apart by {key}, and two have this one"
                );
                self.refuse(&list.index(index).key(key), why, format!("give each item its own {key}"));
            } else {
                seen.push(own);
            }
        }
    }
}

const REFERENCE: [&str; 7] =
    ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"];

/// A value without its place in the text.
pub(super) fn own(node: &Node) -> Node {
    Node { span: 0..0, shared: false, ..node.clone() }
}

/// Whether the text has variables that are filled in later.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("${") || text.contains("{{")
}

/// Whether a value is more than an empty text, list or mapping, at whatever depth.
pub(super) fn says_something(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.iter().any(|entry| says_something(&entry.value)),
        NodeKind::Sequence(items) => !items.is_empty(),
        NodeKind::Scalar(scalar) => !matches!(
            scalar.reading(),
            Reading::Null | Reading::String("") | Reading::Integer(0) | Reading::Bool(false)
        ),
    }
}

/// Whether nothing is written there: no value, or an empty one.
fn is_empty(node: &Node) -> bool {
    node.is_null() || node.is_empty_collection() || node.as_str() == Some("")
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}
