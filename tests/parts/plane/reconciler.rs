//! Capstan on a management cluster: its kinds and rights as `deploy/` has them, and its program.

use std::path::Path;

use capstan_test_support::tally;

use super::Plane;
use super::process::Process;

/// Where the reconciler and its objects live.
pub const HOME: &str = "capstan-system";

/// `capstan reconcile` with the rights of the service account that `deploy/` gives it.
pub fn process(plane: &Plane, folder: &Path) -> Process {
    process_with(plane, folder, &[])
}

/// The same with flags of one's own.
pub fn process_with(plane: &Plane, folder: &Path, flags: &[&str]) -> Process {
    let arguments = [
        ("--kubeconfig", plane.kubeconfig_of(HOME, "capstan").display().to_string()),
        ("--namespace", HOME.to_owned()),
        ("--state-dir", folder.join("reconciler").display().to_string()),
        ("--listen", "127.0.0.1:0".to_owned()),
    ];
    let arguments = arguments.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let arguments = [vec!["reconcile".to_owned()], arguments.collect(), flags].concat();
    // As `deploy/reconciler.yaml` has it.
    let environment = ["MIMALLOC_PURGE_DELAY", "MIMALLOC_ALLOW_THP"];
    let environment = environment.map(|name| (name.to_owned(), "0".to_owned())).to_vec();
    Process::new(arguments, environment, &folder.join("reconcile.log"))
}

/// Capstan's own kinds, home and rights, as the program prints them and `deploy/` has them.
pub fn install(plane: &Plane) {
    let crds = tally::command(crate::program()).arg("crds").output().unwrap();
    assert!(crds.status.success(), "{}", String::from_utf8_lossy(&crds.stderr));
    plane.apply(std::str::from_utf8(&crds.stdout).unwrap());
    for file in ["namespace.yaml", "rbac.yaml"] {
        plane.apply(&deployed(file));
    }
    let kinds = [
        "crd/fleets.capstan.dev",
        "crd/managedclusters.capstan.dev",
        "crd/managedproviders.capstan.dev",
        "crd/vaultsecrets.capstan.dev",
    ];
    plane.kubectl(&[&["wait", "--for=condition=Established", "--timeout=60s"], &kinds[..]].concat());
}

/// A namespace, and there the service account of `deploy/applier`, which may apply what cluster folders hold.
pub fn prepare_namespace(plane: &Plane, namespace: &str) {
    plane.apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}"));
    let arguments = ["apply", "--server-side", "--field-manager=admin", "-n", namespace, "-f", "-"];
    plane.kubectl_with(&arguments, &deployed("applier/applier.yaml"));
}

/// A file of `deploy/`.
pub fn deployed(file: &str) -> String {
    std::fs::read_to_string(crate::root().join("deploy").join(file)).unwrap()
}
