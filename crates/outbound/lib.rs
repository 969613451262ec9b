//! HTTP to other services, in one place: which hosts a client may reach, what an answer may cost, and what
//! its errors say.
//!
//! The other services are GitHub, remotes of Git, registries and forges that publish components, Vaults,
//! clouds, webhooks and the bot, as an agent calls it. A table in `docs/security.md` says who may name which
//! host, and the caller judges whether a host is named. This room has the rules for all of them:
//!
//! - nobody is followed beyond scheme, host and port, nor there where the caller does not say so;
//! - a name that leads to an address nobody meant is refused after it was resolved ([`NetworkReach`]);
//! - an answer ends: its bytes and its time are bounded, whatever the other side does ([`AnswerBounds`]);
//! - nothing is sent twice: what may be repeated is decided by the caller;
//! - a failure says what kind it is, and no word that the other side chose ([`OutboundError`]).
//!
//! Git's client is gix' own: it is made as [`configure_blocking`] says, and `crates/git` asks it within these rules. Workload
//! clusters are asked by kube's client (`crates/k8s`), programs that Git runs (`ssh`) by themselves.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`address`] | what an address is to this machine, and how a URL is shown | nothing |
//! | [`bounded_json`] | JSON that others wrote: bounded in levels and values | nothing |
//! | [`redirect`] | where an answer leads, and who is followed | nothing |
//! | [`tls`] | the root certificates that all clients share | nothing |
//! | [`resolver`] | names become addresses, without those that are out of reach | `address` |
//! | [`trouble`] | why there is no answer, as a kind | `resolver` |
//! | [`blocking`] | the same rules for a client that another library makes: gix | `address`, `resolver`, `tls` |
//! | [`client`] | a question and its answer | `address`, `redirect`, `resolver`, `tls`, `trouble` |

mod address;
mod blocking;
pub mod bounded_json;
mod client;
mod redirect;
mod resolver;
mod tls;
mod trouble;

pub use self::address::{host_of, shown};
pub use self::blocking::configure_blocking;
pub use self::client::{AnswerBounds, Authorities, Client, HttpAnswer, NoClient, OutboundRequest, Setup};
pub use self::redirect::{MOST_REDIRECTS, stays_as_it_was, within_origin};
pub use self::resolver::NetworkReach;
pub use self::trouble::OutboundError;
