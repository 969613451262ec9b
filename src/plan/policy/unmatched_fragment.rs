//! `unmatched-fragment`, found while a release is matched with a cluster.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct UnmatchedFragment;

static ABOUT: About = About {
    entry: rules::UNMATCHED_FRAGMENT,
    summary: "A partial document of the release finds no object in the cluster.",
    reason: "A fragment only changes objects and never makes one, so it does nothing here. That is right for a \
             cluster without such an object, and a mistake where a name was misspelt.",
    source: "https://github.com/giantswarm/rfc/tree/main/capi-release-structure",
    bad: Example::Upgrade(&[
        ("peu01/base/pool.yaml", POOL),
        ("aws/v22.0.0/base/deployment.yaml", DEPLOYMENT),
    ]),
    good: Example::Upgrade(&[
        ("peu01/base/pool.yaml", POOL),
        ("aws/v22.0.0/base/pool.yaml", "kind: MachinePool\nspec: {replicas: 3}\n"),
    ]),
};

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
spec: {replicas: 2}
";
const DEPLOYMENT: &str = "\
kind: MachineDeployment # <--
spec: {replicas: 3}
";

impl Rule for UnmatchedFragment {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
