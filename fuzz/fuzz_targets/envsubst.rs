#![no_main]

#[path = "../../src/envsubst/tests/suite/fuzzed.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::check(data));
