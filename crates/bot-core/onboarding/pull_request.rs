//! The pull request that adds settings: whether people are asked by it, its content, and its end.

use capstan_facts::{EarlierPullRequest, PullRequest, PullRequestState};
use capstan_model::file_change::FileChange;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::onboarding::Onboarding;
use capstan_plan::proposal::{PlanDigest, SourceState, TRAILER_PLAN, TRAILER_SOURCE};
use capstan_plan::settings::REPOSITORY_FILE;
use capstan_report::{ONBOARDING_TITLE, closed_body, says_onboarding, text_digest};

use crate::effects::{
    Audited, BranchThere, Closing, CommitFiles, Desired, DesiredBranch, DesiredPull, TextStep, audits,
    branch_step,
};
use crate::facts::{Facts, ONBOARDING_BRANCH, Write};

/// The source of the change, and the name of the record that a commit was examined.
pub const KIND: &str = "onboarding";

/// Whether people can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// They are not: it is a fork, whose upstream is asked, or it cannot be read.
    Never,
    /// The pull request is open.
    Open,
    /// One for another branch is open, which counts as an answer.
    Answered,
    /// First find out what happened to earlier ones.
    AskEarlier,
}

/// Says whether people are asked.
pub(super) fn asking(facts: &Facts) -> Asking {
    if facts.repository.fork || facts.beyond_limits.is_some() {
        return Asking::Never;
    }
    if open_pull(facts).is_some() {
        return Asking::Open;
    }
    let is_elsewhere = |pull: &PullRequest| pull.head_branch == ONBOARDING_BRANCH && pull.head_in_repository;
    if facts.open.iter().any(is_elsewhere) { Asking::Answered } else { Asking::AskEarlier }
}

/// Whether a person closed or merged one of these.
pub(super) fn was_answered(newest: &[EarlierPullRequest]) -> bool {
    newest.iter().any(|pull| pull.head_branch == ONBOARDING_BRANCH && pull.state != PullRequestState::Open)
}

/// The open pull request that adds settings.
pub fn open_pull(facts: &Facts) -> Option<&PullRequest> {
    let default = &facts.repository.default_branch;
    let is_it = |pull: &&PullRequest| {
        pull.head_branch == ONBOARDING_BRANCH && pull.head_in_repository && pull.base_branch == *default
    };
    facts.open.iter().rev().find(is_it)
}

/// The look at the repository, recorded when it exceeds the limits.
pub(super) fn limits_write() -> Write {
    Write::onboarding("beyond the limits".to_owned())
}

/// The pull request with this proposal.
pub(super) fn proposal_write(onboarding: &Onboarding, body: &str) -> Write {
    Write::onboarding(text_digest(&format!("{}\0{body}", onboarding.settings)))
}

/// Its end once there are settings.
pub fn closed_write() -> Write {
    Write::onboarding("closed".to_owned())
}

/// Where the settings are.
pub(super) fn settings_path() -> RepoPath {
    RepoPath::parse(REPOSITORY_FILE).unwrap_or_default()
}

/// Whether a tree contains exactly these settings.
pub(super) fn holds_settings(tree: &dyn Tree, text: &str) -> bool {
    let content = tree.entry(&settings_path()).and_then(|entry| tree.read(entry).ok());
    content.is_some_and(|content| *content == *text.as_bytes())
}

/// The desired pull request; `None` where a person works on its branch.
pub(super) fn desired<'a>(
    facts: &'a Facts,
    onboarding: &'a Onboarding,
    (there, open): (Option<&BranchThere>, Option<&'a PullRequest>),
    body: String,
) -> Option<Desired<'a>> {
    let step = |pull: &PullRequest| match says_onboarding(&pull.body, onboarding) {
        true => TextStep::Keep,
        false => TextStep::Write,
    };
    let branch = DesiredBranch {
        name: ONBOARDING_BRANCH.to_owned(),
        step: branch_step(there)?,
        parent: &facts.base,
        key: &facts.key,
        files: CommitFiles::One(settings_path(), &onboarding.settings),
        message: commit_message(onboarding, &facts.base.root),
    };
    let audited = Audited {
        of: None,
        opened: "onboarding-opened",
        updated: "onboarding-updated",
        around: (String::new(), String::new()),
    };
    let text = (ONBOARDING_TITLE.to_owned(), body);
    let pull = DesiredPull::plain(branch.name.clone(), text, open.map(|pull| (pull, step(pull))), audited);
    Some(Desired { branch, pull })
}

/// The end of the pull request once there are settings; `now` is it as it is now.
pub fn closing(facts: &Facts, now: &PullRequest) -> Closing {
    let why = format!("`{REPOSITORY_FILE}` is on the default branch now, and applies.");
    let detail = format!("#{}: there are settings", now.number);
    Closing {
        body: closed_body(&now.body, &why, None),
        then: audits(facts.repository.id, None, "onboarding-closed", &detail),
    }
}

/// The message of the commit that adds them, on a tree.
fn commit_message(onboarding: &Onboarding, root: &TreeId) -> String {
    let change = FileChange { path: settings_path(), before: None, after: Some(onboarding.settings.clone()) };
    let plan = PlanDigest::of(&[change]);
    let kind = SourceKind::parse(KIND).unwrap_or(SourceKind::RELEASE);
    let source = SourceState::new(SourceId::new(kind, REPOSITORY_FILE), SourceContent::parse(root.as_str()));
    format!(
        "Add {REPOSITORY_FILE}: Capstan observes this repository\n\nThe settings fit the repository; the pull request says what was found.\n\n{TRAILER_SOURCE}: {source}\n{TRAILER_PLAN}: {plan}\n"
    )
}
