//! Objects of kinds that nobody defines: an API server refuses them, in the middle of an installation.

use std::collections::BTreeMap;

use capstan_model::finding::{Finding, rules};
use capstan_model::object::api_group;
use capstan_model::spelling;
use serde_json::Value;

use super::case::{RuleCase, found};
use super::in_use::definitions;
use crate::objects::id_of;

/// Kinds of Kubernetes' own groups that are finished: who writes another one has misspelled it
/// (<https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/>).
const FINISHED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apps", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("batch", &["CronJob", "Job"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
];

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    let mut known: BTreeMap<&str, Vec<&str>> =
        FINISHED.iter().map(|(group, kinds)| (*group, kinds.to_vec())).collect();
    for (_, definition) in definitions(case.after) {
        known.entry(definition.group).or_default().push(definition.kind);
    }
    // What an unknown provider defines is unknown, too.
    let is_whole = case.after.members.iter().all(|member| member.rendered().is_some());
    for member in &case.after.members {
        for object in member.rendered().into_iter().flat_map(|rendered| &rendered.objects) {
            let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
            let (group, kind) = (api_group(text("apiVersion")), text("kind"));
            let is_finished = FINISHED.iter().any(|(of, _)| *of == group);
            let Some(kinds) = known.get(group).filter(|_| is_finished || is_whole) else { continue };
            if kinds.contains(&kind) {
                continue;
            }
            let message = format!(
                "{}: {} has a kind that `{}` does not have: correct it{}",
                member.label(),
                id_of(object),
                text("apiVersion"),
                spelling::hint(kind, kinds)
            );
            findings.push(found(rules::RENDER_FAILED, member, message));
        }
    }
}
