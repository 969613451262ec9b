//! Every value of an object is accounted for, whatever the object: objects are made at random from the tables
//! themselves, with values that occur nowhere else.

use super::read;
use crate::conversion::providers::TABLES;
use crate::conversion::providers::rule::{ConversionTable, TableRule};
use crate::conversion::{AtHand, apply, convert_or_all};
use crate::schema::Schemas;
use capstan_model::object::FieldPath;
use capstan_test_support::random::{Random, seed};
use serde_json::{Map, Value, json};

/// What objects need that a table's hands ask for.
const NEEDED: &[(&str, &str, &str)] = &[
    ("OpenStackCluster", "v1alpha7", "{identityRef: {name: s}, cloudName: c}"),
    ("OpenStackClusterTemplate", "v1alpha7", "{identityRef: {name: s}, cloudName: c}"),
    ("ProxmoxMachine", "v1alpha1", "{sourceNode: nn, network: {default: {bridge: b}}}"),
    ("ProxmoxMachineTemplate", "v1alpha1", "{sourceNode: nn, network: {default: {bridge: b}}}"),
    ("IBMPowerVSCluster", "v1beta2", "{topology: VirtualIP}"),
    ("IBMPowerVSClusterTemplate", "v1beta2", "{topology: VirtualIP}"),
];

#[test]
fn every_value_is_moved_or_taken_out_by_a_rule_or_named() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    let count = super::objects_of_a_kind(100);
    for table in TABLES {
        let mut kinds: Vec<&str> =
            table.parts.iter().flat_map(|part| part.at).map(|(kind, _)| *kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mut converted = 0;
        for kind in &kinds {
            converted += (0..count).filter(|_| is_converted(&mut random, table, kind)).count();
        }
        // Otherwise nothing was compared.
        let all = kinds.len() * count;
        let (from, to) = table.versions;
        assert!(converted * 4 > all, "{} {from} to {to}: {converted} of {all} are converted", table.group);
    }
}

/// Whether an object at random has a conversion. What it has is in the result; what keeps it from one is named.
fn is_converted(random: &mut Random, table: &ConversionTable, kind: &str) -> bool {
    let (from, to) = table.versions;
    let mut made = Made { random, next: 1000, kept: Vec::new(), keeps: true };
    let mut object = json!({"metadata": {"name": "x", "namespace": "ns"}});
    for (of, version, needed) in NEEDED {
        if *of == kind && *version == from {
            let needed = read(needed).value();
            let place = if kind.ends_with("Template") { "spec.template.spec" } else { "spec" };
            put(&mut object, place, needed);
        }
    }
    for part in table.parts {
        for (_, place) in part.at.iter().filter(|(of, _)| *of == kind) {
            let value = made.mapping(part.rules);
            // The rules above move it there.
            let place = if from == "v1alpha7" {
                place.replace("bastion.spec", "bastion.instance")
            } else {
                (*place).to_owned()
            };
            put(&mut object, &place, Value::Object(value));
        }
    }
    object["kind"] = json!(kind);
    object["apiVersion"] = json!(format!("{}/{from}", table.group));
    let text = object.to_string();
    // What was made for a place where something else is.
    made.kept.retain(|(_, value)| text.contains(value));
    let was = read(&text);
    let target = format!("{}/{to}", table.group);
    match convert_or_all(&was, &target, AtHand::Whole, Schemas::built_in()) {
        Ok(conversion) => {
            let mut after = was.clone();
            apply(&mut after, &conversion);
            let after = after.value().to_string();
            for (path, value) in &made.kept {
                assert!(after.contains(value), "{path} ({value}) of {kind} is lost: {text} became {after}");
            }
            true
        }
        Err((first, others)) => {
            for why in [*first].iter().chain(&others) {
                let is_named =
                    why.field != FieldPath::root() && !why.why.is_empty() && !why.advice.is_empty();
                assert!(is_named, "{text}: {why}");
            }
            false
        }
    }
}

