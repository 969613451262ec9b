//! The clouds that preflights ask, and what open proposals ask of them: noted for the process that follows this one.
//!
//! *Guarantee*: a proposal that the bot tells of no more counts no more. *Caveat*: of a bot that does not tell which stand,
//! what was asked counts for a day.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use capstan_live::cloud::{Need, OtherProposal};
use capstan_model::ids::ClusterId;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::blocking::where_blocking_is_allowed;
use super::ports::{FleetKey, FleetRecord, Notes};
use super::revision::Revision;
use capstan_ports::{CloudAccount, Clouds, NoClouds};

/// What a cluster asks of each account.
pub(super) type AccountNeeds = Vec<(CloudAccount, Vec<Need>)>;

/// How long a proposal's needs are remembered, where nobody tells whether it is open.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);
/// So many at most.
const MOST_REMEMBERED: usize = 2_000;

/// The clouds, and what open proposals ask of them.
pub struct CloudPreflight {
    pub(super) clouds: Arc<dyn Clouds>,
    notes: Arc<dyn Notes>,
    /// `None` until the notes were read.
    memory: Mutex<Option<Memory>>,
    /// Held while something changes and is noted: what is noted last is what holds last.
    noting: tokio::sync::Mutex<()>,
}

/// What is remembered.
#[derive(Default)]
struct Memory {
    /// Ordered by Fleet and cluster.
    asked: Vec<CloudQuestion>,
    /// The Fleets whose bot tells which proposals are open, in this process.
    reported: BTreeSet<String>,
}

/// What the head of a proposal needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CloudQuestion {
    fleet: String,
    cluster: ClusterId,
    /// The bot's id of the question.
    question: String,
    commit: String,
    /// What tells that a folder asks for the same in two commits.
    print: Option<String>,
    needs: AccountNeeds,
    at: Timestamp,
}

impl Memory {
    /// What the notes say; nothing where they cannot be read, which is said.
    fn read(notes: &dyn Notes) -> Self {
        let read = notes.read().and_then(|text| match text {
            Some(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
            None => Ok(Vec::new()),
        });
        let mut asked: Vec<CloudQuestion> = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "the cloud requirements of proposals cannot be read: Capstan computes them again");
            Vec::new()
        });
        asked.truncate(MOST_REMEMBERED);
        Self { asked, reported: BTreeSet::new() }
    }

    fn write(&self, notes: &dyn Notes) {
        let written = serde_json::to_string(&self.asked).map_err(|error| error.to_string());
        if let Err(error) = written.and_then(|text| notes.write(&text)) {
            tracing::warn!(%error, "the cloud requirements of proposals cannot be stored: a restart loses them");
        }
    }

    fn is_open(&self, one: &CloudQuestion, now: Timestamp) -> bool {
        self.reported.contains(&one.fleet) || now.duration_since(one.at) < REMEMBERED
    }
}

impl CloudPreflight {
    /// Asks these clouds, and notes there what proposals ask of them.
    pub fn new(clouds: Arc<dyn Clouds>, notes: Arc<dyn Notes>) -> Self {
        Self { clouds, notes, memory: Mutex::default(), noting: tokio::sync::Mutex::default() }
    }
}

impl Default for CloudPreflight {
    fn default() -> Self {
        Self::new(Arc::new(NoClouds), Arc::new(NoNotes))
    }
}

/// Nobody asks clouds, so there is nothing to note.
struct NoNotes;

impl Notes for NoNotes {
    fn read(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn write(&self, _note: &str) -> Result<(), String> {
        Ok(())
    }
}

impl CloudPreflight {
    /// Reads the notes, where that was not done yet.
    pub(super) async fn recall(&self) {
        let is_known = self.memory.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if is_known {
            return;
        }
        let notes = Arc::clone(&self.notes);
        let read = where_blocking_is_allowed(move || Memory::read(notes.as_ref())).await;
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(read);
    }

    /// Forgets the questions of a Fleet that are not among these: their proposals were closed, merged, or asked about
    /// again.
    pub async fn keep_only(&self, fleet: &FleetKey, standing: &BTreeSet<String>) {
        if !self.clouds.may_ask() {
            return;
        }
        self.recall().await;
        let fleet = fleet.to_string();
        self.change(move |memory| {
            memory.asked.retain(|one| one.fleet != fleet || standing.contains(&one.question));
            memory.reported.insert(fleet);
        })
        .await;
    }

