//! What the releases' `capstan.yaml` say of services, owners and the cloud, merged into the cluster's: entry by entry by
//! their names, and each key of an entry for itself.

use std::collections::{BTreeMap, BTreeSet};

use super::release::{CLOUD, LISTS};
use super::step::ServicesStep;
use crate::settings::{ConflictPolicy, FOLDER_FILE, heading};
use crate::upgrade::{PlannedUpgrade, ServiceCourse};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::object::FieldPath;
use capstan_model::tree::RepoPath;
use capstan_yaml::{DocumentEdit, Edit, Node, YamlFile, edit, same_meaning, write};

/// What becomes of one entry of `services`.
pub(super) struct EntryChange {
    pub(super) course: ServiceCourse,
    /// Keys that change.
    pub(super) keys: Vec<String>,
}

/// Merges them into the cluster's `capstan.yaml`, as the rest of the upgrade leaves it; what becomes of each service's
/// entry, by its name.
///
/// # Errors
/// A `capstan.yaml` that cannot be read as YAML.
pub(super) fn merge_declared(
    step: &ServicesStep<'_>,
    planned: &mut PlannedUpgrade,
) -> Result<BTreeMap<String, EntryChange>, FileError> {
    let folder = step.cluster.id.folder();
    let path = folder.join(FOLDER_FILE).unwrap_or_default();
    let change = planned.intended.iter().position(|change| change.path == path);
    let recorded = step.cluster.record.as_ref().map(|file| file.text().to_owned());
    let text = match change {
        Some(at) => planned.intended[at].after.clone(),
        None => recorded.clone(),
    };
    let unreadable = |error: capstan_yaml::YamlError| {
        FileError::new(rules::INVALID_YAML, Place::at(path.clone(), error.position), error.message)
    };
    let yaml = text.as_deref().map(YamlFile::read).transpose().map_err(unreadable)?;
    let document = yaml
        .as_ref()
        .and_then(|yaml| yaml.documents().iter().position(|document| document.root.as_mapping().is_some()));
    let empty = Node::mapping::<String>([]);
    let root = yaml.as_ref().zip(document).map_or(&empty, |(yaml, at)| &yaml.documents()[at].root);
    let mut merging =
        Merging { step, root, edits: Vec::new(), changed: BTreeMap::new(), disputed: Vec::new() };
    for key in LISTS {
        merging.list(key);
    }
    merging.cloud();
    let Merging { edits, changed, disputed, .. } = merging;
    for what in disputed {
        let (said, blocks) = match step.settings.conflicts {
            ConflictPolicy::Take => ("the release's is taken", false),
            ConflictPolicy::Keep => ("the cluster's is kept", false),
            ConflictPolicy::Block => ("the cluster's is kept", true),
        };
        let sentence = format!("{path}: the cluster and the release changed {what}: {said}.");
        let told = if blocks { &mut planned.upgrade.blocked } else { &mut planned.upgrade.notes };
        told.push(sentence);
    }
    if edits.is_empty() {
        return Ok(changed);
    }
    let after = match (&yaml, document) {
        (Some(yaml), Some(document)) => {
            let edits: Vec<DocumentEdit> =
                edits.into_iter().map(|edit| DocumentEdit::Edit { document, edit }).collect();
            match edit(yaml, &edits) {
                Ok(edited) => edited.text().to_owned(),
                Err(refused) => {
                    refuse(planned, &path, &refused.reason, Place::at(path.clone(), refused.position));
                    return Ok(BTreeMap::new());
                }
            }
        }
        _ => format!("{}{}{}", text.unwrap_or_default(), write(&heading(folder.name())), alone(edits)),
    };
    match change {
        Some(at) => planned.intended[at].after = Some(after),
        None => planned.intended.push(FileChange { path, before: recorded, after: Some(after) }),
    }
    Ok(changed)
}

fn refuse(planned: &mut PlannedUpgrade, path: &RepoPath, reason: &str, place: Place) {
    let message = format!(
        "Capstan does not edit this file: {reason}. Make the change by hand, or write this place in plain YAML."
    );
    planned.upgrade.findings.push(Finding::new(rules::EDIT_REFUSED, message).place(place));
    planned.upgrade.blocked.push(format!("{path} cannot be edited as planned."));
}

/// Keys that come into a file which says nothing yet.
fn alone(edits: Vec<Edit>) -> String {
    let keys = edits.into_iter().filter_map(|edit| match edit {
        Edit::Insert { key, node, .. } => Some((key, node)),
        _ => None,
    });
    write(&Node::mapping(keys))
}

struct Merging<'m> {
    step: &'m ServicesStep<'m>,
    /// The cluster's settings.
    root: &'m Node,
    edits: Vec<Edit>,
    changed: BTreeMap<String, EntryChange>,
    /// What both changed, in words.
    disputed: Vec<String>,
}

/// What one value becomes.
enum ServiceValue {
    Stays,
    Becomes,
    Disputed,
}

fn three_ways(old: Option<&Node>, own: Option<&Node>, new: Option<&Node>) -> ServiceValue {
    let same = |one: Option<&Node>, other: Option<&Node>| match (one, other) {
        (Some(one), Some(other)) => same_meaning(one, other),
        (None, None) => true,
        _ => false,
    };
    if same(old, new) || same(own, new) {
        ServiceValue::Stays
    } else if same(old, own) {
        ServiceValue::Becomes
    } else {
        ServiceValue::Disputed
    }
}

impl<'m> Merging<'m> {
    fn takes(&mut self, outcome: &ServiceValue, what: impl FnOnce() -> String) -> bool {
        match outcome {
            ServiceValue::Stays => false,
            ServiceValue::Becomes => true,
            ServiceValue::Disputed => {
                self.disputed.push(what());
                self.step.settings.conflicts == ConflictPolicy::Take
            }
        }
    }

