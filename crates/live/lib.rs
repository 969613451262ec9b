//! Live clusters: what a change does to machines, what goes to a management cluster, and what is seen there.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`deaths`] | which folder processes die of, and when it is tried again | nothing |
//! | [`fencing`] | by what a leader knows that it leads still | nothing |
//! | [`kept_tree`] | what may be done on the word of a tree that may be old | nothing |
//! | [`rolling`] | how many clusters replace machines at a time | nothing |
//! | [`secrets`] | what is asked of Vault, and who may have it | nothing |
//! | [`live_objects`] | what was read of a management cluster | nothing |
//! | [`owners`] | the key that a cluster's owners are given: its content | nothing |
//! | [`agent`] | what reconcilers and the bot say to each other, and what follows from it | `owners` |
//! | [`rollout`] | which machines a change replaces, and what has become of it | `live_objects` |
//! | [`applying`] | what of a render goes to the management cluster now, and what never does | `live_objects`, `rollout` |
//! | [`cloud`] | what a change asks of an OpenStack cloud, and whether the cloud can give it | `live_objects`, `rollout` |
//! | [`installing`] | providers: who installs them, what is said of them, when they may go, what is done next | `applying`, `live_objects`, `rollout` |
//! | [`services`] | services inside a cluster: whose turn it is, the state of each, what of the cloud is in the way | `applying`, `installing`, `live_objects`, `rollout` |

pub mod agent;
pub mod applying;
pub mod cloud;
pub mod deaths;
pub mod fencing;
pub mod installing;
pub mod kept_tree;
pub mod live_objects;
pub mod owners;
pub mod rolling;
pub mod rollout;
pub mod secrets;
pub mod services;
