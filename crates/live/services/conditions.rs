//! Conditions of an object, read so that those of an older generation do not count.

use serde_json::Value;

use crate::live_objects::{shortened, text};

#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceCondition<'v>(&'v Value);

impl<'v> ServiceCondition<'v> {
    pub(super) fn is_true(self) -> bool {
        text(self.0, "/status") == Some("True")
    }

    pub(super) fn is_false(self) -> bool {
        text(self.0, "/status") == Some("False")
    }

    pub(super) fn reason(self) -> &'v str {
        text(self.0, "/reason").unwrap_or_default()
    }

    pub(super) fn severity(self) -> &'v str {
        text(self.0, "/severity").unwrap_or_default()
    }

    /// `InstallFailed: chart not found`.
    pub(super) fn words(self) -> String {
        let message = text(self.0, "/message").map(str::trim).unwrap_or_default();
        shortened(&match (self.reason(), message) {
            ("", "") => format!("its condition {} is not True", text(self.0, "/type").unwrap_or_default()),
            ("", message) => message.to_owned(),
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        })
    }
}

/// The condition of a type, if it is of the present generation.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<ServiceCondition<'v>> {
    let generation = object.pointer("/metadata/generation").and_then(Value::as_i64);
    let found = any_condition(object, kind)?;
    let observed = found.0.get("observedGeneration").and_then(Value::as_i64);
    let is_present = observed.zip(generation).is_none_or(|(observed, generation)| observed >= generation);
    is_present.then_some(found)
}

/// The condition of a type, of any generation; of v1beta2 and of v1beta1.
pub(super) fn any_condition<'v>(object: &'v Value, kind: &str) -> Option<ServiceCondition<'v>> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array)?;
    conditions.iter().find(|condition| text(condition, "/type") == Some(kind)).map(ServiceCondition)
}

/// Whether the controller of an object has seen its present generation, as far as it tells.
pub(super) fn is_observed(object: &Value) -> bool {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    match (number("/status/observedGeneration"), number("/metadata/generation")) {
        (Some(observed), Some(generation)) => observed >= generation,
        _ => true,
    }
}
