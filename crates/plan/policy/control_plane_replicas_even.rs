//! `control-plane-replicas-even`

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedContent, PlacedValue};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{is_cluster, names};
use capstan_model::object::FieldPath;

pub(super) struct ControlPlaneReplicasEven;

static ABOUT: About = About::new(
    rules::CONTROL_PLANE_REPLICAS_EVEN,
    include_str!("../../../docs/rules/control-plane-replicas-even.md"),
);

impl PolicyRule for ControlPlaneReplicasEven {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            let (config, keys): (Option<&PlacedValue>, &[&str]) = match object.id.kind.as_str() {
                "KubeadmControlPlane" => {
                    (object.placed.at(&["spec", "kubeadmConfigSpec"]), &["spec", "replicas"])
                }
                _ if is_cluster(&object.id) => match class_template(cluster, &object.placed) {
                    Some(template) => (
                        template.at(&["spec", "template", "spec", "kubeadmConfigSpec"]),
                        &["spec", "topology", "controlPlane", "replicas"],
                    ),
                    None => continue,
                },
                _ => continue,
            };
            let external = ["clusterConfiguration", "etcd", "external"];
            if config.is_some_and(|config| config.at(&external).is_some()) {
                continue;
            }
            let Some(replicas) = object.placed.at(keys) else { continue };
            let PlacedContent::Scalar(scalar) = &replicas.content else { continue };
            let Some(count) = scalar.value().as_u64().filter(|count| count.is_multiple_of(2)) else {
                continue;
            };
            let message = format!(
                "{} has {count} replicas, an even number, and runs etcd on the same machines: use {} or {}",
                object.id,
                count.saturating_sub(1).max(1),
                count + 1
            );
            let path = FieldPath::of_keys(keys);
            verdicts.push(
                Finding::new(rules::CONTROL_PLANE_REPLICAS_EVEN, message)
                    .object(&object.id)
                    .path(&path)
                    .place(&replicas.place),
            );
        }
    }
}

/// The kubeadm control plane template of a topology's class, where the folder renders both.
fn class_template<'a>(cluster: &ClusterEvidence<'a>, object: &PlacedValue) -> Option<&'a PlacedValue> {
    let topology = object.at(&["spec", "topology"])?;
    let name = topology.text_at(&["class"]).or_else(|| topology.text_at(&["classRef", "name"]))?;
    let class = cluster.named(names::CLUSTER_CLASS, name).next()?.placed.at(&["spec", "controlPlane"])?;
    let reference = class.field("ref").or_else(|| class.field("templateRef"))?;
    let kind = "KubeadmControlPlaneTemplate";
    (reference.text_at(&["kind"])? == kind).then_some(())?;
    Some(&cluster.named(kind, reference.text_at(&["name"])?).next()?.placed)
}
