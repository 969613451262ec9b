//! What others wrote is opened and rendered on trial before the reconciler does the same itself.
//!
//! *Guarantee*: what takes too much memory, stack or time, or makes Capstan panic, is its own refusal. *Expected flow*:
//! another process tries what is new of a commit; its death is the answer. What did no harm is known by its content and
//! not tried again.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::settings::RepositorySettings;
use jiff::civil::Date;

use super::ports::{TrialFailed, TrialRenders};

/// How many contents are remembered.
const REMEMBERED: usize = 20_000;

/// A folder by its cluster and by what tells its contents apart.
pub(super) type Subject = (ClusterId, String);

/// Tries what others wrote, and knows what was tried.
pub struct Trial {
    renders: Arc<dyn TrialRenders>,
    known: Mutex<HashMap<Subject, Known>>,
}

/// What came of a trial.
struct Known {
    /// `None` of what did no harm.
    why: Option<TrialFailed>,
    /// After that it may come to something else.
    until: Option<Instant>,
}

impl Known {
    fn of(why: Option<TrialFailed>) -> Self {
        let until = why.as_ref().and_then(TrialFailed::try_again_after).map(|pause| Instant::now() + pause);
        Self { why, until }
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("known", &self.known().len()).finish_non_exhaustive()
    }
}

impl Trial {
    /// Tries with that.
    pub fn new(renders: Arc<dyn TrialRenders>) -> Self {
        Self { renders, known: Mutex::default() }
    }

    /// Opens a tree, under its own settings or those that are given. Blocks.
    pub(super) fn open(
        &self,
        tree: &Arc<dyn Tree>,
        settings: Option<&RepositorySettings>,
        today: Date,
    ) -> Result<(), TrialFailed> {
        self.renders.open(tree, settings, today)
    }

    /// Renders folders that were not tried before; those that are not to be rendered, each with why. Blocks.
    pub(super) fn render(
        &self,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
        subjects: Vec<Subject>,
    ) -> Result<BTreeMap<ClusterId, TrialFailed>, TrialFailed> {
        let mut failed = BTreeMap::new();
        let mut new = Vec::new();
        for subject in subjects {
            let now = Instant::now();
            match self.known().get(&subject).filter(|known| known.until.is_none_or(|until| now < until)) {
                Some(Known { why: Some(why), .. }) => drop(failed.insert(subject.0, why.clone())),
                Some(Known { why: None, .. }) => {}
                None => new.push(subject),
            }
        }
        if new.is_empty() {
            return Ok(failed);
        }
        let clusters: Vec<ClusterId> = new.iter().map(|(cluster, _)| cluster.clone()).collect();
        let found = self.renders.render(tree, settings, &clusters)?;
        let mut known = self.known();
        if known.len() + new.len() > REMEMBERED {
            known.clear();
        }
        for subject in new {
            let why = found.get(&subject.0).cloned();
            known.insert(subject, Known::of(why));
        }
        drop(known);
        failed.extend(found);
        Ok(failed)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Subject, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
