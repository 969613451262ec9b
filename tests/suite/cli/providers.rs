//! `capstan providers render` and `capstan providers images`.

use serde_json::json;

use super::sandbox::Sandbox;

const SET: &str = "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: IPAMProvider
metadata: {name: in-cluster, namespace: ipam-system}
spec: {version: v1.0.3, configSecret: {name: values}}
";

const COMPONENTS: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: capi-ipam-in-cluster-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: capi-ipam-in-cluster-system}
spec:
  template:
    spec:
      containers:
      - {name: manager, image: registry.k8s.io/ipam/manager:v1.0.3, args: ['--v=${VERBOSITY}']}
      initContainers:
      - {name: init, image: registry.k8s.io/ipam/init:v1.0.3}
";

fn set() -> Sandbox {
    Sandbox::with(&[
        ("mc/providers/ipam.yaml", SET),
        (
            ".capstan/providers/ipam-in-cluster/v1.0.3/metadata.yaml",
            "releaseSeries: [{major: 1, minor: 0, contract: v1beta1}]\n",
        ),
        (".capstan/providers/ipam-in-cluster/v1.0.3/ipam-components.yaml", COMPONENTS),
        ("clusters/notes.txt", "nothing\n"),
    ])
}

#[test]
fn providers_are_rendered_as_they_would_be_applied() {
    let sandbox = set();
    sandbox.write("variables.yaml", "VERBOSITY: 7\nOTHER: x\n");
    let file = sandbox.at("variables.yaml");
    let file = file.to_str().unwrap();
    let said = sandbox.capstan(&[
        "providers",
        "render",
        "mc/providers",
        "--variable",
        "VERBOSITY=5",
        "--variables-file",
        file,
        "-o",
        "json",
    ]);
    assert_eq!(
        said.json(0),
        json!([{
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": "manager",
                "namespace": "ipam-system",
                "labels": {"clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/provider": "ipam-in-cluster"},
            },
            "spec": {"template": {"spec": {
                "containers": [{"name": "manager", "image": "registry.k8s.io/ipam/manager:v1.0.3", "args": ["--v=5"]}],
                "initContainers": [{"name": "init", "image": "registry.k8s.io/ipam/init:v1.0.3"}],
            }}},
        }])
    );
    assert_eq!(
        said.err,
        "note: IPAMProvider ipam-system/in-cluster: Secret ipam-system/values is not here, or encrypted: variables have the values that were given, else their defaults\n"
    );
    let yaml = sandbox.capstan(&["providers", "render", "--variables-file", file]);
    assert!(yaml.ended(0).out.starts_with("---\napiVersion: apps/v1\nkind: Deployment\n"), "{}", yaml.out);
    assert!(yaml.out.contains("- \"--v=7\"\n"), "{}", yaml.out);
}

#[test]
fn images_are_listed_after_all_overrides() {
    let sandbox = set();
    sandbox
        .write("clusterctl.yaml", "images:\n  ipam-in-cluster/init: {repository: mirror.example.com/k8s}\n");
    let file = sandbox.at("clusterctl.yaml");
    let arguments =
        ["providers", "images", "--variable", "VERBOSITY=5", "--clusterctl-config", file.to_str().unwrap()];
    let said = sandbox.capstan(&arguments);
    assert_eq!(
        said.ended(0).out,
        "mirror.example.com/k8s/init:v1.0.3\nregistry.k8s.io/ipam/manager:v1.0.3\n"
    );
    let json = sandbox.capstan(&[&arguments[..], &["-o", "json"]].concat()).json(0);
    assert_eq!(json, json!(["mirror.example.com/k8s/init:v1.0.3", "registry.k8s.io/ipam/manager:v1.0.3"]));
}

#[test]
fn what_is_wrong_is_told_and_nothing_printed() {
    let sandbox = set();
    let refused = |arguments: &[&str], code: i32, line: &str| {
        sandbox.capstan(&[&["providers"], arguments].concat()).refused(code, line);
    };
    refused(
        &["render"],
        1,
        "error: .capstan/providers/ipam-in-cluster/v1.0.3/ipam-components.yaml: IPAMProvider ipam-system/in-cluster: its components: these variables have neither value nor default: VERBOSITY; put them into Secret ipam-system/values, or give them with `--variable NAME=VALUE`",
    );
    refused(
        &["images", "clusters"],
        2,
        "error: `clusters` holds no provider object (`apiVersion: operator.cluster.x-k8s.io/v1alpha2`)",
    );
    refused(
        &["images", "nowhere"],
        2,
        "error: there is no file or folder `nowhere` in the repository (paths start at its root)",
    );
    refused(
        &["images", "-o", "yaml"],
        2,
        "error: `capstan providers images` does not print yaml; use -o text or json",
    );
    refused(
        &["render", "--variable", "VERBOSITY"],
        2,
        "error: `--variable` wants `NAME=VALUE`, with the name before the first `=`",
    );
}
