//! Several processes on a real API server, of which one leads. One begins with an older tree while Git is away. One is
//! stopped for longer than its Lease and then continues. Two share one state folder.

use std::time::{Duration, Instant};

use capstan_test_support::tally;
use jiff::Timestamp;
use serde_json::Value;

use super::{CUSTOMER, HOME, Parts, Town, rows, tail};
use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler;

/// Enough clusters that a process that is stopped at the first one is far from the last.
const CLUSTERS: usize = 12;

/// For so long nothing must happen.
const QUIET: Duration = Duration::from_secs(5);

fn name(number: usize) -> String {
    format!("c{number:02}")
}

/// Every ConfigMap says this, in one commit more.
fn commit(town: &Town, says: &str) {
    for number in 0..CLUSTERS {
        for (path, text) in rows::plain(CUSTOMER, &name(number)) {
            town.repository.write(&path, &text.replace("key: \"1\"", &format!("key: \"{says}\"")));
        }
    }
    let claims = town.claims(&[]);
    town.repository.write(".capstan.yaml", &claims);
    town.repository.commit_all(says);
}

/// Waits until every ConfigMap says that, and all is done.
async fn applied(town: &Town, says: &str) {
    let path = "jsonpath={range .items[*]}{.data.key}{\"\\n\"}{end}";
    let missing = town
        .wait(async || {
            let said = town.plane.kubectl(&["get", "configmaps", "-n", CUSTOMER, "-o", path]);
            let count = said.lines().filter(|line| *line == says).count();
            let statuses = town.statuses().await;
            let done =
                statuses.values().filter(|status| rows::ready_and_reasons(status).0 == "True Done").count();
            let is_there = (count, done) == (2 * CLUSTERS, CLUSTERS);
            (!is_there)
                .then(|| format!("{count} ConfigMaps say {says}, {done} are done"))
                .into_iter()
                .collect()
        })
        .await;
    assert_eq!(missing, [""; 0], "{}", tail(&town.reconciler.log(), 30));
}

/// What was written since, but for the Lease: by any of the processes, in its own name or an applier's.
fn written(town: &Town, since: Timestamp) -> Vec<Request> {
    let is_ours =
        |request: &Request| request.is_by(HOME, "capstan") || request.is_by(CUSTOMER, "capstan-applier");
    let mut all = town.plane.audit();
    all.retain(|request| {
        request.at >= since && request.is_write() && is_ours(request) && request.resource != "leases"
    });
    all
}

fn words(requests: &[Request]) -> Vec<String> {
    requests.iter().map(Request::words).collect()
}

/// Who leads, and for how many terms somebody has.
fn leader(town: &Town) -> String {
    let path = "jsonpath={.spec.holderIdentity} {.spec.leaseTransitions}";
    town.plane.kubectl(&["get", "lease", "capstan-reconciler", "-n", HOME, "-o", path])
}

async fn wait(what: &str, process: &Process, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < super::PATIENCE, "never: {what}\n{}", tail(&process.log(), 30));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn of_several_processes_one_leads_and_the_others_write_nothing() {
    let Some(town) = Town::found(Parts::Kinds).await else { return };
    // One folder after the other, so that there is always one that has not had its turn.
    let serial = r#"{"spec":{"concurrency":1,"intervalSeconds":600}}"#;
    town.plane.kubectl(&["patch", "fleet", "fleet", "-n", HOME, "--type=merge", "-p", serial]);
    let beside = tempfile::tempdir().unwrap();
    let (first, second) = (&town.reconciler, reconciler::process(&town.plane, beside.path()));

    commit(&town, "1");
    first.start();
    applied(&town, "1").await;
    begins_with_an_older_tree_while_git_is_away(&town, first, &second).await;
    is_stopped_for_longer_than_its_lease(&town, first, &second).await;
    first.kill();
    shares_a_state_folder(&town, &second, beside.path()).await;
}

