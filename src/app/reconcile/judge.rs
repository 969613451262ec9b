//! Judging what others wrote: one thing at a time, in a thread of its own, within a deadline, noted before it is
//! begun.
//!
//! *Guarantees*: a panic in it, and more time than it may take, is its own refusal; what ends the program (a stack
//! that overflows, memory that runs out) is known to the next process, which passes it over
//! ([`capstan_live::quarantine`]). *Caveat*: nothing stops a thread. One that is not done in time goes on until its
//! render's budget ends it; the same content is not begun again beside it.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use capstan_live::quarantine::{PassedOver, Quarantine, Subject, Turn};

use super::ports::QuarantineStore;

/// The stack of what is judged; that of a program's first thread on Linux.
const STACK: usize = 8 << 20;

/// How many contents are remembered that were judged and did no harm.
const HARMLESS: usize = 20_000;

/// Why something was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unjudged {
    /// It did harm before.
    #[error("{}", told(.0))]
    PassedOver(PassedOver),
    /// It panicked.
    #[error(
        "reading it ended in an error of Capstan's own, which the reconciler's log shows: nothing of it is applied. \
         Undo what was changed last, and report the error"
    )]
    Panicked,
}

fn told(passed_over: &PassedOver) -> String {
    match *passed_over {
        PassedOver::Suspected => "the reconciler ended while it read this: it is passed over until all else is \
             applied, and then tried once more"
            .to_owned(),
        PassedOver::Condemned => "the reconciler ended twice while it read this: it is passed over for as long as \
             it is the same, nothing of it is applied and nothing deleted. Undo what was changed last, and report it"
            .to_owned(),
        PassedOver::IsTooSlow(seconds) => format!(
            "reading it takes longer than {seconds} s (`--render-timeout-seconds`): it is passed over for as long as \
             it is the same and this process runs, nothing of it is applied and nothing deleted. Make it smaller, or \
             allow it more time"
        ),
        PassedOver::WasTooSlow(seconds) => format!(
            "reading it took longer than {seconds} s the last time: it is passed over until all else is applied, and \
             then tried once more"
        ),
    }
}

impl Unjudged {
    /// A CamelCase word for a condition.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::PassedOver(PassedOver::IsTooSlow(_) | PassedOver::WasTooSlow(_)) => "TooSlow",
            Self::PassedOver(PassedOver::Suspected | PassedOver::Condemned) => "PassedOver",
            Self::Panicked => "InternalError",
        }
    }

    /// Whether this process tries it once more, in the second turn.
    pub const fn is_tried_again(self) -> bool {
        matches!(self, Self::PassedOver(passed_over) if passed_over.is_tried_again())
    }
}

/// Judges, and knows what did harm.
pub struct Judge {
    notes: Arc<Notes>,
    deadline: Duration,
    /// Held by the one that is judged: so what was in hand when a process died is one thing.
    alone: Mutex<()>,
}

struct Notes {
    store: Arc<dyn QuarantineStore>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Read when something is judged for the first time.
    quarantine: Option<Quarantine>,
    /// What stands on the disk.
    noted: Option<String>,
    /// What was judged in this process and did no harm: it needs no note when it is judged again.
    harmless: BTreeSet<Subject>,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Judge {
    /// Notes there; nothing takes longer than `deadline`.
    pub fn new(store: Arc<dyn QuarantineStore>, deadline: Duration) -> Self {
        Self { notes: Arc::new(Notes { store, known: Mutex::default() }), deadline, alone: Mutex::default() }
    }

    /// Judges something. Blocks for as long as that takes, and while something else is judged.
    ///
    /// # Errors
    /// It was passed over, was not done in time, or panicked.
    pub fn judge<T: Send + 'static>(
        &self,
        subject: &Subject,
        turn: Turn,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unjudged> {
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        self.notes.begin(subject, turn).map_err(Unjudged::PassedOver)?;
        // Without a place to leave the result: whoever is not awaited any more notices.
        let (tell, told) = sync_channel(0);
        let (notes, name) = (Arc::clone(&self.notes), subject.clone());
        let begun = thread::Builder::new().name("judging".to_owned()).stack_size(STACK).spawn(move || {
            let judged = catch_unwind(AssertUnwindSafe(work));
            if tell.send(judged).is_err() {
                notes.change(|quarantine| quarantine.done_late(&name));
            }
        });
        if let Err(error) = begun {
            tracing::error!(%error, "no thread to judge in");
            self.notes.done(subject);
            return Err(Unjudged::Panicked);
        }
        match told.recv_timeout(self.deadline) {
            Ok(Ok(judged)) => {
                self.notes.done(subject);
                Ok(judged)
            }
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                tracing::error!(folder = subject.name, "reading a folder panicked: see above");
                self.notes.done(subject);
                Err(Unjudged::Panicked)
            }
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.deadline.as_secs();
                tracing::warn!(folder = subject.name, seconds, "reading a folder takes too long");
                self.notes.change(|quarantine| quarantine.too_slow(subject, seconds));
                Err(Unjudged::PassedOver(PassedOver::IsTooSlow(seconds)))
            }
        }
    }

    /// Nothing is in hand for now: that is noted, so that whoever kills the process then blames nobody.
    pub fn rest(&self) {
        self.notes.change(|_| {});
    }

    /// The process ends because somebody said so.
    pub fn leave(&self) {
        self.notes.change(Quarantine::leave);
    }
}

