//! The release's variables, and what is given for them.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::finding::Place;
use capstan_model::object::FieldPath;
use capstan_model::spelling::nearest;

use super::{NewCluster, NotMade};
use crate::merge::cluster_objects::Base;
use crate::merge::objects::{ObjectMerge, merge_cluster};
use crate::merge::piece::ReleasePiece;
use crate::merge::views::MergeInput;
use crate::merge::{ClusterFacts, ReleaseSource};
use crate::substitution::{SubstitutionError, expressions, expressions_within};

/// The names of a release's variables, without those that it gives values itself.
pub fn variables(release: &ReleaseSource) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for piece in release.all_pieces() {
        expressions(&piece.root, &mut used);
    }
    // A default may name other variables, and theirs again others.
    let mut open: Vec<String> = used.iter().cloned().collect();
    while let Some(written) = open.pop() {
        let mut within = BTreeSet::new();
        expressions_within(&written, &mut within);
        open.extend(within.into_iter().filter(|name| used.insert(name.clone())));
    }
    used.retain(|name| !name.contains('$') && !release.variables.contains_key(name));
    used
}

/// What is wrong with the values: a sentence each. First values of no variable, then variables without a value.
pub(super) fn troubles(new: &NewCluster<'_>, facts: &ClusterFacts) -> Result<Vec<String>, NotMade> {
    let release = new.release.documents();
    let known = variables(release);
    let unknown = new.variables.keys().filter(|name| !known.contains(*name));
    let mut troubles: Vec<String> = unknown.map(|name| no_variable(release, &known, name)).collect();
    let merge = merged(new, facts)?;
    troubles.extend(merge.unbound.into_iter().map(|(name, places)| without_value(&name, &places)));
    troubles.extend(merge.nameless.into_iter().map(|(place, object)| {
        format!(
            "{}: with these values, the name of {object} is empty, or YAML reads it as a boolean or a number: give another value, or quote the name in the release",
            place.without_column()
        )
    }));
    Ok(troubles)
}

fn no_variable(release: &ReleaseSource, known: &BTreeSet<String>, name: &str) -> String {
    let id = &release.id;
    if release.variables.contains_key(name) {
        return format!(
            "`{name}` is {id}'s own variable: its capstan.yaml gives it a value, for all clusters"
        );
    }
    match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("{id} has no variable `{name}`; did you mean `{meant}`?"),
        None if known.is_empty() => format!("{id} has no variable `{name}`; it has none"),
        None => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            format!("{id} has no variable `{name}`; it has {}", known.join(", "))
        }
    }
}

/// What the merge into nothing says of the values.
struct OfValues {
    /// Variables without a value, each with where objects name it.
    unbound: BTreeMap<String, Vec<Place>>,
    /// Objects that have no name with these values.
    nameless: Vec<(Place, String)>,
}

fn merged(new: &NewCluster<'_>, facts: &ClusterFacts) -> Result<OfValues, NotMade> {
    let base = Base::read(facts)?;
    let input = MergeInput {
        base: &base,
        old: None,
        new: new.release.documents(),
        contents: &[],
        variables: new.variables,
        flux: new.flux,
        owners: &[],
        schemas: new.schemas,
    };
    let ObjectMerge { merge, new: matched, .. } = merge_cluster(&input);
    let mut unbound: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for object in &merge.added {
        for missing in &object.missing {
            let (SubstitutionError::Unbound(name) | SubstitutionError::NotGiven(name)) = &missing.trouble
            else {
                continue;
            };
            let place = place_of(input.new, matched.pieces[object.piece], &missing.below);
            unbound.entry(name.clone()).or_default().push(place);
        }
    }
    Ok(OfValues { unbound, nameless: merge.nameless })
}

/// Where a release's document has a field: its line where the text is the file's own, else the document's.
fn place_of(release: &ReleaseSource, piece: &ReleasePiece, below: &FieldPath) -> Place {
    let own = release.document(piece).filter(|_| !release.is_made());
    match (own, piece.root.at(below)) {
        (Some((file, _)), Some(node)) => {
            Place::at(piece.place.file().clone(), file.position(node.span.start)).without_column()
        }
        _ => piece.place.clone().without_column(),
    }
}

fn without_value(name: &str, places: &[Place]) -> String {
    let first = places.first().map(|place| format!("{place}: ")).unwrap_or_default();
    let more = match places.len() {
        0 | 1 => String::new(),
        2 => " (and in another object)".to_owned(),
        many => format!(" (and in {} other objects)", many - 1),
    };
    format!("{first}${{{name}}} has no value{more}: give it one, `{name}=VALUE`")
}
