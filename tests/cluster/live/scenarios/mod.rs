//! What happens to clusters, one story a file. All of them are played at the same time on one
//! management cluster.

mod born;
mod edited;
mod judged;
mod moved;
mod restarted;
mod stuck;
mod topology;
mod upgraded;

use super::ground::Ground;
use super::sample::Sample;
use super::town::Town;

/// A story about one cluster.
pub(super) struct Scenario {
    /// Its name, and the cluster's.
    pub(super) name: &'static str,
    /// What the scenario shows.
    pub(super) title: &'static str,
    /// Whether the cluster is there from the start.
    pub(super) cluster: Cluster,
    /// Plays it; panics where something is not as it should be.
    pub(super) play: Play,
}

/// What a story needs.
#[derive(Clone, Copy)]
pub(super) enum Play {
    /// Everything.
    InTown(fn(&Town<'_>, &Sample)),
    /// A management cluster alone; kubectl applies.
    OnGround(fn(&Ground, &Sample)),
}

/// How a story's cluster comes about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cluster {
    /// On the default branch from the start.
    Given,
    /// Likewise, with a managed topology.
    Topology,
    /// In the story.
    Later,
}

impl Scenario {
    pub(super) fn sample(&self) -> Sample {
        Sample { topology: self.cluster == Cluster::Topology, ..Sample::new(self.name) }
    }
}

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "born",
        title: "created by a merge, proposals that the webhooks reject, a missing template, a tombstone",
        cluster: Cluster::Later,
        play: Play::InTown(born::play),
    },
    Scenario {
        name: "upgraded",
        title: "upgraded by one minor, reverted, raised by hand",
        cluster: Cluster::Given,
        play: Play::InTown(upgraded::play),
    },
    Scenario {
        name: "edited",
        title: "new machines for the workers alone; drift and a merge while the bot is away",
        cluster: Cluster::Given,
        play: Play::InTown(edited::play),
    },
    Scenario {
        name: "topology",
        title: "a managed topology upgraded by one minor",
        cluster: Cluster::Topology,
        play: Play::InTown(topology::play),
    },
    Scenario {
        name: "moved",
        title: "made from the inventory, and moved to another site of it",
        cluster: Cluster::Later,
        play: Play::InTown(moved::play),
    },
    Scenario {
        name: "stuck",
        title: "a rollout that gets stuck, and is freed by another pull request",
        cluster: Cluster::Given,
        play: Play::InTown(stuck::play),
    },
    Scenario {
        name: "restarted",
        title: "the API server dies while an upgrade is applied",
        cluster: Cluster::Given,
        play: Play::InTown(restarted::play),
    },
    Scenario {
        name: "judged-cp",
        title: "edits of a control plane that kubectl applies, judged from Git alone",
        cluster: Cluster::Later,
        play: Play::OnGround(judged::control_plane),
    },
    Scenario {
        name: "judged-workers",
        title: "edits of workers that kubectl applies, judged from Git alone",
        cluster: Cluster::Later,
        play: Play::OnGround(judged::workers),
    },
];
