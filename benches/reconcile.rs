//! 1,000 clusters of 4 objects on a real API server that nobody else works on: the first apply, a pass in which nothing
//! is to be done, and a commit that changes 10 of them. `cargo bench --bench reconcile [-- CLUSTERS]`
//!
//! Each cluster is a `Cluster` and three ConfigMaps; Cluster API's kinds are served, its controllers do not run, so
//! what is measured is the reconciler and the API server. Times are from the order until the API server has answered
//! the last request of the reconciler; requests are those of the audit log, by the reconciler and in the name of the
//! service accounts that it applies as; memory is the most that the reconciler's process ever had. It needs a
//! management cluster: `make plane`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

#[path = "../tests/suite/plane/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod plane;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use plane::audit::Request;
use plane::process::Process;
use plane::reconciler::{self, HOME};
use plane::{Parts, Plane};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Namespaces that the clusters are spread over.
const CUSTOMERS: usize = 20;
/// Clusters that the last commit changes.
const CHANGED: usize = 10;
/// The reconciler is at rest when it has asked nothing for so long.
const REST: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(1800);

fn main() {
    let asked = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let clusters: usize = asked.unwrap_or(1_000);
    let Some(plane) = Plane::start(Parts::Kinds) else { return };
    let folder = tempfile::tempdir().unwrap();
    reconciler::install(&plane);
    for customer in 0..CUSTOMERS {
        reconciler::prepare_namespace(&plane, &namespace(customer));
    }
    let repository = folder.path().join("fleet.git");
    let repository = Repository::create(&repository);
    let settings =
        format!("managementClusters:\n- name: here\n  uid: {}\n  clusters: [\"*/*\"]\n", plane.uid());
    let mut files = vec![(".capstan.yaml".to_owned(), settings)];
    files.extend((0..clusters).map(|number| cluster(number, "one")));
    repository.commit(&files);

    println!("{clusters} clusters of 4 objects, on an API server without other clients");
    println!(
        "{:<24}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}",
        "", "wall s", "requests", "reads", "dry runs", "writes", "peak MiB"
    );
    let process = reconciler::process(&plane, folder.path());
    plane.apply(&fleet(&repository.url));
    let first = Timestamp::now();
    process.start();
    row("first apply", first, &plane, &process);
    assert_eq!(applied(&plane, "one"), clusters, "not every cluster was applied");

    let second = Timestamp::now();
    pass(&plane);
    row("nothing to be done", second, &plane, &process);

    let changed: Vec<_> = (0..CHANGED).map(|number| cluster(number * clusters / CHANGED, "two")).collect();
    repository.commit(&changed);
    let third = Timestamp::now();
    pass(&plane);
    row("a commit changes 10", third, &plane, &process);
    assert_eq!(applied(&plane, "two"), CHANGED.min(clusters), "not every change was applied");

    println!(
        "beside it, measured elsewhere on two cores: Flux's kustomize-controller takes about 240 s for the first apply of\n\
         1,000 Kustomizations of 4 objects, and 223 MiB"
    );
}

/// Asks for a pass over everything, now.
fn pass(plane: &Plane) {
    plane.kubectl(&["annotate", "fleet", "-n", HOME, "fleet", "--overwrite", "capstan.dev/reconcile=now"]);
}

