//! A rule goes between processes by its id.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

use super::rule::RuleEntry;
use super::rules;

pub(super) fn serialize<S: Serializer>(rule: &&'static RuleEntry, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.id())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<&'static RuleEntry, D::Error> {
    let id = String::deserialize(deserializer)?;
    rules::any_named(&id).ok_or_else(|| D::Error::custom(format!("`{id}` is not a rule")))
}
