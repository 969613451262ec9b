//! JSON that others wrote, however deep it nests and however much of it there is.
//!
//! A byte of JSON can take a hundred times its size in memory (`[[0],[0],…`), so bytes alone bound nothing. What is counted
//! besides are *values*: a scalar or a key is one, a list or a mapping is four. A value takes 72 bytes, and at most
//! some 150 where lists and mappings grow. They are counted while they are read, and reading stops at the first one that is
//! too many.
//!
//! A field of any type may nest thousands of levels deep, and so may its entry in `metadata.managedFields`. A
//! reader that stops there reads nothing of the whole page, so that one object of one customer would hide
//! everybody's. So levels that are too deep are left out, and everything else is read. No manifest nests so
//! deep ([`capstan_yaml::limits::DEPTH`]), so a comparison still shows that the object is not a manifest.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Values that a list or a mapping counts as, besides what is in it: even a small one takes some 400 bytes.
const CONTAINER: usize = 4;
/// Levels that are read. An object of a page is two levels down.
const DEPTH: usize = capstan_yaml::limits::DEPTH + 40;

/// How a document is read.
#[derive(Debug, Clone, Copy)]
pub struct JsonLimits {
    /// Values that it may have.
    pub values: usize,
    /// Keys that are passed over, with what is below them.
    pub passed_over: &'static [&'static str],
}

impl JsonLimits {
    /// All of it.
    pub const WHOLE: Self = Self::of(usize::MAX);

    /// As many values.
    pub const fn of(values: usize) -> Self {
        Self { values, passed_over: &[] }
    }
}

/// Why a document is not read.
#[derive(Debug)]
pub enum Unread {
    /// It is not JSON.
    NoJson(serde_json::Error),
    /// It has more values than it may.
    TooManyValues,
}

/// Reads one document, and counts its values. A mapping or a list below the last level is read as an empty one.
///
/// # Errors
/// It is not JSON, or has too many values.
pub fn read(bytes: &[u8], reading: JsonLimits) -> Result<(Value, usize), Unread> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    // The stack is bounded by DEPTH; what is left out is passed over without one.
    reader.disable_recursion_limit();
    let counted = ValuesLeft { left: Cell::new(reading.values), is_over: Cell::new(false) };
    let document = BoundedValue { left: DEPTH, counted: &counted, passed_over: reading.passed_over };
    let read = document.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match read {
        Ok(value) => Ok((value, reading.values - counted.left.get())),
        Err(_) if counted.is_over.get() => Err(Unread::TooManyValues),
        Err(error) => Err(Unread::NoJson(error)),
    }
}

/// How many values there may still be.
struct ValuesLeft {
    left: Cell<usize>,
    is_over: Cell<bool>,
}

impl ValuesLeft {
    fn take<E: Error>(&self, values: usize) -> Result<(), E> {
        match self.left.get().checked_sub(values) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.is_over.set(true);
                Err(E::custom("too many values"))
            }
        }
    }
}

/// A value of at most so many levels.
#[derive(Clone, Copy)]
struct BoundedValue<'c> {
    left: usize,
    counted: &'c ValuesLeft,
    passed_over: &'static [&'static str],
}

impl BoundedValue<'_> {
    fn below(self) -> Option<Self> {
        self.left.checked_sub(1).map(|left| Self { left, ..self })
    }

    fn scalar<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.counted.take(1)?;
        Ok(value.into())
    }
}

impl<'de> DeserializeSeed<'de> for BoundedValue<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.scalar(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.counted.take(CONTAINER)?;
        let mut found = Vec::new();
        match self.below() {
            Some(below) => {
                while let Some(item) = items.next_element_seed(below)? {
                    found.push(item);
                }
            }
            None => while items.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(Value::Array(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.counted.take(CONTAINER)?;
        let mut found = Map::new();
        match self.below() {
            Some(below) => {
                while let Some(key) = entries.next_key::<String>()? {
                    if self.passed_over.contains(&key.as_str()) {
                        entries.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    self.counted.take(1)?;
                    let value = entries.next_value_seed(below)?;
                    found.insert(key, value);
                }
            }
            None => while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        Ok(Value::Object(found))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole(text: &str) -> Result<Value, serde_json::Error> {
        match read(text.as_bytes(), JsonLimits::WHOLE) {
            Ok((value, _)) => Ok(value),
            Err(Unread::NoJson(error)) => Err(error),
            Err(Unread::TooManyValues) => panic!("{text:.100} has too many values"),
        }
    }

    #[test]
    fn values_are_counted_and_none_is_read_that_is_too_many() {
        for (text, values) in [
            ("null", 1),
            ("\"a\"", 1),
            ("[]", 4),
            ("{}", 4),
            ("[0]", 5),
            ("[[0],[0]]", 14),
            ("{\"\":0}", 6),
            ("{\"a\": {\"b\": [true, null]}}", 16),
            ("{\"a\": 1, \"a\": 2}", 8),
        ] {
            let read = |values| read(text.as_bytes(), JsonLimits::of(values));
            assert_eq!(read(values).unwrap(), (serde_json::from_str(text).unwrap(), values), "{text}");
            assert!(matches!(read(values - 1), Err(Unread::TooManyValues)), "{text}");
        }
        // The rest is not even read.
        let broken = format!("[{}", "[0],".repeat(1_000_000));
        let reading = JsonLimits::of(1_000);
        assert!(matches!(read(broken.as_bytes(), reading), Err(Unread::TooManyValues)));
        assert!(matches!(read(b"[0,", reading), Err(Unread::NoJson(_))));
    }

    #[test]
    fn what_nobody_looks_at_is_passed_over_and_costs_nothing() {
        let text =
            r#"{"metadata": {"name": "a", "managedFields": [{"f": [1, 2, {"g": 3}]}]}, "images": [[[]]]}"#;
        let reading = JsonLimits { values: 11, passed_over: &["managedFields", "images"] };
        assert_eq!(read(text.as_bytes(), reading).unwrap(), (json!({"metadata": {"name": "a"}}), 11));
    }

    #[test]
    fn it_reads_what_the_usual_reader_reads() {
        for text in [
            "null",
            "[true, -1, 18446744073709551615, 1.5, 1e400, \"\\u00e9\\n\"]",
            "{\"b\": {}, \"a\": [], \"b\": {\"c\": null}}",
            "{\"a\": 1} {}",
            "{\"a\": }",
            "",
        ] {
            let usual = serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
            assert_eq!(whole(text).map_err(|error| error.to_string()), usual, "{text}");
        }
    }

    #[test]
    fn an_object_that_nests_too_deep_hides_no_other() {
        // Far more than any stack holds: the API server takes 10,000 levels.
        let deep = format!("{}1{}", "{\"a\":[".repeat(50_000), "]}".repeat(50_000));
        let page = format!("{{\"items\": [{{\"spec\": {deep}}}, {{\"spec\": 2}}]}}");
        let page = whole(&page).unwrap();
        assert_eq!(page["items"][1], json!({"spec": 2}));
        let mut levels = 0;
        let mut value = &page["items"][0]["spec"];
        while let Some(below) = value.get("a").or_else(|| value.get(0)) {
            (value, levels) = (below, levels + 1);
        }
        assert_eq!(levels, 237);
        assert!(capstan_yaml::YamlFile::read(&page["items"][0].to_string()).is_err());
    }
}
