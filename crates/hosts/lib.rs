//! Which bare-metal hosts a tenant cluster gets, and the services in front of them: `SIPCluster` and
//! `BareMetalHost`.
//!
//! Pure, like all of the heart: [`choose`](choice::choose) takes the hosts and every `SIPCluster`, and
//! returns the hosts that one of them has from here on, or why it cannot have what its spec asks for. Only
//! the choice itself is stored, in the status: everything else is read again.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`selector`] | label selectors, and policies that open hosts to other namespaces | nothing |
//! | [`cluster`] | `SIPCluster`: what is wished, what was noted | `selector` |
//! | [`host`] | `BareMetalHost`: what is read of it, and why it is not free | `cluster` |
//! | [`choice`] | which hosts a cluster has, gets and gives back | `cluster`, `host`, `selector` |
//! | [`services`] | load balancers, jump hosts and issuers of tokens: configurations and objects | `cluster`, `host` |
//! | [`definition`] | the CustomResourceDefinition of `SIPCluster` | `cluster` |
//! | [`findings`] | what is found of a tenant cluster's other objects | `cluster`, `host`, `selector` |
//! | [`pass`] | the next write for a SIPCluster | `choice`, `cluster`, `host`, `services` |

pub mod choice;
pub mod cluster;
pub mod definition;
pub mod findings;
pub mod host;
pub mod pass;
pub mod selector;
pub mod services;
