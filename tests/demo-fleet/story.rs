//! What happens, step by step.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use capstan_forge::Edit;

use crate::live::sample::Sample;
use crate::live::town::{REPOSITORY, SHORT, Town, condition};
use crate::live::waiting::{Look, holds, until};
use capstan_test_parts::plane::reconciler::HOME;
use capstan_test_parts::plane::world::Machine;

const OLD: &str = "v1.34.3";
const NEW: &str = "v1.35.1";
/// Ten clusters of three machines take a minute on two cores that do nothing else.
const PATIENCE: Duration = Duration::from_secs(900);

pub(super) fn tell(town: &Town<'_>, clusters: &[Sample]) {
    introduce(town, clusters);
    create(town, clusters);
    let proposals = release(town, clusters);
    reject(town, &clusters[1]);
    canary(town, &clusters[0], proposals[0]);
    everybody(town, &clusters[1..], &proposals[1..]);
    drift(town, &clusters[2]);
    crate::services::tell(town);
    let truths = town.ground.truths();
    let machines: usize = truths.iter().map(|truth| truth.replaced()).sum();
    assert!(truths.iter().all(|truth| truth.holds()), "a prediction did not come true: {truths:?}");
    say(&format!(
        "\n   In all {machines} machines were replaced, and they are exactly those that the {} pull requests had announced.",
        proposals.len()
    ));
}

fn introduce(town: &Town<'_>, clusters: &[Sample]) {
    say(&format!(
        "\n   A stand-in for GitHub serves {}/{REPOSITORY}\n   It holds {} clusters of the customer gauss, each one control plane machine and two workers at Kubernetes\n   {OLD}, and the release mem/v1.0.0 that they come from. `capstan serve` runs beside it as a GitHub App;\n   `capstan reconcile` runs beside the management cluster, enrolled with a one-time join code. It dials out to\n   the bot; the bot never dials in.",
        town.forge.url(),
        clusters.len()
    ));
}

fn create(town: &Town<'_>, clusters: &[Sample]) {
    heading(1, "The reconciler finds ten cluster folders in Git and none on the management cluster");
    let took = watch(town, clusters, OLD, "machines run");
    let requests = town.ground.plane.audit().into_iter().filter(|request| request.impersonated.is_some());
    let written = requests.filter(|request| request.is_write()).count();
    say(&format!(
        "   After {took:.0} s every machine runs. {written} objects were written, each first tried as a dry run and each in the\n   name of the customer's own service account, which may touch nothing but its namespace.",
    ));
}

fn release(town: &Town<'_>, clusters: &[Sample]) -> Vec<u64> {
    heading(2, &format!("The platform team pushes release mem/v1.1.0: Kubernetes {NEW} and its image"));
    let newer = Sample { kubernetes: NEW.to_owned(), ..clusters[0].clone() };
    let start = Instant::now();
    town.push("main", "Release mem/v1.1.0", &newer.release("v1.1.0"));
    let numbers: Vec<u64> = clusters.iter().map(|cluster| town.proposal(cluster, "v1.1.0").number).collect();
    say(&format!(
        "   {:.1} s later {} pull requests are open.",
        start.elapsed().as_secs_f64(),
        numbers.len()
    ));
    for number in &numbers {
        town.wait_for_check(*number, "capstan", "success", SHORT);
    }
    let pull = town.pull(numbers[0]);
    let check = town.check(numbers[0], "capstan").unwrap();
    say(&format!(
        "   #{} {}\n      will be replaced: {} machines\n      check capstan, {:.0} s after the release: {}\n      The live cluster was asked before: a dry run of every object, webhooks included.\n      {}",
        pull.number,
        pull.title,
        town.prediction(pull.number).machines(),
        start.elapsed().as_secs_f64(),
        plain(&check.title),
        pull.url
    ));
    numbers
}

fn reject(town: &Town<'_>, cluster: &Sample) {
    heading(3, "Somebody proposes two control plane machines, which etcd cannot do with");
    let (path, text) = cluster.file("control-plane.yaml");
    let edit = Edit::write(path, text.replace("replicas: 1", "replicas: 2"));
    let number = town.propose("Two are better than one", &[edit]);
    let check = town.wait_for_check(number, "capstan", "failure", SHORT);
    say(&format!("   check capstan fails before anybody merges: {}", plain(&check.title)));
    for annotation in &check.annotations {
        let text = |field: &str| annotation[field].as_str().unwrap_or_default().to_owned();
        say(&format!(
            "      {}, line {}\n         {}",
            text("path"),
            annotation["start_line"],
            plain(&text("message")).replace('\n', "\n         ")
        ));
    }
    town.forge.close(REPOSITORY, number, "ada").unwrap();
}

