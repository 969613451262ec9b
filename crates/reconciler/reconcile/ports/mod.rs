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

pub use bot::{
    Bot, BotError, ClusterReport, NewAgent, NoBot, Outcome, OwnersFile, Preflight, PreflightAnswer,
    PreflightVerdict, Work,
};
pub use notes::Notes;
pub use sources::{OpenSource, SecretData, Sources};
pub use status_store::{
    ClusterKey, ClusterRecord, FleetKey, FleetRecord, Note, StatusStore, StatusStoreChange, StatusStoreError,
    Tone,
};
