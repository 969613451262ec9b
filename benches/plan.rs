//! Planning 1,000 clusters of 8 files each where all change: wall, CPU, peak memory, and where the time
//! goes. `cargo bench --bench plan [-- CLUSTERS]`
//!
//! The fleet is written to a temporary checkout; each figure is taken in a process of its own, so that
//! peak memory is that of planning alone.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use capstan::app::generator::Fleet;
use capstan::git::Checkout;
use capstan_domain::cluster::ClusterId;
use capstan_domain::layout;
use capstan_domain::settings::RepositorySettings;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FILES: usize = 8;
const RUNS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().filter(|argument| argument != "--bench").collect();
    if arguments.get(1).is_some_and(|word| word == "--child") {
        child(Path::new(&arguments[2]));
        return;
    }
    let sizes = match arguments.get(1) {
        Some(size) => vec![size.parse().unwrap()],
        None => vec![1_000],
    };
    println!(
        "planning from a work tree, {FILES} files a cluster, all clusters change; median of {RUNS} processes"
    );
    println!(
        "{:>8}  {:>9}  {:>9}  {:>9}  {:>12}",
        "clusters", "wall s", "cpu s", "peak MiB", "files changed"
    );
    for size in sizes {
        let folder = tempfile::tempdir().unwrap();
        write_fleet(folder.path(), size);
        let mut runs: Vec<Vec<f64>> = (0..RUNS).map(|_| measure(folder.path())).collect();
        runs.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let median = &runs[RUNS / 2];
        println!("{size:>8}  {:>9.3}  {:>9.3}  {:>9.1}  {:>12}", median[0], median[1], median[2], median[3]);
        println!(
            "  of the wall time: list files {:.3} s, find releases and clusters {:.3} s, plan {:.3} s",
            median[4], median[5], median[6]
        );
        println!(
            "  of planning one cluster, on one thread: read {:.1} us, plan and judge {:.1} us",
            median[7], median[8]
        );
    }
}

