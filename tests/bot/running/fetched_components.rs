//! Conversations about components that are not in any repository: the bot fetches them, from hosts that the default
//! branch names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use capstan_forge::{Edit, Fault, PullView, Strike};

use super::sample;
use super::town::{REPOSITORY, Town, let_name};
use capstan_test_parts::components::serving::{Serving, answer, artifact};

const FILE: &str = "mc-eu/providers/base/providers.yaml";
const RECORD: &str = "mc-eu/providers/capstan.yaml";
const BRANCH: &str = "capstan/providers/mc-eu/providers";
const METADATA: &str = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 1, minor: 0, contract: v1beta2}]\n";
/// `sha256sum` of the components of v1.0.1.
const SHA256: &str = "4deb05bad7dd0749c0be710039ec3fb15f96076e5e2324c1f6253bbbc248278f";
/// The same of v1.0.0.
const OLD_SHA256: &str = "b6eda763f2e6313d9bbb0a34aaeb7f64f492577d43484a7d3958547a442400bc";

/// Components with one service account of this name.
fn components(name: &str) -> String {
    format!("apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: own-system}}\n")
}

fn settings(hosts: &[&str]) -> Edit {
    let hosts = hosts.iter().map(|host| format!("\"{host}\"")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "mode: propose\nmanagementClusters:\n- name: mc-eu\n  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n  providers: {{path: mc-eu/providers, by: others}}\ndashboard: {{enabled: false}}\nproviders: {{hosts: [{hosts}]}}\n"
    );
    Edit::write(".capstan.yaml".to_owned(), text)
}

fn provider(version: &str, url: &str) -> String {
    format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\nmetadata: {{name: own, namespace: own-system}}\nspec: {{version: {version}, fetchConfig: {{url: '{url}'}}}}\n"
    )
}

/// A town whose set is at v1.0.0, and whose forge has releases of its components; and the forge's host.
async fn town() -> (Town, String) {
    let town = Town::with(&sample::repository("mode: propose\n", &["gauss/peu01"]), None).await;
    let host = town.forge.url().trim_start_matches("http://").to_owned();
    let_name(&host);
    town.forge.create_repository("acme/own").unwrap();
    town.forge.publish("acme/own", true).unwrap();
    for (tag, name) in [("v1.0.0", "old"), ("v1.0.1", "new")] {
        let text = components(name);
        let files =
            [("metadata.yaml", METADATA.as_bytes()), ("infrastructure-components.yaml", text.as_bytes())];
        town.forge.publish_release("acme/own", tag, &files).unwrap();
    }
    (town, host)
}

fn url(host: &str) -> String {
    format!("http://{host}/acme/own/releases")
}

/// The set at v1.0.0, with a release to v1.0.1.
fn set_with_release(url: &str) -> Vec<Edit> {
    vec![
        Edit::write(FILE.to_owned(), provider("v1.0.0", url)),
        Edit::write(RECORD.to_owned(), "release: mc/v1.0.0\n"),
        Edit::write("mc/v1.0.0/base/providers.yaml".to_owned(), provider("v1.0.0", url)),
        Edit::write("mc/v2.0.0/base/providers.yaml".to_owned(), provider("v1.0.1", url)),
    ]
}

/// A body without the signs that keep GitHub from making links of texts, and without escapes.
fn readable(body: &str) -> String {
    body.replace(['\u{200b}', '\\'], "")
}

