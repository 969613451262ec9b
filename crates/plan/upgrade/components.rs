//! Components and apps that an upgrade brings, moves or takes away.

use super::change_source::ChangeSource;
use super::component::{ComponentChange, ComponentVersion, ReleaseList};
use crate::release::changelogs;

/// What differs, components first, in the order of the new release; what goes comes last of its list.
pub(super) fn differences(old: &dyn ChangeSource, new: &dyn ChangeSource) -> Vec<ComponentChange> {
    let (all_before, all_after) = (old.components(), new.components());
    let of_part = |all: &[ComponentVersion], part: ReleaseList| -> Vec<(String, String)> {
        let own = all.iter().filter(|component| component.part == part);
        own.map(|component| (component.name.clone(), component.version.clone())).collect()
    };
    let mut changes = Vec::new();
    for (part, _) in ReleaseList::ALL {
        let (before, after) = (of_part(&all_before, part), of_part(&all_after, part));
        let of = |name: &str, old: Option<&String>, new: Option<&String>| ComponentChange {
            part,
            name: name.to_owned(),
            old: old.cloned(),
            new: new.cloned(),
            changelogs: Vec::new(),
        };
        let version = |of: &[(String, String)], name: &str| {
            of.iter().find(|(other, _)| other == name).map(|(_, version)| version.clone())
        };
        for (name, new) in &after {
            let old = version(&before, name);
            if old.as_ref() != Some(new) {
                changes.push(of(name, old.as_ref(), Some(new)));
            }
        }
        let gone = before.iter().filter(|(name, _)| version(&after, name).is_none());
        changes.extend(gone.map(|(name, old)| of(name, Some(old), None)));
    }
    changes
}

/// Adds the links that the notes of one release on the way give; call it for the oldest first.
pub fn link_changelogs(changes: &mut [ComponentChange], notes: &str) {
    for (name, link) in changelogs(notes) {
        let named = changes.iter_mut().filter(|change| change.name.eq_ignore_ascii_case(&name));
        for change in named.filter(|change| change.new.is_some()) {
            if !change.changelogs.contains(&link) {
                change.changelogs.push(link.clone());
            }
        }
    }
}

/// The version of a component that a source brings.
pub(super) fn component(source: &dyn ChangeSource, name: &str) -> Option<String> {
    let is_it =
        |component: &ComponentVersion| component.part == ReleaseList::Component && component.name == name;
    source.components().into_iter().find(is_it).map(|component| component.version)
}
