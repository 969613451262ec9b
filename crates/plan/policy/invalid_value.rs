//! `invalid-value`

use super::evidence::ClusterEvidence;
use super::fitting::{BrokenLimit, MisfitKind, defined_in};
use super::parts::{BrokenPart, in_words};
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::RenderedObject;
use capstan_kustomize::schema::{ListType, Range, Schema};
use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;
use capstan_model::wording::{count, list};

pub(super) struct InvalidValue;

static ABOUT: About = About::new(rules::INVALID_VALUE, include_str!("../../../docs/rules/invalid-value.md"));

impl PolicyRule for InvalidValue {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for misfit in cluster.misfits() {
            let MisfitKind::Limit(limit) = &misfit.kind else { continue };
            let (object, path) = (misfit.object, &misfit.path);
            // Of a group with a version `reference-mismatch` says more.
            if matches!(limit, BrokenLimit::Pattern(_)) && is_versioned_group(cluster, object, path) {
                continue;
            }
            let (is, wanted) = describe(limit);
            let message = format!(
                "`{path}` of {} {is}, but {} ({}) requires {wanted}: the API server refuses the object",
                object.id,
                object.api_version,
                defined_in(misfit.origin),
            );
            verdicts.push(
                Finding::new(rules::INVALID_VALUE, message).object(&object.id).path(path).place(misfit.place),
            );
        }
    }
}

fn is_versioned_group(cluster: &ClusterEvidence<'_>, object: &RenderedObject, path: &FieldPath) -> bool {
    cluster.references().iter().any(|(owner, named)| {
        owner.id == object.id && named.versioned_group().is_some() && named.path.key("apiGroup") == *path
    })
}

/// What is there, and what is wanted. Values are not repeated: they may be secret.
fn describe(limit: &BrokenLimit<'_>) -> (String, String) {
    let of = |range: &Range<u64>, one: &str, many: &str| {
        let bound = range.most.or(range.least);
        format!("{range} {}", if bound == Some(1) { one } else { many })
    };
    match limit {
        BrokenLimit::Missing => ("is not there".to_owned(), "it to be there".to_owned()),
        BrokenLimit::Items(found, range) => {
            let hint = if *found == 0 { " (leave out an empty list)" } else { "" };
            (format!("has {}", count(*found, "item", "items")), of(range, "item", "items") + hint)
        }
        BrokenLimit::Properties(found, range) => {
            let hint = if *found == 0 { " (leave out an empty mapping)" } else { "" };
            (format!("has {}", count(*found, "field", "fields")), of(range, "field", "fields") + hint)
        }
        BrokenLimit::Length(found, range) => (
            format!("has {}", count(*found, "character", "characters")),
            of(range, "character", "characters"),
        ),
        BrokenLimit::Number(range) => ("is out of range".to_owned(), range.to_string()),
        BrokenLimit::Pattern(pattern) => ("has another form".to_owned(), format!("what matches `{pattern}`")),
        BrokenLimit::Twin(first, ListType::Map(keys)) => {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", key.name)).collect();
            let same = format!("has the {} of item {first}, counted from 0", list(&keys));
            (same, "each item to have its own".to_owned())
        }
        BrokenLimit::Twin(first, _) => {
            (format!("is item {first} once more, counted from 0"), "each item once".to_owned())
        }
        BrokenLimit::Parts(broken) => describe_parts(broken),
    }
}

fn describe_parts(broken: &BrokenPart<'_>) -> (String, String) {
    const MOST: usize = 8;
    let several = |parts: &[Schema]| {
        let words: Vec<String> = parts.iter().map(in_words).filter(|words| !words.is_empty()).collect();
        let is_told = words.len() == parts.len() && words.len() <= MOST;
        if is_told { format!(": {}", words.join(", or ")) } else { String::new() }
    };
    let one = |part: &Schema| match in_words(part) {
        words if words.is_empty() => String::new(),
        words => format!(": {words}"),
    };
    match broken {
        BrokenPart::Part(part) => {
            ("lacks a part of its form".to_owned(), format!("all parts (`allOf`){}", one(part)))
        }
        BrokenPart::None(parts) => (
            format!("has none of {} forms", parts.len()),
            format!("one of them (`anyOf` or `oneOf`){}", several(parts)),
        ),
        BrokenPart::Several(found, parts) => (
            format!("has {found} of {} forms at once", parts.len()),
            format!("one of them alone (`oneOf`){}", several(parts)),
        ),
        BrokenPart::Excluded(part) => {
            ("has a form that is excluded".to_owned(), format!("another one than this (`not`){}", one(part)))
        }
    }
}
