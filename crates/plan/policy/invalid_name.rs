//! `invalid-name`

use super::evidence::Survey;
use super::rule::{About, Rule};
use capstan_model::finding::{Finding, rules};

pub(super) struct InvalidName;

static ABOUT: About = About::new(rules::INVALID_NAME, include_str!("../../../docs/rules/invalid-name.md"));

impl Rule for InvalidName {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            match cluster.substituted(object) {
                Some(value) => verdicts.extend(object.refused_names_in(&value)),
                None => verdicts.extend(object.refused_names()),
            }
        }
    }
}
