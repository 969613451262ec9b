//! Old releases and components that clusters record and a snapshot does not hold: a caller may find and give them.
//!
//! Clusters that cannot be read are passed over: planning them says why.

use std::collections::BTreeSet;
use std::sync::Weak;

use capstan_model::ids::{ClusterId, ContentId, ReleaseId};

use super::Fleet;
use super::cached_snapshot::CachedSnapshot;
use super::kept_plan::record_of;

/// Contents that these clusters record of their old release, and of the components of their values, and that the
/// snapshot does not have there now.
pub fn missing_contents<'a>(
    fleet: &Fleet,
    clusters: impl IntoIterator<Item = &'a ClusterId>,
) -> BTreeSet<ContentId> {
    let records = clusters.into_iter().filter_map(|id| record_of(fleet, id));
    records
        .flat_map(|record| {
            let components: Vec<ContentId> = record.moved_components(fleet.tree().as_ref()).collect();
            record.content.into_iter().chain(components)
        })
        .filter(|content| !has_content(fleet, content))
        .collect()
}

/// [`missing_contents`] of all clusters.
pub fn missing_contents_of_all(fleet: &Fleet) -> BTreeSet<ContentId> {
    let known = fleet.look().map(CachedSnapshot::known).unwrap_or_default();
    let mut contents = BTreeSet::new();
    let mut last = None;
    for (at, folder) in fleet.layout().targets.iter().enumerate() {
        let kept = known.get(at).and_then(Weak::upgrade);
        let read = if kept.is_none() { record_of(fleet, &folder.id) } else { None };
        let Some(record) = kept.as_deref().map(|kept| &kept.record).or(read.as_ref()) else { continue };
        contents.extend(record.moved_components(fleet.tree().as_ref()));
        // Most clusters of a fleet are at the same release.
        if record.content != last {
            contents.extend(record.content.clone());
            last.clone_from(&record.content);
        }
    }
    contents.retain(|content| !has_content(fleet, content));
    contents
}

/// Releases that these clusters record and that are in no folder, for clusters whose record does not
/// lead to their content by its id either: their history may still have them.
pub fn missing_releases<'a>(
    fleet: &Fleet,
    clusters: impl IntoIterator<Item = &'a ClusterId>,
) -> BTreeSet<ReleaseId> {
    let catalogue = fleet.catalogue();
    let recorded = clusters.into_iter().filter_map(|id| {
        let record = record_of(fleet, id)?;
        let is_known = record.content.is_some_and(|content| has_content(fleet, &content));
        record.release.filter(|_| !is_known)
    });
    let unreadable = |id: &ReleaseId| catalogue.unreadable().iter().any(|(other, _)| other == id);
    recorded.filter(|id| catalogue.find(id).is_none() && !unreadable(id)).collect()
}

/// Whether the content of an old release is at hand.
fn has_content(fleet: &Fleet, content: &ContentId) -> bool {
    fleet.catalogue().find_content(content).is_some() || fleet.supplement().contents.contains_key(content)
}
