//! `invalid-value`

use super::evidence::Survey;
use super::fitting::{Limit, MisfitKind, defined_in};
use super::rule::{About, Rule};
use capstan_kustomize::schema::Range;
use capstan_model::finding::{Finding, rules};
use capstan_model::wording::count;

pub(super) struct InvalidValue;

static ABOUT: About = About::new(rules::INVALID_VALUE, include_str!("../../../docs/rules/invalid-value.md"));

impl Rule for InvalidValue {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for misfit in cluster.misfits() {
            let MisfitKind::Limit(limit) = &misfit.kind else { continue };
            let (object, path) = (misfit.object, &misfit.path);
            let (is, wanted) = told(limit);
            let message = format!(
                "`{path}` of {} {is}, and {} ({}) wants {wanted}: the API server refuses the object",
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

/// What is there, and what is wanted. Values are not repeated: they may be secret.
fn told(limit: &Limit<'_>) -> (String, String) {
    let of = |range: &Range<u64>, one: &str, many: &str| {
        let bound = range.most.or(range.least);
        format!("{range} {}", if bound == Some(1) { one } else { many })
    };
    match limit {
        Limit::Missing => ("is not there".to_owned(), "it to be there".to_owned()),
        Limit::Items(found, range) => {
            let hint = if *found == 0 { " (leave an empty list out)" } else { "" };
            (format!("has {}", count(*found, "item", "items")), of(range, "item", "items") + hint)
        }
        Limit::Properties(found, range) => {
            let hint = if *found == 0 { " (leave an empty mapping out)" } else { "" };
            (format!("has {}", count(*found, "field", "fields")), of(range, "field", "fields") + hint)
        }
        Limit::Length(found, range) => (
            format!("has {}", count(*found, "character", "characters")),
            of(range, "character", "characters"),
        ),
        Limit::Number(range) => ("is out of range".to_owned(), range.to_string()),
        Limit::Pattern(pattern) => ("has another form".to_owned(), format!("what matches `{pattern}`")),
    }
}
