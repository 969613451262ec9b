//! Approvals and merges in words: who approved what, what is missing, what prevents a merge.

use super::check::Gate;
use super::comment::Answer;
use super::markdown::{code, prose};
use super::pages::Refusal;
use super::standing::{hold_in_words, pause_in_words};
use capstan_model::tree::CommitId;
use capstan_model::wording::count;
use capstan_plan::command::Push;
use capstan_plan::proposal::{
    Approval, Approved, By, Decisions, Means, MergeStep, Obstacle, PassedOver, Standstill, Undo, Voice, short,
};

/// The beginning of the lines about approvals above a body.
pub(super) const APPROVED_BY: &str = "> Approved by ";
pub(super) const APPROVAL_BY: &str = "> The approval by ";

/// An approval that counts: a sentence.
fn approval_in_words(approval: &Approval) -> String {
    let how = match approval.means {
        Means::Command => "",
        Means::Review => ", in a review",
    };
    format!("Approved by `{}` for `{}`{how}.", approval.by, short(&approval.head))
}

/// Why somebody's approval does not count: a sentence.
fn passed_over_in_words(approval: &Approval, why: &PassedOver) -> String {
    let given = format!("The approval by `{}` for `{}`", approval.by, short(&approval.head));
    match why {
        PassedOver::Dismissed(head) => {
            format!("{given} is dismissed: the result changed with `{}`.", short(head))
        }
        PassedOver::Voice(Voice::MayNot | Voice::Counts) => {
            format!("{given} does not count: they may not `approve` here.")
        }
        PassedOver::Voice(Voice::OwnWork) => {
            format!("{given} does not count: they opened it, or pushed to its branch.")
        }
        PassedOver::Voice(Voice::Untold) => {
            format!("{given} does not count: people pushed to this branch, and GitHub does not say who.")
        }
    }
}

/// Who approved, and which approvals do not count: a sentence each.
pub fn approvals_in_words(approved: &Approved) -> Vec<String> {
    let counted = approved.counted.iter().map(approval_in_words);
    counted.chain(approved.passed_over.iter().map(|(one, why)| passed_over_in_words(one, why))).collect()
}

/// The same as far as it is recorded, for the top of a body.
pub(super) fn approvals_above(decisions: &Decisions) -> String {
    let line = |approval: &Approval| {
        let words = match &approval.dismissed {
            Some(head) => passed_over_in_words(approval, &PassedOver::Dismissed(head.clone())),
            None => approval_in_words(approval),
        };
        format!("> {}\n\n", prose(&words, 900))
    };
    decisions.approvals.iter().map(line).collect()
}

/// What a proposal's check says where approvals are missing, or somebody objects; `None` where none is
/// needed, or all are given.
pub fn approvals_gate(approved: &Approved, prefix: &str) -> Option<Gate> {
    if approved.needed == 0 || approved.is_settled() {
        return None;
    }
    let mut why = Vec::new();
    let title = if approved.missing > 0 {
        let needed = count(approved.needed as usize, "approval", "approvals");
        why.push(format!(
            "It needs {needed} by people who may `approve` here, and {} missing: comment `{prefix} approve`, or approve the head in a review. Approvals by people who pushed to its branch do not count.",
            if approved.missing == 1 { "1 is".to_owned() } else { format!("{} are", approved.missing) }
        ));
        format!("{} of {needed} missing", approved.missing)
    } else {
        "changes are requested".to_owned()
    };
    why.extend((!approved.objections.is_empty()).then(|| objections(&approved.objections)));
    why.push(Refusal::NotApproved.sentence());
    Some(Gate { title, why: why.join(" ") })
}

fn objections(logins: &[String]) -> String {
    format!("Changes are requested on GitHub by {}.", listed(logins))
}

fn listed(names: &[String]) -> String {
    const NAMED: usize = 10;
    let mut named: Vec<String> = names.iter().take(NAMED).map(|name| code(name, 100)).collect();
    if names.len() > NAMED {
        named.push(format!("{} more", names.len() - NAMED));
    }
    named.join(", ")
}

