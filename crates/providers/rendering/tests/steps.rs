//! The order of the steps: what a later one sees of an earlier one.

use super::*;

/// Every step leaves a mark that the next could not have left.
#[test]
fn the_steps_follow_one_another_as_in_the_operator() {
    let components = "\
apiVersion: v1
kind: Namespace
metadata: {name: old-system}
---
# a comment with ${UNUSED:=a default} and ${GREETING}
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: old-system, y: 1}
spec: {selector: {app: \"${GREETING}\"}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving, namespace: old-system}
spec: {dnsNames: [webhook.old-system.svc]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: old-system}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: manager
        image: registry.example.com/acme/manager:v1.0.0
        args: [\"--feature-gates=B=${B:=true}\"]
";
    let provider = "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {name: acme, namespace: acme-system, uid: u-1}
spec:
  version: v1.0.0
  configSecret: {name: values}
  fetchConfig: {selector: {matchLabels: {for: acme}}}
  additionalManifests: {name: more}
  manager: {featureGates: {A: true}}
  patches:
  - target: {kind: Deployment}
    patch: '[{op: replace, path: /spec/replicas, value: 3}, {op: test, path: /spec/template/spec/containers/0/args/0, value: \"--feature-gates=A=true,B=false\"}]'
  - target: {namespace: acme-system, kind: ConfigMap}
    patch: 'data: {patched: \"yes\"}'
";
    let set = "\
apiVersion: v1
kind: Secret
metadata: {name: values, namespace: acme-system}
data: {GREETING: aGk=, images: \"YWxsOiB7cmVwb3NpdG9yeTogbWlycm9yLmV4YW1wbGUuY29tL2ZpcnN0fQ==\"}
stringData: {B: \"false\"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: acme-system}
data:
  manifests: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: extra}
    data: {greeting: \"${GREETING}\"}
";
    let all = tried(
        &[
            ("mc/provider.yaml", provider),
            ("mc/set.yaml", set),
            ("mc/components.yaml", &config_map(components)),
        ],
        &[("GREETING", "ignored: the Secret has one")],
        Some("images:\n  all: {tag: v9}\n"),
    )
    .unwrap();
    let [rendered] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(
        (rendered.label.as_str(), rendered.version.as_str(), rendered.contract.as_str()),
        ("infrastructure-acme", "v1.0.0", "v1beta2")
    );
    expect(
        &rendered.objects,
        "\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: serving
  namespace: acme-system
  labels: {clusterctl.cluster.x-k8s.io: '', cluster.x-k8s.io/provider: infrastructure-acme}
  ownerReferences: [{apiVersion: operator.cluster.x-k8s.io/v1alpha2, kind: InfrastructureProvider, name: acme, uid: u-1}]
spec: {dnsNames: [webhook.acme-system.svc]}
---
apiVersion: v1
kind: Service
metadata:
  name: webhook
  namespace: acme-system
  'true': 1
  labels: {clusterctl.cluster.x-k8s.io: '', cluster.x-k8s.io/provider: infrastructure-acme}
  ownerReferences: [{apiVersion: operator.cluster.x-k8s.io/v1alpha2, kind: InfrastructureProvider, name: acme, uid: u-1}]
spec: {selector: {app: hi}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
  namespace: acme-system
  labels: {clusterctl.cluster.x-k8s.io: '', cluster.x-k8s.io/provider: infrastructure-acme}
  ownerReferences: [{apiVersion: operator.cluster.x-k8s.io/v1alpha2, kind: InfrastructureProvider, name: acme, uid: u-1}]
spec:
  replicas: 3
  template:
    spec:
      containers:
      - name: manager
        image: mirror.example.com/first/manager:v9
        args: ['--feature-gates=A=true,B=false']
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: extra
  namespace: acme-system
  labels: {clusterctl.cluster.x-k8s.io: '', cluster.x-k8s.io/provider: infrastructure-acme}
  ownerReferences: [{apiVersion: operator.cluster.x-k8s.io/v1alpha2, kind: InfrastructureProvider, name: acme, uid: u-1}]
data: {greeting: hi, patched: 'yes'}
",
    );
    assert_eq!(rendered.images.iter().collect::<Vec<_>>(), ["mirror.example.com/first/manager:v9"]);
    assert_eq!(rendered.notes, [""; 0]);
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: \"${NAME:=default}\"}\n";

fn name_of(spec: &str, more: &str, variables: &[(&str, &str)]) -> (String, Vec<String>) {
    let provider = format!("{PROVIDER}{spec}");
    let files = [("a.yaml", provider.as_str()), ("b.yaml", more), ("c.yaml", &config_map(SERVICE))];
    let rendered = tried(&files, variables, None).unwrap().remove(0);
    (rendered.objects[0]["metadata"]["name"].as_str().unwrap().to_owned(), rendered.notes)
}

/// The Secret's own values count; what it lacks is given; without a Secret there are no values, as in the cluster.
#[test]
fn values_come_from_the_config_secret_else_from_who_asks() {
    let secret = |data: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: acme-system}}\n{data}\n")
    };
    let named = "  configSecret: {name: s}\n";
    let given = [("NAME", "given")];
    assert_eq!(name_of("", "", &given).0, "default");
    assert_eq!(name_of(named, &secret("data: {NAME: b3du}"), &given).0, "own");
    assert_eq!(name_of(named, &secret("data: {NAME: b3du}\nstringData: {NAME: newer}"), &given).0, "newer");
    assert_eq!(name_of(named, &secret("data: {OTHER: b3du}"), &given).0, "given");
    let (name, notes) = name_of(named, "", &given);
    assert_eq!(name, "given");
    assert!(notes[0].starts_with("Secret acme-system/s is not here, or is encrypted"), "{notes:?}");
    let (name, notes) =
        name_of(named, &secret("stringData: {NAME: \"ENC[AES256_GCM]\"}\nsops: {mac: x}"), &given);
    assert_eq!((name.as_str(), notes.len()), ("given", 1));
    let (name, notes) = name_of(named, &secret("data: {NAME: b3du, BINARY: /w==}"), &[]);
    assert_eq!(name, "own");
    assert_eq!(notes, ["of Secret acme-system/s, BINARY have no text and are ignored"]);
}
