//! The GitHub client against the forge.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod budget;
mod calls;
mod credentials;
mod fleet;
mod mirror;
mod redirects;
mod tokens;
mod trouble;
