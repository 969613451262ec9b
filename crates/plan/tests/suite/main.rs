//! The heart from outside: upgrades as data, and properties under random input (every failure prints
//! the seed that repeats it). One binary, so that it links once.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests say what they saw")]

mod cases;
mod converted_texts;
mod created;
mod edits;
mod fuzzed;
mod generated_upgrades;
mod giant_swarm;
mod histories;
mod kustomize;
mod manifest;
mod objects;
mod oracle;
mod real_upgrades;
mod step_group;
mod toy_source;
mod yaml_edits;
