//! Installing core, kubeadm bootstrap, kubeadm control plane and IPAM from ConfigMaps that are there (D1), a pass in which
//! nothing is to be done, and raising the first three in one commit (D10): the Cluster API operator and Capstan one after
//! the other, each on an API server of its own, of the same build, that nobody else works on.
//!
//! Times are from before the provider objects are applied until the API server has answered the last lasting write;
//! requests are those of the audit log, leases, events and watches aside; memory is the most that the process ever had
//! (`VmHWM`). Deployments become available 0.2 s after they are asked for (`stub`). The bounds are those that were promised:
//! no more wall, half the lasting writes, a third of the memory; nobody without its webhook for longer; no two at once.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::json;

use crate::figures::{Figures, Side, down};
use crate::running::{ACCOUNT, Running, operate};
use crate::town::{BOOTSTRAP, CONTROL_PLANE, CORE, IPAM, Row, Town};
use capstan_test_parts::plane::reconciler::HOME;
use capstan_test_parts::plane::tools;

const RUNS: usize = 3;
const OLD: [(Row, &str); 4] =
    [(CORE, "v1.12.8"), (BOOTSTRAP, "v1.12.8"), (CONTROL_PLANE, "v1.12.8"), (IPAM, "v1.0.3")];
const NEW: [(Row, &str); 3] = [(CORE, "v1.13.4"), (BOOTSTRAP, "v1.13.4"), (CONTROL_PLANE, "v1.13.4")];

/// Who installs.
enum Installer<'t> {
    Operator(Running),
    Capstan(&'t Town),
}

impl Installer<'_> {
    fn account(&self) -> (&'static str, &'static str) {
        match self {
            Self::Operator(_) => ACCOUNT,
            Self::Capstan(_) => (HOME, "capstan-providers"),
        }
    }

    fn peak(&self) -> Option<f64> {
        match self {
            Self::Operator(running) => running.peak_memory(),
            Self::Capstan(town) => town.reconciler.peak_memory(),
        }
    }
}

pub(crate) fn measure_installing() {
    let Some(operator) = tools().map(|tools| tools.join("operator-v0.28.0/operator")) else { return };
    println!("core, bootstrap, control plane and IPAM on a real API server; {RUNS} runs, each on new ones");
    for run in 1..=RUNS {
        println!("run {run}");
        if operator.is_file() {
            let Some(town) = Town::build() else { return };
            let running = operate(&town.plane, &operator);
            measure("the operator", &town, &Installer::Operator(running));
        } else {
            println!("SKIPPED: no Cluster API operator (`make operator` builds it where Go is)");
        }
        let Some(town) = Town::build() else { return };
        town.reconciler.start();
        measure("Capstan", &town, &Installer::Capstan(&town));
    }
}

fn measure(who: &str, town: &Town, installer: &Installer<'_>) {
    // Who has just been started lists and watches.
    std::thread::sleep(Duration::from_secs(3));
    println!("  {who}, just started: {:.0} MiB", installer.peak().unwrap_or_default());
    OLD.iter().chain(&NEW).for_each(|(row, version)| town.publish(*row, version));
    let d1 = ask(town, &OLD);
    wait(town, installer, &OLD);
    tell(&format!("{who}: D1"), town, installer, d1);

    let nothing = Timestamp::now();
    let resource = format!("{}s.operator.cluster.x-k8s.io", CORE.kind.to_lowercase());
    town.plane.kubectl(&["annotate", &resource, CORE.name, "-n", CORE.namespace, "example.com/touched=yes"]);
    settle(town, installer);
    tell(&format!("{who}: nothing to do"), town, installer, nothing);

    let d10 = ask(town, &NEW);
    wait(town, installer, &NEW);
    tell(&format!("{who}: D10"), town, installer, d10);
}

/// Asks for these, all at once; since when.
fn ask(town: &Town, wanted: &[(Row, &str)]) -> Timestamp {
    let object = |(row, version): &(Row, &str)| {
        // The operator refuses a selector that more than one ConfigMap meets.
        let labels = json!({"for": row.name, "provider.cluster.x-k8s.io/version": version});
        let spec = json!({"fetchConfig": {"selector": {"matchLabels": labels}}});
        town.object(*row, version, &spec).to_string()
    };
    let objects: Vec<String> = wanted.iter().map(object).collect();
    let since = Timestamp::now();
    town.plane.apply(&objects.join("\n---\n"));
    since
}

fn wait(town: &Town, installer: &Installer<'_>, wanted: &[(Row, &str)]) {
    let begun = Instant::now();
    while !wanted.iter().all(|(row, version)| town.is_ready(*row, version)) {
        assert!(begun.elapsed() < Duration::from_secs(180), "they are not installed:\n{}", town.statuses());
        std::thread::sleep(Duration::from_secs(1));
    }
    settle(town, installer);
}

/// Waits until the installer has asked nothing for a while.
fn settle(town: &Town, installer: &Installer<'_>) {
    let count = || side(town, installer).requests.len();
    let (mut known, mut quiet) = (count(), Instant::now());
    while quiet.elapsed() < Duration::from_secs(7) {
        std::thread::sleep(Duration::from_secs(2));
        let now = count();
        if now != known {
            (known, quiet) = (now, Instant::now());
        }
    }
}

fn side(town: &Town, installer: &Installer<'_>) -> Side {
    let (namespace, account) = installer.account();
    let mut requests = town.plane.audit();
    requests.retain(|one| one.is_by(namespace, account) && !one.is_housekeeping());
    Side { requests, peak: installer.peak() }
}

fn tell(what: &str, town: &Town, installer: &Installer<'_>, since: Timestamp) {
    let side = side(town, installer);
    Figures::of(&side, since).print(what);
    let (times, most) = down(&side.requests, since);
    if !times.is_empty() {
        let times: Vec<String> =
            times.iter().map(|(who, time)| format!("{who} {:.1} s", time.as_secs_f64())).collect();
        println!("    down: {}; {most} at once at most", times.join(", "));
    }
}
