//! Rules whose verdict falls while an upgrade is computed: their entries only.
//!
//! Whoever finds one of these makes the [`Finding`](crate::finding::Finding) with the id from here;
//! [`Severities::settle`](super::Severities::settle) then gives it its severity.

use super::{About, Change, Example, Rule};
use crate::finding::Severity::{Error, Warning};

/// A rule that is judged elsewhere.
pub(super) struct Elsewhere(pub(super) &'static About);

impl Rule for Elsewhere {
    fn about(&self) -> &'static About {
        self.0
    }
}

const RELEASES: &str = "https://github.com/giantswarm/rfc/tree/main/capi-release-structure";
const IMMUTABLE: &str = "https://cluster-api.sigs.k8s.io/tasks/updating-machine-templates";

pub(super) static AMBIGUOUS_MATCH: Elsewhere = Elsewhere(&About {
    id: "ambiguous-match",
    severity: Error,
    change: Change::Free,
    summary: "A document of the release fits several objects of the cluster.",
    reason: "Capstan changes nothing rather than guess which of them is meant. Name the object in the release, or \
             put the fragment into a file of the same name as the object's.",
    source: RELEASES,
    bad: Example {
        before: &[(
            "base/pools.yaml",
            "kind: MachinePool\nmetadata: {name: peu01-a}\n---\nkind: MachinePool\nmetadata: {name: peu01-b}\n",
        )],
        after: &[(
            "aws/v22.0.0/base/pool.yaml",
            "kind: MachinePool\nspec: {template: {spec: {version: v1.30.2}}}\n",
        )],
    },
    good: Example {
        before: &[(
            "base/pools.yaml",
            "kind: MachinePool\nmetadata: {name: peu01-a}\n---\nkind: MachinePool\nmetadata: {name: peu01-b}\n",
        )],
        after: &[(
            "aws/v22.0.0/base/pool.yaml",
            "kind: MachinePool\nmetadata: {name: \"${CLUSTER_NAME}-a\"}\nspec: {template: {spec: {version: v1.30.2}}}\n",
        )],
    },
});

pub(super) static UNBOUND_VARIABLE: Elsewhere = Elsewhere(&About {
    id: "unbound-variable",
    severity: Error,
    change: Change::Free,
    summary: "A new object or a changed field needs a variable that has no value.",
    reason: "The text `${VARIABLE}` would be applied as it stands. Bind it under `variables:` in the cluster's \
             capstan.yaml.",
    source: "https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution",
    bad: Example {
        before: &[("capstan.yaml", "release: aws/v21.0.0\n")],
        after: &[(
            "aws/v22.0.0/base/template.yaml",
            "kind: AWSMachineTemplate\nmetadata: {name: \"${CLUSTER_NAME}-md-0\"}\n",
        )],
    },
    good: Example {
        before: &[("capstan.yaml", "release: aws/v21.0.0\nvariables: {CLUSTER_NAME: peu01}\n")],
        after: &[(
            "aws/v22.0.0/base/template.yaml",
            "kind: AWSMachineTemplate\nmetadata: {name: \"${CLUSTER_NAME}-md-0\"}\n",
        )],
    },
});

pub(super) static VARIABLE_CONTRADICTION: Elsewhere = Elsewhere(&About {
    id: "variable-contradiction",
    severity: Warning,
    change: Change::Free,
    summary: "One variable would have two values in one cluster.",
    reason: "The release writes the same variable where the cluster has different texts, so that no value fits \
             both, and it is bound by neither. Bind it under `variables:` in the cluster's capstan.yaml.",
    source: RELEASES,
    bad: Example {
        before: &[(
            "aws/v21.0.0/base/cluster.yaml",
            "metadata: {name: \"${CLUSTER_NAME}\", namespace: \"${CLUSTER_NAME}\"}\n",
        )],
        after: &[("base/cluster.yaml", "metadata: {name: peu01, namespace: org}\n")],
    },
    good: Example {
        before: &[(
            "aws/v21.0.0/base/cluster.yaml",
            "metadata: {name: \"${CLUSTER_NAME}\", namespace: \"${NAMESPACE}\"}\n",
        )],
        after: &[("base/cluster.yaml", "metadata: {name: peu01, namespace: org}\n")],
    },
});

