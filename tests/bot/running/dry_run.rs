//! `capstan serve --dry-run` computes what a bot does next, logs it, and writes nothing.

use capstan_test_support::PATIENCE;
use std::time::{Duration, Instant};

use capstan_forge::{Edit, Exchange, Forge, MergeMethod, NewPull, Protection, PullState, Surface};
use serde_json::Value;

use super::kills::{Place, wait_until_settled};
use super::sample;
use super::town::{REPOSITORY, forge};
use capstan_test_parts::conformance::assert_conforms;

/// A repository with Capstan installed, in which it has not written anything yet.
const FRESH: &str = "acme/fresh";
const CLUSTERS: [&str; 2] = ["gauss/peu01", "gauss/peu02"];

/// Repository, what is written, where, and how many bytes if the log has that. The id of a commit is left out, because
/// it differs.
type Write = (String, String, String, Option<u64>);

/// The writes in the log of a dry run, sorted.
fn logged_writes(log: &str) -> Vec<Write> {
    let mut told = logged_one_by_one(log);
    told.sort();
    told
}

/// The same in the order of the log.
fn logged_one_by_one(log: &str) -> Vec<Write> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told = lines.filter(|line| line["message"] == "dry run: not written");
    told.map(|line| {
        let word = |name: &str| line[name].as_str().unwrap().to_owned();
        let on = match line["write"].as_str().unwrap() {
            "commit" | "check-run" | "check-run-update" | "status" => "a commit".to_owned(),
            _ => word("on"),
        };
        let bytes = counts_bytes(&word("write")).then(|| line["bytes"].as_u64().unwrap());
        (word("repository"), word("write"), on, bytes)
    })
    .collect()
}

fn counts_bytes(write: &str) -> bool {
    matches!(write, "tree" | "pull-request" | "pull-request-edit" | "comment")
}

/// What the forge was asked to write, ordered by what it is.
fn written(forge: &Forge) -> Vec<Write> {
    let mut written = written_one_by_one(forge);
    written.sort();
    written
}

/// The same in the order in which it was asked.
fn written_one_by_one(forge: &Forge) -> Vec<Write> {
    forge.exchanges().iter().filter(|one| one.is_write()).map(write_of).collect()
}

fn write_of(one: &Exchange) -> Write {
    let text = |name: &str| one.request[name].as_str().unwrap_or_default();
    if one.surface == Surface::GraphQl {
        let input = &one.request["variables"]["input"];
        if let Some(head) = input["expectedHeadOid"].as_str() {
            return (REPOSITORY.to_owned(), "auto-merge".to_owned(), format!("#1 at {head}"), None);
        }
        let update = &one.request["variables"]["input"]["refUpdates"][0];
        let branch = update["name"].as_str().unwrap_or_else(|| panic!("{}", one.request));
        let branch = branch.trim_start_matches("refs/heads/").to_owned();
        return (REPOSITORY.to_owned(), "branch-move".to_owned(), branch, None);
    }
    let parts: Vec<&str> = one.path.trim_start_matches("/repos/").splitn(3, '/').collect();
    let [owner, name, below] = parts.as_slice() else { panic!("{}", one.path) };
    let below: Vec<&str> = below.split('/').collect();
    let length = |names: &[&str]| names.iter().map(|name| text(name).len() as u64).sum::<u64>();
    let (write, on, bytes) = match (one.method.as_str(), below.as_slice()) {
        ("POST", ["git", "trees"]) => {
            let entries = one.request["tree"].as_array().unwrap();
            let bytes =
                entries.iter().filter_map(|entry| entry["content"].as_str()).map(str::len).sum::<usize>();
            let files =
                if entries.len() == 1 { "1 file".to_owned() } else { format!("{} files", entries.len()) };
            ("tree", files, bytes as u64)
        }
        ("POST", ["git", "commits"]) => ("commit", "a commit".to_owned(), 0),
        ("POST", ["git", "refs"]) => ("branch", text("ref").trim_start_matches("refs/heads/").to_owned(), 0),
        ("POST", ["pulls"]) => ("pull-request", text("head").to_owned(), length(&["title", "body"])),
        ("PATCH", ["pulls", number]) if text("state") == "closed" => {
            ("pull-request-close", format!("#{number}"), 0)
        }
        ("PATCH", ["pulls", number]) => {
            ("pull-request-edit", format!("#{number}"), length(&["title", "body"]))
        }
        ("PUT", ["pulls", number, "merge"]) => ("merge", format!("#{number} at {}", text("sha")), 0),
        ("POST", ["check-runs"]) => ("check-run", "a commit".to_owned(), 0),
        ("PATCH", ["check-runs", _]) => ("check-run-update", "a commit".to_owned(), 0),
        ("POST", ["issues", "comments", id, "reactions"]) => {
            ("reaction", format!("{} on comment {id}", text("content")), 0)
        }
        ("POST", ["issues", number, "reactions"]) => {
            ("reaction", format!("{} on issue {number}", text("content")), 0)
        }
        ("POST", ["issues"]) => ("issue", "a new one".to_owned(), 0),
        ("PATCH", ["issues", number]) => ("issue-edit", format!("#{number}"), 0),
        ("POST", ["issues", number, "comments"]) => ("comment", format!("#{number}"), length(&["body"])),
        other => panic!("{other:?}"),
    };
    (format!("{owner}/{name}"), write.to_owned(), on, counts_bytes(write).then_some(bytes))
}

