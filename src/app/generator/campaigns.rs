//! What the waves of campaigns tell clusters apart by, and what of waves cannot be meant.

use std::collections::BTreeMap;

use capstan_campaign::membership::Candidate;
use capstan_campaign::settings::CampaignSettings;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
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
        Ok(candidate(id, cluster.map_or(&Value::Null, |cluster| &cluster.value), campaigns))
    }
}

fn candidate(id: &ClusterId, cluster: &Value, campaigns: &[CampaignSettings]) -> Candidate {
    let as_text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    let labels = cluster.pointer("/metadata/labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), as_text(value)?)));
    let waves = campaigns.iter().flat_map(|campaign| &campaign.waves);
    let wanted = waves.flat_map(|wave| wave.matches.fields.keys());
    let fields: BTreeMap<String, String> =
        wanted.filter_map(|path| Some((path.clone(), as_text(cluster.pointer(path)?)?))).collect();
    Candidate { cluster: id.clone(), labels: labels.collect(), fields }
}
