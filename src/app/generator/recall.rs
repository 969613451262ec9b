//! Plans that are kept, and whether all that they were made from is still the same.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use capstan_model::ids::{ClusterId, ContentId, ReleaseId};
use capstan_plan::upgrade::Upgrade;

use super::kept_plan::Kept;
use super::look::Given;
use super::plan::{Made, Record, settings_of};
use super::plan_each::on_all_cores;
use super::seen::{Presence, Reads, Seen};
use super::{Fleet, Refused};

impl Fleet {
    /// The plan for the release that a cluster is offered, as it is kept where everything that it was
    /// made from is still the same.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn plan_or_recall(&self, id: &ClusterId) -> Result<Arc<Upgrade>, Refused> {
        self.recall_or_make(id).map(|(upgrade, _)| upgrade)
    }

    /// The same for all clusters, in their order. Those that nothing concerns that has changed since the last
    /// look are not even asked about.
    pub fn plan_or_recall_all(&self) -> Vec<Result<Arc<Upgrade>, Refused>> {
        let folders = &self.layout.clusters;
        let (Some(known), Some((_, look))) = (&self.known, &self.memory) else {
            return on_all_cores(folders, |folder| self.plan_or_recall(&folder.id));
        };
        let given = self.given();
        let trusted = look.trusted(known.number(), &given);
        known.recall_all();
        let mut plans: Vec<Option<Result<Arc<Upgrade>, Refused>>> =
            trusted.iter().map(|kept| Some(Ok(Arc::clone(&kept.upgrade()?.upgrade)))).collect();
        plans.resize_with(folders.len(), || None);
        let open: Vec<usize> =
            plans.iter().enumerate().filter(|(_, plan)| plan.is_none()).map(|(at, _)| at).collect();
        known.count_recalled(plans.len() - open.len());
        let made = on_all_cores(&open, |at| self.recall_or_make(&folders[*at].id));
        let mut others = Vec::with_capacity(open.len());
        for (at, made) in open.into_iter().zip(made) {
            let (plan, kept) = match made {
                Ok((upgrade, kept)) => (Ok(upgrade), kept),
                Err(refused) => (Err(refused), None),
            };
            others.push((at, kept));
            plans[at] = Some(plan);
        }
        look.keep_plans(known.number(), given, trusted, &others);
        plans.into_iter().flatten().collect()
    }

    fn recall_or_make(&self, id: &ClusterId) -> Result<(Arc<Upgrade>, Option<Arc<Kept>>), Refused> {
        let Some(known) = &self.known else {
            return self.plan(id, None).map(|upgrade| (Arc::new(upgrade), None));
        };
        if let Some(kept) = self.kept(id)
            && kept.seen.iter().all(|seen| self.still_sees(id, seen))
        {
            known.count_recalled(1);
            return Ok((Arc::clone(&kept.upgrade), Some(kept)));
        }
        known.count_planned();
        let reads = Reads::beside(self.tree.as_ref(), id.folder());
        let Made { upgrade, record, classes_used } = self.make(&reads, id, None)?;
        let upgrade = Arc::new(upgrade);
        let kept = match (self.tree.folder_id(id.folder()), reads.into_seen()) {
            (Some(folder), Some(seen)) => {
                Some(known.keep(Kept { folder, seen, record, classes_used, upgrade: Arc::clone(&upgrade) }))
            }
            _ => None,
        };
        Ok((upgrade, kept))
    }

    /// What was given from outside of the snapshot.
    fn given(&self) -> Given {
        let past = |id: &ReleaseId| Some((id.clone(), self.look_up_past(id)?));
        Given {
            retarget: self.retarget.clone(),
            names: self.names.clone(),
            contents: self.provided.keys().cloned().collect(),
            past: self.past.keys().filter_map(past).collect(),
        }
    }

    /// [`Self::missing_contents`] of all clusters.
    pub fn missing_contents_of_all(&self) -> BTreeSet<ContentId> {
        let known = self.memory.as_ref().map(|(_, look)| look.known()).unwrap_or_default();
        let mut contents = BTreeSet::new();
        let mut last = None;
        for (at, folder) in self.layout.clusters.iter().enumerate() {
            let content = match known.get(at).and_then(Weak::upgrade) {
                Some(kept) => kept.record.content.clone(),
                None => self.record_of(&folder.id).and_then(|record| record.content),
            };
            // Most clusters of a fleet are at the same release.
            if content != last {
                contents.extend(content.clone());
                last = content;
            }
        }
        contents.retain(|content| self.find_content(content) == Presence::Missing);
        contents
    }

    /// What is kept of a cluster whose folder has not changed.
    pub(super) fn kept(&self, id: &ClusterId) -> Option<Arc<Kept>> {
        self.known.as_ref()?.kept(id, &self.tree.folder_id(id.folder())?)
    }

    fn still_sees(&self, id: &ClusterId, seen: &Seen) -> bool {
        match seen {
            Seen::File(..) | Seen::Folder(..) => seen.holds_in(self.tree.as_ref()),
            Seen::Flux(given) => self.flux_index().post_build(id) == *given,
            Seen::Classes { own, elsewhere } => {
                self.used_elsewhere(id, own.iter().map(String::as_str)) == *elsewhere
            }
            Seen::Elsewhere(classes) => classes.0.iter().all(|(class, found)| {
                let now = self.class_elsewhere(class.clone(), id);
                !now.failed && now.found.1 == *found
            }),
            Seen::OldContent(content, presence) => self.find_content(content) == *presence,
            Seen::ClusterApi(version) => self.cluster_api() == version.as_ref(),
            Seen::Retarget(allowed) => self.retarget(id) == *allowed,
            Seen::Names(names) => self.live_names(id) == names.as_ref(),
            Seen::Past(release, found) => self.look_up_past(release) == *found,
        }
    }

    /// What a cluster records, where its settings can be read.
    pub(super) fn record_of(&self, id: &ClusterId) -> Option<Record> {
        match self.kept(id) {
            Some(kept) => Some(kept.record.clone()),
            None => {
                let settings = settings_of(self.tree.as_ref(), self.layout.cluster(id.as_str())?)?;
                Some(Record::of(Some(&settings)))
            }
        }
    }
}
