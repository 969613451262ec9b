//! Whether a proposal is merged, how, and what prevents it.
//!
//! *Guarantee.* Nothing here goes round what the branch wants: where GitHub has to wait for others, it is asked to merge
//! by its own auto-merge or merge queue; where its rules say no, that is the answer. And nothing is merged that was not
//! judged: the head that decides here is the one that is named to GitHub.

use capstan_model::tree::CommitId;

use super::{Approved, Draft, OnHold, Paused, Way};
use crate::settings::MergeMethod;

/// What GitHub says of merging a pull request, read at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeView {
    pub head: CommitId,
    pub draft: Draft,
    /// Whether it can be merged, in GitHub's word.
    pub status: MergeStatus,
    /// Whether reviews are missing that the branch's rules want.
    pub reviews_missing: bool,
    /// Its place in the branch's merge queue.
    pub queue: Queue,
    /// Who set it to merge by itself.
    pub auto_merge: Option<By>,
    /// Whether the repository has auto-merge.
    pub auto_merge_allowed: bool,
    /// The ways of merging that the repository allows.
    pub methods: Vec<MergeMethod>,
    /// The checks that the branch's rules want, of those that were reported on the head.
    pub required: Vec<Required>,
}

/// GitHub's word for whether a pull request can be merged now
/// (<https://docs.github.com/en/graphql/reference/enums#mergestatestatus>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeStatus {
    /// It can; checks that nobody requires may fail or run.
    Ready,
    /// The branch's rules do not allow it yet.
    Blocked,
    /// The branch wants it up to date with its base first.
    Behind,
    /// It conflicts with its base.
    Conflicts,
    /// It is being computed.
    Unknown,
}

/// A pull request's place in a merge queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queue {
    /// The branch has none.
    None,
    /// The branch has one, and it is not in it.
    Outside,
    /// It is in it, put there by this one.
    Entered(By),
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    Capstan,
    /// Another account, by login.
    Other(String),
}

/// A check that the branch's rules want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Required {
    pub name: String,
    pub state: RequiredState,
}

/// The state of a required check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequiredState {
    /// It lets it pass.
    Passed,
    /// It is not done.
    Pending,
    /// It does not.
    Failed,
}

/// What Capstan's own check says of the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckVerdict {
    /// It lets it pass.
    Passes,
    /// It has no conclusion yet, or none of this head.
    Pending,
    /// It does not: its title.
    Against(String),
}

/// What decides a merge.
#[derive(Debug, Clone, Copy)]
pub struct MergeFacts<'a> {
    /// The head that the request is about: the one that the person who asked saw.
    pub meant: &'a CommitId,
    /// Capstan's check of it.
    pub check: &'a CheckVerdict,
    /// Capstan's name for that check on GitHub.
    pub check_name: &'a str,
    /// Who approved.
    pub approved: &'a Approved,
    /// Somebody holds it.
    pub hold: Option<&'a OnHold>,
    /// Somebody paused Capstan in the repository.
    pub pause: Option<&'a Paused>,
    /// How the settings want it merged.
    pub method: Option<MergeMethod>,
    /// By which way it comes onto the default branch.
    pub way: &'a Way,
    /// What GitHub says.
    pub view: &'a MergeView,
}

/// What prevents a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The head is another one now.
    HeadMoved(CommitId),
    /// Somebody paused Capstan in the repository.
    Paused(Paused),
    /// Somebody holds it.
    Held(OnHold),
    /// A merge would merge these as well, which are below it in a stack.
    Below(Vec<u64>),
    /// It is unknown what a merge would merge as well, or it would not come onto the default branch.
    WayUnknown,
    Draft,
    /// Capstan's check does not let it pass: its title.
    Check(String),
    /// Capstan's check is not done.
    CheckPending,
    /// So many approvals are missing of so many.
    Approvals {
        missing: u32,
        needed: u32,
    },
    /// These people ask for changes on GitHub.
    ChangesRequested(Vec<String>),
    /// It conflicts with its base.
    Conflicts,
    /// The branch wants it up to date with its base first.
    Behind,
    /// The branch's rules want reviews that are missing.
    Reviews,
    /// Required checks fail: their names.
    RequiredFailed(Vec<String>),
    /// The branch's rules do not allow it, and GitHub does not say more.
    Rules,
    /// The repository does not allow that method, but these.
    Method(MergeMethod, Vec<MergeMethod>),
    /// Required checks of others are not done, and the repository has no auto-merge.
    NoAutoMerge(Vec<String>),
    /// Required checks of others are not done, and Capstan's is not required: GitHub would merge a later push that
    /// nobody judged.
    NotRequired(Vec<String>),
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeStep {
    /// Nothing: these stand against it.
    Refuse(Vec<Obstacle>),
    /// Nothing: GitHub will merge it without that.
    WaitsForGitHub(Standstill),
    /// Merge it.
    Now(MergeMethod),
    /// Put it into the merge queue.
    Enqueue,
    /// Have GitHub merge it once these required checks are done.
    WhenReady {
        /// How; the queue has a way of its own.
        method: Option<MergeMethod>,
        /// What is waited for.
        pending: Vec<String>,
    },
    /// GitHub has not computed it yet: look again.
    LookAgain,
}

/// Why GitHub will merge it anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standstill {
    /// It is in the queue.
    Queued(By),
    /// It is set to auto-merge.
    AutoMerge(By),
}

