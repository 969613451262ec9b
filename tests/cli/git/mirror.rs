//! Mirrors over HTTP: what travels, what survives, and what is never on disk.

use std::fs;
use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use capstan_fleet::planner::process::StoredTrees as _;
use capstan_git::{MirrorLimits, Mirrors, OpenedTrees};
use capstan_model::tree::{CommitId, RepoPath, TreeId};
use capstan_ports::{CommitTrailers, Mirror, MirrorError, Repository, RepositoryName, Snapshot};
use capstan_test_support::tally;
use secrecy::SecretString;
use tempfile::TempDir;

use super::http_server::{GitServer, TOKEN};
use capstan_test_parts::repository::{TestRepository, git};

/// A repository of 40 clusters on a server, and a state directory for mirrors of it.
struct Fixture {
    work: TestRepository,
    remotes: TempDir,
    state: TempDir,
    server: GitServer,
    repository: Repository,
}

impl Fixture {
    async fn new() -> Self {
        let work = TestRepository::new();
        for cluster in 0..40 {
            let text = format!("kind: Cluster\nmetadata:\n  name: peu{cluster:02}\n");
            work.write(&format!("gauss/peu{cluster:02}/base/cluster.yaml"), &text);
        }
        work.commit_all("Forty clusters");
        let remotes = tempfile::tempdir().unwrap();
        git(remotes.path(), &["init", "-q", "--bare", "fleet.git"]);
        work.git(&["remote", "add", "origin", remotes.path().join("fleet.git").to_str().unwrap()]);
        work.git(&["push", "-q", "origin", "main"]);
        let server = GitServer::start(remotes.path()).await;
        let repository = Repository {
            id: 4711,
            installation: 1,
            name: RepositoryName::parse("acme/fleet").unwrap(),
            default_branch: "main".to_owned(),
            archived: false,
            fork: false,
            node_id: "R_4711".to_owned(),
            clone_url: server.url("fleet.git"),
            html_url: server.url("fleet"),
        };
        Self { work, remotes, state: tempfile::tempdir().unwrap(), server, repository }
    }

    fn mirrors(&self) -> Mirrors {
        Mirrors::open(self.state.path(), MirrorLimits::default()).unwrap()
    }

    /// The mirror's folder on disk.
    fn folder(&self) -> PathBuf {
        self.state.path().join("mirrors/4711.git")
    }

    fn push(&self, message: &str) -> CommitId {
        let commit = self.work.commit_all(message);
        self.work.git(&["push", "-q", "--force", "origin", "main"]);
        CommitId::parse(&commit).unwrap()
    }

    fn head(&self) -> CommitId {
        CommitId::parse(&self.work.git(&["rev-parse", "HEAD"])).unwrap()
    }

    async fn snapshot(&self, mirrors: &Mirrors, commit: &CommitId) -> Result<Snapshot, MirrorError> {
        mirrors.snapshot(&self.repository, &SecretString::from(TOKEN), commit).await
    }

    /// Objects in all packs of the mirror.
    fn objects(&self) -> u32 {
        let counted = git(&self.folder(), &["count-objects", "-v"]);
        counted.lines().find_map(|line| line.strip_prefix("in-pack: ")).unwrap().parse().unwrap()
    }

    /// Everything on disk below the state directory that holds a text.
    fn files_holding(&self, text: &str) -> Vec<PathBuf> {
        fn collect(folder: &Path, text: &[u8], found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    collect(&path, text, found);
                } else if fs::read(&path).unwrap().windows(text.len()).any(|window| window == text) {
                    found.push(path);
                }
            }
        }
        let mut found = Vec::new();
        collect(self.state.path(), text.as_bytes(), &mut found);
        found
    }
}

