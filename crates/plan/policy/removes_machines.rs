//! `removes-machines`

use super::evidence::Evidence;
use super::facts::Occasion;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{has_machines, is_cluster, is_control_plane};
use capstan_model::object::FieldPath;

pub(super) struct RemovesMachines;

static ABOUT: About =
    About::new(rules::REMOVES_MACHINES, include_str!("../../../docs/rules/removes-machines.md"));

impl PolicyRule for RemovesMachines {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        // An upgrade that would take one of these blocks, and says so as `removes-cluster`.
        let said_already = |object: &RenderedObject| {
            change.occasion == Occasion::Upgrade && (is_cluster(&object.id) || is_control_plane(&object.id))
        };
        for old in change.before.objects.iter().filter(|object| has_machines(&object.id)) {
            let Some(new) = change.after.object(&old.id) else {
                if said_already(old) {
                    continue;
                }
                let message = match change.occasion {
                    Occasion::Revision => format!(
                        "{} is gone, and with it its machines: restore it if you do not want that",
                        old.id
                    ),
                    Occasion::Upgrade => format!(
                        "{} is removed by this upgrade, with its machines, because the release no longer has it: move the workloads first",
                        old.id
                    ),
                };
                verdicts.push(
                    Finding::new(rules::REMOVES_MACHINES, message)
                        .object(&old.id)
                        .path(&FieldPath::root())
                        .place(old.origin()),
                );
                continue;
            };
            for workers in ["machineDeployments", "machinePools"] {
                removed_workers(old, new, workers, verdicts);
            }
        }
    }
}

fn removed_workers(old: &RenderedObject, new: &RenderedObject, field: &str, verdicts: &mut Vec<Finding>) {
    let workers = |object: &'_ RenderedObject| -> Vec<PlacedValue> {
        object
            .placed
            .at(&["spec", "topology", "workers", field])
            .map(|list| list.items().to_vec())
            .unwrap_or_default()
    };
    let left = workers(new);
    for (index, worker) in workers(old).iter().enumerate() {
        let name = worker.text_at(&["name"]);
        if name.is_none() || left.iter().any(|other| other.text_at(&["name"]) == name) {
            continue;
        }
        let path = FieldPath::of_keys(["spec", "topology", "workers", field]).index(index);
        let message = format!(
            "the workers `{}` of {} are gone, and with them their machines: restore them if you do not want that",
            name.unwrap_or_default(),
            old.id
        );
        verdicts.push(
            Finding::new(rules::REMOVES_MACHINES, message).object(&old.id).path(&path).place(&worker.place),
        );
    }
}