impl Notes {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something is begun, where it is to be.
    fn begin(&self, subject: &Subject, turn: Turn) -> Result<(), PassedOver> {
        let mut known = self.known();
        if known.harmless.contains(subject) {
            return Ok(());
        }
        let quarantine = self.quarantine(&mut known);
        if let Some(passed_over) = quarantine.passes_over(subject, turn) {
            return Err(passed_over);
        }
        quarantine.begin(subject);
        self.note(&mut known);
        Ok(())
    }

    /// Something is done. That is noted with what is begun next, or with [`Judge::rest`].
    fn done(&self, subject: &Subject) {
        let mut known = self.known();
        self.quarantine(&mut known).done(subject);
        if known.harmless.len() >= HARMLESS {
            known.harmless.clear();
        }
        known.harmless.insert(subject.clone());
    }

    fn change(&self, change: impl FnOnce(&mut Quarantine)) {
        let mut known = self.known();
        change(self.quarantine(&mut known));
        self.note(&mut known);
    }

    /// What is known, with what the process before this one left.
    fn quarantine<'k>(&self, known: &'k mut Known) -> &'k mut Quarantine {
        known.quarantine.get_or_insert_with(|| {
            let left = self.store.read().unwrap_or_else(|error| {
                tracing::warn!(%error, "what the last process was at cannot be read");
                None
            });
            known.noted.clone_from(&left);
            Quarantine::after(left.as_deref(), concat!("capstan ", env!("CARGO_PKG_VERSION")))
        })
    }

    /// Notes what is known, where that is news. A disk that takes nothing stops nobody.
    fn note(&self, known: &mut Known) {
        let Some(note) = known.quarantine.as_ref().map(Quarantine::note) else { return };
        if known.noted.as_deref() == Some(&note) {
            return;
        }
        match self.store.write(&note) {
            Ok(()) => known.noted = Some(note),
            Err(error) => tracing::warn!(%error, "what is being read cannot be noted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Memory(Mutex<Option<String>>);

    impl QuarantineStore for Memory {
        fn read(&self) -> Result<Option<String>, String> {
            Ok(self.0.lock().unwrap().clone())
        }
        fn write(&self, note: &str) -> Result<(), String> {
            *self.0.lock().unwrap() = Some(note.to_owned());
            Ok(())
        }
    }

    fn subject(name: &str) -> Subject {
        Subject { name: name.to_owned(), content: "1".to_owned() }
    }

    fn judge(store: &Arc<Memory>, deadline: Duration) -> Judge {
        Judge::new(Arc::<Memory>::clone(store), deadline)
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_panic_is_its_own_refusal() {
        let judge = judge(&Arc::default(), LONG);
        let panicked: Result<(), _> = judge.judge(&subject("bad"), Turn::First, || panic!("a bug"));
        assert_eq!(panicked, Err(Unjudged::Panicked));
        assert_eq!(judge.judge(&subject("good"), Turn::First, || 7), Ok(7));
    }

    #[test]
    fn it_is_noted_before_it_is_begun_and_the_next_process_passes_it_over() {
        let store: Arc<Memory> = Arc::default();
        let seen = Arc::clone(&store);
        let first = judge(&store, LONG);
        let noted = first.judge(&subject("bad"), Turn::First, move || seen.read().unwrap().unwrap());
        // What stood there when it was begun is what a dead process leaves.
        store.write(&noted.unwrap()).unwrap();
        let second = judge(&store, LONG);
        let suspected = Err(Unjudged::PassedOver(PassedOver::Suspected));
        assert_eq!(second.judge(&subject("bad"), Turn::First, || 7), suspected);
        assert_eq!(second.judge(&subject("good"), Turn::First, || 7), Ok(7));
        assert_eq!(second.judge(&subject("bad"), Turn::Second, || 7), Ok(7));
        second.rest();
        assert_eq!(judge(&store, LONG).judge(&subject("bad"), Turn::First, || 7), Ok(7));
    }

    #[test]
    fn what_takes_too_long_is_left_and_the_next_one_is_judged() {
        let judge = judge(&Arc::default(), Duration::from_millis(20));
        let (release, held) = std::sync::mpsc::channel::<()>();
        let slow = Err(Unjudged::PassedOver(PassedOver::IsTooSlow(0)));
        assert_eq!(judge.judge(&subject("slow"), Turn::First, move || held.recv().is_ok()), slow);
        assert_eq!(judge.judge(&subject("slow"), Turn::Second, || true), slow, "not begun beside itself");
        drop(release);
    }
}
