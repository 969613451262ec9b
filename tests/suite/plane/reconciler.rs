//! Capstan on a management cluster: its kinds and rights as `deploy/` has them, and its program.

use std::path::Path;

use super::Plane;
use super::process::Process;

/// Where the reconciler and its objects live.
pub(crate) const HOME: &str = "capstan-system";
/// The service account that a folder is applied as.
pub(crate) const APPLIER: &str = "capstan-applier";

/// `capstan reconcile` with the rights of the service account that `deploy/` gives it.
pub(crate) fn process(plane: &Plane, folder: &Path) -> Process {
    let arguments = [
        ("--kubeconfig", plane.kubeconfig_of(HOME, "capstan").display().to_string()),
        ("--namespace", HOME.to_owned()),
        ("--state-dir", folder.join("reconciler").display().to_string()),
        ("--listen", "127.0.0.1:0".to_owned()),
    ];
    let arguments = arguments.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    let arguments = [vec!["reconcile".to_owned()], arguments.collect()].concat();
    Process::new(arguments, Vec::new(), &folder.join("reconcile.log"))
}

/// Capstan's own kinds, home and rights, as `deploy/` has them.
pub(crate) fn install(plane: &Plane) {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    for file in ["crds.yaml", "namespace.yaml", "rbac.yaml"] {
        plane.apply(&std::fs::read_to_string(deploy.join(file)).unwrap());
    }
    plane.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "managedclusters.capstan.dev",
    ]);
}

/// A namespace, and there a service account that may apply what cluster folders hold.
pub(crate) fn applier(namespace: &str) -> String {
    format!(
        "apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {APPLIER}, namespace: {namespace}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {APPLIER}, namespace: {namespace}}}
rules:
- apiGroups: [cluster.x-k8s.io, controlplane.cluster.x-k8s.io, bootstrap.cluster.x-k8s.io, infrastructure.cluster.x-k8s.io]
  resources: [\"*\"]
  verbs: [get, list, create, patch, delete]
- apiGroups: [\"\"]
  resources: [configmaps, secrets]
  verbs: [get, list, create, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: {APPLIER}, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {APPLIER}}}
subjects:
- {{kind: ServiceAccount, name: {APPLIER}, namespace: {namespace}}}
"
    )
}
