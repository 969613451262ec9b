//! The forge's clock.

/// Seconds since 1970, as the forge's clock shows them.
pub(crate) type Seconds = i64;

/// The present second.
pub(crate) fn now() -> Seconds {
    jiff::Timestamp::now().as_second()
}

/// RFC 3339 in UTC, as GitHub writes times.
pub(crate) fn rfc3339(at: Seconds) -> String {
    jiff::Timestamp::from_second(at)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
