//! Approvals: whose word counts for what a proposal changes, and what takes it back.
//!
//! An approval is of a *result*: what a merge of the head would change, by path and by content before and after. A
//! rebase, or a merge of the base, that leaves the result as it was takes no approval back; a byte more in any file
//! does. An approval that was taken back stays so until the person approves again.
//!
//! A review on GitHub counts too. An approving review of the head that Capstan sees is noted with what that head
//! changed. From then on it is an approval like any other, for as long as the reviewer's approval remains on GitHub.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::digest::hex;
use capstan_model::tree::{CommitId, EntryKind, Tree, differences};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// So many approvals are remembered: those that were taken back go first, the oldest of them before.
const MOST: usize = 40;

/// What a proposal changes, in a few letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultDigest(String);

impl ResultDigest {
    /// The digest of what differs between two snapshots: every path with its content before and after. Commits, their
    /// authors and messages count for nothing.
    pub fn of(before: &dyn Tree, after: &dyn Tree) -> Self {
        let mut hash = Sha256::new();
        // Lengths before texts: no two different lists give the same bytes.
        let mut tell = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        for difference in differences(before, after) {
            tell(difference.path.as_str());
            for entry in [before.entry(difference.path), difference.after] {
                tell(entry.map_or("", |entry| kind(entry.kind)));
                tell(entry.map_or("", |entry| entry.blob.as_str()));
            }
        }
        Self(hex(&hash.finalize()))
    }
}

const fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "file",
        EntryKind::Executable => "executable",
        EntryKind::Symlink => "symlink",
        EntryKind::Submodule => "submodule",
        EntryKind::Unnamed => "unnamed",
    }
}

/// How somebody approved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Means {
    #[default]
    Command,
    /// By a review on GitHub.
    Review,
}

impl Means {
    fn is_command(&self) -> bool {
        *self == Self::Command
    }
}

/// Somebody's approval, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Who: a login.
    pub by: String,
    /// When, in UTC.
    pub at: Timestamp,
    /// The head that they had before their eyes.
    pub head: CommitId,
    /// What it changed.
    pub result: ResultDigest,
    /// How.
    #[serde(skip_serializing_if = "Means::is_command", default)]
    pub means: Means,
    /// The head with which something else was changed: it counts no more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dismissed: Option<CommitId>,
}

/// What a reviewer last said on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Who: a login.
    pub by: String,
    /// When, in UTC.
    pub at: Timestamp,
    /// What.
    pub opinion: Opinion,
    /// The head that it was said of.
    pub commit: CommitId,
}

/// A reviewer's current verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opinion {
    /// They approve.
    Approved,
    /// They want something else.
    ChangesRequested,
}

/// Whether somebody's approval of a proposal counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Voice {
    /// It does.
    Counts,
    /// They may not `approve` there (any more).
    MayNot,
    /// They opened it, or pushed to its branch.
    OwnWork,
    /// People's commits stand on the branch, and GitHub does not tell whose.
    Untold,
}

/// What decides whether a proposal is approved.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalFacts<'a> {
    /// So many approvals are needed.
    pub needed: u32,
    pub head: &'a CommitId,
    /// What it changes; `None` where that is unknown: it conflicts with its base, say.
    pub result: Option<&'a ResultDigest>,
    /// What was noted so far.
    pub noted: &'a [Approval],
    /// The reviews on GitHub, one of each reviewer; `None` where GitHub was not asked: then the noted ones remain.
    pub reviews: Option<&'a [Review]>,
    /// Whose word counts, by login in small letters; who is not there may not.
    pub voices: &'a BTreeMap<String, Voice>,
}

/// Why an approval does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassedOver {
    /// The result changed with that head.
    Dismissed(CommitId),
    /// Of who gave it.
    Voice(Voice),
}

/// Whether a proposal is approved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approved {
    /// What is noted from now on.
    pub noted: Vec<Approval>,
    /// Those that count, one of each person, by time.
    pub counted: Vec<Approval>,
    /// Those that do not, and why.
    pub passed_over: Vec<(Approval, PassedOver)>,
    /// Who may `approve` and asks for changes on GitHub: logins.
    pub objections: Vec<String>,
    /// How many were needed.
    pub needed: u32,
    /// How many are missing.
    pub missing: u32,
}

