//! What exceeded the limits, by what was asked: kept in a file, so that the next process does not meet it again.
//!
//! *Rule*: what takes too much memory or stack is not begun again until what it reads changes, or the limits do. What
//! took too long is begun again, since the machine may have been busy: once after each of the [`PAUSES`], and then no
//! more. The day does not count as something that is read: else all of it would begin again at midnight. *Assumption*:
//! the file is still there. Without it, each is begun once more.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use capstan_campaign::wording::minute;
use capstan_model::ids::ClusterId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Extent, FailedCall, FailureCause, Processes};

/// How many requests are remembered.
const REMEMBERED: usize = 1_000;

/// What took too long is begun again once each of these has passed since it did, one after the other.
const PAUSES: [Duration; 3] = [Duration::from_mins(10), Duration::from_hours(1), Duration::from_hours(6)];

/// The requests that were beyond the limits, by the SHA-256 of what was asked.
#[derive(Default)]
pub(super) struct Exceeded {
    by_request: HashMap<String, KnownFailure>,
    /// The oldest in front.
    order: VecDeque<String>,
    file: Option<PathBuf>,
    /// Under another program or other limits it may be otherwise.
    limits: String,
}

struct KnownFailure {
    ended: FailedCall,
    /// Where it was time that it took too much of.
    slow: Option<Slow>,
}

/// That something took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Slow {
    /// When it was found last, in seconds since 1970.
    since: u64,
    /// How often it was tried.
    tries: usize,
}

impl Slow {
    /// When it may be begun again, a whole minute; `None` where it was tried often enough.
    fn until(self) -> Option<u64> {
        let pause = PAUSES.get(self.tries.saturating_sub(1))?;
        let until = self.since.saturating_add(pause.as_secs());
        Some(until.next_multiple_of(60))
    }

    /// Whether it is not to be begun now.
    fn holds(self, now: u64) -> bool {
        // A clock that was set back makes no pause longer.
        self.until().is_none_or(|until| (self.since..until).contains(&now))
    }

    /// The same as a point in time.
    fn ends(self) -> Option<Timestamp> {
        self.until().and_then(|until| Timestamp::from_second(i64::try_from(until).ok()?).ok())
    }

    /// When it is begun again, as a sentence.
    fn again(self) -> String {
        self.ends().map_or_else(
            || {
                format!(
                    "It took too long {} times: Capstan does not start it again until its input changes.",
                    self.tries
                )
            },
            |until| {
                format!("Capstan does not start it again before {}, unless its input changes.", minute(until))
            },
        )
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().as_ref().map_or(0, Duration::as_secs)
}

#[derive(Serialize, Deserialize)]
struct StoredFailures {
    limits: String,
    requests: Vec<KeptRequest>,
}

#[derive(Serialize, Deserialize)]
struct KeptRequest {
    sha256: String,
    why: String,
    open: BTreeSet<ClusterId>,
    #[serde(default)]
    released: Box<[ClusterId]>,
    slow: Option<Slow>,
    in_all: bool,
}

impl Exceeded {
    /// What is kept for such processes. A file that cannot be read is as none: what it would have said is found out again.
    pub(super) fn read(processes: &Processes) -> Self {
        let Processes { memory, stack, patience, whole, remembered: file, share, .. } = processes;
        let version = env!("CARGO_PKG_VERSION");
        let (patience, whole, share) = (patience.as_millis(), whole.as_millis(), share.unwrap_or(*memory));
        let limits = format!("{version} {memory} {stack} {patience} {whole} {share}");
        let kept = file.as_ref().and_then(|file| std::fs::read(file).ok());
        let kept: Option<StoredFailures> = kept.and_then(|kept| serde_json::from_slice(&kept).ok());
        let kept = kept.filter(|kept| kept.limits == limits).map(|kept| kept.requests).unwrap_or_default();
        let mut exceeded = Self { file: file.clone(), limits, ..Self::default() };
        for KeptRequest { sha256, why, open, released, slow, in_all } in kept {
            let cause = if slow.is_some() { FailureCause::Slow } else { FailureCause::Content };
            let extent = if in_all { Extent::InAll } else { Extent::AtOne };
            exceeded.insert(
                sha256,
                FailedCall { extent, released, ..FailedCall::of(cause, why, open) },
                slow,
            );
        }
        exceeded
    }

