//! Rendering one overlay, by Capstan and by the real `kubectl kustomize`, on the same files in one run:
//! both as programs, as people and pipelines run them, and Capstan's part within its own process, as the bot
//! and `plan` do it. `cargo bench --bench render`
//!
//! kubectl is what `tests/kubectl/build` builds; without it only Capstan's figures are printed.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use capstan_git::Checkout;
use capstan_kustomize::render::{Folders, render};
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;
use serde_json::Value;

const PROGRAM_RUNS: usize = 21;
const INSIDE_RUNS: usize = 501;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    write_cluster(folder.path());
    assert!(Command::new("git").arg("init").arg("-q").arg(folder.path()).status().unwrap().success());
    let overlay = folder.path().join("org/c1/overlay");

    let tree = Checkout::open(Some(folder.path())).unwrap().work_tree().unwrap();
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let folders =
        Folders { cluster: path("org/c1"), base: path("org/c1/base"), overlay: path("org/c1/overlay") };
    let inside = || render(tree.as_ref(), &folders).unwrap().objects;
    let ours: Vec<Value> = inside().into_iter().map(|object| object.value).collect();

    println!("one cluster of {} objects, base and overlay kustomized; medians", ours.len());
    let capstan = || {
        let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .args(["--repo", &folder.path().display().to_string(), "render", "org/c1"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let capstan_program = median(PROGRAM_RUNS, capstan);
    let capstan_inside = median(INSIDE_RUNS, || drop(inside()));
    let Some(kubectl) = kubectl() else {
        println!("SKIPPED: no kubectl (tests/kubectl/build builds it where Go is)");
        row("capstan render, the program", capstan_program, None);
        row("capstan's rendering, in its process", capstan_inside, None);
        return;
    };
    let run = || {
        let output = Command::new(&kubectl).arg("kustomize").arg(&overlay).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let printed = YamlFile::read_bytes(&run()).unwrap();
    let theirs: Vec<Value> = printed.documents().iter().map(|document| document.root.value()).collect();
    assert_eq!(ours, theirs, "the two render different objects");
    let theirs = median(PROGRAM_RUNS, || drop(run()));
    row("kubectl kustomize, the program", theirs, None);
    row("capstan render, the program", capstan_program, Some(theirs));
    row("capstan's rendering, in its process", capstan_inside, Some(theirs));
}

fn row(what: &str, time: Duration, beside: Option<Duration>) {
    let milliseconds = time.as_secs_f64() * 1e3;
    match beside {
        None => println!("{what:<38} {milliseconds:>9.3} ms"),
        Some(other) => {
            let times = other.as_secs_f64() / time.as_secs_f64();
            println!("{what:<38} {milliseconds:>9.3} ms  {times:>7.0} times faster");
        }
    }
}

fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

fn kubectl() -> Option<PathBuf> {
    let version = include_str!("../tests/kubectl/go.mod")
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubectl "))?;
    let tools = std::env::var_os("CAPSTAN_TOOLS")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache/capstan")))?;
    Some(tools.join(format!("kubectl-{version}/kubectl"))).filter(|kubectl| kubectl.is_file())
}

/// A cluster of Cluster API and what runs beside it, in the fields that such repositories use most.
fn write_cluster(root: &Path) {
    let write = |path: &str, text: &str| {
        let file = root.join("org/c1").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write(
        "base/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: org\nresources:\n- cluster.yaml\n- control-plane.yaml\n- workers.yaml\n- tools.yaml\nconfigMapGenerator:\n- name: settings\n  literals: [region=eu-central-1, tier=gold]\n",
    );
    write(
        "base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: c1\nspec:\n  controlPlaneRef:\n    apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n    kind: KubeadmControlPlane\n    name: c1\n  infrastructureRef:\n    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n    kind: AWSCluster\n    name: c1\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\nmetadata:\n  name: c1\nspec:\n  region: eu-central-1\n",
    );
    write(
        "base/control-plane.yaml",
        "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: c1\nspec:\n  replicas: 3\n  version: v1.31.4\n  machineTemplate:\n    infrastructureRef:\n      kind: AWSMachineTemplate\n      name: c1-control-plane\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata:\n  name: c1-control-plane\nspec:\n  template:\n    spec:\n      instanceType: m5.large\n",
    );
    let mut workers = String::new();
    for pool in ["md-0", "md-1"] {
        workers.push_str(&format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: c1-{pool}\nspec:\n  clusterName: c1\n  replicas: 3\n  template:\n    spec:\n      version: v1.31.4\n      infrastructureRef:\n        kind: AWSMachineTemplate\n        name: c1-{pool}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata:\n  name: c1-{pool}\nspec:\n  template:\n    spec:\n      instanceType: m5.large\n---\n"
        ));
    }
    write("base/workers.yaml", &workers);
    write(
        "base/tools.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: tools\nspec:\n  selector:\n    matchLabels: {app: tools}\n  template:\n    metadata:\n      labels: {app: tools}\n    spec:\n      containers:\n      - name: tools\n        image: acme.io/tools:1\n        envFrom:\n        - configMapRef:\n            name: settings\n",
    );
    write(
        "overlay/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- ../base\nlabels:\n- pairs: {team: blue}\n  includeSelectors: true\ncommonAnnotations: {owner: platform}\nimages:\n- name: acme.io/tools\n  newTag: \"2\"\npatches:\n- path: replicas.yaml\n- target: {kind: AWSMachineTemplate, name: c1-md-.*}\n  patch: |-\n    - op: replace\n      path: /spec/template/spec/instanceType\n      value: m6i.xlarge\n- path: tools.yaml\nreplacements:\n- source: {kind: KubeadmControlPlane, name: c1, fieldPath: spec.version}\n  targets:\n  - select: {kind: MachineDeployment}\n    fieldPaths: [spec.template.spec.version]\n",
    );
    write(
        "overlay/replicas.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: c1-md-0\n  namespace: org\nspec:\n  replicas: 7\n",
    );
    write(
        "overlay/tools.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: tools\n  namespace: org\nspec:\n  template:\n    spec:\n      containers:\n      - name: tools\n        env:\n        - {name: LEVEL, value: info}\n",
    );
}
