//! `missing-reference`

use super::{About, Change, Example, Rule, Survey, Verdict};
use crate::finding::Severity;
use crate::object::{FieldPath, api_group};
use crate::render::{Placed, RenderedObject};
use crate::templates::{ReferencePath, reference_paths};

pub(super) struct MissingReference;

static ABOUT: About = About {
    id: "missing-reference",
    severity: Severity::Warning,
    change: Change::Free,
    summary: "An object names another one that the cluster's folder does not render.",
    reason: "The API server accepts references to nothing, and conditions may stay green: no machine comes up, and \
             nobody hears of it. Where the object is applied from elsewhere all is well.",
    source: "https://cluster-api.sigs.k8s.io/developer/core/controllers/machine-deployment",
    bad: Example::Tree(&[("peu01/base/workers.yaml", WORKERS)]),
    good: Example::Tree(&[("peu01/base/workers.yaml", WORKERS), ("peu01/base/template.yaml", TEMPLATE)]),
};

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec:
  template:
    spec:
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: DockerMachineTemplate
        name: peu01-md-0 # <--
";
const TEMPLATE: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata: {name: peu01-md-0, namespace: org}
";

impl Rule for MissingReference {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Verdict>) {
        for object in cluster.objects {
            for reference in reference_paths(&object.id.group, &object.id.kind) {
                // Classes are shared between clusters.
                if reference.kind != Some("ClusterClass") {
                    judge_one(object, reference, cluster, verdicts);
                }
            }
        }
    }
}

fn judge_one(
    object: &RenderedObject,
    reference: &ReferencePath,
    cluster: &Survey<'_>,
    verdicts: &mut Vec<Verdict>,
) {
    let mut found = Vec::new();
    follow(&object.placed, reference.steps, FieldPath::root(), &mut found);
    for (path, value) in found {
        let kind = value.text_at(&["kind"]).or(reference.kind);
        let (Some(kind), Some(name)) = (kind, value.field("name")) else { continue };
        let Some(text) = name.as_str() else { continue };
        let group = value
            .text_at(&["apiGroup"])
            .or_else(|| value.text_at(&["apiVersion"]).map(api_group))
            .unwrap_or(&object.id.group);
        let there = |other: &RenderedObject| other.id.group == group || reference.kind.is_some();
        if !cluster.named(kind, text).any(there) {
            let message = format!(
                "{} names {kind} {text}, which this folder does not render: correct the name, add the object, or see that it is applied from elsewhere",
                object.id
            );
            verdicts.push(
                Verdict::new(&ABOUT, message).object(&object.id).path(&path.key("name")).place(&name.place),
            );
        }
    }
}

fn follow<'a>(value: &'a Placed, steps: &[&str], path: FieldPath, found: &mut Vec<(FieldPath, &'a Placed)>) {
    match steps.split_first() {
        None => found.push((path, value)),
        Some((&"*", rest)) => {
            for (index, item) in value.items().iter().enumerate() {
                follow(item, rest, path.index(index), found);
            }
        }
        Some((key, rest)) => {
            if let Some(next) = value.field(key) {
                follow(next, rest, path.key(key), found);
            }
        }
    }
}
