//! Does the rules of a table on an object.

use super::rule::{ShortDuration, TablePart, TableRule};
use super::run::{TableRun, below, is_empty, own, says_something};
use crate::conversion::cluster_api::{ReferenceVersion, number, reference_steps, seconds_of};
use crate::conversion::has_variables::has_variables;
use crate::conversion::refusal::ConversionRefusal;
use crate::conversion::step::ConversionStep::{Itemize, Remove, Replace};
use crate::conversion::step::ItemFields;
use crate::schema::nanoseconds;
use capstan_model::object::FieldPath;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Entry, Node, NodeKind, same_meaning};

impl TableRun<'_> {
    /// The parts of a table that speak of this kind.
    pub(super) fn parts(&mut self, kind: &str, parts: &[TablePart]) {
        for part in parts {
            for (_, place) in part.at.iter().filter(|(of, _)| *of == kind) {
                let base = below(&FieldPath::root(), place);
                if self.object.at(&base).is_some_and(|node| node.as_mapping().is_some()) {
                    self.rules(&base, part.rules);
                }
            }
        }
    }

    fn rules(&mut self, base: &FieldPath, rules: &[TableRule]) {
        for rule in rules {
            self.rule(base, *rule);
        }
    }

    fn rule(&mut self, base: &FieldPath, rule: TableRule) {
        let at = |relative: &str| below(base, relative);
        match rule {
            TableRule::In(field, rules) => {
                let place = at(field);
                if self.object.at(&place).is_some_and(|node| node.as_mapping().is_some()) {
                    self.rules(&place, rules);
                }
            }
            TableRule::Each(field, rules) => {
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
            TableRule::Move(from, to) => {
                let from = at(from);
                if self.found(&from).is_some() {
                    self.go(&from, &at(to));
                }
            }
            TableRule::Append(from, to) => self.append(&at(from), &at(to)),
            TableRule::Not(from, to) => self.not(&at(from), &at(to)),
            TableRule::Seconds(from, to, short) => self.seconds(&at(from), &at(to), short),
            TableRule::Wrap(field, within) => self.wrap(&at(field), within),
            TableRule::Wins(winner, loser) => {
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
            TableRule::Pairs(field, [name, value]) => {
                let item = |entry: &Entry| {
                    Some(Node::mapping([(name, Node::string(&entry.key)), (value, own(&entry.value))]))
                };
                self.list(&at(field), ItemFields { name, value: Some(value) }, item);
            }
            TableRule::Named(field, name) => {
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
                self.list(&at(field), ItemFields { name, value: None }, item);
            }
            TableRule::Split(field) => self.split(&at(field)),
            TableRule::Only(field, keys) => {
                let place = at(field);
                let entries = self.object.at(&place).and_then(Node::as_mapping).unwrap_or_default();
                let gone: Vec<FieldPath> = entries
                    .iter()
                    .filter(|entry| !keys.contains(&entry.key.as_str()))
                    .map(|entry| place.key(&entry.key))
                    .collect();
                gone.into_iter().for_each(|at| self.step(Remove { at }));
            }
            TableRule::Group(from, to) => {
                let (from, to) = (at(from), at(to));
                let Some(node) = self.found(&from) else { return };
                match reference_steps(&from, &node, ReferenceVersion::GroupOnly, &|key| {
                    REFERENCE.contains(&key)
                }) {
                    Ok(steps) => {
                        steps.into_iter().for_each(|step| self.step(step));
                        if from != to {
                            self.go(&from, &to);
                        }
                    }
                    Err(refusal) => {
                        let ConversionRefusal { field, why, advice, .. } = *refusal;
                        self.refuse(&field, why, advice);
                    }
                }
            }
            TableRule::Copied(from, to) => {
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
            TableRule::Drop(field) => self.step(Remove { at: at(field) }),
            TableRule::Leave(field, why) => {
                let place = at(field);
                if self.found(&place).is_some() {
                    self.note(&place, why);
                    self.step(Remove { at: place });
                }
            }
            TableRule::Say(what) => self.note(&FieldPath::root(), what),
            TableRule::Empty(field) => {
                let place = at(field);
                if self.is_whole() && self.object.at(&place).is_some_and(|node| !says_something(node)) {
                    self.step(Remove { at: place });
                }
            }
            TableRule::Zero(field) => {
                let place = at(field);
                let is_zero = |node: &Node| {
                    node.as_scalar().is_some_and(|scalar| {
                        matches!(scalar.reading(), ScalarReading::Bool(false) | ScalarReading::Integer(0))
                    })
                };
                if self.is_whole() && self.object.at(&place).is_some_and(is_zero) {
                    self.step(Remove { at: place });
                }
            }
            TableRule::NotPositive(field) => {
                let place = at(field);
                if self.object.at(&place).and_then(|node| node.value().as_i64()).is_some_and(|own| own <= 0) {
                    self.step(Remove { at: place });
                }
            }
            TableRule::Refuse(field, why, advice) => {
                let place = at(field);
                let Some(node) = self.found(&place) else { return };
                if says_something(&node) || !self.is_whole() {
                    self.refuse(&place, why, advice);
                } else {
                    self.step(Remove { at: place });
                }
            }
            TableRule::RefuseTrue(field, why, advice) => {
                let place = at(field);
                let Some(node) = self.found(&place) else { return };
                if node.value() == false {
                    self.step(Remove { at: place });
                } else {
                    self.refuse(&place, why, advice);
                }
            }
            TableRule::Ask(field, why, advice) => {
                let place = at(field);
                let Some(node) = self.found(&place) else { return };
                if says_something(&node) {
                    self.ask(&place, why, advice);
                } else {
                    self.step(Remove { at: place });
                }
            }
            TableRule::Silent(field, value, why) => {
                let place = at(field);
                if self.is_whole() && self.object.at(&place).is_none_or(Node::is_null) {
                    self.write(&place, value);
                    self.note(&place, why);
                }
            }
            TableRule::Required(field, advice) => {
                let place = at(field);
                if self.is_complete() && self.object.at(&place).is_none_or(is_empty) {
                    let why = "the newer version requires this field, and the object does not have it";
                    self.refuse(&place, why, advice);
                }
            }
            TableRule::AskAbsent(field, why, advice) => {
                let place = at(field);
                if self.is_complete() && self.object.at(&place).is_none_or(is_empty) {
                    self.ask(&place, why, advice);
                }
            }
            TableRule::Unique(list, key) => self.unique(&at(list), key),
            TableRule::Distinct(list) => self.distinct(&at(list)),
            TableRule::Least(field, least) => {
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
            TableRule::Choices(field, choices) => {
                let place = at(field);
                let is_other = |node: &Node| {
                    node.as_str().is_some_and(|text| !has_variables(text) && !choices.contains(&text))
                };
                if self.object.at(&place).is_some_and(is_other) {
                    let choices = choices.join(", ");
                    let why = format!("the newer version takes {choices} alone");
                    self.refuse(&place, why, format!("write one of {choices}"));
                }
            }
            TableRule::Uuid(field) => {
                let place = at(field);
                let is_other =
                    |node: &Node| node.as_str().is_some_and(|text| !has_variables(text) && !is_uuid(text));
                if self.object.at(&place).is_some_and(is_other) {
                    let why = "the newer version takes a UUID here, and this is not one";
                    self.refuse(&place, why, "write the UUID of the object, or name it with a filter");
                }
            }
            TableRule::Hand(write) => write(self, base),
        }
    }

    fn append(&mut self, from: &FieldPath, to: &FieldPath) {
        let Some(node) = self.found(from) else { return };
        if node.as_sequence().is_none() && !node.is_null() {
            let advice = "write it as a list, or bring the object to the newer version by hand";
            return self.refuse(from, "it is a list in the older version", advice);
        }
        let Some(first) = self.object.at(to).and_then(Node::as_sequence) else { return self.go(from, to) };
        let items = first.iter().chain(node.as_sequence().unwrap_or_default()).map(own).collect::<Vec<_>>();
        self.step(Replace { at: to.clone(), value: Node::sequence(items) });
        self.step(Remove { at: from.clone() });
    }

    fn not(&mut self, from: &FieldPath, to: &FieldPath) {
        let Some(node) = self.found(from) else { return };
        match node.as_scalar().map(|scalar| scalar.reading()) {
            Some(ScalarReading::Bool(is_on)) => {
                let value = Node::scalar(capstan_yaml::Scalar::plain((!is_on).to_string()));
                self.step(Replace { at: from.clone(), value });
                self.go(from, to);
            }
            Some(ScalarReading::Null) => self.go(from, to),
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

    fn seconds(&mut self, from: &FieldPath, to: &FieldPath, short: ShortDuration) {
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
            ShortDuration::Gone(then) | ShortDuration::Least(_, then) if seconds == 0 => {
                self.note(from, format!("no whole second is left of it, so it goes: {then}"));
                return self.step(Remove { at: from.clone() });
            }
            ShortDuration::Least(least, _) if seconds < i128::from(least) => {
                let why = format!("the newer version takes {least} seconds or more");
                return self.refuse(from, why, format!("write {least}s or more"));
            }
            ShortDuration::One if seconds < 1 => i128::from(is_some),
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

    fn list(&mut self, place: &FieldPath, fields: ItemFields, item: impl Fn(&Entry) -> Option<Node>) {
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
        self.step(Itemize { at: place.clone(), value: Node::sequence(items), item: fields });
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
        } else if has_variables(text) {
            let why = "the newer version has a list here, and what the variable holds is not known";
            self.refuse(place, why, "write the values as a list");
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

    fn distinct(&mut self, list: &FieldPath) {
        let items = self.object.at(list).and_then(Node::as_sequence).unwrap_or_default().to_vec();
        for (index, item) in items.iter().enumerate() {
            if items[..index].iter().any(|before| same_meaning(before, item)) {
                let why = format!(
                    "the newer version takes each item of {list} once, and this one is there already"
                );
                self.refuse(&list.index(index), why, "take out one of the two");
            }
        }
    }
}

const REFERENCE: [&str; 7] =
    ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"];

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}
