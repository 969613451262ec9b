//! Errors of the GraphQL API.

use crate::error::ApiError;

/// An error inside an answer of status 200.
#[derive(Debug)]
pub(super) struct GraphQlError {
    pub(super) kind: &'static str,
    pub(super) message: String,
}

impl GraphQlError {
    pub(super) fn new(kind: &'static str, message: impl Into<String>) -> GraphQlError {
        GraphQlError { kind, message: message.into() }
    }
}

impl From<ApiError> for GraphQlError {
    fn from(error: ApiError) -> GraphQlError {
        let kind = match error.status {
            404 => "NOT_FOUND",
            401 | 403 => "FORBIDDEN",
            _ => "UNPROCESSABLE",
        };
        GraphQlError::new(kind, error.message)
    }
}
