//! The pages for people, over HTTP and in a browser: what they show to which user, and what their buttons do.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a panic is how tests fail, and they say aloud what they skip"
)]

mod access;
mod browser;
mod campaigns;
mod fleet;
mod reconcilers;
mod replay;
mod setup;
mod signing_in;
mod webdriver;
mod world;