fn read(snapshot: &Snapshot, path: &str) -> String {
    let entry = snapshot.tree.entry(&RepoPath::parse(path).unwrap()).unwrap();
    String::from_utf8(snapshot.tree.read(entry).unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_commit_is_fetched_alone_and_read_whole() {
    let fixture = Fixture::new().await;
    let parent = fixture.head();
    fixture.work.write("gauss/peu00/base/cluster.yaml", "kind: Cluster # two\n");
    let commit = fixture.push(
        "Upgrade gauss/peu00\n\nTo the newest release.\n\nCapstan-Source: aws/v22.0.0@9d1f\nCapstan-Plan: 77aa\n",
    );
    let snapshot = fixture.snapshot(&fixture.mirrors(), &commit).await.unwrap();
    assert_eq!(snapshot.commit, commit);
    assert_eq!(snapshot.root.as_str(), fixture.work.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(snapshot.parents, [parent]);
    assert_eq!(
        snapshot.trailers,
        CommitTrailers {
            source: Some("aws/v22.0.0@9d1f".to_owned()),
            plan: Some("77aa".to_owned()),
            seal: None
        }
    );
    assert_eq!(snapshot.tree.entries().len(), 40);
    assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), "kind: Cluster # two\n");
    assert_eq!(
        fixture.server.take_requests(),
        ["GET /fleet.git/info/refs", "POST /fleet.git/git-upload-pack"],
        "no references are listed"
    );
    // One commit, the root, gauss, 40 clusters, 40 bases, 40 files; nothing of the parent.
    assert_eq!(fixture.objects(), 1 + 1 + 1 + 40 + 40 + 40);
}

#[tokio::test]
async fn a_moved_branch_brings_only_what_is_new() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    fixture.snapshot(&mirrors, &fixture.head()).await.unwrap();
    let before = fixture.objects();
    fixture.server.take_requests();

    fixture.work.write("gauss/peu00/base/cluster.yaml", "kind: Cluster # two\n");
    let second = fixture.push("Second");
    let snapshot = fixture.snapshot(&mirrors, &second).await.unwrap();
    assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), "kind: Cluster # two\n");
    assert_eq!(read(&snapshot, "gauss/peu39/base/cluster.yaml"), "kind: Cluster\nmetadata:\n  name: peu39\n");
    // Commit, root, gauss, peu00, base, the file; up to as many again as bases that complete a thin pack.
    let added = fixture.objects() - before;
    assert!((6..=12).contains(&added), "{added} objects");
    assert_eq!(fixture.server.take_requests().len(), 2);

    // A force push to a commit without common history past the first one.
    fixture.work.git(&["checkout", "-q", "--orphan", "other"]);
    fixture.work.git(&["branch", "-q", "-D", "main"]);
    fixture.work.git(&["branch", "-q", "-m", "main"]);
    fixture.work.write("gauss/peu01/base/cluster.yaml", "kind: Cluster # forced\n");
    let forced = fixture.push("Forced");
    let snapshot = fixture.snapshot(&mirrors, &forced).await.unwrap();
    assert_eq!(snapshot.parents, []);
    assert_eq!(read(&snapshot, "gauss/peu01/base/cluster.yaml"), "kind: Cluster # forced\n");

    // What was fetched once is read without a request, by another process too.
    fixture.server.take_requests();
    for mirrors in [mirrors, fixture.mirrors()] {
        let snapshot = fixture.snapshot(&mirrors, &second).await.unwrap();
        assert_eq!(
            read(&snapshot, "gauss/peu01/base/cluster.yaml"),
            "kind: Cluster\nmetadata:\n  name: peu01\n"
        );
    }
    assert_eq!(fixture.server.take_requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_mirror_stays_whole_for_git_itself() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    for round in 0..5 {
        fixture.work.write(&format!("gauss/peu{round:02}/base/cluster.yaml"), &format!("round: {round}\n"));
        fixture.snapshot(&mirrors, &fixture.push("Round")).await.unwrap();
    }
    let checked =
        tally::command("git").current_dir(fixture.folder()).args(["fsck", "--strict"]).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert_eq!(git(&fixture.folder(), &["for-each-ref", "refs/capstan"]).lines().count(), 5);
}

#[tokio::test]
async fn the_token_is_never_on_disk_nor_in_an_error() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    fixture.snapshot(&mirrors, &fixture.head()).await.unwrap();
    let encoded = "eC1hY2Nlc3MtdG9rZW46Z2hzXzAwMDBTZWNyZXRPZlRoZVRlc3QwMDAw";
    let absent = CommitId::parse("9d1f000000000000000000000000000000000000").unwrap();
    fixture.snapshot(&mirrors, &absent).await.err().unwrap();
    for secret in [TOKEN, encoded] {
        assert_eq!(fixture.files_holding(secret), Vec::<PathBuf>::new());
    }
    assert!(!fixture.files_holding("refs/heads").is_empty(), "the search itself works");

    let other = CommitId::parse("1111000000000000000000000000000000000000").unwrap();
    for status in [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        fixture.server.control.lock().unwrap().fail_with = Some(status);
        let error = fixture.snapshot(&mirrors, &other).await.err().unwrap();
        assert!(matches!(error, MirrorError::Fetch { .. }), "{error:?}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(TOKEN) && !shown.contains(encoded), "{shown}");
    }
}

