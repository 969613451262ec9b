//! Clusters, folders and files as people type them: by a path, relative to the folder in which the command was called or
//! absolute, as Git takes them; or by an id, from the root of the repository.

use std::collections::BTreeSet;

use capstan_model::ids::ClusterId;
use capstan_model::spelling::{did_you_mean, did_you_mean_one, near, nearest};
use capstan_model::tree::{RepoPath, Tree};
use capstan_report::Refusal;

use super::CommandFailure;
use capstan_fleet::generator::Fleet;
use capstan_ports::Workspace;

/// Names in a message: more than these would hide what is wrong.
const NAMED: usize = 5;

/// The paths that may be meant, the likeliest first.
pub(super) fn paths(workspace: &dyn Workspace, typed: &str) -> Vec<RepoPath> {
    let near = workspace.path(typed);
    // `./web`, `../web` and `/srv/fleet/web` say where they begin.
    let says_where = typed.starts_with(['.', '/']);
    let from_root = RepoPath::parse(typed.trim_end_matches('/')).ok().filter(|_| !says_where);
    near.into_iter().chain(from_root).collect()
}

/// The clusters that are meant.
pub(super) fn clusters(
    workspace: &dyn Workspace,
    fleet: &Fleet,
    known: &[&ClusterId],
    typed: &str,
) -> Result<Vec<ClusterId>, CommandFailure> {
    let meant = matching(workspace, fleet.tree().as_ref(), known, typed)?;
    if meant.is_empty() {
        let message = of_releases(workspace, fleet, typed).unwrap_or_else(|| unknown(known, typed));
        return Err(CommandFailure::Usage(Refusal::NotFound, message));
    }
    Ok(meant)
}

/// The clusters with this folder, around it or below it; else the only one whose id ends so. None where nothing fits.
pub(super) fn matching(
    workspace: &dyn Workspace,
    tree: &dyn Tree,
    known: &[&ClusterId],
    typed: &str,
) -> Result<Vec<ClusterId>, CommandFailure> {
    for path in paths(workspace, typed) {
        let is_in = |id: &&&ClusterId| is_below(path.as_str(), id.as_str()) && exists(tree, &path);
        let own = known.iter().find(|id| id.as_str() == path.as_str());
        let around = own.or_else(|| known.iter().find(is_in));
        let meant: Vec<ClusterId> = match around {
            Some(id) => vec![(**id).clone()],
            None => known
                .iter()
                .filter(|id| is_below(id.as_str(), path.as_str()))
                .map(|id| (**id).clone())
                .collect(),
        };
        if !meant.is_empty() {
            return Ok(meant);
        }
    }
    let ending = typed.trim_end_matches('/');
    let ends_so: Vec<&str> = known
        .iter()
        .map(|id| id.as_str())
        .filter(|id| !ending.is_empty() && id.ends_with(&format!("/{ending}")))
        .collect();
    match ends_so.as_slice() {
        [] | [_] => {
            Ok(known.iter().filter(|id| ends_so.contains(&id.as_str())).map(|id| (**id).clone()).collect())
        }
        several => Err(CommandFailure::Usage(
            Refusal::NotFound,
            format!("`{typed}` may mean several clusters: {}. Name one of them", listed(several)),
        )),
    }
}

/// The cluster that is meant, of which there must be one.
pub(super) fn cluster(
    workspace: &dyn Workspace,
    fleet: &Fleet,
    known: &[&ClusterId],
    typed: &str,
) -> Result<ClusterId, CommandFailure> {
    only(clusters(workspace, fleet, known, typed)?, typed)
}

/// The only one of the clusters that are meant.
pub(super) fn only(meant: Vec<ClusterId>, typed: &str) -> Result<ClusterId, CommandFailure> {
    match meant.as_slice() {
        [one] => Ok(one.clone()),
        several => {
            let names: Vec<&str> = several.iter().map(ClusterId::as_str).collect();
            Err(CommandFailure::Usage(
                Refusal::NotFound,
                format!("`{typed}` holds several clusters: {}. This command takes one", listed(&names)),
            ))
        }
    }
}

