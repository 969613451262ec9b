//! What only the rendered objects can tell: rollouts, the overlay's findings, skew.

use capstan_domain::cluster::Cluster;
use capstan_domain::policy::{self, Facts, Occasion, ReleaseStep, Spot};
use capstan_domain::release::Release;
use capstan_domain::render::{self, Edited, Rendered};
use capstan_domain::rollout;
use capstan_domain::settings::EffectiveSettings;
use capstan_domain::upgrade::{AppliedBy, Planned};

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
        let applied_by =
            if effective.claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others };
        let release = ReleaseStep {
            from,
            to,
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
        let rollouts = rollout::rollouts(&before.objects, &after.objects, applied_by);
        Ok(planned.finish(findings, rollouts))
    }
}
