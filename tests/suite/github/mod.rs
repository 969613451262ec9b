//! The GitHub client against the forge, and webhook payloads.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod calls;
mod credentials;
mod fleet;
mod fuzzed_payloads;
mod mirror;
mod trouble;
mod webhook;