fn canary(town: &Town<'_>, cluster: &Sample, number: u64) {
    heading(4, &format!("#{number} is merged: {} goes first", cluster.id()));
    let title = format!("{} rolls", cluster.id());
    std::thread::scope(|scope| {
        let merged = scope.spawn(|| town.merge_and_compare(&title, cluster, number, NEW));
        let mut told = BTreeSet::new();
        while !merged.is_finished() {
            let status = town.managed(cluster).map(|managed| managed["status"].clone()).unwrap_or_default();
            let phase = status["phase"].as_str().unwrap_or_default().to_owned();
            let line = machines_line(&town.machines(cluster));
            if told.insert((phase.clone(), line.clone())) {
                say(&format!("   {phase:<13} {line}"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        merged.join().unwrap_or_else(|_| panic!("{} did not get there", cluster.id()));
    });
    let check = town.wait_for_check(number, "capstan/rollout", "success", SHORT);
    say(&format!(
        "   check capstan/rollout: {}\n   The control plane went first; workers were withheld until it was done.",
        plain(&check.title)
    ));
}

fn everybody(town: &Town<'_>, clusters: &[Sample], numbers: &[u64]) {
    heading(5, &format!("The other {} are merged at once", numbers.len()));
    std::thread::scope(|scope| {
        let merged: Vec<_> = clusters
            .iter()
            .zip(numbers)
            .map(|(cluster, number)| {
                scope.spawn(move || town.merge_and_compare(&cluster.id(), cluster, *number, NEW))
            })
            .collect();
        let took = watch(town, clusters, NEW, "machines run the new version");
        merged
            .into_iter()
            .for_each(|merged| drop(merged.join().unwrap_or_else(|_| panic!("a rollout failed"))));
        say(&format!("   After {took:.0} s all of them do. What `kubectl get managedclusters` says now:"));
    });
    for number in numbers {
        town.wait_for_check(*number, "capstan/rollout", "success", SHORT);
    }
    let table = town.ground.plane.kubectl(&["get", "managedclusters", "-n", HOME]);
    table.lines().for_each(|line| say(&format!("      {line}")));
}

fn drift(town: &Town<'_>, cluster: &Sample) {
    heading(6, "Somebody scales workers by hand, past Git");
    let (namespace, name) = (cluster.namespace(), format!("{}-md", cluster.name));
    town.ground.plane.kubectl(&[
        "patch",
        "machinedeployment",
        "-n",
        &namespace,
        &name,
        "--type=merge",
        "-p",
        r#"{"spec":{"replicas":4}}"#,
    ]);
    let start = Instant::now();
    until("drift repaired", PATIENCE, || {
        let live = town.ground.world.object("MachineDeployment", &namespace, &name).ok_or("not there")?;
        holds(live["spec"]["replicas"] == 2 && live["metadata"]["generation"].as_u64() > Some(3), || {
            format!("replicas {}", live["spec"]["replicas"])
        })
    });
    say(&format!("   {:.1} s later it is as Git says again: 2.", start.elapsed().as_secs_f64()));
}

/// Prints what a visitor can do while everything runs.
pub(super) fn invite(town: &Town) {
    let kubeconfig = town.ground.plane.admin_kubeconfig();
    let address = town.forge.url().trim_start_matches("http://");
    // In a file: shells keep a token in an address in their histories.
    let credentials = kubeconfig.with_file_name("git-credentials");
    let token = town.forge.token_for("ada").unwrap();
    std::fs::write(&credentials, format!("http://ada:{token}@{address}\n")).unwrap();
    heading(14, "Now you: all of this continues until Ctrl-C");
    say(&format!(
        "   Pull requests, checks and diffs:\n      {}/{REPOSITORY}\n   The fleet as the bot sees it:\n      {}\n   The management cluster:\n      export KUBECONFIG={}\n      kubectl get managedclusters,machines -A\n   Push something of your own (docs/tutorials/management-cluster.md):\n      export REPOSITORY=http://ada@{address}/{REPOSITORY}.git\n      export CREDENTIALS={}",
        town.forge.url(),
        town.bot.url,
        kubeconfig.display(),
        credentials.display()
    ));
}

/// Tells how many machines run at a version, until all do and Capstan says that it is done; the seconds it took.
fn watch(town: &Town<'_>, clusters: &[Sample], version: &str, words: &str) -> f64 {
    let start = Instant::now();
    let wanted: usize = clusters.iter().map(|cluster| cluster.workers as usize + 1).sum();
    let mut told = usize::MAX;
    until("all machines run", PATIENCE, || {
        let machines: Vec<Machine> = clusters.iter().flat_map(|cluster| town.machines(cluster)).collect();
        let running = machines
            .iter()
            .filter(|machine| machine.phase == "Running" && machine.has_node && machine.version == version)
            .count();
        let done = clusters.iter().filter(|cluster| is_done(town, cluster).is_ok()).count();
        if told != running {
            told = running;
            say(&format!(
                "   {:>4.0} s  {running:>2} of {wanted} {words}, {done} of {} clusters done",
                start.elapsed().as_secs_f64(),
                clusters.len()
            ));
        }
        holds(running == wanted && machines.len() == wanted && done == clusters.len(), || {
            format!("{running} of {wanted} machines, {done} clusters done")
        })
    });
    start.elapsed().as_secs_f64()
}

fn is_done(town: &Town<'_>, cluster: &Sample) -> Look<()> {
    let status = town.managed(cluster)?["status"].clone();
    holds(status["phase"] == "Done" && condition(&status, "Ready") == "True", String::new)
}

fn machines_line(machines: &[Machine]) -> String {
    let mut sorted: Vec<&Machine> = machines.iter().collect();
    sorted.sort_by(|a, b| (&a.owner, &a.name).cmp(&(&b.owner, &b.name)));
    let words: Vec<String> = sorted
        .iter()
        .map(|machine| {
            let role = if machine.owner.starts_with("Kubeadm") { "control plane" } else { "worker" };
            format!("{role} {} {}", machine.version, machine.phase)
        })
        .collect();
    words.join(", ")
}

/// Without the marks of Markdown.
pub(super) fn plain(text: &str) -> String {
    text.replace("**", "").replace("<br>", " ").replace(['`', '\\', '\u{200b}'], "").trim().to_owned()
}

pub(super) fn heading(number: u32, text: &str) {
    say(&format!("\n{number}. {text}"));
}

#[expect(clippy::print_stdout, reason = "a demo tells")]
pub(super) fn say(text: &str) {
    println!("{text}");
}
