//! The forge, held against GitHub's own descriptions, and played through.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests fail by panicking, and say aloud what they skip"
)]

pub(crate) mod client;
mod conversation;
mod deliveries;
mod git_data;
mod pages;
mod trouble;
mod webhook_fixtures;