/// What prevents a merge: a sentence. `base` is the branch.
pub fn obstacle_in_words(obstacle: &Obstacle, base: &str, prefix: &str) -> String {
    let base = code(base, 100);
    match obstacle {
        Obstacle::HeadMoved(head) => format!(
            "Its head is now {}, which is not the commit that the command named. Look at it, and repeat the command.",
            code(short(head), 20)
        ),
        Obstacle::Paused(pause) => format!("{} `{prefix} resume` undoes it.", pause_in_words(pause)),
        Obstacle::Held(hold) => format!("{} `{prefix} unhold` undoes it.", hold_in_words(hold)),
        Obstacle::Below(below) => {
            let below: Vec<String> = below.iter().take(10).map(|number| format!("#{number}")).collect();
            format!(
                "It is part of a stack, and a merge would also merge the pull requests below it: {}. Merge these first.",
                below.join(", ")
            )
        }
        Obstacle::WayUnknown => "It is unknown what else a merge would merge. The check says why.".to_owned(),
        Obstacle::Draft => "It is a draft.".to_owned(),
        Obstacle::Check(title) => {
            format!("The check `capstan` does not let it pass: {}.", title.trim_end_matches('.'))
        }
        Obstacle::CheckPending => "The check `capstan` is not done.".to_owned(),
        Obstacle::Approvals { missing, needed } => {
            format!("{missing} of {} missing.", count(*needed as usize, "approval", "approvals"))
        }
        Obstacle::ChangesRequested(logins) => objections(logins),
        Obstacle::Conflicts => format!("It conflicts with {base}."),
        Obstacle::Behind => {
            format!(
                "The rules of {base} require it to be up to date: press `Update branch`. Approvals stay valid."
            )
        }
        Obstacle::Reviews => format!("The rules of {base} require reviews on GitHub that are missing."),
        Obstacle::RequiredFailed(names) => format!("Required checks fail: {}.", listed(names)),
        Obstacle::Rules => {
            format!("The rules of {base} do not allow it yet, and GitHub does not say which.")
        }
        Obstacle::Method(method, allowed) => {
            let allowed: Vec<String> = allowed.iter().map(|method| method.as_str().to_owned()).collect();
            format!(
                "`upgrade.merge.method` says {}, which the repository does not allow; it allows {}.",
                code(method.as_str(), 20),
                if allowed.is_empty() { "none".to_owned() } else { listed(&allowed) }
            )
        }
        Obstacle::NoAutoMerge(pending) => format!(
            "These required checks are not done: {}. The repository does not allow auto-merge, so repeat the command when they are done.",
            listed(pending)
        ),
        Obstacle::NotRequired(pending) => format!(
            "These required checks are not done: {}. Capstan does not enable auto-merge, because the rules of {base} do not require the check `capstan`. GitHub would merge later pushes that Capstan has not judged. Repeat the command when the checks are done.",
            listed(pending)
        ),
    }
}

/// What was done with a proposal that somebody asked to merge, in sentences; `head` is the merged commit.
pub fn merge_in_words(step: &MergeStep, head: &CommitId, base: &str, prefix: &str) -> String {
    let head = code(short(head), 20);
    match step {
        MergeStep::Refuse(obstacles) => {
            let words: Vec<String> =
                obstacles.iter().map(|obstacle| obstacle_in_words(obstacle, base, prefix)).collect();
            format!("It is not merged. {}", words.join(" "))
        }
        MergeStep::WaitsForGitHub(Standstill::Queued(by)) => {
            format!("It is in the merge queue{}.", requester(by))
        }
        MergeStep::WaitsForGitHub(Standstill::AutoMerge(by)) => {
            format!(
                "Auto-merge is enabled{}: GitHub merges it when the rules of {} allow it.",
                requester(by),
                code(base, 100)
            )
        }
        MergeStep::Now(method) => format!("Merged at {head} ({}).", method.as_str()),
        MergeStep::Enqueue => format!("It is in the merge queue at {head}."),
        MergeStep::WhenReady { pending, .. } => format!(
            "These required checks are not done: {}. Auto-merge is enabled at {head}: GitHub merges it when they are done.",
            listed(pending)
        ),
        MergeStep::LookAgain => {
            "GitHub is still computing whether it can be merged. Capstan looks again.".to_owned()
        }
    }
}

fn requester(by: &By) -> String {
    match by {
        By::Capstan => String::new(),
        By::Other(login) => format!(", as {} asked", code(login, 80)),
    }
}

