//! A damaged or foreign database file is refused before anything else happens, and stays as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capstan_database::Database;
use capstan_ports::{Retention as _, SystemClock};
use capstan_test_support::tally;

use super::transfer::{execute, make};

const PAGE: usize = 4096;
const ROWS: usize = 600;

fn url(file: &Path) -> String {
    format!("sqlite://{}?mode=rwc", file.display())
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", file.display()))
}

async fn fill(file: &Path, name: &str) {
    // A transaction each ten.
    for ten in 0..ROWS / 10 {
        let rows: Vec<String> =
            (0..10).map(|n| format!("('{name}-{ten:04}{n}', 'push', '', 1, 5, 'done')")).collect();
        let sql = "INSERT INTO deliveries (guid, event, action, installation, received_at_ms, state) VALUES ";
        execute(&url(file), &format!("{sql}{}", rows.join(","))).await;
    }
}

/// A database of some pages, as a bot leaves it that ends well.
async fn ended(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(name);
    make(&url(&file)).await;
    fill(&file, name).await;
    file
}

/// The same, as a killed bot leaves it: its last writes are in the log beside the file.
async fn killed(folder: &Path, name: &str) -> PathBuf {
    let (running, file) = (folder.join(format!("{name}-running")), folder.join(name));
    let database = Database::open(&url(&running), Arc::new(SystemClock)).await.unwrap();
    fill(&running, name).await;
    for suffix in ["", "-wal"] {
        fs::copy(beside(&running, suffix), beside(&file, suffix)).unwrap();
    }
    database.close().await;
    file
}

fn alter(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).unwrap();
    change(&mut bytes);
    fs::write(file, bytes).unwrap();
}

fn flip(file: &Path, at: usize) {
    alter(file, |bytes| bytes[at] ^= 0x55);
}

/// The page of the table's own that holds this text.
fn page_of(bytes: &[u8], text: &str) -> usize {
    let at = bytes.windows(text.len()).rposition(|window| window == text.as_bytes()).unwrap();
    at / PAGE * PAGE
}

/// The files of a database, except for the one that SQLite recreates.
fn state(file: &Path) -> Vec<Option<Vec<u8>>> {
    ["", "-wal", "-journal"].map(|suffix| fs::read(beside(file, suffix)).ok()).into_iter().collect()
}

async fn refusal(file: &Path, name: &str) -> String {
    let before = state(file);
    let opened = Database::open(&url(file), Arc::new(SystemClock)).await;
    let Err(refused) = opened else { panic!("{name}: it is opened") };
    let now = state(file);
    assert!(before[0] == now[0] && before[2] == now[2], "{name}: the file is another");
    // An empty log is the same as a missing one.
    let log = |state: &[Option<Vec<u8>>]| state[1].clone().filter(|log| !log.is_empty());
    assert!(log(&before) == log(&now), "{name}: the log is another");
    refused.to_string()
}

/// A name, the damage to a file, and the text of the refusal.
type Damage = (&'static str, fn(&Path), &'static str);

const OF_ONE_THAT_ENDED_WELL: [Damage; 12] = [
    ("emptied", |file| alter(file, Vec::clear), "the file is empty"),
    ("cut in its head", |file| alter(file, |bytes| bytes.truncate(50)), "not a database of SQLite's"),
    ("cut to one page", |file| alter(file, |bytes| bytes.truncate(PAGE)), "the file is damaged: "),
    (
        "cut to a half",
        |file| alter(file, |bytes| bytes.truncate(bytes.len() / 2 / PAGE * PAGE)),
        "the file is damaged: ",
    ),
    ("cut by a byte", |file| alter(file, |bytes| bytes.truncate(bytes.len() - 1)), "the file is cut off"),
    ("its first byte", |file| flip(file, 0), "not a database of SQLite's"),
    ("the kind of its first page", |file| flip(file, 100), "the file is damaged: "),
    (
        "overwritten",
        |file| {
            alter(file, |bytes| {
                let page = page_of(bytes, "ended-00303");
                bytes[page..page + PAGE].fill(0xa5);
            });
        },
        "the file is damaged: ",
    ),
    (
        "a page that was never written",
        |file| {
            alter(file, |bytes| {
                let page = page_of(bytes, "ended-00303");
                bytes[page..page + PAGE].fill(0);
            });
        },
        "the file is damaged: ",
    ),
    (
        "how many cells a page has",
        |file| flip(file, page_of(&fs::read(file).unwrap(), "ended-00303") + 3),
        "the file is damaged: ",
    ),
    (
        "somebody else's journal",
        |file| fs::write(beside(file, "-journal"), [0xd9, 0xd5, 0x05, 0xf9]).unwrap(),
        "a rollback journal (-journal) is beside the file",
    ),
    (
        "a text",
        |file| fs::write(file, "these are my notes, and no database\n".repeat(100)).unwrap(),
        "not a database of SQLite's",
    ),
];

