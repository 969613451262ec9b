//! Reads from Git whose work the head of a proposal's branch is.

use capstan_bot_core::facts::digest_of_changes;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{
    Authorship, Branch, BranchTip, OfBase, Parent, PlanDigest, ProposalId, SourceState, Vouched, judge_head,
};
use capstan_report::SealedCommit;

use super::{Run, SyncError};
use capstan_ports::{EarlierPullRequest, MirrorError, Snapshot};

impl Run<'_> {
    /// The branch of a proposal, with its author; `base` is the base as the proposal's pull request last saw
    /// it.
    pub(super) async fn branch_facts(
        &self,
        proposal: &ProposalId,
        base: Option<&CommitId>,
    ) -> Result<Option<Branch>, SyncError> {
        let Some(commit) = self.facts.branches.get(proposal) else { return Ok(None) };
        let record = self.facts.record_of(proposal, commit);
        if let Some(record) = record.filter(|record| record.head == *commit)
            && let (Some(source), Some(plan)) =
                (SourceState::parse(&record.source), PlanDigest::parse(&record.plan))
        {
            let authorship = Authorship::Capstan { source, plan };
            return Ok(Some(Branch { head: commit.clone(), authorship, stands_on: OfBase::Yes }));
        }
        let head = self.read_head(&proposal.branch(), commit, base).await?;
        let authorship = judge_head(&head, record.map(|record| &record.head));
        Ok(Some(Branch { head: commit.clone(), authorship, stands_on: head.stands_on() }))
    }

    /// The newest pull request of a branch, open or not.
    pub(super) async fn newest_on(&self, branch: &str) -> Result<Option<EarlierPullRequest>, SyncError> {
        let branches = [branch.to_owned()];
        let newest = self.ports.host.newest_pull_requests(self.repository, &branches, None).await?;
        Ok(newest.into_iter().find(|pull| pull.head_branch == branch))
    }

    /// The source in a commit's trailers, if the commit still exists.
    pub(super) async fn source_of_commit(&self, commit: &CommitId) -> Result<Option<SourceState>, SyncError> {
        let Some(snapshot) = self.snapshot(commit).await? else { return Ok(None) };
        Ok(snapshot.trailers.source.as_deref().and_then(SourceState::parse))
    }

    /// The head of a branch of Capstan's, without `refs/heads/`.
    pub(super) async fn read_head(
        &self,
        branch: &str,
        commit: &CommitId,
        base: Option<&CommitId>,
    ) -> Result<BranchTip, SyncError> {
        let mut head = self.read_commit(branch, commit, base).await?;
        if let [first, _] = head.parents.as_slice() {
            head.first_parent = Some(Box::new(self.read_commit(branch, &first.commit, base).await?));
        }
        Ok(head)
    }

    async fn read_commit(
        &self,
        branch: &str,
        commit: &CommitId,
        base: Option<&CommitId>,
    ) -> Result<BranchTip, SyncError> {
        let none = BranchTip {
            commit: commit.clone(),
            source: None,
            plan: None,
            vouched: Vouched::No,
            parents: vec![],
            first_parent: None,
        };
        let Some(snapshot) = self.snapshot(commit).await? else { return Ok(none) };
        let mut parents = Vec::new();
        // An octopus merge is never a clean one: its parents need not be fetched.
        for parent in snapshot.parents.iter().take(2) {
            let before = self.snapshot(parent).await?;
            let changes = before.and_then(|before| digest_of_changes(&*before.tree, &*snapshot.tree));
            let of_base = if *parent == self.facts.base.commit || base == Some(parent) {
                OfBase::Yes
            } else {
                OfBase::Unknown
            };
            parents.push(Parent { commit: parent.clone(), changes, of_base });
        }
        if snapshot.parents.len() > 2 {
            parents.clear();
        }
        Ok(BranchTip {
            source: snapshot.trailers.source.as_deref().and_then(SourceState::parse),
            plan: snapshot.trailers.plan.as_deref().and_then(PlanDigest::parse),
            vouched: self.vouched(branch, &snapshot).await?,
            parents,
            ..none
        })
    }

    /// Whether Capstan wrote a commit for a branch, by more than the commit's own text.
    ///
    /// GitHub is asked where the seal does not prove it: for commits of an earlier Capstan, or under another
    /// key.
    pub(super) async fn vouched(&self, branch: &str, snapshot: &Snapshot) -> Result<Vouched, SyncError> {
        let trailers = &snapshot.trailers;
        let ([parent], Some(source), Some(plan)) =
            (snapshot.parents.as_slice(), trailers.source.as_deref(), trailers.plan.as_deref())
        else {
            return Ok(Vouched::No);
        };
        let (repository, tree) = (self.repository.id, &snapshot.root);
        let own = SealedCommit { repository, branch, parent, tree, source, plan };
        if trailers.seal.as_deref().is_some_and(|seal| own.has_seal(&self.facts.key, seal)) {
            return Ok(Vouched::Yes);
        }
        let pushes = match self.ports.host.pushes(self.repository, branch).await {
            Ok(pushes) => pushes,
            Err(error) if error.is_refusal() => return Ok(Vouched::No),
            Err(error) => return Err(error.into()),
        };
        let app = self.ports.host.bot_login().await?;
        let is_own =
            pushes.iter().any(|push| push.after == snapshot.commit && push.actor.as_ref() == Some(&app));
        Ok(if is_own { Vouched::Yes } else { Vouched::No })
    }

    /// A commit's content; `None` where it cannot be read: the remote no longer has it, or it is too large,
    /// and then Capstan did not write it.
    pub(super) async fn snapshot(&self, commit: &CommitId) -> Result<Option<Snapshot>, SyncError> {
        match self.required_snapshot(commit).await {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(SyncError::Mirror(MirrorError::NoSuchCommit { .. } | MirrorError::TooLarge { .. })) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A commit's content, without which the run cannot continue.
    pub(super) async fn required_snapshot(&self, commit: &CommitId) -> Result<Snapshot, SyncError> {
        if *commit == self.facts.base.commit {
            return Ok(self.facts.base.clone());
        }
        Ok(self.ports.mirror.snapshot(self.repository, self.token, commit).await?)
    }
}