/// Until nothing is asked of the forge for three seconds.
fn wait_until_quiet(forge: &Forge, place: &Place) {
    let patience = Instant::now() + PATIENCE;
    let (mut seen, mut since) = (forge.exchanges().len(), Instant::now());
    while seen == 0 || since.elapsed() < Duration::from_secs(3) {
        assert!(Instant::now() < patience, "never comes to rest: {}", place.log());
        std::thread::sleep(Duration::from_millis(50));
        let now = forge.exchanges().len();
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
    }
}

#[test]
fn a_dry_run_tells_exactly_what_a_run_writes_and_writes_nothing() {
    let forge = forge();
    let place = Place::new(&forge);
    let begin = sample::repository("upgrade: {proposals: {open: 1000, perHour: 10000}}\n", &CLUSTERS);
    forge.commit(REPOSITORY, "main", "ada", "Begin", &begin).unwrap();
    forge.commit(REPOSITORY, "main", "ada", "First", &[sample::release("v22.0.0", "v1.22.0")]).unwrap();
    let bot = place.start_with(&[]);
    wait_until_settled(&forge, &place, "v22.0.0", "at first");
    drop(bot);

    // Two proposals are to be updated, one is to be opened, two comments wait, and a repository knows nothing of
    // Capstan.
    let edits: Vec<Edit> =
        sample::cluster("gauss/peu03").into_iter().chain([sample::release("v22.1.0", "v1.22.1")]).collect();
    forge.commit(REPOSITORY, "main", "ada", "Second", &edits).unwrap();
    forge
        .commit(REPOSITORY, "mine", "ada", "Mine", &[sample::machine_pool("gauss/peu01", "v1.21.4", 3)])
        .unwrap();
    let mine = NewPull {
        title: "Mine".to_owned(),
        head: "mine".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let mine = forge.open_pull(REPOSITORY, "ada", mine).unwrap();
    forge.comment(REPOSITORY, mine, "ada", "/capstan plan").unwrap();
    forge.create_repository(FRESH).unwrap();
    forge.commit(FRESH, "main", "ada", "Begin", &sample::cluster("gauss/peu01")).unwrap();
    let pulls_before = forge.pulls(REPOSITORY).unwrap().len();
    let state_before = files_in(&place);

    forge.clear_exchanges();
    let earlier = place.log().len();
    let bot = place.start_with(&["--dry-run"]);
    wait_until_quiet(&forge, &place);
    let first = logged_writes(&place.log()[earlier..]);
    // What the first run did, none of the next does again.
    forge.comment(REPOSITORY, mine, "mallory", "Nice.").unwrap();
    forge.commit(REPOSITORY, "main", "ada", "Words", &[Edit::write("README.md", "hello\n")]).unwrap();
    wait_until_quiet(&forge, &place);
    let told = logged_writes(&place.log()[earlier..]);
    assert_eq!(told, first, "nothing is written twice");
    assert_eq!(written(&forge), [], "nothing is written");
    assert_eq!(forge.pulls(REPOSITORY).unwrap().len(), pulls_before);
    assert_eq!(files_in(&place), state_before, "nor to the state folder");
    let page = reqwest_page(&format!("http://{}/", place.internal));
    assert!(page.contains("DRY RUN"), "{page}");
    assert!(page.contains("gauss/peu03"), "what would be there is shown: {page}");
    drop(bot);

    forge.clear_exchanges();
    let bot = place.start_with(&[]);
    wait_until_quiet(&forge, &place);
    assert_eq!(told, written(&forge));
    let open =
        forge.pulls(REPOSITORY).unwrap().into_iter().filter(|pull| pull.state == PullState::Open).count();
    assert_eq!(
        (open, forge.pulls(FRESH).unwrap().len()),
        (4, 1),
        "three proposals, and ada's; first contact"
    );
    let kinds: std::collections::BTreeSet<&str> = told.iter().map(|write| write.1.as_str()).collect();
    let expected = [
        "branch",
        "branch-move",
        "check-run",
        "comment",
        "commit",
        "pull-request",
        "pull-request-edit",
        "reaction",
        "tree",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    drop(bot);
    place.done();
    assert_conforms(&forge);
}

#[test]
fn a_dry_run_tells_how_proposals_move_into_one_of_their_group() {
    let forge = forge();
    let place = Place::new(&forge);
    let begin = sample::repository("mode: propose\n", &CLUSTERS);
    forge.commit(REPOSITORY, "main", "ada", "Begin", &begin).unwrap();
    forge.commit(REPOSITORY, "main", "ada", "First", &[sample::release("v22.0.0", "v1.22.0")]).unwrap();
    let bot = place.start_with(&[]);
    wait_until_settled(&forge, &place, "v22.0.0", "at first");
    wait_until_quiet(&forge, &place);
    drop(bot);
    let grouped = "dashboard: {enabled: false}\nupgrade: {proposals: {group: {by: \"*/\"}}}\n";
    forge.commit(REPOSITORY, "main", "ada", "Group", &[Edit::write(".capstan.yaml", grouped)]).unwrap();

    forge.clear_exchanges();
    let earlier = place.log().len();
    let bot = place.start_with(&["--dry-run"]);
    wait_until_quiet(&forge, &place);
    drop(bot);
    let told = logged_writes(&place.log()[earlier..]);
    assert_eq!(written(&forge), [], "nothing is written");
    let opened = |write: &&Write| write.1 == "pull-request";
    let branches: Vec<&str> = told.iter().filter(opened).map(|write| write.2.as_str()).collect();
    assert_eq!(branches, ["capstan/upgrade/%group/gauss"], "{told:#?}");
    let closed = told.iter().filter(|write| write.1 == "pull-request-close").count();
    assert_eq!(closed, 2, "each cluster's own: {told:#?}");

    let bot = place.start_with(&[]);
    wait_until_quiet(&forge, &place);
    drop(bot);
    assert_eq!(told, written(&forge));
    let open: Vec<String> = forge
        .pulls(REPOSITORY)
        .unwrap()
        .into_iter()
        .filter(|pull| pull.state == PullState::Open)
        .map(|pull| pull.head_branch)
        .collect();
    assert_eq!(open, ["capstan/upgrade/%group/gauss"]);
    place.done();
    assert_conforms(&forge);
}

/// A person asks for a merge while no bot runs: what a dry run logs then, and what a run writes, one by one.
fn logged_and_written(protection: Protection) -> (Vec<Write>, Vec<Write>, Forge) {
    let forge = forge();
    let place = Place::new(&forge);
    let settings = "dashboard: {enabled: false}\nupgrade: {merge: {method: squash}}\n";
    forge.commit(REPOSITORY, "main", "ada", "Begin", &sample::repository(settings, &CLUSTERS)).unwrap();
    forge.commit(REPOSITORY, "main", "ada", "First", &[sample::release("v22.0.0", "v1.22.0")]).unwrap();
    let bot = place.start_with(&[]);
    wait_until_settled(&forge, &place, "v22.0.0", "at first");
    wait_until_quiet(&forge, &place);
    drop(bot);
    forge.allow_merging(REPOSITORY, &[MergeMethod::Squash], true).unwrap();
    forge.require(REPOSITORY, "main", protection).unwrap();
    let head = forge.pull(REPOSITORY, 1).unwrap().head;
    forge.comment(REPOSITORY, 1, "ada", &format!("/capstan merge {}", &head[..7])).unwrap();

    forge.clear_exchanges();
    let earlier = place.log().len();
    let bot = place.start_with(&["--dry-run"]);
    wait_until_quiet(&forge, &place);
    drop(bot);
    let told = logged_one_by_one(&place.log()[earlier..]);
    assert_eq!(written(&forge), [], "nothing is written");
    let pull = forge.pull(REPOSITORY, 1).unwrap();
    assert_eq!((pull.state, pull.auto_merge), (PullState::Open, false));

    let bot = place.start_with(&[]);
    wait_until_quiet(&forge, &place);
    drop(bot);
    place.done();
    assert_conforms(&forge);
    (told, written_one_by_one(&forge), forge)
}

#[test]
fn a_merge_in_a_dry_run_is_logged_as_a_run_makes_it() {
    let (told, written, forge) = logged_and_written(Protection::default());
    assert_eq!(forge.pull(REPOSITORY, 1).unwrap().state, PullState::Merged);
    let merges = |all: &[Write]| all.iter().filter(|write| write.1 == "merge").count();
    assert_eq!((merges(&told), merges(&written)), (1, 1), "{told:#?}");
    assert_eq!(told, written);
}

#[test]
fn a_merge_that_waits_for_checks_is_logged_as_a_run_asks_for_it() {
    let checks = vec!["capstan".to_owned(), "build".to_owned()];
    let (told, written, forge) = logged_and_written(Protection { checks, ..Protection::default() });
    assert!(forge.pull(REPOSITORY, 1).unwrap().auto_merge);
    assert!(told.iter().any(|write| write.1 == "auto-merge"), "{told:#?}");
    assert_eq!(told, written);
}

/// The files of the state folder, and when each was changed last.
fn files_in(place: &Place) -> Vec<(String, std::time::SystemTime)> {
    let mut files: Vec<_> = std::fs::read_dir(place.state())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().modified().unwrap())
        })
        .collect();
    files.sort();
    files
}

fn reqwest_page(url: &str) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() })
}
