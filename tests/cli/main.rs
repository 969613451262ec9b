//! The command line, and what is held without a forge or an API server: Git, registries, the documentation, the house.

mod commands;
mod components;
mod dependencies;
mod docs;
mod git;
mod house;
mod identity;
mod real_cases;
