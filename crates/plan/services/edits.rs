//! What somebody edited of a service by hand, and what of it an upgrade leaves as it is.

use std::collections::BTreeMap;

use crate::upgrade::KeptEdit;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{Node, same_meaning};

/// Objects by their identity.
pub(super) type Objects = BTreeMap<ObjectId, Node>;

/// The most edits that are reported of one service.
const MOST: usize = 50;

/// Fields of the cluster that are neither as the old release nor as the new one has them, and stay as they are. `old` and
/// `new` are what the releases would bring to this cluster, `before` and `after` what it has.
pub(super) fn kept([old, before, after, new]: [&Objects; 4]) -> Vec<KeptEdit> {
    let mut kept = Vec::new();
    for (id, is) in after {
        let Some(was) = before.get(id) else { continue };
        let object = |path: FieldPath| KeptEdit { object: id.clone(), path };
        let Some(brought) = old.get(id) else {
            // An object that neither release has, and that stays as it was, is a person's. One that only the new
            // release has is not reported.
            if !new.contains_key(id) && same_meaning(was, is) {
                kept.push(object(FieldPath::root()));
            }
            continue;
        };
        let (edited, stand) = (differences(brought, was), differences(brought, is));
        let own = differences(new.get(id).unwrap_or(brought), is);
        for (at, EditedField { path, value }) in stand {
            let same = |other: &EditedField<'_>| match (other.value, value) {
                (Some(one), Some(other)) => same_meaning(one, other),
                (None, None) => true,
                _ => false,
            };
            if edited.get(&at).is_some_and(same) && own.contains_key(&at) {
                kept.push(object(path));
            }
        }
    }
    kept.truncate(MOST);
    kept
}

/// A field in which an object is not as it was.
struct EditedField<'n> {
    path: FieldPath,
    /// `None` where it lacks the field.
    value: Option<&'n Node>,
}

/// Where an object differs from another, by keys, and of items with names by those.
fn differences<'n>(from: &Node, to: &'n Node) -> BTreeMap<String, EditedField<'n>> {
    let mut found = BTreeMap::new();
    walk(from, to, &FieldPath::root(), "", &mut found);
    found
}

fn walk<'n>(
    from: &Node,
    to: &'n Node,
    path: &FieldPath,
    at: &str,
    found: &mut BTreeMap<String, EditedField<'n>>,
) {
    if let (Some(old), Some(new)) = (from.as_mapping(), to.as_mapping()) {
        for entry in new {
            let (path, at) = (path.key(&entry.key), format!("{at}/{}", entry.key));
            match from.get(&entry.key) {
                Some(old) => walk(old, &entry.value, &path, &at, found),
                None => {
                    found.insert(at, EditedField { path, value: Some(&entry.value) });
                }
            }
        }
        for entry in old.iter().filter(|entry| to.get(&entry.key).is_none()) {
            let (path, at) = (path.key(&entry.key), format!("{at}/{}", entry.key));
            found.insert(at, EditedField { path, value: None });
        }
        return;
    }
    if let (Some(old), Some(new)) = (by_name(from), by_name(to)) {
        for (name, (index, item)) in &new {
            let (path, at) = (path.index(*index), format!("{at}/[{name}]"));
            match old.get(name) {
                Some((_, old)) => walk(old, item, &path, &at, found),
                None => {
                    found.insert(at, EditedField { path, value: Some(item) });
                }
            }
        }
        for (name, (index, _)) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
            found.insert(format!("{at}/[{name}]"), EditedField { path: path.index(*index), value: None });
        }
        return;
    }
    let is_variable = from.as_scalar().is_some_and(|scalar| scalar.text.contains("${"));
    if !is_variable && !same_meaning(from, to) {
        found.insert(at.to_owned(), EditedField { path: path.clone(), value: Some(to) });
    }
}

/// The items of a list each of which has a name of its own.
fn by_name(list: &Node) -> Option<BTreeMap<&str, (usize, &Node)>> {
    let items = list.as_sequence()?;
    let named = items.iter().enumerate().map(|(index, item)| Some((item.text_at("name")?, (index, item))));
    let named: BTreeMap<&str, (usize, &Node)> = named.collect::<Option<_>>()?;
    (named.len() == items.len()).then_some(named)
}
