//! `invalid-settings`, found by `validate` and whoever reads settings.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct InvalidSettings;

static ABOUT: About = About {
    entry: rules::INVALID_SETTINGS,
    summary: "A settings file has an unknown key, a wrong type, or contradicts another one.",
    reason: "A misspelt key would be ignored without a word. `capstan schema` prints what there is.",
    source: "https://json-schema.org/",
    bad: Example::Tree(&[
        ("peu01/base/pool.yaml", POOL),
        ("peu01/capstan.yaml", "realease: aws/v21.0.0 # <--\n"),
    ]),
    good: Example::Tree(&[("peu01/base/pool.yaml", POOL), ("peu01/capstan.yaml", "release: aws/v21.0.0\n")]),
};

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";

impl Rule for InvalidSettings {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
