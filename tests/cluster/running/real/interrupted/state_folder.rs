//! What befalls the state folder.

#![expect(clippy::print_stdout, reason = "tests say aloud what they skip")]

use std::fs;
use std::path::{Path, PathBuf};

use capstan_test_support::tally;
use jiff::Timestamp;

use super::{CUSTOMER, Table, is_applied};

/// Enough for the mirror of a small repository.
const OPTIONS: &str = "size=24m,mode=0700";

pub(super) async fn attempt(table: &mut Table) {
    is_deleted(table).await;
    let Some(mounted) = Mounted::at(&table.town.folder.path().join("reconciler")) else {
        println!(
            "SKIPPED: nothing can be mounted here, so a state folder that is read-only or full is not tried"
        );
        return;
    };
    // The process that ran there had another folder under that path.
    table.town.reconciler.kill();
    table.town.reconciler.start();
    is_full(table, &mounted).await;
    is_read_only(table, &mounted).await;
    table.town.reconciler.kill();
}

/// A file system of its own, gone with this.
struct Mounted {
    at: PathBuf,
}

impl Mounted {
    fn at(at: &Path) -> Option<Self> {
        let mounted = run(&["mount", "-t", "tmpfs", "-o", OPTIONS, "none"], at);
        mounted.then(|| Self { at: at.to_owned() })
    }

    fn remount(&self, how: &str) {
        assert!(run(&["mount", "-o", &format!("remount,{how},{OPTIONS}")], &self.at), "{how}");
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }

    /// Nothing more finds room there.
    fn fill(&self) {
        let zeros = vec![0; 1 << 26];
        assert!(fs::write(self.filler(), zeros).is_err(), "it does not get full");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run(&["umount", "-l"], &self.at);
    }
}

fn run(command: &[&str], at: &Path) -> bool {
    let output = tally::command(command[0]).args(&command[1..]).arg(at).output();
    output.is_ok_and(|output| output.status.success())
}

/// Deleted while the process runs, and while none does.
async fn is_deleted(table: &mut Table) {
    let folder = table.town.folder.path().join("reconciler");
    let since = Timestamp::now();
    fs::remove_dir_all(&folder).unwrap();
    table.say();
    table.commit("Without a state folder");
    let killed = table.kill_at(since, is_applied).await;
    table.applied().await;

    table.town.reconciler.kill();
    fs::remove_dir_all(&folder).unwrap();
    table.say();
    table.commit("Without one from the beginning");
    table.town.reconciler.start();
    table.applied().await;
    assert_eq!(table.deleted(since), [""; 0]);
    table.note("the state folder deleted", "fetched anew", &killed);
}

/// Full while the process runs, and when it starts.
async fn is_full(table: &mut Table, mounted: &Mounted) {
    table.applied().await;
    let since = Timestamp::now();
    mounted.fill();
    let before = table.says;
    table.say();
    table.town.repository.write(&format!("{CUSTOMER}/one/large.txt"), &noise());
    table.commit("What finds no room");
    table.source_is("StateDirectory").await;
    assert_eq!(table.says_of("one-a"), Some(before.to_string()));
    assert_eq!(table.written(since), [""; 0]);
    let killed = dies_and_starts(table).await;
    assert_eq!(table.written(since), [""; 0]);
    fs::remove_file(mounted.filler()).unwrap();
    starts(table);
    table.applied().await;

    // Once there is room again, the same process applies the commit.
    mounted.fill();
    table.say();
    table.town.repository.write(&format!("{CUSTOMER}/one/large.txt"), &noise().replace('a', "b"));
    table.commit("What finds no room either");
    table.source_is("StateDirectory").await;
    fs::remove_file(mounted.filler()).unwrap();
    table.town.ask();
    table.applied().await;
    assert_eq!(table.deleted(since), [""; 0]);
    table.note(
        "the state folder full",
        "told, nothing is touched, and it goes on where there is room",
        &killed,
    );
}

/// Killed and started where it cannot keep anything; what becomes of it within three seconds.
async fn dies_and_starts(table: &Table) -> String {
    starts(table);
    tokio::time::sleep(tally::wait(std::time::Duration::from_secs(3))).await;
    match table.town.reconciler.is_well() {
        Ok(()) => "the beginning: it waits".to_owned(),
        Err(ended) => format!("the beginning: {ended}"),
    }
}

/// Restarts the process, as a supervisor would.
fn starts(table: &Table) {
    table.town.reconciler.kill();
    table.town.reconciler.start();
}

/// What does not compress, the same at each call.
fn noise() -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
    };
    (0..400_000).map(|_| next()).collect()
}

/// Nothing can be written there when a process starts: it leads nobody, and says so.
async fn is_read_only(table: &mut Table, mounted: &Mounted) {
    table.town.reconciler.kill();
    mounted.remount("ro");
    let since = Timestamp::now();
    table.say();
    table.commit("While nothing can be kept");
    let said = table.town.reconciler.log().len();
    let killed = dies_and_starts(table).await;
    let log = table.town.reconciler.log()[said..].to_lowercase();
    assert!(log.contains("read-only file system"), "{log}");
    dies_and_starts(table).await;
    assert_eq!(table.written(since), [""; 0]);
    mounted.remount("rw");
    starts(table);
    table.applied().await;
    assert_eq!(table.deleted(since), [""; 0]);
    table.note(
        "the state folder read-only",
        "told, nobody leads, and it goes on where it can write",
        &killed,
    );
}
