//! Reports on disk: one file each, in the order of their ids, until the bot has taken them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use capstan_live::agent::{ReportId, RolloutReport, RolloutState};
use capstan_model::ids::ClusterId;
use ulid::Ulid;

use super::{AgentError, files};

/// The file that holds the last id that was given out.
const LAST: &str = "last";

/// How much may wait.
#[derive(Debug, Clone, Copy)]
pub struct OutboxLimits {
    pub reports: usize,
    /// Bytes of them.
    pub bytes: u64,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self { reports: 20_000, bytes: 256 << 20 }
    }
}

/// Reports that wait.
pub(super) struct Outbox {
    folder: PathBuf,
    limits: OutboxLimits,
    /// What waits, oldest first: which cluster, and how many bytes.
    waiting: BTreeMap<ReportId, (ClusterId, u64)>,
    bytes: u64,
    /// The last id that was given out.
    last: Option<Ulid>,
    /// What was last said of each cluster, without id and time.
    said: HashMap<ClusterId, RolloutReport>,
}

impl Outbox {
    pub(super) fn open(folder: &Path, limits: OutboxLimits) -> Result<Self, AgentError> {
        files::make_private_folder(folder)?;
        let mut outbox = Self {
            folder: folder.to_path_buf(),
            limits,
            waiting: BTreeMap::new(),
            bytes: 0,
            last: None,
            said: HashMap::new(),
        };
        let last = files::read(&folder.join(LAST))?;
        let last = last.and_then(|text| Ulid::from_string(std::str::from_utf8(&text).ok()?).ok());
        for entry in std::fs::read_dir(folder).map_err(files::disk(folder))?.flatten() {
            let path = entry.path();
            if path.file_name().is_some_and(|name| name == LAST) {
                continue;
            }
            let id =
                path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| ReportId::parse(stem).ok());
            let is_report = path.extension().is_some_and(|extension| extension == "json");
            let report =
                files::read(&path)?.and_then(|bytes| read(&bytes).map(|report| (report, bytes.len())));
            match (id, report) {
                (Some(id), Some((report, length))) if is_report && report.id == id => {
                    outbox.take_in(id, report, length as u64);
                }
                // Left over from a write that was cut off, or damaged: nothing that could be sent.
                _ => files::remove(&path)?,
            }
        }
        let waiting = outbox.waiting.keys().next_back().and_then(|id| Ulid::from_string(id.as_str()).ok());
        outbox.last = waiting.max(last);
        Ok(outbox)
    }

    fn take_in(&mut self, id: ReportId, report: RolloutReport, length: u64) {
        self.waiting.insert(id, (report.cluster.clone(), length));
        self.bytes = self.bytes.saturating_add(length);
        let newer = self.said.get(&report.cluster).is_none_or(|said| said.id < report.id);
        if newer {
            self.said.insert(report.cluster.clone(), report);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Stores a report under a new id; drops one that says what was said last.
    pub(super) fn store(&mut self, mut report: RolloutReport) -> Result<(), AgentError> {
        if self.said.get(&report.cluster).is_some_and(|said| says_the_same(said, &report)) {
            return Ok(());
        }
        let fresh = Ulid::generate();
        let id = match self.last {
            // The clock stopped, or went back.
            Some(last) if fresh <= last => last.increment().unwrap_or(fresh),
            _ => fresh,
        };
        self.last = Some(id);
        let unwritable =
            |reason: String| AgentError::Disk { path: self.folder.display().to_string(), reason };
        report.id = ReportId::parse(&id.to_string()).map_err(|error| unwritable(error.to_string()))?;
        let bytes = serde_json::to_vec(&report).map_err(|error| unwritable(error.to_string()))?;
        files::write(&self.path(&report.id), &bytes)?;
        self.take_in(report.id.clone(), report, bytes.len() as u64);
        self.make_room()
    }

    fn path(&self, id: &ReportId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Of clusters with several reports the oldest go first; a cluster's newest only where nothing else is
    /// left.
    fn make_room(&mut self) -> Result<(), AgentError> {
        while self.waiting.len() > self.limits.reports || self.bytes > self.limits.bytes {
            let newest: HashMap<&ClusterId, &ReportId> =
                self.waiting.iter().map(|(id, (cluster, _))| (cluster, id)).collect();
            let superseded = self
                .waiting
                .iter()
                .find_map(|(id, (cluster, _))| (newest.get(cluster) != Some(&id)).then(|| id.clone()));
            let Some(id) = superseded.or_else(|| self.waiting.keys().next().cloned()) else { return Ok(()) };
            tracing::warn!(report = %id, "too many reports wait for the bot: the oldest is dropped");
            self.remove(&id)?;
        }
        Ok(())
    }

    /// The oldest reports, at most so many, and bytes.
    pub(super) fn oldest(&self, count: usize, bytes: u64) -> Vec<RolloutReport> {
        let mut batch = Vec::new();
        let mut left = bytes;
        for (id, (_, length)) in self.waiting.iter().take(count) {
            if *length > left && !batch.is_empty() {
                break;
            }
            left = left.saturating_sub(*length);
            let stored = files::read(&self.path(id)).ok().flatten();
            match stored.and_then(|bytes| read(&bytes)) {
                Some(report) => batch.push(report),
                None => tracing::warn!(report = %id, "a stored report cannot be read"),
            }
        }
        batch
    }

    /// Forgets what was said of a cluster, or of all: it is news again.
    pub(super) fn forget_said(&mut self, cluster: Option<&ClusterId>) {
        match cluster {
            Some(cluster) => drop(self.said.remove(cluster)),
            None => self.said.clear(),
        }
    }

    /// Remembers the last id before the reports that hold it are removed: a clock that went back over a
    /// restart must not give ids that the bot takes for older ones.
    pub(super) fn remember_last(&self) -> Result<(), AgentError> {
        match self.last {
            Some(last) => files::write(&self.folder.join(LAST), last.to_string().as_bytes()),
            None => Ok(()),
        }
    }

    /// Forgets a report that the bot has, or never takes.
    pub(super) fn remove(&mut self, id: &ReportId) -> Result<(), AgentError> {
        files::remove(&self.path(id))?;
        if let Some((_, length)) = self.waiting.remove(id) {
            self.bytes = self.bytes.saturating_sub(length);
        }
        Ok(())
    }
}

fn read(bytes: &[u8]) -> Option<RolloutReport> {
    serde_json::from_slice(bytes).ok()
}

/// A commit that was tried and changed nothing is not a change of a cluster.
fn says_the_same(said: &RolloutReport, report: &RolloutReport) -> bool {
    let attempted = match report.state {
        RolloutState::Refused => &report.attempted,
        _ if report.applied.is_none() => &report.attempted,
        _ => &said.attempted,
    };
    let same = RolloutReport {
        id: said.id.clone(),
        observed_at: said.observed_at,
        attempted: attempted.clone(),
        ..report.clone()
    };
    same == *said
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::tree::{CommitId, RepoPath};
    use capstan_plan::settings::RepositoryName;

    fn report(cluster: &str, ready: u32) -> RolloutReport {
        RolloutReport {
            id: ReportId::parse("00000000000000000000000000").unwrap(),
            repository: RepositoryName::parse("acme/gitops").unwrap(),
            cluster: ClusterId::new(RepoPath::parse(cluster).unwrap()),
            attempted: CommitId::parse(&"a".repeat(40)).unwrap(),
            applied: None,
            state: RolloutState::Rolling,
            observed_at: jiff::Timestamp::UNIX_EPOCH,
            since: None,
            words: None,
            reasons: vec![],
            wanted: 9,
            ready,
            machines: vec![],
            machines_left_out: 0,
            kubeconfig: None,
            names: vec![],
        }
    }

    fn said(outbox: &Outbox) -> Vec<(String, u32)> {
        outbox.oldest(100, u64::MAX).iter().map(|one| (one.cluster.to_string(), one.ready)).collect()
    }

    #[test]
    fn reports_survive_in_order_and_say_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let mut outbox = Outbox::open(folder.path(), OutboxLimits::default()).unwrap();
        for (cluster, ready) in [("a", 1), ("b", 1), ("a", 1), ("a", 2), ("b", 1)] {
            outbox.store(report(cluster, ready)).unwrap();
        }
        let all = [("a".to_owned(), 1), ("b".to_owned(), 1), ("a".to_owned(), 2)];
        assert_eq!(said(&outbox), all);
        std::fs::write(folder.path().join("01ARZ3NDEKTSV4RRFFQ69G5FAV.new"), "cut off").unwrap();
        std::fs::write(folder.path().join("01ARZ3NDEKTSV4RRFFQ69G5FAV.json"), "{}").unwrap();
        let mut again = Outbox::open(folder.path(), OutboxLimits::default()).unwrap();
        assert_eq!(said(&again), all);
        again.store(report("a", 2)).unwrap();
        again.store(report("a", 3)).unwrap();
        assert_eq!(said(&again).last(), Some(&("a".to_owned(), 3)));
        let first = again.oldest(1, 0)[0].id.clone();
        again.remove(&first).unwrap();
        assert_eq!(again.len(), 3);
    }

    #[test]
    fn ids_go_on_although_the_clock_went_back_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let mut outbox = Outbox::open(folder.path(), OutboxLimits::default()).unwrap();
        // What a clock that is far ahead gives.
        outbox.last = Some(Ulid::from_string("7ZZZZZZZZZZZZZZZZZZZZZZZ00").unwrap());
        outbox.store(report("a", 1)).unwrap();
        outbox.remember_last().unwrap();
        let sent = outbox.oldest(1, u64::MAX)[0].id.clone();
        assert_eq!(sent.as_str(), "7ZZZZZZZZZZZZZZZZZZZZZZZ01");
        outbox.remove(&sent).unwrap();
        let mut again = Outbox::open(folder.path(), OutboxLimits::default()).unwrap();
        assert_eq!(again.len(), 0);
        again.store(report("a", 2)).unwrap();
        assert_eq!(again.oldest(1, u64::MAX)[0].id.as_str(), "7ZZZZZZZZZZZZZZZZZZZZZZZ02");
    }

    #[test]
    fn a_commit_without_changes_is_reported_only_if_it_was_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut outbox = Outbox::open(folder.path(), OutboxLimits::default()).unwrap();
        let tried = |digit: &str, state| RolloutReport {
            attempted: CommitId::parse(&digit.repeat(40)).unwrap(),
            applied: CommitId::parse(&"a".repeat(40)).ok(),
            state,
            ..report("a", 1)
        };
        let mut stored = |report: RolloutReport| {
            let before = outbox.len();
            outbox.store(report).unwrap();
            outbox.len() > before
        };
        assert!(stored(tried("a", RolloutState::Done)));
        assert!(!stored(tried("b", RolloutState::Done)));
        assert!(stored(tried("b", RolloutState::Refused)));
        assert!(stored(tried("c", RolloutState::Refused)));
        outbox.forget_said(None);
        outbox.store(tried("c", RolloutState::Refused)).unwrap();
        assert_eq!(outbox.len(), 4, "to a bot that knows nothing all is news");
    }

    #[test]
    fn where_there_is_no_room_a_clusters_newest_report_stays() {
        let folder = tempfile::tempdir().unwrap();
        let limits = OutboxLimits { reports: 3, ..OutboxLimits::default() };
        let mut outbox = Outbox::open(folder.path(), limits).unwrap();
        outbox.store(report("quiet", 1)).unwrap();
        for ready in 0..10 {
            outbox.store(report("busy", ready)).unwrap();
        }
        assert_eq!(said(&outbox), [("quiet".to_owned(), 1), ("busy".to_owned(), 8), ("busy".to_owned(), 9)]);
    }
}
