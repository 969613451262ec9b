//! What a report says besides its clusters: one part after the other, each only where it is needed.

use capstan_live::agent::preflight::Preflight;
use capstan_model::finding::{FileError, Finding};
use capstan_model::ids::ClusterId;
use capstan_plan::proposal::Scope;
use capstan_plan::settings::RepositorySettings;
use capstan_report::{ChangedRelease, JudgedReleases, PullJudgement, ReleaseOutlook, SettingsOutlook};

use super::inputs::overrides_in_words;
use super::inventory::InventoryJudged;
use super::judging::{Comparison, begun, claimed_twice, says_nothing};
use crate::proposals::Remarks;

/// A comparison that is judged, with what decides about its report.
#[derive(Clone, Copy)]
pub struct PartsFacts<'a> {
    /// What is judged.
    pub comparison: &'a Comparison,
    /// Whether it changes the settings.
    pub changes_settings: bool,
    /// The settings of the base branch.
    pub settings: &'a RepositorySettings,
    /// What the check says besides.
    pub remarks: &'a Remarks,
    /// The live clusters' answers.
    pub preflights: &'a [Preflight],
    /// The clusters that are judged.
    pub clusters: &'a [ClusterId],
    /// What is said of those that are not.
    pub left_out: Option<&'a String>,
}

/// A part that is needed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartsNeed<'a> {
    /// The settings as the change leaves them.
    NewSettings,
    /// What these change, where they differ.
    SettingsOutlook,
    /// The releases that differ.
    Releases,
    /// Which clusters these are offered to.
    ReleaseOutlook(&'a [ChangedRelease]),
    /// What becomes of clusters through the inventory.
    Inventory,
}

/// Settings as a change leaves them.
#[derive(Clone)]
pub struct NewSettings {
    pub settings: RepositorySettings,
    /// The targets that they find.
    pub scopes: Vec<Scope>,
}

/// The parts so far. One that is absent was not asked for.
#[derive(Default)]
pub struct Parts {
    /// The settings as the change leaves them; an error where they cannot be read.
    pub new_settings: Option<Result<NewSettings, FileError>>,
    /// What is found in their campaigns, and what they change, or why that is unknown.
    pub settings_outlook: Option<(Vec<Finding>, Result<SettingsOutlook, String>)>,
    /// The releases that differ.
    pub releases: Option<JudgedReleases>,
    /// Which clusters these are offered to, or why that is unknown.
    pub release_outlook: Option<Result<ReleaseOutlook, String>>,
    /// What becomes of clusters through the inventory, or why that is unknown; `None` inside where it stays.
    pub inventory: Option<Option<Result<InventoryJudged, String>>>,
}

/// A report that lacks its clusters alone.
pub struct WholeParts {
    /// What it says.
    pub judged: PullJudgement,
    /// The settings under which clusters are judged: those of the base branch, and the new ones.
    pub under: Vec<RepositorySettings>,
}

/// The next part that a report needs.
pub fn next_part<'p>(of: PartsFacts<'_>, parts: &'p Parts) -> Option<PartsNeed<'p>> {
    if of.changes_settings {
        match &parts.new_settings {
            None => return Some(PartsNeed::NewSettings),
            Some(Ok(new)) if new.settings != *of.settings && parts.settings_outlook.is_none() => {
                return Some(PartsNeed::SettingsOutlook);
            }
            Some(_) => {}
        }
    }
    match &parts.releases {
        None => return Some(PartsNeed::Releases),
        Some(releases) if !releases.changed.is_empty() && parts.release_outlook.is_none() => {
            return Some(PartsNeed::ReleaseOutlook(&releases.changed));
        }
        Some(_) => {}
    }
    parts.inventory.is_none().then_some(PartsNeed::Inventory)
}

/// Puts a report together; `None` where the change touches nothing.
pub fn put_together(of: PartsFacts<'_>, parts: Parts) -> Option<WholeParts> {
    let mut judged = begun(of.comparison, of.remarks, of.preflights, of.settings);
    let mut under = vec![of.settings.clone()];
    judged.notes.extend(of.left_out.cloned());
    judged.notes.extend(overrides_in_words(of.remarks));
    match parts.new_settings {
        None => {}
        Some(Err(problem)) => judged.findings.extend(problem.findings()),
        Some(Ok(new)) => {
            let both = [of.settings, &new.settings];
            judged.findings.extend(claimed_twice(of.comparison, both, &new.scopes));
            judged.notes.push(
                "This pull request changes the settings: it was checked with the settings of the base branch and with its own."
                    .to_owned(),
            );
            if let Some((campaigns, outlook)) = parts.settings_outlook {
                judged.findings.extend(campaigns);
                noted(&mut judged.notes, &mut judged.settings, outlook);
                under.push(new.settings);
            }
        }
    }
    judged.releases = parts.releases.unwrap_or_default();
    if let Some(outlook) = parts.release_outlook {
        noted(&mut judged.notes, &mut judged.outlook, outlook);
    }
    match parts.inventory.flatten() {
        None => {}
        Some(Err(why)) => judged.notes.push(why),
        Some(Ok(InventoryJudged { outlook, beyond, findings })) => {
            judged.inventory_findings = findings;
            judged.findings.extend(beyond);
            judged.inventory = Some(outlook);
        }
    }
    let is_untouched = of.clusters.is_empty() && !of.changes_settings && says_nothing(&judged);
    (!is_untouched).then_some(WholeParts { judged, under })
}

/// A part, or the note why it is lacking: it never prevents a conclusion.
fn noted<T>(notes: &mut Vec<String>, part: &mut Option<T>, found: Result<T, String>) {
    match found {
        Ok(found) => *part = Some(found),
        Err(why) => notes.push(why),
    }
}
