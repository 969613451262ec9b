//! The check `capstan/rollout` and the commit status on the merge commit: the rollout of machines after a
//! merge.
//!
//! The text depends only on the reports, never on the time: the same reports give the same text, so that it
//! is sent again only when something changes.
//!
//! | concludes, first that fits | commit status | |
//! |---|---|---|
//! | failure | failure | a cluster's rollout needs a person |
//! | pending | pending | one waits or rolls |
//! | neutral | success | the state of one is unknown |
//! | success | success | all are done |

use super::check::{Annotation, AnnotationLevel, CheckReport, Conclusion};
use super::markdown::{MAX_BODY, Page, code, code_cell, more_below, more_items, one_line, prose_cell};
use super::pages::percent_encoded;
use capstan_campaign::wording::minute;
use capstan_live::agent::{
    Kubeconfig, KubeconfigForm, KubeconfigPlace, MachineAge, Progress, RolloutReport, RolloutState,
    TransitionKind,
};
use capstan_model::finding::Severity;
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_model::wording::{count, count_of, fitting, sentence};

/// Annotations of one check: one call.
const MAX_ANNOTATIONS: usize = 50;
/// GitHub's limit of a commit status's description, in characters.
const MAX_DESCRIPTION: usize = 140;

/// One cluster that a merged pull request touched.
#[derive(Debug, Clone)]
pub struct RolloutSubject {
    pub cluster: ClusterId,
    /// The management cluster that applies it, by its name in the settings.
    pub management_cluster: String,
    pub progress: Progress,
    /// The address of the cluster's files at the bot:
    /// `https://capstan.example/clusters/acme/gitops/gauss/peu01`; `None` where the bot's own address is not
    /// known.
    pub files_url: Option<String>,
}

/// State of a commit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatusState {
    /// Under way.
    Pending,
    /// Done.
    Success,
    /// A person is needed.
    Failure,
}

impl StatusState {
    /// GitHub's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

fn conclusion(subjects: &[RolloutSubject]) -> Conclusion {
    let any = |wanted: fn(RolloutState) -> bool| subjects.iter().any(|one| wanted(one.progress.state()));
    if any(RolloutState::needs_a_person) {
        Conclusion::Failure
    } else if any(|state| matches!(state, RolloutState::Waiting | RolloutState::Rolling)) {
        Conclusion::Pending
    } else if any(|state| state == RolloutState::Unknown) {
        Conclusion::Neutral
    } else {
        Conclusion::Success
    }
}

/// The check on the head of a merged pull request. `html_url` is the repository's, for links.
pub fn rollout_check(subjects: &[RolloutSubject], merge_commit: &CommitId, html_url: &str) -> CheckReport {
    CheckReport {
        conclusion: conclusion(subjects),
        title: title(subjects),
        summary: summary(subjects, merge_commit, html_url),
        annotations: annotations(subjects),
        buttons: vec![],
    }
}

/// The commit status on the merge commit, which changes only with a turn of the rollout: it has no numbers
/// that change all the time.
pub fn rollout_status(subjects: &[RolloutSubject]) -> (StatusState, String) {
    let state = match conclusion(subjects) {
        Conclusion::Failure | Conclusion::ActionRequired => StatusState::Failure,
        Conclusion::Pending => StatusState::Pending,
        Conclusion::Success | Conclusion::Neutral => StatusState::Success,
    };
    let named = |wanted: fn(RolloutState) -> bool| {
        let found: Vec<&str> = subjects
            .iter()
            .filter(|one| wanted(one.progress.state()))
            .map(|one| one.cluster.as_str())
            .collect();
        match found.as_slice() {
            [only] => (*only).to_owned(),
            [] => "no cluster".to_owned(),
            several => count(several.len(), "cluster", "clusters"),
        }
    };
    let text = match conclusion(subjects) {
        Conclusion::Failure | Conclusion::ActionRequired => {
            format!(
                "{} needs attention: see the check on the pull request",
                named(RolloutState::needs_a_person)
            )
        }
        Conclusion::Pending => format!("The machines of {} are being followed", named(|_| true)),
        Conclusion::Neutral => {
            format!("Applied; unknown: the machines of {}", named(|state| state == RolloutState::Unknown))
        }
        Conclusion::Success => format!("{} {} up to date with Git", named(|_| true), verb(subjects.len())),
    };
    (state, one_line(&text, MAX_DESCRIPTION - 1))
}

const fn verb(clusters: usize) -> &'static str {
    // No cluster is as Git says.
    if clusters < 2 { "is" } else { "are" }
}

