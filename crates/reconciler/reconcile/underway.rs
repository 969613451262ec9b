//! What is reconciled now, noted before it begins: after a process died, the next one knows what it was doing.
//!
//! Which folder is to blame, and when it is tried again, [`capstan_live::deaths`] decides; what of a folder's content
//! takes too much is found out before, by a process with limits ([`trial`](super::trial)). *Guarantee*: what was
//! [left](Underway::leave) in order accuses nobody, and neither does a turn that was dropped. *Assumption*: one process
//! at a time has the notes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_live::deaths::{BEAT, TurnStart as Decided, Turns};
use capstan_model::ids::ClusterId;
use jiff::Timestamp;
use tokio::task::AbortHandle;

use super::ports::{FleetKey, Notes};
use super::revision::Revision;
use capstan_ports::Clock;
use capstan_reconciler_core::reason::Reason;

/// How often a waiting turn checks whether it is still wanted.
const LOOK: Duration = Duration::from_secs(1);

/// What is reconciled now, and where processes before this one died.
pub struct Underway {
    notes: Arc<dyn Notes>,
    clock: Arc<dyn Clock>,
    /// `None` until the notes were read.
    turns: Mutex<Option<Turns>>,
    /// That it could not be noted was said, and it could not be noted since.
    is_reported: AtomicBool,
}

/// What is to be reconciled: a folder of a Fleet as it is in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderAtCommit {
    key: String,
    content: String,
}

impl FolderAtCommit {
    /// A cluster's folder, as it is applied.
    pub fn applied(fleet: &FleetKey, cluster: &ClusterId, revision: &Revision) -> Self {
        let content = revision.folder_id(cluster).map(|id| id.as_str().to_owned()).unwrap_or_default();
        Self { key: format!("{fleet} {cluster}"), content }
    }

    /// A cluster's folder in a head that is tried before the merge.
    pub fn head(fleet: &FleetKey, cluster: &ClusterId, head: &Revision) -> Self {
        let content = head.commit.to_string();
        Self { key: format!("{fleet}@{content} {cluster}"), content }
    }
}

/// What may be done with a folder.
pub enum FolderStart {
    /// It is its turn, until that is dropped.
    Turn(FolderTurn),
    /// It waits, for two minutes at most, and is begun again then.
    Wait(Duration),
    /// It is passed over until then, for that reason.
    PassedOver(Reason, Timestamp),
}

/// A turn: it ends when it is dropped, for then the process lives.
pub struct FolderTurn {
    underway: Arc<Underway>,
    key: String,
    beats: Option<AbortHandle>,
}

impl Drop for FolderTurn {
    fn drop(&mut self) {
        if let Some(beats) = &self.beats {
            beats.abort();
        }
        self.underway.change(|turns, now| turns.end(&self.key, now));
    }
}

impl Underway {
    /// Noted there. They are read when something is begun first: by then this process has them alone.
    pub fn new(notes: Arc<dyn Notes>, clock: Arc<dyn Clock>) -> Self {
        Self { notes, clock, turns: Mutex::default(), is_reported: AtomicBool::new(false) }
    }

    /// The clusters of a Fleet at which a process died: they come behind the others. Blocks for a moment, once.
    pub fn suspects(&self, fleet: &FleetKey) -> BTreeSet<String> {
        let begins = format!("{fleet} ");
        let mut turns = self.turns();
        let suspects = self.known(&mut turns).suspects();
        suspects.filter_map(|(key, _)| key.strip_prefix(&begins)).map(str::to_owned).collect()
    }

    /// Notes that a folder is reconciled from now on, where it may be.
    pub fn begin(self: &Arc<Self>, subject: &FolderAtCommit) -> FolderStart {
        match self.change(|turns, now| turns.begin(&subject.key, &subject.content, now)) {
            Decided::Turn { is_tried } => {
                let beats = is_tried.then(|| self.beat());
                FolderStart::Turn(FolderTurn { underway: Arc::clone(self), key: subject.key.clone(), beats })
            }
            Decided::Wait(pause) => FolderStart::Wait(pause.unsigned_abs()),
            Decided::Known { deaths, until } => {
                let message = format!(
                    "the reconciler crashed {deaths} times at this folder, and hardly by chance. It retries at {until:.0}, and as soon as the folder changes. Please report this fault of Capstan, with the last lines of the log before the crashes"
                );
                FolderStart::PassedOver(Reason::plain("EndsReconciler", message), until)
            }
        }
    }

