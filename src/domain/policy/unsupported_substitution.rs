//! An expression of a release that Capstan does not compute. Found while an upgrade is planned.

use super::of_merge::Elsewhere;
use super::{About, Change, Example};
use crate::finding::Severity::Error;

pub(super) static UNSUPPORTED_SUBSTITUTION: Elsewhere = Elsewhere(&About {
    id: "unsupported-substitution",
    severity: Error,
    change: Change::Free,
    summary: "A new object or a changed field holds an expression that Capstan does not compute.",
    reason: "What begins with `${` is a variable with a default or a function to clusterctl and Flux, and an error where \
             it is neither. Some that they accept mean other things to a shell (`${V:+d}`), so no value is guessed. \
             Write literal text as `$${...}`.",
    source: "https://github.com/drone/envsubst",
    bad: Example {
        before: &[],
        after: &[("aws/v22.0.0/base/template.yaml", "preKubeadmCommands: [\"echo ${HOSTS[@]}\"]\n")],
    },
    good: Example {
        before: &[],
        after: &[("aws/v22.0.0/base/template.yaml", "preKubeadmCommands: [\"echo $${HOSTS[@]}\"]\n")],
    },
});