#[tokio::test]
async fn the_token_goes_to_no_other_server() {
    let fixture = Fixture::new().await;
    let elsewhere = GitServer::start(fixture.remotes.path()).await;
    fixture.server.control.lock().unwrap().redirect_to = Some(format!("http://{}", elsewhere.address));
    let error = fixture.snapshot(&fixture.mirrors(), &fixture.head()).await.err().unwrap();
    assert!(matches!(error, MirrorError::Fetch { .. }), "{error}");
    assert_eq!(elsewhere.take_requests(), Vec::<String>::new());
}

#[tokio::test]
async fn failures_to_fetch_are_distinguished() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    let absent = CommitId::parse("9d1f000000000000000000000000000000000000").unwrap();
    let error = fixture.snapshot(&mirrors, &absent).await.err().unwrap();
    assert!(matches!(&error, MirrorError::NoSuchCommit { commit, .. } if *commit == absent), "{error}");

    let wrong = SecretString::from("ghs_wrong");
    let error = mirrors.snapshot(&fixture.repository, &wrong, &fixture.head()).await.err().unwrap();
    assert!(matches!(&error, MirrorError::Fetch { reason, .. } if reason.contains("token")), "{error}");

    for (url, reason) in [
        ("http://example.com/fleet.git", "only https"),
        ("file:///tmp/fleet.git", "only https"),
        ("https://x-access-token:secret@example.com/fleet.git", "must not carry credentials"),
    ] {
        let repository = Repository { clone_url: url.to_owned(), id: 1, ..fixture.repository.clone() };
        let error = mirrors.snapshot(&repository, &wrong, &fixture.head()).await.err().unwrap().to_string();
        assert!(error.contains(reason) && !error.contains("secret@"), "{error}");
    }
}

#[tokio::test]
async fn a_transfer_that_breaks_off_is_made_good() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    let first = fixture.head();
    // In a mirror that does not exist yet, nothing is left behind.
    fixture.server.control.lock().unwrap().cut_next_pack_after = Some(700);
    let error = fixture.snapshot(&mirrors, &first).await.err().unwrap();
    assert!(matches!(error, MirrorError::Fetch { .. }), "{error}");
    assert!(!fixture.folder().exists());
    fixture.snapshot(&mirrors, &first).await.unwrap();
    // In one that exists it is tried again from the beginning at once.
    fixture.work.write("gauss/peu00/base/cluster.yaml", "kind: Cluster # two\n");
    let second = fixture.push("Second");
    fixture.server.control.lock().unwrap().cut_next_pack_after = Some(100);
    let snapshot = fixture.snapshot(&mirrors, &second).await.unwrap();
    assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), "kind: Cluster # two\n");
}

#[tokio::test]
async fn leftovers_of_a_killed_fetch_do_no_harm() {
    let fixture = Fixture::new().await;
    fixture.snapshot(&fixture.mirrors(), &fixture.head()).await.unwrap();
    for (file, content) in [
        ("shallow.lock", ""),
        ("packed-refs.lock", ""),
        ("refs/capstan/9d1f000000000000000000000000000000000000.lock", ""),
        ("objects/pack/.tmpAbCdEf", "half a pack"),
        ("objects/pack/pack-9d1f000000000000000000000000000000000000.pack", "a pack without an index"),
    ] {
        fs::write(fixture.folder().join(file), content).unwrap();
    }
    fs::create_dir_all(fixture.state.path().join("mirrors/4711.git.new/objects")).unwrap();
    fixture.work.write("gauss/peu00/base/cluster.yaml", "kind: Cluster # two\n");
    let second = fixture.push("Second");
    let snapshot = fixture.snapshot(&fixture.mirrors(), &second).await.unwrap();
    assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), "kind: Cluster # two\n");
    assert_eq!(fixture.server.take_requests().len(), 4, "two fetches, none from scratch");
    assert!(!fixture.folder().join("shallow.lock").exists());
}

