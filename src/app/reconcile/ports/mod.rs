//! What the reconciler needs besides the management cluster itself: a source of trees, the bot, and the
//! board of its own custom resources.
//!
//! `k8s` implements [`Board`] (and [`ManagementCluster`](crate::app::ports::ManagementCluster)), `git` and
//! `agent_client` implement [`TreeSource`], `agent_client` implements [`Bot`].

mod board;
mod bot;
mod source;
mod sources;

pub use board::{
    Board, BoardChange, BoardError, ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, Tone,
};
pub use bot::{
    Bot, BotError, ClusterReport, NoBot, Outcome, Preflight, PreflightAnswer, PreflightVerdict, Work,
};
pub use source::{SourceError, SourceTree, TreeSource};
pub use sources::{OpenSource, SecretData, Sources};
