//! Where a value hangs in the text that holds it.

/// Where a value hangs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    /// It is a document.
    Root,
    /// Behind a key's colon (`head`); the key stands at `column`.
    Key { head: usize, column: usize },
    /// Behind a dash (`head`), which stands at `column`.
    Dash { head: usize, column: usize },
    /// In a flow collection, behind `head` (a colon) if there is one.
    Flow { head: Option<usize> },
}
