//! Where a cluster is, and whose releases it follows.

use std::collections::BTreeMap;
use std::fmt;

use crate::cluster::{Cluster, RecordedBy};
use crate::release::{Catalogue, Release};
use crate::settings::EffectiveSettings;
use capstan_model::chained_upgrade::control_plane_steps;
use capstan_model::ids::{ClusterId, ContentId, Provider, ReleaseId, ReleaseName};
use capstan_model::target::TargetKind;
use capstan_model::version::{KubernetesVersion, ReleaseVersion};

/// Where a cluster is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetPosition {
    pub cluster: ClusterId,
    /// What kind of target it is: releases of another kind do not count.
    pub kind: TargetKind,
    /// Its release; `None` = unknown.
    pub release: Option<ReleaseId>,
    /// That release's version; known even where its provider is not.
    pub version: Option<ReleaseVersion>,
    /// The release's content when it was taken.
    pub content: Option<ContentId>,
    /// Its version of Kubernetes: what its base asks for, else its release's.
    pub kubernetes: Option<KubernetesVersion>,
    /// The versions that the ClusterClasses of its base list, class by class.
    pub class_versions: Vec<Vec<KubernetesVersion>>,
    /// Whose releases it follows.
    pub provider: Result<Provider, ProviderUnknown>,
    /// The versions of Kubernetes that releases with templates bring to it, with the values that it has.
    pub brings: BTreeMap<ReleaseId, KubernetesVersion>,
}

/// Why it is unknown whose releases a cluster follows. Its text is one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderUnknown {
    /// There are no releases at all.
    NoReleases,
    /// What names the provider names one that has no releases.
    Named {
        /// What it is called.
        provider: Provider,
        /// Who calls it so: `the rule in .capstan.yaml`.
        by: &'static str,
    },
    /// Several come into question.
    Several {
        /// These.
        providers: Vec<Provider>,
    },
}

impl ProviderUnknown {
    /// The sentence, of a target of that kind.
    pub(super) fn tell(&self, kind: TargetKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = kind.noun();
        match self {
            Self::NoReleases if kind == TargetKind::Providers => {
                f.write_str("No releases of provider objects were found.")
            }
            Self::NoReleases => f.write_str("No releases were found."),
            Self::Named { provider, by } => {
                write!(f, "The provider of the {noun} is {provider} by {by}, and no release of it was found.")
            }
            Self::Several { providers } => {
                let names: Vec<String> = providers.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "The {noun} could follow the releases of {}: choose one with `provider` in a rule of `clusters.rules`.",
                    names.join(" or ")
                )
            }
        }
    }
}

impl fmt::Display for ProviderUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(TargetKind::Cluster, f)
    }
}

impl TargetPosition {
    /// Where a cluster is, by what its files and the settings say.
    pub fn of(cluster: &Cluster, settings: &EffectiveSettings, catalogue: &Catalogue) -> Self {
        Self::of_kind(cluster.folder.kind, cluster, settings, catalogue)
    }

    /// The same of a target that an inventory defines as a management cluster, or as the provider set of one: its releases
    /// are of the kind that the recorded one is, or the one that the levels ask for.
    pub fn of_management(cluster: &Cluster, settings: &EffectiveSettings, catalogue: &Catalogue) -> Self {
        let recorded = cluster.settings.as_ref().and_then(|own| own.release.as_ref());
        let release = recorded.or(settings.wished.as_ref()).and_then(|id| catalogue.find(id));
        let kind = release.map_or(TargetKind::Cluster, |release| release.kind);
        Self::of_kind(kind, cluster, settings, catalogue)
    }

    fn of_kind(
        kind: TargetKind,
        cluster: &Cluster,
        settings: &EffectiveSettings,
        catalogue: &Catalogue,
    ) -> Self {
        let provider = provider(kind, cluster, settings, catalogue);
        let recorded = cluster.recorded.as_ref();
        let release = recorded.and_then(|recorded| recorded.id(catalogue, provider.as_ref().ok()));
        let known = release.as_ref().and_then(|id| catalogue.find(id));
        Self {
            cluster: cluster.id.clone(),
            kind,
            version: recorded.and_then(|recorded| recorded.name.version()),
            content: recorded.and_then(|recorded| recorded.content.clone()),
            kubernetes: cluster
                .kubernetes
                .clone()
                .or_else(|| known.and_then(|release| release.kubernetes.clone())),
            class_versions: cluster.class_versions.clone(),
            release,
            provider,
            brings: BTreeMap::new(),
        }
    }

