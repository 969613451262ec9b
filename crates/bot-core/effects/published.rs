//! What came of a pull request that was to be brought up.

/// What came of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// It was opened.
    Opened(u64),
    /// Something of it was brought up to date, and told.
    Updated(u64),
    /// Its text was as wanted.
    Unchanged(u64),
    /// GitHub's rules refuse it, in its words.
    Refused(String),
    /// Somebody else was quicker: look again.
    Overtaken,
}
