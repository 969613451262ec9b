//! The bot: conversations with a forge, deaths at every call, and kills of the real process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how tests fail")]

mod classes;
mod conversations;
mod deaths;
mod elsewhere;
mod kills;
mod memory;
mod proposals;
mod retarget;
pub(crate) mod sample;
mod several_sources;
mod strangers;
pub(crate) mod town;
mod trouble;
