//! The check `capstan`: what a pull request does to clusters, and whether it may be merged.
//!
//! | concludes, first that fits | |
//! |---|---|
//! | failure | error findings that the base branch does not have (by rule, severity, object and path), or a live cluster rejects the change |
//! | action required | the proposal's upgrade blocks, approvals of it are missing, Capstan itself failed or cannot read the settings, or a required preflight has no answer |
//! | pending | a live cluster is being asked |
//! | neutral | an advisory preflight has no answer; GitHub lets it pass |
//! | success | otherwise, also if no cluster is touched |

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::carried::{self, Carried};
use super::head_lines::{HeadFile, HeadLine};
use super::judged_services::{self, JudgedService};
use super::markdown::{MAX_BODY, Page, code, more, more_below, more_items, one_line, prose};
use super::outlook::{JudgedReleases, ReleaseOutlook, SettingsOutlook};
use super::pages::{Refusal, blocked_head, findings_head};
use super::{headline, inventory_outlook, outlook, preflight, tables};
use capstan_live::agent::preflight::{Preflight, PreflightMeaning, meaning};
use capstan_model::finding::{FileError, Finding, Severity, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_model::wording::{count, fitting, sentence};
use capstan_plan::inventory::InventoryOutlook;
use capstan_plan::settings::PreflightMode;
use capstan_plan::upgrade::{Change, Rollout};
use capstan_plan::verbs::Verb;
use capstan_providers::MissingComponents;
use serde::{Deserialize, Serialize};

/// Annotations sent at most: four calls. The summary names all findings that fit, and counts the others.
const MAX_ANNOTATIONS: usize = 200;

/// What one pull request does, judged.
#[derive(Debug, Clone, Default)]
pub struct PullJudgement {
    /// The clusters that it touches, ordered.
    pub clusters: Vec<JudgedCluster>,
    /// Findings that concern no single cluster (its settings cannot be read, say).
    pub findings: Vec<Finding>,
    /// What was judged.
    pub basis: MergeBasis,
    /// Why the proposal's upgrade blocks now, a sentence each.
    pub blocked: Vec<String>,
    /// What Capstan could not do, with an id to look it up.
    pub failed: Option<String>,
    /// What people have to do before the merge.
    pub gates: Vec<Gate>,
    /// What a person should know: the branch was edited, a newer release waits.
    pub notes: Vec<String>,
    /// What the live clusters answer, where there are reconcilers.
    pub preflights: Vec<Preflight>,
    /// How missing answers count.
    pub preflight_mode: PreflightMode,
    /// What the rules find in releases, if any release differs.
    pub releases: JudgedReleases,
    /// Which clusters the releases would be offered to.
    pub outlook: Option<ReleaseOutlook>,
    /// What the pull request changes through the inventory, schemas and templates.
    pub inventory: Option<InventoryOutlook>,
    /// Findings on the inventory: on the base branch, and on the merge result.
    pub inventory_findings: [Vec<Finding>; 2],
    /// The proposal's upgrade, if the check has something to add about it.
    pub carried: Carried,
    /// What changed settings would change.
    pub settings: Option<SettingsOutlook>,
    /// Files of the head that differ from the judged ones, of [`annotated_files`].
    pub head_files: BTreeMap<RepoPath, HeadFile>,
}

/// What people have to do before a pull request may be merged: approve it, for example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// A few words that begin with a small letter or a number.
    pub title: String,
    /// What to do, in sentences.
    pub why: String,
}

/// What was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeBasis {
    /// The merge result.
    #[default]
    Merge,
    /// The head alone, because it conflicts with its base branch.
    HeadAlone,
    /// All changes of a stack up to this head, which is behind the tip of the branch that the stack is for.
    BehindTip,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgedCluster {
    pub cluster: ClusterId,
    /// The verdict.
    pub judgement: Judgement,
    /// Components of a provider set that are not fetched, and that no job asked for yet.
    pub unasked: Vec<MissingComponents>,
}

/// What changes for a cluster between two trees.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Judgement {
    /// Difference of the rendered objects.
    pub changes: Vec<Change>,
    /// Machines that will be replaced.
    pub rollouts: Vec<Rollout>,
    /// Changes of the services inside it.
    #[serde(default)]
    pub services: Vec<JudgedService>,
    /// Findings on the base branch.
    pub before: Vec<Finding>,
    /// Findings on the merge result.
    pub after: Vec<Finding>,
}

/// The content of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    pub conclusion: Conclusion,
    /// One line.
    pub title: String,
    /// Markdown within GitHub's limit.
    pub summary: String,
    /// Places in files.
    pub annotations: Vec<Annotation>,
    /// Commands that have a button.
    pub buttons: Vec<Verb>,
}