    /// The version of Kubernetes that a release brings to it.
    pub fn brought_by<'r>(&'r self, release: &'r Release) -> Option<&'r KubernetesVersion> {
        self.brings.get(&release.id).or(release.kubernetes.as_ref())
    }

    /// The versions that its classes list once it has that release.
    fn classes_with<'r>(&'r self, release: &'r Release) -> &'r [Vec<KubernetesVersion>] {
        if release.class_versions.is_empty() { &self.class_versions } else { &release.class_versions }
    }

    /// Whether a ClusterClass leads it to the release's version of Kubernetes minor by minor.
    pub(super) fn is_led_to(&self, release: &Release) -> bool {
        let (Some(from), Some(to)) = (&self.kubernetes, self.brought_by(release)) else { return false };
        self.classes_with(release).iter().any(|listed| control_plane_steps(listed, from, to).is_some())
    }

    /// The releases of a provider that are for such a target, oldest first.
    pub(super) fn releases<'c>(
        &self,
        catalogue: &'c Catalogue,
        provider: &Provider,
    ) -> impl Iterator<Item = &'c Release> {
        let kind = self.kind;
        catalogue.of_provider(provider).filter(move |release| release.kind == kind)
    }

    /// The same cluster, known to be at `release`: for one whose release was inferred, and for looking
    /// ahead.
    #[must_use]
    pub fn at(&self, release: &Release) -> Self {
        Self {
            cluster: self.cluster.clone(),
            kind: self.kind,
            release: Some(release.id.clone()),
            version: Some(release.version.clone()),
            content: release.content.clone(),
            kubernetes: self.brought_by(release).cloned().or_else(|| self.kubernetes.clone()),
            class_versions: self.classes_with(release).to_vec(),
            provider: Ok(release.provider.clone()),
            brings: self.brings.clone(),
        }
    }
}

/// The setting; else the chart, where a scalar of the base names the release; else the current release's; else the one
/// whose releases hold the cluster's infrastructure kinds; else the only one.
fn provider(
    kind: TargetKind,
    cluster: &Cluster,
    settings: &EffectiveSettings,
    catalogue: &Catalogue,
) -> Result<Provider, ProviderUnknown> {
    let for_kind = catalogue.providers_for(kind);
    let existing = |provider: &Provider, by: &'static str| {
        let found = catalogue.find_provider(provider).filter(|found| for_kind.contains(found)).cloned();
        found.ok_or_else(|| ProviderUnknown::Named { provider: provider.clone(), by })
    };
    if let Some(named) = &settings.provider {
        return existing(named, "the rule in .capstan.yaml");
    }
    let recorded = cluster.recorded.as_ref();
    if recorded.is_some_and(|recorded| recorded.by == RecordedBy::ConfigMap)
        && let Some(named) = cluster.release_scalar.as_ref().and_then(|scalar| scalar.provider.as_ref())
    {
        return existing(named, "its chart");
    }
    let written = match recorded.map(|recorded| &recorded.name) {
        Some(ReleaseName::Id(id)) => Some(id),
        // The ConfigMap names no provider, but the record beside it does.
        Some(ReleaseName::Version(_)) => cluster.settings.as_ref().and_then(|own| own.release.as_ref()),
        None => None,
    };
    if let Some(id) = written {
        return existing(&id.provider(), "its release");
    }
    let mut fitting = catalogue.providers_with(&cluster.infrastructure_kinds);
    fitting.retain(|provider| for_kind.contains(provider));
    let candidates = if fitting.is_empty() { for_kind } else { fitting };
    let mut candidates: Vec<Provider> = candidates.into_iter().cloned().collect();
    match (candidates.pop(), candidates.is_empty()) {
        (None, _) => Err(ProviderUnknown::NoReleases),
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            candidates.push(last);
            Err(ProviderUnknown::Several { providers: candidates })
        }
    }
}
