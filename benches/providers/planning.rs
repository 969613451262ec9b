//! Planning a set of seven real providers, components of both versions at hand: wall and peak memory of `capstan plan`, and
//! beside it `kubectl kustomize` reading and printing the same components, one run for each file, without comparing or
//! judging anything.
//!
//! The components are what `tests/components/build` makes; without them nothing is measured, which is said. Of AWS and of
//! IPAM it has one version: their second one is a copy with other image tags. The bounds are those that were promised: 2 s
//! and 300 MiB.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 7;

struct Row {
    kind: &'static str,
    label: &'static str,
    file: &'static str,
    versions: [&'static str; 2],
    /// Where there is one version alone, the second is a copy.
    copied: bool,
}

const ROWS: [Row; 7] = [
    row("CoreProvider", "cluster-api", "core", ["v1.12.8", "v1.13.4"]),
    row("BootstrapProvider", "bootstrap-kubeadm", "bootstrap", ["v1.12.8", "v1.13.4"]),
    row("ControlPlaneProvider", "control-plane-kubeadm", "control-plane", ["v1.12.8", "v1.13.4"]),
    row("InfrastructureProvider", "infrastructure-docker", "infrastructure", ["v1.13.4", "v1.14.0"]),
    row("RuntimeExtensionProvider", "runtime-extension-test", "runtime-extension", ["v1.13.4", "v1.14.0"]),
    Row {
        copied: true,
        ..row("InfrastructureProvider", "infrastructure-aws", "infrastructure", ["v2.8.4", "v2.8.5"])
    },
    Row { copied: true, ..row("IPAMProvider", "ipam-in-cluster", "ipam", ["v1.0.3", "v1.0.4"]) },
];

const fn row(
    kind: &'static str,
    label: &'static str,
    file: &'static str,
    versions: [&'static str; 2],
) -> Row {
    Row { kind, label, file, versions, copied: false }
}

pub(crate) fn measure_planning() {
    let Some(tools) = capstan_test_parts::plane::tools() else { return };
    let components = tools.join("components");
    if !components.join("complete").is_file() {
        println!("SKIPPED: no real components (tests/components/build makes them where Go is)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let files = write_set(folder.path(), &components);
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    println!(
        "a set of {} providers, components of both versions at hand, {:.1} MB; fastest and median of {RUNS} runs of the program",
        ROWS.len(),
        bytes as f64 / 1e6
    );
    println!("{:<44} {:>8}  {:>8}  {:>8}", "", "wall s", "median s", "peak MiB");

    let root = folder.path().display().to_string();
    let plan = || {
        let mut plan = Command::new(env!("CARGO_BIN_EXE_capstan"));
        plan.args(["--repo", &root, "plan", "mc-eu/providers", "-o", "json"]);
        run(plan, &[0, 3])
    };
    let told: serde_json::Value = serde_json::from_slice(&plan().printed).unwrap();
    let providers = told[0]["providers"].as_array().unwrap();
    // What the management cluster holds is unknown offline; nothing else is.
    let is_live = |unknown: &serde_json::Value| {
        unknown.as_str().is_some_and(|why| why.starts_with("whether the management cluster "))
    };
    let is_known = |provider: &&serde_json::Value| {
        provider["unknown"].as_array().is_none_or(|unknown| unknown.iter().all(is_live))
    };
    let known = providers.iter().filter(is_known).count();
    assert_eq!((providers.len(), known), (ROWS.len(), ROWS.len()), "all of it is known: {told}");
    let ours = measure(plan);
    ours.print("capstan plan");

    let version = include_str!("../../tests/kubectl/go.mod")
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubectl "))
        .unwrap();
    let kubectl = tools.join(format!("kubectl-{version}/kubectl"));
    if kubectl.is_file() {
        let folders: Vec<PathBuf> = files.iter().map(|file| kustomization(folder.path(), file)).collect();
        let all = || {
            let mut peak = None;
            for folder in &folders {
                let mut kustomize = Command::new(&kubectl);
                kustomize.arg("kustomize").arg(folder);
                peak = peak.max(run(kustomize, &[0]).peak);
            }
            Ran { printed: Vec::new(), peak }
        };
        measure(all).print(&format!("kubectl kustomize, {} runs, nothing compared", folders.len()));
    } else {
        println!("SKIPPED: no kubectl (tests/kubectl/build builds it where Go is)");
    }
    let is_in_bounds = ours.fastest < Duration::from_secs(2) && ours.peak.is_some_and(|kib| kib < 300 << 10);
    println!("within 2 s and 300 MiB: {}", if is_in_bounds { "yes" } else { "NO" });
}

/// A checkout with the set at the older versions and a release of the newer ones; the files of components.
fn write_set(root: &Path, components: &Path) -> Vec<PathBuf> {
    let write = |path: &str, text: &str| {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    };
    let mut files = Vec::new();
    let mut sets = [String::new(), String::new()];
    for row in &ROWS {
        let name = name(row);
        for (at, version) in row.versions.iter().enumerate() {
            let from = components.join(row.label).join(if row.copied { row.versions[0] } else { version });
            let file = format!("{}-components.yaml", row.file);
            let text = fs::read_to_string(from.join(&file)).unwrap();
            let text = if row.copied && at == 1 { text.replace(row.versions[0], version) } else { text };
            let into = format!(".capstan/providers/{}/{version}", row.label);
            files.push(write(&format!("{into}/{file}"), &text));
            let metadata = fs::read_to_string(from.join("metadata.yaml")).unwrap();
            write(&format!("{into}/metadata.yaml"), &metadata);
            sets[at].push_str(&format!(
                "---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {}\nmetadata: {{name: {name}, namespace: {}-system}}\nspec:\n  version: {version}\n  configSecret: {{name: values}}\n  fetchConfig: {{url: 'https://github.com/kubernetes-sigs/{name}/releases'}}\n",
                row.kind, row.label
            ));
        }
    }
    let mut secrets = String::new();
    for row in &ROWS {
        secrets.push_str(&format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: values, namespace: {}-system}}\nstringData: {{AWS_B64ENCODED_CREDENTIALS: eA==}}\n",
            row.label
        ));
    }
    let [old, new] = sets;
    write("mc/v1.0.0/base/providers.yaml", &old);
    write("mc/v2.0.0/base/providers.yaml", &new);
    write("mc-eu/providers/base/providers.yaml", &old);
    write("mc-eu/providers/base/secrets.yaml", &secrets);
    write("mc-eu/providers/capstan.yaml", "release: mc/v1.0.0\n");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(root).args(["-c", "user.name=bench", "-c", "user.email=bench@example.com"]);
        assert!(git.args(arguments).stdout(Stdio::null()).status().unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "a set"]);
    files
}

