//! The result of recording in the dashboard what people decided.

/// Whether what was decided is noted in the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardWrite {
    /// All of it is.
    Done,
    /// It cannot be, and why.
    Not(String),
    /// Another client was quicker, or GitHub did not answer: it is tried again soon.
    Later,
}
