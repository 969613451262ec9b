//! The limits of Cluster API's own kinds: what its definitions of version 1.14 ask beyond types.
//!
//! Two tables, `limits_v1beta1.txt` and `limits_v1beta2.txt`. A line without indentation is a limit; the lines below
//! it name where it is: a field of a type of the tables of fields (`User.name`), with `[]` the items of its list and
//! with `{}` the values of its map; of `required` the types themselves. A test compares them with the real definitions.

use std::collections::HashMap;
use std::sync::LazyLock;

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::Value;

use super::fields::{FieldContent, TypeField, TypeFields, Zero};
use crate::schema::limits::{Pattern, Range, ValueLimits};

/// Required fields that a webhook of Cluster API fills in before validation: kind, type, field.
const FILLED_IN: &[(&str, &str, &str)] = &[
    ("KubeadmControlPlane", "KubeadmControlPlaneRolloutStrategy", "type"),
    ("MachineDeployment", "MachineDeploymentRolloutStrategy", "type"),
    ("MachineDeployment", "MachineDeploymentSpec", "selector"),
    ("MachineSet", "MachineSetSpec", "selector"),
];

/// What is asked at one place.
#[derive(Debug, Default)]
pub(super) struct FieldLimits {
    pub(super) limits: ValueLimits,
    pub(super) choices: Vec<Value>,
}

/// The tables of one version.
pub(super) struct LimitTable(HashMap<&'static str, FieldLimits>);

impl LimitTable {
    /// Of `v1beta1` or `v1beta2`.
    pub(super) fn of(version: &str) -> &'static Self {
        static BETA1: LazyLock<LimitTable> =
            LazyLock::new(|| LimitTable::read(include_str!("limits_v1beta1.txt")));
        static BETA2: LazyLock<LimitTable> =
            LazyLock::new(|| LimitTable::read(include_str!("limits_v1beta2.txt")));
        if version == "v1beta1" { &BETA1 } else { &BETA2 }
    }

    /// What is asked at a place (`User.name`, `User`).
    pub(super) fn at(&self, place: &str) -> Option<&FieldLimits> {
        self.0.get(place)
    }

    fn read(table: &'static str) -> Self {
        let mut found: HashMap<&'static str, FieldLimits> = HashMap::new();
        let mut limit = "";
        for line in table.lines() {
            if !line.starts_with(' ') {
                limit = line;
                continue;
            }
            for place in line.split_whitespace() {
                found.entry(place).or_default().add(limit);
            }
        }
        Self(found)
    }
}

impl FieldLimits {
    fn add(&mut self, limit: &'static str) {
        let (word, rest) = limit.split_once(' ').unwrap_or((limit, ""));
        match word {
            "items" => self.limits.items = range(rest),
            "properties" => self.limits.properties = range(rest),
            "length" => self.limits.length = range(rest),
            "number" => self.limits.number = range(rest),
            "pattern" => self.limits.pattern = Some(Pattern::new(rest)),
            "required" => self.limits.required = rest.split(' ').map(Into::into).collect(),
            // `one of a b ""`
            _ => {
                let words = rest.trim_start_matches("of ").split(' ');
                self.choices = words.map(|word| Value::from(word.trim_matches('"'))).collect();
            }
        }
    }
}

/// `1..`, `..100`, `0..65535`
fn range<T: std::str::FromStr>(text: &str) -> Range<T> {
    let (least, most) = text.split_once("..").unwrap_or((text, ""));
    Range { least: least.parse().ok(), most: most.parse().ok() }
}

/// Whether an absent field that Cluster API's definition requires is filled in before validation: by a
/// webhook, or because Cluster API always writes the field. A string becomes an empty one, which does not
/// help.
pub fn is_filled_in(kind: &str, api_version: &str, path: &FieldPath) -> bool {
    let Some((kind, fields)) = TypeFields::of(kind, api_version) else { return false };
    let mut holder = kind;
    let mut found: Option<(&str, &TypeField)> = None;
    let mut of: Option<&FieldContent> = None;
    for step in path.steps() {
        of = match (step, of) {
            (Step::Key(key), None | Some(FieldContent::Struct(_))) => {
                if let Some(FieldContent::Struct(name)) = of {
                    holder = name;
                }
                let Some(field) = fields.field(holder, key) else { return false };
                found = Some((holder, field));
                Some(&field.of)
            }
            (Step::Key(_), Some(FieldContent::Map(below)))
            | (Step::Index(_) | Step::New, Some(FieldContent::List(below))) => Some(&**below),
            _ => return false,
        };
    }
    found.is_some_and(|(holder, field)| {
        field.zero == Zero::Written && field.of != FieldContent::Text
            || FILLED_IN.contains(&(kind, holder, field.name))
    })
}
