//! A day of hostile folders: each pass brings the next bomb to the next of four folders, beside a change of a good one, which
//! must be applied in that pass. A day has 288 passes at the default interval of a Fleet. What the reconciler's own process
//! takes is read from `/proc` all the while.
//!
//! A short run has a few passes. `CAPSTAN_HOSTILE_SECONDS=600` sets how long a run continues with all bombs. At the end
//! of such a run the reconciler may not take more memory than before.

#![expect(clippy::print_stdout, reason = "figures that a person wants to see")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use super::bombs::{ALL, Bomb, SHORT};
use super::{CUSTOMER, Town, rows};
use capstan_test_parts::plane::process::{children, memory};
use capstan_test_parts::plane::tail;

/// What the reconciler's own process may take, in MiB.
const MOST: f64 = 256.0;
/// What one of those may that it starts: their data (`--render-memory-mib`, by default), and the program itself.
const MOST_OF_A_CHILD: f64 = 512.0 + 128.0;
/// By so much the last quarter may be above the second one.
const GROWTH: f64 = 1.1;
/// A pass takes that long at least.
const PACE: Duration = Duration::from_secs(2);

const FOLDERS: [&str; 4] = ["bad-a", "bad-b", "bad-c", "bad-d"];

pub(super) async fn live_through(town: &Town) {
    let seconds: Option<u64> =
        std::env::var("CAPSTAN_HOSTILE_SECONDS").ok().map(|told| told.parse().unwrap());
    let (begun, sampler) = (Instant::now(), Sampler::start(town.reconciler.id().unwrap()));
    let mut passes = 0;
    while seconds.map_or(passes < SHORT, |seconds| begun.elapsed().as_secs() < seconds) {
        let pass = Instant::now();
        let (folder, bomb) = (FOLDERS[passes % FOLDERS.len()], &ALL[passes % ALL.len()]);
        passes += 1;
        bring(town, folder, bomb, passes);
        town.ask();
        town.opened().await;
        let missing = town.wait(async || missing(town, folder, bomb, passes).await).await;
        assert!(
            missing.is_empty(),
            "pass {passes}: {}\n{}",
            missing.join("\n"),
            tail(&town.reconciler.log(), 20)
        );
        println!("pass {passes}: {} in {folder}, {:.1} s", bomb.name, pass.elapsed().as_secs_f64());
        if seconds.is_some() {
            tokio::time::sleep(PACE.saturating_sub(pass.elapsed())).await;
        }
    }
    sampler.end().judge(passes, seconds.is_some());
}

/// Writes and commits one pass.
fn bring(town: &Town, folder: &str, bomb: &Bomb, pass: usize) {
    let repository = &town.repository;
    let path = format!("{CUSTOMER}/{folder}");
    std::fs::remove_dir_all(repository.at(&path)).ok();
    for (path, text) in rows::plain(CUSTOMER, folder) {
        repository.write(&path, &text);
    }
    for (file, text) in (bomb.files)(folder) {
        repository.write(&format!("{path}/{file}"), &text);
    }
    // Nothing is known of it from an earlier pass.
    repository.write(&format!("{path}/base/pass.yaml"), &format!("# {pass}\n"));
    if bomb.name == "links" {
        std::fs::create_dir_all(repository.at(&format!("{path}/overlay"))).unwrap();
        std::os::unix::fs::symlink("/proc/self/environ", repository.at(&format!("{path}/overlay/a.yaml")))
            .unwrap();
    }
    let (file, text) = &rows::plain(CUSTOMER, "good")[1];
    repository.write(file, &text.replace("\"1\"", &format!("\"{pass}\"")));
    let claims: Vec<(String, rows::Claim)> = FOLDERS
        .iter()
        .chain(&["bad", "good", "new"])
        .filter(|name| repository.at(&format!("{CUSTOMER}/{name}")).is_dir())
        .map(|name| (format!("{CUSTOMER}/{name}"), rows::Claim::Here))
        .collect();
    repository.write(".capstan.yaml", &rows::settings(&town.plane.uid(), &claims));
    repository.git(&["add", "-A"]);
    let mut tree = repository.git(&["write-tree"]);
    if bomb.name == "tree" {
        tree = holding_itself(town, &tree, folder);
    }
    // A command that compares such a tree with another one has to list it, and these two do not compare.
    let commit = repository.git(&["commit-tree", "-p", "HEAD", "-m", bomb.name, &tree]);
    repository.git(&["update-ref", "refs/heads/main", &commit]);
}

