//! The records on both engines: every test here runs the same on SQLite and on PostgreSQL.

mod deliveries;
mod engines;
mod open;
mod queue;
mod records;

pub(crate) use engines::{each_engine, sqlite};
