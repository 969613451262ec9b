//! The command line through the built binary, in repositories of its own, to the letter of its contract.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

pub(crate) mod sandbox;
