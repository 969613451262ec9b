//! `unreadable-file`, found by `validate`.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct UnreadableFile;

static ABOUT: About = About {
    entry: rules::UNREADABLE_FILE,
    summary: "A file's content cannot be read.",
    reason: "It is too large, no file at all (a symbolic link, say), or missing from the clone. Whatever depends \
             on it is not judged; all else is.",
    source: "https://git-scm.com/docs/partial-clone",
    bad: Example::Tree(&[
        ("peu01/base/cluster.yaml", CLUSTER),
        ("peu01/base/pool.yaml -> ../../pool.yaml", ""),
    ]),
    good: Example::Tree(&[("peu01/base/cluster.yaml", CLUSTER), ("peu01/base/pool.yaml", POOL)]),
};

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: peu01, namespace: org}
";
const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";

impl Rule for UnreadableFile {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
