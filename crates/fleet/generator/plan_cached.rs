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
use super::record::{Record, settings_of, values_with_components};
use super::{Fleet, Presence, Refused};

impl Fleet {
    /// The plan for the release that a cluster is offered, as it is kept where everything that it was
    /// made from is still the same.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn plan_cached(&self, id: &ClusterId) -> Result<Arc<Upgrade>, Refused> {
        self.cached_or_made(id).map(|(upgrade, _)| upgrade)
    }

    /// The same for all clusters, in their order.
    pub fn plan_all_cached(&self) -> Vec<Result<Arc<Upgrade>, Refused>> {
        let plans = Mutex::new(BTreeMap::new());
        let take = |at: usize, plan| {
            plans.lock().unwrap_or_else(PoisonError::into_inner).insert(at, plan);
        };
        self.plan_wanted(|_| true, |_| (), take);
        plans.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    /// The same for those that are `wanted`, in any order and from several threads; who is worked on is `begun`
    /// before.
    pub fn plan_each_cached(
        &self,
        wanted: impl Fn(&ClusterId) -> bool,
        begun: impl Fn(&ClusterId) + Sync,
        take: impl Fn(&ClusterId, Result<Arc<Upgrade>, Refused>) + Sync,
    ) {
        self.plan_wanted(wanted, begun, |at, plan| take(&self.layout.targets[at].id, plan));
    }

    /// Plans what is wanted. Clusters that nothing concerns that has changed since the last look are not even asked
    /// about.
    fn plan_wanted(
        &self,
        wanted: impl Fn(&ClusterId) -> bool,
        begun: impl Fn(&ClusterId) + Sync,
        take: impl Fn(usize, Result<Arc<Upgrade>, Refused>) + Sync,
    ) {
        let folders = &self.layout.targets;
        let wanted = |at: &usize| wanted(&folders[*at].id);
        let (Some(known), Some((_, look))) = (&self.known, &self.plan_cache) else {
            let open: Vec<usize> = (0..folders.len()).filter(wanted).collect();
            on_all_cores(&open, |at| {
                begun(&folders[*at].id);
                take(*at, self.plan_cached(&folders[*at].id));
            });
            return;
        };
        let given = self.provided_from_outside();
        let trusted = look.trusted(known.number(), &given);
        known.want_all();
        let kept = |at: usize| trusted.get(at).and_then(Weak::upgrade);
        let mut open = Vec::new();
        for at in (0..folders.len()).filter(wanted) {
            match kept(at) {
                Some(kept) => {
                    known.count_reused(1);
                    take(at, Ok(Arc::clone(&kept.upgrade)));
                }
                None => open.push(at),
            }
        }
        let made = on_all_cores(&open, |at| {
            let id = &folders[*at].id;
            begun(id);
            let (plan, kept) = match self.cached_or_made(id) {
                Ok((upgrade, kept)) => (Ok(upgrade), kept),
                Err(refused) => (Err(refused), None),
            };
            take(*at, plan);
            (*at, kept)
        });
        look.keep_plans(known.number(), given, trusted, &made);
    }

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
