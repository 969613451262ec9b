//! What an API server answered instead of doing what it was asked, made safe to show.
//!
//! Messages of API servers and webhooks may hold whole objects, once or twice, with every Secret in them. So Capstan
//! keeps nothing of what follows `Invalid value:`, of embedded objects and of values, and never more than 512
//! characters ([`safe`]). What people need most of the rest (which versions, which rule) is repeated in words of a
//! closed set, never in those of the message ([`explained`]).
//!
//! Deliberately absent: the request that was refused, and what to do about it.

mod explained;
mod field;
mod safe;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use self::explained::explained;
pub use self::field::FieldNotation;
use self::safe::safe;
pub use crate::live_objects::LONGEST_MESSAGE;
use crate::live_objects::shortened;
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::Place;
use capstan_model::object::FieldPath;

/// An answer that is not the wished one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRefusal {
    /// The status of the HTTP response; 0 where there was none.
    pub status: u16,
    /// What kind of answer it is.
    pub kind: RefusalKind,
    /// What may be shown of the message: at most 512 characters, no values.
    pub message: String,
    /// The fields spoken of, where the answer names them.
    pub causes: Vec<StatusCause>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusCause {
    /// The field, as the server writes it.
    pub field: Option<FieldNotation>,
    /// What is wrong with it; no values.
    pub message: String,
}

/// What servers write for a field where they mean the object as a whole.
const NO_FIELD: &str = "<nil>";
/// The message for an object as a whole, whose value is not shown.
const WHOLE: &str = "a rule of its definition refuses the object as a whole";

/// Whether a cause only says that other causes kept rules from being checked.
fn is_of_others(cause: &Value) -> bool {
    let message = cause.get("message").and_then(Value::as_str).unwrap_or_default();
    message.contains("some validation rules were not checked")
}

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// The object is not accepted, by the server or by a webhook.
    Invalid,
    /// The object does not fit its schema: the same request never passes.
    Schema,
    /// The object was changed meanwhile.
    Conflict,
    /// Another manager holds a field with another value.
    Contested,
    /// The client lacks the right.
    Forbidden,
    /// No such object.
    NotFound,
    /// An object of that name exists.
    AlreadyExists,
    /// No such kind: its definition is not installed, or not in that version.
    MissingKind,
    /// No such namespace.
    MissingNamespace,
    /// It, or its namespace, is being deleted: passes by itself.
    Terminating,
    /// Cluster API is still completing an earlier upgrade: passes by itself.
    StillCompleting,
    /// A webhook does not answer.
    Webhook,
    /// Asked too often.
    TooManyRequests,
    /// The server failed, or a proxy before it.
    Server,
    /// Anything else.
    Other,
}

impl RefusalKind {
    /// A word for metrics and conditions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid",
            Self::Schema => "Schema",
            Self::Conflict => "Conflict",
            Self::Contested => "Contested",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::MissingKind => "MissingKind",
            Self::MissingNamespace => "MissingNamespace",
            Self::Terminating => "Terminating",
            Self::StillCompleting => "StillCompleting",
            Self::Webhook => "WebhookUnreachable",
            Self::TooManyRequests => "TooManyRequests",
            Self::Server => "ServerError",
            Self::Other => "Other",
        }
    }
}

impl ApiRefusal {
    /// Reads an answer: the status of the response, and its body, which is a `Status` of Kubernetes or, from a proxy in
    /// between, anything at all.
    pub fn read(status: u16, body: &Value) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let raw = body.as_str().unwrap_or_else(|| text("/message"));
        let reported: Vec<&Value> =
            body.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten().collect();
        let kind = kind(status, body, raw, &reported);
        let is_said = |cause: &&&Value| !is_of_others(cause);
        let said = reported.iter().filter(is_said).chain(reported.iter().filter(|cause| is_of_others(cause)));
        let most = reported.iter().filter(is_said).count().max(1);
        let mut causes: Vec<StatusCause> =
            said.take(most).filter_map(|cause| StatusCause::read(cause)).collect();
        if causes.is_empty() {
            causes.extend(StatusCause::found_in(raw));
        }
        let message = if reported.is_empty() || causes.is_empty() {
            match safe(raw).filter(|message| !message.is_empty()) {
                Some(message) => match explained(raw).filter(|words| !message.contains(words)) {
                    Some(words) => shortened(&format!("{message} ({words})")),
                    None => message,
                },
                None => format!("the API server answered {status} and gave no reason"),
            }
        } else {
            let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
            shortened(&causes.join("; "))
        };
        Self { status, kind, message, causes }
    }

    /// Whether the same request may pass at another time, though nobody changes anything in Git.
    pub const fn worth_retrying(&self) -> bool {
        match self.kind {
            RefusalKind::Conflict
            | RefusalKind::MissingKind
            | RefusalKind::MissingNamespace
            | RefusalKind::Terminating
            | RefusalKind::StillCompleting
            | RefusalKind::Webhook
            | RefusalKind::TooManyRequests
            | RefusalKind::Server => true,
            RefusalKind::Invalid
            | RefusalKind::Schema
            | RefusalKind::Contested
            | RefusalKind::Forbidden
            | RefusalKind::NotFound
            | RefusalKind::AlreadyExists => false,
            RefusalKind::Other => self.status == 0 || self.status >= 500 || self.status == 408,
        }
    }

    /// Whether this is a wait and not an error: it passes by itself when something else is done.
    pub const fn is_waiting(&self) -> bool {
        matches!(self.kind, RefusalKind::StillCompleting | RefusalKind::Terminating)
    }

    /// The field spoken of first, and where the object that was refused says it: the nearest that it says
    /// where it has no such field.
    pub fn place(&self, object: &RenderedObject) -> (FieldPath, Place) {
        let field = self
            .causes
            .iter()
            .find_map(|cause| cause.field.as_ref())
            .map_or_else(FieldPath::root, |field| field.path_in(&object.value));
        let written = object.written_at(&field);
        (field, written)
    }
}

