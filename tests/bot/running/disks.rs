//! A disk that is full, or may only be read: deliveries that cannot be kept are refused, nothing that was taken is lost,
//! and a bot that cannot keep anything does not start, and says why.

use capstan_test_support::PATIENCE;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use capstan_forge::{Delivery, Forge};
use capstan_test_support::tally;

use super::kills::{CLUSTERS, Place, is_kept, wait_until_settled};
use super::sample;
use super::town::{REPOSITORY, forge};
use capstan_test_parts::conformance::assert_conforms;

/// A small disk of its own, where this user may mount one.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mounted = tally::command("mount")
            .args(["-t", "tmpfs", "-o", "size=24m,mode=0700", "capstan-test"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(at.to_owned()));
        }
        println!("SKIPPED: this user (root?) may not mount a disk to fill");
        None
    }

    fn remount(&self, how: &str) {
        let status = tally::command("mount").args(["-o", &format!("remount,{how}")]).arg(&self.0).status();
        assert!(status.unwrap().success(), "{how}");
    }

    /// Leaves no byte.
    fn fill(&self) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(self.0.join("ballast")).unwrap();
        for size in [1 << 20, 4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        tally::command("umount").arg("-l").arg(&self.0).status().ok();
    }
}

fn begin(forge: &Forge) {
    let files = sample::repository("upgrade: {proposals: {open: 1000, perHour: 10000}}\n", &CLUSTERS);
    forge.commit(REPOSITORY, "main", "ada", "Begin", &files).unwrap();
    release(forge, "v22.0.0", "v1.22.0");
}

fn release(forge: &Forge, name: &str, kubernetes: &str) {
    forge.commit(REPOSITORY, "main", "ada", "Release", &[sample::release(name, kubernetes)]).unwrap();
}

fn is_refused_now(delivery: &Delivery) -> bool {
    delivery.status_code == 503
}

/// The deliveries with such an answer, without the first `since` ones.
fn answered(forge: &Forge, how: impl Fn(&Delivery) -> bool, since: usize) -> BTreeSet<String> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    assert!(runtime.block_on(forge.delivered(Duration::from_secs(60))));
    let deliveries = forge.deliveries();
    let later = deliveries.iter().skip(since).filter(|one| how(one));
    later.map(|one| one.guid.clone()).collect()
}

/// What `serve` says where it does not start.
fn refusal(place: &Place) -> Output {
    let mut child = place.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let patience = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().ok();
    child.wait_with_output().unwrap()
}

fn is_refused(place: &Place) {
    let output = refusal(place);
    let told =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code().filter(|code| [1, 2].contains(code)), output.status.code(), "{told}");
    assert!(output.status.code().is_some(), "it runs all the same: {told}");
    assert!(told.contains(place.state().to_str().unwrap()), "{told}");
    assert!(told.contains("capstan help troubleshooting#when-the-bot-starts"), "{told}");
}

#[test]
fn a_full_disk_refuses_deliveries_and_loses_none_that_it_took() {
    let forge = forge();
    let place = Place::new(&forge);
    let Some(disk) = Disk::mount(&place.state()) else { return };
    begin(&forge);
    let mut process = place.start();
    wait_until_settled(&forge, &place, "v22.0.0", "at first");
    answered(&forge, is_kept, 0);

    let before = forge.deliveries().len();
    disk.fill();
    // The log that SQLite writes ahead has room left in its file for some.
    for round in 1..=40 {
        release(&forge, &format!("v22.0.{round}"), &format!("v1.22.{round}"));
        if !answered(&forge, is_refused_now, before).is_empty() {
            break;
        }
    }
    let refused = answered(&forge, is_refused_now, before);
    assert!(
        !refused.is_empty(),
        "{:?}",
        forge.deliveries().iter().map(|one| one.status_code).collect::<Vec<_>>()
    );
    assert!(process.is_alive(), "{}", place.log());

    disk.empty();
    let stored = place.stored_deliveries();
    let taken = answered(&forge, is_kept, 0);
    assert_eq!(taken.difference(&stored).collect::<Vec<_>>(), Vec::<&String>::new(), "what got 202 is kept");
    assert_eq!(refused.intersection(&stored).count(), 0, "what got 503 is not half there");
    // If the end of the job could not be recorded, it is claimed again after its lease. That must not happen before it
    // ended, for then two would run.
    let patience = Instant::now() + PATIENCE;
    while place.has_running_jobs() && place.runs_ended() < place.runs_begun() {
        assert!(Instant::now() < patience, "the job does not end:\n{}", place.log());
        std::thread::sleep(Duration::from_millis(10));
    }
    place.let_leases_run_out();
    // A new delivery is accepted, and its run reads the newest state.
    release(&forge, "v22.1.0", "v1.22.99");
    wait_until_settled(&forge, &place, "v22.1.0", "with room again");
    assert_eq!(forge.pulls(REPOSITORY).unwrap().len(), CLUSTERS.len(), "never a second pull request");
    drop(process);

    // On a disk that is full from the beginning, it says so.
    std::fs::remove_dir_all(place.state().join("mirrors")).ok();
    place.lose_database();
    disk.fill();
    is_refused(&place);
    drop(disk);
    assert_conforms(&forge);
}

#[test]
fn a_state_folder_that_may_only_be_read_is_refused_at_the_start() {
    let forge = forge();
    let place = Place::new(&forge);
    let Some(disk) = Disk::mount(&place.state()) else { return };
    begin(&forge);
    let process = place.start();
    wait_until_settled(&forge, &place, "v22.0.0", "at first");
    drop(process);

    release(&forge, "v22.1.0", "v1.22.1");
    disk.remount("ro");
    is_refused(&place);
    disk.remount("rw");
    let process = place.start();
    wait_until_settled(&forge, &place, "v22.1.0", "writable again");
    assert_eq!(forge.pulls(REPOSITORY).unwrap().len(), CLUSTERS.len());
    drop(process);
    place.done();
    drop(disk);
    assert_conforms(&forge);
}
