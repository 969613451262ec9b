#![no_main]

#[path = "../../crates/inventory/tests/suite/fuzzed/inventory.rs"]
mod inventory;

libfuzzer_sys::fuzz_target!(|data: &[u8]| inventory::check(data));
