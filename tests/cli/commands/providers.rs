//! `capstan providers render`, `images`, `fetch` and `rights`.

use capstan_forge::{Forge, Options};
use serde_json::json;

use capstan_test_parts::components::registry::{Asks, Registry};
use capstan_test_parts::sandbox::Sandbox;

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
        "note: IPAMProvider ipam-system/in-cluster: Secret ipam-system/values is not here, or is encrypted: variables have the given values, else their defaults\n"
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
fn an_invalid_set_is_reported_and_nothing_printed() {
    let sandbox = set();
    let refused = |arguments: &[&str], code: i32, line: &str| {
        sandbox.capstan(&[&["providers"], arguments].concat()).refused(code, line);
    };
    refused(
        &["render"],
        1,
        "error: .capstan/providers/ipam-in-cluster/v1.0.3/ipam-components.yaml: IPAMProvider ipam-system/in-cluster: its components: these variables have neither value nor default: VERBOSITY; put them into Secret ipam-system/values",
    );
    refused(
        &["images", "clusters"],
        2,
        "error: `clusters` holds no provider object (`apiVersion: operator.cluster.x-k8s.io/v1alpha2`)",
    );
    refused(
        &["images", "nowhere"],
        2,
        "error: there is no file or folder `nowhere` in the repository: a path is relative to the working directory, or begins at the root of the repository",
    );
    refused(
        &["render", "--variable", "VERBOSITY"],
        2,
        "error: `--variable` needs `NAME=VALUE`, with the name before the first `=`",
    );
}

/// A forge that released an IPAM provider, its host, and a provider object that asks for it.
fn released() -> (Forge, String, Sandbox) {
    let forge = Forge::start(Options::default()).unwrap();
    forge.create_organization("acme").unwrap();
    forge.create_repository("acme/ipam").unwrap();
    forge.publish("acme/ipam", true).unwrap();
    publish(&forge, COMPONENTS);
    let host = forge.url().trim_start_matches("http://").to_owned();
    let object = SET.replace(
        "version: v1.0.3,",
        &format!("version: v1.0.3, fetchConfig: {{url: 'http://{host}/acme/ipam/releases'}},"),
    );
    let sandbox = Sandbox::with(&[
        ("mc/providers/ipam.yaml", &object),
        (".capstan.yaml", &format!("providers: {{hosts: ['{host}']}}\n")),
    ]);
    (forge, host, sandbox)
}

fn publish(forge: &Forge, components: &str) {
    let metadata = b"releaseSeries: [{major: 1, minor: 0, contract: v1beta1}]\n";
    let files = [("metadata.yaml", &metadata[..]), ("ipam-components.yaml", components.as_bytes())];
    forge.publish_release("acme/ipam", "v1.0.3", &files).unwrap();
}

/// `sha256sum` of the components.
const SHA256: &str = "5af0ee3b3ac3c041ba7a3376308553b7082faac6c68ccceeb9a2835aa71dcad5";

