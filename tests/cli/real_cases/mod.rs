//! Five real cases, each through `plan`, `upgrade --write` and `render`, with results written by hand.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod giant_swarm;
mod kubeadm;
mod openstack;
mod release_structure;
mod scs;
mod topology;

use serde_json::{Value, json};

/// A file of the shared data; `None`, said aloud, where the data is not at hand.
pub(crate) fn shared_data(path: &str) -> Option<String> {
    let file = capstan_test_support::shared_data::folder()?.join(path);
    Some(std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

/// An object as `plan -o json` names it.
fn object(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
    json!({"group": group, "kind": kind, "namespace": namespace, "name": name})
}

/// The new text of a Capstan record that an upgrade creates.
fn new_record(cluster: &str, release: &str, tree: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: ClusterSettings\nmetadata:\n  name: {cluster}\n  annotations:\n    \
         config.kubernetes.io/local-config: \"true\"\nrelease: {release}\nreleaseTree: {tree}\n"
    )
}
