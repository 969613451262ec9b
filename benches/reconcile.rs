//! 1,000 clusters of 4 objects on a real API server that nobody else works on: the first apply, a pass in which nothing
//! is to be done, and a commit that changes 10 of them; then the same with Flux's kustomize-controller on a second API
//! server like the first. `cargo bench --bench reconcile [-- [CLUSTERS] [alone | wide | services]]`: `alone` leaves Flux
//! out, `wide` measures it once more with 20 reconciliations at a time, `services` measures [services](inside) inside 100
//! clusters instead.
//!
//! Each cluster is a `Cluster` and three ConfigMaps; Cluster API's kinds are served, its controllers do not run, so
//! what is measured is the reconciler and the API server. Times are from the order (the start of the process, the
//! annotation or the new revision) until the API server has answered the last request of the reconciler; requests are
//! those of the audit log, by the reconciler and in the name of the service accounts that it applies as, leases,
//! watches and probes aside; memory is the most that its process ever had (`VmHWM`). It needs a management cluster (`make
//! plane`), and for Flux what `make flux` builds; both have Capstan's own defaults and Flux's.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

mod flux;
mod inside;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{self, Parts, Plane};
use flux::Flux;
use jiff::{SignedDuration, Timestamp};

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

const FIRST: &str = "first apply";
const NOTHING: &str = "nothing to be done";
const FEW: &str = "a commit changes 10";

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let number = asked.iter().find_map(|argument| argument.parse::<usize>().ok());
    if asked.iter().any(|argument| argument == "services") {
        println!("{}", head());
        inside::measure(number.unwrap_or(100));
        return;
    }
    let clusters = number.unwrap_or(1_000);
    println!(
        "{clusters} clusters of 4 objects, each program on an API server without other clients; load of this machine \
         at the start {}",
        load()
    );
    println!("{}", head());
    let Some(ours) = measure_capstan(clusters) else { return };
    if asked.iter().any(|argument| argument == "alone") {
        return;
    }
    let Some(built) = Flux::built() else {
        println!(
            "SKIPPED: Flux's kustomize-controller is not built (`make flux` builds it where Go is): Capstan is measured alone"
        );
        return;
    };
    let mut variants = vec![("Flux as it comes", &[][..])];
    if asked.iter().any(|argument| argument == "wide") {
        let flags = &["--concurrent=20", "--kube-api-qps=500", "--kube-api-burst=1000"];
        variants.push(("Flux, 20 at a time", flags));
    }
    for (name, flags) in variants {
        let Some(theirs) = measure_flux(clusters, &built, name, flags) else { return };
        println!("Capstan beside {name}:");
        for (one, other) in ours.iter().zip(&theirs) {
            println!(
                "{:<24}  {:.2} of its time, {:.2} of its requests, {:.2} of its memory",
                one.what,
                one.seconds / other.seconds,
                one.requests as f64 / other.requests as f64,
                one.peak / other.peak
            );
        }
    }
}

/// The line of titles above the figures.
fn head() -> String {
    format!(
        "{:<24}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}",
        "", "wall s", "requests", "reads", "dry runs", "writes", "peak MiB"
    )
}

/// One row of a table.
struct Row {
    what: &'static str,
    seconds: f64,
    requests: usize,
    peak: f64,
}

fn measure_capstan(clusters: usize) -> Option<Vec<Row>> {
    let plane = Plane::start(Parts::Kinds)?;
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

    println!("Capstan");
    let process = reconciler::process(&plane, folder.path());
    plane.apply(&fleet(&repository.url));
    let bench = Bench {
        plane: &plane,
        account: (HOME, "capstan"),
        is_well: &|| {
            process.is_well().map_err(|ended| format!("{ended}\n{}", plane::tail(&process.log(), 30)))
        },
        peak: &|| process.peak_memory().unwrap_or_default(),
    };
    // Every pass over a cluster begins by reading its ManagedCluster.
    let all_had_a_turn = |requests: &[Request]| {
        requests
            .iter()
            .filter(|request| request.verb == "get" && request.resource == "managedclusters")
            .count()
            >= clusters
    };
    let mut rows = Vec::new();
    let since = Timestamp::now();
    process.start();
    rows.push(bench.row(FIRST, since, &|_| applied(&plane, "one") == clusters));

    let since = Timestamp::now();
    pass(&plane);
    rows.push(bench.row(NOTHING, since, &all_had_a_turn));

    repository.commit(&changed(clusters));
    let since = Timestamp::now();
    pass(&plane);
    let wanted = CHANGED.min(clusters);
    rows.push(
        bench.row(FEW, since, &|requests| all_had_a_turn(requests) && applied(&plane, "two") == wanted),
    );
    Some(rows)
}

