//! How far a change of an inventory reaches: which clusters it changes, and how many of each level.
//!
//! Two whole inventories go in, the one before and the one after. A cluster is rendered only where something that its
//! render sees differs.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::finding::{Finding, Severity, rules};
use capstan_model::ids::ReleaseId;
use capstan_model::tree::RepoPath;

use super::kinds::Object;
use super::origin::LevelKind;
use super::survey::Survey;
use super::templates::Rendered;
use super::values::{ClusterValues, Member};

/// What becomes of one cluster.
#[derive(Debug)]
pub struct Reached {
    /// Its definition's name.
    pub name: String,
    /// Its folder, or its name where it has none.
    pub id: String,
    /// What it belongs to: afterwards, or before where it is gone.
    pub levels: BTreeMap<LevelKind, String>,
    /// What becomes of it.
    pub fate: Fate,
}

/// What a change of the inventory does to a cluster.
#[derive(Debug)]
pub enum Fate {
    /// Its render stays as it is.
    Unchanged,
    /// Its render is another one.
    Changed(Box<Course>),
    /// It was not defined before.
    Created,
    /// It says `retire: true` now.
    Retired,
    /// It cannot be rendered any more, or its definition is gone: nothing becomes of it.
    Refused(Vec<Finding>),
}

/// From what to what a render goes.
#[derive(Debug)]
pub struct Course {
    /// The folder afterwards.
    pub folder: RepoPath,
    /// Before; `None` where nobody knows what it was.
    pub from: Option<Rendering>,
    /// After.
    pub to: Rendering,
}

/// A render and what it was made of.
#[derive(Debug)]
pub struct Rendering {
    /// The release.
    pub release: Option<ReleaseId>,
    /// The values.
    pub values: ClusterValues,
    /// The names of its levels.
    pub levels: BTreeMap<LevelKind, String>,
    /// What the templates came to.
    pub rendered: Rendered,
}

/// What becomes of every cluster, ordered by id.
pub fn reach(before: &Survey, after: &Survey) -> Vec<Reached> {
    let names: BTreeSet<&str> = [before, after]
        .into_iter()
        .flat_map(|survey| survey.inventory.clusters())
        .map(|definition| definition.level.name.as_str())
        .collect();
    let mut all: Vec<Reached> = names.into_iter().filter_map(|name| reached(before, after, name)).collect();
    all.sort_by(|one, other| one.id.cmp(&other.id));
    all
}

fn reached(before: &Survey, after: &Survey, name: &str) -> Option<Reached> {
    let (was, is) = (before.inventory.cluster(name), after.inventory.cluster(name));
    let Some(definition) = is else {
        let definition = was?;
        let member = Member::of(&before.inventory, definition).ok();
        return Some(Reached {
            name: name.to_owned(),
            id: id(before, member.as_ref(), name),
            levels: member.map(|member| member.levels).unwrap_or_default(),
            fate: Fate::Refused(vec![gone(definition)]),
        });
    };
    let member = match Member::of(&after.inventory, definition) {
        Ok(member) => member,
        Err(wrong) => {
            let levels = BTreeMap::new();
            return Some(Reached {
                name: name.to_owned(),
                id: name.to_owned(),
                levels,
                fate: Fate::Refused(wrong),
            });
        }
    };
    let fate = fate(before, after, was, &member);
    let (id, levels) = (id(after, Some(&member), name), member.levels.clone());
    Some(Reached { name: name.to_owned(), id, levels, fate })
}

fn id(survey: &Survey, member: Option<&Member<'_>>, name: &str) -> String {
    let folder = member.and_then(|member| survey.folder(member).ok());
    folder.map_or_else(|| name.to_owned(), |folder| folder.to_string())
}

/// A definition that is no longer there retires nothing.
fn gone(definition: &Object) -> Finding {
    let place = definition.level.place(definition.offset);
    let message = format!(
        "{} stood here and is gone: nothing becomes of its cluster. To take it down, say `retire: true` in it first",
        definition.level
    );
    Finding::new(rules::DEFINITION_REMOVED, message).place(place)
}

