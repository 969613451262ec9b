//! What the waves of campaigns tell clusters apart by.

use capstan_campaign::membership::Candidate;
use capstan_campaign::settings::CampaignSettings;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
use capstan_plan::settings::campaign_candidate;
use serde_json::Value;

use super::{Fleet, Refused, WatchRenders};

impl Fleet {
    /// Those of all clusters and provider sets, ordered; of one that cannot be rendered there is none.
    pub fn campaign_candidates(&self, watch: &dyn WatchRenders) -> Vec<Candidate> {
        let settings = &self.settings().campaigns;
        let mut candidates = Vec::new();
        for folder in &self.layout().targets {
            let target = folder.target();
            let Some(id) = target.id() else { continue };
            if watch.skips(id) {
                continue;
            }
            watch.begun(id);
            candidates.extend(self.campaign_candidate(id, settings).ok());
            watch.ended(id);
        }
        candidates
    }

    /// That of one.
    ///
    /// # Errors
    /// It cannot be rendered.
    pub fn campaign_candidate(
        &self,
        id: &ClusterId,
        campaigns: &[CampaignSettings],
    ) -> Result<Candidate, Refused> {
        let rendered = self.render(id)?;
        let cluster = rendered.objects.iter().find(|object| is_cluster(&object.id));
        Ok(campaign_candidate(id, cluster.map_or(&Value::Null, |cluster| &cluster.value), campaigns))
    }
}
