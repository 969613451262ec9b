//! What a check says about preflights.

use std::collections::BTreeMap;

use super::comment::Answer;
use super::markdown::{code, prose, prose_cell};
use super::pages::Refusal;
use capstan_live::agent::preflight::{Preflight, PreflightReply};
use capstan_live::agent::{ClusterAnswer, PreflightVerdict};
use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_model::wording::{count, few, list};
use capstan_plan::settings::PreflightMode;

/// The answer to `preflight`.
#[derive(Debug)]
pub enum PreflightAnswered<'a> {
    /// The pull request is for another branch than the one that reconcilers apply.
    OtherBranch {
        /// The branch that they apply.
        default_branch: &'a str,
    },
    /// GitHub is still computing the merge result.
    NotYet,
    /// Which clusters are asked, and which cannot be.
    Asked {
        /// State of each preflight.
        preflights: &'a [Preflight],
        /// How missing answers count.
        mode: PreflightMode,
        /// Management clusters that apply some of the clusters and have no enrolled reconciler: name and UID.
        not_enrolled: BTreeMap<&'a str, &'a str>,
        /// The clusters that no management cluster applies.
        unclaimed: Vec<ClusterId>,
    },
}

/// The comment that answers `preflight`.
pub fn preflight_answer(answered: &PreflightAnswered<'_>) -> Answer {
    match answered {
        PreflightAnswered::OtherBranch { default_branch } => Answer::refused(
            Refusal::NoPreflight,
            &format!(
                "No reconciler is asked: reconcilers apply only {}, and this pull request is for another branch.\n",
                code(default_branch, 200)
            ),
        ),
        PreflightAnswered::NotYet => Answer::info(
            "GitHub is still computing the merge result. Capstan asks the reconcilers after that, and the check `capstan` shows the answers.\n",
        ),
        PreflightAnswered::Asked { preflights, mode, not_enrolled: missing, unclaimed } => {
            let mut rows = rows(preflights, *mode);
            let asked = rows.len();
            let said = |name: &str| preflights.iter().any(|preflight| preflight.management_cluster == name);
            let missing = missing.iter().filter(|(name, _)| !said(name));
            rows.extend(missing.map(|(name, uid)| {
                format!("- {} was not asked: {}\n", code(name, 100), prose(&not_enrolled(name, uid), 600))
            }));
            if !unclaimed.is_empty() {
                let named = few(unclaimed.iter().map(|one| code(one.as_str(), 200)), 10, "more");
                rows.push(format!(
                    "- {}: applied by other tools (no entry of `managementClusters` in `.capstan.yaml` claims {}), so there is no reconciler to ask.\n",
                    list(&named),
                    if unclaimed.len() == 1 { "it" } else { "them" }
                ));
            }
            if rows.is_empty() {
                let text = "This pull request touches no cluster, so there is nothing to ask.\n";
                return Answer::refused(Refusal::NothingThere, text);
            }
            // The check does not mention clusters that were not asked.
            let is_shown = rows.len() == asked;
            let left = rows.len().saturating_sub(MAX_ROWS);
            rows.truncate(MAX_ROWS);
            let more = if left == 0 { String::new() } else { format!("- … and {left} more\n") };
            let text = format!("{}{more}\nThe check `capstan` shows the answers.\n", rows.concat());
            if is_shown { Answer::shown(text) } else { Answer::info(text) }
        }
    }
}

/// How a reconciler of that management cluster enrols, as sentences.
pub fn not_enrolled(name: &str, uid: &str) -> String {
    format!(
        "No reconciler of `{name}` is enrolled. Run `capstan agents invite --management-cluster {uid}` on the bot's machine to make a join code. `{}` says where to put it.",
        Refusal::NotEnrolled.page()
    )
}

/// Clusters that are listed.
const MAX_ROWS: usize = 200;

/// What to do where the live cluster has to agree, and cannot.
const YES_REQUIRED: &str = "`preflight.mode` requires it to accept. Remove the reason, then re-run this check to ask again. If the reason is something in the same commit (a namespace, a definition), merge that first. If it waits for machines, Capstan asks again by itself.";

/// The section's heading, with the page that explains answers where one is not simply yes.
pub(super) fn head(preflights: &[Preflight], mode: PreflightMode) -> String {
    use capstan_live::agent::preflight::{PreflightMeaning, meaning};
    let what = match meaning(preflights, mode) {
        PreflightMeaning::Fine => String::new(),
        _ => format!("What Capstan asks, and what an answer means: {}.\n\n", Refusal::NoPreflight.shown()),
    };
    format!("\n### Preflight\n\n{what}")
}

