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
    /// The fields of a mapping with their names; empty for anything else.
    fn fields(&self) -> Vec<(&str, &Self)>;
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
    fn fields(&self) -> Vec<(&str, &Self)> {
        let entries = self.as_mapping().unwrap_or_default().iter();
        entries.map(|entry| (entry.key.as_str(), &entry.value)).collect()
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
    fn fields(&self) -> Vec<(&str, &Self)> {
        self.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value)).collect()
    }
}
