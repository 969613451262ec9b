//! The content of a report, once a head is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_live::agent::preflight::Preflight;
use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_model::tree::{CommitId, RepoPath, Tree, TreeEntry, differences};
use capstan_model::wording::{count, fitting};
use capstan_plan::proposal::{Scope, buttons};
use capstan_plan::settings::{REPOSITORY_FILE, RepositorySettings};
use capstan_plan::upgrade::Upgrade;
use capstan_report::{
    CheckReport, Conclusion, HeadFile, HeadLines, JudgedCluster, MergeBasis, PullJudgement,
};

use crate::facts::{Scopes, settings_file};
use crate::proposals::Remarks;

/// Clusters judged because they use a class that another folder's change affects.
const MOST_USERS: usize = 50;

/// What a pull request is judged by.
#[derive(Clone)]
pub struct Comparison {
    /// The tree without it.
    pub before: Arc<dyn Tree>,
    /// The commit whose content `before` is.
    pub base: CommitId,
    /// The tree with it.
    pub after: Arc<dyn Tree>,
    /// The commit whose content `after` is: the head, or GitHub's test merge of it.
    pub commit: CommitId,
    /// Whether that is the merge result.
    pub basis: MergeBasis,
}

impl Remarks {
    /// Whether there is nothing to report besides the content.
    pub fn says_nothing(&self) -> bool {
        self.notes.is_empty() && self.blocked.is_empty() && self.overrides.is_empty() && self.gates.is_empty()
    }
}

/// What is known before anything is judged.
pub(super) fn begun(
    comparison: &Comparison,
    remarks: &Remarks,
    preflights: &[Preflight],
    settings: &RepositorySettings,
) -> PullJudgement {
    PullJudgement {
        basis: comparison.basis,
        notes: remarks.notes.clone(),
        blocked: remarks.blocked.clone(),
        gates: remarks.gates.clone(),
        preflights: preflights.to_vec(),
        preflight_mode: settings.preflight.mode,
        ..PullJudgement::default()
    }
}

/// Whether a head changes the settings.
pub fn changes_settings(comparison: &Comparison) -> bool {
    let differences = differences(&*comparison.before, &*comparison.after);
    differences.iter().any(|difference| difference.path.as_str() == REPOSITORY_FILE)
}

/// Whether there is nothing to report besides clusters.
pub(super) const fn says_nothing(judged: &PullJudgement) -> bool {
    judged.inventory.is_none()
        && judged.outlook.is_none()
        && judged.notes.is_empty()
        && judged.blocked.is_empty()
        && judged.gates.is_empty()
}

/// Combines what the rules find under each of the settings that count, what planning found, and the exempt
/// errors. A finding about one cluster concerns no other.
pub fn settle(
    judged: &mut PullJudgement,
    by_settings: Vec<Vec<JudgedCluster>>,
    remarks: &Remarks,
    (before, after): (&dyn Tree, &dyn Tree),
) {
    let mut by_settings = by_settings.into_iter();
    judged.clusters = by_settings.next().unwrap_or_default();
    for more in by_settings {
        add_findings(&mut judged.clusters, more);
    }
    for one in &mut judged.clusters {
        let target = Target::from(one.cluster.clone());
        for finding in remarks.findings.get(&target).into_iter().flatten() {
            add_finding(&mut one.judgement.after, finding.clone());
        }
        let Some(overrides) = remarks.overrides.get(&target) else { continue };
        for finding in &mut one.judgement.after {
            if overrides.iter().any(|one| one.rule == finding.rule.id()) {
                *finding = finding.clone().warning();
            }
        }
    }
    for exemption in &remarks.exemptions {
        let of_it = |judged: &&mut JudgedCluster| judged.cluster.as_str() == exemption.target.path();
        if let Some(cluster) = judged.clusters.iter_mut().find(of_it) {
            judged.notes.extend(exemption.apply(before, after, &mut cluster.judgement.after));
        }
    }
}

/// A report with the buttons of its proposal, if it is an open one.
pub fn with_buttons(mut report: CheckReport, remarks: &Remarks) -> CheckReport {
    if let Some(stage) = remarks.stage {
        let passes = matches!(report.conclusion, Conclusion::Success | Conclusion::Neutral);
        report.buttons = buttons(stage, remarks.approved.as_ref(), passes);
    }
    report
}