/// Conclusion of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conclusion {
    /// Nothing prevents the merge.
    Success,
    /// Nothing prevents the merge, but a live cluster has not confirmed it. GitHub allows the merge.
    Neutral,
    /// No conclusion yet: a live cluster is being asked.
    Pending,
    /// It brings errors.
    Failure,
    /// A person must do something.
    ActionRequired,
}

/// A finding at a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file.
    pub path: RepoPath,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: Option<u32>,
    pub level: AnnotationLevel,
    /// The rule.
    pub title: String,
    /// What was found and what to do.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnnotationLevel {
    Warning,
    /// An error.
    Failure,
}

/// The report on a pull request that touches no cluster.
pub fn untouched() -> CheckReport {
    CheckReport {
        conclusion: Conclusion::Success,
        title: "No cluster is touched".to_owned(),
        summary: "This pull request changes no file of a cluster.\n".to_owned(),
        annotations: vec![],
        buttons: vec![],
    }
}

/// The report where the base branch's settings cannot be read, or the branch exceeds the limits.
pub fn check_without_settings(problem: &FileError) -> CheckReport {
    let (title, trouble, cure, refusal) = if is_beyond_limits(problem) {
        (
            "The base branch exceeds the limits",
            "The base branch exceeds the limits of what Capstan reads, so Capstan cannot judge this pull request",
            "Make it smaller",
            Refusal::Limits,
        )
    } else {
        (
            "The settings cannot be read",
            "Capstan cannot read the settings on the base branch, so it cannot judge this pull request",
            "Correct them",
            Refusal::Settings,
        )
    };
    let mut page = Page::new(MAX_BODY);
    let rows: Vec<String> = problem.lines().map(|line| format!("- {}\n", prose(&line, 900))).collect();
    page.section(&format!("{trouble}:\n\n"), &rows, MAX_BODY - 2_000, |left| {
        more_items(left, "mistake", "mistakes")
    });
    let cure =
        format!("{cure} on the base branch, or in this pull request. Capstan then looks again at once.\n");
    page.push(&format!("\n{}", refusal.after(&cure)));
    CheckReport {
        conclusion: Conclusion::ActionRequired,
        title: title.to_owned(),
        summary: page.finish(),
        annotations: vec![],
        buttons: vec![],
    }
}

/// The note on a pull request that is judged by itself, because the base branch has this problem.
pub fn judged_by_itself(problem: &FileError) -> String {
    if is_beyond_limits(problem) {
        return format!(
            "The base branch exceeds the limits of what Capstan reads ({problem}). Capstan checked this pull request by itself. {}",
            Refusal::Limits.sentence()
        );
    }
    format!(
        "Capstan cannot read the settings on the base branch ({problem}). It checked this pull request under the settings in it. {}",
        Refusal::Settings.sentence()
    )
}

fn is_beyond_limits(problem: &FileError) -> bool {
    problem.rule == rules::TOO_LARGE
}

/// The findings that a change brings, and how many the base branch has already.
struct NewFindings {
    new: Vec<Finding>,
    older: usize,
}

impl NewFindings {
    fn by(judged: &PullJudgement) -> Self {
        let mut brought = Self { new: Vec::new(), older: 0 };
        for cluster in &judged.clusters {
            brought.sort_out(&cluster.judgement.before, &cluster.judgement.after);
        }
        brought.sort_out(&judged.releases.before, &judged.releases.after);
        let [before, after] = &judged.inventory_findings;
        brought.sort_out(before, after);
        brought.new.extend(judged.findings.iter().cloned());
        brought.new.extend(preflight::findings(&judged.preflights));
        // A finding in a file that several clusters use is found with each of them.
        let mut said = HashSet::new();
        brought.new.retain(|finding| {
            let place = finding.place.as_ref().map(ToString::to_string);
            place.is_none() || said.insert((identity(finding), place, finding.message.clone()))
        });
        brought
    }

    fn sort_out(&mut self, before: &[Finding], after: &[Finding]) {
        let known: HashSet<_> = before.iter().map(identity).collect();
        for finding in after {
            if known.contains(&identity(finding)) {
                self.older += 1;
            } else {
                self.new.push(finding.clone());
            }
        }
    }

    fn errors(&self) -> usize {
        self.new.iter().filter(|finding| finding.severity() == Severity::Error).count()
    }
}

/// The files that get annotations: their content in the head decides the lines.
pub fn annotated_files(judged: &PullJudgement) -> BTreeSet<RepoPath> {
    to_annotate(&NewFindings::by(judged).new).filter_map(|finding| finding.file().cloned()).collect()
}

