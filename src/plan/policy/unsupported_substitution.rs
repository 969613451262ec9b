//! `unsupported-substitution`, found while an upgrade puts values in.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct UnsupportedSubstitution;

static ABOUT: About = About {
    entry: rules::UNSUPPORTED_SUBSTITUTION,
    summary: "A new object or a changed field holds an expression that Capstan does not compute.",
    reason: "What begins with `${` is a variable with a default or a function to clusterctl and Flux, and an error \
             where it is neither. Some that they accept mean other things to a shell (`${V:+d}`), so no value is \
             guessed. Write literal text as `$${...}`.",
    source: "https://github.com/drone/envsubst",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/workers.yaml", NO_LABEL),
        ("aws/v22.0.0/base/workers.yaml", ARRAY),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/workers.yaml", NO_LABEL),
        ("aws/v22.0.0/base/workers.yaml", ESCAPED),
    ]),
};

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      failureDomain: eu-1b # <--
";
const NO_LABEL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec: {template: {spec: {failureDomain: eu-1b}}}
";
const ARRAY: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec: {template: {spec: {failureDomain: \"${ZONES[0]}\"}}}
";
const ESCAPED: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
spec: {template: {spec: {failureDomain: \"$${ZONES[0]}\"}}}
";

impl Rule for UnsupportedSubstitution {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
