//! The bot: conversations with a forge, deaths at every call, and kills of the real process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how tests fail")]

mod classes;
mod commands;
mod conversations;
mod deaths;
mod elsewhere;
mod kills;
mod memory;
mod processes;
mod proposals;
mod refusals;
mod retarget;
mod retention;
pub(crate) mod sample;
mod several_sources;
mod shared;
mod strangers;
mod too_large;
pub(crate) mod town;
mod trouble;
mod workers;
