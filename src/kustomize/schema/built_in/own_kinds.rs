//! Cluster API's own kinds as schemas: what their definitions say of fields, types, lists and values, made of
//! the table of fields once a kind is asked for.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::fields::{Field, Fields, KINDS, Of};
use crate::schema::node::{Schema, Type, Unlisted};
use crate::schema::read::{Pruning, add_object_fields, metadata, unknown};

const VERSIONS: [&str; 2] = ["v1beta1", "v1beta2"];

/// A schema for each of [`VERSIONS`], by kind; no two groups have a kind of one name.
static SCHEMAS: LazyLock<HashMap<&str, [OnceLock<Schema>; 2]>> = LazyLock::new(|| {
    let kinds = KINDS.iter().flat_map(|(_, kinds)| kinds.iter());
    kinds.map(|kind| (*kind, Default::default())).collect()
});

/// The definition of a kind in an API version (`group/version`), where it is Cluster API's own: v1beta1 and
/// v1beta2.
pub(super) fn definition(kind: &str, api_version: &str) -> Option<&'static Schema> {
    let (kind, fields) = Fields::of(kind, api_version)?;
    let (_, version) = api_version.split_once('/')?;
    let at = VERSIONS.iter().position(|known| *known == version)?;
    Some(SCHEMAS.get(kind)?.get(at)?.get_or_init(|| compile(kind, fields)))
}

fn compile(kind: &'static str, fields: &Fields) -> Schema {
    let mut schema = Compiler { fields, within: Vec::new() }.of(&Of::Struct(kind));
    add_object_fields(&mut schema, Pruning::On);
    schema
}

struct Compiler<'f> {
    fields: &'f Fields,
    /// The types around the field at hand.
    within: Vec<&'static str>,
}

impl Compiler<'_> {
    fn field(&mut self, field: &Field) -> Schema {
        // Cluster API's definitions leave open what leads back into the type that holds it.
        if self.leads_back(&field.of) {
            return unknown();
        }
        Schema { list: field.list.clone(), value: field.value, ..self.of(&field.of) }
    }

    fn leads_back(&self, of: &Of) -> bool {
        match of {
            Of::List(below) | Of::Map(below) => self.leads_back(below),
            Of::Struct(name) => self.within.contains(name),
            _ => false,
        }
    }

    fn of(&mut self, of: &Of) -> Schema {
        let plain = |kind| Schema { kind, unlisted: Unlisted::Pruned, ..Schema::default() };
        match of {
            Of::Text | Of::Duration | Of::Time => plain(Type::String),
            Of::Integer => plain(Type::Integer),
            Of::Number => plain(Type::Number),
            Of::Truth => plain(Type::Boolean),
            Of::IntegerOrText => plain(Type::IntOrString),
            Of::Anything => unknown(),
            Of::Metadata => metadata(Pruning::On),
            Of::List(item) => Schema { items: Some(Box::new(self.of(item))), ..plain(Type::Array) },
            Of::Map(value) => Schema { values: Some(Box::new(self.of(value))), ..plain(Type::Object) },
            Of::Struct(name) => {
                self.within.push(name);
                let fields = self.fields.of_type(name).iter();
                let mut fields: Vec<(Box<str>, Schema)> =
                    fields.map(|field| (field.name.into(), self.field(field))).collect();
                fields.sort_by(|(one, _), (other, _)| one.cmp(other));
                self.within.pop();
                Schema { fields: fields.into(), ..plain(Type::Object) }
            }
        }
    }
}
