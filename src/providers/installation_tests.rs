//! What an installer needs, by hand.

use capstan_model::tree::RepoPath;
use capstan_test_support::Files;
use serde_json::{Value, json};

use super::{Installation, installation, plural};
use crate::rendering::{Inputs, render};
use crate::set::ProviderSet;
use crate::variables::Values;

const SET: &str = "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {name: acme, namespace: acme-system}
spec: {version: v1.0.0, configSecret: {name: keys}, fetchConfig: {selector: {matchLabels: {for: acme}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: v1.0.0, namespace: acme-system, labels: {for: acme}}
data:
  metadata: 'releaseSeries: [{major: 1, minor: 0, contract: v1beta2}]'
  components: |
    apiVersion: v1
    kind: ServiceAccount
    metadata: {name: manager, namespace: x}
    ---
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: boxes.acme.example}
    spec: {group: acme.example, names: {kind: Box, plural: boxes}}
    ---
    apiVersion: acme.example/v1
    kind: Box
    metadata: {name: first, namespace: x}
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: whole}
    aggregationRule: {clusterRoleSelectors: [{matchLabels: {into: whole}}]}
    rules: []
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: part, labels: {into: whole}}
    rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: whole}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: whole}
    subjects: [{kind: ServiceAccount, name: manager, namespace: x}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: auth, namespace: x}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: auth-reader}
    subjects: [{kind: ServiceAccount, name: manager, namespace: x}]
";

fn rights() -> Installation {
    let tree = Files::new(&[("set/acme.yaml", SET)]);
    let set = ProviderSet::read(&tree, &RepoPath::parse("set").unwrap()).unwrap();
    let variables = Values::default();
    let inputs = Inputs { tree: &tree, set: &set, variables: &variables, configuration: None };
    let provider = &set.providers()[0];
    let rendered = render(provider, inputs).unwrap();
    installation(&[(provider, &rendered)])
}

/// A rule by hand.
fn rule(group: &str, resource: &str, names: &[&str], verbs: &str) -> Value {
    let mut rule = json!({"apiGroups": [group], "resources": [resource]});
    if !names.is_empty() {
        rule["resourceNames"] = json!(names);
    }
    rule["verbs"] = verbs.split(' ').collect();
    rule
}

#[test]
fn an_installer_needs_no_star() {
    const RBAC: &str = "rbac.authorization.k8s.io";
    const WRITTEN: &str = "create delete get patch";
    let Installation { roles, .. } = rights();
    let definitions = "customresourcedefinitions";
    assert_eq!(
        roles,
        [
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "capstan-providers"},
                "rules": [
                    rule("", "namespaces", &["acme-system"], "create get patch"),
                    rule("acme.example", "boxes", &[], "create get list patch"),
                    rule("apiextensions.k8s.io", definitions, &["boxes.acme.example"], "create get patch"),
                    rule("apiextensions.k8s.io", definitions, &[], "list watch"),
                    rule("apiextensions.k8s.io", "customresourcedefinitions/status", &["boxes.acme.example"], "patch"),
                    rule("operator.cluster.x-k8s.io", "addonproviders", &[], "get list watch"),
                    rule("operator.cluster.x-k8s.io", "bootstrapproviders", &[], "get list watch"),
                    rule("operator.cluster.x-k8s.io", "controlplaneproviders", &[], "get list watch"),
                    rule("operator.cluster.x-k8s.io", "coreproviders", &[], "get list watch"),
                    rule("operator.cluster.x-k8s.io", "infrastructureproviders", &[], "get list watch"),
                    rule("operator.cluster.x-k8s.io", "ipamproviders", &[], "get list watch"),
                    rule("operator.cluster.x-k8s.io", "runtimeextensionproviders", &[], "get list watch"),
                    rule(RBAC, "clusterrolebindings", &["whole"], WRITTEN),
                    rule(RBAC, "clusterrolebindings", &[], "list watch"),
                    rule(RBAC, "clusterroles", &["whole"], "bind create delete escalate get patch"),
                    rule(RBAC, "clusterroles", &["part"], "create delete escalate get patch"),
                    rule(RBAC, "clusterroles", &[], "list watch"),
                ],
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "capstan-providers", "namespace": "acme-system"},
                "rules": [
                    rule("", "configmaps", &[], "create delete get list patch watch"),
                    rule("", "pods", &[], "list watch"),
                    rule("", "secrets", &["infrastructure-acme-v1.0.0-cache"], "delete get"),
                    rule("", "secrets", &["keys"], "get list watch"),
                    rule("", "serviceaccounts", &["manager"], WRITTEN),
                    rule("", "serviceaccounts", &[], "list watch"),
                    rule("acme.example", "boxes", &["first"], WRITTEN),
                    rule("acme.example", "boxes", &[], "list watch"),
                    rule("clusterctl.cluster.x-k8s.io", "providers", &["infrastructure-acme"], "get"),
                    rule("operator.cluster.x-k8s.io", "infrastructureproviders/status", &["acme"], "patch"),
                    rule(RBAC, "clusterroles", &["auth-reader"], "bind"),
                    rule(RBAC, "rolebindings", &["auth"], WRITTEN),
                    rule(RBAC, "rolebindings", &[], "list watch"),
                ],
            }),
        ]
    );
}

#[test]
fn what_managers_may_do_is_resolved_within_the_set() {
    assert_eq!(
        rights().providers,
        [json!({
            "label": "infrastructure-acme",
            "subject": "ServiceAccount acme-system/manager",
            "rules": [
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
                {"role": "ClusterRole auth-reader"},
            ],
        })]
    );
}

#[test]
fn resources_are_guessed_as_kubernetes_does() {
    for (kind, resource) in [
        ("Service", "services"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Endpoints", "endpoints"),
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    ] {
        assert_eq!(plural(kind), resource);
    }
}
