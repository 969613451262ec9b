//! `list-without-key`, found while lists are merged.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct ListWithoutKey;

static ABOUT: About = About {
    entry: rules::LIST_WITHOUT_KEY,
    summary: "A list that is merged by key has an item without its key, or a key twice.",
    reason: "Its items cannot be told apart, so the list is taken as one value: either the cluster's or the \
             release's.",
    source: "https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy",
    bad: Example::Upgrade(&[("peu01/base/config.yaml", DOUBLED), ("aws/v22.0.0/base/config.yaml", RELEASE)]),
    good: Example::Upgrade(&[("peu01/base/config.yaml", UNIQUE), ("aws/v22.0.0/base/config.yaml", RELEASE)]),
};

const DOUBLED: &str = "\
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: peu01, namespace: org}
spec:
  template:
    spec:
      files:
      - {path: /etc/motd, content: hello} # <--
      - {path: /etc/motd, content: good morning}
";
const UNIQUE: &str = "\
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: peu01, namespace: org}
spec:
  template:
    spec:
      files:
      - {path: /etc/motd, content: hello}
      - {path: /etc/issue, content: good morning}
";
const RELEASE: &str = "\
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
spec: {template: {spec: {files: [{path: /etc/motd, content: welcome}]}}}
";

impl Rule for ListWithoutKey {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
