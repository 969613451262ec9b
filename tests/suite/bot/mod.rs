//! The bot: conversations with a forge, deaths at every call, and kills of the real process.

mod conversations;
mod deaths;
mod kills;
mod memory;
mod proposals;
mod sample;
mod town;
