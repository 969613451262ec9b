//! What was "written" in this process, by repository.

use std::collections::HashMap;

use capstan_model::file_change::FileChange;
use capstan_model::tree::{CommitId, TreeId};
use capstan_plan::proposal::{By, MergeView, Queue, Undo};

use capstan_ports::{
    BranchHead, CheckRun, CommitMetadata, CommitStatus, EarlierPullRequest, Issue, IssueEdit, MergeCall,
    NewCheckRun, PlacedComment, PullRequest, PullRequestEdit, PullRequestState,
};

/// Ids and numbers from here on are made up: GitHub's own are far below.
const FIRST: u64 = 1_000_000_000_000;

/// All of it.
#[derive(Default)]
pub(super) struct Overlays(HashMap<u64, Overlay>);

impl Overlays {
    pub(super) fn of(&mut self, repository: u64) -> &mut Overlay {
        self.0.entry(repository).or_default()
    }
}

/// What was written to one repository.
#[derive(Default)]
pub(super) struct Overlay {
    last_id: u64,
    /// Trees that are another one with changes.
    pub(super) trees: HashMap<TreeId, (TreeId, Vec<FileChange>)>,
    pub(super) commits: HashMap<CommitId, CommitMetadata>,
    branches: HashMap<String, MovedBranch>,
    /// Pull requests that were opened.
    opened: Vec<PullRequest>,
    /// Those of GitHub's that were edited.
    edited: HashMap<u64, EditedPull>,
    /// Issues that were opened.
    opened_issues: Vec<Issue>,
    /// Those of GitHub's that were edited.
    edited_issues: HashMap<u64, EditedIssue>,
    checks: Vec<WrittenCheck>,
    statuses: HashMap<(CommitId, String), CommitStatus>,
    /// What was asked last about merging a pull request, and of which head.
    merges: HashMap<u64, (CommitId, MergeCall)>,
    pub(super) comments: Vec<PlacedComment>,
}

/// A branch that was written.
struct MovedBranch {
    /// Its commit on GitHub; if that differs, somebody pushed, and that counts.
    from: Option<CommitId>,
    to: CommitId,
    at: jiff::Timestamp,
}

/// Whether GitHub has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnGitHub {
    Too,
    Not,
}

/// A pull request that was edited.
struct EditedPull {
    /// As GitHub shows it; once that is something else, somebody edited it, and that counts.
    seen: PullRequest,
    now: PullRequest,
}

/// An issue that was edited.
struct EditedIssue {
    /// As GitHub shows it; once that is something else, somebody edited it, and that counts.
    seen: Issue,
    now: Issue,
    at: jiff::Timestamp,
}

struct WrittenCheck {
    head: CommitId,
    run: CheckRun,
}

