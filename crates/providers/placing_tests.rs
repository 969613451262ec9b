use serde_json::{Value, json};

use super::*;

fn placed(mut object: Value) -> Value {
    place(&mut object, "mine").unwrap();
    object
}

#[test]
fn objects_and_what_names_their_namespace_go_to_the_provider_s() {
    let service = |namespace: &str| json!({"name": "s", "namespace": namespace});
    for (before, after) in [
        // Namespaced is what is not known to be cluster-scoped: a ClusterIssuer, too.
        (
            json!({"kind": "ClusterIssuer", "metadata": {"name": "a"}}),
            json!({"kind": "ClusterIssuer", "metadata": {"name": "a", "namespace": "mine"}}),
        ),
        (
            json!({"kind": "Deployment", "metadata": {"name": "a", "namespace": "theirs"}}),
            json!({"kind": "Deployment", "metadata": {"name": "a", "namespace": "mine"}}),
        ),
        (
            json!({"kind": "ClusterRole", "metadata": {"name": "a"}}),
            json!({"kind": "ClusterRole", "metadata": {"name": "a"}}),
        ),
        // Of subjects only those that have a namespace.
        (
            json!({"kind": "ClusterRoleBinding", "metadata": {"name": "a"}, "subjects": [{"name": "x", "namespace": "theirs"}, {"kind": "Group", "name": "y"}]}),
            json!({"kind": "ClusterRoleBinding", "metadata": {"name": "a"}, "subjects": [{"name": "x", "namespace": "mine"}, {"kind": "Group", "name": "y"}]}),
        ),
        (
            json!({"kind": "RoleBinding", "metadata": {"name": "a"}, "subjects": [{"name": "x", "namespace": "other"}]}),
            json!({"kind": "RoleBinding", "metadata": {"name": "a", "namespace": "mine"}, "subjects": [{"name": "x", "namespace": "mine"}]}),
        ),
        (
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": "a", "annotations": {"cert-manager.io/inject-ca-from": "theirs/cert"}},
                "webhooks": [{"clientConfig": {"service": service("theirs")}}, {"clientConfig": {"url": "u"}}]}),
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": "a", "annotations": {"cert-manager.io/inject-ca-from": "mine/cert"}},
                "webhooks": [{"clientConfig": {"service": service("mine")}}, {"clientConfig": {"url": "u"}}]}),
        ),
        (
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"},
                "spec": {"conversion": {"webhook": {"clientConfig": {"service": service("theirs")}}}}}),
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"},
                "spec": {"conversion": {"webhook": {"clientConfig": {"service": service("mine")}}}}}),
        ),
        // The first of each name, by the namespace that the object had.
        (
            json!({"kind": "Certificate", "metadata": {"name": "a", "namespace": "theirs"}, "spec": {"dnsNames": ["s.theirs.svc", "s.theirs.theirs.svc", "s.other.svc"]}}),
            json!({"kind": "Certificate", "metadata": {"name": "a", "namespace": "mine"}, "spec": {"dnsNames": ["s.mine.svc", "s.mine.theirs.svc", "s.other.svc"]}}),
        ),
    ] {
        assert_eq!(placed(before), after);
    }
}

#[test]
fn what_clusterctl_refuses_is_refused() {
    for (mut object, said) in [
        (
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"annotations": {"cert-manager.io/inject-ca-from": "cert"}}}),
            "is not `NAMESPACE/NAME`",
        ),
        (
            json!({"apiVersion": "admissionregistration.k8s.io/v2", "kind": "ValidatingWebhookConfiguration", "metadata": {}}),
            "must be v1 or v1beta1",
        ),
    ] {
        assert!(place(&mut object, "mine").unwrap_err().to_string().contains(said));
    }
}

#[test]
fn labels_and_owner_join_what_is_there() {
    let mut object = json!({"metadata": {"name": "a", "namespace": "mine", "labels": {"cluster.x-k8s.io/provider": "x", "y": "z"}}});
    label(&mut object, "infrastructure-aws");
    let owner = OwnerLabels { kind: "InfrastructureProvider", name: "aws", uid: "u-1" };
    own(&mut object, &owner);
    own(&mut object, &OwnerLabels { uid: "u-2", ..owner });
    assert_eq!(
        object["metadata"],
        json!({
            "name": "a", "namespace": "mine",
            "labels": {"cluster.x-k8s.io/provider": "infrastructure-aws", "y": "z", "clusterctl.cluster.x-k8s.io": ""},
            "ownerReferences": [{"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "InfrastructureProvider", "name": "aws", "uid": "u-2"}],
        })
    );
    let mut cluster_wide = json!({"metadata": {"name": "a", "labels": null}});
    label(&mut cluster_wide, "b");
    own(&mut cluster_wide, &owner);
    assert_eq!(
        cluster_wide,
        json!({"metadata": {"name": "a", "labels": {"clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/provider": "b"}}})
    );
}