/// A fetch that was killed after its pack arrived and before its reference was made.
#[tokio::test]
async fn a_commit_without_its_reference_is_fetched_again() {
    let fixture = Fixture::new().await;
    let commit = fixture.head();
    fixture.snapshot(&fixture.mirrors(), &commit).await.unwrap();
    fs::remove_file(fixture.folder().join(format!("refs/capstan/{commit}"))).unwrap();
    let snapshot = fixture.snapshot(&fixture.mirrors(), &commit).await.unwrap();
    assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), "kind: Cluster\nmetadata:\n  name: peu00\n");
}

#[tokio::test]
async fn a_damaged_mirror_is_recreated() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("no HEAD", |mirror| fs::remove_file(mirror.join("HEAD")).unwrap()),
        ("configuration that cannot be read", |mirror| {
            fs::write(mirror.join("config"), "[core\nbare").unwrap()
        }),
        ("packs gone", |mirror| {
            fs::remove_dir_all(mirror.join("objects/pack")).unwrap();
            fs::create_dir(mirror.join("objects/pack")).unwrap();
        }),
        ("a pack overwritten in the middle", |mirror| {
            for entry in fs::read_dir(mirror.join("objects/pack")).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|kind| kind == "pack") {
                    let mut bytes = fs::read(&path).unwrap();
                    let length = bytes.len();
                    bytes[12..length - 20].fill(0x55);
                    fs::remove_file(&path).unwrap();
                    fs::write(&path, bytes).unwrap();
                }
            }
        }),
    ];
    for (name, damage) in damages {
        let fixture = Fixture::new().await;
        let commit = fixture.head();
        fixture.snapshot(&fixture.mirrors(), &commit).await.unwrap();
        damage(&fixture.folder());
        let snapshot = fixture.snapshot(&fixture.mirrors(), &commit).await.unwrap();
        assert_eq!(
            read(&snapshot, "gauss/peu00/base/cluster.yaml"),
            "kind: Cluster\nmetadata:\n  name: peu00\n",
            "{name}"
        );
        git(&fixture.folder(), &["fsck", "--strict"]);
    }
}

#[tokio::test]
async fn a_mirror_takes_more_fetches_than_an_open_database_has_room_for() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    // As a planning process opens them, which stays while the bot fetches.
    let mut elsewhere = OpenedTrees::default();
    let mut first = None;
    for round in 0..50 {
        fixture.work.write("gauss/peu00/base/cluster.yaml", &format!("round: {round}\n"));
        let snapshot = fixture.snapshot(&mirrors, &fixture.push("Round")).await.unwrap();
        assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), format!("round: {round}\n"));
        let tree = elsewhere.open(&snapshot.tree.stored().unwrap()).unwrap();
        assert_eq!(tree.root().unwrap().id(), &snapshot.root, "round {round}");
        first.get_or_insert(snapshot);
    }
    assert!(!elsewhere.take_damage());
    // A recreated mirror would have the newest pack alone.
    assert_eq!(fs::read_dir(fixture.folder().join("objects/pack")).unwrap().count() / 2, 50);
    assert_eq!(read(first.as_ref().unwrap(), "gauss/peu00/base/cluster.yaml"), "round: 0\n");
}

#[tokio::test]
async fn commits_that_are_wanted_together_travel_together_and_one_that_is_unknown_keeps_none_away() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    let token = SecretString::from(TOKEN);
    let posts =
        || fixture.server.take_requests().iter().filter(|request| request.starts_with("POST ")).count();
    fixture.snapshot(&mirrors, &fixture.head()).await.unwrap();
    let mut commits = Vec::new();
    for round in 0..3 {
        fixture.work.write("gauss/peu00/base/cluster.yaml", &format!("round: {round}\n"));
        commits.push(fixture.push("Round"));
    }
    posts();
    mirrors.bring(&fixture.repository, &token, &commits).await;
    assert_eq!(posts(), 1);
    for (round, commit) in commits.iter().enumerate() {
        let snapshot = fixture.snapshot(&mirrors, commit).await.unwrap();
        assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), format!("round: {round}\n"));
    }
    mirrors.bring(&fixture.repository, &token, &commits).await;
    assert_eq!(posts(), 0, "all of them are here");

    fixture.work.write("gauss/peu00/base/cluster.yaml", "round: 3\n");
    let known = fixture.push("Round");
    let unknown = CommitId::parse("9d1f000000000000000000000000000000000000").unwrap();
    mirrors.bring(&fixture.repository, &token, &[unknown.clone(), known.clone()]).await;
    let snapshot = fixture.snapshot(&mirrors, &known).await.unwrap();
    assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), "round: 3\n");
    assert!(matches!(fixture.snapshot(&mirrors, &unknown).await, Err(MirrorError::NoSuchCommit { .. })));
}

