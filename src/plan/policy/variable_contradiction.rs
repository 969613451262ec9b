//! `variable-contradiction`, found while variables are bound.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct VariableContradiction;

static ABOUT: About = About {
    entry: rules::VARIABLE_CONTRADICTION,
    summary: "One variable would have two values in one cluster.",
    reason: "The release writes the same variable where the cluster has different texts, so that no value fits \
             both, and it is bound by neither. Bind it under `variables:` in the cluster's capstan.yaml.",
    source: "https://github.com/giantswarm/rfc/tree/main/capi-release-structure",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/workers.yaml", ONE_NAME),
        ("aws/v22.0.0/base/workers.yaml", ONE_NAME),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/workers.yaml", TWO_NAMES),
        ("aws/v22.0.0/base/workers.yaml", TWO_NAMES),
    ]),
};

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org} # <--
spec: {clusterName: peu01}
";
const ONE_NAME: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: \"${NAME}-md-0\", namespace: \"${NAME}\"}
spec: {clusterName: \"${NAME}\"}
";
const TWO_NAMES: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: \"${NAME}-md-0\", namespace: \"${ORG}\"}
spec: {clusterName: \"${NAME}\"}
";

impl Rule for VariableContradiction {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
