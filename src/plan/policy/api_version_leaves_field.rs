//! `api-version-leaves-field`, found while the fields of an object are merged.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct ApiVersionLeavesField;

static ABOUT: About = About {
    entry: rules::API_VERSION_LEAVES_FIELD,
    summary: "An object gets another API version, and a field of it cannot be brought along.",
    reason: "Fields move and change between API versions. Cluster API's own kinds are converted as its webhooks do it, and \
             a field that they refuse blocks the upgrade (an error). Of other providers' kinds the releases show \
             where their own fields went; of a field that only the cluster has nobody knows whether the new version \
             has it, and the server drops unknown fields silently.",
    source: "https://kubernetes.io/docs/reference/using-api/deprecation-policy/",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/c.yaml", TAGGED),
        ("aws/v21.0.0/base/c.yaml", ALPHA),
        ("aws/v22.0.0/base/c.yaml", BETA),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/c.yaml", ALPHA),
        ("aws/v21.0.0/base/c.yaml", ALPHA),
        ("aws/v22.0.0/base/c.yaml", BETA),
    ]),
};

const TAGGED: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7
kind: OpenStackCluster
metadata: {name: peu01, namespace: org}
spec:
  cloudName: prod
  ourOwnField: x # <--
";
const ALPHA: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7
kind: OpenStackCluster
metadata: {name: peu01, namespace: org}
spec:
  cloudName: prod
";
const BETA: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: peu01, namespace: org}
spec:
  identityRef: {cloudName: prod}
";

impl Rule for ApiVersionLeavesField {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
