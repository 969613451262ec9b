//! The real helm, and the real kubectl where no API server is needed: built by `tests/helm/build` and
//! `tests/kubectl/build`.

use std::path::{Path, PathBuf};
use std::process::Command;

use capstan_test_support::tally;
use serde_json::Value;

use capstan_test_parts::deployed::{deployed, documents};
use capstan_test_parts::plane::{required, tools};

/// The real helm.
pub(super) struct Helm {
    folder: PathBuf,
}

impl Helm {
    /// `None`, said aloud, where it was never built.
    pub(super) fn find() -> Option<Self> {
        let version = required("helm.sh/helm/v4", include_str!("../../helm/go.mod"))?;
        let folder = tools()?.join(format!("helm-{version}"));
        if folder.join("complete").is_file() {
            return Some(Self { folder });
        }
        println!(
            "SKIPPED: no helm in {} (`make helm` builds it where Go is): the chart is not rendered",
            folder.display()
        );
        None
    }

    /// What helm does; what it printed, or what it complained of.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String, String> {
        // Plugins, repositories and settings of the user who runs this test are left out.
        let home = tempfile::tempdir().unwrap();
        let mut command = tally::command(self.folder.join("helm"));
        command.args(arguments).env_clear().env("HOME", home.path()).env("HELM_NAMESPACE", "default");
        answered(command)
    }

    /// The chart as a release called `capstan` renders it.
    pub(super) fn template(&self, namespace: &str, values: &[&str]) -> Result<String, String> {
        let chart = deployed("");
        let chart = chart.to_str().unwrap();
        let mut arguments =
            vec!["template", "capstan", chart, "--namespace", namespace, "--kube-version", "1.36.0"];
        arguments.extend(values.iter().flat_map(|value| ["--set", *value]));
        self.run(&arguments)
    }

    /// A definition of the Prometheus operator's: `podmonitors`, `prometheusrules`.
    pub(super) fn operator_kind(&self, plural: &str) -> PathBuf {
        self.folder.join(format!("{plural}.yaml"))
    }
}

/// The objects that a kustomization renders, by the real kubectl; `None`, said aloud, where that was never built.
pub(super) fn kustomize(folder: &Path) -> Option<Vec<Value>> {
    let version = required("k8s.io/kubectl", include_str!("../../kubectl/go.mod"))?;
    let kubectl = tools()?.join(format!("kubectl-{version}/kubectl"));
    if !kubectl.is_file() {
        println!("SKIPPED: no {} (`make kubectl` builds it where Go is)", kubectl.display());
        return None;
    }
    let mut command = tally::command(kubectl);
    command.arg("kustomize").arg(folder);
    Some(documents(&answered(command).unwrap()))
}

fn answered(mut command: Command) -> Result<String, String> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(String::from_utf8(output.stdout).unwrap()) } else { Err(said) }
}