#[test]
fn components_are_fetched_into_the_folder_from_hosts_that_somebody_typed() {
    let (forge, host, sandbox) = released();
    let folder = ".capstan/providers/ipam-in-cluster/v1.0.3";
    let from = format!("http://{host}/acme/ipam/releases/v1.0.3/ipam-components.yaml");
    // A checkout that names this machine is a stranger's word.
    let refused = sandbox.capstan(&["providers", "fetch"]);
    let why = format!("{host} is not among the allowed hosts ({host}): give `--host {host}`");
    assert!(refused.ended(1).err.contains(&why), "{}", refused.err);
    let fetch = ["providers", "fetch", "--host", &host];
    let said = sandbox.capstan(&fetch);
    assert_eq!(
        said.ended(0).out,
        format!("ipam-in-cluster v1.0.3 sha256:{SHA256} from {from} to {folder}\n")
    );
    assert_eq!(sandbox.read(&format!("{folder}/ipam-components.yaml")), COMPONENTS);
    let images = sandbox.capstan(&["providers", "images", "--variable", "VERBOSITY=5"]);
    assert!(images.ended(0).out.starts_with("registry.k8s.io/ipam/init:v1.0.3\n"), "{images:?}");
    // Again: the same. Something else under the same version: refused, and nothing is written.
    sandbox.capstan(&fetch).ended(0);
    publish(&forge, "a: 1\n");
    let moved = sandbox.capstan(&fetch);
    assert!(moved.ended(1).err.contains("changed: its components have SHA-256"), "{}", moved.err);
    assert_eq!(sandbox.read(&format!("{folder}/ipam-components.yaml")), COMPONENTS);

    sandbox.write(".capstan.yaml", "providers: {hosts: [github.com]}\n");
    let refused = sandbox.capstan(&["providers", "fetch"]);
    assert!(
        refused.ended(1).err.contains(&format!("{host} is not among the allowed hosts (github.com)")),
        "{}",
        refused.err
    );
    publish(&forge, COMPONENTS);
    let rows = sandbox.capstan(&["providers", "fetch", "--host", &host, "-o", "json"]).json(0);
    assert_eq!(
        rows,
        json!([{"label": "ipam-in-cluster", "version": "v1.0.3", "sha256": SHA256, "from": from, "to": folder}])
    );
}

#[test]
fn what_a_set_records_of_its_components_is_what_is_taken() {
    let (forge, host, sandbox) = released();
    let folder = ".capstan/providers/ipam-in-cluster/v1.0.3";
    let object = sandbox.read("mc/providers/ipam.yaml");
    sandbox.write("mc-eu/providers/base/ipam.yaml", &object);
    let record = |sha256: &str, version: &str| {
        let text = format!("components:\n  ipam-in-cluster:\n    version: {version}\n    sha256: {sha256}\n");
        sandbox.write("mc-eu/providers/capstan.yaml", &text);
    };
    let other = "0".repeat(64);
    record(&other, "v1.0.3");
    let from = format!("http://{host}/acme/ipam/releases/v1.0.3/ipam-components.yaml");
    let moved = format!(
        "error: IPAMProvider ipam-system/in-cluster: {from} changed: its components have SHA-256 {SHA256}, but {other} was recorded for v1.0.3. Other components were published under the same version: find out why before you use them"
    );
    for arguments in [
        &["providers", "fetch", "mc-eu/providers", "--host", &host][..],
        &["providers", "fetch", "mc-eu/providers", "--host", &host, "--config-maps"],
    ] {
        sandbox.capstan(arguments).refused(1, &moved);
    }
    assert!(!sandbox.at(folder).exists(), "nothing is written");

    record(SHA256, "v1.0.3");
    sandbox.capstan(&["providers", "fetch", "mc-eu/providers", "--host", &host]).ended(0);
    assert_eq!(sandbox.read(&format!("{folder}/ipam-components.yaml")), COMPONENTS);
    // What is at hand is held against it, too, before it goes anywhere.
    record(&other, "v1.0.3");
    let said = sandbox.capstan(&["providers", "fetch", "mc-eu/providers", "--host", &host, "--config-maps"]);
    let here = format!("{folder}/ipam-components.yaml changed: its components have SHA-256 {SHA256}");
    assert!(said.ended(1).err.contains(&here), "{}", said.err);
    assert_eq!(said.out, "");
    // Of another version it says nothing.
    record(&other, "v1.0.2");
    sandbox.capstan(&["providers", "fetch", "mc-eu/providers", "--host", &host]).ended(0);
    drop(forge);
}

