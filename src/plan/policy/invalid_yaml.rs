//! `invalid-yaml`, found by `validate`.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct InvalidYaml;

static ABOUT: About = About {
    entry: rules::INVALID_YAML,
    summary: "A manifest is no YAML that Kubernetes reads.",
    reason: "Nothing applies the file, and often nothing of the whole folder.",
    source: "https://yaml.org/spec/1.2.2/",
    bad: Example::Tree(&[("peu01/base/pool.yaml", TAB)]),
    good: Example::Tree(&[("peu01/base/pool.yaml", BLANKS)]),
};

const TAB: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec:
\treplicas: 2 # <--
";
const BLANKS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec:
  replicas: 2
";

impl Rule for InvalidYaml {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