impl Overlay {
    /// A number that nothing has.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        FIRST + self.last_id
    }

    /// Whether a commit was not written, and Git knows nothing of it.
    pub(super) fn is_made_up(&self, commit: &CommitId) -> bool {
        self.commits.contains_key(commit)
    }

    /// Where a branch is, of which GitHub says this.
    pub(super) fn branch(&self, branch: &str, real: Option<CommitId>) -> Option<CommitId> {
        match self.branches.get(branch) {
            Some(moved) if moved.from == real => Some(moved.to.clone()),
            _ => real,
        }
    }

    /// The branches of which GitHub says these.
    pub(super) fn branches(&self, prefix: &str, real: Vec<BranchHead>) -> Vec<BranchHead> {
        let is_real = |name: &String| real.iter().any(|head| head.branch == *name);
        let made = self
            .branches
            .iter()
            .filter(|(name, moved)| moved.from.is_none() && name.starts_with(prefix) && !is_real(name));
        let made: Vec<BranchHead> =
            made.map(|(name, moved)| BranchHead { branch: name.clone(), commit: moved.to.clone() }).collect();
        let shown = real.into_iter().map(|head| {
            let commit = self.branch(&head.branch, Some(head.commit.clone())).unwrap_or(head.commit);
            BranchHead { branch: head.branch, commit }
        });
        let mut all: Vec<BranchHead> = shown.chain(made).collect();
        all.sort_by(|a, b| a.branch.cmp(&b.branch));
        all
    }

    pub(super) fn move_branch(
        &mut self,
        branch: &str,
        real: Option<CommitId>,
        to: &CommitId,
        at: jiff::Timestamp,
    ) {
        self.branches.insert(branch.to_owned(), MovedBranch { from: real, to: to.clone(), at });
    }

    /// When a branch was written, and to which commit; and whether GitHub has it too.
    pub(super) fn moved(&self, branch: &str) -> Option<(CommitId, jiff::Timestamp, OnGitHub)> {
        let moved = self.branches.get(branch)?;
        let there = if moved.from.is_some() { OnGitHub::Too } else { OnGitHub::Not };
        Some((moved.to.clone(), moved.at, there))
    }

    /// The parents of a commit that was not written.
    pub(super) fn parents(&self, commit: &CommitId) -> Option<&[CommitId]> {
        self.commits.get(commit).map(|commit| commit.parents.as_slice())
    }

    /// What GitHub would merge a head to the base's tip as: the head's changes on that tip. `None` for a head that was
    /// written.
    pub(super) fn test_merge(&self, head: &CommitId, tip: &CommitId) -> Option<CommitMetadata> {
        let commit = self.commits.get(head)?;
        let (tree, parents) = (commit.tree.clone(), vec![tip.clone(), head.clone()]);
        Some(CommitMetadata { message: "Merge".to_owned(), tree, parents })
    }

    pub(super) fn open(&mut self, pull: PullRequest) {
        self.opened.push(pull);
    }

    /// The pull requests that were opened, newest first.
    pub(super) fn opened(&self) -> impl Iterator<Item = &PullRequest> {
        self.opened.iter().rev()
    }

    /// A pull request that was opened, as it is now.
    pub(super) fn opened_as(&self, number: u64) -> Option<PullRequest> {
        self.opened.iter().find(|pull| pull.number == number).cloned()
    }

    /// One of GitHub's as it would be.
    pub(super) fn shown(&self, real: PullRequest) -> PullRequest {
        let mut shown = match self.edited.get(&real.number) {
            Some(edited) if says_the_same(&edited.seen, &real) => {
                let now = &edited.now;
                PullRequest {
                    title: now.title.clone(),
                    body: now.body.clone(),
                    state: now.state,
                    draft: now.draft,
                    closed_at: now.closed_at,
                    sidebar: now.sidebar.clone(),
                    ..real
                }
            }
            _ => real,
        };
        if shown.head_in_repository
            && let Some(head) = self.branch(&shown.head_branch, Some(shown.head.clone()))
            && head != shown.head
        {
            shown.head = head;
            // What GitHub merged was another head.
            (shown.mergeable, shown.merge_commit) = (None, None);
        }
        shown
    }

    /// The same of one that is listed shortly.
    pub(super) fn shown_earlier(&self, real: EarlierPullRequest) -> EarlierPullRequest {
        match self.edited.get(&real.number) {
            Some(edited) if edited.seen.body == real.body && edited.seen.state == real.state => {
                EarlierPullRequest { body: edited.now.body.clone(), state: edited.now.state, ..real }
            }
            _ => real,
        }
    }

    /// Edits a pull request; `real` is what GitHub shows of it, where it is there.
    pub(super) fn edit(&mut self, now: PullRequest, real: Option<PullRequest>) {
        match real {
            Some(seen) => {
                self.edited.insert(now.number, EditedPull { seen, now });
            }
            None => {
                if let Some(pull) = self.opened.iter_mut().find(|pull| pull.number == now.number) {
                    *pull = now;
                }
            }
        }
    }

    /// Remembers what was asked about merging a pull request at a head.
    pub(super) fn merge(&mut self, number: u64, head: &CommitId, call: MergeCall) {
        self.merges.insert(number, (head.clone(), call));
    }

    /// What GitHub says of merging, with what was requested. A requested merge is shown as pending: its base
    /// does not move.
    pub(super) fn merge_view(&self, number: u64, real: MergeView) -> MergeView {
        match self.merges.get(&number) {
            Some((_, MergeCall::TakeBack(Undo::AutoMerge))) if real.auto_merge == Some(By::Capstan) => {
                MergeView { auto_merge: None, ..real }
            }
            Some((_, MergeCall::TakeBack(Undo::Queue))) if real.queue == Queue::Entered(By::Capstan) => {
                MergeView { queue: Queue::Outside, ..real }
            }
            Some((head, MergeCall::Enqueue)) if *head == real.head => {
                MergeView { queue: Queue::Entered(By::Capstan), ..real }
            }
            Some((head, MergeCall::Now(_) | MergeCall::WhenReady(_))) if *head == real.head => {
                MergeView { auto_merge: Some(By::Capstan), ..real }
            }
            _ => real,
        }
    }

    pub(super) fn open_issue(&mut self, issue: Issue) {
        self.opened_issues.push(issue);
    }

    /// The issues that were opened, oldest first.
    pub(super) fn opened_issues(&self) -> impl Iterator<Item = &Issue> {
        self.opened_issues.iter()
    }

    /// An issue that was opened, as it is now.
    pub(super) fn issue_opened_as(&self, number: u64) -> Option<Issue> {
        self.opened_issues().find(|issue| issue.number == number).cloned()
    }

    /// One of GitHub's as it would be, and when it was edited, where it was.
    pub(super) fn shown_issue(&self, real: Issue) -> (Issue, Option<jiff::Timestamp>) {
        match self.edited_issues.get(&real.number) {
            Some(edited) if edited.seen == real => (edited.now.clone(), Some(edited.at)),
            _ => (real, None),
        }
    }

    /// Edits an issue; `real` is what GitHub shows of it, where it is there.
    pub(super) fn edit_issue(
        &mut self,
        number: u64,
        real: Option<Issue>,
        edit: &IssueEdit,
        at: jiff::Timestamp,
    ) {
        let change = |issue: &mut Issue| {
            issue.title = edit.title.clone().unwrap_or_else(|| issue.title.clone());
            issue.body = edit.body.clone().unwrap_or_else(|| issue.body.clone());
            issue.state = edit.state.unwrap_or(issue.state);
        };
        if let Some(seen) = real {
            let mut now = self.shown_issue(seen.clone()).0;
            change(&mut now);
            self.edited_issues.insert(number, EditedIssue { seen, now, at });
        } else if let Some(issue) = self.opened_issues.iter_mut().find(|issue| issue.number == number) {
            change(issue);
        }
    }

    /// The check runs of a commit, of which GitHub says these.
    pub(super) fn checks(&self, head: &CommitId, name: &str, mut real: Vec<CheckRun>) -> Vec<CheckRun> {
        for check in self.checks.iter().filter(|check| check.head == *head && check.run.name == name) {
            real.retain(|run| run.id != check.run.id);
            real.push(check.run.clone());
        }
        real
    }

    /// Keeps a check run as it would be.
    pub(super) fn check(&mut self, id: u64, new: &NewCheckRun) -> CheckRun {
        let run = CheckRun {
            id,
            name: new.name.clone(),
            external_id: new.external_id.clone(),
            conclusion: new.conclusion,
            annotations: new.annotations.len(),
        };
        self.checks.retain(|check| check.run.id != id);
        self.checks.push(WrittenCheck { head: new.head.clone(), run: run.clone() });
        run
    }

    pub(super) fn status(&self, commit: &CommitId, context: &str) -> Option<CommitStatus> {
        self.statuses.get(&(commit.clone(), context.to_owned())).cloned()
    }

    pub(super) fn set_status(&mut self, commit: &CommitId, status: &CommitStatus) {
        self.statuses.insert((commit.clone(), status.context.clone()), status.clone());
    }
}

fn says_the_same(one: &PullRequest, other: &PullRequest) -> bool {
    (&one.title, &one.body, one.state, one.draft, &one.sidebar)
        == (&other.title, &other.body, other.state, other.draft, &other.sidebar)
}

/// A pull request after an edit.
pub(super) fn after(pull: &PullRequest, edit: &PullRequestEdit, at: jiff::Timestamp) -> PullRequest {
    let mut pull = pull.clone();
    pull.title = edit.title.clone().unwrap_or(pull.title);
    pull.body = edit.body.clone().unwrap_or(pull.body);
    if edit.close {
        (pull.state, pull.closed_at) = (PullRequestState::Closed, Some(at));
    }
    pull
}

/// Of a pull request what is listed shortly.
pub(super) fn shortly(pull: &PullRequest) -> EarlierPullRequest {
    EarlierPullRequest {
        number: pull.number,
        state: pull.state,
        body: pull.body.clone(),
        head_branch: pull.head_branch.clone(),
        head: pull.head.clone(),
        base: pull.base.clone(),
    }
}
