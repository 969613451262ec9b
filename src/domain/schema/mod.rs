//! What is known of objects' fields: types, how lists merge, which texts are values.
//!
//! | file | idea |
//! |---|---|
//! | [`node`] | one schema |
//! | [`cursor`] | a place in an object as its schemas see it |
//! | [`value`] | quantities, durations, versions |
//! | [`immutable`] | validation rules that forbid a change |
//! | [`built_in`] | the table that Capstan brings along |
//!
//! Deliberately absent: defaulting, conversion between versions, and validation by expressions: the
//! server does that.

mod built_in;
mod cursor;
mod immutable;
mod node;
mod value;

pub use cursor::{Cursor, Origin};
pub use immutable::Immutable;
pub use node::{ListType, MapKey, Schema, Type, Unlisted};
pub use value::ValueKind;

/// Every schema that is known. Asked once for an object, then walked along with it.
#[derive(Debug, Default)]
pub struct Schemas {}

impl Schemas {
    /// The built-in table alone.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: Schemas = Schemas {};
        &BUILT_IN
    }

    /// The root of an object of this kind. `versions` are the API versions (`group/version`) that it
    /// has and goes to; the first decides where both say something.
    pub fn object<'a>(&self, kind: &str, versions: impl IntoIterator<Item = &'a str>) -> Cursor<'_> {
        let mut layers = Vec::new();
        for version in versions {
            layers.extend(built_in::schema(kind, version));
        }
        Cursor::new(layers.into_iter().take(1))
    }
}