fn measure(folder: &Path) -> Vec<f64> {
    let output = Command::new(std::env::current_exe().unwrap()).arg("--child").arg(folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn child(folder: &Path) {
    let seconds = |since: Instant| since.elapsed().as_secs_f64();
    let start = Instant::now();
    let tree = Checkout::open(Some(folder)).unwrap().work_tree().unwrap();
    let listed = seconds(start);
    let fleet = Fleet::open(tree.clone(), jiff::civil::date(2026, 1, 1)).unwrap();
    let opened = seconds(start);
    let clusters: Vec<ClusterId> = fleet.clusters().cloned().collect();
    let planned = fleet.plan_all(&clusters, None, &|| {});
    let wall = seconds(start);
    let (cpu, peak) = usage();
    let files: usize = planned.iter().map(|upgrade| upgrade.as_ref().unwrap().files.len()).sum();
    assert!(
        planned.iter().all(|upgrade| !upgrade.as_ref().unwrap().files.is_empty()),
        "a cluster does not change"
    );

    // Where one cluster's time goes, without the noise of two threads.
    let settings = RepositorySettings::default();
    let _layout = layout::discover(tree.as_ref(), &settings);
    let sample = clusters.iter().take(100);
    let start_read = Instant::now();
    sample.clone().for_each(|id| drop(fleet.read_cluster(id).unwrap()));
    let read = start_read.elapsed();
    let start_plan = Instant::now();
    sample.clone().for_each(|id| drop(fleet.plan(id, None).unwrap()));
    let plan = start_plan.elapsed();
    let each = |time: Duration| time.as_secs_f64() * 1e6 / clusters.len().min(100) as f64;
    println!(
        "{wall} {cpu} {peak} {files} {listed} {} {} {} {}",
        opened - listed,
        wall - opened,
        each(read),
        each(plan.saturating_sub(read))
    );
}

/// CPU seconds of this process, and the peak of its memory in MiB.
fn usage() -> (f64, f64) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: f64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    (ticks / 100.0, kib / 1024.0)
}

fn write_fleet(root: &Path, clusters: usize) {
    assert!(Command::new("git").arg("init").arg("-q").arg(root).status().unwrap().success());
    for (version, kubernetes, image) in [("v1.0.0", "v1.31.4", "ami-0a1"), ("v1.1.0", "v1.32.1", "ami-0b2")] {
        let folder = root.join("releases/aws").join(version);
        write_files(&folder.join("base"), "${CLUSTER_NAME}", kubernetes, image);
    }
    let tree = Command::new("sh")
        .arg("-c")
        .arg("git add releases && git rev-parse $(git write-tree):releases/aws/v1.0.0")
        .current_dir(root)
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    for number in 0..clusters {
        let name = format!("c{number:05}");
        let folder = root.join(format!("customer-{:02}", number % 50)).join(&name);
        write_files(&folder.join("base"), &name, "v1.31.4", "ami-0a1");
        fs::write(
            folder.join("capstan.yaml"),
            format!(
                "release: releases/aws/v1.0.0\nreleaseTree: {}\nvariables: {{CLUSTER_NAME: {name}}}\n",
                tree.trim()
            ),
        )
        .unwrap();
    }
}

/// Eight files as a cluster of Cluster API has them; version and image change with the release.
fn write_files(folder: &Path, name: &str, kubernetes: &str, image: &str) {
    fs::create_dir_all(folder).unwrap();
    let write = |file: &str, text: String| fs::write(folder.join(file), text).unwrap();
    write(
        "cluster.yaml",
        format!(
            "# The cluster and its network.\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {name}\n  namespace: fleet\n  labels:\n    cni: cilium\nspec:\n  clusterNetwork:\n    pods:\n      cidrBlocks: [\"10.244.0.0/16\"]\n    services:\n      cidrBlocks: [\"10.96.0.0/12\"]\n  controlPlaneRef:\n    apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n    kind: KubeadmControlPlane\n    name: {name}\n  infrastructureRef:\n    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n    kind: AWSCluster\n    name: {name}\n"
        ),
    );
    write(
        "awscluster.yaml",
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\nmetadata:\n  name: {name}\n  namespace: fleet\nspec:\n  region: eu-central-1\n  sshKeyName: default\n  network:\n    vpc:\n      cidrBlock: 10.0.0.0/16\n"
        ),
    );
    let mut control = format!(
        "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: {name}\n  namespace: fleet\nspec:\n  replicas: 3\n  version: {kubernetes}\n  machineTemplate:\n    infrastructureRef:\n      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n      kind: AWSMachineTemplate\n      name: {name}-control-plane\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n          cloud-provider: external\n    files:\n"
    );
    for number in 0..6 {
        let _ = write!(
            control,
            "    - path: /etc/kubernetes/file-{number}.conf\n      owner: root:root\n      permissions: \"0600\"\n      content: |\n        # managed\n        key-{number}=value\n        other=thing\n"
        );
    }
    write("control-plane.yaml", control);
    for (file, suffix) in [
        ("template-control-plane.yaml", "control-plane"),
        ("template-md-0.yaml", "md-0"),
        ("template-md-1.yaml", "md-1"),
    ] {
        write(
            file,
            format!(
                "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata:\n  name: {name}-{suffix}\n  namespace: fleet\nspec:\n  template:\n    spec:\n      ami:\n        id: {image}\n      instanceType: m5.large\n      iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n      sshKeyName: default\n      rootVolume:\n        size: 80\n        type: gp3\n"
            ),
        );
    }
    for (file, pool, replicas) in [("md-0.yaml", "md-0", 3), ("md-1.yaml", "md-1", 5)] {
        write(
            file,
            format!(
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: {name}-{pool}\n  namespace: fleet\nspec:\n  clusterName: {name}\n  replicas: {replicas}\n  selector:\n    matchLabels: {{}}\n  template:\n    spec:\n      clusterName: {name}\n      version: {kubernetes}\n      bootstrap:\n        configRef:\n          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\n          kind: KubeadmConfigTemplate\n          name: {name}-{pool}\n      infrastructureRef:\n        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n        kind: AWSMachineTemplate\n        name: {name}-{pool}\n"
            ),
        );
    }
}