#[tokio::test]
async fn small_packs_are_put_together_beside_the_work_and_nothing_is_fetched_again() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    // As a planning process opens them, which stays while packs go.
    let mut elsewhere = OpenedTrees::default();
    let packs = || fs::read_dir(fixture.folder().join("objects/pack")).unwrap().count() / 2;
    let packs_sent = || {
        let requests = fixture.server.take_requests();
        requests.iter().filter(|request| request.starts_with("POST ")).count()
    };
    let mut most = 0;
    let mut commits = Vec::new();
    for round in 0..120 {
        fixture.work.write("gauss/peu00/base/cluster.yaml", &format!("round: {round}\n"));
        let commit = fixture.push("Round");
        fixture.server.take_requests();
        let snapshot = fixture.snapshot(&mirrors, &commit).await.unwrap();
        assert_eq!(packs_sent(), 1, "round {round}");
        assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), format!("round: {round}\n"));
        assert_eq!(
            read(&snapshot, "gauss/peu39/base/cluster.yaml"),
            "kind: Cluster\nmetadata:\n  name: peu39\n"
        );
        let tree = elsewhere.open(&snapshot.tree.stored().unwrap()).unwrap();
        assert_eq!(tree.root().unwrap().id(), &snapshot.root, "round {round}");
        let entry = tree.entry(&RepoPath::parse("gauss/peu20/base/cluster.yaml").unwrap()).unwrap();
        assert!(tree.read(entry).is_ok(), "round {round}");
        most = most.max(packs());
        commits.push(commit);
    }
    assert!(!elsewhere.take_damage());
    // Without a moment of rest in between.
    assert!(most <= 65, "{most} packs");
    let began = std::time::Instant::now();
    while packs() > 16 {
        assert!(began.elapsed().as_secs() < 30, "{} packs at rest", packs());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    git(&fixture.folder(), &["fsck", "--strict"]);
    // Nothing was lost on the way: the trees and files of all rounds are there, though old commits are known no more.
    assert!(fixture.objects() >= 120 * 5, "{}", fixture.objects());
    let known = fs::read_dir(fixture.folder().join("refs/capstan")).unwrap().count();
    assert!((64..=64 + 65).contains(&known), "{known}");
    for commit in &commits[119 - 60..] {
        fixture.snapshot(&mirrors, commit).await.unwrap();
    }
    assert_eq!(packs_sent(), 0);
    let first = fixture.snapshot(&mirrors, &commits[0]).await.unwrap();
    assert_eq!(read(&first, "gauss/peu00/base/cluster.yaml"), "round: 0\n");
}

#[tokio::test]
async fn a_mirror_of_too_many_packs_is_recreated_when_nobody_reads_it() {
    let fixture = Fixture::new().await;
    let limits = MirrorLimits { packs: 2, ..MirrorLimits::default() };
    let mirrors = Mirrors::open(fixture.state.path(), limits).unwrap();
    let mut held = None;
    for round in 0..5 {
        fixture.work.write("gauss/peu00/base/cluster.yaml", &format!("round: {round}\n"));
        let snapshot = fixture.snapshot(&mirrors, &fixture.push("Round")).await.unwrap();
        held.get_or_insert(snapshot);
    }
    let packs = || fs::read_dir(fixture.folder().join("objects/pack")).unwrap().count() / 2;
    assert_eq!(packs(), 5, "a snapshot is in use");
    assert_eq!(read(held.as_ref().unwrap(), "gauss/peu00/base/cluster.yaml"), "round: 0\n");
    drop(held);
    fixture.work.write("gauss/peu00/base/cluster.yaml", "round: 5\n");
    let snapshot = fixture.snapshot(&mirrors, &fixture.push("Round")).await.unwrap();
    assert_eq!(packs(), 1);
    assert_eq!(read(&snapshot, "gauss/peu00/base/cluster.yaml"), "round: 5\n");
}