#[test]
fn components_are_printed_as_config_maps_for_the_operator() {
    let (_forge, host, sandbox) = released();
    let said = sandbox.capstan(&["providers", "fetch", "--host", &host, "--config-maps"]);
    assert!(
        said.ended(0).out.starts_with(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ipam-in-cluster-v1.0.3\n  namespace: ipam-system\n"
        ),
        "{}",
        said.out
    );
    assert!(
        said.err.starts_with(&format!("note: ipam-in-cluster v1.0.3 sha256:{SHA256} from ")),
        "{}",
        said.err
    );
    // What was printed is what rendering reads.
    sandbox.write("mc/providers/components.yaml", &said.out);
    let images = sandbox.capstan(&["providers", "images", "mc/providers", "--variable", "VERBOSITY=5"]);
    assert!(images.ended(0).out.contains("registry.k8s.io/ipam/manager:v1.0.3"), "{images:?}");
}

/// What is pushed is an artifact that rendering's own source finds again, from the mirror instead of the origin.
#[test]
fn components_are_pushed_into_a_registry_and_fetched_from_there() {
    let Some(registry) = Registry::start(&Asks::Nothing) else { return };
    let (_forge, host, sandbox) = released();
    let mirror = format!("http://{}/mirror", registry.host);
    let rows =
        sandbox.capstan(&["providers", "fetch", "--host", &host, "--push", &mirror, "-o", "json"]).json(0);
    let to = rows[0]["to"].as_str().unwrap();
    let artifact = format!("{mirror}/ipam-in-cluster:v1.0.3@sha256:");
    assert!(to.starts_with(&artifact) && to.len() == artifact.len() + 64, "{to}");
    assert_eq!(rows[0]["sha256"], SHA256);
    assert!(!sandbox.at(".capstan/providers").exists(), "nothing is written into the repository");

    let source = format!("version: v1.0.3, fetchConfig: {{oci: '{mirror}/ipam-in-cluster'}},");
    sandbox.write("mc/providers/ipam.yaml", &SET.replace("version: v1.0.3,", &source));
    let said = sandbox.capstan(&["providers", "fetch", "--host", &registry.host]);
    let folder = ".capstan/providers/ipam-in-cluster/v1.0.3";
    assert!(
        said.ended(0).out.starts_with(&format!("ipam-in-cluster v1.0.3 sha256:{SHA256} from ")),
        "{}",
        said.out
    );
    assert_eq!(sandbox.read(&format!("{folder}/ipam-components.yaml")), COMPONENTS);
}

#[test]
fn rights_are_those_of_the_set_by_name() {
    let sandbox = set();
    let roles = sandbox.capstan(&["providers", "rights", "--variable", "VERBOSITY=5"]);
    assert!(
        roles.ended(0).out.contains(
            "- apiGroups:\n  - apps\n  resources:\n  - deployments\n  resourceNames:\n  - manager\n"
        ),
        "{}",
        roles.out
    );
    // The Namespaces come before the Roles in them, so that one `kubectl apply` applies everything.
    assert!(
        roles.out.starts_with("---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: ipam-system\n---\n"),
        "{}",
        roles.out
    );
    let json = sandbox.capstan(&["providers", "rights", "--variable", "VERBOSITY=5", "-o", "json"]).json(0);
    assert_eq!(
        json["installer"][1]["metadata"],
        json!({"name": "capstan-providers", "namespace": "ipam-system"})
    );
    assert_eq!(json["providers"], json!([]));

    // What the providers' own accounts may do, by the roles that are bound to them.
    let bound = "\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ipam-manager}
rules: [{apiGroups: [ipam.example.com], resources: [pools], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ipam-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ipam-manager}
subjects: [{kind: ServiceAccount, name: manager, namespace: capi-ipam-in-cluster-system}]
";
    let file = ".capstan/providers/ipam-in-cluster/v1.0.3/ipam-components.yaml";
    sandbox.write(file, &format!("{COMPONENTS}{bound}"));
    let text = sandbox.capstan(&["providers", "rights", "--variable", "VERBOSITY=5", "-o", "text"]);
    assert_eq!(
        text.ended(0).out,
        "ipam-in-cluster ServiceAccount ipam-system/manager\n  get, list pools.ipam.example.com\n"
    );
}
