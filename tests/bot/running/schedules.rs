//! Random schedules: of every ten deliveries one is lost, one comes twice and one comes late, all of them in any order,
//! every fifth call to GitHub fails, some after their work was done, and the clock jumps. Whatever the schedule, a fleet's life ends as it
//! does on a quiet day: the same pull requests with the same heads, bodies, checks and answers, and none of them twice.
//! At no moment is more open, opened or asked for than the settings and GitHub's limits allow, as the forge sees it.
//!
//! `CAPSTAN_SCHEDULES` says how many (`make test` runs a few), `CAPSTAN_SEED` which. People act when they see what they
//! act on; between their acts nothing is waited for. Time is virtual, but for the seconds that GitHub asks for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::HeaderMap;
use capstan_bot::sync::Ports;
use capstan_bot::worker::{perform, resync};
use capstan_budget::RateLimits;
use capstan_forge::{Fault, MergeMethod, PullState, PullView, Strike, Struck};
use capstan_plan::command::CommentId;
use capstan_ports::{JobCause, Jobs};
use capstan_test_support::tally;
use futures_util::StreamExt as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

use super::sample;
use super::town::{REPOSITORY, Town};

/// How many `make test` runs.
const SCHEDULES: u64 = 16;
/// How many run beside one another: most of their time they wait.
const AT_ONCE: usize = 16;
/// The most turns that may pass before people see what they wait for.
const PATIENCE: usize = 400;

const CLUSTERS: [&str; 3] = ["gauss/peu01", "gauss/peu02", "gauss/peu03"];

/// What is opened in a life, and may be: more is one too many.
const SETTINGS: &str =
    "mode: propose\ndashboard: {enabled: true}\nupgrade: {proposals: {open: 3, perHour: 5}}\n";
/// GitHub's limits, so low that work has to wait for them.
const LIMITS: RateLimits = RateLimits { content_a_minute: 10, points_a_minute: 300, ..RateLimits::PUBLISHED };
/// A minute, less what may pass between a grant and the request.
const NEARLY_A_MINUTE: jiff::SignedDuration = jiff::SignedDuration::from_secs(55);

/// A delivery as it came from GitHub.
type Letter = (HeaderMap, Vec<u8>);

/// A proxy between GitHub and the bot that delivers what it received when the schedule says so.
struct PostOffice {
    url: String,
    letters: Arc<Mutex<Vec<Letter>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl PostOffice {
    async fn open() -> Self {
        let letters: Arc<Mutex<Vec<Letter>>> = Arc::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let take = {
            let letters = Arc::clone(&letters);
            async move |headers: HeaderMap, body: axum::body::Bytes| {
                letters.lock().unwrap().push((headers, body.to_vec()));
            }
        };
        let router = axum::Router::new().route("/", axum::routing::post(take));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, letters, serving }
    }
}

impl Drop for PostOffice {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What the schedule does to deliveries and calls.
#[derive(Clone, Copy, PartialEq)]
enum Day {
    Quiet,
    Troubled,
}

/// What GitHub counts of the calls to its API, by the bot's clock, in the order in which they came.
#[derive(Default)]
struct Counts(Vec<(jiff::Timestamp, u32, u32)>);

impl Counts {
    /// As GitHub publishes it: a point for reading, five for writing; a pull request, an issue, a comment, a merge are
    /// content, and checks and statuses are counted so too.
    fn note(&mut self, now: jiff::Timestamp, request: Struck<'_>) {
        let creates = ["/pulls", "/issues", "/comments", "/merge", "/check-runs", "/requested_reviewers"];
        let reads = match request.path {
            path if path.contains(".git/") || path.ends_with("/access_tokens") => return,
            path if path.ends_with("/graphql") => !String::from_utf8_lossy(request.body).contains("mutation"),
            _ => request.method == "GET",
        };
        let is_content = ["POST", "PUT"].contains(&request.method)
            && (creates.iter().any(|end| request.path.ends_with(end)) || request.path.contains("/statuses/"));
        self.0.push((now, if reads { 1 } else { 5 }, u32::from(is_content)));
    }