    /// The same, and waits for it.
    ///
    /// # Errors
    /// It is passed over, for that reason.
    pub async fn wait(self: &Arc<Self>, subject: &FolderAtCommit) -> Result<FolderTurn, Reason> {
        loop {
            match self.begin(subject) {
                FolderStart::Turn(turn) => return Ok(turn),
                FolderStart::PassedOver(reason, _) => return Err(reason),
                FolderStart::Wait(pause) => tokio::time::sleep(pause.min(LOOK)).await,
            }
        }
    }

    /// The process ends in order: whatever becomes of it now, nothing that it is at is to blame.
    pub fn leave(&self) {
        let mut turns = self.turns();
        match turns.as_mut() {
            Some(known) => {
                known.leave();
                self.write(known);
            }
            // They may be another process's still.
            None => *turns = Some(Turns::default()),
        }
    }

    /// Notes while a suspect is tried that the process lives.
    fn beat(self: &Arc<Self>) -> AbortHandle {
        let underway = Arc::clone(self);
        let beats = async move {
            loop {
                tokio::time::sleep(BEAT.unsigned_abs()).await;
                underway.change(Turns::live);
            }
        };
        tokio::spawn(beats).abort_handle()
    }

    /// Changes what is known, and notes it.
    fn change<T>(&self, change: impl FnOnce(&mut Turns, Timestamp) -> T) -> T {
        let mut turns = self.turns();
        let known = self.known(&mut turns);
        let changed = change(known, self.clock.now());
        if !known.is_left() {
            self.write(known);
        }
        changed
    }

