//! Webhook payloads, through the reader that the server calls. It is taken in by its file, so that not the whole
//! bot is built here.
#![no_main]

#[path = "../../tests/bot/server/fuzzed_payloads.rs"]
mod fuzzed_payloads;
#[path = "../../crates/bot/intake/payload.rs"]
mod payload;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed_payloads::check(data, |event, body| {
    let now = jiff::Timestamp::UNIX_EPOCH;
    match payload::read_delivery("guid", event, body, now).map_err(|error| error.to_string())? {
        payload::DeliveryReading::Store(delivery) => {
            Ok(delivery.repositories.iter().map(|one| one.name.to_string()).collect())
        }
        payload::DeliveryReading::OfNoInterest => Ok(Vec::new()),
    }
}));