    /// The most of each in a minute without a change of the clock.
    fn most_in_a_minute(&self) -> (u32, u32) {
        let minutes = (0..self.0.len()).map(|first| {
            let began = self.0[first].0;
            let within = |now: jiff::Timestamp| {
                let passed = now.duration_since(began);
                passed < NEARLY_A_MINUTE && passed > -jiff::SignedDuration::from_secs(1)
            };
            let minute = self.0[first..].iter().take_while(|(now, ..)| within(*now));
            minute.fold((0, 0), |(points, content), (_, more, creates)| (points + more, content + creates))
        });
        minutes.fold((0, 0), |(points, content), (more, creates)| (points.max(more), content.max(creates)))
    }
}

struct Schedule {
    town: Town,
    ports: Ports,
    counts: Arc<Mutex<Counts>>,
    jobs: Arc<dyn Jobs>,
    office: PostOffice,
    client: reqwest::Client,
    random: StdRng,
    day: Day,
    turns: usize,
    told: String,
}

impl Schedule {
    async fn begin(seed: u64, day: Day) -> Self {
        let town = Town::new(SETTINGS, &CLUSTERS).await;
        let (ports, counts) = (town.ports_within(LIMITS), Arc::<Mutex<Counts>>::default());
        let office = PostOffice::open().await;
        town.forge.deliver_to(&office.url);
        let jobs: Arc<dyn Jobs> = Arc::new(town.database().clone());
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut random = StdRng::seed_from_u64(seed);
        let mut calls = StdRng::seed_from_u64(random.next_u64());
        let (clock, seen) = (town.bot_clock(), Arc::clone(&counts));
        town.forge.fail_by(move |request| {
            seen.lock().unwrap().note(clock.now(), request);
            if day == Day::Troubled { fault(&mut calls, request.method, request.path) } else { None }
        });
        let told = format!("CAPSTAN_SEED={seed}");
        Self { town, ports, counts, jobs, office, client, random, day, turns: 0, told }
    }

