#![no_main]

#[path = "../../crates/plan/tests/suite/fuzzed/yaml.rs"]
mod yaml;

libfuzzer_sys::fuzz_target!(|data: &[u8]| yaml::check(data));
