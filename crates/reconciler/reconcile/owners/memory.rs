//! Clusters whose signer did not answer: they are left alone for a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_model::object::ObjectId;
use jiff::{SignedDuration, Timestamp};

use capstan_reconciler_core::owners::OwnersError;

/// How long a certificate is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a cluster is left alone that did not sign one.
const PAUSE: SignedDuration = SignedDuration::from_mins(10);
/// Clusters that are remembered.
const MOST: usize = 5_000;

/// What is remembered of clusters besides what is written down.
#[derive(Debug)]
pub struct OwnersKeys {
    pub(super) patience: Duration,
    away: Mutex<BTreeMap<ObjectId, FailedLookup>>,
}

/// Something was asked for in vain.
#[derive(Debug)]
struct FailedLookup {
    until: Timestamp,
    /// What was to come of it.
    input: String,
    trouble: OwnersError,
}

impl Default for OwnersKeys {
    fn default() -> Self {
        Self::with_patience(PATIENCE)
    }
}

impl OwnersKeys {
    /// Certificates are waited for that long.
    pub fn with_patience(patience: Duration) -> Self {
        Self { patience, away: Mutex::default() }
    }

    /// Why a cluster is not asked now, where it was asked in vain for the same.
    pub(super) fn is_away(&self, cluster: &ObjectId, input: &str, now: Timestamp) -> Option<OwnersError> {
        let away = self.away();
        let away = away.get(cluster).filter(|away| away.until > now && away.input == input)?;
        Some(away.trouble.clone())
    }

    /// It was asked in vain.
    pub(super) fn failed(&self, cluster: &ObjectId, input: &str, now: Timestamp, trouble: &OwnersError) {
        let mut away = self.away();
        if away.len() >= MOST {
            away.clear();
        }
        let until = now.saturating_add(PAUSE).unwrap_or(Timestamp::MAX);
        away.insert(
            cluster.clone(),
            FailedLookup { until, input: input.to_owned(), trouble: trouble.clone() },
        );
    }

    fn away(&self) -> MutexGuard<'_, BTreeMap<ObjectId, FailedLookup>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
