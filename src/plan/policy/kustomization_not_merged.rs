//! `kustomization-not-merged`, found while kustomizations are merged.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct KustomizationNotMerged;

static ABOUT: About = About {
    entry: rules::KUSTOMIZATION_NOT_MERGED,
    summary: "The release's kustomization changes something that this cluster's base cannot take over.",
    reason: "A base that has the release's kustomizations takes over their fields, patches and other files. A new \
             kustomization in a folder that the base does not have, or a file that is no text, needs a person; without \
             it the release would be recorded as reached and not be. So the upgrade blocks.",
    source: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
    bad: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("peu01/base/kustomization.yaml", LABELLED),
        ("aws/v21.0.0/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/kustomization.yaml", LABELLED),
        ("aws/v22.0.0/base/workers.yaml", WORKERS),
        ("aws/v22.0.0/base/pools/pool.yaml", POOL),
        ("aws/v22.0.0/base/pools/kustomization.yaml", NESTED),
        (
            "aws/v22.0.0/base/kustomization.yaml",
            "resources: [workers.yaml, pools]\ncommonAnnotations: {team: platform}\n",
        ),
    ]),
    good: Example::Upgrade(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/workers.yaml", WORKERS),
        ("peu01/base/kustomization.yaml", "resources: [workers.yaml]\n"),
        ("aws/v21.0.0/base/workers.yaml", WORKERS),
        ("aws/v21.0.0/base/kustomization.yaml", "resources: [workers.yaml]\n"),
        ("aws/v22.0.0/base/workers.yaml", WORKERS),
        ("aws/v22.0.0/base/kustomization.yaml", LABELLED),
    ]),
};

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {replicas: 2}
";
const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";
const NESTED: &str = "\
resources: [pool.yaml] # <--
namePrefix: blue-
";
const LABELLED: &str = "\
resources: [workers.yaml]
commonAnnotations: {team: platform}
";

impl Rule for KustomizationNotMerged {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
