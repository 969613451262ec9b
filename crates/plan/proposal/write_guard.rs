//! The one gate before a tree is written: only a cluster's own base, its services beside it, its `capstan.yaml` and its
//! `capstan-values.yaml`; under `retarget` also files that its overlay has already. A new cluster's folder, where nothing is yet.

use crate::settings::SERVICES_FOLDER;
use crate::upgrade::{Retarget, Upgrade, ValuesCourse};
use capstan_kustomize::render::Folders;
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_model::tree::{RepoPath, Tree};
use serde::{Deserialize, Serialize};

/// What Capstan records in a cluster's folder, beside its base.
const RECORDS: [&str; 2] = [crate::settings::FOLDER_FILE, capstan_inventory::record::FILE];

/// Where a proposal may write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub target: Target,
    /// Its base folder; the cluster's own folder where the settings say `base: "."`.
    pub base: RepoPath,
    /// Its overlay folder, also where that is inside the base. It is written only under `retarget`.
    pub overlay: RepoPath,
    /// Whether files of the overlay may be edited; none ever comes or goes.
    pub retarget: Retarget,
}

impl Scope {
    /// The folders that its target is rendered from.
    pub fn folders(&self) -> Folders {
        // A group has no scope: what is written is each cluster's own.
        let cluster = self.target.folder().unwrap_or(&self.base).clone();
        Folders { cluster, base: self.base.clone(), overlay: self.overlay.clone() }
    }
}

/// A path that a proposal must not touch: a fault of Capstan's, caught before anything is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the plan of {target} would write {path}, which is not in its base or services and not its capstan.yaml or capstan-values.yaml. Capstan wrote nothing"
)]
pub struct OutsideTarget {
    pub target: Target,
    pub path: RepoPath,
}

/// Files that were let past the gate. Trees are built of these alone.
#[derive(Debug, Clone, Default)]
pub struct Guarded<'f>(Vec<&'f [FileChange]>);

impl<'f> Guarded<'f> {
    pub fn files(&self) -> impl Iterator<Item = &'f FileChange> {
        self.0.iter().flat_map(|files| files.iter())
    }

    /// The files of several targets together. Each target passed the gate for itself, so no plan's file is in another
    /// target's folder.
    pub fn together(each: impl IntoIterator<Item = Self>) -> Self {
        Self(each.into_iter().flat_map(|one| one.0).collect())
    }
}

/// Lets files past that make a new cluster: all of them new, and in its folder, which is not there yet.
///
/// # Errors
/// A path outside of it, or one that is there.
pub fn guard_new<'f>(
    cluster: &ClusterId,
    base: &dyn Tree,
    files: &'f [FileChange],
) -> Result<Guarded<'f>, OutsideTarget> {
    let folder = cluster.folder();
    let is_free = base.entries_in(folder).is_empty() && base.entry(folder).is_none();
    let is_new = |file: &FileChange| {
        is_free && file.path.is_in(folder) && file.before.is_none() && file.after.is_some()
    };
    match files.iter().find(|file| !is_new(file)) {
        None => Ok(Guarded(vec![files])),
        Some(file) => Err(OutsideTarget { target: cluster.clone().into(), path: file.path.clone() }),
    }
}

/// Lets an upgrade's files past: those of a target that there is, or of a cluster that comes.
///
/// # Errors
/// The first path that it must not touch.
pub fn guard_upgrade<'f>(
    scope: &Scope,
    base: &dyn Tree,
    upgrade: &'f Upgrade,
) -> Result<Guarded<'f>, OutsideTarget> {
    let comes = upgrade.values.as_ref().is_some_and(|values| values.course == ValuesCourse::Comes);
    match scope.target.cluster().filter(|_| comes) {
        Some(cluster) => guard_new(cluster, base, &upgrade.files),
        None => guard(scope, &upgrade.files),
    }
}