pub(super) static UNMATCHED_FRAGMENT: Elsewhere = Elsewhere(&About {
    id: "unmatched-fragment",
    severity: Warning,
    change: Change::Free,
    summary: "A partial document of the release finds no object in the cluster.",
    reason: "A fragment only changes objects and never makes one, so it does nothing here. That is right for a \
             cluster without such an object, and a mistake where a name was misspelt.",
    source: RELEASES,
    bad: Example {
        before: &[("base/pool.yaml", "kind: MachinePool\nmetadata: {name: peu01-mp-0}\n")],
        after: &[("aws/v22.0.0/base/deployment.yaml", "kind: MachineDeployment\nspec: {replicas: 3}\n")],
    },
    good: Example {
        before: &[("base/pool.yaml", "kind: MachinePool\nmetadata: {name: peu01-mp-0}\n")],
        after: &[("aws/v22.0.0/base/pool.yaml", "kind: MachinePool\nspec: {replicas: 3}\n")],
    },
});

pub(super) static LIST_WITHOUT_KEY: Elsewhere = Elsewhere(&About {
    id: "list-without-key",
    severity: Warning,
    change: Change::Free,
    summary: "A list that is merged by key has an item without its key, or a key twice.",
    reason: "Its items cannot be told apart, so the list is taken as one value: either the cluster's or the \
             release's.",
    source: "https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy",
    bad: Example {
        before: &[],
        after: &[("base/a.yaml", "env: [{name: A, value: '1'}, {name: A, value: '2'}]\n")],
    },
    good: Example {
        before: &[],
        after: &[("base/a.yaml", "env: [{name: A, value: '1'}, {name: B, value: '2'}]\n")],
    },
});

pub(super) static STEP_GROUP_SPLIT: Elsewhere = Elsewhere(&About {
    id: "step-group-split",
    severity: Error,
    change: Change::Never,
    summary: "A version and the image that belongs to it would part.",
    reason: "Version, image and references of one upgrade move together or not at all: a machine with the kubelet \
             of one version and an image of another does not join its cluster. Something holds one of them back: \
             an owner rule, or a cluster's own edit that is kept.",
    source: IMMUTABLE,
    bad: Example {
        before: &[("base/a.yaml", "spec: {version: v1.29.4, image: ubuntu-v1.29.4}\n")],
        after: &[("base/a.yaml", "spec: {version: v1.30.2, image: ubuntu-v1.29.4}\n")],
    },
    good: Example {
        before: &[("base/a.yaml", "spec: {version: v1.29.4, image: ubuntu-v1.29.4}\n")],
        after: &[("base/a.yaml", "spec: {version: v1.30.2, image: ubuntu-v1.30.2}\n")],
    },
});

pub(super) static REMOVES_CLUSTER: Elsewhere = Elsewhere(&About {
    id: "removes-cluster",
    severity: Error,
    change: Change::Never,
    summary: "The release drops a Cluster or a control plane, or changes its kind.",
    reason: "No release ever removes a cluster. Whoever wants that writes `delete: cluster` in its capstan.yaml.",
    source: "https://cluster-api.sigs.k8s.io/user/concepts",
    bad: Example {
        before: &[("aws/v21.0.0/base/cluster.yaml", "kind: Cluster\n")],
        after: &[("aws/v22.0.0/base/pool.yaml", "kind: MachinePool\n")],
    },
    good: Example {
        before: &[("aws/v21.0.0/base/cluster.yaml", "kind: Cluster\n")],
        after: &[("aws/v22.0.0/base/cluster.yaml", "kind: Cluster\n")],
    },
});

