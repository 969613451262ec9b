//! Rules about files that cannot be used at all: [`validate`](super::validate()) judges them.

use super::of_merge::Elsewhere;
use super::{About, Change, Example};
use crate::finding::Severity::Error;

const YAML: &str = "https://yaml.org/spec/1.2.2/";

pub(super) static UNREADABLE_FILE: Elsewhere = Elsewhere(&About {
    id: "unreadable-file",
    severity: Error,
    change: Change::Never,
    summary: "A file's content cannot be had.",
    reason: "It is too large, no file at all (a symbolic link, say), or missing from the clone. Whatever depends \
             on it is not judged; all else is.",
    source: "https://git-scm.com/docs/partial-clone",
    bad: Example { before: &[], after: &[("base/link.yaml", "(a symbolic link)\n")] },
    good: Example { before: &[], after: &[("base/file.yaml", "kind: Cluster\n")] },
});

pub(super) static INVALID_YAML: Elsewhere = Elsewhere(&About {
    id: "invalid-yaml",
    severity: Error,
    change: Change::Free,
    summary: "A manifest is no YAML that Kubernetes reads.",
    reason: "Nothing applies the file, and often nothing of the whole folder.",
    source: YAML,
    bad: Example { before: &[], after: &[("base/a.yaml", "spec:\n\treplicas: 2\n")] },
    good: Example { before: &[], after: &[("base/a.yaml", "spec:\n  replicas: 2\n")] },
});

pub(super) static INVALID_SETTINGS: Elsewhere = Elsewhere(&About {
    id: "invalid-settings",
    severity: Error,
    change: Change::Never,
    summary: "A settings file has an unknown key, a wrong type, or contradicts another one.",
    reason: "What is misspelt would silently not hold. `capstan schema` prints what there is.",
    source: "https://json-schema.org/",
    bad: Example { before: &[], after: &[("capstan.yaml", "realease: aws/v21.0.0\n")] },
    good: Example { before: &[], after: &[("capstan.yaml", "release: aws/v21.0.0\n")] },
});

pub(super) static INVALID_LAYOUT: Elsewhere = Elsewhere(&About {
    id: "invalid-layout",
    severity: Error,
    change: Change::Free,
    summary: "Folders that are neither a release nor a cluster, or both, or nested.",
    reason: "Capstan passes over them, so that the clusters in them get no upgrades and no checks.",
    source: "https://github.com/giantswarm/rfc/tree/main/capi-release-structure",
    bad: Example {
        before: &[],
        after: &[
            ("gauss/base/cluster.yaml", "kind: Cluster\n"),
            ("gauss/peu01/base/cluster.yaml", "kind: Cluster\n"),
        ],
    },
    good: Example { before: &[], after: &[("gauss/peu01/base/cluster.yaml", "kind: Cluster\n")] },
});

pub(super) static RENDER_FAILED: Elsewhere = Elsewhere(&About {
    id: "render-failed",
    severity: Error,
    change: Change::Free,
    summary: "A cluster's folder cannot be rendered.",
    reason: "Either kustomize would refuse it too, or it uses something of kustomize that Capstan does not render; \
             then no rule can judge the cluster.",
    source: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
    bad: Example {
        before: &[],
        after: &[("overlay/kustomization.yaml", "resources: [https://example.com/a.yaml]\n")],
    },
    good: Example { before: &[], after: &[("overlay/kustomization.yaml", "resources: [../base]\n")] },
});