/// Reports on a pull request that touches clusters.
pub fn check(judged: &PullJudgement) -> CheckReport {
    let brought = NewFindings::by(judged);
    let errors = brought.errors();
    let says = meaning(&judged.preflights, judged.preflight_mode);
    let conclusion = if errors > 0 || says == PreflightMeaning::Rejected {
        Conclusion::Failure
    } else if !judged.blocked.is_empty()
        || judged.failed.is_some()
        || !judged.gates.is_empty()
        || says == PreflightMeaning::ActionRequired
    {
        Conclusion::ActionRequired
    } else if says == PreflightMeaning::Awaited {
        Conclusion::Pending
    } else if says == PreflightMeaning::Neutral {
        Conclusion::Neutral
    } else {
        Conclusion::Success
    };
    let annotations = annotations(&brought.new, &judged.head_files);
    CheckReport {
        conclusion,
        title: title(judged, errors, brought.new.len() - errors),
        summary: summary(judged, &brought, annotations.len()),
        annotations,
        buttons: vec![],
    }
}

/// A finding is the same in two trees if rule, object and path are; one without an object, if its
/// file is.
fn identity(finding: &Finding) -> impl Eq + std::hash::Hash + use<> {
    let file = finding.object.is_none().then(|| finding.file().cloned());
    (finding.rule, finding.severity(), finding.object.clone(), finding.path.clone(), file)
}

fn title(judged: &PullJudgement, errors: usize, warnings: usize) -> String {
    let mut parts = Vec::new();
    if judged.failed.is_some() {
        parts.push("Capstan could not judge everything".to_owned());
    }
    if !judged.blocked.is_empty() {
        parts.push("the upgrade is blocked".to_owned());
    }
    parts.extend(judged.gates.iter().map(|gate| gate.title.clone()));
    parts.extend(preflight::title(&judged.preflights, judged.preflight_mode).map(str::to_owned));
    if errors > 0 {
        parts.push(count(errors, "error", "errors"));
    }
    if warnings > 0 {
        parts.push(count(warnings, "warning", "warnings"));
    }
    parts.extend(judged.outlook.as_ref().map(outlook::release_title));
    let beside = !judged.clusters.is_empty();
    parts.extend(judged.inventory.as_ref().map(|inventory| inventory_outlook::title(inventory, beside)));
    parts.extend(judged.settings.as_ref().and_then(outlook::settings_title));
    let judgements = || judged.clusters.iter().map(|cluster| &cluster.judgement);
    let changes: usize = judgements().map(|judgement| judgement.changes.len()).sum();
    let of_services: Vec<usize> = judgements()
        .map(|judgement| judgement.services.iter().map(JudgedService::count).sum())
        .filter(|services| *services > 0)
        .collect();
    let are_there = |clusters: usize| count(clusters, "cluster", "clusters");
    match judged.clusters.len() {
        0 if parts.is_empty() => parts.push("no cluster is touched".to_owned()),
        0 => {}
        _ if changes == 0 && !of_services.is_empty() => {}
        clusters => {
            parts.push(format!("{} in {}", count(changes, "change", "changes"), are_there(clusters)));
        }
    }
    if !of_services.is_empty() {
        let (changes, clusters) = (of_services.iter().sum(), of_services.len());
        parts.push(format!("{} of services in {}", count(changes, "change", "changes"), are_there(clusters)));
    }
    parts.extend(headline::machine_changes(
        judged.clusters.iter().flat_map(|cluster| &cluster.judgement.rollouts),
    ));
    sentence(&parts.join(", "))
}

