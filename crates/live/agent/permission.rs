//! Which cluster folders an agent has: decided by `managementClusters` on the tip of the default branch.

use serde::{Deserialize, Serialize};

use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_plan::settings::{
    Glob, ManagementCluster, ManagementClusterUid, ProvidersBy, RepositorySettings,
};

/// Who applies what in a repository, as the tip of its default branch says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ManagedBy(Vec<ManagementCluster>);

impl ManagedBy {
    /// What the settings say.
    pub fn of(settings: &RepositorySettings) -> Self {
        Self(settings.management_clusters.clone())
    }

    /// Whether the repository knows no management cluster.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the repository knows this management cluster: one that it does not name gets nothing from it.
    pub fn knows(&self, uid: &ManagementClusterUid) -> bool {
        self.0.iter().any(|known| known.uid.is(uid.as_str()))
    }

    /// The name under which the repository knows it.
    pub fn name_of(&self, uid: &ManagementClusterUid) -> Option<&str> {
        self.0.iter().find(|known| known.uid.is(uid.as_str())).map(|known| known.name.as_str())
    }

    /// The management cluster that applies a target. It applies a provider set that it names, unless others apply that.
    /// A set that no management cluster names has no owner, even if its folder matches patterns of clusters.
    pub fn owner_of(&self, target: &Target) -> Option<&ManagementCluster> {
        match target {
            Target::Cluster(id) => self.owner(id),
            Target::Providers(id) => {
                self.set(id).filter(|(_, by)| *by != ProvidersBy::Others).map(|(known, _)| known)
            }
            Target::Group(_) => None,
        }
    }

    /// The management cluster that names a provider set, and who applies it there.
    fn set(&self, id: &ClusterId) -> Option<(&ManagementCluster, ProvidersBy)> {
        let mut sets = self.0.iter().filter_map(|known| Some((known, known.providers.as_ref()?)));
        let (known, set) = sets.find(|(_, set)| set.path.path() == id.folder())?;
        Some((known, set.by))
    }

    /// The management cluster that applies a folder, before it is known whether the folder is a cluster or a provider
    /// set. A cluster that two of them claim has no owner; for a set see [`Self::owner_of`].
    pub fn owner(&self, cluster: &ClusterId) -> Option<&ManagementCluster> {
        if let Some((known, by)) = self.set(cluster) {
            return (by != ProvidersBy::Others).then_some(known);
        }
        let mut claims = self.0.iter().filter(|known| Glob::grants(&known.clusters, cluster.as_str()));
        let first = claims.next()?;
        claims.next().is_none().then_some(first)
    }

    /// Whether this management cluster, and no other, has a cluster.
    pub fn has(&self, uid: &ManagementClusterUid, cluster: &ClusterId) -> bool {
        self.owner(cluster).is_some_and(|owner| owner.uid.is(uid.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::tree::RepoPath;
    use capstan_plan::settings::ProviderSetSettings;

    const EU: &str = "6f1c2d3e-0000-4000-8000-000000000001";
    const US: &str = "6f1c2d3e-0000-4000-8000-000000000002";

    fn uid(text: &str) -> ManagementClusterUid {
        ManagementClusterUid::parse(text).unwrap()
    }

    fn managed() -> ManagedBy {
        let one = |name: &str, of: &str, clusters: &[&str]| ManagementCluster {
            name: name.to_owned(),
            uid: uid(of),
            clusters: clusters.iter().map(|glob| Glob::parse(glob).unwrap()).collect(),
            providers: None,
        };
        ManagedBy(vec![
            one("mc-eu", EU, &["gauss/*", "shared/*"]),
            one("mc-us", US, &["euler/*", "shared/*"]),
        ])
    }

    #[test]
    fn a_folder_is_whose_it_is_claimed_by_alone() {
        let managed = managed();
        for (cluster, eu, us) in [
            ("gauss/peu01", true, false),
            ("euler/x", false, true),
            ("shared/x", false, false),
            ("gauss", false, false),
            ("gauss/peu01/base", false, false),
            ("other/x", false, false),
        ] {
            let id = ClusterId::new(RepoPath::parse(cluster).unwrap());
            assert_eq!((managed.has(&uid(EU), &id), managed.has(&uid(US), &id)), (eu, us), "{cluster}");
        }
        assert!(managed.knows(&uid(&EU.to_uppercase())));
        assert_eq!(managed.name_of(&uid(US)), Some("mc-us"));
        assert!(!managed.knows(&uid("6f1c2d3e-0000-4000-8000-000000000003")));
    }

    #[test]
    fn an_exclusion_takes_folders_away_and_gives_none() {
        let mut managed = managed();
        let mut is_of_eu = |patterns: &[&str], cluster: &str| {
            managed.0[0].clusters = patterns.iter().map(|glob| Glob::parse(glob).unwrap()).collect();
            managed.has(&uid(EU), &ClusterId::new(RepoPath::parse(cluster).unwrap()))
        };
        for (patterns, cluster, expected) in [
            (&["gauss/*", "!gauss/secret"][..], "gauss/peu01", true),
            (&["gauss/*", "!gauss/secret"], "gauss/secret", false),
            (&["gauss/*", "!gauss/secret"], "other/x", false),
            (&["!gauss/secret"], "gauss/peu01", false),
        ] {
            assert_eq!(is_of_eu(patterns, cluster), expected, "{patterns:?} and {cluster}");
        }
    }

    #[test]
    fn a_provider_set_is_the_management_clusters_that_names_it() {
        let mut managed = managed();
        let id = ClusterId::new(RepoPath::parse("shared/providers").unwrap());
        for (by, eu) in
            [(ProvidersBy::Operator, true), (ProvidersBy::Capstan, true), (ProvidersBy::Others, false)]
        {
            let path = serde_json::from_value(serde_json::json!("shared/providers")).unwrap();
            managed.0[0].providers = Some(ProviderSetSettings { path, by });
            assert_eq!((managed.has(&uid(EU), &id), managed.has(&uid(US), &id)), (eu, false), "{by:?}");
            let owner = managed.owner_of(&Target::Providers(id.clone()));
            assert_eq!(owner.is_some_and(|owner| owner.name == "mc-eu"), eu, "{by:?}");
        }
    }

    #[test]
    fn a_provider_set_that_no_settings_name_has_no_owner() {
        let id = ClusterId::new(RepoPath::parse("gauss/providers").unwrap());
        let managed = managed();
        assert_eq!(
            managed.owner_of(&Target::Cluster(id.clone())).map(|owner| owner.name.as_str()),
            Some("mc-eu")
        );
        assert_eq!(managed.owner_of(&Target::Providers(id)), None);
    }
}
