//! GitHub's error answers: a status, a message, and sometimes a list of what was wrong with which field.

use serde_json::{Value, json};

use crate::store::StoreError;

/// An answer that is not a success.
#[derive(Debug, thiserror::Error)]
#[error("{status}: {message}")]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The `message` of the answer.
    pub message: String,
    /// The `errors` of the answer, where GitHub sends them.
    pub errors: Vec<Value>,
    /// Headers beside the usual ones.
    pub headers: Vec<(String, String)>,
}

impl ApiError {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> ApiError {
        ApiError { status, message: message.into(), errors: Vec::new(), headers: Vec::new() }
    }

    pub(crate) fn not_found() -> ApiError {
        ApiError::new(404, "Not Found")
    }

    pub(crate) fn forbidden() -> ApiError {
        ApiError::new(403, "Resource not accessible by integration")
    }

    pub(crate) fn unprocessable(message: impl Into<String>) -> ApiError {
        ApiError::new(422, message)
    }

    /// A field with a wrong value.
    pub(crate) fn invalid(resource: &str, field: &str, code: &str) -> ApiError {
        let mut error = ApiError::new(422, "Validation Failed");
        error.errors.push(json!({"resource": resource, "field": field, "code": code}));
        error
    }

    /// A rule that the request as a whole breaks.
    pub(crate) fn custom(resource: &str, message: &str) -> ApiError {
        let mut error = ApiError::new(422, "Validation Failed");
        error.errors.push(json!({"resource": resource, "code": "custom", "message": message}));
        error
    }

    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.to_string(),
        });
        if !self.errors.is_empty() {
            body["errors"] = Value::Array(self.errors.clone());
        }
        body
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        match error {
            StoreError::ReferenceName(name) => {
                ApiError::unprocessable(format!("{name} is not a valid ref name."))
            }
            StoreError::Object { .. } => ApiError::unprocessable("Object does not exist"),
            other => ApiError::new(500, other.to_string()),
        }
    }
}
