//! How far something follows newer releases.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a cluster follows new releases.
///
/// Ordered from narrow to wide, so that of two tracks the narrower is the smaller.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Track {
    /// Nothing is offered.
    None,
    /// Releases of the same minor.
    Patch,
    /// Releases of the same major.
    Minor,
    /// Any newer release (default).
    #[default]
    Any,
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Any => "any",
        })
    }
}

impl Track {
    /// Every track, from narrow to wide.
    pub const ALL: [Self; 4] = [Self::None, Self::Patch, Self::Minor, Self::Any];
}