fn title(subjects: &[RolloutSubject]) -> String {
    if subjects.is_empty() {
        return "No cluster is followed".to_owned();
    }
    if let [only] = subjects {
        let said = headline(&only.progress);
        return one_line(&format!("{}: {said}", only.cluster), 200);
    }
    let with = |state: RolloutState| subjects.iter().filter(|one| one.progress.state() == state).count();
    let states = [
        RolloutState::Refused,
        RolloutState::Stuck,
        RolloutState::Rolling,
        RolloutState::Waiting,
        RolloutState::Unknown,
        RolloutState::Done,
    ];
    let parts: Vec<String> = states
        .into_iter()
        .filter(|state| with(*state) > 0)
        .map(|state| format!("{} {}", with(state), state.as_str()))
        .collect();
    format!("{}: {}", count(subjects.len(), "cluster", "clusters"), parts.join(", "))
}

fn headline(progress: &Progress) -> String {
    let Some(report) = &progress.report else { return "waiting for the reconciler".to_owned() };
    // A provider set has no machines.
    if report.wanted == 0 && report.machines.is_empty() {
        match report.state {
            RolloutState::Rolling => return "under way".to_owned(),
            RolloutState::Stuck => return "stuck".to_owned(),
            RolloutState::Done => return "done".to_owned(),
            RolloutState::Waiting | RolloutState::Refused | RolloutState::Unknown => {}
        }
    }
    let machines = as_wished(report);
    match report.state {
        RolloutState::Waiting if report.words.is_some() => "waiting, no machine is being replaced".to_owned(),
        RolloutState::Waiting => "waiting, no machine is replaced yet".to_owned(),
        RolloutState::Rolling => machines,
        RolloutState::Done => format!("done, {}", count_machines(report.wanted)),
        RolloutState::Stuck => format!("stuck, {machines}"),
        RolloutState::Refused => "refused, nothing is applied".to_owned(),
        RolloutState::Unknown => "applied; the state of its machines is unknown".to_owned(),
    }
}

/// `2 of 3 machines are up to date`
pub(super) fn as_wished(report: &RolloutReport) -> String {
    let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let (ready, wanted) = (number(report.ready), number(report.wanted));
    let of = count_of(ready, wanted, "machine", "machines");
    format!("{of} {} up to date", fitting(wanted, "is", "are"))
}

fn count_machines(number: u32) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "machine", "machines")
}

fn summary(subjects: &[RolloutSubject], merge_commit: &CommitId, html_url: &str) -> String {
    let mut page = Page::new(MAX_BODY);
    let web = html_url.trim_end_matches('/');
    let short: String = merge_commit.as_str().chars().take(12).collect();
    page.push(&format!(
        "The result of the merge [{short}]({web}/commit/{merge_commit}) on the live clusters, as their reconcilers report it.\n"
    ));
    let clusters = subjects.len().max(1);
    // Those that need a person come first.
    let mut ordered: Vec<&RolloutSubject> = subjects.iter().collect();
    ordered.sort_by_key(|one| (!one.progress.state().needs_a_person(), one.progress.done_at().is_some()));
    for (index, subject) in ordered.into_iter().enumerate() {
        let share = page.free().saturating_sub(300) / (clusters - index);
        if share < 900 {
            page.push(&more_below(clusters - index, "cluster", "clusters"));
            break;
        }
        one_cluster(&mut page, subject, share, web, merge_commit);
    }
    page.finish()
}

fn one_cluster(page: &mut Page, subject: &RolloutSubject, share: usize, web: &str, merge_commit: &CommitId) {
    let start = page.free();
    let progress = &subject.progress;
    let cluster = subject.cluster.as_str();
    let link = format!("{web}/tree/{merge_commit}/{}", percent_encoded(cluster));
    page.push(&format!("\n### [{}]({link})\n\n", code(cluster, 200)));
    page.push(&format!(
        "{} (applied by {}{}).\n",
        sentence(&headline(progress)),
        code(&subject.management_cluster, 100),
        duration_words(progress),
    ));
    if let Some(report) = &progress.report {
        let says =
            matches!(report.state, RolloutState::Stuck | RolloutState::Waiting | RolloutState::Rolling);
        if let Some(words) = report.words.as_ref().filter(|_| says) {
            page.push(&format!("\n> {}\n", prose_cell(words.as_str(), 600)));
        }
        let rows: Vec<String> = report
            .reasons
            .iter()
            .map(|reason| {
                let place = reason.place().map(|place| place.without_column().to_string());
                let place = place.map_or_else(String::new, |at| format!(" ({})", code(&at, 300)));
                format!("- {}{place}\n", prose_cell(&reason.sentence(), 800))
            })
            .collect();
        page.section("\n", &rows, share / 3, |left| more_items(left, "reason", "reasons"));
        if let Some(said) = report.kubeconfig.as_ref() {
            owners_key(page, said, subject, share / 4);
        }
    }
    let rows: Vec<String> = progress
        .turns
        .iter()
        .map(|turn| {
            let words = turn.words.as_ref();
            let words =
                words.map_or_else(String::new, |words| format!(": {}", prose_cell(words.as_str(), 400)));
            format!("- {} {}{words}\n", minute(turn.at), transition_word(turn.kind))
        })
        .collect();
    page.section("\n", &rows, share / 3, |left| more_items(left, "turn", "turns"));
    if let Some(report) = &progress.report {
        let left = share.saturating_sub(start.saturating_sub(page.free()));
        machines(page, report, left);
    }
}

