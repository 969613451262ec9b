//! What owners are given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What owners are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum OwnersForm {
    /// A certificate of their own, encrypted to them.
    Certificate,
    /// Cluster API's own key, encrypted to them.
    Admin,
    /// How to log in, which holds no secret.
    Login,
}
