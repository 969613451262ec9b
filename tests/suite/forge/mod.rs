//! The forge, held against GitHub's own descriptions, and played through.

pub mod conformance;

mod client;
mod conversation;
mod deliveries;
mod git_data;
mod graphql;
mod pages;
mod trouble;
mod webhook_fixtures;