/// The files that a merge would change differently from these upgrades.
pub fn edited_files(before: &dyn Tree, after: &dyn Tree, upgrades: &[Arc<Upgrade>]) -> Vec<RepoPath> {
    let wanted: BTreeMap<&RepoPath, Option<&str>> = upgrades
        .iter()
        .flat_map(|upgrade| &upgrade.files)
        .map(|file| (&file.path, file.after.as_deref()))
        .collect();
    let is_wanted = |path: &RepoPath, text: Option<&str>| match (after.entry(path), text) {
        (None, None) => true,
        (Some(entry), Some(text)) => after.read(entry).is_ok_and(|read| *read == *text.as_bytes()),
        _ => false,
    };
    let mut edited: BTreeSet<RepoPath> = wanted
        .iter()
        .filter(|(path, text)| !is_wanted(path, **text))
        .map(|(path, _)| (*path).clone())
        .collect();
    let others = differences(before, after).into_iter().map(|difference| difference.path.clone());
    edited.extend(others.filter(|path| !wanted.contains_key(path)));
    edited.into_iter().collect()
}

/// A file of the head, if it differs from the judged one.
pub fn head_file(judged: &dyn Tree, head: &dyn Tree, path: &RepoPath) -> Option<HeadFile> {
    let (Some(one), other) = (judged.entry(path), head.entry(path)) else { return None };
    if other.is_some_and(|other| other.blob == one.blob) {
        return None;
    }
    let text = |tree: &dyn Tree, entry: &TreeEntry| String::from_utf8(tree.read(entry).ok()?.to_vec()).ok();
    let texts = other.and_then(|other| Some((text(judged, one)?, text(head, other)?)));
    Some(match texts {
        Some((judged, head)) => HeadFile::Differs(HeadLines::between(&judged, &head)),
        None => HeadFile::Absent,
    })
}

/// Clusters that two management clusters claim under the new settings, and did not under the old.
pub(super) fn claimed_twice(
    comparison: &Comparison,
    [old, new]: [&RepositorySettings; 2],
    scopes: &[Scope],
) -> Vec<Finding> {
    let Some(entry) = settings_file(comparison.after.as_ref()) else { return Vec::new() };
    let text = comparison.after.read(entry).ok();
    let text = text.as_deref().and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
    let clusters = || scopes.iter().filter_map(|scope| scope.target.cluster());
    let was = |cluster: &&ClusterId| old.claimed_by(cluster).is_ok();
    new.check_claims(&entry.path, text, clusters().filter(was)).iter().map(Finding::from).collect()
}

/// The clusters that are judged, and what is said of others: those that a change touches, and some of those that use a
/// class which it changes.
pub fn to_judge(
    touched: Vec<ClusterId>,
    mut users: Vec<ClusterId>,
    scopes: &Scopes,
) -> (Vec<ClusterId>, Option<String>) {
    users.retain(|user| scopes.contains_key(&Target::from(user.clone())) && !touched.contains(user));
    let left_out = users.split_off(users.len().min(MOST_USERS));
    let mut clusters = [touched, users].concat();
    clusters.sort();
    (clusters, note_of_users(&left_out))
}

/// The note on clusters that use a changed class and are not judged.
fn note_of_users(left_out: &[ClusterId]) -> Option<String> {
    let first = left_out.first()?;
    Some(format!(
        "More clusters than the {MOST_USERS} that Capstan checks here use the ClusterClasses that this pull request changes. Not checked: {}, {first} {}.",
        count(left_out.len(), "other", "others"),
        fitting(left_out.len(), "alone", "the first of them")
    ))
}

fn add_findings(clusters: &mut [JudgedCluster], more: Vec<JudgedCluster>) {
    for other in more {
        let Some(cluster) = clusters.iter_mut().find(|cluster| cluster.cluster == other.cluster) else {
            continue;
        };
        for finding in other.judgement.after {
            add_finding(&mut cluster.judgement.after, finding);
        }
    }
}

fn add_finding(findings: &mut Vec<Finding>, more: Finding) {
    let same = |finding: &Finding| {
        finding.rule == more.rule && finding.object == more.object && finding.path == more.path
    };
    if !findings.iter().any(same) {
        findings.push(more);
    }
}
