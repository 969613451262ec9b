//! What every command may use: the checkout, its fleet, and names that were typed.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use capstan_model::ids::{ClusterId, ContentId, ReleaseId, ReleaseName};
use capstan_model::tree::{CommitId, RepoPath, Tree};
use capstan_plan::release::ReleaseContent;
use capstan_report::Refusal;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::opening::Open;
use super::progress::say;
use super::typed_release::{LIST, release};
use super::{CommandFailure, Offline, progress, typed};
use capstan_fleet::generator::{
    Fleet, PastRelease, PlannedWithReasons, has_release, missing_contents, missing_releases, plan_each,
    scopes_to_come,
};
use capstan_fleet::inventory;
use capstan_ports::{Clock, SystemClock, Workspace};

/// The day in UTC: what holds are judged against.
pub(super) fn today() -> Date {
    SystemClock.now().to_zoned(TimeZone::UTC).date()
}

/// What every command may use.
pub(super) struct Context<'a> {
    pub(super) arguments: &'a Offline,
    pub(super) open: Open<'a>,
}

impl Context<'_> {
    /// The checkout that `--repo` names.
    pub(super) fn workspace(&self) -> Result<Box<dyn Workspace>, CommandFailure> {
        Ok((self.open)(self.arguments.repo.as_deref())?)
    }

    /// The fleet of the work tree, or of `--at`.
    pub(super) fn fleet_of(&self, workspace: &dyn Workspace) -> Result<Fleet, CommandFailure> {
        self.fleet_at(workspace, self.arguments.at.as_deref())
    }

    /// The fleet of a revision; `None` = the work tree.
    pub(super) fn fleet_at(
        &self,
        workspace: &dyn Workspace,
        revision: Option<&str>,
    ) -> Result<Fleet, CommandFailure> {
        let tree = self.tree(workspace, revision)?;
        let mut fleet = Fleet::open(tree, today())
            .map_err(|error| CommandFailure::of_settings(error.place.file(), error.lines().collect()))?;
        if let Some(directory) = &self.arguments.releases {
            fleet.provide_releases((self.open)(Some(directory))?.work_tree()?);
        }
        Ok(fleet)
    }

    /// The same, for commands that are about releases.
    pub(super) fn fleet_with_releases(&self, workspace: &dyn Workspace) -> Result<Fleet, CommandFailure> {
        let fleet = self.fleet_of(workspace)?;
        fleet
            .require_releases()
            .map_err(|error| CommandFailure::Failed(Refusal::ReleasesElsewhere, error.to_string()))?;
        Ok(fleet)
    }

    /// The files of a revision; `None` = the work tree.
    pub(super) fn tree(
        &self,
        workspace: &dyn Workspace,
        revision: Option<&str>,
    ) -> Result<Arc<dyn Tree>, CommandFailure> {
        Ok(match revision {
            Some(revision) => workspace.commit(revision)?,
            None => workspace.work_tree()?,
        })
    }

    /// The clusters that were typed, or all of them; ordered, each once.
    pub(super) fn clusters(
        &self,
        workspace: &dyn Workspace,
        fleet: &Fleet,
        typed: &[String],
    ) -> Result<Vec<ClusterId>, CommandFailure> {
        if typed.is_empty() {
            return Ok(all(fleet));
        }
        self.typed(workspace, fleet, typed, &fleet.targets().collect::<Vec<_>>())
    }

    /// The same, and those that the inventory defines and that have no folder yet, which nobody else asks for.
    pub(super) fn clusters_and_to_come(
        &self,
        workspace: &dyn Workspace,
        fleet: &Fleet,
        typed: &[String],
    ) -> Result<(Vec<ClusterId>, Vec<ClusterId>), CommandFailure> {
        let to_come: Vec<ClusterId> =
            scopes_to_come(fleet).into_iter().filter_map(|scope| scope.target.id().cloned()).collect();
        if typed.is_empty() {
            let none = fleet.layout().targets.is_empty() && !to_come.is_empty();
            return Ok((if none { Vec::new() } else { all(fleet) }, to_come));
        }
        let known: Vec<&ClusterId> = fleet.targets().chain(&to_come).collect();
        let meant = self.typed(workspace, fleet, typed, &known)?;
        Ok(meant.into_iter().partition(|id| !to_come.contains(id)))
    }

    fn typed(
        &self,
        workspace: &dyn Workspace,
        fleet: &Fleet,
        typed: &[String],
        known: &[&ClusterId],
    ) -> Result<Vec<ClusterId>, CommandFailure> {
        let mut clusters = Vec::new();
        for name in typed {
            clusters.extend(typed::clusters(workspace, fleet, known, name)?);
        }
        clusters.sort();
        clusters.dedup();
        Ok(clusters)
    }

    /// The cluster that was typed.
    pub(super) fn cluster(
        &self,
        workspace: &dyn Workspace,
        fleet: &Fleet,
        typed: &str,
    ) -> Result<ClusterId, CommandFailure> {
        typed::cluster(workspace, fleet, &fleet.targets().collect::<Vec<_>>(), typed)
    }

    /// What `--to` means for these clusters; `None` where nothing was typed.
    pub(super) fn target(
        &self,
        fleet: &Fleet,
        clusters: &[ClusterId],
        typed: Option<&str>,
    ) -> Result<Option<ReleaseName>, CommandFailure> {
        let Some(typed) = typed else { return Ok(None) };
        let name = release(fleet, typed).map_err(|why| CommandFailure::Usage(Refusal::NotFound, why))?;
        for cluster in clusters {
            // A cluster that cannot be read is refused by name when it is planned.
            if let Ok(Err(error)) = has_release(fleet, cluster, &name) {
                let broken = |id: &ReleaseId| match &name {
                    ReleaseName::Id(asked) => id == asked,
                    ReleaseName::Version(version) => id.version().as_ref() == Some(version),
                };
                return Err(if fleet.catalogue().unreadable().iter().any(|(id, _)| broken(id)) {
                    CommandFailure::Failed(Refusal::Unreadable, error.to_string())
                } else {
                    CommandFailure::Usage(Refusal::NotFound, format!("{error}{LIST}"))
                });
            }
        }
        Ok(Some(name))
    }

    /// Gives the fleet the old releases of these clusters that have no folder any more: by the id of
    /// their content, else from their last commit in the history.
    pub(super) fn find_old_releases(
        &self,
        workspace: &dyn Workspace,
        fleet: &mut Fleet,
        clusters: &[ClusterId],
    ) {
        let elsewhere = self.arguments.releases.as_ref().and_then(|path| (self.open)(Some(path)).ok());
        let places = || elsewhere.as_deref().into_iter().chain([workspace]);
        for id in missing_contents(fleet, clusters) {
            if let Some(content) = places().find_map(|place| content_in(place, &id)) {
                fleet.supplement_mut().contents.insert(id, content);
            }
        }
        for id in missing_releases(fleet, clusters) {
            if let Some(past) = places().find_map(|place| place.past_folder(&id.possible_folders())) {
                let found_in = format!("commit {}", past.commit.as_str().get(..8).unwrap_or_default());
                let past = PastRelease { content: past.content, tree: past.tree, found_in };
                fleet.supplement_mut().past.insert(id, past);
            }
        }
    }

    /// The commits from which records of these clusters can be taken back that somebody edited.
    pub(super) fn restores(
        &self,
        workspace: &dyn Workspace,
        fleet: &Fleet,
        clusters: &[ClusterId],
    ) -> BTreeMap<RepoPath, CommitId> {
        let edited = inventory::edited_records(fleet, clusters).into_iter();
        edited
            .filter_map(|path| {
                let commit = workspace.last_fitting(&path, &|bytes| inventory::fits(&path, bytes))?;
                Some((path, commit))
            })
            .collect()
    }

    /// Plans the clusters, and tells how far it is.
    pub(super) fn plan_all(
        &self,
        workspace: &dyn Workspace,
        fleet: &mut Fleet,
        clusters: &[ClusterId],
        target: Option<&ReleaseName>,
    ) -> Vec<PlannedWithReasons> {
        self.find_old_releases(workspace, fleet, clusters);
        let mut all = Vec::with_capacity(clusters.len());
        progress::count_clusters(clusters.len());
        let take = |planned| {
            progress::cluster_done();
            all.push(planned);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = plan_each(fleet, clusters, target, |_, planned| planned, take);
        all
    }
}

/// All clusters; a warning says if there is none, and what was skipped.
fn all(fleet: &Fleet) -> Vec<ClusterId> {
    if fleet.layout().targets.is_empty() {
        say!("no cluster was found: {}", typed::WHAT_A_CLUSTER_IS);
    }
    // A folder that is passed over would else be missed without a word.
    for problem in fleet.layout().problems.iter().chain(&fleet.outside()) {
        say!("warning: {problem}");
    }
    fleet.targets().cloned().collect()
}

/// A release's content by its ids, from whatever commits left it.
fn content_in(place: &dyn Workspace, id: &ContentId) -> Option<ReleaseContent> {
    let folder = ReleaseContent::from(place.folder(&id.tree)?);
    id.reads.iter().try_fold(folder, |content, (path, blob)| content.with(path.clone(), place.file(blob)?))
}
