//! A small stand-in for GitHub over real bare Git repositories, for tests, the demo and the bench.
//!
//! [`Forge::start`] gives a server on a port of its own and the hands to play everybody who is not Capstan:
//!
//! ```no_run
//! # use capstan_forge::{Edit, Forge, NewPull, Options, Permission, Selection};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let forge = Forge::start(Options::default())?;
//! forge.create_organization("acme")?;
//! forge.create_user("alice")?;
//! forge.create_repository("acme/gitops")?;
//! forge.grant("acme/gitops", "alice", Permission::Write)?;
//! forge.install("acme", Selection::All)?;
//! forge.deliver_to("http://127.0.0.1:8080/github/webhook");
//! forge.commit("acme/gitops", "main", "alice", "Add a cluster", &[Edit::write("a/b/base/c.yaml", "kind: X\n")])?;
//! # Ok(()) }
//! ```
//!
//! What is true here is what GitHub's own description of its API says, and tests hold every exchange against it.
//! State is in memory behind one lock, objects and references are in bare repositories in a temporary folder. The
//! forge runs on threads of its own, so its methods may be called from anywhere, with or without a runtime.
//!
//! Deliberately absent: persistence, rate limits that count (they come on demand, see [`Fault`]), webhooks other
//! than the App's, and everything that Capstan does not call.
//!
//! A room may import the rooms that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`clock`] | the present second | nothing |
//! | [`random`] | random texts | nothing |
//! | [`url_encoding`] | percent-encoding | nothing |
//! | [`faults`] | trouble on demand | nothing |
//! | [`log`] | the record of every request | nothing |
//! | [`store`] | one bare Git repository on disk | nothing |
//! | [`error`] | GitHub's error answers | `store` |
//! | [`app_key`] | the App's key pair | `clock`, `error` |
//! | [`signing`] | the forge's signature on commits | `random`, `store` |
//! | [`outbox`] | deliveries made and to be made | `clock` |
//! | [`state`] | what the forge knows beside Git | `app_key`, `clock`, `error`, `faults`, `log`, `outbox`, `store` |
//! | [`views`] | the JSON of GitHub's API | `clock`, `outbox`, `signing`, `state`, `store`, `url_encoding` |
//! | [`actions`] | what may be done, with what follows | `clock`, `error`, `outbox`, `random`, `signing`, `state`, `store`, `views` |
//! | [`api`] | the REST API | `actions`, `app_key`, `clock`, `error`, `random`, `signing`, `state`, `store`, `url_encoding`, `views` |
//! | [`graphql`] | the GraphQL API | `actions`, `api`, `clock`, `error`, `state`, `store` |
//! | [`http`] | requests and answers | `error` |
//! | [`shared`] | the state behind its lock | `state` |
//! | [`authenticate`] | who asks | `api`, `clock`, `error`, `http`, `shared`, `state` |
//! | [`pages`] | pages for people | `actions`, `clock`, `error`, `http`, `shared`, `state`, `url_encoding` |
//! | [`oauth`] | signing in through the App in a browser | `error`, `http`, `random`, `shared`, `state`, `url_encoding` |
//! | [`manifest`] | making an App from a manifest in a browser | `error`, `http`, `random`, `shared`, `state`, `url_encoding` |
//! | [`smart_http`] | Git over HTTP | `api`, `error`, `shared`, `state`, `store` |
//! | [`deliver`] | sends deliveries | `outbox`, `shared` |
//! | [`server`] | the HTTP server | `api`, `authenticate`, `clock`, `error`, `faults`, `graphql`, `http`, `log`, `manifest`, `oauth`, `pages`, `random`, `shared`, `smart_http`, `state`, `url_encoding` |
//! | [`forge`] | a running forge, and who plays on it | `actions`, `app_key`, `clock`, `deliver`, `error`, `faults`, `log`, `outbox`, `random`, `server`, `shared`, `signing`, `state`, `store`, `views` |

// GitHub's large objects are written out in one `json!` each.
#![recursion_limit = "256"]

mod actions;
mod api;
mod app_key;
mod authenticate;
mod clock;
mod deliver;
mod error;
mod faults;
mod forge;
mod graphql;
mod http;
mod log;
mod manifest;
mod oauth;
mod outbox;
mod pages;
mod random;
mod server;
mod shared;
mod signing;
mod smart_http;
mod state;
mod store;
mod url_encoding;
mod views;

pub use actions::NewPull;
pub use error::ApiError;
pub use faults::{Fault, Matching, Strike, Struck};
pub use forge::{
    AppCredentials, CheckView, CommentView, CommitView, Edit, Enterprise, Forge, ForgeError, IssueView,
    Options, PullState, PullView, StatusView,
};
pub use log::{Exchange, Recording, Surface};
pub use outbox::{Delivery, DeliveryOrder};
pub use random::CANARY;
pub use state::{MergeMethod, Permission, Protection, ReviewState, Selection};
pub use store::StoreError;
