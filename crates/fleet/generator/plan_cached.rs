//! Plans that are kept, and whether all that they were made from is still the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use capstan_model::ids::{ClusterId, ContentId};
use capstan_model::source::SourceKind;
use capstan_plan::classes::classes_used;
use capstan_plan::upgrade::Upgrade;

use super::cached_plan::CachedPlan;
use super::cached_snapshot::FromOutside;
use super::earlier_fleet::follows;
use super::gather::Gathered;
use super::plan_each::on_all_cores;
use super::read_set::Paths;
use super::record::{Record, settings_of, values_with_components};
use super::{Fleet, Presence, Refused, WatchRenders};

/// What of a target is to be planned.
#[derive(Default)]
struct Open {
    /// Its place in the layout, where a release may bring it something.
    release: Option<usize>,
    /// Whether the inventory may bring it something.
    values: bool,
}

impl Fleet {
    /// Plans for each target what the `wanted` sources bring to it: first a newer release, then the inventory. `take`
    /// gets `None` if the inventory brings nothing. Targets come in any order, from several threads; `watch` is called
    /// around each one that is planned. A target keeps its plan if nothing that concerns it has changed since the last
    /// look.
    pub fn plan_each_source(
        &self,
        wanted: impl Fn(&ClusterId, &SourceKind) -> bool,
        watch: &dyn WatchRenders,
        take: impl Fn(&ClusterId, SourceKind, Option<Result<Arc<Upgrade>, Refused>>) + Sync,
    ) {
        let kept = self.known.as_ref().zip(self.plan_cache.as_ref()).map(|(known, (_, look))| {
            let given = self.provided_from_outside();
            let trusted = look.trusted(known.number(), &given);
            known.want_all();
            (known, look, given, trusted)
        });
        let trusted = |at: usize| kept.as_ref().and_then(|(.., trusted)| trusted.get(at)?.upgrade());
        let mut open: BTreeMap<ClusterId, Open> = BTreeMap::new();
        for (at, folder) in self.layout.targets.iter().enumerate() {
            if !wanted(&folder.id, &SourceKind::RELEASE) {
                continue;
            }
            match (trusted(at), &kept) {
                (Some(plan), Some((known, ..))) => {
                    known.count_reused(1);
                    take(&folder.id, SourceKind::RELEASE, Some(Ok(Arc::clone(&plan.upgrade))));
                }
                _ => open.entry(folder.id.clone()).or_default().release = Some(at),
            }
        }
        for id in self.valued_clusters().into_iter().filter(|id| wanted(id, &SourceKind::INVENTORY)) {
            open.entry(id).or_default().values = true;
        }
        let open: Vec<(ClusterId, Open)> = open.into_iter().collect();
        // Of each plan only what leads to it is held on to: of what has no room in the memory nothing stays.
        let outside = Mutex::new(Paths::default());
        let made = on_all_cores(&open, |(id, open)| {
            let release = open.release.map(|at| {
                watch.begun(id);
                let (plan, kept) = match self.cached_or_made(id) {
                    Ok((upgrade, kept)) => (Ok(upgrade), kept),
                    Err(refused) => (Err(refused), None),
                };
                take(id, SourceKind::RELEASE, Some(plan));
                if let Some(step) = kept.as_ref().and_then(|kept| kept.given.step.as_ref()) {
                    outside.lock().unwrap_or_else(PoisonError::into_inner).add(&step.outside);
                }
                (at, kept.map(|kept| Arc::downgrade(&kept)))
            });
            if open.values {
                let made = if self.is_settled(id) {
                    None
                } else {
                    watch.begun(id);
                    self.values_made(id).transpose()
                };
                take(id, SourceKind::INVENTORY, made);
            }
            release
        });
        if let Some((known, look, given, trusted)) = kept {
            let outside = outside.into_inner().unwrap_or_else(PoisonError::into_inner);
            look.keep_plans(known.number(), given, trusted, (made.into_iter().flatten(), outside));
        }
    }

    /// The plan for the release that a cluster is offered, with what is kept of it.
    fn cached_or_made(&self, id: &ClusterId) -> Result<(Arc<Upgrade>, Option<Arc<CachedPlan>>), Refused> {
        let Some(known) = &self.known else {
            return self.plan(id, self.asked_release(id)).map(|upgrade| (Arc::new(upgrade), None));
        };
        if let Some(kept) = self.kept(id)
            && self.inputs_now(known.given(), &kept.given).as_ref() == Some(&kept.given)
        {
            known.count_reused(1);
            return Ok((Arc::clone(&kept.upgrade), Some(kept)));
        }
        known.count_planned();
        let asked = self.asked_release(id);
        let gathered = self.gather(id, asked)?;
        let given = gathered.inputs(known.given(), asked);
        let follows = follows(&gathered.offered, &given);
        let Gathered { made, offered, .. } = gathered;
        let upgrade = Arc::new(made.upgrade);
        if made.failed {
            return Ok((upgrade, None));
        }
        let cluster = &offered.reading.cluster;
        let (record, classes_used) = (
            Record::of(cluster.settings.as_ref(), offered.reading.valued.record.as_ref()),
            classes_used(cluster),
        );
        let kept =
            known.keep(CachedPlan { given, record, classes_used, follows, upgrade: Arc::clone(&upgrade) });
        Ok((upgrade, Some(kept)))
    }

    /// What was given from outside of the snapshot.
    fn provided_from_outside(&self) -> FromOutside {
        FromOutside {
            instructions: self.instructions.of_kind(&SourceKind::RELEASE),
            overwrite: self.overwrite.clone(),
            names: self.names.clone(),
            supplies: Arc::clone(&self.supplies),
            contents: self.provided.keys().cloned().collect(),
            past: self
                .past
                .iter()
                .map(|(id, past)| (id.clone(), (past.tree.clone(), past.found_in.clone())))
                .collect(),
        }
    }

    /// [`Self::missing_contents`] of all clusters.
    pub fn missing_contents_of_all(&self) -> BTreeSet<ContentId> {
        let known = self.plan_cache.as_ref().map(|(_, look)| look.known()).unwrap_or_default();
        let mut contents = BTreeSet::new();
        let mut last = None;
        for (at, folder) in self.layout.targets.iter().enumerate() {
            let kept = known.get(at).and_then(Weak::upgrade);
            let read = if kept.is_none() { self.record_of(&folder.id) } else { None };
            let Some(record) = kept.as_deref().map(|kept| &kept.record).or(read.as_ref()) else { continue };
            contents.extend(record.moved_components(self.tree.as_ref()));
            // Most clusters of a fleet are at the same release.
            if record.content != last {
                contents.extend(record.content.clone());
                last.clone_from(&record.content);
            }
        }
        contents.retain(|content| self.find_content(content) == Presence::Missing);
        contents
    }

    /// What is kept of a cluster whose folder has not changed.
    pub(super) fn kept(&self, id: &ClusterId) -> Option<Arc<CachedPlan>> {
        let kept = self.known.as_ref()?.kept(id)?;
        (kept.given.folder == self.tree.folder_id(id.folder())).then_some(kept)
    }

    /// What a cluster records, where its settings can be read.
    pub(super) fn record_of(&self, id: &ClusterId) -> Option<Record> {
        match self.kept(id) {
            Some(kept) => Some(kept.record.clone()),
            None => {
                let settings = settings_of(self.tree.as_ref(), self.layout.target(id.as_str())?)?;
                let values = values_with_components(self.tree.as_ref(), id.folder());
                Some(Record::of(Some(&settings), values.as_ref()))
            }
        }
    }
}