    /// How a request ended, where it is not to be begun now.
    pub(super) fn get(&self, request: &str, now: u64) -> Option<FailedCall> {
        let known = self.by_request.get(request)?;
        known.slow.is_none_or(|slow| slow.holds(now)).then(|| known.ended.remembered())
    }

    /// Remembers how a request ended, if what was asked of is to blame, and says when it is begun again.
    pub(super) fn keep(&mut self, request: String, ended: FailedCall, now: u64) -> FailedCall {
        let slow = match ended.cause {
            FailureCause::Content => None,
            FailureCause::Slow => {
                let before = self.by_request.get(&request).and_then(|known| known.slow);
                Some(Slow { since: now, tries: before.map_or(0, |before| before.tries) + 1 })
            }
            FailureCause::Killed | FailureCause::Others => return ended,
        };
        let ended = self.insert(request, ended, slow);
        if let Some(file) = &self.file
            && let Err(error) = self.write(file)
        {
            tracing::warn!(file = %file.display(), error = %error, "the record of what exceeded the limits cannot be stored");
        }
        ended
    }

    fn insert(&mut self, request: String, ended: FailedCall, slow: Option<Slow>) -> FailedCall {
        let again = slow.map_or_else(
            || "Capstan does not start it again until its input changes.".to_owned(),
            Slow::again,
        );
        let ended = FailedCall { again, until: slow.and_then(Slow::ends), ..ended };
        if self.by_request.insert(request.clone(), KnownFailure { ended: ended.clone(), slow }).is_none() {
            self.order.push_back(request);
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.by_request.remove(&oldest);
            }
        }
        ended
    }

