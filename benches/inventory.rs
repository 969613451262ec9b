//! An inventory of many clusters: reading it, values and renders of all clusters on two cores, the memory that this takes,
//! where one value comes from, when the check of an edit of one site is there, and the same clusters by a Python script and by Kapitan.
//! `cargo bench --bench inventory [-- CLUSTERS]`
//!
//! Kapitan and Python are what `benches/levels/prepare` builds; without them only Capstan's figures are printed.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints figures and stops where it cannot go on"
)]

#[expect(dead_code, reason = "each bench uses a part of it")]
mod bot;
mod levels;
mod process;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use capstan_inventory::survey::{ClusterRecords, Survey};
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Clusters that are rendered beside others.
const BESIDE: usize = 400;
const CORES: usize = 2;
/// How often the program is asked where a value comes from.
const EXPLAINED: usize = 3;
/// The argument of this program that has it measure in a process of its own.
const ALONE: &str = "--alone";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = || arguments.iter().find_map(|argument| argument.parse().ok());
    if arguments.iter().any(|argument| argument == ALONE) {
        print_row(number().unwrap());
        return;
    }
    let clusters = number().unwrap_or(10_000);
    println!(
        "an inventory of five levels, {} objects a cluster; values and renders on {CORES} cores",
        levels::OBJECTS
    );
    println!(
        "{:>8}  {:>8}  {:>10}  {:>11}  {:>9}  {:>9}  {:>8}",
        "clusters", "read ms", "render ms", "CPU ms each", "objects", "text MB", "peak MiB"
    );
    // Each runs in a process of its own, so that the peak of memory is that run's alone.
    for clusters in [BESIDE, clusters] {
        let alone = std::env::current_exe().unwrap();
        assert!(Command::new(alone).args([ALONE, &clusters.to_string()]).status().unwrap().success());
    }
    explain(clusters);
    levels::checked::check(clusters);
    beside();
}

/// Measures, and prints it.
fn print_row(clusters: usize) {
    let files = levels::files(clusters).into_iter().map(|(path, text)| (path, text.into_bytes()));
    let tree = Files::from_bytes(files);
    let cpu = || {
        let (own, kernel, _) = process::usage();
        own + kernel
    };
    let (before, begun) = (cpu(), Instant::now());
    let survey = Survey::read(&tree, &RepoPath::parse("inventory").unwrap(), ClusterRecords::default());
    let read = begun.elapsed();
    let definitions: Vec<&str> =
        survey.inventory.clusters().map(|definition| definition.level.name.as_str()).collect();
    assert_eq!(definitions.len(), clusters);
    let next = AtomicUsize::new(0);
    let (objects, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CORES {
            scope.spawn(|| {
                while let Some(name) = definitions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let member = survey.member(name).unwrap().unwrap();
                    let values = survey.values(&member);
                    let rendered = survey.render(&member, &values).unwrap();
                    for file in &rendered.files {
                        objects.fetch_add(file.objects.len(), Ordering::Relaxed);
                        bytes.fetch_add(file.text.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let rendered = begun.elapsed();
    let each = (cpu() - before) * 1e3 / clusters as f64;
    let (objects, bytes) = (objects.into_inner(), bytes.into_inner());
    assert_eq!(objects, clusters * levels::OBJECTS);
    println!(
        "{clusters:>8}  {:>8.0}  {:>10.0}  {each:>11.3}  {objects:>9}  {:>9.1}  {:>8.1}",
        read.as_secs_f64() * 1e3,
        rendered.as_secs_f64() * 1e3,
        bytes as f64 / 1e6,
        process::usage().2
    );
}

/// Where one value comes from, as the program tells it: each time a new process, which knows nothing.
fn explain(clusters: usize) {
    let folder = tempfile::tempdir().unwrap();
    repository(folder.path(), clusters);
    let repo = folder.path().display().to_string();
    let ask = ["--repo", &repo, "inventory", "explain", "c00000", "/kubernetes/version"];
    for _ in 0..EXPLAINED {
        let begun = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_capstan")).args(ask).output().unwrap();
        let took = begun.elapsed();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("Environment"), "no place is told");
        println!(
            "`capstan inventory explain` of one value among {clusters} clusters: {:.0} ms",
            took.as_secs_f64() * 1e3
        );
    }
}

/// The same clusters by others: the same objects, and the CPU that they took.
fn beside() {
    let Some(python) = levels::beside::python() else {
        println!("SKIPPED: no Kapitan and no Python with Jinja2 (benches/levels/prepare builds them)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let repo = folder.path().join("repository");
    repository(&repo, BESIDE);
    let script = levels::beside::script(&python, &repo, &folder.path().join("python"));
    let kapitan = levels::beside::kapitan(&python, BESIDE, &folder.path().join("kapitan"));
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args(["--repo", &repo.display().to_string(), "inventory", "render", "c00000"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ours = folder.path().join("ours.yaml");
    std::fs::write(&ours, output.stdout).unwrap();
    let ours = levels::beside::objects(&ours);
    assert_eq!(ours.len(), levels::OBJECTS);
    for (name, beside) in [("Python with Jinja2 and libyaml", script), ("Kapitan -p 1", kapitan)] {
        assert_eq!(beside.objects, ours, "{name} makes other objects");
        let each = beside.seconds * 1e3 / BESIDE as f64;
        println!("{name}, the same {BESIDE} clusters and objects: {each:.3} ms of CPU each, files written");
    }
}

/// A repository with the inventory of so many clusters.
fn repository(folder: &Path, clusters: usize) {
    for (path, text) in levels::files(clusters) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    assert!(Command::new("git").arg("init").arg("-q").arg(folder).status().unwrap().success());
}
