//! A folder that is to become a cluster: whether it may be one, and whether it is found as one.

use capstan_model::finding::FileError;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::version::ReleaseVersion;

use super::{Layout, TargetFolder};
use crate::settings::{FOLDER_FILE, RepositorySettings};

/// Why a folder may not become a cluster: a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFree {
    #[error("`{0}` has the name of a version: such a folder is a release")]
    IsRelease(ClusterId),
    #[error("`{0}` has a part that begins with a dot: such folders belong to other programs")]
    IsHidden(ClusterId),
    #[error("{0} already exists, and a new cluster never overwrites anything")]
    Exists(ClusterId),
    #[error("{file} is a file, so {id} cannot be a folder")]
    BelowFile { id: ClusterId, file: RepoPath },
    #[error("{id} would be in the cluster {outer}, and a cluster never contains another")]
    InCluster { id: ClusterId, outer: ClusterId },
    #[error("{id} would be in the release {outer}")]
    InRelease { id: ClusterId, outer: ReleaseId },
    #[error("{id} would hold the cluster {inner}, and a cluster never contains another")]
    HoldsCluster { id: ClusterId, inner: ClusterId },
}

/// Why a folder with the files of a cluster is not found as one: a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFoundAsCluster {
    #[error("{id} would not be found as a cluster: {why}")]
    Elsewhere { id: ClusterId, why: String },
    #[error("{0}")]
    Problem(FileError),
}

impl Layout {
    /// Whether a folder may become a new cluster's.
    ///
    /// # Errors
    /// It is there, it has another meaning, or it is in another folder's way.
    pub fn require_free(&self, tree: &dyn Tree, id: &ClusterId) -> Result<(), NotFree> {
        let folder = id.folder();
        if ReleaseVersion::parse(folder.name()).is_some() {
            return Err(NotFree::IsRelease(id.clone()));
        }
        if folder.parts().any(|part| part.starts_with('.')) {
            return Err(NotFree::IsHidden(id.clone()));
        }
        if !tree.entries_in(folder).is_empty() || tree.entry(folder).is_some() {
            return Err(NotFree::Exists(id.clone()));
        }
        let mut above = std::iter::successors(folder.parent(), RepoPath::parent);
        if let Some(file) = above.find(|folder| tree.entry(folder).is_some()) {
            return Err(NotFree::BelowFile { id: id.clone(), file });
        }
        let inside = folder.join(FOLDER_FILE).unwrap_or_default();
        if let Some(outer) = self.target_around(&inside) {
            return Err(NotFree::InCluster { id: id.clone(), outer: outer.id.clone() });
        }
        if let Some(outer) = self.release_around(&inside) {
            return Err(NotFree::InRelease { id: id.clone(), outer: outer.id.clone() });
        }
        match self.targets.iter().find(|target| target.id.folder().is_in(folder)) {
            Some(inner) => Err(NotFree::HoldsCluster { id: id.clone(), inner: inner.id.clone() }),
            None => Ok(()),
        }
    }

    /// The folder of a cluster that was just made, if it is found as one under these settings.
    ///
    /// # Errors
    /// It is not, or something is wrong with it.
    pub fn require_found(
        &self,
        settings: &RepositorySettings,
        id: &ClusterId,
    ) -> Result<&TargetFolder, NotFoundAsCluster> {
        let Some(folder) = self.target(id.as_str()) else {
            let why = match &settings.clusters.paths {
                Some(patterns) => {
                    let patterns: Vec<String> = patterns.iter().map(|glob| format!("`{glob}`")).collect();
                    format!("`clusters.paths` in .capstan.yaml has {}", patterns.join(", "))
                }
                None => "its content is not that of a cluster".to_owned(),
            };
            return Err(NotFoundAsCluster::Elsewhere { id: id.clone(), why });
        };
        match self.problems.iter().find(|problem| problem.place.file().is_in(id.folder())) {
            Some(problem) => Err(NotFoundAsCluster::Problem(problem.clone())),
            None => Ok(folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use capstan_test_support::Files;

    use super::*;
    use crate::layout::discover;
    use crate::settings::RuleIds;

    const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\n";

    fn id(text: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(text).unwrap())
    }

    fn settings(text: &str) -> RepositorySettings {
        let file = RepoPath::parse(".capstan.yaml").unwrap();
        RepositorySettings::read(&file, text, &RuleIds::default()).unwrap()
    }

    #[test]
    fn a_new_cluster_gets_a_folder_that_is_free() {
        let tree = Files::new(&[
            ("aws/v1.0.0/base/cluster.yaml", CLUSTER),
            ("gauss/peu01/base/cluster.yaml", CLUSTER),
            ("README", "hello\n"),
            ("docs/site/index.md", "hello\n"),
        ]);
        let layout = discover(&tree, &RepositorySettings::default());
        for (folder, refused) in [
            ("gauss/peu02", ""),
            ("gauss/v2.0.0", "`gauss/v2.0.0` has the name of a version: such a folder is a release"),
            (
                "gauss/.peu02",
                "`gauss/.peu02` has a part that begins with a dot: such folders belong to other programs",
            ),
            ("docs/site", "docs/site already exists, and a new cluster never overwrites anything"),
            ("README", "README already exists, and a new cluster never overwrites anything"),
            ("README/peu02", "README is a file, so README/peu02 cannot be a folder"),
            (
                "gauss/peu01/inner",
                "gauss/peu01/inner would be in the cluster gauss/peu01, and a cluster never contains another",
            ),
            ("aws/v1.0.0/inner", "aws/v1.0.0/inner would be in the release aws/v1.0.0"),
        ] {
            let answer = layout
                .require_free(&tree, &id(folder))
                .map_or_else(|why| why.to_string(), |()| String::new());
            assert_eq!(answer, refused, "{folder}");
        }
    }

    #[test]
    fn a_folder_that_holds_a_cluster_does_not_become_one() {
        let tree = Files::new(&[("gauss/peu01/base/cluster.yaml", CLUSTER)]);
        let layout = discover(&tree, &RepositorySettings::default());
        // A layout may know a folder that the tree does not have.
        let empty = Files::new(&[]);
        assert_eq!(
            layout.require_free(&empty, &id("gauss")),
            Err(NotFree::HoldsCluster { id: id("gauss"), inner: id("gauss/peu01") })
        );
    }

    #[test]
    fn a_made_cluster_is_found_or_the_settings_say_why_not() {
        let tree = Files::new(&[("gauss/peu01/base/cluster.yaml", CLUSTER), ("gauss/peu02/notes.md", "\n")]);
        for (text, folder, refused) in [
            ("{}\n", "gauss/peu01", ""),
            (
                "{}\n",
                "gauss/peu02",
                "gauss/peu02 would not be found as a cluster: its content is not that of a cluster",
            ),
            (
                "clusters: {paths: [euler/*, noether/*]}\n",
                "gauss/peu01",
                "gauss/peu01 would not be found as a cluster: `clusters.paths` in .capstan.yaml has `euler/*`, `noether/*`",
            ),
        ] {
            let settings = settings(text);
            let layout = discover(&tree, &settings);
            let answer = layout.require_found(&settings, &id(folder));
            assert_eq!(answer.map_or_else(|why| why.to_string(), |_| String::new()), refused, "{folder}");
        }
    }
}
