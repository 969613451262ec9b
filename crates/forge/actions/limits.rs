//! What GitHub finds too long.

use crate::error::ApiError;

/// GitHub's limit on bodies of issues, pull requests and comments, in characters.
const LONGEST_BODY: usize = 65_536;

/// Refuses a body that GitHub would find too long.
pub(crate) fn check_length(body: &str) -> Result<(), ApiError> {
    if body.chars().count() > LONGEST_BODY {
        let message = format!("body is too long (maximum is {LONGEST_BODY} characters)");
        return Err(ApiError::custom("Issue", &message));
    }
    Ok(())
}
