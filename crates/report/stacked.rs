//! Pull requests that are not for the default branch: the report where what they would bring there is
//! unknown.

use super::check::{CheckReport, Conclusion, Gate, MergeBasis};
use super::markdown::{MAX_BODY, Page, code, prose};
use super::pages::Refusal;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{Unclear, Way};

/// What prevents the merge of a pull request because of its base branch, if anything does.
pub fn way_gate(way: &Way, basis: MergeBasis, default_branch: &str) -> Option<Gate> {
    let default = code(default_branch, 100);
    let (title, why) = match way {
        Way::Above(_) if basis == MergeBasis::BehindTip => (
            "the stack must be rebased",
            format!(
                "This pull request is part of a stack that is not based on the tip of {default}, so its merge result is not known yet. Rebase the stack."
            ),
        ),
        Way::Straight | Way::Above(_) => return None,
        Way::Aside(branch) => (
            "it is for another branch",
            format!(
                "This pull request is for {}, and Capstan passes only what it judged for {default}: the same commits could reach it with this check. Change its base to {default}, or to the branch of an open pull request for it. If it belongs on {}, do not require the check `capstan` on that branch.",
                code(branch, 100),
                code(branch, 100)
            ),
        ),
        Way::Unknown(unclear) => {
            ("it is unknown what is below it", unclear_in_words(*unclear, default_branch))
        }
    };
    Some(Gate { title: title.to_owned(), why: format!("{why} {}", Refusal::NotOnDefault.sentence()) })
}

fn unclear_in_words(unclear: Unclear, default_branch: &str) -> String {
    let default = code(default_branch, 100);
    let what = match unclear {
        Unclear::Circle => "the open pull requests below it are based on each other in a circle",
        Unclear::TooLong => "more than 100 open pull requests are below it",
        Unclear::Several => {
            "several open pull requests have the branch below it as head, with different base branches"
        }
        Unclear::Disagree => "GitHub's stack differs from the branches of the open pull requests",
        Unclear::Untold => "GitHub says that it is part of a stack, but not of which one",
    };
    format!(
        "It is unknown what a merge of this pull request would bring to {default}: {what}. Correct the stack on GitHub, or change the base of this pull request to {default}."
    )
}

/// The same report with a gate that people have to pass first.
#[must_use]
pub fn gated(mut report: CheckReport, gate: &Gate) -> CheckReport {
    let mut page = Page::new(MAX_BODY);
    page.push(&format!("> {}\n\n", prose(&gate.why, 1_500)));
    if !page.push(&report.summary) {
        page.push("The rest of the report is too long to show here.\n");
    }
    if report.conclusion != Conclusion::Failure {
        report.conclusion = Conclusion::ActionRequired;
        report.title = sentence(&gate.title);
    }
    report.summary = page.finish();
    report
}
