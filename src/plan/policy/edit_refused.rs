//! `edit-refused`, found while an upgrade edits files.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct EditRefused;

static ABOUT: About = About {
    entry: rules::EDIT_REFUSED,
    summary: "A file cannot be edited without touching more than the change.",
    reason: "Encrypted documents (`sops:`), doubled keys and aliases on the edited path cannot be changed byte for \
             byte, and Capstan never edits a file by halves or by guessing. Edit the file by hand.",
    source: "https://yaml.org/spec/1.2.2/#71-alias-nodes",
    bad: Example::Upgrade(&[
        ("peu01/base/workers.yaml", ENCRYPTED),
        ("aws/v22.0.0/base/workers.yaml", RELEASE),
    ]),
    good: Example::Upgrade(&[("peu01/base/workers.yaml", PLAIN), ("aws/v22.0.0/base/workers.yaml", RELEASE)]),
};

const ENCRYPTED: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {replicas: 2}
sops: {version: 3.9.0} # <--
";
const PLAIN: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {replicas: 2}
";
const RELEASE: &str = "\
kind: MachineDeployment
spec: {replicas: 3}
";

impl Rule for EditRefused {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
