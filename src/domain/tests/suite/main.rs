//! The heart from outside: upgrades as data, and properties under random input (every failure prints
//! the seed that repeats it). One binary, so that it links once.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests say what they saw")]

mod cases;
mod converted_texts;
mod edits;
mod fuzzed;
mod generated_upgrades;
mod giant_swarm;
mod histories;
mod kustomize;
mod manifest;
mod objects;
mod oracle;
mod random;
mod real_upgrades;
mod shared_data;
mod step_group;
mod yaml_edits;