/// Waits until the reconciler is at rest, and prints what it asked since then.
fn row(what: &str, since: Timestamp, plane: &Plane, process: &Process) {
    let requests = settle(plane, process, since);
    let last = requests.iter().map(|request| request.at).max().unwrap_or(since);
    let count = |of: &dyn Fn(&&Request) -> bool| requests.iter().filter(of).count();
    println!(
        "{what:<24}  {:>8.1}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9.1}",
        last.duration_since(since).as_secs_f64(),
        requests.len(),
        count(&|request| !request.dry_run && !request.is_write()),
        count(&|request| request.dry_run),
        count(&|request| request.is_write()),
        process.peak_memory().unwrap_or_default(),
    );
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for request in &requests {
        let dry = if request.dry_run { " (dry run)" } else { "" };
        *kinds.entry(format!("{} {}{dry}", request.verb, request.resource)).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    println!("{:<24}  {}", "", kinds.join(", "));
}

/// The requests of the reconciler since a moment, once it makes no more.
fn settle(plane: &Plane, process: &Process, since: Timestamp) -> Vec<Request> {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < PATIENCE, "it never comes to rest\n{}", plane::tail(&process.log(), 30));
        assert_eq!(process.is_well(), Ok(()), "{}", plane::tail(&process.log(), 30));
        std::thread::sleep(REST / 2);
        let audit = plane.audit();
        let requests: Vec<Request> = audit
            .into_iter()
            .filter(|request| request.at >= since && request.is_by(HOME, "capstan") && !is_lease(request))
            .collect();
        let last = requests.iter().map(|request| request.at).max();
        let rest = SignedDuration::try_from(REST).unwrap();
        if last.is_some_and(|last| Timestamp::now().duration_since(last) > rest) {
            return requests;
        }
    }
}

fn is_lease(request: &Request) -> bool {
    request.group == "coordination.k8s.io"
}

/// How many clusters have this text in the last of their ConfigMaps.
fn applied(plane: &Plane, text: &str) -> usize {
    let all = plane.kubectl(&[
        "get",
        "configmaps",
        "-A",
        "-l",
        "part=last",
        "-o",
        "jsonpath={.items[*].data.text}",
    ]);
    all.split_whitespace().filter(|found| *found == text).count()
}

fn namespace(customer: usize) -> String {
    format!("customer-{customer:02}")
}

/// The file of one cluster.
fn cluster(number: usize, text: &str) -> (String, String) {
    let (name, namespace) = (format!("c{number:05}"), namespace(number % CUSTOMERS));
    let mut file = format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: {name}\n  namespace: {namespace}\nspec:\n  clusterNetwork:\n    pods:\n      cidrBlocks: [10.244.0.0/16]\n  controlPlaneEndpoint: {{host: {name}.example.com, port: 6443}}\n"
    );
    for part in ["first", "second", "last"] {
        let _ = write!(
            file,
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}-{part}\n  namespace: {namespace}\n  labels: {{part: {part}}}\ndata:\n  text: {text}\n  settings: |\n    region=eu-central-1\n    tier=gold\n"
        );
    }
    (format!("{namespace}/{name}/base/cluster.yaml"), file)
}

fn fleet(url: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1
kind: Fleet
metadata: {{name: fleet, namespace: {HOME}}}
spec:
  managementCluster: here
  source:
    git: {{url: \"{url}\", branch: main}}
  intervalSeconds: 3600
  concurrency: 8
"
    )
}

/// A bare repository.
struct Repository {
    folder: std::path::PathBuf,
    url: String,
}

impl Repository {
    fn create(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        git(folder, &["init", "-q", "--bare", "-b", "main", "."], "");
        Self { folder: folder.to_owned(), url: format!("file://{}", folder.display()) }
    }

    fn commit(&self, files: &[(String, String)]) {
        let mut stream =
            String::from("commit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 0\n");
        let tip = Command::new("git")
            .arg("-C")
            .arg(&self.folder)
            .args(["rev-parse", "-q", "--verify", "refs/heads/main"])
            .output()
            .unwrap();
        if tip.status.success() {
            let _ = writeln!(stream, "from {}", String::from_utf8_lossy(&tip.stdout).trim());
        }
        for (path, text) in files {
            let _ = write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        }
        git(&self.folder, &["fast-import", "--quiet", "--force"], &stream);
    }
}

fn git(folder: &Path, arguments: &[&str], input: &str) {
    let mut child =
        Command::new("git").arg("-C").arg(folder).args(arguments).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "git {arguments:?}");
}
