#![no_main]

#[path = "../../crates/plan/tests/suite/fuzzed/commands.rs"]
mod commands;

libfuzzer_sys::fuzz_target!(|data: &[u8]| commands::check(data));
