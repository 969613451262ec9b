//! HTTP to other services, in one place: which hosts a client may reach, what an answer may cost, and what
//! its errors say.
//!
//! The other services are GitHub, remotes of Git, registries and forges that publish components, Vaults,
//! clouds, webhooks and the bot, as an agent calls it. A table in `docs/security.md` says who may name which
//! host, and the caller judges whether a host is named. This room has the rules for all of them:
//!
//! - nobody is followed beyond scheme, host and port, nor there where the caller does not say so; a caller that judges
//!   each host follows a read to others ([`Redirects`]);
//! - a name that leads to an address nobody meant is refused after it was resolved ([`NetworkReach`]);
//! - an answer ends: its bytes and its time are bounded, whatever the other side does ([`AnswerBounds`]);
//! - what must be sent once is sent once: reads are repeated, other calls where the caller says so ([`Repetition`]);
//! - a failure says what kind it is, and no word that the other side chose ([`OutboundError`]).
//!
//! Git's client is gix' own: it is made as [`configure_blocking`] says, and `crates/git` asks it within these rules. Workload
//! clusters are asked by kube's client (`crates/k8s`), programs that Git runs (`ssh`) by themselves.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`address`] | what an address is to this machine, and how a URL is shown | nothing |
//! | [`bounded_json`] | JSON that others wrote: bounded in levels and values | nothing |
//! | [`request`] | what is asked | nothing |
//! | [`redirect`] | where an answer leads, and who is followed | `address`, `request` |
//! | [`repetition`] | what is asked again, and after which pauses | nothing |
//! | [`tls`] | the root certificates that all clients share | nothing |
//! | [`resolver`] | names become addresses, without those that are out of reach | `address` |
//! | [`trouble`] | why there is no answer, as a kind; whether it may be asked again | `repetition`, `resolver` |
//! | [`blocking`] | the same rules for a client that another library makes: gix | `address`, `resolver`, `tls` |
//! | [`client`] | a question and its answer | `address`, `redirect`, `request`, `resolver`, `tls`, `trouble` |

mod address;
mod blocking;
pub mod bounded_json;
mod client;
mod redirect;
mod repetition;
mod request;
mod resolver;
mod tls;
mod trouble;

pub use self::address::{host_of, shown};
pub use self::blocking::configure_blocking;
pub use self::client::{AnswerBounds, Authorities, Client, HttpAnswer, NoClient, Setup};
pub use self::redirect::{MOST_REDIRECTS, RedirectError, Redirects, stays_as_it_was, within_origin};
pub use self::repetition::{CallOutcome, Repetition};
pub use self::request::OutboundRequest;
pub use self::resolver::NetworkReach;
pub use self::trouble::OutboundError;
