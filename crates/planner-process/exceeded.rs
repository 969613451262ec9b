//! What was beyond the limits, by what was asked: kept in a file, so that the next bot does not meet it again.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use capstan_model::ids::ClusterId;
use serde::{Deserialize, Serialize};

use super::{Cause, Ended, Extent};

/// So many requests are remembered.
const REMEMBERED: usize = 1_000;

/// What took too long is tried again after so many seconds: the machine may have been busy.
const SLOW_FOR: u64 = 10 * 60;

/// A newer Capstan may have other limits: it tries again.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The requests that were beyond the limits, by the SHA-256 of what was asked.
#[derive(Default)]
pub(super) struct Exceeded {
    by_request: HashMap<String, Known>,
    /// The oldest in front.
    order: VecDeque<String>,
    file: Option<PathBuf>,
}

struct Known {
    ended: Ended,
    /// When it was found to take too long, in seconds since 1970; `None` where it is beyond the limits whenever it is
    /// tried.
    slow_since: Option<u64>,
}

impl Known {
    fn holds(&self) -> bool {
        // A clock that was set back makes no pause longer.
        self.slow_since.is_none_or(|since| seconds().checked_sub(since).is_some_and(|age| age < SLOW_FOR))
    }
}

/// Seconds since 1970.
fn seconds() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().as_ref().map_or(0, Duration::as_secs)
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    requests: Vec<KeptRequest>,
}

#[derive(Serialize, Deserialize)]
struct KeptRequest {
    sha256: String,
    why: String,
    open: BTreeSet<ClusterId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slow_since: Option<u64>,
    #[serde(default)]
    in_all: bool,
}

impl Exceeded {
    /// What is kept in a file. One that cannot be read is as none: what it would have said is found out again.
    pub(super) fn read(file: Option<&Path>) -> Self {
        let mut exceeded = Self { file: file.map(Path::to_path_buf), ..Self::default() };
        let kept = file.and_then(|file| std::fs::read(file).ok());
        let kept: Option<Kept> = kept.and_then(|kept| serde_json::from_slice(&kept).ok());
        for KeptRequest { sha256, why, open, slow_since, in_all } in
            kept.filter(|kept| kept.version == VERSION).map(|kept| kept.requests).unwrap_or_default()
        {
            let cause = if slow_since.is_some() { Cause::Slow } else { Cause::Content };
            let extent = if in_all { Extent::InAll } else { Extent::AtOne };
            let ended = Ended { extent, ..Ended::of(cause, why, open) };
            exceeded.insert(sha256, Known { ended, slow_since });
        }
        exceeded
    }

    /// How a request ended, where it was beyond the limits.
    pub(super) fn get(&self, request: &str) -> Option<Ended> {
        self.by_request.get(request).filter(|known| known.holds()).map(|known| known.ended.told_again())
    }

    /// Remembers how a request ended, if what was asked of is to blame; that it took too long, for a while.
    pub(super) fn keep(&mut self, request: String, ended: &Ended) {
        let slow_since = match ended.cause {
            Cause::Content => None,
            Cause::Slow => Some(seconds()),
            Cause::Killed | Cause::Others => return,
        };
        self.insert(request, Known { ended: ended.clone(), slow_since });
        if let Some(file) = &self.file
            && let Err(error) = self.write(file)
        {
            tracing::warn!(file = %file.display(), error = %error, "what is beyond the limits cannot be kept");
        }
    }

    fn insert(&mut self, request: String, known: Known) {
        if self.by_request.insert(request.clone(), known).is_none() {
            self.order.push_back(request);
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.by_request.remove(&oldest);
            }
        }
    }

    /// All of it or nothing; the file is the owner's alone.
    fn write(&self, file: &Path) -> std::io::Result<()> {
        let request = |sha256: &String| {
            let Known { ended: Ended { why, open, extent, .. }, slow_since } =
                self.by_request.get(sha256).filter(|known| known.holds())?;
            let (why, open) = (why.clone(), open.clone());
            let in_all = *extent == Extent::InAll;
            Some(KeptRequest { sha256: sha256.clone(), why, open, slow_since: *slow_since, in_all })
        };
        let requests = self.order.iter().filter_map(request).collect();
        let folder = file.parent().unwrap_or(Path::new("."));
        let name = file.file_name().unwrap_or_default();
        let mut written = tempfile::Builder::new().prefix(name).tempfile_in(folder)?;
        written.write_all(&serde_json::to_vec(&Kept { version: VERSION.to_owned(), requests })?)?;
        written.as_file().sync_all()?;
        written.persist(file)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_beyond_the_limits_is_known_to_the_next_bot_and_the_oldest_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("exceeded.json");
        let cluster = ClusterId::new(capstan_model::tree::RepoPath::parse("gauss/peu01").unwrap());
        let ended = Ended::of(Cause::Content, "too much".to_owned(), [cluster.clone()].into());
        let mut first = Exceeded::read(Some(&file));
        first.keep("one".to_owned(), &ended);
        first.keep("slow".to_owned(), &Ended { cause: Cause::Slow, ..ended.clone() });
        let in_all = Ended { cause: Cause::Slow, extent: Extent::InAll, ..ended.clone() };
        first.keep("in all".to_owned(), &in_all);
        first.keep("killed".to_owned(), &Ended { cause: Cause::Killed, ..ended.clone() });
        assert!(first.get("slow").is_some() && first.get("killed").is_none());
        let next = Exceeded::read(Some(&file));
        let known = next.get("one").unwrap();
        assert_eq!((known.why.as_str(), known.open), ("too much", [cluster].into()));
        assert_eq!(next.get("slow").unwrap().cause, Cause::Slow);
        assert_eq!(next.get("in all").unwrap().extent, Extent::InAll);
        for (age, holds) in
            [(0, true), (SLOW_FOR - 10, true), (SLOW_FOR, false), (0_u64.wrapping_sub(100), false)]
        {
            let slow_since = Some(seconds().wrapping_sub(age));
            assert_eq!(Known { ended: ended.clone(), slow_since }.holds(), holds, "{age}");
        }
        for number in 0..REMEMBERED {
            first.insert(number.to_string(), Known { ended: ended.clone(), slow_since: None });
        }
        assert!(first.get("one").is_none());
        std::fs::write(&file, "not JSON").unwrap();
        assert!(Exceeded::read(Some(&file)).get("one").is_none());
    }
}
