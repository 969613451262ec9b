//! Small pull requests that need much work, against the running program: each gets the reason, and everybody else is
//! served.
//!
//! `CAPSTAN_BOMB_SECONDS` sets for how long new ones keep coming (by default only those at the beginning come). The
//! test then prints every minute and at the end how long others waited (`-- --nocapture`). It fails if that was too
//! long once, so the machine should do nothing else.

use capstan_test_support::PATIENCE;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use capstan_forge::{Edit, Forge, NewPull, Permission};
use serde_json::{Value, json};

use super::kills::{Place, Process};
use super::sample;
use super::town::{REPOSITORY, forge};

const BAD: &str = "gauss/peu01";
const NEIGHBOUR: &str = "noether/peu02";
/// Whose default branch is a tree that holds itself.
const DEEP: &str = "acme/deep";
const OTHER: &str = "acme/other";

/// An overlay with a patch of its Cluster, and what is beside it.
fn patch(operations: &str) -> Vec<Edit> {
    let kustomization = "resources: [../base/cluster.yaml, ../base/machinepool.yaml]\npatches:\n- {path: patch.yaml, target: {kind: Cluster}}\n";
    overlay(kustomization, &[("patch.yaml", operations)])
}

fn overlay(kustomization: &str, more: &[(&str, &str)]) -> Vec<Edit> {
    let own = [("kustomization.yaml", kustomization)];
    let files = more.iter().chain(&own);
    files.map(|(name, text)| Edit::write(format!("{BAD}/overlay/{name}"), *text)).collect()
}

/// 28 KB that nest an object deeper step by step.
fn deepening() -> Vec<Edit> {
    let mut text = String::from("- {op: add, path: /a, value: {}}\n");
    for _ in 0..280 {
        text.push_str("- {op: add, path: /b, value: {}}\n- {op: move, from: /a, path: /b/a}\n");
        text.push_str("- {op: move, from: /b, path: /a}\n");
    }
    assert!(text.len() < 30_000, "{}", text.len());
    patch(&text)
}

/// 26 operations, each of which doubles.
fn doubling() -> Vec<Edit> {
    let mut text = String::from("- {op: add, path: /a, value: {b: text}}\n");
    for number in 0..26 {
        writeln!(text, "- {{op: copy, from: /a, path: /a/c{number}}}").unwrap();
    }
    patch(&text)
}

/// One file of 4 MiB under fifty names.
fn generator() -> Vec<Edit> {
    let mut text = String::from(
        "resources: [../base/cluster.yaml, ../base/machinepool.yaml]\nconfigMapGenerator:\n- name: a\n  files:\n",
    );
    for number in 0..50 {
        writeln!(text, "  - k{number}=big.txt").unwrap();
    }
    overlay(&text, &[("big.txt", &"x".repeat(4 << 20))])
}

/// Folders that name the one below twice, fourteen times.
fn kustomizations() -> Vec<Edit> {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: my-org}\n";
    let mut edits = overlay(
        "resources: [../base/cluster.yaml, ../base/machinepool.yaml, k14]\n",
        &[("k0/kustomization.yaml", "resources: [a.yaml]\n"), ("k0/a.yaml", object)],
    );
    let mut write = |path: String, text: String| {
        edits.push(Edit::write(format!("{BAD}/overlay/{path}/kustomization.yaml"), text));
    };
    for level in 1..=14 {
        write(format!("k{level}"), "resources: [one, other]\n".to_owned());
        for (folder, prefix) in [("one", "l"), ("other", "r")] {
            let text = format!("namePrefix: {prefix}\nresources: [../../k{}]\n", level - 1);
            write(format!("k{level}/{folder}"), text);
        }
    }
    edits
}

/// Branch, what it changes, and the reason that its check gives.
type Bomb = (&'static str, fn() -> Vec<Edit>, &'static str);
const BOMBS: [Bomb; 4] = [
    ("deepening", deepening, "the object is nested deeper than 200 levels"),
    ("doubling", doubling, "the render has more than 1000000 values"),
    ("generator", generator, "the render has more than 64 MiB of text"),
    ("kustomizations", kustomizations, "the render builds more than 1000 kustomizations"),
];

/// Within every budget, and seconds of work.
fn large() -> Vec<Edit> {
    patch(&format!("- {{op: add, path: /spec/large, value: [{}]}}\n", "1,".repeat(900_000)))
}

/// Bombs that keep coming: each push is another content, so that nothing that is remembered of those before spares anybody
/// the work. Each is one commit on the first of its branch: with a history that grows, the forge itself would take ever longer.
struct Barrage<'a> {
    forge: &'a Forge,
    /// Branch, its first commit, and its kustomization.
    bombs: Vec<(&'static str, String, String)>,
    pushed: Vec<String>,
}

