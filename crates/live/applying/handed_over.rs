//! Fields that Git no longer names: counts that pass to another owner, and removed fields that survive.
//!
//! A field that Capstan owns and Git no longer names is removed by the next apply, and the server fills in
//! its default. For `replicas` that default is 1: a MachineDeployment that is handed to an autoscaler would
//! lose all its machines but one, for a moment or for good. So a count that Git stops naming is let go of
//! *before* the apply, as a field that nobody owns: it stays what it is until its new owner writes it.

use serde::Serialize;
use serde_json::Value;

use super::managed::{ManagerEntry, Spelled, is_count, overlap, path_in};
use super::managers::member;
use capstan_model::object::FieldPath;

/// A field that Git removed and that is still there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FieldSurvived {
    pub field: FieldPath,
    /// Who else holds it.
    pub managers: Vec<String>,
}

/// The counts of a live object that Git no longer names and that would fall to their default: to be let go
/// of before the manifest is applied, and to be left out of what the apply changes. `from` are the managers
/// whose fields Capstan takes over with the same stroke.
pub fn handed_over(live: &Value, manifest: &Value, from: &[String]) -> Vec<FieldPath> {
    let taken = |entry: &ManagerEntry<'_>| {
        entry.is_ours() || entry.subresource.is_empty() && from.iter().any(|name| name == entry.manager)
    };
    let (ours, others): (Vec<ManagerEntry<'_>>, Vec<ManagerEntry<'_>>) =
        ManagerEntry::of(live).partition(taken);
    let held: Vec<Spelled> = others.iter().flat_map(|entry| entry.leaves()).collect();
    let mut found: Vec<FieldPath> = ours
        .iter()
        .flat_map(ManagerEntry::leaves)
        .filter(|spelled| is_count(spelled) && !is_named(manifest, spelled))
        .filter(|spelled| !held.iter().any(|other| overlap(other, spelled)))
        .filter_map(|spelled| path_in(live, &spelled))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Whether the manifest names a count, or drops with it the whole thing that it counts.
fn is_named(manifest: &Value, spelled: &[String]) -> bool {
    let Some((_, parent)) = spelled.split_last() else { return true };
    let holder =
        parent.iter().try_fold(manifest, |value, segment| member(value, segment).map(|(_, below)| below));
    match holder {
        Some(holder) => member(holder, "f:replicas").is_some(),
        None => true,
    }
}

/// The fields that Capstan owned in the live object and no longer owns in the dry run, but that are still there,
/// because another manager holds them too.
pub fn survived(live: &Value, dry_run: &Value) -> Vec<FieldSurvived> {
    let leaves = |object| ManagerEntry::ours(object).map(|entry| entry.leaves()).unwrap_or_default();
    let (before, after) = (leaves(live), leaves(dry_run));
    let mut found: Vec<FieldSurvived> = before
        .difference(&after)
        .filter(|spelled| !is_count(spelled))
        .filter_map(|spelled| {
            let field = path_in(dry_run, spelled)?;
            let holds = |entry: &ManagerEntry<'_>| entry.leaves().iter().any(|other| overlap(other, spelled));
            let mut managers: Vec<String> = ManagerEntry::of(dry_run)
                .filter(|entry| !entry.is_ours() && holds(entry))
                .map(|entry| entry.manager.to_owned())
                .collect();
            managers.sort();
            managers.dedup();
            (!managers.is_empty()).then_some(FieldSurvived { field, managers })
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "cluster.x-k8s.io/v1beta2", "fieldsV1": fields})
    }

    fn deployment(entries: &[Value]) -> Value {
        json!({"metadata": {"name": "md", "labels": {"a": "b"}, "managedFields": entries},
               "spec": {"replicas": 3, "clusterName": "c"}})
    }

    fn paths(fields: &[FieldPath]) -> Vec<String> {
        fields.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_count_that_git_drops_is_let_go_of_unless_somebody_holds_it() {
        let replicas = json!({"f:spec": {"f:replicas": {}, "f:clusterName": {}}});
        let ours = entry("capstan", "Apply", &replicas);
        let without = json!({"spec": {"clusterName": "c"}});
        let with = json!({"spec": {"clusterName": "c", "replicas": 5}});
        assert_eq!(
            paths(&handed_over(&deployment(std::slice::from_ref(&ours)), &without, &[])),
            ["/spec/replicas"]
        );
        assert_eq!(handed_over(&deployment(std::slice::from_ref(&ours)), &with, &[]), []);
        // The autoscaler wrote it already.
        let mut scaled = entry("cluster-autoscaler", "Update", &json!({"f:spec": {"f:replicas": {}}}));
        scaled["subresource"] = json!("scale");
        assert_eq!(handed_over(&deployment(&[ours, scaled]), &without, &[]), []);
        // kubectl applied it, and Capstan takes it over.
        let theirs = deployment(&[entry("kubectl-client-side-apply", "Update", &replicas)]);
        assert_eq!(handed_over(&theirs, &without, &[]), []);
        assert_eq!(
            paths(&handed_over(&theirs, &without, &["kubectl-client-side-apply".to_owned()])),
            ["/spec/replicas"]
        );
    }

    #[test]
    fn counts_of_a_topology_are_let_go_of_group_by_group() {
        let group = |name: &str| format!("k:{{\"name\":\"{name}\"}}");
        let live = json!({"metadata": {"managedFields": [entry("capstan", "Apply", &json!({"f:spec": {"f:topology": {"f:workers":
            {"f:machineDeployments": {
                group("a"): {".": {}, "f:name": {}, "f:replicas": {}},
                group("b"): {".": {}, "f:name": {}, "f:replicas": {}},
                group("gone"): {".": {}, "f:name": {}, "f:replicas": {}},
            }}}}}))]},
            "spec": {"topology": {"workers": {"machineDeployments": [
                {"name": "gone", "replicas": 1}, {"name": "a", "replicas": 2}, {"name": "b", "replicas": 3}]}}}});
        let manifest = json!({"spec": {"topology": {"workers": {"machineDeployments": [
            {"name": "a"}, {"name": "b", "replicas": 3}]}}}});
        assert_eq!(
            paths(&handed_over(&live, &manifest, &[])),
            ["/spec/topology/workers/machineDeployments/1/replicas"]
        );
    }

    #[test]
    fn a_removed_field_that_another_holds_survives_and_a_default_does_not_count() {
        let both = json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:clusterName": {}, "f:replicas": {}}});
        let live = deployment(&[
            entry("capstan", "Apply", &both),
            entry("helm", "Update", &json!({"f:metadata": {"f:labels": {"f:a": {}}}})),
        ]);
        let dry_run = deployment(&[
            entry("capstan", "Apply", &json!({})),
            entry("helm", "Update", &json!({"f:metadata": {"f:labels": {"f:a": {}}}})),
        ]);
        assert_eq!(
            survived(&live, &dry_run),
            [FieldSurvived {
                field: FieldPath::root().key("metadata").key("labels").key("a"),
                managers: vec!["helm".to_owned()],
            }]
        );
        assert_eq!(survived(&live, &live), []);
    }
}