    fn cloud(&mut self) {
        let key = CLOUD;
        let (old, new) = (self.step.old.and_then(|old| old.said(key)), self.step.new.said(key));
        let own = self.root.get(key).filter(|node| !node.is_null());
        let outcome = three_ways(old, own, new);
        if self.takes(&outcome, || format!("`{key}`")) {
            self.edits.extend(becomes(FieldPath::root(), key, self.root.get(key), new));
        }
    }

    fn list(&mut self, key: &'static str) {
        let own = self.root.get(key);
        let items = match own {
            Some(list) if list.is_null() => &[][..],
            Some(list) => match list.as_sequence() {
                Some(items) => items,
                None => return,
            },
            None => &[],
        };
        let (old, new) = (self.step.old.and_then(|old| old.said(key)), self.step.new.said(key));
        let (old, new) = (named(old), named(new));
        let [was_named, has_named, is_named] = [&old, &named(own), &new].map(|list| by_name(list));
        let places: BTreeMap<&str, usize> = first_places(items);
        let path = FieldPath::root().key(key);
        let (mut comes, mut removed) = (Vec::new(), 0_usize);
        let gone = old.iter().filter(|(name, _)| !is_named.contains_key(name));
        for (name, _) in new.iter().chain(gone) {
            let of = |list: &BTreeMap<&'m str, &'m Node>| list.get(name).copied();
            let (was, has, is) = (of(&was_named), of(&has_named), of(&is_named));
            let at = places.get(name).copied();
            let called = || format!("`{name}` in `{key}`");
            match (has, at, is) {
                (Some(has), Some(at), Some(is)) => self.entry((key, name), &path.index(at), was, has, is),
                (None, _, Some(is)) => {
                    let outcome = three_ways(was, None, Some(is));
                    if self.takes(&outcome, called) {
                        comes.push(is.clone());
                        self.note(key, name, ServiceCourse::Add, Vec::new());
                    }
                }
                (Some(has), Some(at), None) => {
                    let outcome = three_ways(was, Some(has), None);
                    if self.takes(&outcome, called) {
                        self.edits.push(Edit::Remove { path: path.index(at) });
                        removed += 1;
                        self.note(key, name, ServiceCourse::Remove, Vec::new());
                    }
                }
                _ => {}
            }
        }
        if removed > 0 && removed == items.len() {
            self.edits.retain(|edit| !matches!(edit, Edit::Remove { path: at } if at.starts_with(&path)));
            let node = Node::sequence(comes);
            let is_empty = node.as_sequence().is_some_and(<[Node]>::is_empty);
            self.edits.push(if is_empty { Edit::Remove { path } } else { Edit::Set { path, node } });
        } else if !comes.is_empty() && items.is_empty() {
            self.edits.extend(becomes(FieldPath::root(), key, own, Some(&Node::sequence(comes))));
        } else {
            let index = items.len();
            self.edits.extend(comes.into_iter().map(|node| Edit::InsertItem {
                list: path.clone(),
                index,
                node,
            }));
        }
    }

    /// An entry that both have, key by key.
    fn entry(
        &mut self,
        (list, name): (&str, &str),
        at: &FieldPath,
        was: Option<&Node>,
        has: &Node,
        is: &Node,
    ) {
        let mut keys = Vec::new();
        let entries = |node: &'_ Node| -> Vec<String> {
            node.as_mapping().unwrap_or_default().iter().map(|entry| entry.key.clone()).collect()
        };
        let mut all = entries(is);
        all.extend(was.map(entries).unwrap_or_default().into_iter().filter(|key| is.get(key).is_none()));
        for key in all {
            let (old, own, new) = (was.and_then(|was| was.get(&key)), has.get(&key), is.get(&key));
            let outcome = three_ways(old, own, new);
            if self.takes(&outcome, || format!("`{key}` of `{name}` in `{list}`")) {
                self.edits.extend(becomes(at.clone(), &key, own, new));
                keys.push(key);
            }
        }
        if !keys.is_empty() {
            self.note(list, name, ServiceCourse::Modify, keys);
        }
    }

    fn note(&mut self, list: &str, name: &str, course: ServiceCourse, keys: Vec<String>) {
        if list == LISTS[0] {
            self.changed.insert(name.to_owned(), EntryChange { course, keys });
        }
    }
}

/// The entries of a list by their names; of entries with the same name, the first.
fn named(list: Option<&Node>) -> Vec<(&str, &Node)> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for item in list.and_then(Node::as_sequence).unwrap_or_default() {
        if let Some(name) = item.text_at("name")
            && seen.insert(name)
        {
            found.push((name, item));
        }
    }
    found
}

fn by_name<'n>(list: &[(&'n str, &'n Node)]) -> BTreeMap<&'n str, &'n Node> {
    list.iter().copied().collect()
}

/// The place of the first entry of each name.
fn first_places(items: &[Node]) -> BTreeMap<&str, usize> {
    let mut places = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        if let Some(name) = item.text_at("name") {
            places.entry(name).or_insert(at);
        }
    }
    places
}

/// The edit that makes a key of a mapping what the release has.
fn becomes(parent: FieldPath, key: &str, own: Option<&Node>, new: Option<&Node>) -> Option<Edit> {
    match (own, new) {
        (Some(_), Some(new)) => Some(Edit::Set { path: parent.key(key), node: new.clone() }),
        (None, Some(new)) => {
            Some(Edit::Insert { parent, key: key.to_owned(), node: new.clone(), after: None })
        }
        (Some(_), None) => Some(Edit::Remove { path: parent.key(key) }),
        (None, None) => None,
    }
}
