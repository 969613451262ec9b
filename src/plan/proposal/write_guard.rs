//! The one gate before a tree is written: only a cluster's own base and its `capstan.yaml`; under
//! `retarget` also files that its overlay has already.

use crate::upgrade::Retarget;
use capstan_kustomize::render::Folders;
use capstan_model::file_change::FileChange;
use capstan_model::target::Target;
use capstan_model::tree::RepoPath;
use serde::{Deserialize, Serialize};

/// Where a proposal may write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The target.
    pub target: Target,
    /// Its base folder; the cluster's own folder where the settings say `base: "."`.
    pub base: RepoPath,
    /// Its overlay folder, which is never written, also where it lies inside the base.
    pub overlay: RepoPath,
    /// Whether files of the overlay may be edited; none ever comes or goes.
    pub retarget: Retarget,
}

impl Scope {
    /// The folders that its cluster is rendered from; `None` of a target that is no cluster.
    pub fn folders(&self) -> Option<Folders> {
        let cluster = self.target.cluster()?.folder().clone();
        Some(Folders { cluster, base: self.base.clone(), overlay: self.overlay.clone() })
    }
}

/// A path that a proposal must not touch: a fault of Capstan's, caught before anything is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the plan of {target} wants to write {path}, which is neither in its base nor its capstan.yaml: nothing was written"
)]
pub struct OutsideTarget {
    /// The target.
    pub target: Target,
    /// The path.
    pub path: RepoPath,
}

/// Refuses any path outside the scope.
pub fn guard(scope: &Scope, files: &[FileChange]) -> Result<(), OutsideTarget> {
    let folder = scope.target.folder();
    let record = |path: &RepoPath| path.below(folder) == Some(crate::settings::FOLDER_FILE);
    let inside = |path: &RepoPath| {
        path.is_in(folder) && (record(path) || (path.is_in(&scope.base) && !path.is_in(&scope.overlay)))
    };
    let retargeted = |file: &FileChange| {
        scope.retarget == Retarget::Allowed
            && file.path.is_in(folder)
            && file.path.is_in(&scope.overlay)
            && file.path.name() != crate::settings::FOLDER_FILE
            && file.before.is_some()
            && file.after.is_some()
    };
    match files.iter().find(|file| !inside(&file.path) && !retargeted(file)) {
        None => Ok(()),
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
    fn under_retarget_files_of_the_overlay_may_change_and_none_comes_or_goes() {
        let (before, after) = (Some("name: a\n".to_owned()), Some("name: b\n".to_owned()));
        for (file, before, after, refused) in [
            ("gauss/peu01/overlay/a.yaml", &before, &after, false),
            ("gauss/peu01/overlay/deep/a.yaml", &before, &after, false),
            ("gauss/peu01/overlay/a.yaml", &None, &after, true),
            ("gauss/peu01/overlay/a.yaml", &before, &None, true),
            ("gauss/peu01/overlay/capstan.yaml", &before, &after, true),
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
    fn with_base_dot_the_overlay_still_stays_out() {
        assert!(!refused("gauss/peu01", "gauss/peu01/a.yaml"));
        assert!(refused("gauss/peu01", "gauss/peu01/overlay/a.yaml"));
        assert!(refused("gauss/peu01", "gauss/other/a.yaml"));
    }
}
