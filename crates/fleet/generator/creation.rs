//! A new cluster, made from a release. Before anything is written, Capstan checks that it finds the cluster, that its
//! name is free, and that an upgrade to its release changes nothing. The rules judge it, too.

use capstan_model::ids::{ReleaseId, ReleaseName};
use capstan_model::source::SourceContent;
use capstan_model::spelling::did_you_mean;
use capstan_model::target::TargetKind;
use capstan_plan::creation::{CreatedCluster, FolderShape, MadeCluster, Makes, NewCluster, NotMade, make};
use capstan_plan::layout::{NotFoundAsCluster, NotFree};
use capstan_plan::merge::{AppliedBy, ClusterFacts};
use capstan_plan::release::{Catalogue, Release, nearest_release};
use capstan_plan::services::bring_services;
use capstan_plan::upgrade::ChangeSource;
use capstan_plan::verbs::ClusterFrom;

use super::new_cluster::{own_name, verdict};
use super::not_possible::NotPossible;
use super::plan::plan_target;
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

impl From<NotFree> for NotPossible {
    fn from(why: NotFree) -> Self {
        Self::Usage(why.to_string())
    }
}

impl From<NotFoundAsCluster> for NotPossible {
    fn from(why: NotFoundAsCluster) -> Self {
        match why {
            NotFoundAsCluster::Elsewhere { .. } => Self::Usage(why.to_string()),
            NotFoundAsCluster::Problem(_) => Self::Failed(why.to_string()),
        }
    }
}

/// Makes a cluster from a release.
///
/// # Errors
/// The folder or the name is taken, or would not be that of a cluster; the release does not exist, lacks values, or
/// cannot be made a cluster.
pub fn create_cluster(fleet: &Fleet, wanted: &ClusterFrom) -> Result<CreatedCluster, NotPossible> {
    let id = &wanted.cluster;
    let (tree, settings) = (fleet.tree().as_ref(), fleet.settings());
    fleet.require_releases()?;
    fleet.layout().require_free(tree, id)?;
    let release = release_named(fleet.catalogue(), &wanted.release)?;
    let source = fleet.sources().of_release(fleet.releases_tree(), release, fleet.schemas());
    let source: &dyn ChangeSource =
        source.as_deref().map_err(|refused| NotPossible::from(refused.clone()))?;
    let claimed_by = settings.claimed_by(id).map_err(Refused::from)?;
    let applied = if claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others };
    let mut made = make(NewCluster {
        id,
        makes: Makes::Cluster,
        base: &settings.clusters.base.inside(id.folder()),
        overlay: &settings.clusters.overlay.inside(id.folder()),
        release: source,
        variables: &wanted.variables,
        flux: &fleet.flux_index().post_build(id),
        applied,
        shape: &FolderShape::of_neighbours(tree, fleet.layout(), id),
        schemas: fleet.schemas(),
    })?;
    if applied == AppliedBy::Reconciler {
        bring(fleet, release, wanted, &mut made)?;
    }
    let after = fleet.with_files(&made.files);
    let folder = after.layout().require_found(settings, id)?;
    let name = ReleaseName::Id(release.id.clone());
    if let Some(what) = plan_target(&after, id, Some(&name))?.first_difference() {
        return Err(NotPossible::Failed(format!(
            "the cluster would differ from {}, so Capstan does not make it: {what}",
            release.id
        )));
    }
    let mut notes = own_name(&after, folder, &made)?;
    notes.extend(release.why_not_offered().map(|why| format!("{} {why}.", release.id)));
    let mut findings = settings.severities().settle(made.findings);
    findings.extend(verdict(fleet, &after, id, applied));
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
fn bring(
    fleet: &Fleet,
    release: &Release,
    ClusterFrom { cluster: id, variables, .. }: &ClusterFrom,
    made: &mut MadeCluster,
) -> Result<(), NotPossible> {
    let services = fleet.sources().services_of(fleet.releases_tree(), release, fleet.schemas())?;
    if services.is_empty() {
        return Ok(());
    }
    let facts = ClusterFacts {
        id: id.clone(),
        kind: TargetKind::Cluster,
        base_folder: fleet.settings().clusters.base.inside(id.folder()),
        base: Vec::new(),
        contents: Vec::new(),
        overlay: Vec::new(),
        record: None,
        variables: variables.clone(),
        flux: fleet.flux_index().post_build(id),
        release: None,
        applied: AppliedBy::Reconciler,
        classes_used_elsewhere: Vec::new(),
    };
    let files = std::mem::take(&mut made.files);
    let planned = bring_services(&facts, &services, files, fleet.schemas()).map_err(Refused::from)?;
    if let Some(why) = planned.upgrade.blocked.first() {
        return Err(NotPossible::Failed(format!("the services of {} cannot be brought: {why}", release.id)));
    }
    made.files = planned.intended;
    made.findings.extend(planned.upgrade.findings);
    Ok(())
}

/// The release of that name.
fn release_named<'c>(catalogue: &'c Catalogue, name: &ReleaseName) -> Result<&'c Release, NotPossible> {
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
            Err(NotPossible::Usage(format!("several releases have the name `{name}`: {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use capstan_plan::layout::discover;
    use capstan_plan::settings::RepositorySettings;
    use capstan_test_support::Files;

    use super::*;

    const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\n";
    const PROVIDER: &str = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: cluster-api, namespace: capi-system}\nspec: {version: v1.9.0}\n";

    #[test]
    fn a_release_is_named_by_its_id_or_by_a_version_that_is_of_one_provider() {
        let tree = Files::new(&[
            ("aws/v1.0.0/base/cluster.yaml", CLUSTER),
            ("aws/v2.0.0/base/cluster.yaml", CLUSTER),
            ("gcp/v1.0.0/base/cluster.yaml", CLUSTER),
            ("operator/v3.0.0/base/core.yaml", PROVIDER),
        ]);
        let catalogue = Catalogue::read(&tree, &discover(&tree, &RepositorySettings::default()));
        for (name, answer) in [
            ("aws/v1.0.0", "aws/v1.0.0"),
            ("v2.0.0", "aws/v2.0.0"),
            ("v1.0.0", "several releases have the name `1.0.0`: aws/v1.0.0, gcp/v1.0.0"),
            ("azure/v9.0.0", "there is no release `azure/v9.0.0`"),
            ("aws/v1.0.1", "there is no release `aws/v1.0.1`; did you mean `aws/v1.0.0`?"),
            (
                "v3.0.0",
                "the release operator/v3.0.0 is for provider sets, as the objects of its base show: Capstan makes no cluster from it",
            ),
        ] {
            let found = release_named(&catalogue, &ReleaseName::parse(name).unwrap());
            let found = found.map_or_else(|why| why.to_string(), |release| release.id.to_string());
            assert_eq!(found, answer, "{name}");
        }
    }
}
