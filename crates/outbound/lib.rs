//! HTTP to others, in one place: whom a client may reach, what an answer may cost, and what is said of a failure.
//!
//! Others are registries and forges that publish components, Vaults, clouds, webhooks and the bot, as an agent asks it. Who
//! may name which host is a table in `docs/security.md`; that a host is named is judged by whoever asks. Here stands what
//! holds for every one of them:
//!
//! - nobody is followed: where an answer leads is for the caller to judge;
//! - a name that leads to an address nobody meant is refused after it was resolved ([`Reach`]);
//! - an answer ends: its bytes and its time are bounded, whatever the other side does ([`Bounds`]);
//! - nothing is sent twice: what may be repeated is decided by the caller;
//! - a failure says what kind it is, and no word that the other side chose ([`Trouble`]).
//!
//! GitHub's client and Git's are not here yet: they take [`share_tls`] and [`shared_config`].
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`address`] | what an address is to this machine, and how a URL is shown | nothing |
//! | [`bounded_json`] | JSON that others wrote: bounded in levels and values | nothing |
//! | [`tls`] | the root certificates that all clients share | nothing |
//! | [`resolver`] | names become addresses, without those that are out of reach | `address` |
//! | [`trouble`] | why there is no answer, as a kind | `resolver` |
//! | [`client`] | a question and its answer | `resolver`, `tls`, `trouble` |

mod address;
pub mod bounded_json;
mod client;
mod resolver;
mod tls;
mod trouble;

pub use self::address::{host_of, shown};
pub use self::client::{Answer, Authorities, Bounds, Client, NoClient, Question, Setup};
pub use self::resolver::Reach;
pub use self::tls::{share_tls, shared_config};
pub use self::trouble::Trouble;
