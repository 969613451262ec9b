//! `autoscaler-owns-replicas`

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::{FieldPath, ObjectId};

pub(super) struct AutoscalerOwnsReplicas;

static ABOUT: About = About::new(
    rules::AUTOSCALER_OWNS_REPLICAS,
    include_str!("../../../docs/rules/autoscaler-owns-replicas.md"),
);

const MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
/// Of a MachinePool that something else scales; the value is its name.
const MANAGED_BY: &str = "cluster.x-k8s.io/replicas-managed-by";

impl PolicyRule for AutoscalerOwnsReplicas {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            let id = &object.id;
            match role_of(id) {
                Some(KindRole::Workers(_)) => {
                    let spec = FieldPath::root().key("spec");
                    let (metadata, holder) = (object.placed.field("metadata"), object.placed.field("spec"));
                    judge(id, metadata, holder, &spec, verdicts);
                }
                Some(KindRole::Cluster) => {
                    for field in ["machineDeployments", "machinePools"] {
                        let keys = ["spec", "topology", "workers", field];
                        let Some(workers) = object.placed.at(&keys) else { continue };
                        let path = FieldPath::of_keys(keys);
                        for (at, worker) in workers.items().iter().enumerate() {
                            judge(id, worker.field("metadata"), Some(worker), &path.index(at), verdicts);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

fn judge(
    id: &ObjectId,
    metadata: Option<&PlacedValue>,
    holder: Option<&PlacedValue>,
    path: &FieldPath,
    verdicts: &mut Vec<Finding>,
) {
    let Some(annotations) = metadata.and_then(|metadata| metadata.field("annotations")) else { return };
    let has = |key: &str| annotations.field(key).is_some_and(|value| !value.is_null());
    let scaler = if has(MIN) && has(MAX) {
        "the cluster autoscaler (see the annotations for its smallest and largest size)"
    } else if annotations.text_at(&[MANAGED_BY]).is_some_and(|by| by != "false") {
        "the tool that the annotation `replicas-managed-by` names"
    } else {
        return;
    };
    let Some(replicas) = holder.and_then(|holder| holder.field("replicas")).filter(|value| !value.is_null())
    else {
        return;
    };
    let message =
        format!("{id} sets `replicas`, but {scaler} decides the number of machines: remove `replicas`");
    verdicts.push(
        Finding::new(rules::AUTOSCALER_OWNS_REPLICAS, message)
            .object(id)
            .path(&path.key("replicas"))
            .place(&replicas.place),
    );
}
