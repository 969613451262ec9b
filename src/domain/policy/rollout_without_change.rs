//! `rollout-without-change`

use super::{About, Change, Evidence, Example, Occasion, Rule, Verdict};
use crate::finding::Severity;
use crate::object::FieldPath;
use crate::render::{Placed, RenderedObject};
use crate::templates::{Treatment, reference_paths, treatment};

pub(super) struct RolloutWithoutChange;

pub(super) static ABOUT: About = About {
    id: "rollout-without-change",
    severity: Severity::Warning,
    change: Change::Free,
    summary: "A template gets a new name although its meaning is the same.",
    reason: "All of its machines are replaced for nothing.",
    source: "https://cluster-api.sigs.k8s.io/tasks/updating-machine-templates",
    bad: Example::Change {
        before: &[("peu01/base/machines.yaml", MACHINES)],
        after: &[("peu01/base/machines.yaml", ONLY_RENAMED)],
    },
    good: Example::Change {
        before: &[("peu01/base/machines.yaml", MACHINES)],
        after: &[("peu01/base/machines.yaml", LARGER)],
    },
};

const MACHINES: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: AWSMachineTemplate
        name: peu01-md-0
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {instanceType: m5.large}}}
";
const ONLY_RENAMED: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: AWSMachineTemplate
        name: peu01-md-1 # <--
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: peu01-md-1, namespace: org}
spec: {template: {spec: {instanceType: m5.large}}}
";
const LARGER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: AWSMachineTemplate
        name: peu01-md-1
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: peu01-md-1, namespace: org}
spec: {template: {spec: {instanceType: m5.xlarge}}}
";

impl Rule for RolloutWithoutChange {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Verdict>) {
        for (old, new) in change.pairs() {
            for reference in reference_paths(&new.id.group, &new.id.kind) {
                let (Some(was), Some(is)) = (old.placed.at(reference.steps), new.placed.at(reference.steps))
                else {
                    continue;
                };
                let Some((from, to)) = renamed(change, was, is) else { continue };
                if from.value.get("spec") != to.value.get("spec") {
                    continue;
                }
                let message = format!(
                    "{} goes from {} to {}, which mean the same: its machines are replaced for nothing. Keep the old name",
                    new.id, from.id, to.id.name
                );
                let path =
                    reference.steps.iter().fold(FieldPath::root(), |path, key| path.key(key)).key("name");
                let place = if change.occasion == Occasion::Upgrade { was } else { is };
                let name = place.field("name").unwrap_or(place);
                verdicts.push(Verdict::new(&ABOUT, message).object(&new.id).path(&path).place(&name.place));
            }
        }
    }
}

/// The templates that a reference named before and names now, where only their names differ.
fn renamed<'a>(
    change: &Evidence<'a>,
    was: &Placed,
    is: &Placed,
) -> Option<(&'a RenderedObject, &'a RenderedObject)> {
    let kind = is.text_at(&["kind"])?;
    let (from, to) = (was.text_at(&["name"])?, is.text_at(&["name"])?);
    if from == to || was.text_at(&["kind"]) != Some(kind) {
        return None;
    }
    // Of a MachinePool's own infrastructure a new name means other instances.
    let rolls = matches!(treatment(kind), Some(Treatment::Rotate)) || kind == "KubeadmConfig";
    let (from, to) = (change.before.named(kind, from).next()?, change.after.named(kind, to).next()?);
    rolls.then_some((from, to))
}
