//! The bot: conversations with a forge, and deaths at every call.

mod deaths;
mod memory;
mod proposals;
