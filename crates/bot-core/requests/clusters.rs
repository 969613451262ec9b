//! Clusters that are to come or to go by command: each a pull request of its own.

use std::collections::BTreeMap;

use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_plan::creation::CreatedCluster;
use capstan_plan::proposal::{
    CREATE, DESTROY, OutsideTarget, ProposalId, ReleasesOrigin, guard_new, guard_tombstone,
};
use capstan_plan::retirement::RetiredCluster;
use capstan_plan::verbs::{ClusterFrom, Command, DestroyArguments};
use capstan_report::{AskedFor, ClusterPull, Refusal, creation_pull, retirement_pull};

use super::request::{Request, RequestId};
use crate::effects::{Audited, BranchThere, CommitFiles, Desired, DesiredBranch, DesiredPull, branch_step};
use crate::facts::Facts;

/// A cluster that is to come, or to go.
#[derive(Debug, Clone)]
pub enum ClusterRequest {
    /// It is to come.
    Create(ClusterFrom),
    /// It is to go.
    Destroy(ClusterId),
}

/// What becomes of it.
#[derive(Debug, Clone)]
pub enum ClusterChange {
    /// It comes.
    Create(CreatedCluster),
    /// It goes.
    Destroy(RetiredCluster),
}

/// What was made of commands about clusters, or why nothing was, by their comment and place in it.
#[derive(Debug, Default)]
pub struct AskedClusters(BTreeMap<(RequestId, usize), Result<ClusterChange, String>>);

impl ClusterRequest {
    /// What a command about a cluster as a whole asks for.
    pub fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Create(wanted) => Some(Self::Create(wanted.clone())),
            Command::Destroy(DestroyArguments { cluster, .. }) => Some(Self::Destroy(cluster.clone())),
            _ => None,
        }
    }
}

impl ClusterChange {
    pub const fn cluster(&self) -> &ClusterId {
        match self {
            Self::Create(created) => &created.cluster,
            Self::Destroy(retired) => &retired.cluster,
        }
    }

    /// What is written.
    pub fn files(&self) -> &[FileChange] {
        match self {
            Self::Create(created) => &created.files,
            Self::Destroy(retired) => std::slice::from_ref(&retired.file),
        }
    }

    /// The word for it in branches.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Create(_) => CREATE,
            Self::Destroy(_) => DESTROY,
        }
    }

    /// `capstan/create/gauss/peu01`
    pub fn branch(&self) -> String {
        let kind = SourceKind::parse(self.kind()).unwrap_or(SourceKind::RELEASE);
        ProposalId { target: self.cluster().clone().into(), kind }.branch()
    }

    /// What explains that it was not done.
    pub const fn page(&self) -> Refusal {
        match self {
            Self::Create(_) => Refusal::NotCreated,
            Self::Destroy(_) => Refusal::NotRetired,
        }
    }

    /// Its pull request as it should be, with its branch in that state; `None` where the branch is a person's.
    ///
    /// # Errors
    /// A file that it must not touch.
    pub fn desired<'a>(
        &'a self,
        facts: &'a Facts,
        there: Option<&BranchThere>,
        (pull, asked): (ClusterPull, AskedFor<'_>),
    ) -> Result<Option<Desired<'a>>, OutsideTarget> {
        let (base, files) = (facts.base.tree.as_ref(), self.files());
        let (files, action) = match self {
            Self::Create(created) => (guard_new(&created.cluster, base, files)?, "creation-opened"),
            Self::Destroy(retired) => (guard_tombstone(&retired.cluster, files)?, "destruction-opened"),
        };
        let around =
            (format!("{} in ", self.cluster()), format!(", asked for by {} in #{}", asked.by, asked.number));
        let audited = Audited { of: None, opened: action, updated: action, around };
        Ok(branch_step(there).map(|step| Desired {
            branch: DesiredBranch {
                name: self.branch(),
                step,
                parent: &facts.base,
                key: &facts.key,
                files: CommitFiles::OfClusters(files),
                message: pull.commit,
            },
            pull: DesiredPull::plain(self.branch(), (pull.title, pull.body), None, audited),
        }))
    }

    /// The texts of its pull request.
    pub fn pull(&self, origin: Option<&ReleasesOrigin>, asked: AskedFor<'_>) -> ClusterPull {
        match self {
            Self::Create(created) => creation_pull(created, origin, asked),
            Self::Destroy(retired) => retirement_pull(retired, asked),
        }
    }
}

impl AskedClusters {
    /// What was made of these commands.
    pub const fn new(asked: BTreeMap<(RequestId, usize), Result<ClusterChange, String>>) -> Self {
        Self(asked)
    }

    /// What was made of a command, or why nothing was.
    pub fn of(&self, request: &Request, at: usize) -> Option<&Result<ClusterChange, String>> {
        self.0.get(&(request.id(), at))
    }
}
