//! What only the rendered objects can tell: rollouts, the overlay's findings, skew.

use std::collections::BTreeMap;

use capstan_domain::cluster::Cluster;
use capstan_domain::policy::{self, AppliedBy, Facts, Occasion, ReleaseFacts, ReleaseStep, Spot};
use capstan_domain::release::Release;
use capstan_domain::render::{self, Edited, Rendered};
use capstan_domain::settings::EffectiveSettings;
use capstan_domain::upgrade::Planned;

use super::{Fleet, folders, plan};

impl Fleet {
    /// Judges a plan by what would be applied before and after it.
    pub(super) fn judge(
        &self,
        cluster: &Cluster,
        effective: &EffectiveSettings,
        mut planned: Planned,
        from: Option<&Release>,
        to: &Release,
    ) -> plan::Planned {
        let folders = folders(&cluster.folder);
        let before = render::render(self.tree.as_ref(), &folders)?;
        let edited = Edited::new(self.tree.as_ref(), &planned.intended);
        let after = match render::render(&edited, &folders) {
            Ok(after) => after,
            Err(error) => {
                planned.upgrade.blocked.push(format!("The upgraded cluster cannot be rendered: {error}."));
                Rendered::default()
            }
        };
        let applied_by = if effective.claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others };
        let (old_components, new_components) = (from.map(components).unwrap_or_default(), components(to));
        let release = ReleaseStep {
            from: from.map(|release| ReleaseFacts { id: &release.id, components: &old_components }),
            to: ReleaseFacts { id: &to.id, components: &new_components },
            place: cluster
                .giant_swarm
                .as_ref()
                .map(|record| Spot { file: record.file.clone(), position: Some(record.position) }),
        };
        let facts = Facts {
            folders: &folders,
            before: &before,
            after: &after,
            applied_by,
            occasion: Occasion::Upgrade,
            release: Some(release),
        };
        let severities = self.settings.severities();
        planned.upgrade.findings = severities.settle(std::mem::take(&mut planned.upgrade.findings));
        let findings = policy::judge(&facts, &severities);
        let rollouts = Vec::new();
        Ok(planned.finish(findings, rollouts))
    }
}

/// A release's components and apps by name.
fn components(release: &Release) -> BTreeMap<String, String> {
    let components = release.components.iter().map(|item| (item.name.clone(), item.version.as_str().to_owned()));
    let apps = release.apps.iter().map(|item| (item.name.clone(), item.version.as_str().to_owned()));
    components.chain(apps).collect()
}
