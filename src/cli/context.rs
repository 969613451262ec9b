//! What every command may use: the checkout, its fleet, and names that were typed.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use capstan_model::ids::{ClusterId, ContentId, ReleaseId, ReleaseName};
use capstan_model::spelling;
use capstan_model::tree::{CommitId, RepoPath, Tree};
use capstan_plan::release::ReleaseContent;
use capstan_report::Refusal;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{Failure, Offline, Open};
use capstan_fleet::generator::{Fleet, PastRelease, PlannedWithReasons};
use capstan_fleet::inventory;
use capstan_ports::{Clock, SystemClock, Workspace};

/// The day in UTC: what holds are judged against.
pub(super) fn today() -> Date {
    SystemClock.now().to_zoned(TimeZone::UTC).date()
}

const WHAT_A_CLUSTER_IS: &str = "a cluster is a folder that holds `base/` with Cluster API objects";

/// What every command may use.
pub(super) struct Context<'a> {
    pub(super) arguments: &'a Offline,
    pub(super) open: Open<'a>,
}

impl Context<'_> {
    /// The checkout that `--repo` names.
    pub(super) fn workspace(&self) -> Result<Box<dyn Workspace>, Failure> {
        Ok((self.open)(self.arguments.repo.as_deref())?)
    }

    /// The fleet of the work tree, or of `--at`.
    pub(super) fn fleet(&self) -> Result<Fleet, Failure> {
        self.fleet_of(self.workspace()?.as_ref())
    }

    /// The same of a workspace that is open already.
    pub(super) fn fleet_of(&self, workspace: &dyn Workspace) -> Result<Fleet, Failure> {
        self.fleet_at(workspace, self.arguments.at.as_deref())
    }

    /// The fleet of a revision; `None` = the work tree.
    pub(super) fn fleet_at(
        &self,
        workspace: &dyn Workspace,
        revision: Option<&str>,
    ) -> Result<Fleet, Failure> {
        let tree = self.tree(workspace, revision)?;
        let mut fleet = Fleet::open(tree, today())
            .map_err(|error| Failure::Failed(Refusal::Settings, error.to_string()))?;
        if let Some(directory) = &self.arguments.releases {
            fleet.provide_releases((self.open)(Some(directory))?.work_tree()?);
        }
        Ok(fleet)
    }

    /// The same, for commands that are about releases.
    pub(super) fn fleet_with_releases(&self, workspace: &dyn Workspace) -> Result<Fleet, Failure> {
        let fleet = self.fleet_of(workspace)?;
        fleet
            .require_releases()
            .map_err(|error| Failure::Failed(Refusal::ReleasesElsewhere, error.to_string()))?;
        Ok(fleet)
    }

    /// The files of a revision; `None` = the work tree.
    pub(super) fn tree(
        &self,
        workspace: &dyn Workspace,
        revision: Option<&str>,
    ) -> Result<Arc<dyn Tree>, Failure> {
        Ok(match revision {
            Some(revision) => workspace.commit(revision)?,
            None => workspace.work_tree()?,
        })
    }

    /// The clusters that were typed, or all of them; ordered, each once.
    pub(super) fn clusters(&self, fleet: &Fleet, typed: &[String]) -> Result<Vec<ClusterId>, Failure> {
        if typed.is_empty() {
            if fleet.layout().targets.is_empty() {
                anstream::eprintln!("no cluster was found: {WHAT_A_CLUSTER_IS}");
            }
            // A folder that is passed over would else be missed without a word.
            for problem in fleet.layout().problems.iter().chain(&fleet.outside()) {
                anstream::eprintln!("warning: {problem}");
            }
            return Ok(fleet.targets().cloned().collect());
        }
        let mut clusters = typed
            .iter()
            .map(|name| self.cluster(fleet, name))
            .collect::<Result<Vec<ClusterId>, Failure>>()?;
        clusters.sort();
        clusters.dedup();
        Ok(clusters)
    }

    /// The same, and those that the inventory defines and that have no folder yet, which nobody else asks for.
    pub(super) fn clusters_and_to_come(
        &self,
        fleet: &Fleet,
        typed: &[String],
    ) -> Result<(Vec<ClusterId>, Vec<ClusterId>), Failure> {
        let to_come: Vec<ClusterId> =
            fleet.scopes_to_come().into_iter().filter_map(|scope| scope.target.id().cloned()).collect();
        if typed.is_empty() {
            let none = fleet.layout().targets.is_empty() && !to_come.is_empty();
            let clusters = if none { Vec::new() } else { self.clusters(fleet, typed)? };
            return Ok((clusters, to_come));
        }
        let is_to_come =
            |name: &str, id: &ClusterId| name.trim_start_matches("./").trim_end_matches('/') == id.as_str();
        let named = |id: &&ClusterId| typed.iter().any(|name| is_to_come(name, id));
        let named: Vec<ClusterId> = to_come.iter().filter(named).cloned().collect();
        let others: Vec<String> =
            typed.iter().filter(|name| !named.iter().any(|id| is_to_come(name, id))).cloned().collect();
        let others = if others.is_empty() { Vec::new() } else { self.clusters(fleet, &others)? };
        Ok((others, named))
    }

    /// The cluster that was typed.
    pub(super) fn cluster(&self, fleet: &Fleet, typed: &str) -> Result<ClusterId, Failure> {
        let name = typed.trim_start_matches("./").trim_end_matches('/');
        let folder = fleet.layout().target(name).ok_or_else(|| self.no_such_cluster(fleet, typed))?;
        Ok(folder.id.clone())
    }

    /// The failure for a cluster that does not exist.
    pub(super) fn no_such_cluster(&self, fleet: &Fleet, typed: &str) -> Failure {
        let nearest = spelling::nearest(typed, fleet.targets().map(ClusterId::as_str));
        let hint = match nearest {
            Some(nearest) => format!("did you mean `{nearest}`? "),
            None if fleet.layout().targets.is_empty() => {
                format!("no cluster was found at all: {WHAT_A_CLUSTER_IS}; ")
            }
            None => String::new(),
        };
        Failure::Usage(
            Refusal::NotFound,
            format!("there is no cluster `{typed}`; {hint}`capstan clusters` lists what was found"),
        )
    }

    /// What `--to` means for these clusters; `None` where nothing was typed.
    pub(super) fn target(
        &self,
        fleet: &Fleet,
        clusters: &[ClusterId],
        typed: Option<&str>,
    ) -> Result<Option<ReleaseName>, Failure> {
        let Some(typed) = typed else { return Ok(None) };
        let name = ReleaseName::parse(typed.trim_end_matches('/')).ok_or_else(|| {
            Failure::Usage(
                Refusal::NotFound,
                format!(
                    "`{typed}` is no release: give its id, e.g. aws/v21.0.0 (`capstan releases` lists them)"
                ),
            )
        })?;
        for cluster in clusters {
            // A cluster that cannot be read is refused by name when it is planned.
            if let Ok(Err(error)) = fleet.has_release(cluster, &name) {
                let broken = |id: &ReleaseId| match &name {
                    ReleaseName::Id(asked) => id == asked,
                    ReleaseName::Version(version) => id.version().as_ref() == Some(version),
                };
                return Err(if fleet.catalogue().unreadable().iter().any(|(id, _)| broken(id)) {
                    Failure::Failed(Refusal::Unreadable, error.to_string())
                } else {
                    Failure::Usage(Refusal::NotFound, format!("{error} (`capstan releases` lists them)"))
                });
            }
        }
        Ok(Some(name))
    }

    /// Gives the fleet the old releases of these clusters that lie in no folder any more: by the id of
    /// their content, else as history last had them.
    pub(super) fn find_old_releases(
        &self,
        workspace: &dyn Workspace,
        fleet: &mut Fleet,
        clusters: &[ClusterId],
    ) {
        let elsewhere = self.arguments.releases.as_ref().and_then(|path| (self.open)(Some(path)).ok());
        let places = || elsewhere.as_deref().into_iter().chain([workspace]);
        for id in fleet.missing_contents(clusters) {
            if let Some(content) = places().find_map(|place| content_in(place, &id)) {
                fleet.provide_content(id, content);
            }
        }
        for id in fleet.missing_releases(clusters) {
            if let Some(past) = places().find_map(|place| place.past_folder(&id.possible_folders())) {
                let found_in = format!("commit {}", past.commit.as_str().get(..8).unwrap_or_default());
                fleet.provide_past_release(
                    id,
                    PastRelease { content: past.content, tree: past.tree, found_in },
                );
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

    /// Plans the clusters with a progress bar on a terminal.
    pub(super) fn plan_all(
        &self,
        workspace: &dyn Workspace,
        fleet: &mut Fleet,
        clusters: &[ClusterId],
        target: Option<&ReleaseName>,
    ) -> Vec<PlannedWithReasons> {
        self.find_old_releases(workspace, fleet, clusters);
        let mut all = Vec::with_capacity(clusters.len());
        let bar = progress(clusters.len());
        let take = |planned| {
            bar.inc(1);
            all.push(planned);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = fleet.plan_each(clusters, target, |_, planned| planned, take);
        bar.finish_and_clear();
        all
    }
}

/// A file or folder that was typed, in whichever of the trees has it.
pub(super) fn path_in(trees: &[&dyn Tree], typed: &str) -> Result<RepoPath, Failure> {
    let missing = || {
        Failure::Usage(
            Refusal::NotFound,
            format!("there is no file or folder `{typed}` in the repository (paths start at its root)"),
        )
    };
    let path = match typed.trim_start_matches("./").trim_end_matches('/') {
        "" | "." if !typed.starts_with('/') => return Ok(RepoPath::root()),
        trimmed => RepoPath::parse(trimmed).map_err(|_| missing())?,
    };
    let exists = |tree: &&dyn Tree| tree.entry(&path).is_some() || !tree.entries_in(&path).is_empty();
    if trees.iter().any(exists) { Ok(path) } else { Err(missing()) }
}

/// How many clusters of so many are done. Draws nothing where standard error is no terminal.
pub(super) fn progress(clusters: usize) -> ProgressBar {
    if clusters <= 20 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::try_from(clusters).unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("planning {wide_bar} {pos}/{len}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A release's content by its ids, from whatever commits left it.
fn content_in(place: &dyn Workspace, id: &ContentId) -> Option<ReleaseContent> {
    let folder = ReleaseContent::from(place.folder(&id.tree)?);
    id.reads.iter().try_fold(folder, |content, (path, blob)| content.with(path.clone(), place.file(blob)?))
}