/// A tree in which the folder has an overlay of nine objects that list 35 million files.
fn holding_itself(town: &Town, root: &str, folder: &str) -> String {
    let repository = &town.repository;
    let blob = repository.git(&["rev-parse", &format!("{root}:{CUSTOMER}/{folder}/base/maps.yaml")]);
    let made = |lines: &str| {
        let input = town.folder.path().join("lines");
        std::fs::write(&input, lines).unwrap();
        repository.git(&["-c", &format!("alias.made=!git mktree <'{}'", input.display()), "made"])
    };
    let mut id = made(&(0..12).map(|at| format!("100644 blob {blob}\tf{at:02}.yaml\n")).collect::<String>());
    for _ in 0..7 {
        id = made(&(0..12).map(|at| format!("040000 tree {id}\td{at:02}\n")).collect::<String>());
    }
    let with = |of: &str, name: &str, tree: &str| {
        let list = repository.git(&["ls-tree", of]);
        let others = list.lines().filter(|line| !line.ends_with(&format!("\t{name}")));
        let lines = others.map(|line| format!("{line}\n")).chain([format!("040000 tree {tree}\t{name}\n")]);
        made(&lines.collect::<String>())
    };
    let cluster = with(&format!("{root}:{CUSTOMER}/{folder}"), "overlay", &id);
    let customer = with(&format!("{root}:{CUSTOMER}"), folder, &cluster);
    with(root, CUSTOMER, &customer)
}

/// What is not as it should be once a pass is over.
async fn missing(town: &Town, folder: &str, bomb: &Bomb, pass: usize) -> Vec<String> {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good-a", "namespace": CUSTOMER}});
    let good = town.object(&map).await.map(|map| map["data"]["key"].clone());
    let statuses = town.statuses().await;
    let status = statuses.get(&format!("{CUSTOMER}-{folder}"));
    let told = status.map(rows::ready_and_reasons).unwrap_or_default();
    let says = |words: &str| told.1.iter().any(|says| says.contains(words));
    let is_told = told.0.starts_with("False") && bomb.says.iter().any(|words| says(words));
    let mut missing = Vec::new();
    // A status from an earlier pass does not count for this one.
    let now = town.repository.git(&["rev-parse", &format!("HEAD:{CUSTOMER}/{folder}")]);
    let looked_at = status.and_then(|status| status.attempted_folder.clone());
    if looked_at.as_ref() != Some(&now) {
        missing.push(format!("{} was looked at as {looked_at:?}, and is {now}", bomb.name));
    }
    if good != Some(json!(pass.to_string())) {
        missing.push(format!("the good folder is at {good:?}"));
    }
    if !is_told {
        missing.push(format!("{}: {told:?}", bomb.name));
    }
    missing
}

/// Reads every tenth of a second what a process and its children take.
struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Taken>,
}

/// What was read, in MiB.
#[derive(Default)]
struct Taken {
    own: Vec<f64>,
    /// The most that it ever took.
    peak: f64,
    /// The most of each child.
    children: BTreeMap<u32, f64>,
}

impl Sampler {
    fn start(process: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut taken = Taken::default();
            while !stopped.load(Ordering::Relaxed) {
                taken.own.extend(memory(process, "VmRSS"));
                for child in children(process) {
                    let most = taken.children.entry(child).or_default();
                    *most = memory(child, "VmHWM").unwrap_or_default().max(*most);
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            taken.peak = memory(process, "VmHWM").unwrap();
            taken
        });
        Self { stop, thread }
    }

    fn end(self) -> Taken {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

impl Taken {
    fn judge(&self, passes: usize, is_long: bool) {
        let quarters: Vec<f64> = self
            .own
            .chunks(self.own.len().div_ceil(4))
            .map(|quarter| quarter.iter().copied().fold(0.0, f64::max))
            .collect();
        let of_children = self.children.values().copied().fold(0.0, f64::max);
        println!(
            "{passes} passes: the reconciler took {:.0} MiB at most, by quarters {quarters:.0?}; each of {} children {of_children:.0} MiB at most",
            self.peak,
            self.children.len()
        );
        assert!(self.peak < MOST, "{:.0} MiB", self.peak);
        assert!(of_children < MOST_OF_A_CHILD, "{of_children:.0} MiB");
        assert!(!is_long || quarters[3] <= quarters[1] * GROWTH, "it grows: {quarters:.0?} MiB");
    }
}
