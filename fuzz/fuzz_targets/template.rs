#![no_main]

#[path = "../../crates/inventory/tests/suite/fuzzed/template.rs"]
mod template;

libfuzzer_sys::fuzz_target!(|data: &[u8]| template::check(data));
