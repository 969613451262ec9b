//! The server over HTTP, on a real SQLite database.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how tests fail")]

mod client;
mod crash;
mod doors;
mod fuzzed_payloads;
mod intake;
mod logs;
mod pages;
mod payloads;
