//! The command line through the built binary, in repositories of its own, to the letter of its contract.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod adopting;
mod bad_providers;
mod campaigns;
mod catalogue;
mod classes;
mod creating;
mod demo;
mod explaining;
mod hostile;
mod init;
mod init_moves;
mod inventory;
mod inventory_plans;
mod migrating;
mod migrating_patches;
mod migrating_releases;
mod mistakes;
mod naming;
mod no_effect;
mod old_releases;
mod paths;
mod planning;
mod progress;
mod provider_sets;
mod providers;
mod refusals;
mod services;
mod typed;
mod unknown_releases;
mod validating;
mod writing;

use capstan_test_parts::sandbox::{self, Sandbox};

/// A release that is one whole MachineDeployment.
fn release(version: &str, replicas: u32) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {{name: \"${{CLUSTER_NAME}}-md-0\"}}
spec:
  replicas: {replicas}
  template:
    spec:
      version: {version}
"
    )
}

/// A cluster's only file, three lines before `replicas`.
fn workers(name: &str, replicas: u32, version: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {{name: {name}-md-0, namespace: acme}}
spec:
  replicas: {replicas}
  template:
    spec:
      version: {version}
      clusterName: \"{name}\"
  clusterName: \"{name}\"
"
    )
}

const RECORD: &str = "release: aws/v1.0.0\n";

/// Two releases, 1.30 to 1.31 and two to three machines, and clusters `acme/a` and `acme/b` on the first.
fn fleet() -> Sandbox {
    Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
        ("acme/a/base/md.yaml", &workers("a", 2, "v1.30.4")),
        ("acme/a/capstan.yaml", RECORD),
        ("acme/b/base/md.yaml", &workers("b", 2, "v1.30.4")),
        ("acme/b/capstan.yaml", RECORD),
    ])
}
