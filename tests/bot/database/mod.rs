//! The records on both engines: every test here runs the same on SQLite and on PostgreSQL.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic is how tests fail"
)]

mod agents;
mod budget;
mod check;
mod command;
mod cut_off;
mod damaged;
mod deliveries;
pub(crate) mod engines;
mod migrations;
mod open;
mod pages;
mod queue;
mod records;
mod retention;
mod transfer;

pub(crate) use engines::{Bench, each_engine, sqlite};
