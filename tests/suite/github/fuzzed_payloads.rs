//! Webhook payloads: any bytes may come, with any event's name, and are read or refused.

use std::fmt::{Debug, Display};

/// The first byte chooses the event, the rest is the body. `read` is the reader; the fuzz target takes
/// it in from its file.
pub(crate) fn check<T: Debug, E: Display>(data: &[u8], read: impl Fn(&str, &[u8]) -> Result<T, E>) {
    const EVENTS: [&str; 11] = [
        "push",
        "pull_request",
        "pull_request_review",
        "issue_comment",
        "check_run",
        "check_suite",
        "merge_group",
        "installation",
        "installation_repositories",
        "ping",
        "other",
    ];
    let Some((first, body)) = data.split_first() else { return };
    let event = EVENTS[usize::from(*first) % EVENTS.len()];
    match read(event, body) {
        Ok(event) => assert!(!format!("{event:?}").is_empty()),
        Err(error) => {
            let told = error.to_string();
            assert!(told.len() < 200, "content in an error: {told}");
        }
    }
}
