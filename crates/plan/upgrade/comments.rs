//! Comments that go with what they stand at: people's words, which an upgrade never takes away unsaid.

use std::collections::BTreeMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::redact::redact;
use crate::merge::ReleaseSource;
use crate::merge::cluster_objects::Base;
use capstan_model::file_change::FileChange;
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{Value, YamlFile, comments};

/// How many are reported one by one.
const MOST_REPORTED: usize = 10;

/// The comments of the base that are gone afterwards, a note each. Comments of the old release are not people's. A
/// comment in a template that a rotation left behind is also in its successor.
pub(super) fn comments_that_go(
    base: &Base,
    old: Option<&ReleaseSource>,
    intended: &[FileChange],
    leftovers: &[usize],
) -> Vec<String> {
    let mut gone: Vec<(Place, String)> = Vec::new();
    let mut comes: BTreeMap<String, usize> = BTreeMap::new();
    for (at, file) in base.files.iter().enumerate() {
        let Some(change) = intended.iter().find(|change| change.path == file.path) else { continue };
        let before = base.text_before(at);
        let Ok(after) = YamlFile::read(change.after.as_deref().unwrap_or_default()) else { continue };
        let (was, is): (Vec<&str>, Vec<&str>) =
            (before.text().lines().collect(), after.text().lines().collect());
        let (removed, added) = differing(&was, &is);
        let is_left_over = |offset: usize| {
            leftovers.iter().any(|object| {
                let object = &base.objects[*object];
                let document = before.documents().get(object.document).filter(|_| object.file == at);
                document.is_some_and(|document| document.span.contains(&offset))
            })
        };
        for (offset, comment) in comments::all(before) {
            let position = before.position(offset);
            let is_own = |old: &ReleaseSource| old.says(comment);
            if removed.contains(&position.line) && !is_left_over(offset) && !old.is_some_and(is_own) {
                gone.push((Place::line_of(file.path.clone(), position.line), comment.to_owned()));
            }
        }
        for (offset, comment) in comments::all(&after) {
            if added.contains(&after.position(offset).line) {
                *comes.entry(comment.to_owned()).or_default() += 1;
            }
        }
    }
    gone.retain(|(_, comment)| match comes.get_mut(comment) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
    let more = gone.len().saturating_sub(MOST_REPORTED);
    let told = gone.into_iter().take(MOST_REPORTED).map(|(place, comment)| {
        format!(
            "{place}: the comment `{}` is removed with its line. Write it elsewhere if it is still true.",
            shown(&comment)
        )
    });
    let rest = (more > 0)
        .then(|| format!("{more} more comments are removed with their lines: the diff shows them."));
    told.chain(rest).collect()
}

/// A comment without what looks like a secret in it.
fn shown(comment: &str) -> String {
    let nobody = ObjectId { group: String::new(), kind: String::new(), namespace: None, name: String::new() };
    let text = Value::from(comment.replace('`', "'"));
    match redact(&nobody, &FieldPath::root(), Some(&text)) {
        Value::String(text) => text,
        _ => "#…".to_owned(),
    }
}

/// The lines that one text has and the other has not, counted from 1.
fn differing(before: &[&str], after: &[&str]) -> (Vec<u32>, Vec<u32>) {
    let numbers = |range: std::ops::Range<usize>| range.filter_map(|at| u32::try_from(at + 1).ok());
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for op in capture_diff_slices(Algorithm::Myers, before, after) {
        if !matches!(op, DiffOp::Equal { .. }) {
            removed.extend(numbers(op.old_range()));
            added.extend(numbers(op.new_range()));
        }
    }
    (removed, added)
}
