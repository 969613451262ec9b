//! Reading objects, whatever they are held in.

use serde_json::Value;

use super::node::Node;

/// What objects are read from: documents of files, plain values, and whatever else has fields, items and texts.
pub trait Readable: Sized {
    /// A field of a mapping.
    fn field(&self, key: &str) -> Option<&Self>;
    /// The items of a sequence; empty for anything else.
    fn items(&self) -> &[Self];
    /// The text of a scalar that is a string.
    fn text(&self) -> Option<&str>;
}

impl Readable for Node {
    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }
    fn items(&self) -> &[Self] {
        self.as_sequence().unwrap_or_default()
    }
    fn text(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| scalar.text.as_str())
    }
}

impl Readable for Value {
    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }
    fn items(&self) -> &[Self] {
        self.as_array().map(Vec::as_slice).unwrap_or_default()
    }
    fn text(&self) -> Option<&str> {
        self.as_str()
    }
}
