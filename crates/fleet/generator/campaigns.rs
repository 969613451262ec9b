//! What the waves of campaigns tell clusters apart by.

use capstan_campaign::membership::WaveCandidate;
use capstan_campaign::settings::CampaignSettings;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
use capstan_plan::settings;
use serde_json::Value;

use super::{Fleet, Refused, WatchRenders};

/// Those of all clusters and provider sets, ordered; of one that cannot be rendered there is none.
pub fn campaign_candidates(fleet: &Fleet, watch: &dyn WatchRenders) -> Vec<WaveCandidate> {
    let campaigns = &fleet.settings().campaigns;
    let mut candidates = Vec::new();
    for folder in &fleet.layout().targets {
        let target = folder.target();
        let Some(id) = target.id() else { continue };
        if watch.skips(id) {
            continue;
        }
        watch.begun(id);
        candidates.extend(campaign_candidate(fleet, id, campaigns).ok());
        watch.ended(id);
    }
    candidates
}

/// That of one.
///
/// # Errors
/// It cannot be rendered.
pub fn campaign_candidate(
    fleet: &Fleet,
    id: &ClusterId,
    campaigns: &[CampaignSettings],
) -> Result<WaveCandidate, Refused> {
    let rendered = fleet.render(id)?;
    let cluster = rendered.objects.iter().find(|object| is_cluster(&object.id));
    Ok(settings::campaign_candidate(id, cluster.map_or(&Value::Null, |cluster| &cluster.value), campaigns))
}
