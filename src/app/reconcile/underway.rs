//! What is reconciled now, noted before it is begun: so whoever follows a process that died knows what it was at.
//!
//! *Guarantee*: a folder at which the process died is reconciled alone after that, behind the others; one at which it
//! died three times more while it did nothing else is passed over until the folder changes, for an hour at most. So no
//! folder ends the reconciler at each start, whatever Capstan's fault with it is.
//!
//! *Caveat*: whoever kills the process from outside cannot be told from that; three times in a row at one and the same
//! folder is no chance. *Assumption*: one process at a time has the notes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_model::ids::ClusterId;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::ports::{FleetKey, Notes};
use super::reason::Reason;
use super::revision::Revision;
use crate::app::ports::Clock;

/// So many deaths alone make a folder one that is passed over.
const DEATHS: u32 = 3;
/// So long it is passed over.
const PASSED_OVER: SignedDuration = SignedDuration::from_hours(1);
/// What was not begun for so long is not suspected any more: a head that nobody asks about again, say.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);
/// How often is looked whether nothing else runs.
const LOOK: Duration = Duration::from_millis(50);
/// So long is looked; after that nothing else is begun until what runs has ended.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is reconciled now, and where processes before this one died.
pub struct Underway {
    notes: Arc<dyn Notes>,
    clock: Arc<dyn Clock>,
    /// `None` until the notes were read.
    entries: Mutex<Option<Entries>>,
    turns: Arc<RwLock<()>>,
    /// That it could not be noted was said, and it could not be noted since.
    is_told: AtomicBool,
}

/// By Fleet and by cluster, or cluster and head.
type Entries = BTreeMap<String, Entry>;

/// A folder that is, or was, reconciled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// What tells its contents apart.
    content: String,
    /// It is reconciled now.
    runs: bool,
    /// Nothing else is meanwhile.
    alone: bool,
    /// How often a process died at it, alone.
    deaths: u32,
    /// When it was begun last, in seconds of Unix time.
    begun: i64,
}

/// What is to be reconciled: a folder of a Fleet as it is in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    key: String,
    content: String,
}

impl Subject {
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
pub enum Begun {
    /// It is its turn, which [ends](Underway::end).
    Turn(Turn),
    /// It is passed over, for that reason.
    PassedOver(Reason),
}

/// A turn. Whoever drops it without ending it leaves it noted.
pub struct Turn {
    key: String,
    _among: Among,
}

/// Beside others, or alone.
enum Among {
    #[expect(dead_code, reason = "held until the turn ends")]
    Others(OwnedRwLockReadGuard<()>),
    #[expect(dead_code, reason = "held until the turn ends")]
    Nobody(OwnedRwLockWriteGuard<()>),
}

impl Underway {
    /// Noted there. They are read when something is begun first: by then this process has them alone.
    pub fn new(notes: Arc<dyn Notes>, clock: Arc<dyn Clock>) -> Self {
        Self {
            notes,
            clock,
            entries: Mutex::default(),
            turns: Arc::default(),
            is_told: AtomicBool::new(false),
        }
    }

    /// The clusters of a Fleet at which a process died: they come behind the others. Blocks for a moment, once.
    pub fn suspects(&self, fleet: &FleetKey) -> BTreeSet<String> {
        let begins = format!("{fleet} ");
        let mut all = self.entries();
        let suspects = self.known(&mut all).iter().filter(|(_, entry)| !entry.runs);
        suspects.filter_map(|(key, _)| key.strip_prefix(&begins)).map(str::to_owned).collect()
    }

    /// Notes that a folder is reconciled from now on.
    pub async fn begin(&self, subject: &Subject) -> Begun {
        let suspected = {
            let mut all = self.entries();
            let known = self.known(&mut all);
            known.retain(|key, entry| *key != subject.key || entry.content == subject.content);
            known.get(&subject.key).cloned()
        };
        let now = self.clock.now();
        if let Some(entry) = &suspected
            && entry.deaths >= DEATHS
            && now.duration_since(at(entry.begun)) < PASSED_OVER
        {
            return Begun::PassedOver(Reason::plain(
                "EndsReconciler",
                format!(
                    "the reconciler ended {} times in a row while it was at this folder and at nothing else: it is \
                     passed over until the folder changes, or until {}; what the log said last before those ends \
                     belongs into a report of this fault of Capstan's",
                    entry.deaths,
                    at(entry.begun).saturating_add(PASSED_OVER).unwrap_or(Timestamp::MAX)
                ),
            ));
        }
        let among = match &suspected {
            Some(_) => Among::Nobody(self.alone().await),
            None => Among::Others(Arc::clone(&self.turns).read_owned().await),
        };
        let entry = Entry {
            content: subject.content.clone(),
            runs: true,
            alone: suspected.is_some(),
            deaths: suspected.map_or(0, |entry| entry.deaths),
            begun: self.clock.now().as_second(),
        };
        let mut all = self.entries();
        self.known(&mut all).insert(subject.key.clone(), entry);
        self.write(&all);
        Begun::Turn(Turn { key: subject.key.clone(), _among: among })
    }

    /// Notes that it has ended: the process lives.
    pub fn end(&self, turn: Turn) {
        let mut all = self.entries();
        self.known(&mut all).remove(&turn.key);
        self.write(&all);
    }

