//! The inventory from outside: any files and any templates. One binary, so that it links once.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests say what they saw")]

mod fuzzed;