pub(super) static EDIT_REFUSED: Elsewhere = Elsewhere(&About {
    id: "edit-refused",
    severity: Error,
    change: Change::Never,
    summary: "A file cannot be edited without touching more than the change.",
    reason: "Encrypted documents (`sops:`), doubled keys and aliases on the edited path cannot be changed byte for \
             byte, and Capstan edits no file half and by guess. Edit the file by hand.",
    source: "https://yaml.org/spec/1.2.2/#71-alias-nodes",
    bad: Example { before: &[], after: &[("base/a.yaml", "spec: {replicas: 2, replicas: 3}\n")] },
    good: Example { before: &[], after: &[("base/a.yaml", "spec: {replicas: 3}\n")] },
});

pub(super) static OVERLAY_NAMES_TEMPLATE: Elsewhere = Elsewhere(&About {
    id: "overlay-names-template",
    severity: Error,
    change: Change::Free,
    summary: "The overlay patches a template that gets a new name.",
    reason: "The patch would go on changing the old template, and the new machines would lack the customer's \
             setting. A patch that selects its target by kind or label, not by the name, follows by itself.",
    source: IMMUTABLE,
    bad: Example {
        before: &[("overlay/template.yaml", "kind: AWSMachineTemplate\nmetadata: {name: peu01-md-0}\n")],
        after: &[("base/template.yaml", "kind: AWSMachineTemplate\nmetadata: {name: peu01-md-0-1a2b3c4d}\n")],
    },
    good: Example {
        before: &[(
            "overlay/template.yaml",
            "kind: AWSMachineTemplate\nmetadata: {name: peu01-md-0-1a2b3c4d}\n",
        )],
        after: &[("base/template.yaml", "kind: AWSMachineTemplate\nmetadata: {name: peu01-md-0-1a2b3c4d}\n")],
    },
});

pub(super) static ROLLOUT_WITHOUT_CHANGE: Elsewhere = Elsewhere(&About {
    id: "rollout-without-change",
    severity: Warning,
    change: Change::Free,
    summary: "A template gets a new name although its meaning is the same.",
    reason: "All of its machines are replaced for nothing.",
    source: IMMUTABLE,
    bad: Example {
        before: &[("base/template.yaml", "metadata: {name: peu01-md-0}\nspec: {a: 1}\n")],
        after: &[("base/template.yaml", "metadata: {name: peu01-md-1}\nspec: {a: 1}\n")],
    },
    good: Example {
        before: &[("base/template.yaml", "metadata: {name: peu01-md-0}\nspec: {a: 1}\n")],
        after: &[("base/template.yaml", "metadata: {name: peu01-md-1}\nspec: {a: 2}\n")],
    },
});

pub(super) static RENDERED_TOMBSTONE: Elsewhere = Elsewhere(&About {
    id: "rendered-tombstone",
    severity: Error,
    change: Change::Free,
    summary: "`delete:` names an object that the folder still renders.",
    reason: "The folder says both that the object should be and that it should not; nothing is deleted.",
    source: "https://cluster-api.sigs.k8s.io/user/concepts",
    bad: Example {
        before: &[],
        after: &[
            ("base/pool.yaml", "kind: MachinePool\nmetadata: {name: peu01-mp-0}\n"),
            ("capstan.yaml", "delete: [{kind: MachinePool, name: peu01-mp-0}]\n"),
        ],
    },
    good: Example {
        before: &[],
        after: &[("capstan.yaml", "delete: [{kind: MachinePool, name: peu01-mp-0}]\n")],
    },
});

pub(super) static RELEASE_RECORD_DIFFERS: Elsewhere = Elsewhere(&About {
    id: "release-record-differs",
    severity: Warning,
    change: Change::Free,
    summary: "A cluster's capstan.yaml and its own objects name different releases.",
    reason: "The objects count, since they are what is applied; the record is out of date and misleads.",
    source: "https://github.com/giantswarm/releases",
    bad: Example {
        before: &[],
        after: &[
            ("capstan.yaml", "release: capa/v29.0.0\n"),
            ("base/values.yaml", "global: {release: {version: 29.1.0}}\n"),
        ],
    },
    good: Example {
        before: &[],
        after: &[
            ("capstan.yaml", "release: capa/v29.1.0\n"),
            ("base/values.yaml", "global: {release: {version: 29.1.0}}\n"),
        ],
    },
});