/// The provider's name: its label without the kind.
fn name(row: &Row) -> &'static str {
    let prefix = match row.kind {
        "CoreProvider" => "",
        _ => row.file,
    };
    row.label.strip_prefix(prefix).unwrap_or(row.label).trim_start_matches('-')
}

/// A folder whose kustomization is that file alone.
fn kustomization(root: &Path, file: &Path) -> PathBuf {
    let below = file.strip_prefix(root).unwrap().to_string_lossy().replace('/', "_");
    let folder = root.join("kustomized").join(below);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(file, folder.join("all.yaml")).unwrap();
    fs::write(folder.join("kustomization.yaml"), "resources: [all.yaml]\n").unwrap();
    folder
}

/// What a program printed, and the most memory that it ever had, in KiB.
struct Ran {
    printed: Vec<u8>,
    peak: Option<u64>,
}

/// Runs a program. What it prints is more than a pipe holds: once the first of it is there, its work is done and it waits
/// for the rest to be taken, so that its memory can be read.
fn run(mut program: Command, codes: &[i32]) -> Ran {
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut printed = vec![0];
    out.read_exact(&mut printed).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
    out.read_to_end(&mut printed).unwrap();
    let ended = child.wait().unwrap();
    assert!(ended.code().is_some_and(|code| codes.contains(&code)), "{program:?}: {ended}");
    Ran { printed, peak }
}

struct Figures {
    fastest: Duration,
    median: Duration,
    /// In KiB.
    peak: Option<u64>,
}

impl Figures {
    fn print(&self, what: &str) {
        let peak = self.peak.map_or("-".to_owned(), |kib| format!("{:.0}", kib as f64 / 1024.0));
        let (fastest, median) = (self.fastest.as_secs_f64(), self.median.as_secs_f64());
        println!("{what:<44} {fastest:>8.2}  {median:>8.2}  {peak:>8}");
    }
}

fn measure(run: impl Fn() -> Ran) -> Figures {
    let mut times = Vec::new();
    let mut peak = None;
    for _ in 0..RUNS {
        let begun = Instant::now();
        let ran = run();
        times.push(begun.elapsed());
        peak = peak.max(ran.peak);
    }
    times.sort();
    Figures { fastest: times[0], median: times[RUNS / 2], peak }
}