    /// Waits until nothing else runs. What waits for its turn meanwhile has it first, for a while.
    async fn alone(&self) -> OwnedRwLockWriteGuard<()> {
        let looking = async {
            loop {
                if let Ok(alone) = Arc::clone(&self.turns).try_write_owned() {
                    return alone;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        match tokio::time::timeout(PATIENCE, looking).await {
            Ok(alone) => alone,
            Err(_) => Arc::clone(&self.turns).write_owned().await,
        }
    }

    fn entries(&self) -> MutexGuard<'_, Option<Entries>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is noted, with the deaths that it tells of.
    fn known<'e>(&self, entries: &'e mut Option<Entries>) -> &'e mut Entries {
        entries.get_or_insert_with(|| {
            let read = self.notes.read().and_then(|note| match note {
                None => Ok(Entries::default()),
                Some(note) => serde_json::from_str::<Entries>(&note).map_err(|error| error.to_string()),
            });
            let mut found = read.unwrap_or_else(|error| {
                tracing::warn!(error, "what an earlier process was at when it ended cannot be read");
                Entries::default()
            });
            let now = self.clock.now();
            found.retain(|_, entry| now.duration_since(at(entry.begun)) < REMEMBERED);
            for (key, entry) in &mut found {
                if entry.runs {
                    entry.runs = false;
                    entry.deaths += u32::from(std::mem::take(&mut entry.alone));
                    tracing::warn!(
                        subject = key,
                        deaths_alone = entry.deaths,
                        "the process before this one ended while it was at this"
                    );
                }
            }
            found
        })
    }

    fn write(&self, entries: &Option<Entries>) {
        let Some(entries) = entries else { return };
        let written = serde_json::to_string(entries)
            .map_err(|error| error.to_string())
            .and_then(|note| self.notes.write(&note));
        let was_told = self.is_told.swap(written.is_err(), Ordering::Relaxed);
        if let Err(error) = written
            && !was_told
        {
            tracing::warn!(
                error,
                "what is reconciled now cannot be noted: who dies of it is not known by it"
            );
        }
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or_default()
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
            at(self.now.load(Ordering::Relaxed))
        }
    }

    fn process(memory: &Arc<Memory>) -> Underway {
        Underway::new(memory.clone(), memory.clone())
    }

    fn subject(cluster: &str, content: &str) -> Subject {
        Subject { key: format!("home/fleet {cluster}"), content: content.to_owned() }
    }

    fn suspects(process: &Underway) -> Vec<String> {
        let fleet = FleetKey { namespace: "home".to_owned(), name: "fleet".to_owned() };
        process.suspects(&fleet).into_iter().collect()
    }

    async fn turn(process: &Underway, subject: &Subject) -> Turn {
        match process.begin(subject).await {
            Begun::Turn(turn) => turn,
            Begun::PassedOver(reason) => panic!("{}", reason.message),
        }
    }

    #[tokio::test]
    async fn a_folder_that_ends_the_process_alone_three_times_is_passed_over_until_it_changes_or_for_an_hour()
    {
        let memory = Arc::new(Memory::default());
        let (good, bad) = (subject("a/good", "1"), subject("a/bad", "1"));
        let first = process(&memory);
        let ended = turn(&first, &subject("a/ended", "1")).await;
        first.end(ended);
        let _both_die = (turn(&first, &good).await, turn(&first, &bad).await);

        for deaths in 0..3 {
            let next = process(&memory);
            let expected = if deaths == 0 { vec!["a/bad", "a/good"] } else { vec!["a/bad"] };
            assert_eq!(suspects(&next), expected);
            let turn_of_good = turn(&next, &good).await;
            // Alone: as long as another one runs it is not begun.
            let waiting = tokio::time::timeout(Duration::from_millis(200), next.begin(&bad)).await;
            assert!(waiting.is_err());
            next.end(turn_of_good);
            let _it_dies = turn(&next, &bad).await;
            assert!(tokio::time::timeout(Duration::from_millis(200), next.begin(&good)).await.is_err());
        }
        let next = process(&memory);
        let Begun::PassedOver(reason) = next.begin(&bad).await else { panic!("it is begun") };
        assert_eq!(reason.kind, "EndsReconciler");
        assert!(reason.message.contains("ended 3 times"), "{}", reason.message);
        memory.now.fetch_add(3_600, Ordering::Relaxed);
        let again = turn(&next, &bad).await;
        next.end(again);
        assert_eq!(suspects(&process(&memory)), [""; 0], "it did no harm");
    }

    #[tokio::test]
    async fn another_content_is_another_chance() {
        let memory = Arc::new(Memory::default());
        let bad = subject("a/bad", "1");
        for _ in 0..4 {
            let _it_dies = turn(&process(&memory), &bad).await;
        }
        assert!(matches!(process(&memory).begin(&bad).await, Begun::PassedOver(_)));
        let next = process(&memory);
        let beside = turn(&next, &subject("a/good", "1")).await;
        let mended = turn(&next, &subject("a/bad", "2")).await;
        next.end(beside);
        next.end(mended);
        assert_eq!(suspects(&process(&memory)), [""; 0]);
    }

    #[tokio::test]
    async fn a_note_that_cannot_be_read_is_none() {
        let memory = Arc::new(Memory::default());
        memory.write("{").unwrap();
        let next = process(&memory);
        assert_eq!(suspects(&next), [""; 0]);
        let ended = turn(&next, &subject("a/good", "1")).await;
        next.end(ended);
    }
}