fn fate(before: &Survey, after: &Survey, was: Option<&Object>, member: &Member<'_>) -> Fate {
    let was_retiring = was.is_some_and(|definition| definition.retire.is_some());
    if member.definition.retire.is_some() {
        return if was_retiring { Fate::Unchanged } else { Fate::Retired };
    }
    let to_values = after.values(member);
    let folder = match after.folder(member) {
        Ok(folder) => folder,
        Err(error) => return Fate::Refused(vec![Finding::from(&error)]),
    };
    let old = was.and_then(|definition| Member::of(&before.inventory, definition).ok());
    let Some(old) = old.filter(|_| !was_retiring) else {
        return match after.render(member, &to_values) {
            Err(wrong) => Fate::Refused(errors(wrong)),
            // Nobody knows what it was before.
            Ok(_) if was.is_some() && !was_retiring => changed(after, member, folder, None, to_values),
            Ok(_) => Fate::Created,
        };
    };
    let from_values = before.values(&old);
    let sees_the_same = !has_errors(&to_values.findings)
        && from_values.value() == to_values.value()
        && old.levels == member.levels
        && before.folder(&old).ok().as_ref() == Some(&folder)
        && before.sees(&old) == after.sees(member);
    if sees_the_same && !before.is_management(&old) {
        return Fate::Unchanged;
    }
    changed(after, member, folder, Some((before, old, from_values)), to_values)
}

fn changed(
    after: &Survey,
    member: &Member<'_>,
    folder: RepoPath,
    old: Option<(&Survey, Member<'_>, ClusterValues)>,
    to_values: ClusterValues,
) -> Fate {
    let to = match after.render(member, &to_values) {
        Ok(rendered) => Rendering {
            release: after.release(member),
            levels: member.levels.clone(),
            rendered,
            values: to_values,
        },
        Err(wrong) => return Fate::Refused(errors(wrong)),
    };
    let from = old.and_then(|(before, old, values)| {
        let rendered = before.render(&old, &values).ok()?;
        Some(Rendering { release: before.release(&old), levels: old.levels.clone(), rendered, values })
    });
    let texts = |side: &Rendering| -> Vec<(String, String)> {
        side.rendered.files.iter().map(|file| (file.name.clone(), file.text.clone())).collect()
    };
    if from.as_ref().is_some_and(|from| from.release == to.release && texts(from) == texts(&to)) {
        return Fate::Unchanged;
    }
    Fate::Changed(Box::new(Course { folder, from, to }))
}

fn has_errors(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity() == Severity::Error)
}

fn errors(findings: Vec<Finding>) -> Vec<Finding> {
    if !has_errors(&findings) {
        return findings;
    }
    findings.into_iter().filter(|finding| finding.severity() == Severity::Error).collect()
}

/// How far a change reaches into one object of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelReach {
    /// Its kind.
    pub level: LevelKind,
    /// Its name.
    pub name: String,
    /// Clusters in it.
    pub clusters: usize,
    /// Clusters of those that change.
    pub changed: usize,
    /// Clusters of those whose machines are replaced.
    pub rolling: usize,
    /// Machines that are replaced, as far as Git says how many there are.
    pub machines: u64,
}

/// Counts by the objects of these levels, those left out in which nothing changes. `machines` says how many machines of
/// a changed cluster are replaced; `None` where none are.
pub fn by_level(
    levels: &[LevelKind],
    clusters: &[Reached],
    machines: impl Fn(&Reached) -> Option<u64>,
) -> Vec<LevelReach> {
    let mut counts: BTreeMap<(usize, &str), LevelReach> = BTreeMap::new();
    for cluster in clusters {
        for (at, level) in levels.iter().enumerate() {
            let Some(name) = cluster.levels.get(level) else { continue };
            let count = counts.entry((at, name.as_str())).or_insert_with(|| LevelReach {
                level: *level,
                name: name.clone(),
                clusters: 0,
                changed: 0,
                rolling: 0,
                machines: 0,
            });
            count.clusters += 1;
            if !matches!(cluster.fate, Fate::Changed(_)) {
                continue;
            }
            count.changed += 1;
            if let Some(machines) = machines(cluster) {
                count.rolling += 1;
                count.machines += machines;
            }
        }
    }
    counts.into_values().filter(|count| count.changed > 0).collect()
}

#[cfg(test)]
#[path = "reach_tests.rs"]
mod tests;
