//! Properties of the domain under random input. Every failure prints the seed that repeats it.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests say what they saw")]

mod manifest;
mod oracle;
mod random;
mod shared_data;
mod yaml_edits;
