//! What the test programs of the repository share: the program as a process, real Git, SSH and registries, the management
//! cluster, GitHub's own descriptions, secrets that are recognised, and the texts that tests read.
//!
//! What is shared with the packages' own tests, and needs none of them, is `tests/support`.

#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a panic is how tests fail, and they say aloud what they skip"
)]

pub mod canary;
pub mod classes;
pub mod components;
pub mod conformance;
pub mod deployed;
pub mod flags;
mod graphql;
pub mod metrics;
pub mod page;
pub mod plane;
pub mod repository;
pub mod sandbox;
pub mod sources;
pub mod ssh_server;
pub mod walk;

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The program, as Cargo built it beside this test.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().join("capstan");
    assert!(built.exists(), "{} is not built: name the package `capstan` in the command", built.display());
    built
}
