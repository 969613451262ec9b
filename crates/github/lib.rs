//! GitHub: App authentication, and the calls that Capstan makes.
//!
//! [`GitHub`] implements the [`CodeHost`](capstan_ports::CodeHost) port through octocrab, which owns the App's tokens,
//! requests, refusals and pages. Below it are `layers`, and below these `outbound`. What is by hand says why at the head
//! of its file. Owned here: tokens of tasks, conditional reads, limits, what of an answer is an expected outcome and what
//! an error. Deliberately absent: when to call and what to make of it (the bot), and webhooks (`server` checks their
//! signatures, the bot's `intake` reads them).

mod access;
mod answer;
mod app_client;
mod call;
mod checks;
mod code_host;
mod commits;
mod conditional;
mod connect;
mod conversation;
mod credentials;
mod deliveries;
mod git_data;
mod graphql;
mod installation_token;
mod installations;
mod issues;
mod lane;
mod layers;
mod limits;
mod manifests;
mod merging;
mod newest_pulls;
mod people;
mod pulls;
mod references;
mod sidebar;
mod tokens;
mod transport;
mod web;
mod words;

pub use code_host::GitHub;
pub use connect::ConnectError;
pub use credentials::{AppCredentials, PrivateKeyError};
pub use limits::GitHubLimits;
pub use manifests::GitHubManifests;
pub use people::GitHubSignIn;
pub use web::web_url;
