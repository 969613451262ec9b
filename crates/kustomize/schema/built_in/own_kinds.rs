//! Cluster API's own kinds as schemas: what their definitions say of fields, types, lists and values, made of
//! the table of fields once a kind is asked for.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::fields::{FieldContent, KINDS, TypeField, TypeFields};
use super::limits::{FieldLimits, LimitTable};
use crate::schema::node::{Schema, SchemaType, Unlisted};
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
    let (kind, fields) = TypeFields::of(kind, api_version)?;
    let (_, version) = api_version.split_once('/')?;
    let at = VERSIONS.iter().position(|known| *known == version)?;
    Some(SCHEMAS.get(kind)?.get(at)?.get_or_init(|| compile(kind, fields, LimitTable::of(version))))
}

fn compile(kind: &'static str, fields: &TypeFields, limits: &LimitTable) -> Schema {
    let mut schema = Compiler { fields, limits, within: Vec::new() }.of(&FieldContent::Struct(kind), kind);
    add_object_fields(&mut schema, Pruning::On);
    schema
}

struct Compiler<'f> {
    fields: &'f TypeFields,
    limits: &'f LimitTable,
    /// The types around the field at hand.
    within: Vec<&'static str>,
}

impl Compiler<'_> {
    fn field(&mut self, holder: &str, field: &TypeField) -> Schema {
        // Cluster API's definitions leave open what leads back into the type that holds it.
        if self.leads_back(&field.of) {
            return unknown();
        }
        let place = format!("{holder}.{}", field.name);
        Schema { list: field.list.clone(), value: field.value, ..self.of(&field.of, &place) }
    }

    fn leads_back(&self, of: &FieldContent) -> bool {
        match of {
            FieldContent::List(below) | FieldContent::Map(below) => self.leads_back(below),
            FieldContent::Struct(name) => self.within.contains(name),
            _ => false,
        }
    }

    /// The schema at a place, with its requirements.
    fn of(&mut self, of: &FieldContent, place: &str) -> Schema {
        let mut schema = self.type_of(of, place);
        let required = if let FieldContent::Struct(name) = of { self.limits.at(name) } else { None };
        let asked = self.limits.at(place).or(required);
        if let Some(FieldLimits { limits, choices }) = asked {
            let mut limits = limits.clone();
            if let Some(required) = required {
                limits.required = required.limits.required.clone();
            }
            schema.limits = limits.if_any();
            schema.choices = choices.clone().into();
        }
        schema
    }

    fn type_of(&mut self, of: &FieldContent, place: &str) -> Schema {
        let plain = |kind| Schema { kind, unlisted: Unlisted::Pruned, ..Schema::default() };
        match of {
            FieldContent::Text | FieldContent::Duration | FieldContent::Time => plain(SchemaType::String),
            FieldContent::Integer => plain(SchemaType::Integer),
            FieldContent::Number => plain(SchemaType::Number),
            FieldContent::Truth => plain(SchemaType::Boolean),
            FieldContent::IntegerOrText => plain(SchemaType::IntOrString),
            FieldContent::Anything => unknown(),
            FieldContent::Metadata => metadata(Pruning::On),
            FieldContent::List(item) => Schema {
                items: Some(Box::new(self.of(item, &format!("{place}[]")))),
                ..plain(SchemaType::Array)
            },
            FieldContent::Map(value) => Schema {
                values: Some(Box::new(self.of(value, &format!("{place}{{}}")))),
                ..plain(SchemaType::Object)
            },
            FieldContent::Struct(name) => {
                self.within.push(name);
                let fields = self.fields.of_type(name).iter();
                let mut fields: Vec<(Box<str>, Schema)> =
                    fields.map(|field| (field.name.into(), self.field(name, field))).collect();
                fields.sort_by(|(one, _), (other, _)| one.cmp(other));
                self.within.pop();
                Schema { fields: fields.into(), ..plain(SchemaType::Object) }
            }
        }
    }
}