/// Says that GitHub rejected a merge, in GitHub's words.
pub fn merge_refused_in_words(reason: &str) -> String {
    let hint = if reason.contains("not accessible by integration") {
        " The App lacks a permission for it: see `capstan help install-bot`. Somebody with the permission can merge it on GitHub."
    } else {
        ""
    };
    format!("It is not merged: GitHub refuses it. {}.{hint}", reason.trim_end_matches('.'))
}

/// Which request to GitHub was withdrawn, and why: sentences.
pub fn undo_in_words(undo: Undo, obstacles: &[Obstacle], base: &str, prefix: &str) -> String {
    let what = match undo {
        Undo::AutoMerge => "Auto-merge is disabled again.",
        Undo::Queue => "It is no longer in the merge queue.",
    };
    let why: Vec<String> =
        obstacles.iter().map(|obstacle| obstacle_in_words(obstacle, base, prefix)).collect();
    format!("{what} {}", why.join(" "))
}

/// For a person who named a proposal's head and has not seen the newest pushes to it; no pushes where GitHub
/// does not list them.
pub fn moved_refusal(command: &str, branch: &str, head: &CommitId, pushes: &[Push]) -> Answer {
    let command = code(command, 200);
    let why = match pushes.first() {
        Some(push) => format!(
            "{} were pushed to {} after the comment (or in the same second)",
            code(short(&push.after), 20),
            code(branch, 300)
        ),
        None => format!("GitHub does not say when the head of {} was pushed", code(branch, 300)),
    };
    let named = code(&format!("{} {}", command.trim_matches('`'), short(head)), 200);
    Answer::refused(
        Refusal::NotObeyed,
        &format!(
            "{command} was not carried out: {why}, so the author of the comment may not have seen them. Look at them, then comment {named}.\n"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: char) -> CommitId {
        CommitId::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn approval(by: &str, dismissed: Option<char>) -> Approval {
        Approval {
            by: by.to_owned(),
            at: jiff::Timestamp::UNIX_EPOCH,
            head: commit('a'),
            result: serde_json::from_str("\"one\"").unwrap(),
            means: Means::Command,
            dismissed: dismissed.map(commit),
        }
    }

    #[test]
    fn the_gate_says_how_many_are_missing_and_who_objects() {
        let mut approved = Approved { needed: 2, missing: 1, ..Approved::default() };
        let gate = approvals_gate(&approved, "/capstan").unwrap();
        assert_eq!(gate.title, "1 of 2 approvals missing");
        assert_eq!(
            gate.why,
            "It needs 2 approvals by people who may `approve` here, and 1 is missing: comment `/capstan approve`, or approve the head in a review. Approvals by people who pushed to its branch do not count. See `capstan help pull-requests#approvals`."
        );
        approved.missing = 0;
        assert_eq!(approvals_gate(&approved, "/capstan"), None);
        approved.objections = vec!["grace".to_owned()];
        let gate = approvals_gate(&approved, "/capstan").unwrap();
        assert_eq!(
            (gate.title.as_str(), gate.why.as_str()),
            (
                "changes are requested",
                "Changes are requested on GitHub by `grace`. See `capstan help pull-requests#approvals`."
            )
        );
        approved.needed = 0;
        assert_eq!(approvals_gate(&approved, "/capstan"), None, "nobody's approval is asked for");
    }

    #[test]
    fn approvals_are_above_the_body_and_a_login_forges_nothing() {
        let approvals = vec![approval("ada", None), approval("grace", Some('b')), approval("a<b>", None)];
        let decisions = Decisions { approvals, ..Decisions::default() };
        assert_eq!(
            approvals_above(&decisions),
            "> Approved by `ada` for `aaaaaaa`.\n\n> The approval by `grace` for `aaaaaaa` is dismissed: the result changed with `bbbbbbb`.\n\n> Approved by `a<b>` for `aaaaaaa`.\n\n"
        );
    }

    #[test]
    fn a_refusal_of_githubs_names_the_permission_where_it_is_one() {
        assert_eq!(
            merge_refused_in_words("Base branch was modified."),
            "It is not merged: GitHub refuses it. Base branch was modified."
        );
        assert_eq!(
            merge_refused_in_words("Resource not accessible by integration"),
            "It is not merged: GitHub refuses it. Resource not accessible by integration. The App lacks a permission for it: see `capstan help install-bot`. Somebody with the permission can merge it on GitHub."
        );
    }
}
