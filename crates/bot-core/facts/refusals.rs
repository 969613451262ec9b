//! A write that GitHub refuses (a locked conversation, a head that is gone, a missing permission) fails alone
//! and is not repeated at once. It is tried again after a while, longer each time, or when its content
//! changes.

use std::collections::BTreeMap;

use capstan_campaign::wording::minute;
use capstan_facts::{AuditEntry, RefusedWrite};
use capstan_model::digest::sha256;
use capstan_plan::command::CommentId;
use capstan_plan::proposal::{Decisions, ProposalId, SidebarStep, left_alone_for};
use capstan_report::decisions_fingerprint;
use jiff::Timestamp;

/// A write to GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Identifies it in the records.
    what: String,
    /// Fingerprint of its content.
    content: String,
    proposal: Option<ProposalId>,
}

impl Write {
    /// Identifies it in the records.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The line of the audit trail about its refusal.
    pub fn refusal_audited(&self, refused: &RefusedWrite) -> AuditEntry {
        let detail = format!("{}: {}", self.what, refused.reason);
        AuditEntry::own(refused.repository, self.proposal.as_ref(), "write-refused", detail)
    }

    /// The answer to a comment.
    pub fn answer(comment: CommentId) -> Self {
        let of = match comment {
            CommentId::Comment(id) => id.to_string(),
            CommentId::Issue(_) => comment.to_string(),
        };
        Self { what: format!("answer {of}"), content: String::new(), proposal: None }
    }

    /// The check on a commit, made from these inputs.
    pub fn check(head: &str, inputs: &str) -> Self {
        Self { what: format!("check {head}"), content: inputs.to_owned(), proposal: None }
    }

    /// The dashboard issue, with any content.
    pub fn dashboard() -> Self {
        Self { what: "dashboard".to_owned(), content: String::new(), proposal: None }
    }

    /// The onboarding pull request, with this content.
    pub fn onboarding(content: String) -> Self {
        Self { what: "onboarding".to_owned(), content, proposal: None }
    }

    /// The pull request that creates or destroys a cluster, with this content.
    pub fn cluster(branch: &str, content: String) -> Self {
        Self { what: format!("pull request {branch}"), content, proposal: None }
    }

    /// The status of a commit of the default branch.
    pub fn tree_status(commit: &str, content: &str) -> Self {
        Self { what: format!("status {commit}"), content: content.to_owned(), proposal: None }
    }

    /// The sidebar that the settings ask for.
    pub fn sidebar(proposal: &ProposalId, step: &SidebarStep) -> Self {
        // There may be many names: a digest is enough to compare steps.
        let content = sha256(serde_json::to_string(step).unwrap_or_default());
        Self { what: format!("sidebar {proposal}"), content, proposal: of_cluster(proposal) }
    }

    /// The merge of a proposal at a head, or the request to GitHub to merge it.
    pub fn merge(proposal: &ProposalId, head: &str) -> Self {
        let (what, proposal) = (format!("merge {proposal}"), of_cluster(proposal));
        Self { what, content: head.to_owned(), proposal }
    }

    /// The decisions about a proposal, where these alone are written.
    pub fn decisions(proposal: &ProposalId, decisions: &Decisions) -> Self {
        Self::proposal(proposal, format!("decided: {}", decisions_fingerprint(decisions)))
    }

    /// A proposal with this content.
    pub fn proposal(proposal: &ProposalId, content: String) -> Self {
        Self { what: format!("proposal {proposal}"), content, proposal: of_cluster(proposal) }
    }
}

/// The proposal whose history contains a write: a group has none.
fn of_cluster(proposal: &ProposalId) -> Option<ProposalId> {
    proposal.target.cluster().map(|_| proposal.clone())
}

/// The writes that were refused so far.
#[derive(Debug, Clone, Default)]
pub struct Refusals(BTreeMap<String, RefusedWrite>);

impl FromIterator<RefusedWrite> for Refusals {
    fn from_iter<T: IntoIterator<Item = RefusedWrite>>(refused: T) -> Self {
        Self(refused.into_iter().map(|write| (write.what.clone(), write)).collect())
    }
}

impl Refusals {
    pub const NONE: Self = Self(BTreeMap::new());

    /// Refusals that concern a proposal, its sidebar, its merge, the check on a head, or the dashboard.
    pub fn of(&self, proposal: Option<&ProposalId>, head: Option<&str>) -> Vec<String> {
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

    /// The refusal that prevents a write now.
    pub fn against(&self, write: &Write, now: Timestamp) -> Option<&RefusedWrite> {
        self.0.get(&write.what).filter(|known| known.content == write.content && now < known.not_before)
    }

    /// Whether a write has a recorded refusal, with any content.
    pub fn knows(&self, write: &Write) -> bool {
        self.0.contains_key(&write.what)
    }

    /// The record of a refusal: of a write by GitHub, or of a look by the limits of planning. Each further
    /// refusal of the same content prolongs the pause.
    pub fn refused(&self, write: &Write, repository: u64, reason: &str, now: Timestamp) -> RefusedWrite {
        let known = self.0.get(&write.what).filter(|known| known.content == write.content);
        let refusals = known.map_or(0, |known| known.refusals).saturating_add(1);
        RefusedWrite {
            repository,
            what: write.what.clone(),
            content: write.content.clone(),
            refusals,
            not_before: now + left_alone_for(refusals),
            reason: reason.chars().take(512).collect(),
        }
    }
}

/// The sentence about a write that GitHub refuses.
pub fn refused_words(reason: &str, not_before: Timestamp) -> String {
    format!("GitHub refuses it: {reason}. Capstan retries after {}.", minute(not_before))
}
