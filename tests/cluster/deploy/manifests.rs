//! A real API server takes what is rendered, without a warning: the namespaces warn of pods that are not restricted.

use crate::k8s::shared;
use capstan_test_parts::deployed::{deployed, read};
use capstan_test_parts::plane::Plane;

/// Sends objects to the API server as `kubectl apply` does, without anything being kept.
pub(super) fn try_out(plane: &Plane, objects: &str) {
    let flags = ["--server-side", "--field-manager=admin", "--dry-run=server", "--warnings-as-errors"];
    plane.kubectl_with(&[&["apply"], &flags[..], &["-f", "-"]].concat(), objects);
}

#[test]
fn kustomizations_are_accepted_by_a_real_api_server() {
    let Some(plane) = shared() else { return };
    for (folder, namespace, kinds) in [
        (
            "",
            "namespace.yaml",
            &[
                "Namespace",
                "CustomResourceDefinition",
                "ClusterRole",
                "Role",
                "Deployment",
                "PersistentVolumeClaim",
                "NetworkPolicy",
            ][..],
        ),
        (
            "providers",
            "namespace.yaml",
            &["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"],
        ),
        ("clouds", "clouds/namespace.yaml", &["Namespace", "Role", "RoleBinding"]),
        ("hosts", "namespace.yaml", &["CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"]),
        ("hosts/applier", "namespace.yaml", &["Role", "RoleBinding"]),
        ("providers/definitions", "namespace.yaml", &["CustomResourceDefinition"]),
        (
            "bot",
            "bot/namespace.yaml",
            &[
                "Namespace",
                "ServiceAccount",
                "Service",
                "StatefulSet",
                "PodDisruptionBudget",
                "NetworkPolicy",
            ],
        ),
    ] {
        let built = plane.kubectl(&["kustomize", &deployed(folder).display().to_string()]);
        for kind in kinds {
            assert!(built.contains(&format!("\nkind: {kind}\n")), "{folder}: {kind}");
        }
        plane.apply(&read(namespace));
        try_out(plane, &built);
    }
}
