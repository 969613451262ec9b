//! The git adapter against real repositories, made with the `git` program.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod branch;
mod checkout;
mod file_writer;
mod http_server;
mod mirror;
mod ssh;