/// A file or folder in whichever of the trees has it.
pub(super) fn file_or_folder(
    workspace: &dyn Workspace,
    trees: &[&dyn Tree],
    typed: &str,
) -> Result<RepoPath, CommandFailure> {
    let found = paths(workspace, typed).into_iter().find(|path| trees.iter().any(|tree| exists(*tree, path)));
    found.ok_or_else(|| {
        let hint = did_you_mean(paths(workspace, typed).iter().find_map(|path| near_path(trees, path)));
        CommandFailure::Usage(
            Refusal::NotFound,
            format!(
                "there is no file or folder `{typed}` in the repository: a path is relative to the working directory, or begins at the root of the repository{hint}"
            ),
        )
    })
}

/// The file or folder with a name near to that of a path, beside it.
fn near_path(trees: &[&dyn Tree], path: &RepoPath) -> Option<RepoPath> {
    let (folder, name) = (path.parent()?, path.name());
    let entries = trees.iter().flat_map(|tree| tree.entries_in(&folder));
    let beside: BTreeSet<&str> =
        entries.filter_map(|entry| entry.path.below(&folder)?.split('/').next()).collect();
    folder.join(nearest(name, beside)?).ok()
}

/// The folder that something new is to be in.
pub(super) fn new_folder(workspace: &dyn Workspace, typed: &str) -> Option<RepoPath> {
    workspace.path(typed).filter(|path| !path.is_root())
}

/// A release, or a folder of releases, where a cluster is asked for.
fn of_releases(workspace: &dyn Workspace, fleet: &Fleet, typed: &str) -> Option<String> {
    let named = typed.trim_end_matches('/');
    let paths = paths(workspace, typed);
    for release in fleet.catalogue().releases() {
        let is_it =
            release.id.as_str() == named || paths.iter().any(|path| is_at_or_below(path, &release.folder));
        if is_it {
            return Some(format!(
                "`{typed}` is a release, and a cluster is asked for; `capstan clusters` lists them, `capstan plan CLUSTER --to {}` plans to this release",
                release.id
            ));
        }
    }
    let holds = |path: &&RepoPath| {
        let mut folders = fleet.catalogue().releases().iter().map(|release| &release.folder);
        !path.is_root() && folders.any(|folder| folder.is_in(path))
    };
    paths
        .iter()
        .any(|path| holds(&path))
        .then(|| format!("`{typed}` holds releases and no cluster; `capstan clusters` lists the clusters"))
}

fn is_at_or_below(path: &RepoPath, folder: &RepoPath) -> bool {
    path == folder || path.is_in(folder)
}

/// What has no cluster, and what may have been meant.
fn unknown(known: &[&ClusterId], typed: &str) -> String {
    let by_name = || {
        let name = typed.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let names = known.iter().filter_map(|id| id.as_str().rsplit('/').next());
        let meant = nearest(name, names)?;
        known.iter().map(|id| id.as_str()).find(|id| id.rsplit('/').next() == Some(meant))
    };
    let meant = match near(typed, known.iter().map(|id| id.as_str())) {
        none if none.is_empty() => by_name().into_iter().collect(),
        meant => meant,
    };
    let hint = match did_you_mean_one(&meant) {
        hint if !hint.is_empty() => format!("{hint} "),
        _ if known.is_empty() => format!("; no cluster was found at all: {WHAT_A_CLUSTER_IS}; "),
        _ => "; ".to_owned(),
    };
    format!("there is no cluster `{typed}`{hint}`capstan clusters` lists what was found")
}

pub(super) const WHAT_A_CLUSTER_IS: &str =
    "a cluster is a folder that holds `base/` with Cluster API objects";

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn exists(tree: &dyn Tree, path: &RepoPath) -> bool {
    path.is_root() || tree.entry(path).is_some() || !tree.entries_in(path).is_empty()
}
