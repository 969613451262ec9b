//! The GitHub client against the forge, and webhook payloads.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod calls;
mod credentials;
mod fleet;
mod mirror;
mod trouble;
mod webhook;
