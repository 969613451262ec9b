//! A stack of pull requests: each aims at the branch of the one below it.

use crate::clock::Seconds;

/// A stack of pull requests.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) id: u64,
    pub(crate) number: u64,
    /// The branch that the whole stack is for.
    pub(crate) base: String,
    /// From bottom to top.
    pub(crate) pulls: Vec<u64>,
    pub(crate) created_at: Seconds,
}

impl Stack {
    /// The one-based position of a pull request in it.
    pub(crate) fn position(&self, number: u64) -> Option<usize> {
        self.pulls.iter().position(|pull| *pull == number).map(|index| index + 1)
    }
}
