//! The planner that the bot runs with: the generator of the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render::{self, FieldDifference, Rendered};
use capstan_live::rollout;
use capstan_model::finding::FileError;
use capstan_model::tree::Tree;
use capstan_plan::cluster::{Cluster, ClusterId};
use capstan_plan::layout::{self, Layout};
use capstan_plan::merge::AppliedBy;
use capstan_plan::policy::{self, Snapshot, folders_of, validate};
use capstan_plan::proposal::Scope;
use capstan_plan::release::{ContentId, ReleaseContent};
use capstan_plan::settings::{Deletion, RepositorySettings};
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::{Change, Reason, Retarget, Upgrade};
use capstan_report::{JudgedCluster, Judgement};
use jiff::civil::Date;

use super::{LiveNames, OpenFleet, Planner};
use crate::app::generator::{Fleet, Memory, consents};

/// The generator as the bot's planner, with a memory of what it planned before.
#[derive(Default)]
pub struct Generator {
    memory: Memory,
}

impl Generator {
    /// What it remembers, for figures.
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }
}

impl Planner for Generator {
    fn open(&self, tree: Arc<dyn Tree>, today: Date) -> Result<Box<dyn OpenFleet>, FileError> {
        Ok(Box::new(Fleet::open_with(&self.memory, tree, today)?))
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        settings: &RepositorySettings,
        clusters: &[ClusterId],
        live: &BTreeMap<ClusterId, LiveNames>,
        today: Date,
    ) -> Vec<JudgedCluster> {
        // The second look follows what the first has found: definitions are looked for once.
        let old = self.memory.seen_as(before, settings);
        let old = old.snapshot();
        let new = self.memory.seen_as(after, settings);
        let new = new.snapshot();
        clusters
            .iter()
            .map(|cluster| {
                let alone = BTreeSet::from([cluster.clone()]);
                let scope = policy::Scope::Clusters(&alone);
                let (was, is) = (rendered(old, cluster), rendered(new, cluster));
                let kept: &[_] = if asks_to_go(new, cluster) { &[] } else { &is.objects };
                let claimed = settings.claimed_by(cluster).is_ok_and(|claimed| claimed.is_some());
                let applied = if claimed { AppliedBy::Reconciler } else { AppliedBy::Others };
                let judgement = Judgement {
                    changes: render::diff(&was.objects, &is.objects)
                        .into_iter()
                        .map(|difference| change(difference, cluster))
                        .collect(),
                    rollouts: match live.get(cluster).filter(|_| applied == AppliedBy::Reconciler) {
                        Some(names) => {
                            rollout::rollouts_live(&was.objects, kept, [&names.before, &names.after])
                        }
                        None => rollout::rollouts(&was.objects, kept, applied),
                    },
                    before: validate(old, None, settings, scope, today),
                    after: validate(new, Some(old), settings, scope, today),
                };
                JudgedCluster { cluster: cluster.clone(), judgement }
            })
            .collect()
    }

    fn scopes(&self, tree: Arc<dyn Tree>, settings: &RepositorySettings) -> Vec<Scope> {
        scopes_of(self.memory.seen_as(tree, settings).layout(), |_| Retarget::Refused)
    }
}

/// What is applied; nothing where the cluster does not exist or cannot be rendered, which a finding says.
fn rendered(snapshot: Snapshot<'_>, cluster: &ClusterId) -> Rendered {
    let folder = snapshot.layout.cluster(cluster.as_str());
    let rendered = folder.and_then(|folder| render::render(snapshot.tree, &folders_of(folder)).ok());
    rendered.unwrap_or_default()
}

/// Whether the cluster's settings say `delete: cluster`: no machine outlives that, whatever is rendered.
fn asks_to_go(snapshot: Snapshot<'_>, cluster: &ClusterId) -> bool {
    let folder = snapshot.layout.cluster(cluster.as_str());
    let settings = folder.and_then(|folder| Cluster::settings_of(snapshot.tree, folder).ok().flatten());
    settings.is_some_and(|settings| settings.delete == Deletion::Cluster)
}

fn change(difference: FieldDifference, cluster: &ClusterId) -> Change {
    let place = difference.new_place.as_ref().or(difference.old_place.as_ref());
    Change {
        file: place.map_or_else(|| cluster.folder().clone(), |place| place.file().clone()),
        line: difference.old_place.as_ref().map(|place| place.position().line),
        object: difference.object,
        path: difference.path,
        old: difference.old,
        new: difference.new,
        from: None,
        reason: Reason::Release,
    }
}

fn scopes_of(layout: &Layout, retarget: impl Fn(&ClusterId) -> Retarget) -> Vec<Scope> {
    let scope = |folder: &layout::ClusterFolder| Scope {
        cluster: folder.id.clone(),
        base: folder.base.clone(),
        overlay: folder.overlay.clone(),
        retarget: retarget(&folder.id),
    };
    layout.clusters.iter().map(|folder| scope(folder)).collect()
}

impl OpenFleet for Fleet {
    fn settings(&self) -> &RepositorySettings {
        self.settings()
    }

    fn scopes(&self) -> Vec<Scope> {
        scopes_of(self.layout(), |cluster| self.retarget(cluster))
    }

    fn releases_repository(&self) -> Option<String> {
        Self::releases_repository(self).map(str::to_owned)
    }

    fn provide_releases(&mut self, releases: Arc<dyn Tree>, consumer: &str) -> Result<(), String> {
        let named = Self::releases_repository(self).unwrap_or_default();
        consents(releases.as_ref(), named, consumer)?;
        Self::provide_releases(self, releases);
        Ok(())
    }

    fn refuse_releases(&mut self, why: String) {
        Self::refuse_releases(self, why);
    }

    fn missing_contents(&self) -> Vec<ContentId> {
        Self::missing_contents_of_all(self).into_iter().collect()
    }

    fn provide_content(&mut self, id: ContentId, content: ReleaseContent) {
        Self::provide_content(self, id, content);
    }

    fn allow_retarget(&mut self, cluster: ClusterId) {
        Self::allow_retarget(self, cluster);
    }

    fn know_names(&mut self, names: BTreeMap<ClusterId, Arc<TemplateNames>>) {
        Self::know_names(self, names);
    }

    fn plan_all(&self) -> Vec<(ClusterId, Result<Arc<Upgrade>, String>)> {
        let plans = self.plan_or_recall_all().into_iter();
        let plans = plans.map(|plan| plan.map_err(|refused| refused.to_string()));
        self.clusters().cloned().zip(plans).collect()
    }
}