#[tokio::test]
async fn a_mirror_that_grows_beyond_its_bound_is_recreated() {
    let fixture = Fixture::new().await;
    let commits: Vec<CommitId> = (0..4)
        .map(|round| {
            fixture.work.write("gauss/peu00/base/cluster.yaml", &format!("round: {round}\n"));
            fixture.push("Round")
        })
        .collect();
    let packs = || -> Vec<u64> {
        let files = fs::read_dir(fixture.folder().join("objects/pack")).unwrap().map(Result::unwrap);
        let packs = files.filter(|file| file.path().extension().is_some_and(|kind| kind == "pack"));
        packs.map(|pack| pack.metadata().unwrap().len()).collect()
    };
    for commit in &commits[..2] {
        fixture.snapshot(&fixture.mirrors(), commit).await.unwrap();
    }
    // Each is fetched into what there is, or into a mirror of its own.
    for (commit, less, left) in [(&commits[2], 0, 3), (&commits[3], 1, 1)] {
        let mirror_bytes = packs().iter().sum::<u64>() - less;
        let limits = MirrorLimits { mirror_bytes, ..MirrorLimits::default() };
        let mirrors = Mirrors::open(fixture.state.path(), limits).unwrap();
        fixture.snapshot(&mirrors, commit).await.unwrap();
        assert_eq!(packs().len(), left, "{mirror_bytes} bytes");
    }
}

#[tokio::test]
async fn a_fetch_has_limits() {
    let fixture = Fixture::new().await;
    let noise: String =
        (0..400_000_u32).map(|n| format!("{:08x}\n", n.wrapping_mul(2_654_435_761))).collect();
    fixture.work.write("noise.txt", &noise);
    let commit = fixture.push("Much");
    fixture.server.control.lock().unwrap().trickle = true;
    let unlimited = MirrorLimits::default();
    for (limits, expected) in [
        (
            MirrorLimits { fetch_timeout: std::time::Duration::ZERO, ..unlimited.clone() },
            "the fetch took longer than 0 s",
        ),
        (MirrorLimits { fetch_bytes: 10_000, ..unlimited }, "the fetch brought more than 10000 bytes"),
    ] {
        let mirrors = Mirrors::open(fixture.state.path(), limits).unwrap();
        match fixture.snapshot(&mirrors, &commit).await.err().unwrap() {
            MirrorError::Fetch { reason, .. } => assert_eq!(reason, expected),
            error => panic!("{error}"),
        }
        assert!(!fixture.folder().exists());
    }
}

/// What one folder, one path and one file may have: each at its bound and beyond.
#[tokio::test]
async fn a_commit_is_read_at_each_bound_and_refused_beyond() {
    let fixture = Fixture::new().await;
    let work = &fixture.work;
    work.git(&["rm", "-rq", "."]);
    let blob = |file: &str, bytes: usize| {
        work.write(file, &"x".repeat(bytes));
        work.git(&["hash-object", "-w", file])
    };
    let (at, beyond) = (blob("at", 4_194_304), blob("beyond", 4_194_305));
    // So many folders above the file.
    let deep = |folders: usize| format!("{}f.yaml", "d/".repeat(folders));
    let commit = async |entries: &[(&str, &str)]| {
        work.git(&["read-tree", "--empty"]);
        for (blob, path) in entries {
            work.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")]);
        }
        let tree = work.git(&["write-tree"]);
        let commit = work.git(&["commit-tree", "-m", "Bounds", &tree]);
        work.git(&["push", "-q", "--force", "origin", &format!("{commit}:refs/heads/main")]);
        let commit = CommitId::parse(&commit).unwrap();
        fixture.snapshot(&fixture.mirrors(), &commit).await
    };
    let snapshot = commit(&[(&at, "at.yaml"), (&beyond, "beyond.yaml"), (&at, &deep(128))]).await.unwrap();
    let read = |path: &str| {
        let entry = snapshot.tree.entry(&RepoPath::parse(path).unwrap()).unwrap();
        snapshot.tree.read(entry).map(|bytes| bytes.len()).map_err(|unreadable| unreadable.reason)
    };
    assert_eq!(read("at.yaml"), Ok(4_194_304));
    let told = "the file has 4194305 bytes; files above 4194304 are not read";
    assert_eq!(read("beyond.yaml"), Err(told.to_owned()));
    assert_eq!(read(&deep(128)), Ok(4_194_304));
    let told = commit(&[(&at, &deep(129))]).await.map(drop).unwrap_err().to_string();
    assert!(told.contains("is nested deeper than 128 folders: keep them flatter"), "{told}");
}

