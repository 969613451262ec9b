//! What GitHub refuses to take (a locked conversation, a head that is gone, a permission that the App lacks) fails
//! alone, and is left alone: it is tried again after a while, longer each time, or once it is to say something else.

use std::collections::BTreeMap;

use capstan_model::digest::sha256;
use capstan_plan::command::CommentId;
use capstan_plan::proposal::{ProposalId, SidebarStep, left_alone_for};
use jiff::Timestamp;

use super::{Run, SyncError};
use capstan_ports::{AuditEntry, Records, RecordsError, RefusedWrite};

/// Something that is written to GitHub.
#[derive(Debug, Clone)]
pub(super) struct Write {
    /// By this it is remembered.
    what: String,
    /// What it says, in a few letters.
    content: String,
    proposal: Option<ProposalId>,
}

impl Write {
    /// The answer to a comment.
    pub(super) fn answer(comment: CommentId) -> Self {
        let of = match comment {
            CommentId::Comment(id) => id.to_string(),
            CommentId::Issue(_) => comment.to_string(),
        };
        Self { what: format!("answer {of}"), content: String::new(), proposal: None }
    }

    /// The check on a commit, made from these inputs.
    pub(super) fn check(head: &str, inputs: &str) -> Self {
        Self { what: format!("check {head}"), content: inputs.to_owned(), proposal: None }
    }

    /// The dashboard issue, whatever it says.
    pub(super) fn dashboard() -> Self {
        Self { what: "dashboard".to_owned(), content: String::new(), proposal: None }
    }

    /// The pull request of first contact, saying this.
    pub(super) fn onboarding(content: String) -> Self {
        Self { what: "onboarding".to_owned(), content, proposal: None }
    }

    /// The pull request that creates or destroys a cluster, saying this.
    pub(super) fn cluster(branch: &str, content: String) -> Self {
        Self { what: format!("pull request {branch}"), content, proposal: None }
    }

    /// The status of a commit of the default branch.
    pub(super) fn tree_status(commit: &str, content: &str) -> Self {
        Self { what: format!("status {commit}"), content: content.to_owned(), proposal: None }
    }

    /// What the settings ask for beside a proposal.
    pub(super) fn sidebar(proposal: &ProposalId, step: &SidebarStep) -> Self {
        // Names may be many: what tells one step from another is enough.
        let content = sha256(serde_json::to_string(step).unwrap_or_default());
        Self { what: format!("sidebar {proposal}"), content, proposal: of_cluster(proposal) }
    }

    /// A proposal that is merged at a head, or of which GitHub is asked that.
    pub(super) fn merge(proposal: &ProposalId, head: &str) -> Self {
        let (what, proposal) = (format!("merge {proposal}"), of_cluster(proposal));
        Self { what, content: head.to_owned(), proposal }
    }

    /// A proposal that says this.
    pub(super) fn proposal(proposal: &ProposalId, content: String) -> Self {
        Self { what: format!("proposal {proposal}"), content, proposal: of_cluster(proposal) }
    }
}

/// The proposal in whose history a write is told: a group has none.
fn of_cluster(proposal: &ProposalId) -> Option<ProposalId> {
    proposal.target.cluster().map(|_| proposal.clone())
}

/// The writes that were refused so far, by what they were.
pub(super) struct Refusals(BTreeMap<String, RefusedWrite>);

impl Refusals {
    pub(super) async fn load(records: &dyn Records, repository: u64) -> Result<Self, RecordsError> {
        let refused = records.refused_writes(repository).await?;
        Ok(Self(refused.into_iter().map(|write| (write.what.clone(), write)).collect()))
    }

    /// What was refused of a proposal, of what stands beside it, of its merge, of the check on a head, and of the
    /// dashboard.
    pub(super) fn of(&self, proposal: Option<&ProposalId>, head: Option<&str>) -> Vec<String> {
        let of_proposal = proposal.map(|proposal| {
            let sidebar = Write::sidebar(proposal, &SidebarStep::default());
            let merge = Write::merge(proposal, "");
            [Write::proposal(proposal, String::new()).what, sidebar.what, merge.what]
        });
        let of_head = head.map(|head| Write::check(head, "").what);
        let beside = of_head.into_iter().chain([Write::dashboard().what]);
        let all: Vec<String> = of_proposal.into_iter().flatten().chain(beside).collect();
        self.0.keys().filter(|what| all.contains(what)).cloned().collect()
    }

    /// The refusal on whose account a write is not tried now.
    pub(super) fn against(&self, write: &Write, now: Timestamp) -> Option<&RefusedWrite> {
        self.0.get(&write.what).filter(|known| known.content == write.content && now < known.not_before)
    }
}

impl Run<'_> {
    /// The refusal on whose account a write is not tried now.
    pub(super) fn refusal(&self, write: &Write) -> Option<&RefusedWrite> {
        self.facts.refusals.against(write, self.ports.clock.now())
    }

    /// Remembers that something was refused, a write by GitHub or a look by the limits of planning, and says when it is
    /// tried again.
    pub(super) async fn refused(&self, write: &Write, reason: &str) -> Result<Timestamp, SyncError> {
        let known = self.facts.refusals.0.get(&write.what).filter(|known| known.content == write.content);
        let refusals = known.map_or(0, |known| known.refusals).saturating_add(1);
        let not_before = self.ports.clock.now() + left_alone_for(refusals);
        tracing::warn!(repository = %self.repository.name, what = write.what, reason, refusals, not_before = %not_before, "refused: this is left alone until then");
        let refused = RefusedWrite {
            repository: self.repository.id,
            what: write.what.clone(),
            content: write.content.clone(),
            refusals,
            not_before,
            reason: reason.chars().take(512).collect(),
        };
        self.ports.records.save_refused_write(&refused).await?;
        let entry = AuditEntry {
            repository: self.repository.id,
            proposal: write.proposal.clone(),
            actor: "capstan".to_owned(),
            action: "write-refused",
            detail: format!("{}: {}", write.what, refused.reason),
        };
        self.ports.records.audit(&entry).await?;
        Ok(not_before)
    }

    /// Remembers that GitHub took a write.
    pub(super) async fn taken(&self, write: &Write) -> Result<(), SyncError> {
        if self.facts.refusals.0.contains_key(&write.what) {
            self.ports.records.forget_refused_write(self.repository.id, &write.what).await?;
        }
        Ok(())
    }

    /// Performs what is one write to GitHub with all that belongs to it. Where GitHub refuses it, that is remembered
    /// and is no error of the run's; says when it is tried again then.
    pub(super) async fn attempt(
        &self,
        write: &Write,
        result: Result<(), SyncError>,
    ) -> Result<Option<Timestamp>, SyncError> {
        match result {
            Ok(()) => self.taken(write).await.map(|()| None),
            Err(SyncError::Host(error)) if error.is_refusal() => {
                self.refused(write, &error.to_string()).await.map(Some)
            }
            Err(error) => Err(error),
        }
    }
}

/// What is said of a write that GitHub does not take.
pub(super) fn refused_words(reason: &str, not_before: Timestamp) -> String {
    let minute = Timestamp::from_second(not_before.as_second() / 60 * 60).unwrap_or(not_before);
    format!("GitHub does not take it: {reason}. It is tried again after {minute}.")
}
