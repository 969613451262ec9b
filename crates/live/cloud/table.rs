//! The kinds of clouds whose objects are read: a row for each.

use capstan_yaml::Value;

use super::openstack::OpenStack;
use super::reader::CloudReader;

/// Every kind of cloud whose objects are read.
pub(super) const ALL: [&dyn CloudReader; 1] = [&OpenStack];

/// The kinds of objects that providers work on with a cluster's own credential.
pub fn worked_on() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().flat_map(|reader| reader.works_on()).copied()
}

/// The Secret that such an object names, where it names one itself.
pub fn secret_of(object: &Value) -> Option<&str> {
    let kind = object.get("kind").and_then(Value::as_str)?;
    ALL.into_iter().find(|reader| reader.works_on().contains(&kind))?.secret_of(object)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