    /// All of it or nothing; the file is the owner's alone.
    fn write(&self, file: &Path) -> std::io::Result<()> {
        let request = |sha256: &String| {
            let KnownFailure { ended: FailedCall { why, open, released, extent, .. }, slow } =
                self.by_request.get(sha256)?;
            let (why, open, released) = (why.clone(), open.clone(), released.clone());
            let in_all = *extent == Extent::InAll;
            Some(KeptRequest { sha256: sha256.clone(), why, open, released, slow: *slow, in_all })
        };
        let requests = self.order.iter().filter_map(request).collect();
        let folder = file.parent().unwrap_or(Path::new("."));
        let name = file.file_name().unwrap_or_default();
        let mut written = tempfile::Builder::new().prefix(name).tempfile_in(folder)?;
        written.write_all(&serde_json::to_vec(&StoredFailures { limits: self.limits.clone(), requests })?)?;
        written.as_file().sync_all()?;
        written.persist(file)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    /// 2026-11-29 12:00 UTC.
    const NOON: u64 = 1_795_953_600;
    const FOREVER: u64 = 100 * 365 * 24 * HOUR;

    fn processes(file: Option<&Path>) -> Processes {
        Processes {
            program: PathBuf::new(),
            work: "Planning",
            count: 2,
            idle: 2,
            memory: 1 << 30,
            stack: 16 << 20,
            patience: Duration::from_mins(1),
            whole: Duration::from_mins(5),
            remembered: file.map(Path::to_path_buf),
            share: None,
        }
    }

    fn ended(cause: FailureCause) -> FailedCall {
        let cluster = ClusterId::new(capstan_model::tree::RepoPath::parse("gauss/peu01").unwrap());
        FailedCall::of(cause, "Too much.".to_owned(), [cluster].into())
    }

    #[test]
    fn what_was_beyond_the_limits_is_begun_again_as_the_rule_says() {
        const NEVER: &str = "Capstan does not start it again until its input changes.";
        // After so many tries one after the other: until when it is not begun, and what is said.
        for (cause, tries, pause, says) in [
            (FailureCause::Content, 1, FOREVER, NEVER),
            (
                FailureCause::Slow,
                1,
                10 * MINUTE,
                "Capstan does not start it again before 2026-11-29 12:10 UTC, unless its input changes.",
            ),
            (
                FailureCause::Slow,
                2,
                HOUR,
                "Capstan does not start it again before 2026-11-29 13:00 UTC, unless its input changes.",
            ),
            (
                FailureCause::Slow,
                3,
                6 * HOUR,
                "Capstan does not start it again before 2026-11-29 18:00 UTC, unless its input changes.",
            ),
            (
                FailureCause::Slow,
                4,
                FOREVER,
                "It took too long 4 times: Capstan does not start it again until its input changes.",
            ),
            (FailureCause::Killed, 1, 0, ""),
            (FailureCause::Others, 1, 0, ""),
        ] {
            let mut exceeded = Exceeded::read(&processes(None));
            let mut told = ended(cause);
            for _ in 0..tries {
                told = exceeded.keep("it".to_owned(), ended(cause), NOON);
            }
            assert_eq!(told.again, says, "{cause:?} {tries}");
            let until = told.until.map(|until| u64::try_from(until.as_second()).unwrap() - NOON);
            assert_eq!(until, (1..FOREVER).contains(&pause).then_some(pause), "{cause:?} {tries}");
            let is_told =
                |after: u64| exceeded.get("it", NOON + after).map(|known| (known.again, known.is_known));
            let known = (pause > 0).then(|| (says.to_owned(), true));
            assert_eq!(is_told(0), known, "{cause:?} {tries}");
            assert_eq!(is_told(pause.saturating_sub(1)), known, "{cause:?} {tries}");
            let after = if pause == FOREVER { known } else { None };
            assert_eq!(is_told(pause), after, "{cause:?} {tries}");
            assert!(exceeded.get("what it reads is another thing", NOON).is_none());
        }
        // Not on the minute: what is said holds. A clock that was set back makes no pause longer.
        let slow = Slow { since: NOON + 1, tries: 1 };
        for (after, holds) in
            [(0, false), (1, true), (10 * MINUTE, true), (11 * MINUTE - 1, true), (11 * MINUTE, false)]
        {
            assert_eq!(slow.holds(NOON + after), holds, "{after}");
        }
    }

    #[test]
    fn the_next_bot_knows_it_unless_its_limits_are_others_and_the_oldest_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("exceeded.json");
        let limits = processes(Some(&file));
        let mut first = Exceeded::read(&limits);
        first.keep("one".to_owned(), ended(FailureCause::Content), NOON);
        first.keep("slow".to_owned(), ended(FailureCause::Slow), NOON);
        first.keep(
            "in all".to_owned(),
            FailedCall { extent: Extent::InAll, ..ended(FailureCause::Slow) },
            NOON,
        );
        first.keep("killed".to_owned(), ended(FailureCause::Killed), NOON);
        let mut next = Exceeded::read(&limits);
        let known = |kept: &Exceeded, which: &str, now: u64| {
            kept.get(which, now).map(|known| (known.why, known.open, known.cause, known.extent))
        };
        let told = |cause, extent| {
            let FailedCall { why, open, .. } = ended(cause);
            Some((why, open, cause, extent))
        };
        assert_eq!(known(&next, "one", NOON + FOREVER), told(FailureCause::Content, Extent::AtOne));
        assert_eq!(known(&next, "slow", NOON), told(FailureCause::Slow, Extent::AtOne));
        assert_eq!(known(&next, "in all", NOON), told(FailureCause::Slow, Extent::InAll));
        assert_eq!(known(&next, "killed", NOON), None);
        // Its tries are counted on, also those that were noted before the pause was over.
        assert_eq!(known(&next, "slow", NOON + HOUR), None);
        next.keep("one more".to_owned(), ended(FailureCause::Content), NOON + HOUR);
        let mut third = Exceeded::read(&limits);
        let again = third.keep("slow".to_owned(), ended(FailureCause::Slow), NOON + HOUR).again;
        assert_eq!(
            again,
            "Capstan does not start it again before 2026-11-29 14:00 UTC, unless its input changes."
        );

        let more = |change: fn(&mut Processes)| {
            let mut limits = limits.clone();
            change(&mut limits);
            Exceeded::read(&limits).get("one", NOON).is_none()
        };
        assert!(more(|limits| limits.memory *= 2));
        assert!(more(|limits| limits.stack *= 2));
        assert!(more(|limits| limits.patience *= 2));
        assert!(more(|limits| limits.whole *= 2));
        assert!(!more(|limits| limits.count *= 2), "what one may take is the same");

        for number in 0..REMEMBERED {
            first.insert(number.to_string(), ended(FailureCause::Content), None);
        }
        assert!(first.get("one", NOON).is_none());
        std::fs::write(&file, "not JSON").unwrap();
        assert!(Exceeded::read(&limits).get("one", NOON).is_none());
    }
}
