//! What only the rendered objects can tell: rollouts, the overlay's findings, skew.

use capstan_kustomize::render::{self, Edited, ParsedFiles};
use capstan_live::rollout;
use capstan_model::finding::{Finding, Place};
use capstan_plan::classes::Elsewhere;
use capstan_plan::cluster::Cluster;
use capstan_plan::merge::AppliedBy;
use capstan_plan::policy::{self, Facts, Occasion, ReleaseStep};
use capstan_plan::release::Release;
use capstan_plan::settings::EffectiveSettings;
use capstan_plan::upgrade::{Planned, Settled};

use super::seen::{Reads, Seen};
use super::{Fleet, plan};

impl Fleet {
    /// Judges a plan by what would be applied before and after it.
    pub(super) fn judge(
        &self,
        reads: &Reads<'_>,
        cluster: &Cluster,
        effective: &EffectiveSettings,
        mut planned: Planned,
        from: Option<&Release>,
        to: &Release,
    ) -> plan::Planned {
        let folders = policy::folders_of(&cluster.folder);
        // What reading the cluster parsed is not parsed again, nor what the upgrade leaves as it is.
        let parsed = ParsedFiles::default();
        for manifest in &cluster.base {
            parsed.insert(manifest.entry.blob.clone(), manifest.file.clone());
        }
        let before = render::render_with(reads, &folders, &parsed)?;
        let mut after = render::render_with(&Edited::new(reads, &planned.intended), &folders, &parsed);
        if let Ok(rendered) = &after
            && planned.settle_leftovers(&before, rendered) == Settled::Changed
        {
            let edited = Edited::new(reads, &planned.intended);
            after = render::render_with(&edited, &folders, &parsed);
        }
        let after = match after {
            Ok(after) => after,
            Err(error) => {
                planned.upgrade.blocked.push(format!("The upgraded cluster cannot be rendered: {error}."));
                planned.upgrade.findings.push(Finding::from(&error));
                let findings = std::mem::take(&mut planned.upgrade.findings);
                planned.upgrade.findings = self.settings.severities().settle(findings);
                // What cannot be rendered cannot be judged; above all, its machines are not lost.
                return Ok(planned.finish(Vec::new(), Vec::new()));
            }
        };
        planned.upgrade.notes.extend(after.note_of_passed_over());
        let applied_by =
            if effective.claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others };
        let release = ReleaseStep {
            from,
            to,
            place: cluster.giant_swarm.as_ref().map(|record| Place::at(record.file.clone(), record.position)),
        };
        let cluster_api = self.cluster_api().cloned();
        reads.note(Seen::ClusterApi(cluster_api.clone()));
        // Folders that Kustomizations elsewhere apply to the cluster are judged with pull requests: to find
        // them, every file of the repository would be read.
        let inside = policy::inside(reads, &folders, &after, None, &parsed);
        let facts = Facts {
            folders: &folders,
            before: &before,
            after: &after,
            inside: &inside,
            applied_by,
            occasion: Occasion::Upgrade,
            release: Some(release),
            schemas: self.schemas(),
            cluster_api,
            today: self.today,
        };
        let severities = self.settings.severities();
        planned.upgrade.findings = severities.settle(std::mem::take(&mut planned.upgrade.findings));
        let findings = policy::judge(&facts, &severities);
        // The change does nothing to what lies elsewhere.
        let elsewhere = Elsewhere {
            before: self.classes_elsewhere(reads, &before.objects, &cluster.id),
            after: self.classes_elsewhere(reads, &after.objects, &cluster.id),
        };
        let rollouts = match applied_by {
            AppliedBy::Others => rollout::rollouts(&before.objects, &after.objects, applied_by, &elsewhere),
            AppliedBy::Reconciler => {
                let names = self.live_names(&cluster.id);
                reads.note(Seen::Names(names.cloned()));
                match names {
                    Some(names) => {
                        let names = names.as_ref();
                        let names = [names, names];
                        rollout::rollouts_live(&before.objects, &after.objects, names, &elsewhere)
                    }
                    None => rollout::rollouts(&before.objects, &after.objects, applied_by, &elsewhere),
                }
            }
        };
        Ok(planned.finish(findings, rollouts))
    }
}
