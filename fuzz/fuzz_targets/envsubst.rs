#![no_main]

#[path = "../../crates/envsubst/tests/suite/fuzzed.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::check(data));
