//! The server over HTTP, on a real SQLite database.

mod client;
mod crash;
mod intake;
mod pages;