/// What the first one kept is older than what the second one applied.
async fn begins_with_an_older_tree_while_git_is_away(town: &Town, first: &Process, second: &Process) {
    first.kill();
    town.repository.write(
        &format!("{CUSTOMER}/c00/base/more.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {other: \"1\"}\n",
    );
    commit(town, "2");
    second.start();
    applied(town, "2").await;
    let path = "jsonpath={.data.other}";
    let more = || town.plane.kubectl(&["get", "configmap", "more", "-n", CUSTOMER, "-o", path]);
    assert_eq!(more(), "1");
    second.kill();

    let (git, away) = (town.repository.path().join(".git"), town.repository.path().join("away"));
    std::fs::rename(&git, &away).unwrap();
    let hand = "{\"data\":{\"key\":\"by hand\"}}";
    town.plane.kubectl(&["patch", "configmap", "c03-b", "-n", CUSTOMER, "--type=merge", "-p", hand]);
    let since = Timestamp::now();
    first.start();
    let said = "jsonpath={.status.conditions[?(@.type==\"SourceReady\")].message}";
    let says = || town.plane.kubectl(&["get", "fleet", "fleet", "-n", HOME, "-o", said]);
    wait("it says that what it kept may be older", first, || says().contains("The kept commit is")).await;
    tokio::time::sleep(tally::wait(QUIET)).await;
    let applied_meanwhile: Vec<Request> =
        written(town, since).into_iter().filter(|request| request.namespace == CUSTOMER).collect();
    assert_eq!(words(&applied_meanwhile), [""; 0]);
    assert_eq!(more(), "1");

    std::fs::rename(&away, &git).unwrap();
    town.ask();
    applied(town, "2").await;
    let deleted = written(town, since).into_iter().filter(|request| request.verb.starts_with("delete"));
    assert_eq!(words(&deleted.collect::<Vec<_>>()), [""; 0]);
}

/// It is in the middle of a commit; another one leads meanwhile and applies the next.
async fn is_stopped_for_longer_than_its_lease(town: &Town, first: &Process, second: &Process) {
    second.start();
    let since = Timestamp::now();
    let third = stopped_in_the_middle(town, first).await;
    let before = leader(town);
    commit(town, "4");
    wait("the second one leads", second, || leader(town) != before).await;
    town.ask();
    applied(town, "4").await;
    let done = writes_of(town, since, &third);
    assert!(done < 2 * CLUSTERS, "the first one was stopped too late: nothing was left for it to do");

    let leads = leader(town);
    let stands_by = || first.log().matches("another reconciler leads; this one waits").count();
    let (since, before) = (Timestamp::now(), stands_by());
    first.go_on();
    let lost = ["another reconciler leads: this one writes nothing more", "leadership was lost"];
    wait("the first one finds out", first, || lost.iter().any(|words| first.log().contains(words))).await;
    wait("its term has ended, and it stands by", first, || stands_by() > before).await;
    // A request may have passed the check of the Lease before the stop. The object that it was computed from has
    // changed since, so the API server refuses it. An event has no such precondition: one about earlier work may still
    // be written.
    let taken =
        written(town, since).into_iter().filter(|request| request.code < 300 && request.resource != "events");
    assert_eq!(words(&taken.collect::<Vec<_>>()), [""; 0]);
    assert_eq!(leader(town), leads);
    applied(town, "4").await;
}

/// Stops it when some of a commit's objects are written and others are not; the commit's key. On a machine that is busy
/// with other things all may be written before that is seen: the next commit is tried then.
async fn stopped_in_the_middle(town: &Town, first: &Process) -> String {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let (key, since) = (format!("3.{attempt}"), Timestamp::now());
        commit(town, &key);
        town.ask();
        wait("the first one applies", first, || writes_of(town, since, &key) > 0).await;
        first.stop();
        if writes_of(town, since, &key) < 2 * CLUSTERS {
            return key;
        }
        assert!(attempt < 8, "eight commits were applied whole before the first one could be stopped");
        first.go_on();
        applied(town, &key).await;
    }
}

fn writes_of(town: &Town, since: Timestamp, key: &str) -> usize {
    written(town, since).iter().filter(|request| request.body["data"]["key"] == key).count()
}

/// The second of them waits for the folder, and leads at once when the first one is dead.
async fn shares_a_state_folder(town: &Town, first: &Process, folder: &std::path::Path) {
    let second = reconciler::process_with(&town.plane, folder, &["--render-timeout-seconds", "61"]);
    let leads = leader(town);
    second.start();
    // Both write one log.
    let waits = "the state folder cannot be used, so this process does not lead";
    wait("it says that it waits", &second, || second.log().contains(waits)).await;
    tokio::time::sleep(tally::wait(QUIET)).await;
    assert_eq!(leader(town), leads);
    assert_eq!(second.log().matches(waits).count(), 1, "said once");
    first.kill();
    // The Lease of the dead does not run out in this test.
    let hour = r#"{"spec":{"leaseDurationSeconds":3600}}"#;
    town.plane.kubectl(&["patch", "lease", "capstan-reconciler", "-n", HOME, "--type=merge", "-p", hour]);
    wait("it leads", &second, || leader(town) != leads).await;
    commit(town, "5");
    town.ask();
    applied(town, "5").await;
    let held: Value = serde_json::from_str(&town.plane.kubectl(&[
        "get",
        "lease",
        "capstan-reconciler",
        "-n",
        HOME,
        "-o",
        "json",
    ]))
    .unwrap();
    let noted = std::fs::read_to_string(folder.join("reconciler/reconciler/identity")).unwrap();
    assert_eq!(held["spec"]["holderIdentity"], noted.as_str());
    second.kill();
}
