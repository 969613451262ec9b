//! `rendered-tombstone`, found by `validate`.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct RenderedTombstone;

static ABOUT: About = About {
    entry: rules::RENDERED_TOMBSTONE,
    summary: "`delete:` names an object that the folder still renders.",
    reason: "The folder says both that the object should be and that it should not; nothing is deleted.",
    source: "https://cluster-api.sigs.k8s.io/user/concepts",
    bad: Example::Tree(&[
        ("peu01/base/pool.yaml", POOL),
        ("peu01/capstan.yaml", "delete:\n- {kind: MachinePool, name: peu01-mp-0} # <--\n"),
    ]),
    good: Example::Tree(&[
        ("peu01/base/pool.yaml", POOL),
        ("peu01/capstan.yaml", "delete:\n- {kind: MachinePool, name: peu01-mp-1}\n"),
    ]),
};

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";

impl Rule for RenderedTombstone {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
