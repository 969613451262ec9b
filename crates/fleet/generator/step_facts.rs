//! What a step's merge gets to know of a cluster and of the settings, and the notes for people.

use std::sync::Arc;

use capstan_model::ids::{Provider, ReleaseId};
use capstan_model::target::TargetKind;
use capstan_model::tree::Tree;
use capstan_plan::cluster::Cluster;
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{self, AppliedBy, ReleaseSource, SourceFile};
use capstan_plan::release::Release;
use capstan_plan::settings::{EffectiveSettings, RepositorySettings, WhenReleaseUnknown};
use capstan_plan::upgrade::{self, ChangeSource, MergeSettings, Overwrite, Upgrade};

use super::contents::Contents;
use super::refused::Refused;
use super::sources::{self, ReadSource};

/// What the merge wants to know of a cluster.
pub(super) fn cluster_facts(
    tree: &dyn Tree,
    cluster: &Cluster,
    effective: &EffectiveSettings,
    release: Option<ReleaseId>,
    flux: PostBuild,
    classes_used_elsewhere: Vec<String>,
) -> Result<merge::ClusterFacts, Refused> {
    let variables = cluster.settings.as_ref().map(|settings| settings.variables.clone());
    Ok(merge::ClusterFacts {
        id: cluster.id.clone(),
        kind: cluster.folder.kind,
        base_folder: cluster.folder.base.clone(),
        base: cluster
            .base
            .iter()
            .map(|manifest| SourceFile::parsed(manifest.entry.path.clone(), manifest.file.clone()))
            .collect(),
        contents: Vec::new(),
        overlay: sources::files(tree, &cluster.folder.overlay_files)?,
        record: cluster.folder.settings.as_ref().map(|entry| sources::file(tree, entry)).transpose()?,
        variables: variables.unwrap_or_default(),
        flux,
        release,
        applied: applied_by(effective),
        classes_used_elsewhere,
    })
}

/// Who applies a cluster.
pub(super) const fn applied_by(effective: &EffectiveSettings) -> AppliedBy {
    if effective.claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others }
}

/// The part of the settings that the merge wants, in its words.
pub(super) fn merge_settings(settings: &RepositorySettings) -> MergeSettings {
    let (conflicts, owners) = (settings.upgrade.conflicts, settings.upgrade.fields.clone());
    let overwrite = match settings.upgrade.when_release_unknown {
        WhenReleaseUnknown::Overwrite => Overwrite::All,
        WhenReleaseUnknown::Infer | WhenReleaseUnknown::Block => Overwrite::Nothing,
    };
    MergeSettings { conflicts, owners, overwrite, ..MergeSettings::default() }
}

/// Adds the links that the releases on the way give in their own notes, archived ones included.
pub(super) fn link_changelogs(
    contents: &dyn Contents,
    upgrade: &mut Upgrade,
    from: Option<&Release>,
    to: &Release,
) {
    let Some(from) = from.filter(|_| !upgrade.components.is_empty()) else { return };
    let on_the_way = contents.catalogue().of_provider(&to.provider);
    for release in on_the_way.filter(|on| on.version > from.version && on.version <= to.version) {
        // Notes are for people: what cannot be read of them gives no links, and breaks nothing.
        let notes = release.notes.as_ref().and_then(|entry| contents.releases().read(entry).ok());
        if let Some(notes) = notes {
            upgrade::link_changelogs(&mut upgrade.components, &String::from_utf8_lossy(&notes));
        }
    }
}

/// Those sources that can be read.
pub(super) fn documents_of(sources: &[Arc<ReadSource>]) -> Vec<&ReleaseSource> {
    sources.iter().filter_map(|source| Some(source.as_ref().as_ref().ok()?.documents())).collect()
}

/// The releases of these providers that are for such targets.
pub(super) fn releases_of<'p>(
    contents: &dyn Contents,
    kind: TargetKind,
    providers: impl IntoIterator<Item = &'p Provider>,
) -> Vec<Arc<ReadSource>> {
    let of = |provider| {
        let releases = contents.catalogue().of_provider(provider).filter(move |release| release.kind == kind);
        releases.map(|release| source_of(contents, release))
    };
    providers.into_iter().flat_map(of).collect()
}

/// A release of the catalogue as a source.
pub(super) fn source_of(contents: &dyn Contents, release: &Release) -> Arc<ReadSource> {
    contents.sources().of_release(contents.releases(), release, contents.schemas())
}

/// A source, where it can be read.
pub(super) fn read(source: &ReadSource) -> Result<&dyn ChangeSource, Refused> {
    source.as_deref().map_err(Clone::clone)
}
