//! What the reconciler needs besides the management cluster itself: a source of trees, the bot, and the
//! status store of its own custom resources.
//!
//! `k8s` implements [`StatusStore`] (and [`ManagementCluster`](capstan_ports::ManagementCluster)), `git` and
//! `agent-client` implement [`TreeSource`], `agent-client` implements [`Bot`], `planner-process` [`TrialRenders`],
//! `state_folder` [`Notes`]. The inventory of the cluster itself is a [`TreeSource`] of the use cases' own
//! (`live_inventory`): all that it needs is the management cluster.

mod bot;
mod notes;
mod source;
mod sources;
mod status_store;
mod trial_renders;

pub use bot::{Bot, NoBot};
pub use capstan_reconciler_core::records::{ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, Tone};
pub use capstan_reconciler_core::reports::{
    BotError, ClusterReport, NewAgent, Outcome, OwnersFile, Preflight, PreflightAnswer, PreflightVerdict,
    Work,
};
pub use capstan_reconciler_core::trial_failed::TrialFailed;
pub use notes::Notes;
pub use source::{SourceError, SourceTree, TreeSource};
pub use sources::{OpenSource, SecretData, Sources};
pub use status_store::{StatusStore, StatusStoreChange, StatusStoreError};
pub use trial_renders::TrialRenders;