    fn turns(&self) -> MutexGuard<'_, Option<Turns>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is noted, with the death that it tells of.
    fn known<'t>(&self, turns: &'t mut Option<Turns>) -> &'t mut Turns {
        turns.get_or_insert_with(|| {
            let read = self.notes.read().and_then(|note| match note {
                None => Ok(Turns::default()),
                Some(note) => serde_json::from_str(&note).map_err(|error| error.to_string()),
            });
            let mut found = read.unwrap_or_else(|error| {
                tracing::warn!(error, "the notes of an earlier process cannot be read");
                Turns::default()
            });
            for (subject, suspect) in found.take_over(self.clock.now()) {
                let deaths = suspect.deaths;
                tracing::warn!(subject, deaths, "earlier processes ended while they worked on this");
            }
            found
        })
    }

    fn write(&self, turns: &Turns) {
        let written = serde_json::to_string(turns)
            .map_err(|error| error.to_string())
            .and_then(|note| self.notes.write(&note));
        let was_told = self.is_reported.swap(written.is_err(), Ordering::Relaxed);
        if let Err(error) = written
            && !was_told
        {
            tracing::warn!(error, "cannot note what is reconciled now: a crash cannot be traced to it");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicI64;

    use super::*;

    /// Notes in memory, and the clock beside them.
    #[derive(Default)]
    struct Memory {
        note: Mutex<Option<String>>,
        now: AtomicI64,
    }

    impl Notes for Memory {
        fn read(&self) -> Result<Option<String>, String> {
            Ok(self.note.lock().unwrap().clone())
        }

        fn write(&self, note: &str) -> Result<(), String> {
            *self.note.lock().unwrap() = Some(note.to_owned());
            Ok(())
        }
    }

    impl Clock for Memory {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(self.now.load(Ordering::Relaxed)).unwrap()
        }
    }

    impl Memory {
        fn pass(&self, seconds: i64) {
            self.now.fetch_add(seconds, Ordering::Relaxed);
        }
    }

    fn process(memory: &Arc<Memory>) -> Arc<Underway> {
        Arc::new(Underway::new(memory.clone(), memory.clone()))
    }

    fn subject(cluster: &str, content: &str) -> FolderAtCommit {
        FolderAtCommit { key: format!("home/fleet {cluster}"), content: content.to_owned() }
    }

    fn suspects(process: &Underway) -> Vec<String> {
        let fleet = FleetKey { namespace: "home".to_owned(), name: "fleet".to_owned() };
        process.suspects(&fleet).into_iter().collect()
    }

    fn turn(process: &Arc<Underway>, subject: &FolderAtCommit) -> FolderTurn {
        match process.begin(subject) {
            FolderStart::Turn(turn) => turn,
            FolderStart::Wait(pause) => panic!("it waits for {pause:?}"),
            FolderStart::PassedOver(reason, _) => panic!("{}", reason.message),
        }
    }

    /// The process dies: nothing of it is dropped.
    fn dies<T>(under_way: T) {
        std::mem::forget(under_way);
    }

    #[tokio::test]
    async fn a_folder_whose_processes_die_is_tried_less_often_and_reported() {
        let memory = Arc::new(Memory::default());
        let (good, bad) = (subject("a/good", "1"), subject("a/bad", "1"));
        let first = process(&memory);
        drop(turn(&first, &subject("a/ended", "1")));
        dies([turn(&first, &good), turn(&first, &bad)]);
        // One turn clears the folder that only ran at the same time. The other one waits for a minute, for two, and is
        // then reported.
        for pause in [0, 60, 120, 120, 240, 480, 960, 960] {
            let next = process(&memory);
            let expected = if pause == 0 { vec!["a/bad", "a/good"] } else { vec!["a/bad"] };
            assert_eq!(suspects(&next), expected);
            let beside = turn(&next, &good);
            let begun = next.begin(&bad);
            match pause {
                // One after the other.
                0 => assert!(matches!(begun, FolderStart::Wait(wait) if wait.as_secs() == 1)),
                60 | 120 => assert!(matches!(begun, FolderStart::Wait(wait) if wait.as_secs() == pause)),
                _ => {
                    let FolderStart::PassedOver(reason, until) = begun else { panic!("it is begun") };
                    let now = memory.now.load(Ordering::Relaxed);
                    assert_eq!(until.as_second() - now, i64::try_from(pause).unwrap());
                    assert_eq!(reason.kind, "EndsReconciler");
                }
            }
            drop(beside);
            memory.pass(i64::try_from(pause).unwrap().max(10));
            dies(turn(&next, &bad));
        }
        let next = process(&memory);
        let FolderStart::PassedOver(reason, _) = next.begin(&bad) else { panic!("it is begun") };
        assert!(reason.message.starts_with("the reconciler crashed 9 times"), "{}", reason.message);
        // Another content is another chance, and so is every try.
        drop(turn(&next, &subject("a/bad", "2")));
        assert_eq!(suspects(&process(&memory)), [""; 0]);
    }

    #[tokio::test]
    async fn an_orderly_end_accuses_no_folder_and_a_dropped_turn_does_not_count_as_a_crash() {
        let memory = Arc::new(Memory::default());
        let first = process(&memory);
        drop(turn(&first, &subject("a/cut", "1")));
        let hand = turn(&first, &subject("a/hand", "1"));
        first.leave();
        dies((hand, turn(&first, &subject("a/late", "1"))));
        assert_eq!(suspects(&process(&memory)), [""; 0]);

        // One that never had the notes leaves them alone.
        let second = process(&memory);
        dies(turn(&second, &subject("a/bad", "1")));
        process(&memory).leave();
        assert_eq!(suspects(&process(&memory)), ["a/bad"]);
    }

    #[tokio::test]
    async fn a_process_lives_as_long_as_it_says_so_while_a_suspect_is_tried() {
        let memory = Arc::new(Memory::default());
        let slow = subject("a/slow", "1");
        dies(turn(&process(&memory), &slow));
        let next = process(&memory);
        assert_eq!(suspects(&next), ["a/slow"]);
        memory.pass(100);
        let tried = turn(&next, &slow);
        let begun = memory.read();
        memory.pass(100);
        while memory.read() == begun {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        dies(tried);
        // Killed in the middle of its life: that says next to nothing.
        let next = process(&memory);
        assert!(matches!(next.begin(&slow), FolderStart::Wait(wait) if wait.as_secs() == 20));
        memory.pass(20);
        assert!(next.wait(&slow).await.is_ok());
    }

    #[tokio::test]
    async fn an_unreadable_note_is_ignored() {
        let memory = Arc::new(Memory::default());
        memory.write("{").unwrap();
        let next = process(&memory);
        assert_eq!(suspects(&next), [""; 0]);
        drop(turn(&next, &subject("a/good", "1")));
    }
}