fn summary(judged: &PullJudgement, brought: &NewFindings, annotated: usize) -> String {
    let NewFindings { new, older } = brought;
    let mut page = Page::new(MAX_BODY);
    if judged.basis == MergeBasis::HeadAlone {
        let alone = "> This pull request conflicts with its base branch. Capstan judged its head alone, not the merge result.\n";
        page.push(&format!("{}\n", Refusal::NotJudged.after(alone)));
    }
    if let Some(failed) = &judged.failed {
        page.push(&format!("{}\n", Refusal::NotJudged.after(&format!("> {}", prose(failed, 900)))));
    }
    for gate in &judged.gates {
        page.push(&format!("> {}\n\n", prose(&gate.why, 900)));
    }
    for note in judged.notes.iter().take(20) {
        page.push(&format!("> {}\n\n", prose(note, 900)));
    }
    // A sentence that is a finding with its place already is not repeated.
    let beside = judged.blocked.iter().filter(|why| !new.iter().any(|finding| finding.says(why)));
    let rows: Vec<String> = beside.map(|why| format!("- {}\n", prose(why, 900))).collect();
    page.section(&blocked_head(), &rows, 8_000, |left| more_items(left, "reason", "reasons"));
    let rows = preflight::rows(&judged.preflights, judged.preflight_mode);
    page.section(&preflight::head(&judged.preflights, judged.preflight_mode), &rows, 12_000, |left| {
        more_items(left, "cluster", "clusters")
    });
    page.section(&findings_head(), &tables::finding_rows(new), 16_000, |left| {
        let more = more(left, "finding", "findings");
        format!("- … and {more}; `capstan validate` in a checkout shows all of them.\n")
    });
    page.push(&not_annotated(new, annotated));
    if *older > 0 {
        page.push(&format!(
            "\n{} on the base branch already, and {} count here.\n",
            count(*older, "finding is", "findings are"),
            if *older == 1 { "does not" } else { "do not" }
        ));
    }
    if let Some(settings) = &judged.settings {
        outlook::settings(&mut page, settings, 12_000);
    }
    if let Some(inventory) = &judged.inventory {
        inventory_outlook::section(&mut page, inventory, !judged.clusters.is_empty(), 24_000);
    }
    if let Some(releases) = &judged.outlook {
        outlook::releases(&mut page, releases, 24_000);
    }
    carried::sections(&mut page, &judged.carried, 20_000);
    let clusters = judged.clusters.len().max(1);
    for (index, cluster) in judged.clusters.iter().enumerate() {
        let share = page.free().saturating_sub(300) / (clusters - index);
        if share < 1_000 {
            page.push(&more_below(clusters - index, "cluster", "clusters"));
            break;
        }
        one_cluster(&mut page, cluster, share);
    }
    page.finish()
}

fn one_cluster(page: &mut Page, judged: &JudgedCluster, share: usize) {
    let start = page.free();
    let judgement = &judged.judgement;
    page.push(&format!("\n### {}\n\n", code(judged.cluster.as_str(), 200)));
    if judgement.changes.is_empty() && judgement.rollouts.is_empty() {
        if judgement.services.is_empty() {
            page.push("The applied objects do not change.\n");
        }
        judged_services::sections(page, &judgement.services, share);
        return;
    }
    let head = format!("Machines:\n\n{}", tables::rollouts_head(&judgement.rollouts));
    page.section(&head, &tables::rollout_rows(&judgement.rollouts), share / 3, |left| {
        more_below(left, "rollout", "rollouts")
    });
    let room = share.saturating_sub(start.saturating_sub(page.free()));
    let changes = tables::differences_table(&judgement.changes);
    changes.push(page, "\nChanges of applied objects:\n\n", room, "`capstan diff`");
    let used = start.saturating_sub(page.free());
    judged_services::sections(page, &judgement.services, share.saturating_sub(used));
}

/// The note on findings in files that are not annotated.
fn not_annotated(new: &[Finding], annotated: usize) -> String {
    let with_file = new.iter().filter(|finding| finding.file().is_some()).count();
    let left = with_file.saturating_sub(annotated);
    if left == 0 {
        return String::new();
    }
    let why = format!("Capstan annotates at most {MAX_ANNOTATIONS} findings, and only in files of the head");
    let [is, line] = [fitting(annotated, "is", "are"), fitting(annotated, "its line", "their lines")];
    match annotated {
        0 => format!("\n{} annotated: {why}.\n", fitting(with_file, "It is not", "None of them is")),
        _ => format!(
            "\n{annotated} of them {is} annotated at {line}; {left} more {} not: {why}.\n",
            fitting(left, "is", "are"),
        ),
    }
}

/// Findings with a place in a file, errors first, up to the limit of annotations.
fn to_annotate(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    let mut errors_first: Vec<&Finding> =
        findings.iter().filter(|finding| finding.file().is_some()).collect();
    errors_first.sort_by_key(|finding| std::cmp::Reverse(finding.severity()));
    errors_first.into_iter().take(MAX_ANNOTATIONS)
}

fn annotations(findings: &[Finding], head: &BTreeMap<RepoPath, HeadFile>) -> Vec<Annotation> {
    let annotation = |finding: &Finding| {
        let path = finding.file().cloned()?;
        let (line, column) = (finding.line(), finding.line().and(finding.column()));
        let (line, column) = match (head.get(&path), line) {
            (Some(HeadFile::Absent), _) => return None,
            (Some(HeadFile::Differs(lines)), Some(line)) => match lines.of(line) {
                HeadLine::Same(line) => (line, column),
                HeadLine::Near(line) => (line, None),
            },
            (_, line) => (line.unwrap_or(1), column),
        };
        Some(Annotation {
            path,
            line,
            column,
            level: match finding.severity() {
                Severity::Error => AnnotationLevel::Failure,
                Severity::Warning => AnnotationLevel::Warning,
            },
            title: finding.rule.id().to_owned(),
            message: one_line(&finding.message, 4_000),
        })
    };
    to_annotate(findings).filter_map(annotation).collect()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
