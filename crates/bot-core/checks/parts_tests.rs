//! What a report consists of: a row is what is known so far, and the part that comes next or the report.

use std::sync::Arc;

use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::inventory::InventoryOutlook;
use capstan_plan::settings::{Mode, RepositorySettings};
use capstan_report::{Becomes, ChangedRelease, JudgedReleases, MergeBasis, ReleaseOutlook, SettingsOutlook};

use super::*;
use crate::proposals::Remarks;
use crate::testing::{V22, commit, release, tree};

fn comparison() -> Comparison {
    let [before, after] =
        ["a: 1", "a: 2"].map(|text| Arc::new(tree(&[("README.md", text)])) as Arc<dyn Tree>);
    Comparison { before, base: commit('0'), after, commit: commit('c'), basis: MergeBasis::Merge }
}

/// What is judged, as rows change it.
#[derive(Default)]
struct Judged {
    changes_settings: bool,
    remarks: Remarks,
    clusters: Vec<ClusterId>,
    left_out: Option<String>,
}

impl Judged {
    fn with<T>(&self, look: impl FnOnce(PartsFacts<'_>) -> T) -> T {
        look(PartsFacts {
            comparison: &comparison(),
            changes_settings: self.changes_settings,
            settings: &RepositorySettings::default(),
            remarks: &self.remarks,
            preflights: &[],
            clusters: &self.clusters,
            left_out: self.left_out.as_ref(),
        })
    }

    fn next(&self, parts: &Parts) -> String {
        self.with(|of| match next_part(of, parts) {
            None => "all".to_owned(),
            Some(PartsNeed::ReleaseOutlook(changed)) => format!("ReleaseOutlook of {}", changed.len()),
            Some(need) => format!("{need:?}"),
        })
    }
}

fn settings(mode: Mode) -> NewSettings {
    NewSettings { settings: RepositorySettings { mode, ..RepositorySettings::default() }, scopes: Vec::new() }
}

fn unreadable() -> FileError {
    let path = RepoPath::parse(".capstan.yaml").unwrap();
    FileError::new(rules::TOO_LARGE, Place::whole(path), "it is broken".to_owned())
}

fn releases(changed: usize) -> JudgedReleases {
    let one = ChangedRelease { release: release(V22).release().unwrap(), becomes: Becomes::Added };
    JudgedReleases { changed: vec![one; changed], ..JudgedReleases::default() }
}

fn inventory() -> InventoryJudged {
    let outlook = InventoryOutlook::default();
    let beyond = Some(Finding::new(rules::TOO_LARGE, "too many clusters"));
    InventoryJudged { outlook, beyond, findings: [Vec::new(), Vec::new()] }
}

#[test]
fn a_part_is_asked_for_where_the_change_has_it() {
    let (same, changes) = (Judged::default(), Judged { changes_settings: true, ..Judged::default() });
    let with = |new_settings, releases| Parts { new_settings, releases, ..Parts::default() };
    let outlook = || Some((Vec::new(), Ok(SettingsOutlook::default())));
    for (judged, parts, expected) in [
        (&same, Parts::default(), "Releases"),
        (&same, with(None, Some(releases(0))), "Inventory"),
        (&same, with(None, Some(releases(2))), "ReleaseOutlook of 2"),
        (&same, Parts { inventory: Some(None), ..with(None, Some(releases(0))) }, "all"),
        (&changes, Parts::default(), "NewSettings"),
        (&changes, with(Some(Err(unreadable())), None), "Releases"),
        // A comment changed: the settings are the same.
        (&changes, with(Some(Ok(settings(Mode::Propose))), None), "Releases"),
        (&changes, with(Some(Ok(settings(Mode::Observe))), None), "SettingsOutlook"),
        (
            &changes,
            Parts { settings_outlook: outlook(), ..with(Some(Ok(settings(Mode::Observe))), None) },
            "Releases",
        ),
    ] {
        assert_eq!(judged.next(&parts), expected);
    }
}

#[test]
fn a_change_that_concerns_no_cluster_has_nothing_to_report() {
    let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
    let blocked = Remarks { blocked: vec!["it is held".to_owned()], ..Remarks::default() };
    let unknown = |why: &str| Some(Err(why.to_owned()));
    for (judged, parts, expected) in [
        (Judged::default(), Parts::default(), false),
        (Judged { clusters: vec![cluster], ..Judged::default() }, Parts::default(), true),
        (Judged { changes_settings: true, ..Judged::default() }, Parts::default(), true),
        (Judged { remarks: blocked, ..Judged::default() }, Parts::default(), true),
        (Judged { left_out: Some("1 other".to_owned()), ..Judged::default() }, Parts::default(), true),
        (Judged::default(), Parts { inventory: Some(Some(Ok(inventory()))), ..Parts::default() }, true),
        (Judged::default(), Parts { inventory: Some(unknown("too long")), ..Parts::default() }, true),
        (
            Judged::default(),
            Parts { release_outlook: Some(Ok(ReleaseOutlook::default())), ..Parts::default() },
            true,
        ),
    ] {
        let is_reported = judged.with(|of| put_together(of, parts).is_some());
        assert_eq!(is_reported, expected);
    }
}

#[test]
fn clusters_are_judged_under_new_settings_too_where_they_differ() {
    let judged = Judged { changes_settings: true, ..Judged::default() };
    let outlook = |why: Option<&str>| {
        let finding = Finding::new(rules::TOO_LARGE, "a wave without clusters");
        let outlook = why.map_or_else(|| Ok(SettingsOutlook::default()), |why| Err(why.to_owned()));
        Some((vec![finding], outlook))
    };
    // Under how many settings, how many findings and notes, and whether an outlook is shown.
    for (new, settings_outlook, expected) in [
        (Ok(settings(Mode::Propose)), None, (1, 0, 1, false)),
        (Ok(settings(Mode::Observe)), outlook(None), (2, 1, 1, true)),
        (Ok(settings(Mode::Observe)), outlook(Some("it took too long")), (2, 1, 2, false)),
        (Err(unreadable()), None, (1, 1, 0, false)),
    ] {
        let parts = Parts { new_settings: Some(new), settings_outlook, ..Parts::default() };
        let WholeParts { judged, under } = judged.with(|of| put_together(of, parts)).unwrap();
        let found = (under.len(), judged.findings.len(), judged.notes.len(), judged.settings.is_some());
        assert_eq!(found, expected, "{:?}", judged.notes);
    }
}

#[test]
fn an_outlook_that_is_unknown_is_a_note() {
    let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
    let judged = Judged { clusters: vec![cluster], ..Judged::default() };
    let unknown = "nobody knows".to_owned();
    for (parts, notes, findings) in [
        (Parts { release_outlook: Some(Err(unknown.clone())), ..Parts::default() }, &["nobody knows"][..], 0),
        (Parts { inventory: Some(Some(Err(unknown))), ..Parts::default() }, &["nobody knows"][..], 0),
        (Parts { inventory: Some(Some(Ok(inventory()))), ..Parts::default() }, &[][..], 1),
        (Parts::default(), &[][..], 0),
    ] {
        let found = judged.with(|of| put_together(of, parts)).unwrap().judged;
        assert_eq!(
            (found.notes.as_slice(), found.findings.len()),
            (&notes.iter().map(|note| (*note).to_owned()).collect::<Vec<_>>()[..], findings)
        );
    }
}
