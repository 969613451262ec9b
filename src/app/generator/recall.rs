//! Plans that are kept, and whether all that they were made from is still the same.

use std::sync::Arc;

use capstan_domain::cluster::ClusterId;
use capstan_domain::upgrade::Upgrade;

use super::memory::Kept;
use super::plan::{Made, Record, settings_of};
use super::seen::{Reads, Seen};
use super::{Fleet, Refused};

impl Fleet {
    /// The plan for the release that a cluster is offered, as it is kept where everything that it was
    /// made from is still the same.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn plan_or_recall(&self, id: &ClusterId) -> Result<Arc<Upgrade>, Refused> {
        let Some(known) = &self.known else { return self.plan(id, None).map(Arc::new) };
        if let Some(kept) = self.kept(id)
            && kept.seen.iter().all(|seen| self.still_sees(id, seen))
        {
            known.count_recalled();
            return Ok(Arc::clone(&kept.upgrade));
        }
        known.count_planned();
        let reads = Reads::beside(self.tree.as_ref(), id.folder());
        let Made { upgrade, record, classes_used } = self.make(&reads, id, None)?;
        let upgrade = Arc::new(upgrade);
        if let (Some(folder), Some(seen)) = (self.tree.folder_id(id.folder()), reads.into_seen()) {
            known.keep(Kept { folder, seen, record, classes_used, upgrade: Arc::clone(&upgrade) });
        }
        Ok(upgrade)
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
            Seen::OldTree(tree, presence) => self.find_old_tree(tree) == *presence,
            Seen::ClusterApi(version) => self.cluster_api() == version.as_ref(),
            Seen::Retarget(allowed) => self.retarget(id) == *allowed,
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
