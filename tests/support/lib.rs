//! What the tests of several packages share: snapshots made of texts, real files, and
//! seeded random numbers.

#![expect(clippy::panic, clippy::print_stdout, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod files;
pub mod go_modules;
pub mod random;
pub mod serving;
pub mod shared_data;
pub mod tally;

pub use files::Files;

/// How long a test waits for what must come at last: so long that no machine is too slow, whatever else it does. It says
/// nothing of how long anything may take.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);

/// Folders that go with their test: packages of the heart name no crate that touches files, not in their tests either.
pub use tempfile::{TempDir, tempdir};
