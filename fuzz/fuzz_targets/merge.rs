#![no_main]

#[path = "../../crates/plan/tests/suite/fuzzed/merge.rs"]
mod merge;

libfuzzer_sys::fuzz_target!(|data: &[u8]| merge::check(data));
