//! Answers to slash-commands.

use capstan_model::finding::{Severities, Severity};
use capstan_model::object::FieldPath;
use capstan_model::source::SourceKind;
use capstan_model::wording::count;
use capstan_plan::command::{Denied, Push};
use capstan_plan::policy::About;
use capstan_plan::proposal::{Decisions, Unsettled};
use capstan_plan::upgrade::{Conflict, SettledConflict, Side, Upgrade};

use super::body::{Proposal, visible_plan};
use super::comment::Answer;
use super::markdown::{MAX_BODY, code, prose};
use super::pages::Refusal;
use super::standing::{hold_in_words, override_in_words};
use super::state::{Mood, ProposalState};
use super::{headline, tables};

/// For a person who may not use commands here.
pub fn refusal(command: &str) -> Answer {
    let text = format!(
        "{} was not carried out: it needs write permission in this repository. Ask somebody with that permission to comment it.\n",
        code(command, 200)
    );
    Answer::refused(Refusal::MayNot, &text)
}

/// For a person who may not use that command there.
pub fn denied(command: &str, why: &Denied) -> Answer {
    let command = code(command, 200);
    let text = match why {
        Denied::ForkAuthor => format!(
            "{command} was not carried out: the author of a pull request from a fork cannot have Capstan write to branches of this repository. Ask another person to comment it.\n"
        ),
        Denied::NotOneOf { allowed, cluster } => {
            let of =
                cluster.as_ref().map_or_else(String::new, |cluster| format!(" for {}", code(cluster, 200)));
            format!("{command} was not carried out: it needs{of} {}.\n", prose(&allowed.join(", or "), 900))
        }
    };
    Answer::refused(Refusal::MayNot, &text)
}

/// For a decision that cannot be stored anywhere; `why` and `instead` are parts of a sentence.
pub fn not_noted(command: &str, why: &str, instead: &str) -> Answer {
    let text = format!(
        "{} was not carried out: Capstan would record it in the dashboard issue, and {}. Instead: {}.\n",
        code(command, 200),
        prose(why.trim_end_matches('.'), 600),
        prose(instead, 300)
    );
    Answer::refused(Refusal::NotNoted, &text)
}

/// For a comment that its author or another person edited.
pub fn edited_refusal(prefix: &str) -> Answer {
    let text = format!(
        "This comment was not carried out: it was edited later, so its text may not be its author's. Write {} in a new comment.\n",
        code(&format!("{prefix} …"), 200)
    );
    Answer::refused(Refusal::NotObeyed, &text)
}

/// For a `retarget` by a person who has not seen the newest pushes to the branch.
pub fn unseen_refusal(command: &str, branch: &str, pushes: &[Push]) -> Answer {
    const NAMED: usize = 5;
    let who =
        |push: &Push| push.actor.as_deref().map_or_else(|| "somebody".to_owned(), |actor| code(actor, 80));
    let named: Vec<String> = pushes
        .iter()
        .take(NAMED)
        .map(|push| format!("- {} by {}, {}\n", code(push.after.as_str(), 80), who(push), push.at))
        .collect();
    let more = match pushes.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("- and {more} more\n"),
    };
    let command = code(command, 200);
    let text = format!(
        "{command} was not carried out: commits were pushed to {} after the comment (or in the same second), and it would overwrite them:\n\n{}{more}\nNothing was overwritten. Look at them. If they may be lost, comment {command} again.\n",
        code(branch, 300),
        named.concat(),
    );
    Answer::refused(Refusal::NotObeyed, &text)
}

/// The same where GitHub does not list the pushes to the branch.
pub fn unexplained_refusal(command: &str, branch: &str) -> Answer {
    let command = code(command, 200);
    let branch = code(branch, 300);
    let text = format!(
        "{command} was not carried out: GitHub does not say when the head of {branch} was pushed. Capstan cannot tell commits after the comment from earlier ones. Nothing was overwritten. If everything on the branch may be lost, delete the branch and comment {command} here again.\n"
    );
    Answer::refused(Refusal::NotObeyed, &text)
}

/// The note above a check while its run is in progress: the person of that login pressed a button of it.
pub fn pressed_meanwhile(button: &str, by: &str) -> String {
    format!(
        "> {}, pressed by {}, is queued: it starts when the current run ends.",
        code(button, 40),
        code(by, 100)
    )
}

/// The full plan of one cluster, in an answer that shows `plans` of them.
pub fn plan_answer(proposal: &Proposal<'_>, plans: usize) -> Answer {
    // The same comment may ask for something else too.
    Answer::info(visible_plan(proposal, (MAX_BODY - 5_000) / plans.max(1)))
}

