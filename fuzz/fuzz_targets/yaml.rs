#![no_main]

#[path = "../../src/plan/tests/suite/fuzzed/yaml.rs"]
mod yaml;

libfuzzer_sys::fuzz_target!(|data: &[u8]| yaml::check(data));