    /// Some deliveries arrive, what is due is done, and time passes.
    async fn turn(&mut self) {
        self.turns += 1;
        self.deliver().await;
        for _ in 0..20 {
            let Some(job) = self.jobs.claim("test", Duration::from_secs(60), 8).await.unwrap() else { break };
            perform(&self.ports, &self.jobs, &job, Duration::from_secs(600)).await.unwrap();
        }
        self.no_limit_is_broken();
        self.town.pass(self.random.random_range(30..300));
        if self.day == Day::Troubled && self.random.random_bool(0.05) {
            // The clock is set.
            self.town.pass(self.random.random_range(-7_000..7_000));
        }
        if self.turns.is_multiple_of(4) {
            // GitHub may not list repositories just now; the next one comes.
            resync(&self.ports, &self.jobs, JobCause::Resync).await.ok();
        }
        // Where GitHub asked to be left alone, there is nothing to do meanwhile.
        if self.day == Day::Troubled {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Of what the forge saw so far.
    fn no_limit_is_broken(&self) {
        let pulls = self.town.pulls();
        let own: Vec<&PullView> =
            pulls.iter().filter(|pull| pull.head_branch.starts_with("capstan/")).collect();
        let open = own.iter().filter(|pull| pull.state == PullState::Open).count();
        assert!(open <= 3 && own.len() <= 5, "{}: {open} are open of {}", self.told, own.len());
        let (points, content) = self.counts.lock().unwrap().most_in_a_minute();
        assert!(
            points <= LIMITS.points_a_minute && content <= LIMITS.content_a_minute,
            "{}: {points} points and {content} requests that create content in a minute",
            self.told
        );
    }

    async fn deliver(&mut self) {
        assert!(self.town.forge.delivered(Duration::from_secs(60)).await, "{}", self.told);
        let mut letters = std::mem::take(&mut *self.office.letters.lock().unwrap());
        let mut sent = Vec::new();
        if self.day == Day::Troubled {
            letters.shuffle(&mut self.random);
            let mut late = Vec::new();
            for letter in letters {
                match self.random.random_range(0..10) {
                    0 => {}
                    1 => sent.extend([letter.clone(), letter]),
                    2 => late.push(letter),
                    _ => sent.push(letter),
                }
            }
            self.office.letters.lock().unwrap().extend(late);
        } else {
            sent = letters;
        }
        for (headers, body) in sent {
            let url = format!("{}/github/webhook", self.town.bot_url());
            let mut request = self.client.post(url).body(body);
            for (name, value) in &headers {
                if name.as_str().starts_with("x-") || name == "content-type" {
                    request = request.header(name, value);
                }
            }
            match request.send().await {
                Ok(answer) => assert_eq!(answer.status(), 202, "{}", self.told),
                // The bot closed the connection just as the next delivery came: to GitHub that is a failed one, and here one
                // more that is lost.
                Err(error) => println!("{}: a delivery did not arrive: {error}", self.told),
            }
        }
    }

    /// Until people see it.
    async fn until(&mut self, what: &str, seen: impl Fn(&Town) -> bool) {
        for _ in 0..PATIENCE {
            if seen(&self.town) {
                return;
            }
            self.turn().await;
        }
        let dead = self.jobs.dead().await.unwrap();
        let mut seen = describe(&self.town);
        seen.retain(|key, _| !key.ends_with(": files"));
        panic!(
            "{}: never seen: {what}\ndead: {dead:?}\n{seen:#?}\n{:#?}",
            self.told,
            self.town.audit().await
        );
    }

    /// All of a fleet's life, and what it looks like in the end.
    async fn live(mut self) -> BTreeMap<String, String> {
        self.town.release("v22.0.0", "v1.22.0");
        self.until("three proposals", |town| CLUSTERS.iter().all(|one| is_offered(town, one, "v22.0.0")))
            .await;

        let own = [sample::machine_pool(CLUSTERS[1], "v1.21.4", 5)];
        self.town.open("ada", "mine", &own);
        self.until("the check of a person's change", |town| has_check(town, "mine")).await;
        self.say("mine", "/capstan help");
        self.say(&branch(CLUSTERS[0]), "/capstan hold the audit");
        if self.random.random_bool(0.5) {
            self.turn().await;
        }
        // Both are answered and visible before the schedule continues.
        self.until("that it holds", |town| body_begins(town, &branch(CLUSTERS[0]), "> On hold by `ada`"))
            .await;
        self.until("help", |town| !town.answers(number(town, "mine").unwrap()).is_empty()).await;

        self.merge(&branch(CLUSTERS[1]));
        if self.random.random_bool(0.5) {
            self.turn().await;
        }
        self.town.release("v22.1.0", "v1.22.1");
        self.until("the newer one", |town| is_offered(town, CLUSTERS[2], "v22.1.0")).await;
        self.until("one for who was merged", |town| is_offered(town, CLUSTERS[1], "v22.1.0")).await;
        let closed = number(&self.town, &branch(CLUSTERS[2])).unwrap();
        self.town.forge.close(REPOSITORY, closed, "ada").unwrap();
        self.say(&branch(CLUSTERS[0]), "/capstan unhold");
        self.until("the newer one for who held", |town| is_offered(town, CLUSTERS[0], "v22.1.0")).await;
        self.town.release("v22.2.0", "v1.22.2");
        self.until("the newest", |town| CLUSTERS.iter().all(|one| is_offered(town, one, "v22.2.0"))).await;
        self.end().await
    }

    /// The trouble is over; whatever came late comes now.
    async fn end(mut self) -> BTreeMap<String, String> {
        self.town.forge.clear_faults();
        self.day = Day::Quiet;
        // Longer than GitHub was promised to be left alone.
        tokio::time::sleep(tally::wait(Duration::from_millis(1100))).await;
        for _ in 0..8 {
            self.town.pass(3600);
            self.turn().await;
        }
        let dead = self.jobs.dead().await.unwrap();
        assert!(dead.is_empty(), "{}: {dead:?}", self.told);
        let seen = describe(&self.town);
        let before = self.town.forge.write_calls();
        self.town.pass(3600);
        resync(&self.ports, &self.jobs, JobCause::Resync).await.unwrap();
        self.turn().await;
        assert_eq!(self.town.forge.write_calls(), before, "{}: nothing is left to write", self.told);
        drop(self.office);
        self.town.done();
        seen
    }

    fn say(&self, branch: &str, words: &str) {
        let number = number(&self.town, branch).unwrap();
        self.town.forge.comment(REPOSITORY, number, "ada", words).unwrap();
    }

    fn merge(&self, branch: &str) {
        let number = number(&self.town, branch).unwrap();
        self.town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap();
    }
}

/// What becomes of a call: every fifth fails.
fn fault(random: &mut StdRng, method: &str, path: &str) -> Option<(Strike, Fault)> {
    if !random.random_bool(0.2) {
        return None;
    }
    let limit = Duration::from_secs(1).as_secs();
    // Another process was quicker, or an earlier try succeeded without an answer: the object exists.
    let race = match (method, path.rsplit('/').next()) {
        ("POST", Some("refs")) => Some("Reference already exists"),
        ("POST", Some("pulls")) => Some("A pull request already exists for acme:the-branch."),
        _ => None,
    };
    Some(match random.random_range(0..40) {
        0 => (Strike::Before, Fault::SecondaryLimit { retry_after_seconds: limit }),
        1 => (Strike::Before, Fault::TooManyRequests { retry_after_seconds: limit }),
        2..14 if let Some(message) = race => (Strike::After, Fault::Unprocessable(message.to_owned())),
        14..22 => (Strike::After, Fault::Drop),
        22..28 => (Strike::After, Fault::Status(502)),
        28..31 => (Strike::Before, Fault::Drop),
        _ => (Strike::Before, Fault::Status([500, 502, 503, 504][random.random_range(0..4)])),
    })
}

fn branch(cluster: &str) -> String {
    format!("capstan/upgrade/{cluster}")
}

/// The newest open pull request of a branch.
fn number(town: &Town, branch: &str) -> Option<u64> {
    town.open_pulls().into_iter().rfind(|pull| pull.head_branch == branch).map(|pull| pull.number)
}

fn has_check(town: &Town, branch: &str) -> bool {
    number(town, branch)
        .and_then(|number| town.check_named("capstan", number))
        .is_some_and(|check| check.conclusion.as_deref() == Some("success"))
}

fn is_offered(town: &Town, cluster: &str, release: &str) -> bool {
    let branch = branch(cluster);
    let titled = number(town, &branch)
        .is_some_and(|number| town.pull(number).title.ends_with(&format!("aws/{release}")));
    titled && has_check(town, &branch)
}

fn body_begins(town: &Town, branch: &str, with: &str) -> bool {
    number(town, branch).is_some_and(|number| town.pull(number).body.starts_with(with))
}

/// Everything that people see, by where they see it, without what no two days share: numbers, commits and times.
fn describe(town: &Town) -> BTreeMap<String, String> {
    let mut pulls = town.pulls();
    pulls.sort_by_key(|pull| pull.number);
    let mut seen = BTreeMap::new();
    let mut places = BTreeMap::new();
    for pull in &pulls {
        let nth = 1 + places
            .values()
            .filter(|place: &&String| place.starts_with(&format!("{}/", pull.head_branch)))
            .count();
        places.insert(pull.number, format!("{}/{nth}", pull.head_branch));
    }
    for issue in town.forge.issues(REPOSITORY).unwrap() {
        places.entry(issue.number).or_insert_with(|| format!("issue {}", issue.title));
    }
    let plain = |text: &str| without_the_day(text, &places);
    for pull in &pulls {
        let place = &places[&pull.number];
        let state = format!("{:?} {} {}", pull.state, pull.draft, pull.title);
        seen.insert(format!("{place}: state"), state);
        seen.insert(format!("{place}: body"), plain(&pull.body));
        // What was merged or closed keeps its head, whatever becomes of the branch.
        let files = town.forge.files(REPOSITORY, &pull.head).unwrap();
        let files: Vec<String> = files
            .iter()
            .map(|(path, text)| format!("=== {path}\n{}", String::from_utf8_lossy(text)))
            .collect();
        seen.insert(format!("{place}: files"), files.join(""));
        for check in town.forge.checks(REPOSITORY, &pull.head).unwrap() {
            let told = format!("{:?} {}\n{}", check.conclusion, check.title, plain(&check.summary));
            // Two of one name on one commit are one too many.
            let key = format!("{place}: check {}", check.name);
            let known = seen.insert(key.clone(), told);
            assert!(known.is_none(), "{key} twice:\n{known:?}\n{:?}", seen[&key]);
        }
        let mut answers = town.answers(pull.number);
        // Capstan reads a command again if the reaction to it was lost. The second run has nothing to do, and says so.
        answers.retain(|answer| !answer.contains("It is not on hold."));
        seen.insert(format!("{place}: answers"), plain(&answers.join("\n---\n")));
        for comment in town.forge.comments(REPOSITORY, pull.number).unwrap() {
            if comment.author == town.forge.bot_login() {
                continue;
            }
            // Every command gets a verdict or an answer.
            let own: Vec<&str> = comment
                .reactions
                .iter()
                .filter(|(by, _)| *by == town.forge.bot_login())
                .map(|(_, what)| what.as_str())
                .collect();
            let has_verdict = own.contains(&"+1") || own.contains(&"confused");
            let is_answered = town.answers(pull.number).iter().any(|answer| {
                capstan_report::answered_comment(answer) == Some(CommentId::Comment(comment.id))
            });
            let heard = has_verdict || is_answered;
            let first = comment.body.lines().next().unwrap_or_default();
            seen.insert(format!("{place}: `{}` is told of", plain(first)), heard.to_string());
        }
        seen.insert(format!("{place}: statuses"), statuses(town, &pull.head));
    }
    for issue in town.forge.issues(REPOSITORY).unwrap() {
        let text = format!("{} {}", issue.open, plain(&issue.body));
        let known = seen.insert(format!("issue {}", issue.title), text);
        assert!(known.is_none(), "two issues `{}`", issue.title);
    }
    let open = pulls.iter().filter(|pull| pull.state == PullState::Open).count();
    seen.insert("open".to_owned(), open.to_string());
    seen.insert("main: statuses".to_owned(), statuses(town, "main"));
    seen
}

fn statuses(town: &Town, revision: &str) -> String {
    let commit = town.forge.resolve(REPOSITORY, revision).unwrap().unwrap();
    let all = town.forge.statuses(REPOSITORY, &commit).unwrap();
    let mut all: Vec<String> =
        all.iter().map(|one| format!("{} {} {}", one.context, one.state, one.description)).collect();
    all.sort();
    all.dedup();
    all.join("\n")
}

/// Numbers become places; commits, times and addresses are left out, and so is Capstan's sealed record.
fn without_the_day(text: &str, places: &BTreeMap<u64, String>) -> String {
    let text = match text.split_once("<details><summary>Capstan's record") {
        Some((before, _)) => before,
        None => text.split_once("<!-- capstan").map_or(text, |(before, _)| before),
    };
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if length == 0 {
            plain.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(length);
        let is_number = word.chars().all(|c| c.is_ascii_digit());
        let is_hex = word.len() >= 7 && word.chars().all(|c| c.is_ascii_hexdigit());
        let of_place = plain.ends_with('#') || plain.ends_with("/pull/") || plain.ends_with("/issues/");
        match word.parse::<u64>().ok().filter(|_| of_place).and_then(|number| places.get(&number)) {
            Some(place) => plain.push_str(place),
            None if is_hex => plain.push_str("<commit>"),
            // A port, a year, an hour.
            None if is_number && (plain.ends_with("127.0.0.1:") || is_of_time(&plain, word, after)) => {
                plain.push_str("<n>");
            }
            None => plain.push_str(word),
        }
        rest = after;
    }
    plain
}

/// Whether a number is part of `2026-11-25 02:13 UTC` or `2026-11-25T02:13:04Z`.
fn is_of_time(before: &str, word: &str, after: &str) -> bool {
    let is_date = word.len() == 4 && word.starts_with("20") && after.starts_with('-');
    is_date
        || before.ends_with("<n>-")
        || before.ends_with("<n>:")
        || (word.len() == 2 && after.starts_with(':'))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_schedule_the_end_is_that_of_a_quiet_day() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let schedules = number("CAPSTAN_SCHEDULES").unwrap_or(SCHEDULES);
    let first = number("CAPSTAN_SEED").unwrap_or_else(|| u64::from(rand::rng().next_u32()));
    println!("CAPSTAN_SEED={first} CAPSTAN_SCHEDULES={schedules}");
    let quiet = Schedule::begin(first, Day::Quiet).await.live().await;
    let runs = futures_util::stream::iter(first..first + schedules).map(|seed| {
        let run = tokio::spawn(async move { Schedule::begin(seed, Day::Troubled).await.live().await });
        async move { (seed, run.await) }
    });
    let mut ended = runs.buffer_unordered(AT_ONCE);
    let mut wrong = Vec::new();
    while let Some((seed, seen)) = ended.next().await {
        match seen {
            Ok(seen) => wrong.extend(differences(&quiet, &seen).map(|text| format!("seed {seed}: {text}"))),
            Err(error) => wrong.push(format!("seed {seed}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// What one shows and the other does not, with the first line that differs.
fn differences(
    quiet: &BTreeMap<String, String>,
    seen: &BTreeMap<String, String>,
) -> impl Iterator<Item = String> {
    let keys: std::collections::BTreeSet<&String> = quiet.keys().chain(seen.keys()).collect();
    let differ = keys.into_iter().filter(|key| quiet.get(*key) != seen.get(*key));
    let told = differ.map(|key| {
        let (Some(before), Some(after)) = (quiet.get(key), seen.get(key)) else {
            let only = if quiet.contains_key(key) { "on the quiet day" } else { "here" };
            return format!("{key} is only {only}");
        };
        let mut lines = before.lines().zip(after.lines());
        let first = lines.find(|(before, after)| before != after);
        format!("{key}: {:?}", first.unwrap_or((before, after)))
    });
    told.collect::<Vec<_>>().into_iter()
}