/// The section's rows, one for each cluster that was asked about.
pub(super) fn rows(preflights: &[Preflight], mode: PreflightMode) -> Vec<String> {
    preflights.iter().flat_map(|preflight| rows_of(preflight, mode)).collect()
}

fn rows_of(preflight: &Preflight, mode: PreflightMode) -> Vec<String> {
    let who = code(&preflight.management_cluster, 100);
    let clusters = clusters(preflight);
    let silence = match mode {
        PreflightMode::Advisory => "",
        PreflightMode::Required => " An answer is required here (`preflight.mode`).",
    };
    match &preflight.standing {
        PreflightReply::Asked => {
            vec![format!("- {who} is being asked whether its live cluster accepts {clusters}.\n")]
        }
        PreflightReply::Unanswered => {
            vec![format!(
                "- {who} did not answer in time for {clusters}.{silence} Re-run this check to ask again.\n"
            )]
        }
        PreflightReply::NotAsked(why) => {
            vec![format!("- {who} was not asked about {clusters}: {}{silence}\n", prose(why, 600))]
        }
        PreflightReply::Answered(answer) => preflight
            .clusters
            .iter()
            .map(|cluster| match answer.clusters.iter().find(|one| one.cluster == *cluster) {
                Some(one) => row(&who, one, mode),
                None => format!("- {who} did not answer for {}.{silence}\n", code(cluster.as_str(), 200)),
            })
            .collect(),
    }
}

fn clusters(preflight: &Preflight) -> String {
    match preflight.clusters.as_slice() {
        [only] => code(only.as_str(), 200),
        several => count(several.len(), "cluster", "clusters"),
    }
}

fn row(who: &str, answer: &ClusterAnswer, mode: PreflightMode) -> String {
    let cluster = code(answer.cluster.as_str(), 200);
    let reasons: Vec<String> =
        answer.reasons.iter().take(5).map(|reason| prose_cell(&reason.sentence(), 700)).collect();
    let more = answer.reasons.len().saturating_sub(5);
    let why = match (reasons.is_empty(), more) {
        (true, _) => ".".to_owned(),
        (false, 0) => format!(": {}", reasons.join("; ")),
        (false, more) => format!(": {}; and {more} more", reasons.join("; ")),
    };
    match answer.verdict {
        PreflightVerdict::Accepted => format!("- {who} would accept {cluster} as it is here{why}\n"),
        PreflightVerdict::NotVerifiable => {
            let says = format!("- {who} cannot say before the merge whether it would accept {cluster}{why}");
            match mode {
                PreflightMode::Advisory => format!("{says}\n"),
                PreflightMode::Required => format!("{}. {YES_REQUIRED}\n", says.trim_end_matches('.')),
            }
        }
        PreflightVerdict::Rejected => format!("- **{who} would refuse {cluster}**{why}\n"),
    }
}

/// The title's part about preflights, where they decide the conclusion.
pub(super) fn title(preflights: &[Preflight], mode: PreflightMode) -> Option<&'static str> {
    use capstan_live::agent::preflight::{PreflightMeaning, meaning};
    match meaning(preflights, mode) {
        PreflightMeaning::Fine => None,
        PreflightMeaning::Neutral if preflights.iter().any(lacks_an_answer) => {
            Some("the preflight is unanswered")
        }
        PreflightMeaning::Neutral => Some("the live cluster cannot say before the merge whether it accepts"),
        PreflightMeaning::Awaited => Some("the live cluster is being asked"),
        PreflightMeaning::ActionRequired if preflights.iter().any(lacks_an_answer) => {
            Some("the preflight is unanswered and required")
        }
        PreflightMeaning::ActionRequired => {
            Some("the live cluster cannot say before the merge whether it accepts, as required")
        }
        PreflightMeaning::Rejected => Some("the live cluster would refuse it"),
    }
}

fn lacks_an_answer(preflight: &Preflight) -> bool {
    let PreflightReply::Answered(answer) = &preflight.standing else { return true };
    let says = |cluster: &ClusterId| answer.clusters.iter().any(|one| one.cluster == *cluster);
    !preflight.clusters.iter().all(says)
}