/// One folder whose own list is larger than any.
#[tokio::test]
async fn a_commit_that_lists_too_much_is_refused_with_words_and_fetched_once() {
    let fixture = Fixture::new().await;
    let work = &fixture.work;
    let blob = work.git(&["rev-parse", "HEAD:gauss/peu00/base/cluster.yaml"]);
    let folder = |lines: &str| {
        work.write("lines", lines);
        work.git(&["-c", "alias.made=!git mktree --missing <lines", "made"])
    };
    let name = "n".repeat(4_000);
    let line = |name: &str| format!("100644 blob {blob}\t{name}\n");
    // Git writes 28 bytes beside a name: 8,322 of 4,032 bytes, and one of 128 or 129.
    let wide: String = (0..8_322).map(|number| line(&format!("{name}{number:04}"))).collect();
    let mirrors = fixture.mirrors();
    let whole = folder(&(wide.clone() + &line(&"l".repeat(100))));
    assert_eq!(work.git(&["cat-file", "-s", &whole]), "33554432");
    let wide = folder(&(wide + &line(&"l".repeat(101))));
    let push = |tree: &str| {
        let commit = work.git(&["commit-tree", "-m", "Too much", tree]);
        work.git(&["push", "-q", "--force", "origin", &format!("{commit}:refs/heads/main")]);
        CommitId::parse(&commit).unwrap()
    };
    let listed = fixture.snapshot(&mirrors, &push(&whole)).await.unwrap();
    assert_eq!(listed.tree.entries().len(), 8_323);
    let commit = push(&wide);
    fixture.server.take_requests();
    for fetches in [2, 0] {
        let error = fixture.snapshot(&mirrors, &commit).await.map(drop).unwrap_err();
        assert!(matches!(&error, MirrorError::TooLarge { commit: of, .. } if *of == commit), "{error}");
        let says = "the listing of `` has more than 32 MiB: divide the folder";
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(fixture.server.take_requests().len(), fetches);
    }
    // A single file in the root of such a commit is still readable.
    let lines = format!("100644 blob {blob}\t.capstan.yaml\n040000 tree {wide}\tdeep\n");
    let commit = work.git(&["commit-tree", "-m", "Settings beside it", &folder(&lines)]);
    work.git(&["push", "-q", "--force", "origin", &format!("{commit}:refs/heads/main")]);
    let commit = CommitId::parse(&commit).unwrap();
    assert!(fixture.snapshot(&mirrors, &commit).await.is_err());
    for (file, there) in [(".capstan.yaml", true), ("capstan.yaml", false), ("deep", false)] {
        let file = RepoPath::parse(file).unwrap();
        let snapshot = mirrors.snapshot_of_file(&fixture.repository, &commit, &file).await.unwrap();
        let entries = snapshot.tree.entries();
        assert_eq!(
            entries.iter().map(|entry| entry.path.clone()).collect::<Vec<_>>(),
            vec![file; usize::from(there)]
        );
        assert!(entries.iter().all(|entry| snapshot.tree.read(entry).is_ok()));
        assert!(snapshot.tree.stored().is_none(), "whoever opens it by its id would read all of it");
    }
    let good = fixture.push("Back");
    assert!(fixture.snapshot(&mirrors, &good).await.is_ok());
}

#[tokio::test]
async fn a_folder_is_found_by_its_tree_id_where_a_fetched_commit_holds_it() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    let id = TreeId::parse(&fixture.work.git(&["rev-parse", "HEAD:gauss/peu07"])).unwrap();
    assert!(mirrors.folder(&fixture.repository, &id).await.unwrap().is_none(), "nothing fetched yet");
    fixture.snapshot(&mirrors, &fixture.head()).await.unwrap();
    let folder = mirrors.folder(&fixture.repository, &id).await.unwrap().unwrap();
    let paths: Vec<&str> = folder.entries().iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["base/cluster.yaml"]);
    let absent = TreeId::parse("9d1f000000000000000000000000000000000000").unwrap();
    assert!(mirrors.folder(&fixture.repository, &absent).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_ask_for_the_same_commit_and_one_fetches() {
    let fixture = Fixture::new().await;
    let mirrors = fixture.mirrors();
    let commit = fixture.head();
    let asked = (0..8).map(|_| fixture.snapshot(&mirrors, &commit));
    for snapshot in futures_util::future::join_all(asked).await {
        assert_eq!(snapshot.unwrap().tree.entries().len(), 40);
    }
    assert_eq!(fixture.server.take_requests().len(), 2);
}
