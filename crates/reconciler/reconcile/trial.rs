//! What others wrote is opened and rendered on trial before the reconciler does the same itself.
//!
//! *Guarantee*: a folder that takes too much memory, stack or time, or makes Capstan panic, refuses only itself.
//! *Expected flow*: another process tries what is new of a commit; its death is the answer. What did no harm is
//! rendered here. Everything that the render read is noted, wherever it is: as long as all of that is the same, it is
//! not tried again.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use capstan_kustomize::render::RenderedFolder;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::settings::RepositorySettings;
use jiff::civil::Date;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ports::{TrialFailed, TrialRenders};
use capstan_fleet::generator::{Fleet, Refused, RenderReads};

/// How many failures are remembered.
const REMEMBERED: usize = 20_000;

/// Another commit may mend what a folder reads in another cluster's, which is not known of one that failed: so long it
/// is not tried for that.
const MENDED_ELSEWHERE_AFTER: Duration = Duration::from_mins(11);

/// A folder by its cluster and by what tells its contents apart.
pub(super) type TrialSubject = (ClusterId, String);

/// Tries what others wrote, and knows what was tried.
pub struct Trial {
    renders: Arc<dyn TrialRenders>,
    /// What the renders that did no harm read.
    harmless: RenderReads,
    failed: Mutex<HashMap<TrialSubject, FailedTrial>>,
    /// Held for as long as a large folder is worked on: what one may take, several may not take at a time.
    one_large: Arc<Semaphore>,
}

/// A folder that is not rendered.
#[derive(Debug, Clone)]
pub struct Untried {
    pub why: TrialFailed,
    /// After how long it may come to something else; `None` where this commit never will.
    pub again_after: Option<Duration>,
}

struct FailedTrial {
    why: TrialFailed,
    at: Instant,
    /// Of that snapshot.
    root: Option<TreeId>,
}

impl FailedTrial {
    /// What is known by it of the same folder in a snapshot; `None` where it is to be tried again.
    fn of(&self, root: Option<&TreeId>) -> Option<Untried> {
        let is_elsewhere = self.root.as_ref() != root;
        let pause = self.why.try_again_after().or(is_elsewhere.then_some(MENDED_ELSEWHERE_AFTER));
        let again_after = match pause {
            Some(pause) => Some(pause.checked_sub(self.at.elapsed()).filter(|left| !left.is_zero())?),
            None => None,
        };
        Some(Untried { why: self.why.clone(), again_after })
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("failed", &self.failed().len()).finish_non_exhaustive()
    }
}

impl Trial {
    /// Tries with that.
    pub fn new(renders: Arc<dyn TrialRenders>) -> Self {
        Self {
            renders,
            harmless: RenderReads::default(),
            failed: Mutex::default(),
            one_large: Arc::new(Semaphore::new(1)),
        }
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

    /// Tries the folders of a fleet that are not known to do no harm; those that are not to be rendered, each with why.
    /// Blocks.
    pub(super) fn try_all(
        &self,
        fleet: &Fleet,
        subjects: Vec<TrialSubject>,
    ) -> Result<BTreeMap<ClusterId, Untried>, TrialFailed> {
        self.harmless.begin_round();
        let root = fleet.tree().folder_id(&RepoPath::root());
        let mut untried = BTreeMap::new();
        let mut new = Vec::new();
        for subject in subjects {
            let known = self.failed().get(&subject).and_then(|failed| failed.of(root.as_ref()));
            match known {
                Some(known) => drop(untried.insert(subject.0, known)),
                None if self.is_harmless(fleet, &subject.0) => {}
                None => new.push(subject),
            }
        }
        if new.is_empty() {
            return Ok(untried);
        }
        let clusters: Vec<ClusterId> = new.iter().map(|(cluster, _)| cluster.clone()).collect();
        let found = self.renders.render(fleet.tree(), fleet.settings(), &clusters)?;
        let mut failed = self.failed();
        if failed.len() + found.len() > REMEMBERED {
            failed.clear();
        }
        for subject in new {
            let Some(why) = found.get(&subject.0).cloned() else {
                failed.remove(&subject);
                continue;
            };
            let again_after = why.try_again_after();
            untried.insert(subject.0.clone(), Untried { why: why.clone(), again_after });
            failed.insert(subject, FailedTrial { why, at: Instant::now(), root: root.clone() });
        }
        Ok(untried)
    }

    /// Tries to make folders that an inventory defines, under the settings that name it; those that are not to be made,
    /// each with why. Blocks.
    pub(super) fn try_made(
        &self,
        fleet: &Fleet,
        clusters: &[ClusterId],
    ) -> Result<BTreeMap<ClusterId, TrialFailed>, TrialFailed> {
        if clusters.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.renders.render(fleet.tree(), fleet.settings(), clusters)
    }

    /// Renders a folder that was tried.
    pub(super) fn render(&self, fleet: &Fleet, id: &ClusterId) -> Result<RenderedFolder, Refused> {
        fleet.render_remembering(id, &self.harmless)
    }

    /// Room for the one large folder that is worked on at a time; `None` where another one has it.
    pub fn room(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.one_large).try_acquire_owned().ok()
    }

    /// Whether a cluster's render is known, and the same in both.
    pub(super) fn is_same(&self, before: &Fleet, after: &Fleet, id: &ClusterId) -> bool {
        let (Ok(earlier), Ok(later)) = (before.folders(id), after.folders(id)) else { return false };
        earlier == later && self.harmless.is_same(before.tree().as_ref(), after.tree().as_ref(), &later)
    }

    fn is_harmless(&self, fleet: &Fleet, id: &ClusterId) -> bool {
        fleet.folders(id).is_ok_and(|folders| self.harmless.is_known(fleet.tree().as_ref(), &folders))
    }

    fn failed(&self) -> MutexGuard<'_, HashMap<TrialSubject, FailedTrial>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
