//! What an installer needs, by hand.

use capstan_model::object::ObjectId;
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;
use serde_json::{Value, json};

use super::{InstalledSet, SetInstallation, installation, plural};
use crate::rendering::{Inputs, render};
use crate::set::ProviderSet;
use crate::variables::VariableValues;

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

fn rights() -> SetInstallation {
    rights_after(&InstalledSet::default())
}

fn rights_after(before: &InstalledSet) -> SetInstallation {
    let tree = Files::new(&[("set/acme.yaml", SET)]);
    let set = ProviderSet::read(&tree, &RepoPath::parse("set").unwrap()).unwrap();
    let variables = VariableValues::default();
    let inputs = Inputs { tree: &tree, set: &set, variables: &variables, configuration: None };
    let provider = &set.providers()[0];
    let rendered = render(provider, inputs).unwrap();
    installation(&[(provider, &rendered)], before)
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
    let SetInstallation { roles, .. } = rights();
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

/// What an upgrade drops is deleted, a definition aside; and caches of the operator of every version that may have been.
#[test]
fn an_upgrade_takes_what_it_drops_and_nothing_else_besides() {
    let id = |group: &str, kind: &str, namespace: Option<&str>, name: &str| ObjectId {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    };
    const RBAC: &str = "rbac.authorization.k8s.io";
    let before = InstalledSet {
        objects: vec![
            id(RBAC, "ClusterRole", None, "part"),
            id(RBAC, "ClusterRole", None, "dropped"),
            id("apiextensions.k8s.io", "CustomResourceDefinition", None, "lids.acme.example"),
            id("", "Service", Some("acme-system"), "dropped"),
            id("", "Secret", Some("acme-system"), "dropped"),
        ],
        versions: [
            ("infrastructure-acme".to_owned(), "v0.9.0".to_owned()),
            ("other".to_owned(), "v3".to_owned()),
        ]
        .into(),
    };
    let rules = |rights: &SetInstallation| -> Vec<Value> {
        let roles = rights.roles.iter().flat_map(|role| role["rules"].as_array().unwrap().clone());
        roles.collect()
    };
    let (without, with) = (rules(&rights()), rules(&rights_after(&before)));
    let more: Vec<&Value> = with.iter().filter(|rule| !without.contains(rule)).collect();
    assert_eq!(
        more,
        [
            &rule("apiextensions.k8s.io", "customresourcedefinitions", &["lids.acme.example"], "get"),
            &rule(RBAC, "clusterroles", &["dropped"], "delete get"),
            &rule(
                "",
                "secrets",
                &["infrastructure-acme-v0.9.0-cache", "infrastructure-acme-v1.0.0-cache"],
                "delete get"
            ),
            &rule("", "secrets", &["dropped"], "delete get list watch"),
            &rule("", "services", &["dropped"], "delete get"),
            &rule("", "services", &[], "list watch"),
        ]
    );
    let less: Vec<&Value> = without.iter().filter(|rule| !with.contains(rule)).collect();
    assert_eq!(less, [&rule("", "secrets", &["infrastructure-acme-v1.0.0-cache"], "delete get")]);
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