/// What the live clusters reject.
pub(super) fn findings(preflights: &[Preflight]) -> Vec<Finding> {
    preflights.iter().flat_map(Preflight::findings).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Conclusion, PullJudgement, check};
    use capstan_live::agent::{PreflightAnswer, WireReason, Words};
    use capstan_model::finding::Severity;
    use capstan_model::tree::RepoPath;

    fn cluster() -> ClusterId {
        ClusterId::new(RepoPath::parse("gauss/peu01").unwrap())
    }

    fn judged(standing: PreflightReply, mode: PreflightMode) -> PullJudgement {
        let preflight =
            Preflight { management_cluster: "mc-eu".to_owned(), clusters: vec![cluster()], standing };
        PullJudgement { preflights: vec![preflight], preflight_mode: mode, ..PullJudgement::default() }
    }

    fn answered(verdict: PreflightVerdict, message: &str) -> PreflightReply {
        let reason = WireReason {
            severity: Severity::Error,
            kind: "Invalid".to_owned(),
            message: Words::new(message),
            object: None,
            field: None,
            file: RepoPath::parse("gauss/peu01/base/cp.yaml").ok(),
            line: Some(12),
            column: None,
        };
        let answer = ClusterAnswer { cluster: cluster(), verdict, reasons: vec![reason], names: vec![] };
        PreflightReply::Answered(PreflightAnswer { clusters: vec![answer], duration_ms: 7 })
    }

    #[test]
    fn each_answer_concludes_and_reads_as_it_should() {
        use PreflightMode::{Advisory, Required};
        let cases = [
            (
                PreflightReply::Asked,
                Advisory,
                Conclusion::Pending,
                "The live cluster is being asked",
                "is being asked whether",
            ),
            (
                PreflightReply::Unanswered,
                Advisory,
                Conclusion::Neutral,
                "The preflight is unanswered",
                "did not answer",
            ),
            (
                PreflightReply::Unanswered,
                Required,
                Conclusion::ActionRequired,
                "The preflight is unanswered and required",
                "An answer is required here",
            ),
            (
                PreflightReply::NotAsked("its head is in a fork.".to_owned()),
                Advisory,
                Conclusion::Neutral,
                "The preflight is unanswered",
                "was not asked about `gauss/peu01`: its head is in a fork.",
            ),
            (
                answered(PreflightVerdict::Accepted, ""),
                Required,
                Conclusion::Success,
                "No cluster is touched",
                "would accept",
            ),
            (
                answered(PreflightVerdict::NotVerifiable, "the kind is not installed"),
                Required,
                Conclusion::ActionRequired,
                "The live cluster cannot say before the merge whether it accepts, as required",
                "the kind is not installed. `preflight.mode` requires it to accept. Remove the reason",
            ),
            (
                answered(PreflightVerdict::NotVerifiable, "the kind is not installed"),
                Advisory,
                Conclusion::Neutral,
                "The live cluster cannot say before the merge whether it accepts",
                "whether it would accept `gauss/peu01`: the kind is not installed\n",
            ),
            (
                answered(PreflightVerdict::Rejected, "cannot skip a minor"),
                Advisory,
                Conclusion::Failure,
                "The live cluster would refuse it, 1 error",
                "**`mc-eu` would refuse `gauss/peu01`**: cannot skip a minor",
            ),
        ];
        for (standing, mode, conclusion, title, says) in cases {
            let report = check(&judged(standing, mode));
            assert_eq!(report.conclusion, conclusion, "{}", report.title);
            assert!(report.title.starts_with(title), "{}", report.title);
            assert!(report.summary.contains(says), "{}", report.summary);
        }
    }

    #[test]
    fn a_rejection_is_annotated_and_decides_the_conclusion() {
        let mut judged = judged(answered(PreflightVerdict::Rejected, "@x"), PreflightMode::Advisory);
        judged.blocked = vec!["Blocked.".to_owned()];
        let report = check(&judged);
        assert_eq!(report.conclusion, Conclusion::Failure);
        let places: Vec<_> = report.annotations.iter().map(|a| (a.path.as_str(), a.line)).collect();
        assert_eq!(places, [("gauss/peu01/base/cp.yaml", 12)]);
        assert!(!report.summary.contains("@x"), "nobody is mentioned: {}", report.summary);
    }

    #[test]
    fn an_error_of_the_rules_decides_at_once_although_an_answer_is_awaited() {
        let mut judged = judged(PreflightReply::Asked, PreflightMode::Required);
        judged.findings = answered_findings();
        assert_eq!(check(&judged).conclusion, Conclusion::Failure);
    }

    fn answered_findings() -> Vec<Finding> {
        findings(&judged(answered(PreflightVerdict::Rejected, "x"), PreflightMode::Advisory).preflights)
    }
}
