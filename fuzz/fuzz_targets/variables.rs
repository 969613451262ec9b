#![no_main]

#[path = "../../crates/plan/tests/suite/fuzzed/variables.rs"]
mod variables;

libfuzzer_sys::fuzz_target!(|data: &[u8]| variables::check(data));
