//! What the reconciler needs besides the management cluster itself: a source of trees, the bot, and the
//! status store of its own custom resources.
//!
//! `k8s` implements [`StatusStore`] (and [`ManagementCluster`](capstan_ports::ManagementCluster)), `agent-client`
//! implements [`Bot`], `state_folder` [`Notes`]. Adapters that serve the bot too have their ports in `capstan_ports`:
//! `git` and `agent-client` implement [`TreeSource`], `planner-process` [`TrialRenders`]. The inventory of the cluster
//! itself is a [`TreeSource`] of the use cases' own (`live_inventory`): all that it needs is the management cluster.

mod bot;
mod notes;
mod sources;
mod status_store;

pub use capstan_ports::{SourceError, SourceTree, TreeSource, TrialFailed, TrialRenders};

pub use bot::{Bot, NoBot};
pub use capstan_reconciler_core::records::{ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, Tone};
pub use capstan_reconciler_core::reports::{
    BotError, ClusterReport, NewAgent, OwnersFile, PendingWork, Preflight, PreflightAnswer, PreflightVerdict,
    ReportOutcome,
};
pub use notes::Notes;
pub use sources::{OpenSource, SecretData, SourceOpener};
pub use status_store::{StatusStore, StatusStoreChange, StatusStoreError};
