//! A new cluster, made from a release. Before anything is written, Capstan checks that it finds the cluster, that its
//! name is free, and that an upgrade to its release changes nothing. The rules judge it, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render::{self, Edited};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Finding};
use capstan_model::ids::{ClusterId, ReleaseId, ReleaseName};
use capstan_model::object::ObjectId;
use capstan_model::source::SourceContent;
use capstan_model::spelling::did_you_mean;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::version::ReleaseVersion;
use capstan_plan::boundary::Neighbours;
use capstan_plan::creation::{CreatedCluster, FolderShape, MadeCluster, Makes, NewCluster, NotMade, make};
use capstan_plan::layout::TargetFolder;
use capstan_plan::merge::{AppliedBy, ClusterFacts};
use capstan_plan::policy::{Scope, Snapshot, folders_of, validate};
use capstan_plan::release::{Release, nearest_release};
use capstan_plan::services::bring_services;
use capstan_plan::upgrade::ChangeSource;
use capstan_plan::verbs::ClusterFrom;

use super::first_release::difference;
use super::not_possible::NotPossible;
use super::{Fleet, Refused};

impl From<NotMade> for NotPossible {
    fn from(why: NotMade) -> Self {
        match why {
            NotMade::NamesVersions(_) | NotMade::NoCluster(_) | NotMade::Variables(_) => {
                Self::Usage(why.to_string())
            }
            NotMade::Blocked(_) | NotMade::Files(_) | NotMade::Differs { .. } => {
                Self::Failed(why.to_string())
            }
        }
    }
}