fn measure_flux(clusters: usize, built: &Path, name: &str, flags: &[&str]) -> Option<Vec<Row>> {
    let plane = Plane::start(Parts::Kinds)?;
    let folder = tempfile::tempdir().unwrap();
    for customer in 0..CUSTOMERS {
        let name = namespace(customer);
        plane.apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"));
    }
    let mut files: BTreeMap<String, String> = (0..clusters).map(|number| cluster(number, "one")).collect();
    let of_folder = |(path, _): (String, String)| path.trim_end_matches("/cluster.yaml").to_owned();
    Flux::prepare(&plane, built, (0..clusters).map(|number| of_folder(cluster(number, "one"))));
    let all = |files: &BTreeMap<String, String>| -> Vec<(String, String)> {
        files.iter().map(|(path, text)| (path.clone(), text.clone())).collect()
    };

    println!("{name}, load {}", load());
    let since = Timestamp::now();
    let flux = Flux::start(&plane, built, folder.path(), flags);
    let bench = Bench {
        plane: &plane,
        account: (flux::HOME, flux::ACCOUNT),
        is_well: &|| flux.is_well(),
        peak: &|| flux.peak_memory(),
    };
    let mut rows = Vec::new();
    flux.commit("1", &all(&files));
    rows.push(bench.row(FIRST, since, &|_| flux.applied_at("1") == clusters));
    assert_eq!(applied(&plane, "one"), clusters, "not every cluster was applied");

    let since = Timestamp::now();
    flux.commit("2", &all(&files));
    rows.push(bench.row(NOTHING, since, &|_| flux.applied_at("2") == clusters));

    files.extend(changed(clusters));
    let since = Timestamp::now();
    flux.commit("3", &all(&files));
    rows.push(bench.row(FEW, since, &|_| flux.applied_at("3") == clusters));
    assert_eq!(applied(&plane, "two"), CHANGED.min(clusters), "not every change was applied");
    Some(rows)
}

/// Asks for a pass over everything, now.
fn pass(plane: &Plane) {
    plane.kubectl(&["annotate", "fleet", "-n", HOME, "fleet", "--overwrite", "capstan.dev/reconcile=now"]);
}

/// What a run looks at while a program works.
struct Bench<'b> {
    plane: &'b Plane,
    /// Namespace and name of the service account that the program has.
    account: (&'b str, &'b str),
    is_well: &'b dyn Fn() -> Result<(), String>,
    peak: &'b dyn Fn() -> f64,
}

impl Bench<'_> {
    /// Waits until the program is done and at rest, and prints what it asked since then.
    fn row(&self, what: &'static str, since: Timestamp, is_done: &dyn Fn(&[Request]) -> bool) -> Row {
        let requests = self.settle(since, is_done);
        let last = requests.iter().map(|request| request.at).max().unwrap_or(since);
        let count = |of: &dyn Fn(&&Request) -> bool| requests.iter().filter(of).count();
        let seconds = last.duration_since(since).as_secs_f64();
        let row = Row { what, seconds, requests: requests.len(), peak: (self.peak)() };
        println!(
            "{what:<24}  {:>8.1}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9.1}",
            row.seconds,
            row.requests,
            count(&|request| !request.dry_run && !request.is_write()),
            count(&|request| request.dry_run),
            count(&|request| request.is_write()),
            row.peak,
        );
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for request in &requests {
            let dry = if request.dry_run { " (dry run)" } else { "" };
            *kinds.entry(format!("{} {}{dry}", request.verb, request.resource)).or_default() += 1;
        }
        let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        println!("{:<24}  {}", "", kinds.join(", "));
        row
    }

    /// The requests of the program since a moment, once it is done and makes no more.
    fn settle(&self, since: Timestamp, is_done: &dyn Fn(&[Request]) -> bool) -> Vec<Request> {
        let start = Instant::now();
        let rest = SignedDuration::try_from(REST).unwrap();
        loop {
            assert_eq!((self.is_well)(), Ok(()));
            assert!(start.elapsed() < PATIENCE, "it never comes to rest");
            std::thread::sleep(REST / 2);
            let audit = self.plane.audit();
            let requests: Vec<Request> = audit
                .into_iter()
                .filter(|request| request.at >= since && request.is_by(self.account.0, self.account.1))
                .filter(|request| !is_housekeeping(request))
                .collect();
            let last = requests.iter().map(|request| request.at).max();
            let rests = last.is_some_and(|last| Timestamp::now().duration_since(last) > rest);
            if rests && is_done(&requests) {
                return requests;
            }
        }
    }
}

/// What the machine does besides: the load of the last minute.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// The files that the last commit changes.
fn changed(clusters: usize) -> Vec<(String, String)> {
    (0..CHANGED.min(clusters)).map(|number| cluster(number * clusters / CHANGED, "two")).collect()
}

/// What a program asks now and then whether it works or rests: leases, watches, and whether the API server lives
/// and has other Fleets.
fn is_housekeeping(request: &Request) -> bool {
    request.group == "coordination.k8s.io"
        || request.verb == "watch"
        || (request.verb == "get" && request.resource == "namespaces")
        || (request.verb == "list" && request.resource == "fleets")
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
