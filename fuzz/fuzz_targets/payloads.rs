//! Webhook payloads. The reader is taken in by its file, so that not the whole bot is built here.
#![no_main]

mod app {
    pub(crate) mod ports {
        #[path = "../../../../src/app/ports/repository_name.rs"]
        mod repository_name;
        pub(crate) use repository_name::RepositoryName;
    }
}

mod github {
    /// What `webhook` takes from there.
    pub(crate) mod pulls {
        pub(crate) const GHOST: &str = "ghost";
    }
    #[path = "../../../src/github/webhook.rs"]
    pub(crate) mod webhook;
}

#[path = "../../tests/suite/github/fuzzed_payloads.rs"]
mod fuzzed_payloads;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed_payloads::check(data, github::webhook::read));
