//! `invalid-name`

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};

pub(super) struct InvalidName;

static ABOUT: About = About::new(rules::INVALID_NAME, include_str!("../../../docs/rules/invalid-name.md"));

impl PolicyRule for InvalidName {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            match cluster.substituted(object) {
                Some(value) => verdicts.extend(object.refused_names_in(&value)),
                None => verdicts.extend(object.refused_names()),
            }
        }
    }
}
