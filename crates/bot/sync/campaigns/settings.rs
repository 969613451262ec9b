//! Campaigns under new settings: what is wrong with them, before they are merged.

use capstan_bot_core::campaigns::{by_folder, new_problems, not_allowed};
use capstan_bot_core::facts::settings_file;
use capstan_campaign::settings::Webhook;
use capstan_model::finding::Finding;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::settings::RepositorySettings;

use super::super::{OpenFleet, Run, SyncError};

impl Run<'_> {
    /// Problems of campaigns under new settings, except those that the old ones have too.
    pub(in super::super) async fn judge_campaigns(
        self,
        tree: &dyn Tree,
        fleet: Box<dyn OpenFleet>,
        old: &RepositorySettings,
    ) -> Result<Vec<Finding>, SyncError> {
        let new = fleet.settings().clone();
        let (true, Some(entry)) = (!new.campaigns.is_empty(), settings_file(tree)) else {
            return Ok(Vec::new());
        };
        let text = tree.read(entry).ok();
        let text = text.as_deref().and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        let (fleet, candidates) = self.wave_candidates(fleet, &new).await?;
        let ids = fleet.scopes().into_iter().filter_map(|scope| scope.target.id().cloned());
        let all: Vec<_> =
            ids.map(|id| candidates.get(&id).cloned().unwrap_or_else(|| by_folder(&id))).collect();
        let file: &RepoPath = &entry.path;
        let now = self.ports.clock.now();
        let allowed = |webhook: &Webhook| match &self.ports.webhooks {
            Some(webhooks) => webhooks.allows(&self.repository.name, &webhook.url).map(drop),
            None => Err(not_allowed(&webhook.url)),
        };
        let judge = |settings: &RepositorySettings| {
            let mut findings = settings.judge_campaigns((file, text), &all, now);
            findings.extend(settings.judge_webhooks((file, text), allowed));
            findings
        };
        Ok(new_problems(old, &judge(old), judge(&new)))
    }
}
