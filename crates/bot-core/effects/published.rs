//! What became of a pull request that was to be published.

/// What became of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// It was opened.
    Opened(u64),
    /// Something of it was brought up to date, and that was reported.
    Updated(u64),
    /// Its text was as wanted.
    Unchanged(u64),
    /// GitHub's rules refuse it, in its words.
    Refused(String),
    /// Another client was quicker: look again.
    Overtaken,
}
