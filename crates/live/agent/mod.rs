//! What a reconciler and the bot say to each other under `/agent/v1`, and what both decide from it.
//!
//! An *agent* is a reconciler that enrolled with the bot. It dials out; the bot never dials in. Its
//! identity is the UID of its management cluster, and `managementClusters` on the tip of the default branch
//! says which cluster folders that UID has: those it may read and report on, no others.
//!
//! | file | owns |
//! |---|---|
//! | [`identity`] | ids, join codes, public keys |
//! | [`KubeconfigRequest`] | the file with a key for a cluster's owners |
//! | [`GitOwners`] | whether the bot takes such a file, by what Git says of the owners |
//! | [`token`] | the claims of an agent's token, and when they are believed |
//! | [`permission`] | which folders an agent has |
//! | [`archive`] | what an archive holds, and what its signature covers |
//! | [`preflight`] | the question "what would the live cluster say", and its answer |
//! | [`rollout`] | reports on rollouts |
//! | [`next_step`] | when a cluster is offered its next step |
//! | [`progress`] | what reports add up to: each transition once |
//! | [`wire`] | bodies of requests and answers |
//!
//! Everything that comes from the other side is bounded when it is read: lists by their length, texts by
//! [`Words`], bodies by [`limits`]. Unknown fields are passed over, so that either side may be newer.
//!
//! Deliberately absent: cryptography, HTTP, clocks and storage.

pub mod archive;
mod bounded;
pub mod identity;
mod kubeconfig;
pub mod limits;
mod next_step;
pub mod permission;
pub mod preflight;
pub mod progress;
mod published;
pub mod rollout;
pub mod token;
pub mod wire;
mod words;

pub use identity::{AgentId, JoinCode, PreflightId, PublicKey, ReportId, is_of_the_future};
pub use kubeconfig::{
    Kubeconfig, KubeconfigFile, KubeconfigForm, KubeconfigPlace, KubeconfigRecipient, KubeconfigRequest,
};
pub use next_step::{Awaited, LastRollout, NextStep, SpeaksOf, next_step};
pub use preflight::{ClusterAnswer, PreflightAnswer, PreflightQuestion, PreflightState, PreflightVerdict};
pub use progress::{Announced, Progress, Transition, TransitionKind};
pub use published::{GitOwners, PublishedFile};
pub use rollout::{Machine, MachineAge, RolloutReport, RolloutState, WireReason};
pub use token::{Claims, TokenRefusal, judge_claims};
pub use words::Words;
