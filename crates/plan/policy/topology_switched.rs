//! `topology-switched`

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_cluster;
use capstan_model::object::FieldPath;

pub(super) struct TopologySwitched;

static ABOUT: About =
    About::new(rules::TOPOLOGY_SWITCHED, include_str!("../../../docs/rules/topology-switched.md"));

/// With it Cluster API takes a topology on at a person's own risk.
const UNSAFE: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check";

impl PolicyRule for TopologySwitched {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in change.pairs().filter(|(_, new)| is_cluster(&new.id)) {
            let topology = |value: &capstan_kustomize::render::PlacedValue| {
                value.at(&["spec", "topology"]).is_some_and(|topology| !topology.is_null())
            };
            let message = match (topology(&old.placed), topology(&new.placed)) {
                (true, false) => {
                    format!("{} loses its `topology`, which the API server refuses: restore it", new.id)
                }
                (false, true) if new.placed.at(&["metadata", "annotations", UNSAFE]).is_none() => format!(
                    "{} gets a `topology`, which the API server refuses for an existing cluster: make a new cluster, or annotate it with {UNSAFE}",
                    new.id
                ),
                _ => continue,
            };
            let path = FieldPath::root().key("spec").key("topology");
            let place = change.nearest_place(old, new, &path);
            verdicts.push(
                Finding::new(rules::TOPOLOGY_SWITCHED, message).object(&new.id).path(&path).place(place),
            );
        }
    }
}
