//! Pull requests that do not aim at the default branch: what is said of those of which nobody knows what a merge would
//! bring there.

use super::check::{CheckReport, Conclusion, Gate, MergeBasis};
use super::markdown::{MAX_BODY, Page, code, prose};
use super::pages::Refusal;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{Unclear, Way};

/// What stands against the merge of a pull request because of the branch that it aims at, where something does.
pub fn way_gate(way: &Way, basis: MergeBasis, default_branch: &str) -> Option<Gate> {
    let default = code(default_branch, 100);
    let (title, why) = match way {
        Way::Above(_) if basis == MergeBasis::BehindTip => (
            "the stack is to be rebased",
            format!(
                "This pull request stands in a stack that does not stand on the tip of {default}: nobody knows yet what a merge would give. Rebase the stack."
            ),
        ),
        Way::Straight | Way::Above(_) => return None,
        Way::Aside(branch) => (
            "it is for another branch",
            format!(
                "This pull request is for {}, and Capstan lets pass only what it judged for {default}: the same commits may come there with this check. Point it at {default}, or at the branch of an open pull request that comes there; where it is meant for {}, do not require the check `capstan` on that branch.",
                code(branch, 100),
                code(branch, 100)
            ),
        ),
        Way::Unknown(unclear) => {
            ("nobody knows what is below it", unclear_in_words(*unclear, default_branch))
        }
    };
    Some(Gate { title: title.to_owned(), why: format!("{why} {}", Refusal::NotOnDefault.sentence()) })
}

fn unclear_in_words(unclear: Unclear, default_branch: &str) -> String {
    let default = code(default_branch, 100);
    let what = match unclear {
        Unclear::Circle => "the branches of the open pull requests below it aim at each other",
        Unclear::TooLong => "more than 100 open pull requests are below it",
        Unclear::Several => "several open pull requests have the branch below it, for different branches",
        Unclear::Disagree => "GitHub's stack is not what the branches of the open pull requests say",
        Unclear::Untold => "GitHub says that it stands in a stack, and does not say in which",
    };
    format!(
        "Nobody knows what a merge of this pull request would bring onto {default}: {what}. Put the stack right on GitHub, or point this pull request at {default}."
    )
}

/// The same report where people have something to do first, whatever it says besides.
#[must_use]
pub fn gated(mut report: CheckReport, gate: &Gate) -> CheckReport {
    let mut page = Page::new(MAX_BODY);
    page.push(&format!("> {}\n\n", prose(&gate.why, 1_500)));
    if !page.push(&report.summary) {
        page.push("What was judged besides is too long to be shown with it.\n");
    }
    if report.conclusion != Conclusion::Failure {
        report.conclusion = Conclusion::ActionRequired;
        report.title = sentence(&gate.title);
    }
    report.summary = page.finish();
    report
}