/// Lets files past that bury a cluster: its `capstan.yaml` alone.
///
/// # Errors
/// Any other path.
pub fn guard_tombstone<'f>(
    cluster: &ClusterId,
    files: &'f [FileChange],
) -> Result<Guarded<'f>, OutsideTarget> {
    let is_record = |file: &FileChange| {
        file.path.below(cluster.folder()) == Some(crate::settings::FOLDER_FILE) && file.after.is_some()
    };
    match files.iter().find(|file| !is_record(file)) {
        None => Ok(Guarded(vec![files])),
        Some(file) => Err(OutsideTarget { target: cluster.clone().into(), path: file.path.clone() }),
    }
}

/// Refuses any path outside the scope.
///
/// # Errors
/// The first such path; of a target that has no folder of its own any.
pub fn guard<'f>(scope: &Scope, files: &'f [FileChange]) -> Result<Guarded<'f>, OutsideTarget> {
    let Some(folder) = scope.target.folder() else {
        return match files.first() {
            None => Ok(Guarded::default()),
            Some(file) => Err(OutsideTarget { target: scope.target.clone(), path: file.path.clone() }),
        };
    };
    let record = |path: &RepoPath| path.below(folder).is_some_and(|below| RECORDS.contains(&below));
    let services = folder.join(SERVICES_FOLDER).ok().filter(|_| scope.base != *folder);
    let of_service = |path: &RepoPath| services.as_ref().is_some_and(|services| path.is_in(services));
    let inside = |path: &RepoPath| {
        let in_base = || path.is_in(&scope.base) && !path.is_in(&scope.overlay);
        path.is_in(folder) && (record(path) || of_service(path) || in_base())
    };
    let retargeted = |file: &FileChange| {
        scope.retarget == Retarget::Allowed
            && file.path.is_in(folder)
            && file.path.is_in(&scope.overlay)
            && !RECORDS.contains(&file.path.name())
            && file.before.is_some()
            && file.after.is_some()
    };
    match files.iter().find(|file| !inside(&file.path) && !retargeted(file)) {
        None => Ok(Guarded(vec![files])),
        Some(file) => Err(OutsideTarget { target: scope.target.clone(), path: file.path.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn scope(base: &str, retarget: Retarget) -> Scope {
        Scope {
            target: Target::parse("gauss/peu01").unwrap(),
            base: path(base),
            overlay: path("gauss/peu01/overlay"),
            retarget,
        }
    }

    fn refused(base: &str, file: &str) -> bool {
        let scope = scope(base, Retarget::Refused);
        let change = FileChange { path: path(file), before: None, after: Some(String::new()) };
        guard(&scope, &[change]).is_err()
    }

    #[test]
    fn only_the_base_and_the_record_are_written() {
        for (file, expected) in [
            ("gauss/peu01/base/a.yaml", false),
            ("gauss/peu01/base/deep/a.yaml", false),
            ("gauss/peu01/capstan.yaml", false),
            ("gauss/peu01/services/cilium/a.yaml", false),
            ("gauss/peu01/services", true),
            ("gauss/peu01/servicesx/a.yaml", true),
            ("gauss/peu01/overlay/services/cilium/a.yaml", true),
            ("gauss/peu02/services/cilium/a.yaml", true),
            ("gauss/peu01/capstan-values.yaml", false),
            ("gauss/peu01/overlay/capstan-values.yaml", true),
            ("gauss/peu011/capstan-values.yaml", true),
            ("gauss/peu01/overlay/a.yaml", true),
            ("gauss/peu01/a.yaml", true),
            ("gauss/peu01", true),
            ("gauss/peu011/base/a.yaml", true),
            (".github/workflows/ci.yaml", true),
            (".capstan.yaml", true),
        ] {
            assert_eq!(refused("gauss/peu01/base", file), expected, "{file}");
        }
    }

    #[test]
    fn files_of_several_clusters_pass_each_by_its_own_gate() {
        let of = |cluster: &str| Scope {
            target: Target::parse(cluster).unwrap(),
            base: path(&format!("{cluster}/base")),
            overlay: path(&format!("{cluster}/overlay")),
            retarget: Retarget::Refused,
        };
        let file = |at: &str| [FileChange { path: path(at), before: None, after: Some(String::new()) }];
        let (one, other) = (file("gauss/peu01/base/a.yaml"), file("gauss/peu02/base/a.yaml"));
        let (peu01, peu02) = (of("gauss/peu01"), of("gauss/peu02"));
        let both = Guarded::together([guard(&peu01, &one).unwrap(), guard(&peu02, &other).unwrap()]);
        let paths: Vec<&str> = both.files().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["gauss/peu01/base/a.yaml", "gauss/peu02/base/a.yaml"]);
        let refused = guard(&peu01, &other).unwrap_err();
        assert_eq!((refused.target, refused.path), (peu01.target.clone(), other[0].path.clone()));
        let group = Scope { target: Target::parse("group://gauss").unwrap(), ..peu01 };
        assert!(guard(&group, &one).is_err(), "a group has no files of its own");
    }

    #[test]
    fn under_retarget_files_of_the_overlay_may_change_and_none_comes_or_goes() {
        let (before, after) = (Some("name: a\n".to_owned()), Some("name: b\n".to_owned()));
        for (file, before, after, refused) in [
            ("gauss/peu01/overlay/a.yaml", &before, &after, false),
            ("gauss/peu01/overlay/deep/a.yaml", &before, &after, false),
            ("gauss/peu01/overlay/a.yaml", &None, &after, true),
            ("gauss/peu01/overlay/a.yaml", &before, &None, true),
            ("gauss/peu01/overlay/capstan.yaml", &before, &after, true),
            ("gauss/peu01/overlay/capstan-values.yaml", &before, &after, true),
            ("gauss/peu02/overlay/a.yaml", &before, &after, true),
        ] {
            let change = FileChange { path: path(file), before: before.clone(), after: after.clone() };
            for base in ["gauss/peu01/base", "gauss/peu01"] {
                let verdict = guard(&scope(base, Retarget::Allowed), std::slice::from_ref(&change));
                assert_eq!(verdict.is_err(), refused, "{file} with base {base}");
            }
        }
    }

    #[test]
    fn a_new_cluster_is_written_where_nothing_is_and_a_tombstone_in_its_record() {
        let tree = capstan_test_support::Files::new(&[("gauss/peu02/capstan.yaml", "{}\n"), ("euler", "")]);
        let (absent, text) = (None, Some(String::new()));
        for (cluster, file, before, after, [new, tombstone]) in [
            ("gauss/peu01", "gauss/peu01/base/a.yaml", &absent, &text, [true, false]),
            ("gauss/peu01", "gauss/peu01/overlay/kustomization.yaml", &absent, &text, [true, false]),
            ("gauss/peu01", "gauss/peu01/capstan.yaml", &absent, &text, [true, true]),
            ("gauss/peu01", "gauss/peu01/capstan.yaml", &text, &text, [false, true]),
            ("gauss/peu01", "gauss/peu01/base/a.yaml", &text, &absent, [false, false]),
            ("gauss/peu01", "gauss/peu011/base/a.yaml", &absent, &text, [false, false]),
            ("gauss/peu01", "gauss/peu01", &absent, &text, [false, false]),
            ("gauss/peu01", ".capstan.yaml", &absent, &text, [false, false]),
            ("gauss/peu02", "gauss/peu02/base/a.yaml", &absent, &text, [false, false]),
            ("gauss/peu02", "gauss/peu02/capstan.yaml", &text, &text, [false, true]),
            ("gauss/peu02", "gauss/peu02/capstan.yaml", &text, &absent, [false, false]),
            ("euler", "euler/base/a.yaml", &absent, &text, [false, false]),
        ] {
            let id = ClusterId::new(path(cluster));
            let change = [FileChange { path: path(file), before: before.clone(), after: after.clone() }];
            let verdict = [guard_new(&id, &tree, &change).is_ok(), guard_tombstone(&id, &change).is_ok()];
            assert_eq!(verdict, [new, tombstone], "{file}");
        }
    }

    #[test]
    fn with_base_dot_the_overlay_still_stays_out() {
        assert!(!refused("gauss/peu01", "gauss/peu01/a.yaml"));
        assert!(refused("gauss/peu01", "gauss/peu01/overlay/a.yaml"));
        assert!(refused("gauss/peu01", "gauss/other/a.yaml"));
    }
}
