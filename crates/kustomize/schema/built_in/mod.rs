//! What Capstan brings along: how lists of well-known kinds merge, and which of their fields are quantities,
//! durations and versions; of Cluster API's own kinds every field and its type.
//!
//! | file | idea |
//! |---|---|
//! | `fields` | every field of Cluster API's own kinds, in two tables of text |
//! | `limits` | what is asked of these fields beyond types |
//! | `own_kinds` | these as schemas |
//! | `entry` | the shape of the table of the others |
//! | `kubernetes` | Kubernetes' kinds, by hand, as paths |
//! | `contracts` | what other providers' kinds have in common with Cluster API's own, likewise |
//!
//! What is written as paths knows nothing of types and of fields that do not exist: for that a definition
//! must be in the repository. Tests compare all of it with the real definitions.

mod contracts;
mod entry;
pub(super) mod fields;
mod kubernetes;
pub(super) mod limits;
mod own_kinds;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use self::entry::{SchemaEntry, SchemaRow};
use super::cursor::SchemaOrigin;
use super::node::{ListType, MapKey, Schema};
use super::value::ValueKind;

/// A kind in a version, and what is known of it.
type BuiltInKind = (&'static SchemaEntry, Schema);

static TABLE: LazyLock<HashMap<&'static str, Vec<BuiltInKind>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<BuiltInKind>> = HashMap::new();
    for entry in contracts::ENTRIES.iter().chain(kubernetes::ENTRIES) {
        let schema = compile(&[entry.rows, kubernetes::OBJECT]);
        for kind in entry.kinds {
            table.entry(kind).or_default().push((entry, schema.clone()));
        }
    }
    table
});

/// What every object has, of which the table knows no more.
static ANY: LazyLock<Schema> = LazyLock::new(|| compile(&[kubernetes::OBJECT]));

static ORIGIN: SchemaOrigin = SchemaOrigin::BuiltIn;

/// All that is known of a kind in an API version (`group/version`): a part of the truth for most kinds.
pub(super) fn schema(kind: &str, api_version: &str) -> (&'static Schema, &'static SchemaOrigin) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let known = own_kinds::definition(kind, &nearest_own(group, version)).or_else(|| listed(kind, group));
    (known.unwrap_or(&*ANY), &ORIGIN)
}

/// The definition of a kind in an API version (`group/version`), where every field of it is known.
pub(super) fn definition(kind: &str, api_version: &str) -> Option<(&'static Schema, &'static SchemaOrigin)> {
    Some((own_kinds::definition(kind, api_version)?, &ORIGIN))
}

/// The API version whose lists and values hold for another one: what was alpha became v1beta1 with hardly a
/// change to them, and until v1alpha4 pools had a group of their own.
fn nearest_own(group: &str, version: &str) -> String {
    let group = if group == "exp.cluster.x-k8s.io" { "cluster.x-k8s.io" } else { group };
    let version = if version.starts_with("v1alpha") { "v1beta1" } else { version };
    format!("{group}/{version}")
}

fn listed(kind: &str, group: &str) -> Option<&'static Schema> {
    let of = |kind: &str| TABLE.get(kind)?.iter().find(|(entry, _)| entry.group == group);
    of(kind).or_else(|| of("*")).map(|(_, schema)| schema)
}

/// A schema in the making.
#[derive(Debug, Default)]
struct SchemaDraft {
    fields: BTreeMap<&'static str, Self>,
    values: Option<Box<Self>>,
    items: Option<Box<Self>>,
    list: Option<ListType>,
    value: Option<ValueKind>,
}

fn compile(parts: &[&'static [SchemaRow]]) -> Schema {
    let mut draft = SchemaDraft::default();
    parts.iter().for_each(|rows| draft.add_all(rows));
    draft.finish()
}

impl SchemaDraft {
    fn add_all(&mut self, rows: &'static [SchemaRow]) {
        for row in rows {
            match row {
                SchemaRow::Keyed(path, keys) => {
                    self.at(path).list = Some(ListType::Map(keys.iter().map(key).collect()))
                }
                SchemaRow::Set(path) => self.at(path).list = Some(ListType::Set),
                SchemaRow::Atomic(paths) => {
                    for path in *paths {
                        self.at(path).list = Some(ListType::Atomic);
                    }
                }
                SchemaRow::Value(path, kind) => self.at(path).value = Some(*kind),
                SchemaRow::Part(path, rows) => self.at(path).add_all(rows),
            }
        }
    }

    fn at(&mut self, path: &'static str) -> &mut Self {
        let mut draft = self;
        for part in path.split('.') {
            let field = part.trim_end_matches("[]");
            draft = match field {
                "*" => draft.values.get_or_insert_default(),
                field => draft.fields.entry(field).or_default(),
            };
            for _ in 0..(part.len() - field.len()) / 2 {
                draft = draft.items.get_or_insert_default();
            }
        }
        draft
    }

    fn finish(self) -> Schema {
        let finish = |draft: Option<Box<Self>>| draft.map(|draft| Box::new(draft.finish()));
        Schema {
            fields: self.fields.into_iter().map(|(name, draft)| (name.into(), draft.finish())).collect(),
            values: finish(self.values),
            items: finish(self.items),
            list: self.list,
            value: self.value,
            ..Schema::default()
        }
    }
}

fn key(text: &&'static str) -> MapKey {
    let (name, default) = text.split_once('=').map_or((*text, None), |(name, value)| (name, Some(value)));
    MapKey { name: name.into(), default: default.map(Into::into) }
}

#[cfg(test)]
mod tests;