impl Approved {
    /// Whether nothing is missing and nobody objects.
    pub fn is_settled(&self) -> bool {
        self.missing == 0 && self.objections.is_empty()
    }
}

/// Everybody whose voice has to be known, in small letters.
pub fn logins(noted: &[Approval], reviews: &[Review]) -> BTreeSet<String> {
    let noted = noted.iter().map(|approval| approval.by.to_ascii_lowercase());
    noted.chain(reviews.iter().map(|review| review.by.to_ascii_lowercase())).collect()
}

/// The first letters of a commit's id, as GitHub shows them.
pub fn short(commit: &CommitId) -> &str {
    commit.as_str().get(..7).unwrap_or(commit.as_str())
}

/// Decides whether a proposal is approved, and what is noted of it.
pub fn judge_approvals(facts: &ApprovalFacts<'_>) -> Approved {
    let mut noted = with_reviews(facts);
    for approval in &mut noted {
        if approval.dismissed.is_none() && facts.result.is_some_and(|result| *result != approval.result) {
            approval.dismissed = Some(facts.head.clone());
        }
    }
    while noted.len() > MOST {
        let oldest = noted.iter().position(|approval| approval.dismissed.is_some()).unwrap_or(0);
        noted.remove(oldest);
    }
    let mut judged = Approved { needed: facts.needed, ..Approved::default() };
    for approval in &noted {
        let voice = voice_of(facts, &approval.by);
        let known = |counted: &Approval| is_same(&counted.by, &approval.by);
        if let Some(head) = &approval.dismissed {
            judged.passed_over.push((approval.clone(), PassedOver::Dismissed(head.clone())));
        } else if voice != Voice::Counts {
            judged.passed_over.push((approval.clone(), PassedOver::Voice(voice)));
        } else if !judged.counted.iter().any(known) {
            judged.counted.push(approval.clone());
        }
    }
    // Of who approved again nobody needs to know what was taken back.
    let counted = &judged.counted;
    judged.passed_over.retain(|(old, _)| !counted.iter().any(|one| is_same(&one.by, &old.by)));
    noted.retain(|old| old.dismissed.is_none() || !counted.iter().any(|one| is_same(&one.by, &old.by)));
    let objects = |review: &&Review| {
        review.opinion == Opinion::ChangesRequested && voice_of(facts, &review.by) != Voice::MayNot
    };
    judged.objections =
        facts.reviews.iter().copied().flatten().filter(objects).map(|review| review.by.clone()).collect();
    // Nobody approved a result that is unknown.
    let counted = facts.result.map_or(0, |_| u32::try_from(judged.counted.len()).unwrap_or(u32::MAX));
    judged.missing = facts.needed.saturating_sub(counted);
    judged.noted = noted;
    judged
}

/// What is noted, brought up to date with the reviews on GitHub.
fn with_reviews(facts: &ApprovalFacts<'_>) -> Vec<Approval> {
    let Some(reviews) = facts.reviews else { return facts.noted.to_vec() };
    let approves = |review: &&Review| review.opinion == Opinion::Approved;
    let still = |noted: &&Approval| {
        noted.means == Means::Command
            || reviews.iter().filter(approves).any(|review| is_same(&review.by, &noted.by))
    };
    let mut noted: Vec<Approval> = facts.noted.iter().filter(still).cloned().collect();
    // One of another commit than the head was never seen with what that commit changed.
    let Some(result) = facts.result else { return noted };
    for review in reviews.iter().filter(approves).filter(|review| review.commit == *facts.head) {
        let is_it = |noted: &Approval| noted.means == Means::Review && is_same(&noted.by, &review.by);
        if noted.iter().any(|noted| is_it(noted) && noted.at == review.at) {
            continue;
        }
        noted.retain(|noted| !is_it(noted));
        noted.push(Approval {
            by: review.by.clone(),
            at: review.at,
            head: review.commit.clone(),
            result: result.clone(),
            means: Means::Review,
            dismissed: None,
        });
    }
    noted
}

fn voice_of(facts: &ApprovalFacts<'_>, login: &str) -> Voice {
    facts.voices.get(&login.to_ascii_lowercase()).copied().unwrap_or(Voice::MayNot)
}

fn is_same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