    /// What other proposals that are still open ask of the same account.
    pub(super) fn elsewhere(
        &self,
        fleet: &FleetRecord,
        head: &Revision,
        clusters: &BTreeSet<&ClusterId>,
        account: &CloudAccount,
        now: Timestamp,
    ) -> Vec<OtherProposal> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(memory) = memory.as_ref() else { return Vec::new() };
        let fleet = fleet.key.to_string();
        let counts = |one: &&CloudQuestion| {
            let is_own = one.fleet == fleet;
            let is_asked_now = is_own && clusters.contains(&one.cluster);
            // What the default branch has by now is in use, or on its way there.
            let print = || head.print(&one.cluster).map(ToString::to_string);
            let is_merged = is_own && one.print.is_some() && print() == one.print;
            !is_asked_now && !is_merged && memory.is_open(one, now)
        };
        let of = |one: &CloudQuestion| -> Vec<OtherProposal> {
            let commit: String = one.commit.chars().take(7).collect();
            let who = format!("{} at {commit}", one.cluster);
            let needs = one.needs.iter().filter(|(other, _)| other.shares_quotas_with(account));
            needs.map(|(_, needs)| OtherProposal { who: who.clone(), needs: needs.clone() }).collect()
        };
        memory.asked.iter().filter(counts).flat_map(of).collect()
    }

    /// Remembers what the head of a question needs, instead of what was known of its clusters.
    pub(super) async fn remember(
        &self,
        fleet: &FleetRecord,
        (question, head): (&str, &Revision),
        needed: Vec<(&ClusterId, AccountNeeds)>,
        now: Timestamp,
    ) {
        let fleet = fleet.key.to_string();
        let new = needed.into_iter().map(|(cluster, needs)| CloudQuestion {
            fleet: fleet.clone(),
            cluster: cluster.clone(),
            question: question.to_owned(),
            commit: head.commit.to_string(),
            print: head.print(cluster).map(ToString::to_string),
            needs,
            at: now,
        });
        let new: Vec<CloudQuestion> = new.collect();
        self.change(|memory| {
            let mut kept = std::mem::take(&mut memory.asked);
            let is_new = |one: &CloudQuestion| {
                new.iter().any(|new| new.fleet == one.fleet && new.cluster == one.cluster)
            };
            kept.retain(|one| memory.is_open(one, now) && !is_new(one));
            let room = MOST_REMEMBERED.saturating_sub(kept.len());
            kept.extend(new.into_iter().filter(|one| !one.needs.is_empty()).take(room));
            kept.sort_by(|a, b| (&a.fleet, &a.cluster).cmp(&(&b.fleet, &b.cluster)));
            memory.asked = kept;
        })
        .await;
    }

    /// Changes what is remembered, and notes it where that differs.
    async fn change(&self, change: impl FnOnce(&mut Memory)) {
        let _noting = self.noting.lock().await;
        let after = {
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            let memory = memory.get_or_insert_default();
            let before = memory.asked.clone();
            change(memory);
            (memory.asked != before)
                .then(|| Memory { asked: memory.asked.clone(), reported: BTreeSet::new() })
        };
        if let Some(after) = after {
            let notes = Arc::clone(&self.notes);
            where_blocking_is_allowed(move || after.write(notes.as_ref())).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use capstan_live::cloud::Resource;

    use super::*;

    struct Noted(&'static str);

    impl Notes for Noted {
        fn read(&self) -> Result<Option<String>, String> {
            Ok(Some(self.0.to_owned()))
        }

        fn write(&self, _note: &str) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn notes_of_an_earlier_version_are_read() {
        let noted = Noted(
            r#"[{"fleet": "capstan/clusters", "cluster": "gauss/peu01", "question": "1", "commit": "abc", "print": null,
                "needs": [[{"keystone": "k:5000", "region": null, "project": "p", "user": "u"},
                    [{"resource": "floating-ips", "amount": 1, "why": "1 for the API server"}]]],
                "at": "2026-11-30T08:00:00Z"}]"#,
        );
        let account = CloudAccount {
            host: "k:5000".to_owned(),
            region: None,
            account: "p".to_owned(),
            user: "u".to_owned(),
        };
        let need = Need { resource: Resource::PublicIps, amount: 1, why: "1 for the API server".to_owned() };
        let asked = Memory::read(&noted).asked;
        assert_eq!(asked[0].needs, [(account, vec![need])]);
    }
}
