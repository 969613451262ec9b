//! What an API server answered, made safe to show.

use std::fmt;

use crate::object::FieldPath;

/// An answer of an API server that is not the wished one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// What it means.
    pub kind: RefusalKind,
    /// The server's words, without values of the object; at most 512 characters.
    pub message: String,
    /// What it says of single fields.
    pub causes: Vec<Cause>,
}

/// What an API server says of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The field, where it names one.
    pub field: Option<FieldPath>,
    /// Its words, without values.
    pub message: String,
}

/// What a refusal means for the one who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The object is wrong.
    Invalid,
    /// Somebody else manages the field, or wrote meanwhile.
    Conflict,
    /// The rights do not reach.
    Forbidden,
    /// There is none.
    NotFound,
    /// There is one already.
    AlreadyExists,
    /// No such kind is served: its definition is missing.
    MissingKind,
    /// The namespace is missing.
    MissingNamespace,
    /// A webhook wants an earlier change to be completed first.
    StillCompleting,
    /// The object does not fit its schema; the same request never succeeds.
    Schema,
    /// A webhook does not answer.
    Webhook,
    /// The server has too much to do.
    TooManyRequests,
    /// The server failed.
    Server,
    /// Anything else.
    Other,
}

impl Refusal {
    /// Reads an answer: its HTTP status and its body, a `Status` where it is one.
    pub fn read(status: u16, body: &serde_json::Value) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default();
        let message = text("/message");
        let kind = match (status, text("/reason")) {
            (404, _) if text("/details/kind") == "namespaces" => RefusalKind::MissingNamespace,
            (404, _) => RefusalKind::NotFound,
            (409, "AlreadyExists") => RefusalKind::AlreadyExists,
            (409, _) => RefusalKind::Conflict,
            (401 | 403, _) => RefusalKind::Forbidden,
            (400 | 422, _) => RefusalKind::Invalid,
            (429, _) => RefusalKind::TooManyRequests,
            (500, _) if message.contains("failed to create typed patch object") => RefusalKind::Schema,
            (500, _) if message.contains("failed calling webhook") => RefusalKind::Webhook,
            (500.., _) => RefusalKind::Server,
            _ => RefusalKind::Other,
        };
        let shown = message.split("Invalid value:").next().unwrap_or_default();
        Self { status, kind, message: shown.chars().take(512).collect(), causes: Vec::new() }
    }

    /// No such kind is served.
    pub fn missing_kind(message: String) -> Self {
        Self { status: 404, kind: RefusalKind::MissingKind, message, causes: Vec::new() }
    }

    /// Whether the same request may succeed later.
    pub fn worth_retrying(&self) -> bool {
        matches!(
            self.kind,
            RefusalKind::StillCompleting
                | RefusalKind::Webhook
                | RefusalKind::TooManyRequests
                | RefusalKind::Server
        )
    }

    /// Whether the server waits for an earlier change to be completed.
    pub fn is_waiting(&self) -> bool {
        self.kind == RefusalKind::StillCompleting
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