impl<'a> Barrage<'a> {
    /// Those, and one that is no more than slow.
    fn begin(forge: &'a Forge) -> Self {
        open(forge, REPOSITORY, "large", &large());
        let of = |(branch, edits): (&'static str, Vec<Edit>)| {
            let kustomization = edits.into_iter().find_map(|edit| match edit {
                Edit::Write { path, content } if path == format!("{BAD}/overlay/kustomization.yaml") => {
                    Some(String::from_utf8(content).unwrap())
                }
                _ => None,
            });
            let first = forge.commits(REPOSITORY, branch).unwrap().remove(0).id;
            (branch, first, kustomization.unwrap())
        };
        let all = BOMBS.map(|(branch, edits, _)| (branch, edits())).into_iter().chain([("large", large())]);
        Self { forge, bombs: all.map(of).collect(), pushed: Vec::new() }
    }

    /// The next of each.
    fn go_on(&mut self) {
        for (branch, first, kustomization) in &self.bombs {
            let path = format!("{BAD}/overlay/kustomization.yaml");
            let next = Edit::write(path, format!("{kustomization}# {}\n", self.pushed.len()));
            let next = self.forge.commit_on(REPOSITORY, first, "ada", "The next", &[next]).unwrap();
            self.forge.push(REPOSITORY, branch, &next, "ada").unwrap();
            self.pushed.push(next);
        }
    }

    /// Pushes new ones every second until the flag is set.
    fn keep_on(mut self, is_over: &AtomicBool) -> Vec<String> {
        while !is_over.load(Ordering::Relaxed) {
            self.go_on();
            std::thread::sleep(Duration::from_secs(1));
        }
        self.pushed
    }
}

/// How long others waited.
#[derive(Default)]
struct Waited {
    each: Vec<Duration>,
}

impl Waited {
    fn print(&mut self, what: &str, bar: Duration) -> usize {
        self.each.sort();
        let count = self.each.len();
        let at = |share: usize| {
            let at = (count * share / 100).min(count.saturating_sub(1));
            self.each.get(at).map_or(0, Duration::as_millis)
        };
        let longer = self.each.iter().filter(|waited| **waited > bar).count();
        println!(
            "{what}: {count} times, at most {} ms, half within {} ms, 95 of 100 within {} ms; {longer} longer than {} s",
            at(100),
            at(50),
            at(95),
            bar.as_secs()
        );
        longer
    }
}

/// Of somebody who asks and pushes elsewhere, again and again.
#[derive(Default)]
struct Elsewhere {
    helped: Waited,
    proposed: Waited,
}

impl Elsewhere {
    /// Gives how many of each were longer than they may be.
    fn print(&mut self, seconds: u64) -> [usize; 2] {
        println!("within {seconds} s:");
        [
            self.helped.print("/capstan help was answered elsewhere", Duration::from_secs(2)),
            self.proposed.print("a release elsewhere was proposed", Duration::from_secs(5)),
        ]
    }

