//! Which branches are those of proposals.

use capstan_facts::{PullRequest, Repository};
use capstan_model::source::SourceKind;
use capstan_plan::proposal::{LongTargets, ProposalId, is_name_of_proposal};

/// Separates the branches of proposals from those of people.
#[derive(Clone, Default)]
pub struct BranchNames {
    /// The kinds of sources that are planned.
    pub kinds: Vec<SourceKind>,
    /// Targets whose branches may have shortened names: those of the default branch, then those that are only
    /// in the heads of such branches, because the folder is new or removed.
    pub long: Vec<LongTargets>,
}

impl BranchNames {
    /// The proposal of a branch with such a name, for any kind of source.
    pub fn find(&self, branch: &str) -> Option<ProposalId> {
        match ProposalId::of_branch(branch) {
            None if is_name_of_proposal(branch) => self.long.iter().find_map(|long| long.proposal_on(branch)),
            of_its_name => of_its_name,
        }
    }

    /// Whether a branch has a shortened name of an unknown target.
    pub fn is_unknown(&self, branch: &str) -> bool {
        is_name_of_proposal(branch) && self.find(branch).is_none()
    }

    /// The proposal of a branch, if its kind of source is planned: any other branch counts as a person's.
    pub fn proposal_on(&self, branch: &str) -> Option<ProposalId> {
        self.find(branch).filter(|proposal| self.kinds.contains(&proposal.kind))
    }

    /// The proposal of a pull request for the default branch.
    pub fn proposal_in(&self, repository: &Repository, pull: &PullRequest) -> Option<ProposalId> {
        let is_own = pull.head_in_repository && pull.comes_to(&repository.default_branch);
        self.proposal_on(&pull.head_branch).filter(|_| is_own)
    }
}
