//! What a bench shows is not searched for secrets: the tests do that, with the same processes.

/// Where the tests search a process's log.
pub(crate) fn assert_none_in(_what: &str, _shown: &[u8]) {}
