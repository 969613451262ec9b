//! JSON of an API server, however deep it nests.
//!
//! A field that takes anything may nest thousands of levels deep, and so may what is said of it in
//! `metadata.managedFields`. A reader that gives up there reads nothing of the whole page, so that one object of one
//! customer would hide everybody's. What lies too deep is therefore left out, and everything else read: no manifest
//! nests so deep ([`capstan_yaml::limits::DEPTH`]), so that whoever compares or writes such an object as one still sees
//! that it is none.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Levels that are read. An object of a page stands two levels down.
const DEPTH: usize = capstan_yaml::limits::DEPTH + 40;

/// Reads one document. A mapping or a list below the last level is read as an empty one.
///
/// # Errors
/// It is no JSON.
pub(super) fn read(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    // The stack is bounded by DEPTH; what is left out is passed over without one.
    reader.disable_recursion_limit();
    let value = Bounded { left: DEPTH }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// A value of at most so many levels.
#[derive(Clone, Copy)]
struct Bounded {
    left: usize,
}

impl Bounded {
    fn below(self) -> Option<Self> {
        self.left.checked_sub(1).map(|left| Self { left })
    }
}

impl<'de> DeserializeSeed<'de> for Bounded {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
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
        let mut found = Map::new();
        match self.below() {
            Some(below) => {
                while let Some(key) = entries.next_key::<String>()? {
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
            assert_eq!(read(text.as_bytes()).map_err(|error| error.to_string()), usual, "{text}");
        }
    }

    #[test]
    fn an_object_that_nests_too_deep_hides_no_other() {
        // Far more than any stack holds: the API server takes 10,000 levels.
        let deep = format!("{}1{}", "{\"a\":[".repeat(50_000), "]}".repeat(50_000));
        let page = format!("{{\"items\": [{{\"spec\": {deep}}}, {{\"spec\": 2}}]}}");
        let page = read(page.as_bytes()).unwrap();
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