/// Where the owners find their kubeconfig, until when it is valid, and its fingerprint.
fn owners_key(page: &mut Page, said: &Kubeconfig, subject: &RolloutSubject, budget: usize) {
    let name = said.form.file_name();
    let file = match &subject.files_url {
        Some(url) => format!("[`{name}`]({url}/{name})"),
        None => format!("`{name}`, on the bot's page"),
    };
    let until = said.expires_at.map(|ends| format!(", valid until {}", minute(ends))).unwrap_or_default();
    let in_git = match said.place {
        KubeconfigPlace::Bot => "",
        KubeconfigPlace::Git => "; a pull request adds it to the cluster's folder",
    };
    let whom = match said.form {
        KubeconfigForm::Age => "The owners' key, which only they can decrypt with `age -d`",
        KubeconfigForm::Plain => "How to log in, without any secret",
    };
    let head = format!("\n{whom}: {file}{until}, SHA-256 {}{in_git}.\n\n", code(&said.sha256, 64));
    let rows: Vec<String> = said
        .recipients
        .iter()
        .map(|one| format!("- {}: {}\n", code(one.name.as_str(), 253), code(one.fingerprint.as_str(), 100)))
        .collect();
    if rows.is_empty() {
        page.push(&head);
    } else {
        page.section(&head, &rows, budget.max(head.len() + 400), |left| more_items(left, "owner", "owners"));
    }
}

fn machines(page: &mut Page, report: &RolloutReport, budget: usize) {
    let row = |machine: &capstan_live::agent::Machine| {
        let age = match machine.age {
            MachineAge::New => "new",
            MachineAge::Old => "to be replaced",
        };
        format!(
            "| {} | {} | {} | {age} |\n",
            code_cell(machine.name.as_str(), 120),
            code_cell(machine.owner.as_str(), 120),
            prose_cell(machine.state.as_str(), 60)
        )
    };
    let rows: Vec<String> = report.machines.iter().map(row).collect();
    let unnamed = usize::try_from(report.machines_left_out).unwrap_or(usize::MAX);
    let head = "\n| Machine | Of | State | |\n|---|---|---|---|\n";
    // Findings that no report names are listed below, whether or not the named ones fit.
    let all = std::cell::Cell::new(unnamed);
    page.section(head, &rows, budget, |left| {
        all.set(0);
        more_below(left.saturating_add(unnamed), "machine", "machines")
    });
    if all.get() > 0 {
        page.push(&more_below(all.get(), "machine", "machines"));
    }
}

/// `, 12 min 30 s` once it is done.
fn duration_words(progress: &Progress) -> String {
    let Some(done) = progress.done_at() else { return String::new() };
    let seconds = done.as_second().saturating_sub(progress.began.as_second()).max(0);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!(", in {seconds} s"),
        (0, minutes) => format!(", in {minutes} min {seconds} s"),
        (hours, minutes) => format!(", in {hours} h {minutes} min"),
    }
}

pub(super) const fn transition_word(kind: TransitionKind) -> &'static str {
    match kind {
        TransitionKind::Began => "the first machine is replaced",
        TransitionKind::Stuck => "**stuck**",
        TransitionKind::Refused => "**refused**",
        TransitionKind::Freed => "continues",
        TransitionKind::Done => "done",
        TransitionKind::Unknown => "the state of its machines is unknown",
    }
}

fn annotations(subjects: &[RolloutSubject]) -> Vec<Annotation> {
    let reports = subjects.iter().filter_map(|one| one.progress.report.as_ref());
    let reasons = reports.flat_map(|report| &report.reasons);
    reasons
        .filter_map(|reason| {
            Some(Annotation {
                path: reason.file.clone()?,
                line: reason.line.unwrap_or(1),
                column: reason.line.and(reason.column),
                level: match reason.severity {
                    Severity::Error => AnnotationLevel::Failure,
                    Severity::Warning => AnnotationLevel::Warning,
                },
                title: one_line(&reason.kind, 80),
                message: one_line(&reason.sentence(), 4_000),
            })
        })
        .take(MAX_ANNOTATIONS)
        .collect()
}

#[cfg(test)]
#[path = "rollout_tests.rs"]
mod tests;