impl Fleet {
    /// Makes a cluster from a release.
    ///
    /// # Errors
    /// The folder or the name is taken, or would not be that of a cluster; the release does not exist, lacks values, or
    /// cannot be made a cluster.
    pub fn create_cluster(&self, wanted: &ClusterFrom) -> Result<CreatedCluster, NotPossible> {
        let id = &wanted.cluster;
        self.require_releases()?;
        self.require_free(id)?;
        let release = self.release_named(&wanted.release)?;
        let source = self.shared.sources.of_release(self.releases_tree(), release, self.schemas());
        let source: &dyn ChangeSource =
            source.as_deref().map_err(|refused| NotPossible::from(refused.clone()))?;
        let claimed_by = self.settings.claimed_by(id).map_err(Refused::from)?;
        let applied = if claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others };
        let mut made = make(NewCluster {
            id,
            makes: Makes::Cluster,
            base: &self.settings.clusters.base.inside(id.folder()),
            overlay: &self.settings.clusters.overlay.inside(id.folder()),
            release: source,
            variables: &wanted.variables,
            flux: &self.flux_index().post_build(id),
            applied,
            shape: &FolderShape::of_neighbours(self.tree.as_ref(), self.layout(), id),
            schemas: self.schemas(),
        })?;
        if applied == AppliedBy::Reconciler {
            self.bring_services(id, release, &wanted.variables, &mut made)?;
        }
        let after = self.after(&made.files);
        let folder = after.found(id)?;
        let name = ReleaseName::Id(release.id.clone());
        if let Some(what) = difference(&after.plan(id, Some(&name))?) {
            return Err(NotPossible::Failed(format!(
                "the cluster would differ from {}, so Capstan does not make it: {what}",
                release.id
            )));
        }
        let mut notes = after.require_own_name(folder, &made)?;
        notes.extend(release.why_not_offered().map(|why| format!("{} {why}.", release.id)));
        let mut findings = made.findings;
        findings = self.settings.severities().settle(findings);
        findings.extend(self.judged(&after, id, applied));
        findings.dedup();
        Ok(CreatedCluster {
            cluster: id.clone(),
            release: release.id.clone(),
            content: release.content.as_ref().map(SourceContent::from),
            variables: wanted.variables.clone(),
            files: made.files,
            objects: made.objects,
            findings,
            claimed_by: claimed_by.map(|management| management.name.clone()),
            notes,
        })
    }

    /// The services that its release has come with a new cluster.
    fn bring_services(
        &self,
        id: &ClusterId,
        release: &Release,
        variables: &BTreeMap<String, String>,
        made: &mut MadeCluster,
    ) -> Result<(), NotPossible> {
        let sources = &self.shared.sources;
        let services = sources.services_of(self.releases_tree(), release, self.schemas())?;
        if services.is_empty() {
            return Ok(());
        }
        let facts = ClusterFacts {
            id: id.clone(),
            kind: TargetKind::Cluster,
            base_folder: self.settings.clusters.base.inside(id.folder()),
            base: Vec::new(),
            contents: Vec::new(),
            overlay: Vec::new(),
            record: None,
            variables: variables.clone(),
            flux: self.flux_index().post_build(id),
            release: None,
            applied: AppliedBy::Reconciler,
            classes_used_elsewhere: Vec::new(),
        };
        let files = std::mem::take(&mut made.files);
        let planned = bring_services(&facts, &services, files, self.schemas()).map_err(Refused::from)?;
        if let Some(why) = planned.upgrade.blocked.first() {
            return Err(NotPossible::Failed(format!(
                "the services of {} cannot be brought: {why}",
                release.id
            )));
        }
        made.files = planned.intended;
        made.findings.extend(planned.upgrade.findings);
        Ok(())
    }

    /// Whether a folder may be a new cluster's.
    pub(super) fn require_free(&self, id: &ClusterId) -> Result<(), NotPossible> {
        let usage = |message: String| Err(NotPossible::Usage(message));
        let folder = id.folder();
        if ReleaseVersion::parse(folder.name()).is_some() {
            return usage(format!("`{id}` has the name of a version: such a folder is a release"));
        }
        if folder.parts().any(|part| part.starts_with('.')) {
            return usage(format!(
                "`{id}` has a part that begins with a dot: such folders belong to other programs"
            ));
        }
        if !self.tree.entries_in(folder).is_empty() || self.tree.entry(folder).is_some() {
            return usage(format!("{id} already exists, and a new cluster never overwrites anything"));
        }
        let mut above = std::iter::successors(folder.parent(), RepoPath::parent);
        if let Some(file) = above.find(|folder| self.tree.entry(folder).is_some()) {
            return usage(format!("{file} is a file, so {id} cannot be a folder"));
        }
        let inside = folder.join("capstan.yaml").unwrap_or_default();
        if let Some(outer) = self.layout().target_around(&inside) {
            return usage(format!(
                "{id} would be in the cluster {}, and a cluster never contains another",
                outer.id
            ));
        }
        if let Some(outer) = self.layout().release_around(&inside) {
            return usage(format!("{id} would be in the release {}", outer.id));
        }
        let holds = |cluster: &&Arc<TargetFolder>| cluster.id.folder().is_in(folder);
        if let Some(inner) = self.layout().targets.iter().find(holds) {
            return usage(format!(
                "{id} would hold the cluster {}, and a cluster never contains another",
                inner.id
            ));
        }
        Ok(())
    }

    /// The release of that name.
    fn release_named(&self, name: &ReleaseName) -> Result<&Release, NotPossible> {
        let catalogue = self.catalogue();
        let found: Vec<&Release> = match name {
            ReleaseName::Id(id) => catalogue.find(id).into_iter().collect(),
            ReleaseName::Version(version) => {
                let providers = catalogue.providers().into_iter();
                providers.filter_map(|provider| catalogue.find_version(provider, version)).collect()
            }
        };
        match found.as_slice() {
            [release] if release.kind != TargetKind::Cluster => Err(NotPossible::Usage(format!(
                "the release {} is for {}s, as the objects of its base show: Capstan makes no cluster from it",
                release.id,
                release.kind.noun()
            ))),
            [release] => Ok(release),
            [] => {
                let is_it = |id: &ReleaseId| match name {
                    ReleaseName::Id(asked) => id == asked,
                    ReleaseName::Version(version) => id.version().as_ref() == Some(version),
                };
                if let Some((id, error)) = catalogue.unreadable().iter().find(|(id, _)| is_it(id)) {
                    return Err(NotPossible::Failed(format!("the release {id} cannot be read: {error}")));
                }
                let hint = did_you_mean(nearest_release(&name.to_string(), catalogue.releases().iter()));
                Err(NotPossible::Usage(format!("there is no release `{name}`{hint}")))
            }
            several => {
                let names: Vec<&str> = several.iter().map(|release| release.id.as_str()).collect();
                Err(NotPossible::Usage(format!(
                    "several releases have the name `{name}`: {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// The same fleet with files that are not written.
    pub(super) fn after(&self, files: &[FileChange]) -> Self {
        let tree: Arc<dyn Tree> = Arc::new(Edited::new(Arc::clone(&self.tree), files));
        let after = Self::with_settings(tree, self.settings.clone(), self.has_settings_file, self.today);
        // None of these files belongs to a release.
        Self { releases: self.releases.clone(), shared: Arc::clone(&self.shared), ..after }
    }

    /// A cluster's folder, if Capstan finds it as a cluster at that path.
    pub(super) fn found(&self, id: &ClusterId) -> Result<&TargetFolder, NotPossible> {
        let Some(folder) = self.layout().target(id.as_str()) else {
            let why = match &self.settings.clusters.paths {
                Some(patterns) => {
                    let patterns: Vec<String> = patterns.iter().map(|glob| format!("`{glob}`")).collect();
                    format!("`clusters.paths` in .capstan.yaml has {}", patterns.join(", "))
                }
                None => "its content is not that of a cluster".to_owned(),
            };
            return Err(NotPossible::Usage(format!("{id} would not be found as a cluster: {why}")));
        };
        let is_here = |problem: &&FileError| problem.place.file().is_in(id.folder());
        match self.layout().problems.iter().find(is_here) {
            Some(problem) => Err(NotPossible::Failed(problem.to_string())),
            None => Ok(folder),
        }
    }

    /// Checks that no other folder has a `Cluster` of that namespace and name. In one management cluster that is an
    /// error. Folders that others apply may go to different management clusters, so they only give notes.
    pub(super) fn require_own_name(
        &self,
        folder: &TargetFolder,
        made: &MadeCluster,
    ) -> Result<Vec<String>, NotPossible> {
        let claim =
            |id: &ClusterId| self.settings.claimed_by(id).ok().flatten().map(|management| &management.name);
        let (own, mut notes) = (claim(&folder.id), Vec::new());
        let clusters: Vec<&ObjectId> = made.clusters().collect();
        for other in self.layout().targets.iter().filter(|other| other.id != folder.id) {
            if claim(&other.id) != own || !self.mentions(other, &clusters) {
                continue;
            }
            let Ok(rendered) = render::render(self.tree.as_ref(), &folders_of(other)) else { continue };
            let same = |id: &&&ObjectId| rendered.objects.iter().any(|object| object.id == ***id);
            let Some(cluster) = clusters.iter().find(same) else { continue };
            let namespace = cluster.namespace.as_deref().unwrap_or("default");
            let said =
                format!("{} has a `Cluster` {} in the namespace {namespace} too", other.id, cluster.name);
            match own {
                Some(management) => {
                    return Err(NotPossible::Usage(format!(
                        "{said}, and {management} applies both: give this one another name"
                    )));
                }
                None => notes.push(format!("{said}: they must not be applied to one management cluster.")),
            }
        }
        Ok(notes)
    }

    /// Whether a folder may have an object of one of these names: rendering all of them would take long.
    fn mentions(&self, folder: &TargetFolder, clusters: &[&ObjectId]) -> bool {
        let mut files = folder.base_files.iter().chain(&folder.overlay_files);
        files.any(|entry| {
            // What kustomizations make of names is seen by rendering alone.
            render::is_kustomization(&entry.path)
                || self.tree.read(entry).is_ok_and(|bytes| {
                    let text = String::from_utf8_lossy(&bytes);
                    clusters.iter().any(|cluster| text.contains(cluster.name.as_str()))
                })
        })
    }

    /// What the rules say of a cluster that comes.
    pub(super) fn judged(&self, after: &Self, id: &ClusterId, applied: AppliedBy) -> Vec<Finding> {
        let (tree, settings) = (after.tree.as_ref(), &after.settings);
        let neighbours = (applied == AppliedBy::Reconciler)
            .then(|| Neighbours::read(tree, after.layout(), settings, &mut |_, read| read()));
        let now = Snapshot {
            tree,
            layout: after.layout(),
            schemas: after.schemas(),
            cluster_api: after.cluster_api(),
            flux: Some(after.flux_index()),
            neighbours: neighbours.as_ref(),
            supplies: None,
        };
        let before = Snapshot { tree: self.tree.as_ref(), layout: self.layout(), neighbours: None, ..now };
        let alone = BTreeSet::from([id.clone()]);
        validate(now, Some(before), settings, Scope::Clusters(&alone), self.today)
    }
}
