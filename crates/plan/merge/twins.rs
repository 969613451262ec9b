//! Twins: documents of one release that are one object. An API version tells nothing apart, and neither
//! does the file. What they say where they differ is not for Capstan to choose from.

use super::cluster_objects::Base;
use super::matched::Target;
use super::piece::{ReleasePiece, Shape};
use crate::substitution::SubstitutionScope;
use capstan_yaml::{Node, same_meaning};

/// Of documents that matched one object by their name, only those in its namespace are that object; the
/// others are objects that the cluster lacks. Where the namespace tells nothing, they stay as they are.
pub(super) fn part_by_namespace(
    base: &Base,
    scope: SubstitutionScope<'_>,
    pieces: &[&ReleasePiece],
    moved: Option<&(String, String)>,
    targets: &mut [Target],
) {
    let mut wholes: Vec<Vec<usize>> = vec![Vec::new(); base.objects.len()];
    for (at, target) in targets.iter().enumerate() {
        if let (Target::Objects(found), Shape::Whole) = (target, pieces[at].shape)
            && let [object] = found.as_slice()
        {
            wholes[*object].push(at);
        }
    }
    for (object, rivals) in wholes.into_iter().enumerate().filter(|(_, rivals)| rivals.len() > 1) {
        let Some(own) = &base.objects[object].id.namespace else { continue };
        let is_at_home = |at: &usize| match &pieces[*at].namespace {
            None => base.namespace() == Some(own),
            Some(namespace) => {
                let namespace = scope.text(namespace);
                let namespace =
                    moved.filter(|(release, _)| *release == namespace).map_or(namespace, |to| to.1.clone());
                namespace == *own
            }
        };
        let (home, away): (Vec<usize>, Vec<usize>) = rivals.into_iter().partition(is_at_home);
        if !home.is_empty() {
            away.into_iter().for_each(|at| targets[at] = Target::Absent);
        }
    }
}

/// What twins of both releases come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Twins {
    /// There are none, or they say the same: any of them may be taken.
    Alike,
    /// They differ, and the new release has them as the old one did.
    Unchanged,
    /// They differ, and something changed: it is unclear which of them is meant.
    Open,
}

/// Judges what either release says of one object.
pub(super) fn judge(old: &[&Node], new: &[&Node]) -> Twins {
    let differ = |side: &[&Node]| side.windows(2).any(|pair| !same_meaning(pair[0], pair[1]));
    if !differ(old) && !differ(new) {
        return Twins::Alike;
    }
    let mut left = new.to_vec();
    let has_equal = |one: &&Node| {
        let at = left.iter().position(|other| same_meaning(one, other));
        at.map(|at| left.swap_remove(at)).is_some()
    };
    if old.len() == new.len() && old.iter().all(has_equal) { Twins::Unchanged } else { Twins::Open }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_yaml::YamlFile;

    fn judged(old: &[&str], new: &[&str]) -> Twins {
        let read = |texts: &[&str]| -> Vec<Node> {
            let root = |text: &&str| YamlFile::read(text).unwrap().documents()[0].root.clone();
            texts.iter().map(root).collect()
        };
        let (old, new) = (read(old), read(new));
        judge(&old.iter().collect::<Vec<_>>(), &new.iter().collect::<Vec<_>>())
    }

    #[test]
    fn twins_leave_open_what_is_meant_only_where_they_differ_and_something_changed() {
        let table: [(&[&str], &[&str], Twins); 9] = [
            (&[], &["a: 1"], Twins::Alike),
            (&["a: 1"], &["a: 2"], Twins::Alike),
            (&["a: 1", "a: 1"], &["a: 2", "{a: 2}"], Twins::Alike),
            (&["a: 1", "a: 2"], &["a: 1", "a: 2"], Twins::Unchanged),
            (&["a: 1", "a: 2"], &["a: 2", "a: 1"], Twins::Unchanged),
            (&["a: 1", "a: 1", "a: 2"], &["a: 1", "a: 2", "a: 2"], Twins::Open),
            (&["a: 1", "a: 2"], &["a: 1"], Twins::Open),
            (&["a: 1", "a: 2"], &[], Twins::Open),
            (&[], &["a: 1", "a: 2"], Twins::Open),
        ];
        for (old, new, expected) in table {
            assert_eq!(judged(old, new), expected, "{old:?} -> {new:?}");
        }
    }
}