/// Explains a rule: what it finds, why, and its severity here.
pub fn rule_answer(rule: &About, severities: &Severities) -> Answer {
    let id = rule.entry.id();
    let severity = match severities.of(rule.entry) {
        Some(Severity::Error) => "error",
        Some(Severity::Warning) => "warning",
        None => "off",
    };
    let is_own = severities.of(rule.entry) == Some(rule.entry.severity());
    let set = if is_own { "" } else { ", as `policy` in `.capstan.yaml` says" };
    Answer::info(format!(
        "### `{id}`\n\nSeverity here: **{severity}**{set}.\n\n{}\n\n{}\n\nSource: <{}>\n\n`capstan rules {id}` shows it broken and kept.\n",
        prose(&rule.summary(), 2_000),
        prose(&rule.reason(), 4_000),
        rule.source()
    ))
}

/// The state of one cluster.
#[derive(Debug, Clone, Copy)]
pub struct Status<'a> {
    /// The cluster.
    pub target: &'a str,
    /// The kind of source that the state is about.
    pub kind: &'a SourceKind,
    /// The state of its proposal.
    pub state: ProposalState,
    /// The reason for its state, in sentences.
    pub why: &'a str,
    /// Its upgrade, or why it has none.
    pub upgrade: Result<&'a Upgrade, &'a str>,
    /// Its pull request.
    pub pull: Option<u64>,
    /// Decisions made by command.
    pub decisions: &'a Decisions,
    /// Who approved, and what is missing: a sentence each.
    pub approvals: &'a [String],
}

/// The answer to `status`, of one cluster.
pub fn status_answer(status: &Status<'_>) -> Answer {
    let mut rows = Vec::new();
    match status.upgrade {
        Ok(upgrade) => {
            let at = upgrade
                .from
                .as_ref()
                .map_or_else(|| "unknown".to_owned(), |from| code(&from.to_string(), 200));
            rows.push(("Release", at));
            if let Some(to) = &upgrade.to {
                let offered = match &upgrade.from {
                    Some(from) if from == to && *status.kind == SourceKind::RELEASE => {
                        format!("{} as it is now", code(&to.to_string(), 200))
                    }
                    Some(from) if from == to => "other values".to_owned(),
                    _ => code(&to.to_string(), 200),
                };
                rows.push(("Offered", offered));
                rows.push(("Conflicts", tables::conflicts(&upgrade.conflicts)));
                rows.push(("Findings", tables::findings(&upgrade.findings)));
                let becomes = headline::machine_changes(&upgrade.rollouts);
                rows.push(("Machines", becomes.unwrap_or_else(headline::none_replaced)));
            }
        }
        Err(why) => rows.push(("Plan", prose(why, 900))),
    }
    rows.push(("State", format!("**{}**: {}", status.state.as_str(), prose(status.why, 900))));
    rows.extend(status.pull.map(|pull| ("Pull request", format!("#{pull}"))));
    rows.extend(
        status.decisions.release.as_ref().map(|release| ("Asked for", code(&release.to_string(), 200))),
    );
    let hold = status.decisions.hold.as_ref().map(hold_in_words);
    let hold = hold.filter(|hold| !status.why.contains(hold.trim_end_matches('.')));
    rows.extend(hold.map(|hold| ("Hold", prose(&hold, 900))));
    let overrides = status.decisions.overrides.iter();
    rows.extend(overrides.map(|one| ("Overridden", prose(&override_in_words(one), 900))));
    rows.extend(status.decisions.settled.iter().map(|one| ("Settled", settled_in_words(one, status.kind))));
    rows.extend(status.approvals.iter().map(|words| ("Approvals", prose(words, 900))));
    let of = if *status.kind == SourceKind::RELEASE { String::new() } else { format!(", {}", status.kind) };
    let mut text = format!("{}{of}\n\n| | |\n|---|---|\n", code(status.target, 200));
    for (what, value) in rows {
        text.push_str(&format!("| {what} | {} |\n", value.replace('|', "\\|").replace('\n', " ")));
    }
    Answer::info(text)
}

fn settled_in_words(one: &SettledConflict, kind: &SourceKind) -> String {
    let whose = match one.side {
        Side::Cluster => "the cluster's value is kept".to_owned(),
        Side::Release => format!("the {kind}'s value is taken"),
    };
    format!(
        "{}: {whose}, as {} decided",
        conflict_at(&one.object.kind, &one.object.name, &one.path),
        code(&one.by, 80)
    )
}

fn conflict_at(kind: &str, name: &str, path: &FieldPath) -> String {
    code(&format!("{kind}/{name} {path}"), 300)
}

