//! The providers of a management cluster, installed by the real reconciler on a real API server from real components.
//!
//! | file | holds |
//! |---|---|
//! | `town` | a management cluster with provider objects, and what people do there |
//! | `stub` | what a kubelet, a kube-proxy and managers would do: Deployments become available, webhooks answer |
//! | `stories` | what becomes of the providers |
//! | `takeover` | an operator that stopped: what is waited for, until when, and how long it takes |
//! | `migrating` | what becomes of objects where a version of their definition goes |

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a panic is how tests fail, and they say aloud what they skip"
)]

mod migrating;
mod stories;
pub(crate) mod stub;
mod takeover;
pub(crate) mod town;
