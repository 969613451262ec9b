//! Reading the fields of an object: each of its type, unknown ones refused with file and line.

use std::collections::BTreeMap;

use capstan_kustomize::render::{PlacedContent, PlacedValue};
use capstan_model::spelling;
use serde_json::Value;

use super::duration::{self, Seconds};
use super::refusal::Refusal;

/// A mapping whose fields are read one by one. Null is absent, as API servers have it.
#[derive(Debug, Clone)]
pub(crate) struct FieldReader<'p> {
    value: &'p PlacedValue,
    path: String,
}

impl<'p> FieldReader<'p> {
    /// A mapping that has these fields and no others.
    pub(crate) fn of(
        value: &'p PlacedValue,
        path: impl Into<String>,
        known: &[&str],
    ) -> Result<Self, Refusal> {
        let fields = Self::unchecked(value, path)?;
        match value.entries().iter().find(|(key, _)| !known.contains(&key.as_str())) {
            None => Ok(fields),
            Some((key, unknown)) => {
                let hint = spelling::hint(key, known);
                Err(Refusal::new(format!("`{}` has no field `{key}`{hint}", fields.path))
                    .written(&unknown.place))
            }
        }
    }

    /// A mapping, whatever else it has.
    pub(crate) fn unchecked(value: &'p PlacedValue, path: impl Into<String>) -> Result<Self, Refusal> {
        let fields = Self { value, path: path.into() };
        if value.is_mapping() {
            Ok(fields)
        } else {
            Err(Refusal::new(format!("`{}` must be a mapping", fields.path)).written(&value.place))
        }
    }

    /// The value at a key.
    pub(crate) fn field(&self, key: &str) -> Option<&'p PlacedValue> {
        self.value.field(key).filter(|value| !value.is_null())
    }

    /// The path of a field, for people: `spec.manager.verbosity`.
    pub(crate) fn path_of(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// A refusal of a field's value; of the mapping where there is none.
    pub(crate) fn refuse(&self, key: &str, message: impl std::fmt::Display) -> Refusal {
        let place = &self.value.field(key).unwrap_or(self.value).place;
        Refusal::new(format!("`{}` {message}", self.path_of(key))).written(place)
    }

    /// A refusal of the mapping as a whole.
    pub(crate) fn refuse_all(&self, message: impl std::fmt::Display) -> Refusal {
        Refusal::new(format!("`{}` {message}", self.path)).written(&self.value.place)
    }

    fn wants(&self, key: &str, what: &str) -> Refusal {
        self.refuse(key, format!("is {what}: correct it"))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Refusal> {
        let read = |value: &PlacedValue| value.as_str().map(str::to_owned);
        self.read(key, read, "a text (put a number or a word such as `yes` in quotes)")
    }

    /// A text that may not be missing or empty.
    pub(crate) fn wanted_text(&self, key: &str) -> Result<String, Refusal> {
        match self.text(key)? {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(self.refuse_all(format!("wants `{key}`: add it"))),
        }
    }

    pub(crate) fn boolean(&self, key: &str) -> Result<Option<bool>, Refusal> {
        self.read(key, |value| value.to_value().as_bool(), "`true` or `false`")
    }

    /// A whole number of at least and at most so much.
    pub(crate) fn integer(&self, key: &str, least: i64, most: i64) -> Result<Option<i64>, Refusal> {
        let read =
            |value: &PlacedValue| value.to_value().as_i64().filter(|number| (least..=most).contains(number));
        let what = if least == i64::MIN {
            "a whole number".to_owned()
        } else {
            format!("a whole number of at least {least}")
        };
        self.read(key, read, &what)
    }

    /// A duration as Go writes it.
    pub(crate) fn duration(&self, key: &str) -> Result<Option<Seconds>, Refusal> {
        self.read(key, |value| duration::parse(value.as_str()?), "a duration such as `10m` or `1h30m`")
    }

    /// A mapping that has these fields and no others.
    pub(crate) fn nested(&self, key: &str, known: &[&str]) -> Result<Option<Self>, Refusal> {
        self.field(key).map(|value| Self::of(value, self.path_of(key), known)).transpose()
    }

    /// The entries of a mapping.
    pub(crate) fn entries(&self, key: &str) -> Result<Option<&'p [(String, PlacedValue)]>, Refusal> {
        match self.field(key) {
            None => Ok(None),
            Some(value) if value.is_mapping() => Ok(Some(value.entries())),
            Some(_) => Err(self.wants(key, "a mapping")),
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self, key: &str) -> Result<Option<&'p [PlacedValue]>, Refusal> {
        match self.field(key).map(|value| &value.content) {
            None => Ok(None),
            Some(PlacedContent::Sequence(items)) => Ok(Some(items)),
            Some(_) => Err(self.wants(key, "a list")),
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Refusal> {
        let Some(items) = self.items(key)? else { return Ok(None) };
        let text = |item: &PlacedValue| item.as_str().map(str::to_owned);
        items
            .iter()
            .map(text)
            .collect::<Option<Vec<_>>>()
            .map(Some)
            .ok_or_else(|| self.wants(key, "a list of texts"))
    }

    /// A mapping of values that are all of one type.
    pub(crate) fn map<T>(
        &self,
        key: &str,
        of: impl Fn(&PlacedValue) -> Option<T>,
        what: &str,
    ) -> Result<Option<BTreeMap<String, T>>, Refusal> {
        let Some(entries) = self.entries(key)? else { return Ok(None) };
        let read = |(name, value): &(String, PlacedValue)| {
            of(value).map(|read| (name.clone(), read)).ok_or_else(|| {
                Refusal::new(format!("`{}.{name}` is {what}: correct it", self.path_of(key)))
                    .written(&value.place)
            })
        };
        entries.iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    /// A mapping of texts.
    pub(crate) fn text_map(&self, key: &str) -> Result<Option<BTreeMap<String, String>>, Refusal> {
        self.map(key, |value| value.as_str().map(str::to_owned), "a text (quote it)")
    }

    /// A mapping of Kubernetes' own, taken as it is: only the names of its top fields are checked.
    pub(crate) fn kubernetes(&self, key: &str, known: &[&str]) -> Result<Option<Value>, Refusal> {
        Ok(self.nested(key, known)?.map(|fields| fields.value.to_value()))
    }

    /// A list of such mappings.
    pub(crate) fn kubernetes_list(&self, key: &str, known: &[&str]) -> Result<Option<Vec<Value>>, Refusal> {
        let Some(items) = self.items(key)? else { return Ok(None) };
        let path = self.path_of(key);
        let read = |(at, item): (usize, &PlacedValue)| {
            FieldReader::of(item, format!("{path}[{at}]"), known).map(|fields| fields.value.to_value())
        };
        items.iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
    }

    fn read<T>(
        &self,
        key: &str,
        of: impl Fn(&PlacedValue) -> Option<T>,
        what: &str,
    ) -> Result<Option<T>, Refusal> {
        let Some(value) = self.field(key) else { return Ok(None) };
        of(value).map(Some).ok_or_else(|| self.wants(key, what))
    }
}
