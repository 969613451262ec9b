//! The real operator as a process.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use capstan_test_support::tally;
use tempfile::TempDir;

use capstan_test_parts::plane::process::peak_memory;
use capstan_test_parts::plane::{Plane, tail};

/// The service account of the operator.
pub(super) const ACCOUNT: (&str, &str) = ("capi-operator-system", "capi-operator-manager");

const ADMIN: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: capi-operator-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: capi-operator-manager, namespace: capi-operator-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: capi-operator-manager-for-tests}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: capi-operator-manager, namespace: capi-operator-system}]
";

/// Starts an operator on a management cluster, with rights of its own name: the audit log tells what is its.
pub(super) fn operate(plane: &Plane, program: &Path) -> Running {
    plane.apply(ADMIN);
    let kubeconfig = plane.kubeconfig_of(ACCOUNT.0, ACCOUNT.1);
    Running::start(program, &kubeconfig)
}

/// The operator as it is shipped: it works only while it holds its Lease. As in a pod, it reads its namespace from a
/// file, which only its own mount namespace has. Where no mount namespace can be made, the result is `None` and the
/// test prints so.
#[expect(clippy::print_stdout, reason = "what is skipped is said aloud")]
pub(super) fn operate_elected(plane: &Plane, program: &Path) -> Option<Running> {
    plane.apply(ADMIN);
    let kubeconfig = plane.kubeconfig_of(ACCOUNT.0, ACCOUNT.1);
    if !tally::command("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: no mount namespace can be made: no operator stands by");
        return None;
    }
    const SECRETS: &str = "/run/secrets/kubernetes.io/serviceaccount";
    let view = format!(
        "mount -t tmpfs none /run && mkdir -p {SECRETS} && printf {} > {SECRETS}/namespace && exec \"$@\"",
        ACCOUNT.0
    );
    let mut elected = tally::command("unshare");
    elected.args(["--mount", "sh", "-c", &view, "sh"]).arg(program).arg("--leader-elect");
    Some(Running::start_by(elected, &kubeconfig))
}

/// A real operator as a process; ends when it is dropped.
pub(crate) struct Running {
    child: Child,
    folder: TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = (self.child.kill(), self.child.wait());
    }
}

impl Running {
    pub(crate) fn start(program: &Path, kubeconfig: &Path) -> Self {
        Self::start_by(tally::command(program), kubeconfig)
    }

    fn start_by(mut program: Command, kubeconfig: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let made = tally::command("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"])
            .args(["-keyout", &at("tls.key"), "-out", &at("tls.crt")])
            .output()
            .unwrap();
        assert!(made.status.success());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = program
            .args(["--kubeconfig", &kubeconfig.display().to_string()])
            .args(["--webhook-port", &port.to_string(), "--webhook-cert-dir", &at("")])
            .args(["--health-addr", "127.0.0.1:0", "--diagnostics-address", "127.0.0.1:0"])
            .args([
                "--insecure-diagnostics",
                "--profiler-address=",
                "--watch-configmap",
                "--watch-configsecret",
            ])
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(at("log")).unwrap())
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    pub(crate) fn log(&self) -> String {
        let text = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        tail(&text, 30)
    }

    /// The most memory that it had so far, in MiB.
    pub(crate) fn peak_memory(&self) -> Option<f64> {
        peak_memory(self.child.id())
    }
}