impl fmt::Display for ApiRefusal {
    /// `422 Invalid: spec.version: Forbidden: cannot update Kubernetes version from v1.35.1 to v1.37.0`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.status != 0 {
            write!(f, "{} ", self.status)?;
        }
        write!(f, "{}: {}", self.kind.as_str(), self.message)
    }
}

impl StatusCause {
    fn read(cause: &Value) -> Option<Self> {
        let text = |key: &str| cause.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let raw = text("message").or_else(|| text("reason"))?;
        let message = match (explained(raw), safe::quotes_value(raw)) {
            (Some(words), Some(value)) => format!("{words} ({value})"),
            _ => safe(raw).unwrap_or_default(),
        };
        // How a server writes that it means no field.
        let field = text("field").filter(|field| *field != NO_FIELD);
        let message = match (field, safe::quotes_value(raw)) {
            (None, Some(value)) if message == value => WHOLE.to_owned(),
            _ => message,
        };
        Some(Self { field: field.and_then(FieldNotation::read), message })
    }

    /// The field of which a message without causes speaks.
    fn found_in(raw: &str) -> Option<Self> {
        let field = field::spoken_of(raw)?;
        let message = explained(raw).or_else(|| safe(raw)).unwrap_or_default();
        Some(Self { field: Some(field), message })
    }
}

impl fmt::Display for StatusCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

fn kind(status: u16, body: &Value, raw: &str, causes: &[&Value]) -> RefusalKind {
    let reason = body.get("reason").and_then(Value::as_str).unwrap_or_default();
    let about = body.pointer("/details/kind").and_then(Value::as_str).unwrap_or_default();
    let names_one = body.pointer("/details/name").is_some();
    let says = |words: &str| raw.contains(words);
    let because =
        |word: &str| causes.iter().any(|cause| cause.get("reason").and_then(Value::as_str) == Some(word));
    let denied = says("denied the request") || says("denied request");
    if says("completing a previous upgrade") {
        return RefusalKind::StillCompleting;
    }
    if says("failed calling webhook") || says("failed to call webhook") || says("conversion webhook for") {
        return RefusalKind::Webhook;
    }
    // The first two come as a 500, as if the server had failed.
    if says("failed to create typed patch object")
        || says("failed to convert new object")
        || says("strict decoding error")
    {
        return RefusalKind::Schema;
    }
    match status {
        400 if says("cannot be handled as a") => RefusalKind::Schema,
        400 | 422 => RefusalKind::Invalid,
        401 => RefusalKind::Forbidden,
        403 if because("NamespaceTerminating") || says("because it is being terminated") => {
            RefusalKind::Terminating
        }
        403 if denied => RefusalKind::Invalid,
        403 => RefusalKind::Forbidden,
        404 if about == "namespaces" => RefusalKind::MissingNamespace,
        404 if !names_one || says("could not find the requested resource") => RefusalKind::MissingKind,
        404 => RefusalKind::NotFound,
        409 if says("object is being deleted") => RefusalKind::Terminating,
        409 if reason == "AlreadyExists" => RefusalKind::AlreadyExists,
        409 if because("FieldManagerConflict") => RefusalKind::Contested,
        409 => RefusalKind::Conflict,
        429 => RefusalKind::TooManyRequests,
        _ if denied || reason == "Invalid" => RefusalKind::Invalid,
        500..=599 => RefusalKind::Server,
        _ => RefusalKind::Other,
    }
}
