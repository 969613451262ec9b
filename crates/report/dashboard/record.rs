//! Capstan's authenticated record at the end of the dashboard's body: decisions that have no open pull
//! request, the pause, answers, and the digests of earlier texts.

use capstan_campaign::facts::Note;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_plan::proposal::{Decisions, Paused, ProposalId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::boxes::{Choice, digest, take_ticks};
use super::earlier::EarlierText;
use crate::block::{BlockKey, ascii, ends_sealed, seal, strip, unseal};

/// An answer to a tick, or another message that the dashboard shows for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// When it was written.
    pub at: Timestamp,
    /// Markdown, on one line.
    pub text: String,
}

/// Bytes that notices take in a record.
const ROOM: usize = 12 << 10;

/// The newest notices, at most `most` and as many as have room; oldest first, as they came.
pub fn newest_notices(notices: Vec<Notice>, most: usize) -> Vec<Notice> {
    let mut room = ROOM;
    let mut kept: Vec<Notice> = notices
        .into_iter()
        .rev()
        .take(most)
        .take_while(|notice| {
            let takes = ascii(&notice.text).len() + 60;
            let fits = takes <= room;
            room = room.saturating_sub(takes);
            fits
        })
        .collect();
    kept.reverse();
    kept
}

/// Why Capstan closed a dashboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClosedDashboard {
    /// The settings switch it off.
    Settings,
    /// There was another one already.
    Duplicate,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DashboardRecord {
    /// Counts Capstan's writes: of two records the higher one is the later.
    pub edition: u64,
    /// Digest of the text above it, as Capstan wrote it.
    pub text: String,
    /// The title that the settings wanted.
    pub title: String,
    /// Whether the settings switch it on explicitly.
    pub asked_for: bool,
    /// Set where Capstan closed it.
    pub closed: Option<ClosedDashboard>,
    /// Whether Capstan is paused in the repository.
    pub pause: Option<Paused>,
    /// Decisions about proposals that have no open pull request.
    pub decisions: Vec<(ProposalId, Decisions)>,
    /// Progress of releases that move through campaigns.
    pub campaigns: Vec<Note>,
    /// Answers, oldest first.
    pub notices: Vec<Notice>,
    /// Earlier texts, oldest first: their ticks may arrive late.
    pub earlier: Vec<EarlierText>,
}

#[derive(Serialize, Deserialize)]
struct RecordPayload {
    /// The repository's id.
    dashboard: u64,
    edition: u64,
    text: String,
    title: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    asked_for: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    closed: Option<ClosedDashboard>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pause: Option<Paused>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    decisions: Vec<RecordedDecision>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    campaigns: Vec<Note>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    notices: Vec<Notice>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    earlier: Vec<EarlierText>,
}

#[derive(Serialize, Deserialize)]
struct RecordedDecision {
    target: Target,
    kind: String,
    #[serde(flatten)]
    decisions: Decisions,
}

impl DashboardRecord {
    /// The stored form beside the issue: JSON.
    pub fn to_json(&self, repository: u64) -> String {
        let decided = |(proposal, decisions): &(ProposalId, Decisions)| RecordedDecision {
            target: proposal.target.clone(),
            kind: proposal.kind.to_string(),
            decisions: decisions.clone(),
        };
        let payload = RecordPayload {
            dashboard: repository,
            edition: self.edition,
            text: self.text.clone(),
            title: self.title.clone(),
            asked_for: self.asked_for,
            closed: self.closed,
            pause: self.pause.clone(),
            decisions: self.decisions.iter().map(decided).collect(),
            campaigns: self.campaigns.clone(),
            notices: self.notices.clone(),
            earlier: self.earlier.clone(),
        };
        serde_json::to_string(&payload).unwrap_or_default()
    }

    /// Reads that; `None` where it is not valid, or another repository's.
    pub fn of_json(json: &str, repository: u64) -> Option<Self> {
        let payload: RecordPayload = serde_json::from_str(json).ok()?;
        if payload.dashboard != repository {
            return None;
        }
        let decided = |one: RecordedDecision| {
            let kind = SourceKind::parse(&one.kind)?;
            Some((ProposalId { target: one.target, kind }, one.decisions))
        };
        Some(Self {
            edition: payload.edition,
            text: payload.text,
            title: payload.title,
            asked_for: payload.asked_for,
            closed: payload.closed,
            pause: payload.pause,
            decisions: payload.decisions.into_iter().filter_map(decided).collect(),
            campaigns: payload.campaigns,
            notices: payload.notices,
            earlier: payload.earlier,
        })
    }

    /// Reads the record of a body; `None` if there is none, somebody changed it, or it is for another
    /// repository.
    pub fn read(body: &str, key: &BlockKey, repository: u64) -> Option<Self> {
        Self::of_json(unseal(body, key)?, repository)
    }

    /// The body: this text above the record, which then holds its digest.
    pub fn body(&self, text: &str, key: &BlockKey, repository: u64) -> String {
        text.to_owned() + &seal(&self.to_json(repository), key)
    }

    /// The same for a text.
    #[must_use]
    pub fn with_text(self, text: &str) -> Self {
        Self { text: digest(text), ..self }
    }

    /// Whether it says the same, written or not yet.
    pub fn says(&self, other: &Self) -> bool {
        Self { edition: 0, ..self.clone() } == Self { edition: 0, ..other.clone() }
    }
}

/// What people see in a body.
pub fn dashboard_above(body: &str) -> &str {
    strip(body)
}

/// A body, compared with what Capstan wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardReading {
    /// It equals Capstan's text.
    AsWritten,
    /// These boxes were ticked, and nothing else is different.
    Ticked(Vec<Choice>),
    /// Somebody changed the text.
    Edited,
}

/// Reads the body of a dashboard with that record.
pub fn read_dashboard(
    body: &str,
    record: &DashboardRecord,
    key: &BlockKey,
    repository: u64,
) -> DashboardReading {
    let is_own = DashboardRecord::read(body, key, repository).is_some_and(|found| found == *record);
    let (ticked, _) = take_ticks(strip(body));
    if !is_own || !ends_sealed(body) || digest(strip(body)) != record.text {
        DashboardReading::Edited
    } else if ticked.is_empty() {
        DashboardReading::AsWritten
    } else {
        DashboardReading::Ticked(ticked)
    }
}
