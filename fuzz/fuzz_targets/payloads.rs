//! Webhook payloads. The reader is taken in by its file, so that not the whole bot is built here.
#![no_main]

#[path = "../../tests/suite/github/fuzzed_payloads.rs"]
mod fuzzed_payloads;
#[expect(dead_code, reason = "the reader makes names; what asks their parts is not here")]
#[path = "../../src/app/ports/repository_name.rs"]
mod repository_name;
#[path = "../../src/github/webhook.rs"]
mod webhook;

/// Where the reader looks for names.
mod app {
    pub(crate) mod ports {
        pub(crate) use crate::repository_name::RepositoryName;
    }
}

/// What it takes from its neighbour.
mod pulls {
    pub(crate) const GHOST: &str = "ghost";
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed_payloads::check(data, webhook::read));