/// What Capstan takes back that it asked of GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Undo {
    /// That it merges by itself.
    AutoMerge,
    /// Its place in the queue.
    Queue,
}

/// What prevents it on Capstan's side.
fn own_obstacles(facts: &MergeFacts<'_>) -> Vec<Obstacle> {
    let mut found = Vec::new();
    found.extend(facts.pause.cloned().map(Obstacle::Paused));
    found.extend(facts.hold.cloned().map(Obstacle::Held));
    match facts.way {
        Way::Straight => {}
        Way::Above(below) => found.push(Obstacle::Below(below.clone())),
        Way::Aside(_) | Way::Unknown(_) => found.push(Obstacle::WayUnknown),
    }
    if facts.view.draft == Draft::Draft {
        found.push(Obstacle::Draft);
    }
    let approved = facts.approved;
    let approvals = Obstacle::Approvals { missing: approved.missing, needed: approved.needed };
    match facts.check {
        CheckVerdict::Passes => {}
        CheckVerdict::Pending => found.push(Obstacle::CheckPending),
        // The check says the same of approvals, and in fewer words.
        CheckVerdict::Against(_) if approved.missing > 0 => {}
        CheckVerdict::Against(title) => found.push(Obstacle::Check(title.clone())),
    }
    if approved.missing > 0 {
        found.push(approvals);
    }
    if !approved.objections.is_empty() {
        found.push(Obstacle::ChangesRequested(approved.objections.clone()));
    }
    found
}

/// Decides what to do with a proposal that is to be merged.
pub fn decide_merge(facts: &MergeFacts<'_>) -> MergeStep {
    let view = facts.view;
    if view.head != *facts.meant {
        return MergeStep::Refuse(vec![Obstacle::HeadMoved(view.head.clone())]);
    }
    let mut obstacles = own_obstacles(facts);
    match view.status {
        MergeStatus::Conflicts => obstacles.push(Obstacle::Conflicts),
        MergeStatus::Behind => obstacles.push(Obstacle::Behind),
        MergeStatus::Ready | MergeStatus::Blocked | MergeStatus::Unknown => {}
    }
    if view.reviews_missing && view.status != MergeStatus::Ready {
        obstacles.push(Obstacle::Reviews);
    }
    let named = |state| {
        let found = view.required.iter().filter(move |check| check.state == state);
        found.map(|check| check.name.clone()).collect::<Vec<_>>()
    };
    // What Capstan's own check says was said above.
    let mut failed = named(RequiredState::Failed);
    failed.retain(|name| name != facts.check_name);
    if !failed.is_empty() {
        obstacles.push(Obstacle::RequiredFailed(failed));
    }
    if !obstacles.is_empty() {
        return MergeStep::Refuse(obstacles);
    }
    match (&view.queue, &view.auto_merge) {
        (Queue::Entered(by), _) => return MergeStep::WaitsForGitHub(Standstill::Queued(by.clone())),
        (_, Some(by)) => return MergeStep::WaitsForGitHub(Standstill::AutoMerge(by.clone())),
        _ => {}
    }
    let method = match (facts.method, &view.queue) {
        // The queue merges as its own settings say.
        (_, Queue::Outside | Queue::Entered(_)) => None,
        (Some(wanted), Queue::None) if !view.methods.contains(&wanted) => {
            return MergeStep::Refuse(vec![Obstacle::Method(wanted, view.methods.clone())]);
        }
        (Some(wanted), Queue::None) => Some(wanted),
        (None, Queue::None) => {
            let first = MergeMethod::ALL.into_iter().find(|method| view.methods.contains(method));
            Some(first.unwrap_or(MergeMethod::Merge))
        }
    };
    match (view.status, method) {
        (MergeStatus::Unknown, _) => MergeStep::LookAgain,
        (MergeStatus::Ready, Some(method)) => MergeStep::Now(method),
        (MergeStatus::Ready, None) => MergeStep::Enqueue,
        (_, method) => when_ready(facts, method, named(RequiredState::Pending)),
    }
}

/// What to do with one that the branch's rules do not allow yet.
fn when_ready(facts: &MergeFacts<'_>, method: Option<MergeMethod>, pending: Vec<String>) -> MergeStep {
    let own = facts.view.required.iter().find(|check| check.name == facts.check_name);
    // It was reported just now: GitHub has not taken it in yet.
    if own.is_some_and(|own| own.state != RequiredState::Passed) {
        return MergeStep::LookAgain;
    }
    let obstacle = if pending.is_empty() {
        Obstacle::Rules
    } else if !facts.view.auto_merge_allowed {
        Obstacle::NoAutoMerge(pending)
    } else if own.is_none() {
        Obstacle::NotRequired(pending)
    } else {
        return MergeStep::WhenReady { method, pending };
    };
    MergeStep::Refuse(vec![obstacle])
}

/// What Capstan takes back of its own requests to GitHub, with what prevents the merge now. A person's request stays.
pub fn decide_undo(facts: &MergeFacts<'_>) -> Option<(Undo, Vec<Obstacle>)> {
    let undo = match (&facts.view.queue, &facts.view.auto_merge) {
        (Queue::Entered(By::Capstan), _) => Undo::Queue,
        (_, Some(By::Capstan)) => Undo::AutoMerge,
        _ => return None,
    };
    let mut obstacles = own_obstacles(facts);
    // For a check that is not done GitHub waits by itself.
    obstacles.retain(|obstacle| *obstacle != Obstacle::CheckPending);
    (!obstacles.is_empty()).then_some((undo, obstacles))
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