const OF_ONE_THAT_WAS_KILLED: [Damage; 6] = [
    (
        "the log's first byte",
        |file| flip(&beside(file, "-wal"), 0),
        "the beginning of the file's write-ahead log",
    ),
    (
        "the log's page size",
        |file| flip(&beside(file, "-wal"), 10),
        "the beginning of the file's write-ahead log",
    ),
    (
        "the middle of the log",
        |file| {
            let log = beside(file, "-wal");
            flip(&log, fs::read(&log).unwrap().len() / 2);
        },
        "write-ahead log (-wal) is damaged in its middle",
    ),
    (
        "a stretch of the log",
        |file| alter(&beside(file, "-wal"), |bytes| bytes[20_000..40_000].fill(0)),
        "write-ahead log (-wal) is damaged in its middle",
    ),
    ("the file is gone", |file| fs::remove_file(file).unwrap(), "the file is not there"),
    ("the file was emptied", |file| alter(file, Vec::clear), "the file is empty"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_reported_with_what_to_do_and_stays_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let whole = [ended(folder.path(), "ended").await, killed(folder.path(), "killed").await];
    for (whole, damages) in whole.iter().zip([&OF_ONE_THAT_ENDED_WELL[..], &OF_ONE_THAT_WAS_KILLED]) {
        for (number, (name, damage, says)) in damages.iter().enumerate() {
            let file = PathBuf::from(format!("{}-{number}.sqlite", whole.display()));
            for suffix in ["", "-wal"] {
                fs::copy(beside(whole, suffix), beside(&file, suffix)).ok();
            }
            damage(&file);
            let told = refusal(&file, name).await;
            assert!(told.starts_with(&format!("database {}: ", file.display())), "{name}: {told}");
            assert!(told.contains(says), "{name}: {told}");
            for what_to_do in ["import the last export", "capstan help database#a-damaged-file"] {
                assert!(told.contains(what_to_do), "{name}: {told}");
            }
        }
    }
    // One process tells it as all do.
    let cut = format!("{}-3.sqlite", whole[0].display());
    let mut listing = tally::command(env!("CARGO_BIN_EXE_capstan"));
    let listing =
        listing.args(["agents", "list", "--database-url", &format!("sqlite://{cut}")]).output().unwrap();
    assert_eq!(listing.status.code(), Some(1), "{listing:?}");
    let said = String::from_utf8_lossy(&listing.stderr);
    assert!(said.contains(&cut) && said.contains("the file is damaged: "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_another_database_is_reported_and_not_applied() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (killed(folder.path(), "own").await, killed(folder.path(), "other").await);
    let mixed = folder.path().join("mixed");
    fs::copy(&own, &mixed).unwrap();
    fs::copy(beside(&other, "-wal"), beside(&mixed, "-wal")).unwrap();
    let told = refusal(&mixed, "another's log").await;
    assert!(told.contains("is of another database, or of this one at another time"), "{told}");

    // Of the same one at another time: a file that was put back beside the log of what was there.
    let file = ended(folder.path(), "ended").await;
    let kept = fs::read(&file).unwrap();
    make(&url(&file)).await;
    let database = Database::open(&url(&file), Arc::new(SystemClock)).await.unwrap();
    fill(&file, "later").await;
    let log = fs::read(beside(&file, "-wal")).unwrap();
    database.close().await;
    let restored = folder.path().join("restored");
    fs::write(&restored, kept).unwrap();
    fs::write(beside(&restored, "-wal"), log).unwrap();
    let told = refusal(&restored, "a later log").await;
    assert!(told.contains("is of another database, or of this one at another time"), "{told}");

    // A database of another program is refused, too.
    let foreign = folder.path().join("foreign");
    execute(&url(&foreign), "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')").await;
    let told = refusal(&foreign, "foreign").await;
    assert!(told.contains("the file is a database of another program"), "{told}");
}

/// How many deliveries are found.
async fn deliveries(file: &Path) -> i64 {
    let database = Database::open(&url(file), Arc::new(SystemClock)).await.unwrap();
    let counts = database.row_counts().await.unwrap();
    database.close().await;
    let (_, rows) = counts.into_iter().find(|(table, _)| *table == "deliveries").unwrap();
    i64::try_from(rows).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_bot_that_was_killed_leaves_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let left = killed(folder.path(), "left").await;
    let rows = i64::try_from(ROWS).unwrap();
    let copies = ["whole", "torn", "begun", "headless"].map(|name| {
        let file = folder.path().join(name);
        for suffix in ["", "-wal"] {
            fs::copy(beside(&left, suffix), beside(&file, suffix)).unwrap();
        }
        file
    });
    let [whole, torn, begun, headless] = &copies;
    assert_eq!(deliveries(whole).await, rows);
    // Again and again, and killed in between.
    for _ in 0..3 {
        let database = Database::open(&url(whole), Arc::new(SystemClock)).await.unwrap();
        let log = fs::read(beside(whole, "-wal")).unwrap();
        let bytes = fs::read(whole).unwrap();
        database.close().await;
        fs::write(whole, bytes).unwrap();
        fs::write(beside(whole, "-wal"), log).unwrap();
        assert_eq!(deliveries(whole).await, rows);
    }
    // The machine lost its power in the last commit: that one was never acknowledged.
    alter(&beside(torn, "-wal"), |bytes| {
        let end = bytes.len();
        bytes[end - PAGE..].fill(0);
    });
    assert_eq!(deliveries(torn).await, rows - 10);
    alter(&beside(begun, "-wal"), |bytes| bytes.truncate(bytes.len() - PAGE - 30));
    assert!(deliveries(begun).await >= rows - 10);
    // The log was begun, and nothing written to it.
    alter(&beside(headless, "-wal"), |bytes| bytes.truncate(20));
    let opened = Database::open(&url(headless), Arc::new(SystemClock)).await;
    assert!(opened.is_ok(), "{opened:?}");
}