fn asked(town: &Town) -> usize {
    town.forge.exchanges().iter().filter(|one| one.path.contains("acme/own/releases")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_says_what_becomes_of_objects_whose_components_were_fetched() {
    let (mut town, host) = town().await;
    let mut edits = set_with_release(&url(&host));
    edits.push(settings(&[&host]));
    town.push("main", &edits);
    town.settle().await;

    let pulls = town.open_pulls();
    let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
    assert!(pull.body.contains("infrastructure-own: v1.0.0 to v1.0.1"), "{}", pull.body);
    assert!(pull.body.contains("ServiceAccount own-system/new"), "{}", pull.body);
    assert!(!pull.body.contains("are not in the repository"), "{}", pull.body);
    let record = town.file(BRANCH, RECORD);
    assert!(record.contains(&format!("version: v1.0.1\n    sha256: {SHA256}\n")), "{record}");
    let check = town.check(pull.number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{} {}", check.title, check.summary);

    let asked_so_far = asked(&town);
    town.resync().await;
    assert_eq!(asked(&town), asked_so_far, "they are kept");
    let before = town.forge.write_calls();
    town.restart_without_database().await;
    assert_eq!(asked(&town), asked_so_far, "for the next bot too");
    assert_eq!(town.forge.write_calls(), before);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_hosts_named_on_the_default_branch_are_asked() {
    let (town, host) = town().await;
    let mut edits = set_with_release(&url(&host));
    edits.push(settings(&["registry.example.com"]));
    town.push("main", &edits);
    town.settle().await;
    let pulls = town.open_pulls();
    let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
    let why =
        "is not among the hosts that Capstan may contact (registry.example.com): add it to `providers.hosts`";
    assert!(readable(&pull.body).contains(why), "{}", pull.body);

    let number = town.open(
        "mallory",
        "fetch",
        &[settings(&[&host]), Edit::write(FILE.to_owned(), provider("v1.0.1", &url(&host)))],
    );
    town.settle().await;
    assert_eq!(town.check(number).conclusion.as_deref(), Some("success"));
    assert_eq!(asked(&town), 0, "whatever a pull request says");
    town.done();
}

/// This applies whatever the default branch says, and whatever its author's rights are.
#[tokio::test(flavor = "multi_thread")]
async fn only_hosts_that_the_operator_allows_are_asked() {
    let (town, _) = town().await;
    let inside = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = inside.local_addr().unwrap().to_string();
    let mut edits = set_with_release(&url(&host));
    edits.push(settings(&[&host]));
    town.push("main", &edits);
    town.settle().await;
    let pulls = town.open_pulls();
    let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
    let why = "it must also be in the bot's setting `provider-hosts`";
    assert!(readable(&pull.body).contains(why), "{}", pull.body);
    // A connection would wait there to be taken.
    let connected = inside.into_std().unwrap().accept().unwrap_err();
    assert_eq!(connected.kind(), std::io::ErrorKind::WouldBlock, "it was connected to");
    town.done();
}

/// Packages of a server that answers `before` until it is let go.
async fn packages(before: Before) -> (Serving, Arc<AtomicBool>) {
    let let_go = Arc::new(AtomicBool::new(false));
    let is_let_go = Arc::clone(&let_go);
    let answers = move |path: &str| {
        if !is_let_go.load(Ordering::SeqCst) {
            match before {
                Before::Limit => return answer(429, &[("retry-after", "1")], ""),
                Before::Silence => {
                    while !is_let_go.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
            }
        }
        match path {
            path if path.ends_with("metadata.yaml") => answer(200, &[], METADATA),
            path if path.contains("v1.0.1") => answer(200, &[], components("new")),
            _ => answer(200, &[], components("old")),
        }
    };
    // A server that says nothing holds a thread: those of the test are not its own.
    let (started, server) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(8).enable_all().build();
        runtime.unwrap().block_on(async {
            started.send(Serving::start(answers).await).unwrap();
            std::future::pending::<()>().await;
        });
    });
    let server: Serving = tokio::task::block_in_place(|| server.recv().unwrap());
    let_name(&server.host);
    (server, let_go)
}

/// What a server answers first.
#[derive(Clone, Copy)]
enum Before {
    Limit,
    Silence,
}

/// The set at v1.0.0 of these packages, with a release to v1.0.1, and a release for clusters.
fn set_of_packages(host: &str) -> Vec<Edit> {
    let provider = |version: &str| {
        provider(version, &format!("http://{host}/api/v4/projects/7/packages/generic/own/{version}/all.yaml"))
    };
    vec![
        settings(&[host]),
        Edit::write(FILE.to_owned(), provider("v1.0.0")),
        Edit::write(RECORD.to_owned(), "release: mc/v1.0.0\n"),
        Edit::write("mc/v1.0.0/base/providers.yaml".to_owned(), provider("v1.0.0")),
        Edit::write("mc/v2.0.0/base/providers.yaml".to_owned(), provider("v1.0.1")),
        sample::release("v22.0.0", "v1.22.0"),
    ]
}

/// Until the proposal of the set says what becomes of objects: nothing else than the bot's own errand asks for that.
async fn until_the_set_lists_its_objects(town: &Town) {
    for _ in 0..600 {
        town.settle().await;
        if body_of_set(town).contains("ServiceAccount own-system/new") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{}", body_of_set(town));
}

fn body_of_set(town: &Town) -> String {
    let pull = town.open_pulls().into_iter().find(|pull| pull.head_branch == BRANCH);
    readable(&pull.unwrap().body)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_download_is_reported_stops_nothing_else_and_comes_later() {
    for (before, said) in [
        (Before::Limit, "accepts no more requests until 20"),
        (Before::Silence, "Capstan is fetching them from http://"),
    ] {
        let (town, _) = town().await;
        let (server, let_go) = packages(before).await;
        town.push("main", &set_of_packages(&server.host));
        town.settle().await;
        let body = body_of_set(&town);
        assert!(body.contains(said), "{body}");
        assert_eq!(town.open_pulls().len(), 2, "the cluster is offered its own release meanwhile");
        let_go.store(true, Ordering::SeqCst);
        until_the_set_lists_its_objects(&town).await;
        town.done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_something_else_than_recorded_is_never_taken() {
    let (town, host) = town().await;
    let mut edits = set_with_release(&url(&host));
    edits.push(settings(&[&host]));
    edits.remove(3);
    town.push("main", &edits);
    town.settle().await;
    let recorded = "a".repeat(64);
    let record = format!(
        "release: mc/v1.0.0\ncomponents:\n  infrastructure-own:\n    version: v1.0.0\n    sha256: {recorded}\n"
    );
    let number = town.open("ada", "record", &[Edit::write(RECORD.to_owned(), record)]);
    town.settle().await;
    let check = town.check(number);
    let said = format!(
        "the components of infrastructure-own v1.0.0 changed: {}/v1.0.0/infrastructure-components.yaml now has components with SHA-256 {OLD_SHA256}, but {recorded} is recorded for that version.",
        url(&host)
    );
    assert!(readable(&check.summary).contains(&said), "{} {}", check.title, check.summary);
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    town.done();
}

const OTHER_BRANCH: &str = "capstan/providers/mc-us/providers";
const OTHER_RECORD: &str = "mc-us/providers/capstan.yaml";

/// The provider of the other set.
fn other(version: &str, host: &str) -> String {
    provider(version, &format!("http://{host}/acme/other/releases")).replace("name: own,", "name: other,")
}

/// A town with proposals of two sets, each with a provider of its own; and the forge's host.
async fn two_sets() -> (Town, String) {
    let (town, host) = town().await;
    town.forge.create_repository("acme/other").unwrap();
    town.forge.publish("acme/other", true).unwrap();
    for tag in ["v1.0.0", "v1.0.1", "v1.0.2"] {
        let text = components(&format!("of-{}", tag.replace('.', "-")));
        let files =
            [("metadata.yaml", METADATA.as_bytes()), ("infrastructure-components.yaml", text.as_bytes())];
        town.forge.publish_release("acme/other", tag, &files).unwrap();
    }
    let settings = format!(
        "mode: propose\nmanagementClusters:\n- name: mc-eu\n  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n  providers: {{path: mc-eu/providers, by: others}}\n- name: mc-us\n  uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ac\n  providers: {{path: mc-us/providers, by: others}}\ndashboard: {{enabled: false}}\nproviders: {{hosts: [\"{host}\"]}}\n"
    );
    let mut edits = set_with_release(&url(&host));
    edits.extend([
        Edit::write(".capstan.yaml", settings),
        Edit::write("mc-us/providers/base/providers.yaml", other("v1.0.0", &host)),
        Edit::write(OTHER_RECORD, "release: mu/v1.0.0\n"),
        Edit::write("mu/v1.0.0/base/providers.yaml", other("v1.0.0", &host)),
        Edit::write("mu/v2.0.0/base/providers.yaml", other("v1.0.1", &host)),
    ]);
    town.push("main", &edits);
    town.settle().await;
    assert!(open_on(&town, OTHER_BRANCH).unwrap().body.contains("ServiceAccount own-system/of-v1-0-1"));
    (town, host)
}

fn open_on(town: &Town, branch: &str) -> Option<PullView> {
    town.open_pulls().into_iter().find(|pull| pull.head_branch == branch)
}

/// A bot that knows nothing looks at what was pushed, and cannot read that head.
async fn begins_without(town: &mut Town, unread: &str, edits: &[Edit]) {
    let want = format!("want {unread}");
    town.forge.fail_by(move |asked| {
        let is_it =
            asked.path.ends_with("/git-upload-pack") && String::from_utf8_lossy(asked.body).contains(&want);
        is_it.then_some((Strike::Before, Fault::Status(500)))
    });
    town.forge.pause_deliveries();
    town.push("main", edits);
    town.restart_with_nothing().await;
    town.forge.resume_deliveries(capstan_forge::DeliveryOrder::AsHappened);
    assert!(town.forge.count_requests(|call| call.faulted) > 0, "it was asked for");
}

/// The components that one set's open pull request was judged with cannot be read. Its proposal stays as it is, and the
/// run continues with the other set and the cluster.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_cannot_be_read_holds_up_its_own_set_alone() {
    let (mut town, host) = two_sets().await;
    let before = open_on(&town, BRANCH).unwrap();
    assert!(before.body.contains("ServiceAccount own-system/new"), "{}", before.body);

    let release = Edit::write("mu/v3.0.0/base/providers.yaml", other("v1.0.2", &host));
    begins_without(&mut town, &before.head, &[release, sample::release("v22.0.0", "v1.22.0")]).await;
    let newer = open_on(&town, OTHER_BRANCH).unwrap();
    assert!(newer.body.contains("ServiceAccount own-system/of-v1-0-2"), "{}", newer.body);
    assert!(town.file(OTHER_BRANCH, OTHER_RECORD).contains("version: v1.0.2\n"));
    assert!(open_on(&town, "capstan/upgrade/gauss/peu01").is_some(), "the cluster is offered its release");
    let kept = open_on(&town, BRANCH).unwrap();
    assert_eq!((&kept.head, &kept.body), (&before.head, &before.body), "nothing is taken for it");

    town.forge.clear_faults();
    town.pass(3_600);
    town.resync().await;
    let after = open_on(&town, BRANCH).unwrap();
    assert_eq!(after.head, before.head);
    assert!(after.body.contains("ServiceAccount own-system/new"), "{}", after.body);
    assert_eq!(town.check(after.number).conclusion.as_deref(), Some("success"));
    town.done();
}

/// One component of two sets, of which one was judged with content that cannot be read now. Until it can, other content
/// is not used, not even for the set without a record of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_of_two_sets_waits_while_what_one_was_judged_with_cannot_be_read() {
    let (mut town, host) = two_sets().await;
    let judged = open_on(&town, BRANCH).unwrap().head;
    let both = format!("{}---\n{}", other("v1.0.1", &host), provider("v1.0.1", &url(&host)));
    begins_without(&mut town, &judged, &[Edit::write("mu/v3.0.0/base/providers.yaml", both)]).await;
    let body = readable(&open_on(&town, OTHER_BRANCH).unwrap().body);
    assert!(
        body.contains("the components that its open pull request was checked with cannot be read: "),
        "{body}"
    );
    assert!(!town.file(OTHER_BRANCH, OTHER_RECORD).contains(SHA256), "nothing is taken for it");

    town.forge.clear_faults();
    town.pass(3_600);
    town.resync().await;
    let body = open_on(&town, OTHER_BRANCH).unwrap().body;
    assert!(body.contains("ServiceAccount own-system/new"), "{body}");
    assert!(town.file(OTHER_BRANCH, OTHER_RECORD).contains(SHA256));
    town.done();
}

/// `sha256sum` of what is published later under the tag of v1.0.1.
const FORGED_SHA256: &str = "90efc60fb66e447bd021b3ddd8b3a5d66d964ad1d7874410217276387fb18557";

/// The record names what was judged: a tag that moves afterwards changes nothing that is open, and the check reports
/// it.
#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_moves_after_it_was_judged_is_refused_with_both_digests() {
    let (mut town, _) = town().await;
    let has_moved = Arc::new(AtomicBool::new(false));
    let is_away = Arc::new(AtomicBool::new(false));
    let (moved, away) = (Arc::clone(&has_moved), Arc::clone(&is_away));
    let registry = Serving::start(move |path| {
        if away.load(Ordering::SeqCst) {
            return answer(404, &[], "");
        }
        // Blobs stay where they are: it is the tag that moves.
        let name = match (path.ends_with("/v1.0.0"), moved.load(Ordering::SeqCst)) {
            (true, _) => "old",
            (false, false) => "new",
            (false, true) => "forged",
        };
        let all = ["old", "new", "forged"].map(components);
        match path.contains("/manifests/") {
            true => artifact(path, &[("metadata.yaml", METADATA), ("components.yaml", &components(name))]),
            false => {
                let blobs = all.iter().map(|text| ("", text.as_str())).chain([("", METADATA)]);
                artifact(path, &blobs.collect::<Vec<_>>())
            }
        }
    })
    .await;
    let_name(&registry.host);
    let provider = |version: &str| {
        format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\nmetadata: {{name: own, namespace: own-system}}\nspec: {{version: {version}, fetchConfig: {{oci: 'http://{}/own'}}}}\n",
            registry.host
        )
    };
    town.push(
        "main",
        &[
            settings(&[&registry.host]),
            Edit::write(FILE, provider("v1.0.0")),
            Edit::write(RECORD, "release: mc/v1.0.0\n"),
            Edit::write("mc/v1.0.0/base/providers.yaml", provider("v1.0.0")),
            Edit::write("mc/v2.0.0/base/providers.yaml", provider("v1.0.1")),
        ],
    );
    until_the_set_lists_its_objects(&town).await;
    let pull = town.open_pulls().remove(0);
    let judged = format!("version: v1.0.1\n    sha256: {SHA256}\n");
    assert!(town.file(BRANCH, RECORD).contains(&judged), "{}", town.file(BRANCH, RECORD));

    // Before the merge, whatever makes the bot look.
    has_moved.store(true, Ordering::SeqCst);
    town.resync().await;
    town.restart_without_database().await;
    assert_eq!(town.pull(pull.number).head, pull.head);
    assert_eq!(town.check(pull.number).conclusion.as_deref(), Some("success"));
    // Of a bot that never saw the first, while the proposal is open: what that records is what was judged.
    town.restart_with_nothing().await;
    for _ in 0..600 {
        town.settle().await;
        if readable(&town.check(pull.number).summary).contains("now has components") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let check = town.check(pull.number);
    let said = format!("with SHA-256 {FORGED_SHA256}, but {SHA256} is recorded for that version.");
    assert!(readable(&check.summary).contains(&said), "{} {}", check.title, check.summary);
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert_eq!(town.pull(pull.number).head, pull.head, "the record stays as it was judged");
    // The same where the registry does not answer at first.
    is_away.store(true, Ordering::SeqCst);
    town.restart_with_nothing().await;
    assert_eq!(town.pull(pull.number).head, pull.head);
    is_away.store(false, Ordering::SeqCst);

    // And in a person's own pull request.
    let files = [FILE, RECORD].map(|path| Edit::write(path, town.file(BRANCH, path)));
    town.forge.close(REPOSITORY, pull.number, "ada").unwrap();
    town.settle().await;
    town.restart_with_nothing().await;
    let mine = town.open("ada", "mine", &files);
    for _ in 0..600 {
        town.settle().await;
        if readable(&town.check(mine).summary).contains("now has components") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let check = town.check(mine);
    let said = format!("with SHA-256 {FORGED_SHA256}, but {SHA256} is recorded for that version.");
    assert!(readable(&check.summary).contains(&said), "{} {}", check.title, check.summary);
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    town.done();
}
