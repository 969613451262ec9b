//! Why nothing is offered to a target.

use serde::{Deserialize, Serialize};

/// Why nothing is offered to a target, in one of a few words: tables show it and filter by it. The sentence
/// for people is elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rest {
    /// It has the newest that there is for it.
    #[default]
    Current,
    /// Somebody holds it back.
    Held,
    /// There is something newer, and its track keeps it from that.
    Pinned,
    /// Where it is, or what it follows, is not known.
    Unknown,
    /// It is there no more, or what would change it.
    Gone,
}
