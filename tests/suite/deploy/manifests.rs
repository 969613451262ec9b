//! A real API server takes what is rendered, without a warning: the namespaces warn of pods that are not restricted.

use super::helm::Helm;
use super::{deployed, read};
use crate::k8s::shared;
use crate::plane::Plane;

/// Sends objects to the API server as `kubectl apply` does, without anything being kept.
fn try_out(plane: &Plane, objects: &str) {
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

#[test]
fn the_chart_is_accepted_by_a_real_api_server_with_all_that_it_can_have() {
    let (Some(plane), Some(helm)) = (shared(), Helm::find()) else { return };
    for plural in ["podmonitors", "prometheusrules"] {
        plane.apply(&std::fs::read_to_string(helm.operator_kind(plural)).unwrap());
        let name = format!("crd/{plural}.monitoring.coreos.com");
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &name]);
    }
    let monitoring = ["podMonitor.enabled=true", "prometheusRule.enabled=true", "dashboard.enabled=true"];
    let bot = [
        "program=bot",
        "bot.settings.github-app-id=12345",
        "bot.settings.public-url=https://capstan.example.com",
        "bot.replicas=3",
        "bot.postgres.enabled=true",
        "bot.persistence.storageClassName=fast",
        "bot.ingress.enabled=true",
        "bot.ingress.className=nginx",
        "bot.ingress.tlsSecretName=capstan-tls",
    ];
    let pod = [
        "log.level=debug",
        "log.format=json",
        "image.pullSecrets[0].name=registry",
        "podAnnotations.team=platform",
        "podLabels.team=platform",
        "priorityClassName=high",
        "nodeSelector.pool=tools",
        "tolerations[0].key=tools",
        "tolerations[0].operator=Exists",
        "topologySpreadConstraints[0].maxSkew=1",
        "topologySpreadConstraints[0].topologyKey=zone",
        "topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
        "topologySpreadConstraints[0].labelSelector.matchLabels.team=platform",
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1",
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key=pool",
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].operator=Exists",
        "extraEnv[0].name=SSL_CERT_FILE",
        "extraEnv[0].value=/etc/ca/ca.pem",
        "extraVolumes[0].name=ca",
        "extraVolumes[0].configMap.name=ca",
        "extraVolumeMounts[0].name=ca",
        "extraVolumeMounts[0].mountPath=/etc/ca",
        "networkPolicy.egress[0].ports[0].port=3128",
    ];
    for (namespace, file, values, count) in [
        ("capstan-bot", "bot/namespace.yaml", &bot[..], 9),
        (
            "capstan-system",
            "namespace.yaml",
            &[
                "program=reconciler",
                "reconciler.settings.namespace-watches=10",
                "reconciler.providers.enabled=true",
                "reconciler.providers.definitions=true",
            ],
            37,
        ),
    ] {
        plane.apply(&read(file));
        let rendered = helm.template(namespace, &[values, &monitoring, &pod].concat()).unwrap();
        assert_eq!(super::documents(&rendered).len(), count, "{namespace}");
        try_out(plane, &rendered);
    }
}