/// Says that conflicts with changes of that kind of source were settled.
pub fn settled(target: &str, kind: &SourceKind, all: &[SettledConflict]) -> Answer {
    const NAMED: usize = 20;
    let target = code(target, 200);
    let [one] = all else {
        let line = |one: &SettledConflict| format!("- {}\n", settled_in_words(one, kind));
        let mut text = format!(
            "{target}: {} settled. Capstan forgets a decision when one of its three values changes.\n\n{}",
            count(all.len(), "conflict is", "conflicts are"),
            all.iter().take(NAMED).map(line).collect::<String>()
        );
        if all.len() > NAMED {
            text.push_str(&format!("- and {} more\n", all.len() - NAMED));
        }
        return Answer::shown(text);
    };
    Answer::shown(format!(
        "{target}: {}. Capstan forgets this when one of the three values changes.\n",
        settled_in_words(one, kind)
    ))
}

/// Says that a conflict was not settled, and lists those that exist.
pub fn not_settled(command: &str, target: &str, why: &Unsettled<'_>) -> Answer {
    const NAMED: usize = 20;
    let (what, conflicts) = match why {
        Unsettled::NoSuch(conflicts) if conflicts.is_empty() => {
            return Answer::refused(
                Refusal::NotSettled,
                &format!(
                    "{} was not carried out: the upgrade of {} has no conflict to settle.\n",
                    code(command, 300),
                    code(target, 200)
                ),
            );
        }
        Unsettled::NoSuch(conflicts) => ("has no conflict there. Its conflicts are", conflicts),
        Unsettled::Several(conflicts) => ("has several conflicts there. Name the object too", conflicts),
    };
    let line = |conflict: &&Conflict| {
        format!("- {}\n", conflict_at(&conflict.object.kind, &conflict.object.name, &conflict.path))
    };
    let mut text = format!(
        "{} was not carried out: the upgrade of {} {what}:\n\n{}",
        code(command, 300),
        code(target, 200),
        conflicts.iter().take(NAMED).map(line).collect::<String>()
    );
    if conflicts.len() > NAMED {
        text.push_str(&format!("- and {} more\n", conflicts.len() - NAMED));
    }
    Answer::refused(Refusal::NotSettled, &text)
}

/// A sentence about one cluster: why something was not done.
pub fn refused(cluster: &str, sentence: &str, refusal: Refusal) -> Answer {
    Answer::refused(refusal, &sentence_about(cluster, sentence))
}

/// The state of one cluster and its reason, with the page that explains the state where there is no pull
/// request to open.
pub fn standing_answer(cluster: &str, state: ProposalState, why: &str) -> Answer {
    match state.mood() {
        Mood::Open | Mood::Good => about(cluster, why),
        Mood::Waits | Mood::Bad => refused(cluster, why, Refusal::State),
    }
}

/// A sentence about one cluster that its pull request shows too.
pub fn shown(cluster: &str, sentence: &str) -> Answer {
    Answer::shown(sentence_about(cluster, sentence))
}

/// A sentence about one cluster.
pub fn about(cluster: &str, sentence: &str) -> Answer {
    Answer::info(sentence_about(cluster, sentence))
}

fn sentence_about(cluster: &str, sentence: &str) -> String {
    format!("{}: {}\n", code(cluster, 200), prose(sentence, 900))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseen_pushes_are_listed_and_a_login_mentions_nobody() {
        let push = |after: char, actor: Option<&str>| Push {
            after: capstan_model::tree::CommitId::parse(&after.to_string().repeat(40)).unwrap(),
            actor: actor.map(str::to_owned),
            at: "2026-11-23T02:00:00Z".parse().unwrap(),
        };
        let text = unseen_refusal(
            "/capstan replan",
            "capstan/upgrade/gauss/peu01",
            &[push('b', Some("mallory")), push('a', None)],
        );
        let (b, a) = ("b".repeat(40), "a".repeat(40));
        let expected = format!(
            "`/capstan replan` was not carried out: commits were pushed to `capstan/upgrade/gauss/peu01` after the comment (or in the same second), and it would overwrite them:

- `{b}` by `mallory`, 2026-11-23T02:00:00Z
- `{a}` by somebody, 2026-11-23T02:00:00Z

Nothing was overwritten. Look at them. If they may be lost, comment `/capstan replan` again.

See `capstan help commands#what-is-not-obeyed`.
"
        );
        assert_eq!(text.text(), expected);
        let many = unseen_refusal("/capstan replan", "x", &vec![push('b', Some("mallory")); 100]).text();
        assert!(many.contains("\n- and 95 more\n"), "{many}");
    }

    #[test]
    fn a_refusal_says_what_is_needed() {
        assert!(
            refusal("/capstan replan")
                .text()
                .starts_with("`/capstan replan` was not carried out: it needs write permission")
        );
    }
}