/// Puts a value at a place, with the mappings on the way, beside what is there.
fn put(object: &mut Value, place: &str, value: Value) {
    let mut now = object;
    for key in place.split('.').filter(|key| !key.is_empty()) {
        now = now.as_object_mut().unwrap().entry(key).or_insert_with(|| json!({}));
    }
    match (now, value) {
        (Value::Object(there), Value::Object(more)) if !there.is_empty() => {
            for (key, value) in more {
                there.entry(key).or_insert(value);
            }
        }
        (now, value) => *now = value,
    }
}

struct Made<'a> {
    random: &'a mut Random,
    next: u64,
    /// What has to be in the result as it is: the rule's field, for a message, and the text.
    kept: Vec<(String, String)>,
    /// Whether what is made now has to be.
    keeps: bool,
}

impl Made<'_> {
    /// A number that occurs nowhere else.
    fn number(&mut self, path: &str) -> u64 {
        self.next += 1;
        if self.keeps {
            self.kept.push((path.to_owned(), self.next.to_string()));
        }
        self.next
    }

    fn text(&mut self, path: &str) -> String {
        format!("t{}", self.number(path))
    }

    fn gone<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let kept = std::mem::replace(&mut self.keeps, false);
        let made = make(self);
        self.keeps = kept;
        made
    }

    /// A mapping that some of the rules speak of.
    fn mapping(&mut self, rules: &[TableRule]) -> Map<String, Value> {
        let mut all = json!({});
        if self.random.percent(50) {
            let ours = format!("ours{}", self.next);
            all[&ours] = json!(self.text(&ours));
        }
        for (index, rule) in rules.iter().enumerate() {
            let Some(field) = read_by(rule) else { continue };
            let is_of_newer = rules[..index].iter().filter_map(written_by).any(|to| is_below(field, to));
            let is_there = all.pointer(&format!("/{}", field.replace('.', "/"))).is_some();
            if is_of_newer || is_there || !self.random.percent(chance(rule)) {
                continue;
            }
            if let (TableRule::In("", inner), Value::Object(all)) = (rule, &mut all) {
                all.extend(self.mapping(inner));
                continue;
            }
            let may_be = |winner: &str| {
                all.get(winner).is_some() || rules[index..].iter().any(|rule| read_by(rule) == Some(winner))
            };
            let says_nothing = rules.iter().any(
                |rule| matches!(rule, TableRule::Wins(winner, loser) if *loser == field && may_be(winner)),
            );
            let rules = &rules[index..];
            let value = if says_nothing {
                self.gone(|made| made.value(field, rules))
            } else {
                self.value(field, rules)
            };
            put(&mut all, field, value);
        }
        match all {
            Value::Object(all) => all,
            _ => Map::new(),
        }
    }

    /// A value for a field, as the first rule that reads it wants it.
    fn value(&mut self, field: &str, rules: &[TableRule]) -> Value {
        for (index, rule) in rules.iter().enumerate() {
            let rest = &rules[index + 1..];
            match *rule {
                TableRule::In(place, inner) => {
                    if place == field {
                        return Value::Object(self.mapping(inner));
                    }
                    if let Some(below) = field.strip_prefix(place).and_then(|below| below.strip_prefix('.')) {
                        return self.value(below, inner);
                    }
                }
                TableRule::Each(place, inner) if place == field => {
                    let count = 1 + self.random.below(2);
                    let is_scalar = inner.iter().any(|rule| read_by(rule) == Some(""));
                    let item = |made: &mut Self| match is_scalar {
                        true => made.value("", inner),
                        false => Value::Object(made.mapping(inner)),
                    };
                    return (0..count).map(|_| item(self)).collect();
                }
                TableRule::Move(from, to) if from == field => return self.value(to, rest),
                TableRule::Copied(from, to) if from == field => return self.value(to, rest),
                TableRule::Not(from, _) if from == field => return json!(self.random.percent(50)),
                TableRule::Seconds(from, _, _) if from == field => {
                    return json!(format!("{}s", self.number(field)));
                }
                TableRule::Pairs(place, _) if place == field => {
                    return json!({self.text(field): self.text(field), self.text(field): self.text(field)});
                }
                TableRule::Named(place, _) if place == field => {
                    return json!({self.text(field): {"of": self.text(field)}, self.text(field): {}});
                }
                TableRule::Split(place) if place == field => {
                    return json!(format!("{},{}", self.text(field), self.text(field)));
                }
                TableRule::Only(place, keys) if place == field => {
                    let mut all = json!({"ofNoUse": self.gone(|made| made.text(field))});
                    keys.iter().for_each(|key| all[*key] = json!(self.text(field)));
                    return all;
                }
                TableRule::Group(from, _) if from == field => {
                    let namespace = self.gone(|made| made.text(field));
                    let group = format!("{}.example.org", self.text(field));
                    let api_version = format!("{group}/v1");
                    let (kind, name) = (self.text(field), self.text(field));
                    return json!({"apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace});
                }
                TableRule::Drop(place) | TableRule::Leave(place, _) if place == field => {
                    return self.gone(|made| json!(made.text(field)));
                }
                TableRule::Choices(place, choices) if place == field => {
                    return json!(self.random.pick(choices));
                }
                TableRule::Uuid(place) if place == field => {
                    return json!(format!("00000000-0000-0000-0000-{:012}", self.number(field)));
                }
                TableRule::Least(place, _) if place == field => return json!(self.number(field)),
                TableRule::RefuseTrue(place, ..) if place == field => return json!(true),
                _ => {}
            }
        }
        json!(self.text(field))
    }
}

/// The field of the older version that a rule reads.
fn read_by(rule: &TableRule) -> Option<&'static str> {
    match *rule {
        TableRule::In(field, _)
        | TableRule::Each(field, _)
        | TableRule::Move(field, _)
        | TableRule::Not(field, _)
        | TableRule::Seconds(field, ..)
        | TableRule::Wrap(field, _)
        | TableRule::Pairs(field, _)
        | TableRule::Named(field, _)
        | TableRule::Split(field)
        | TableRule::Only(field, _)
        | TableRule::Group(field, _)
        | TableRule::Copied(field, _)
        | TableRule::Drop(field)
        | TableRule::Leave(field, _)
        | TableRule::Refuse(field, ..)
        | TableRule::RefuseTrue(field, ..)
        | TableRule::Ask(field, ..)
        | TableRule::AskAbsent(field, ..)
        | TableRule::Required(field, _)
        | TableRule::Choices(field, _)
        | TableRule::Uuid(field)
        | TableRule::Least(field, _) => Some(field),
        TableRule::Wins(..)
        | TableRule::Append(..)
        | TableRule::Empty(_)
        | TableRule::Zero(_)
        | TableRule::NotPositive(_)
        | TableRule::Silent(..)
        | TableRule::Say(_)
        | TableRule::Unique(..)
        | TableRule::Distinct(_)
        | TableRule::Hand(_) => None,
    }
}

/// The field that it writes, which an object of the older version does not have.
fn written_by(rule: &TableRule) -> Option<&'static str> {
    match *rule {
        TableRule::Move(_, to)
        | TableRule::Not(_, to)
        | TableRule::Seconds(_, to, _)
        | TableRule::Group(_, to) => Some(to),
        _ => None,
    }
}

/// Whether a field is another one, or below it, or above it.
fn is_below(field: &str, other: &str) -> bool {
    let below = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
    field == other || below(field, other) || below(other, field)
}

/// In how many objects of a hundred its field is.
fn chance(rule: &TableRule) -> usize {
    match rule {
        TableRule::Refuse(..) | TableRule::RefuseTrue(..) | TableRule::Ask(..) => 2,
        TableRule::Required(..) | TableRule::AskAbsent(..) => 95,
        _ => 60,
    }
}
