//! Where a value hangs in the text that holds it.

/// Where a value hangs.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueSlot {
    /// It is a document.
    Root,
    /// After a key's colon (`head`); the key is at `column`.
    Key { head: usize, column: usize },
    /// After a dash (`head`), which is at `column`.
    Dash { head: usize, column: usize },
    /// In a flow collection, behind `head` (a colon) if there is one.
    Flow { head: Option<usize> },
}