    /// Asks for help and pushes a release; five seconds are between two of these at least.
    fn try_once(&mut self, forge: &Forge, elsewhere: u64, is_well: &mut dyn FnMut(Duration)) {
        let own = forge.bot_login();
        let answers = || {
            let comments = forge.comments(OTHER, elsewhere).unwrap();
            comments.iter().filter(|said| said.author == own).count()
        };
        let release = format!("v22.{}.0", self.helped.each.len() + 1);
        let is_offered = || {
            let pulls = forge.open_pulls(OTHER).unwrap();
            let is_it =
                |head: &str, title: &str| head.starts_with("capstan/upgrade/") && title.ends_with(&release);
            pulls.iter().any(|pull| is_it(&pull.head_branch, &pull.title))
        };
        let before = answers();
        let asked = Instant::now();
        forge.comment(OTHER, elsewhere, "ada", "/capstan help").unwrap();
        forge.commit(OTHER, "main", "ada", "Release", &[sample::release(&release, "v1.22.5")]).unwrap();
        let (mut helped, mut proposed) = (None, None);
        loop {
            if helped.is_none() && answers() > before {
                helped = Some(asked.elapsed());
            }
            if proposed.is_none() && is_offered() {
                proposed = Some(asked.elapsed());
            }
            if let (Some(helped), Some(proposed)) = (helped, proposed)
                && asked.elapsed() > Duration::from_secs(5)
            {
                self.helped.each.push(helped);
                self.proposed.each.push(proposed);
                return;
            }
            is_well(asked.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Sets the flag when it is dropped, also when an assertion fails: the scope waits for the thread that reads it.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// New bombs come for `length`, while a person asks and pushes elsewhere. Prints every minute how that went so far.
fn keep_coming(forge: &Forge, elsewhere: u64, bot: &mut Process, place: &Place, length: Duration) {
    let (begun, is_over) = (Instant::now(), AtomicBool::new(false));
    let mut tries = Elsewhere::default();
    let mut is_well = |waited: Duration| {
        assert!(bot.is_alive() && waited < PATIENCE, "after {waited:?}:\n{}", place.log());
    };
    let barrage = Barrage::begin(forge);
    let pushed = std::thread::scope(|threads| {
        let barrage = threads.spawn(|| barrage.keep_on(&is_over));
        let ends = Ends(&is_over);
        let mut told = Duration::ZERO;
        while begun.elapsed() < length && !barrage.is_finished() {
            tries.try_once(forge, elsewhere, &mut is_well);
            // What the forge remembers of each request is for other tests.
            forge.clear_exchanges();
            if begun.elapsed() >= told + Duration::from_secs(60) {
                told = begun.elapsed();
                tries.print(told.as_secs());
            }
        }
        drop(ends);
        barrage.join().unwrap()
    });
    let judged = pushed.iter().filter(|head| !forge.checks(REPOSITORY, head).unwrap().is_empty());
    let (judged, pushed) = (judged.count(), pushed.len());
    println!("{pushed} bombs were pushed, and {judged} judged");
    let longer = tries.print(begun.elapsed().as_secs());
    assert_eq!(longer, [0, 0], "helped, proposed: longer than they may be");
}

fn open(forge: &Forge, repository: &str, branch: &str, edits: &[Edit]) -> u64 {
    forge.commit(repository, branch, "ada", "A change", edits).unwrap();
    open_from(forge, repository, branch)
}

fn open_from(forge: &Forge, repository: &str, branch: &str) -> u64 {
    let new = NewPull {
        title: branch.to_owned(),
        head: branch.to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    forge.open_pull(repository, "ada", new).unwrap()
}

/// A commit on the default branch of a repository in which a folder is a tree that holds itself: so many folders in each
/// other, and files in the last, so many each time.
async fn holding_itself(
    forge: &Forge,
    repository: &str,
    folder: &str,
    (wide, deep): (usize, usize),
) -> String {
    let parent = forge.resolve(repository, "main").unwrap().unwrap();
    let (client, token) =
        (reqwest::Client::builder().no_proxy().build().unwrap(), forge.token_for("ada").unwrap());
    let post = async |what: &str, body: Value| {
        let url = format!("{}/api/v3/repos/{repository}/git/{what}", forge.url());
        let answer = client.post(url).bearer_auth(&token).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{what}: {}", answer.status());
        answer.json::<Value>().await.unwrap()["sha"].clone()
    };
    let mut entry = json!({"path": "f", "mode": "100644", "type": "blob", "content": "x"});
    for _ in 0..=deep {
        let named = |number: usize| {
            let mut named = entry.clone();
            named["path"] = json!(format!("{}{number:03}", entry["path"].as_str().unwrap()));
            named
        };
        let entries: Vec<Value> = (0..wide).map(named).collect();
        let tree = post("trees", json!({"tree": entries})).await;
        entry = json!({"path": "d", "mode": "040000", "type": "tree", "sha": tree});
    }
    let held = json!([{"path": folder, "mode": "040000", "type": "tree", "sha": entry["sha"]}]);
    let tree = post("trees", json!({"base_tree": parent, "tree": held})).await;
    let commit =
        post("commits", json!({"message": "It holds itself", "tree": tree, "parents": [parent]})).await;
    commit.as_str().unwrap().to_owned()
}

/// Makes [`DEEP`]: three objects that list 640,000 files.
async fn deep(forge: &Forge) -> u64 {
    forge.create_repository(DEEP).unwrap();
    forge.grant(DEEP, "ada", Permission::Write).unwrap();
    let begin = sample::repository("mode: propose\n", &[NEIGHBOUR]);
    forge.commit(DEEP, "main", "ada", "Begin", &begin).unwrap();
    let commit = holding_itself(forge, DEEP, "held", (800, 1)).await;
    forge.push(DEEP, "main", &commit, "ada").unwrap();
    open(forge, DEEP, "mine", &[sample::machine_pool(NEIGHBOUR, "v1.21.4", 3)])
}

/// A pull request with an overlay of nine objects, twelve wide and seven deep, that list 35 million files.
async fn deep_overlay(forge: &Forge) -> u64 {
    let commit = holding_itself(forge, REPOSITORY, &format!("{BAD}/overlay"), (12, 7)).await;
    forge.push(REPOSITORY, "deep", &commit, "ada").unwrap();
    open_from(forge, REPOSITORY, "deep")
}

/// The conclusion of a pull request's check, and all that it says.
fn check_of(forge: &Forge, repository: &str, number: u64) -> Option<(String, String)> {
    let head = forge.pull(repository, number).unwrap().head;
    let checks = forge.checks(repository, &head).unwrap();
    let check = checks.into_iter().filter(|check| check.name == "capstan").max_by_key(|check| check.id)?;
    let said = format!("{} {} {:?}", check.title, check.summary, check.annotations);
    Some((check.conclusion?, said))
}

/// How many upgrades are proposed.
fn proposals(forge: &Forge, repository: &str) -> usize {
    let pulls = forge.pulls(repository).unwrap();
    pulls.iter().filter(|pull| pull.head_branch.starts_with("capstan/upgrade/")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn bombs_end_in_a_check_with_the_reason_and_the_bot_continues() {
    let forge = forge();
    let begin = sample::repository("mode: propose\n", &[BAD, NEIGHBOUR]);
    forge.commit(REPOSITORY, "main", "ada", "Begin", &begin).unwrap();
    let deep = deep(&forge).await;
    let deep_overlay = deep_overlay(&forge).await;
    forge.create_repository(OTHER).unwrap();
    forge.grant(OTHER, "ada", Permission::Write).unwrap();
    let other = sample::repository("mode: propose\n", &["euler/web"]);
    forge.commit(OTHER, "main", "ada", "Begin", &other).unwrap();
    let elsewhere = open(&forge, OTHER, "mine", &[sample::machine_pool("euler/web", "v1.21.4", 3)]);

    let place = Place::new(&forge);
    let mut bot = place.start();
    let bombs = BOMBS.map(|(branch, edits, says)| (open(&forge, REPOSITORY, branch, &edits()), says));
    let harmless = open(&forge, REPOSITORY, "harmless", &[sample::machine_pool(NEIGHBOUR, "v1.21.4", 3)]);
    let asked = Instant::now();
    forge.comment(OTHER, elsewhere, "ada", "/capstan help").unwrap();
    forge.commit(OTHER, "main", "ada", "Release", &[sample::release("v22.0.0", "v1.22.5")]).unwrap();

    let expected = |(repository, number, conclusion, says): &(&str, u64, &str, &str)| {
        let told = check_of(&forge, repository, *number);
        let is_so = |(is, said): &(String, String)| is == conclusion && said.contains(says);
        (!told.as_ref().is_some_and(is_so)).then(|| format!("{repository} #{number}: {told:?}"))
    };
    let mut all = vec![
        (REPOSITORY, harmless, "success", ""),
        (OTHER, elsewhere, "success", ""),
        // The folder that contains itself belongs to no cluster here.
        (DEEP, deep, "success", ""),
        (REPOSITORY, deep_overlay, "failure", "too often to list its files"),
    ];
    all.extend(bombs.map(|(number, says)| (REPOSITORY, number, "failure", says)));
    let (mut is_answered, mut is_deep_judged, mut is_pushed_proposed) = (false, false, false);
    loop {
        assert!(bot.is_alive(), "it ended:\n{}", place.log());
        let own = forge.bot_login();
        if !is_answered && forge.comments(OTHER, elsewhere).unwrap().iter().any(|said| said.author == own) {
            is_answered = true;
            println!("/capstan help was answered after {} ms beside five bombs", asked.elapsed().as_millis());
        }
        if !is_deep_judged && check_of(&forge, DEEP, deep).is_some() {
            is_deep_judged = true;
            println!("the tree that holds itself was judged after {} ms", asked.elapsed().as_millis());
        }
        if !is_pushed_proposed && proposals(&forge, OTHER) == 1 {
            is_pushed_proposed = true;
            println!("a release elsewhere was proposed after {} ms", asked.elapsed().as_millis());
        }
        let missing: Vec<String> = all.iter().filter_map(expected).collect();
        if missing.is_empty() && is_answered && is_pushed_proposed {
            break;
        }
        assert!(
            asked.elapsed() < PATIENCE,
            "answered: {is_answered}\n{}\n{}",
            missing.join("\n"),
            place.log()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("all were judged after {} ms", asked.elapsed().as_millis());
    let seconds = std::env::var("CAPSTAN_BOMB_SECONDS").ok().map(|seconds| seconds.parse().unwrap());
    if let Some(length) = seconds.map(Duration::from_secs) {
        tokio::task::block_in_place(|| keep_coming(&forge, elsewhere, &mut bot, &place, length));
    }

    // The next start does not meet them again, and what comes afterwards is done.
    drop(bot);
    let mut bot = place.start();
    forge.commit(REPOSITORY, "main", "ada", "Release", &[sample::release("v22.0.0", "v1.22.5")]).unwrap();
    let begun = Instant::now();
    while proposals(&forge, REPOSITORY) != 2 {
        assert!(bot.is_alive() && begun.elapsed() < PATIENCE, "{}", place.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(bot);
    place.done();
}
