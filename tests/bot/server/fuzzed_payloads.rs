//! Webhook payloads: any bytes may come, with any event's name, and are read or refused.

/// The first byte chooses the event, the rest is the body. `read` is the server's reader, which the fuzz target
/// takes in from its file: the names of the repositories to look at, or what it says of a payload that it refuses.
pub(crate) fn check(data: &[u8], read: impl Fn(&str, &[u8]) -> Result<Vec<String>, String>) {
    const EVENTS: [&str; 12] = [
        "push",
        "pull_request",
        "pull_request_review",
        "issue_comment",
        "check_run",
        "check_suite",
        "merge_group",
        "installation",
        "installation_repositories",
        "repository",
        "ping",
        "other",
    ];
    let Some((first, body)) = data.split_first() else { return };
    match read(EVENTS[usize::from(*first) % EVENTS.len()], body) {
        Ok(names) => {
            for name in names {
                let (owner, own) = name.split_once('/').unwrap_or_default();
                let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('/');
                assert!(is_part(owner) && is_part(own), "a name that is none: {name}");
            }
        }
        Err(told) => assert!(told.len() < 100, "content in an error: {told}"),
    }
}
