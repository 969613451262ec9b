//! What is said of campaigns: in the audit trail, and as a status of the release's commit.

use capstan_bot_core::campaigns::told;
use capstan_bot_core::proposals::Campaigns;

use super::super::{Run, SyncError};

impl Run<'_> {
    /// Says on the commits of releases which campaigns stand still, once; and that they go on.
    pub(in super::super) async fn tell_campaigns(self, campaigns: &Campaigns) -> Result<(), SyncError> {
        for (note, stop) in &campaigns.stopped {
            tracing::warn!(repository = %self.repository.name, campaign = note.campaign, release = note.release, why = stop.why, "campaign-stopped");
        }
        self.perform_all(told(campaigns, self.repository.id)).await
    }
}
