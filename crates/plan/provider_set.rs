//! What becomes of the providers of a set, and what is wrong with it: the rendered provider objects and the components
//! that are at hand in the repository, handed to [`capstan_providers`].
//!
//! Deliberately absent: what an upgrade does to the provider objects themselves ([`crate::upgrade`]).

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::Cluster;
use crate::layout::TargetFolder;
use crate::release::place_of_version;
use crate::settings::{ClusterSettings, ComponentsRecord, ProvidersBy, RepositorySettings};
use capstan_kustomize::render::{Folders, PlacedValue, RenderedFolder, RenderedObject, render};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::wording::list;
use capstan_providers::{
    Inputs, Migration, MissingComponents, ProviderChange, ProviderRuleFacts, ProviderSet, Recorded, Refusal,
    RenderedSet, Supplied, Supplies, VariableValues, compare, digests, supply,
};
use capstan_yaml::manifest::objects;

pub use capstan_providers::ManagedWorkload;

/// A state of a set: its objects as they are applied, and the repository in which components may lie.
#[derive(Clone, Copy)]
pub struct SetState<'a> {
    /// The repository.
    pub tree: &'a dyn Tree,
    /// The set.
    pub rendered: &'a RenderedFolder,
}

/// What a set is judged by.
#[derive(Clone, Copy)]
pub struct SetFacts<'a> {
    /// The set as it is; `None` where nothing is said of steps.
    pub before: Option<SetState<'a>>,
    /// The set as it would be.
    pub after: SetState<'a>,
    /// The set's `capstan.yaml`, and what it says as the set is.
    pub record: (&'a RepoPath, Option<&'a ClusterSettings>),
    /// Who applies the set.
    pub by: ProvidersBy,
    /// The clusters that the management cluster runs, as far as files say.
    pub workloads: &'a [ManagedWorkload],
    /// What those clusters are made of.
    pub objects: &'a [RenderedFolder],
    /// The components that are not at hand and somebody asked for, or why they could not be had.
    pub supplies: &'a Supplies,
}

/// What becomes of a set.
#[derive(Debug, Clone, Default)]
pub struct JudgedSet {
    /// Every provider of either state, in clusterctl's order of kinds and by name.
    pub providers: Vec<ProviderChange>,
    /// What the rules find, before the settings have their say.
    pub findings: Vec<Finding>,
    /// The components of the set as it would be, by label, as far as they are at hand or it is known which they are.
    pub components: BTreeMap<String, ComponentsRecord>,
    /// Components that are not at hand for the set as it is or would be, and that nobody asked for yet.
    pub unasked: BTreeSet<MissingComponents>,
    /// What a person should know besides.
    pub notes: Vec<String>,
}

/// A cluster, as a set's rules know it; `None` where its files name no version of Kubernetes or cannot be read.
pub fn workload(tree: &dyn Tree, folder: &TargetFolder) -> Option<ManagedWorkload> {
    let cluster = Cluster::read(tree, folder).ok()?;
    let version = cluster.kubernetes.as_ref()?;
    let at_version = cluster.base.iter().find_map(|manifest| {
        let roots = manifest.file.documents().iter().flat_map(|document| objects(&document.root));
        let start = roots.filter_map(|(_, object)| place_of_version(object, version)).next()?;
        Some(Place::at(manifest.entry.path.clone(), manifest.file.position(start)))
    });
    let first = || cluster.base.first().map(|manifest| Place::whole(manifest.entry.path.clone()));
    let place = at_version.or_else(first);
    Some(ManagedWorkload { name: folder.id.to_string(), version: version.clone(), place })
}

/// Those of these clusters that the management cluster of a set runs.
pub fn workloads_of<'w>(
    settings: &RepositorySettings,
    set: &ClusterId,
    clusters: impl IntoIterator<Item = (&'w ClusterId, &'w ManagedWorkload)>,
) -> Vec<ManagedWorkload> {
    let clusters: BTreeMap<&ClusterId, &ManagedWorkload> = clusters.into_iter().collect();
    let its = claimed_with(settings, set, clusters.keys().copied());
    its.iter().filter_map(|cluster| clusters.get(cluster).copied().cloned()).collect()
}

/// Who applies a set.
pub fn applied_by(settings: &RepositorySettings, set: &ClusterId) -> ProvidersBy {
    settings.providers_of(set).map(|(_, providers)| providers.by).unwrap_or_default()
}

/// Those of these clusters that the management cluster of a set runs, whether or not they name a version of Kubernetes.
pub fn claimed_with<'c>(
    settings: &RepositorySettings,
    set: &ClusterId,
    clusters: impl IntoIterator<Item = &'c ClusterId>,
) -> Vec<ClusterId> {
    let Some((own, _)) = settings.providers_of(set) else { return Vec::new() };
    let is_its = |cluster: &&ClusterId| {
        settings.claimed_by(cluster).is_ok_and(|by| by.is_some_and(|by| by.name == own.name))
    };
    clusters.into_iter().filter(is_its).cloned().collect()
}

/// What these clusters are made of: objects of kinds whose definitions the providers bring. What cannot be rendered is
/// its own cluster's trouble.
pub fn objects_of(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    clusters: &[ClusterId],
) -> Vec<RenderedFolder> {
    let rendered = |cluster: &ClusterId| {
        let cluster = cluster.folder().clone();
        let base = settings.clusters.base.inside(&cluster);
        let overlay = settings.clusters.overlay.inside(&cluster);
        render(tree, &Folders { cluster, base, overlay }).ok()
    };
    clusters.iter().filter_map(rendered).collect()
}

/// Compares two states of a set and judges the later one.
pub fn judge_set(facts: &SetFacts<'_>) -> JudgedSet {
    let (path, settings) = facts.record;
    let record = recorded(settings);
    let mut unasked = BTreeSet::new();
    let mut supplied = |state: SetState<'_>, set: &mut ProviderSet| -> Supplied {
        let mut supplied = supply(state.tree, set, facts.supplies, &record);
        unasked.extend(supplied.unasked.drain(..));
        supplied
    };
    let (after, Supplied { moved, held, .. }) = match read(facts.after) {
        Ok(mut after) => {
            let supplied = supplied(facts.after, &mut after);
            (after, supplied)
        }
        Err(refused) => {
            return JudgedSet { findings: refused.iter().map(finding).collect(), ..JudgedSet::default() };
        }
    };
    // Where the state before cannot be read, nothing is compared: its errors are not new.
    let before = facts.before.and_then(|before| {
        let mut set = read(before).ok()?;
        supplied(before, &mut set);
        Some((before, set))
    });
    let variables = VariableValues::default();
    let rendered = |state: SetState<'_>, set: &ProviderSet| {
        RenderedSet::read(Inputs { tree: state.tree, set, variables: &variables, configuration: None })
    };
    let was = before.as_ref().map(|(state, set)| rendered(*state, set));
    let is = rendered(facts.after, &after);
    let place = Place::whole(path.clone());
    let recorded = record.iter().map(|(label, (version, sha256))| {
        let (version, sha256) = (version.clone(), sha256.clone());
        (label.clone(), Recorded { sha256, version, place: Some(place.clone()) })
    });
    let known = ProviderRuleFacts {
        workloads: facts.workloads.to_vec(),
        recorded: recorded.collect(),
        objects: facts.objects.iter().flat_map(|cluster| &cluster.objects).map(placed).collect(),
        migration: match facts.by {
            ProvidersBy::Capstan => Migration::Capstan,
            ProvidersBy::Operator | ProvidersBy::Others => Migration::Nobody,
        },
        ..ProviderRuleFacts::default()
    };
    let mut compared = compare(was.as_ref(), &is, &known);
    compared.findings.extend(moved.iter().map(|(wanted, digests)| moved_finding(wanted, digests, &place)));
    let at_hand = digests(facts.after.tree, &after).into_iter();
    // What is known of the others stays written down: else whatever comes next under that version would be taken.
    let held = held.into_iter().map(|(wanted, sha256)| (wanted.label(), (wanted.version, sha256)));
    let components: BTreeMap<String, ComponentsRecord> = held
        .chain(at_hand)
        .map(|(label, (version, sha256))| (label, ComponentsRecord { version, sha256 }))
        .collect();
    let labels = after.providers().iter().map(|provider| provider.label());
    let without: Vec<String> = labels.filter(|label| !components.contains_key(label)).collect();
    let note = (!without.is_empty()).then(|| {
        format!(
            "The components of {} are not in the repository. So the changes of their objects are unknown, and `components` in the set's capstan.yaml has no digest of them.",
            list(&without)
        )
    });
    JudgedSet {
        providers: compared.providers,
        findings: compared.findings,
        components,
        unasked,
        notes: note.into_iter().collect(),
    }
}

/// What a set's `capstan.yaml` records of components: version and SHA-256 by label.
fn recorded(settings: Option<&ClusterSettings>) -> BTreeMap<String, (String, String)> {
    let components = settings.into_iter().flat_map(|settings| &settings.components);
    components
        .map(|(label, record)| (label.clone(), (record.version.clone(), record.sha256.clone())))
        .collect()
}

/// Components that a set has not at hand and that nobody asked for; nothing of a set that cannot be read.
pub fn unasked(
    state: SetState<'_>,
    record: Option<&ClusterSettings>,
    supplies: &Supplies,
) -> BTreeSet<MissingComponents> {
    let Ok(mut set) = read(state) else { return BTreeSet::new() };
    supply(state.tree, &mut set, supplies, &recorded(record)).unasked.into_iter().collect()
}

fn moved_finding(wanted: &MissingComponents, [known, found]: &[String; 2], record: &Place) -> Finding {
    let message = format!(
        "the components of {} {} changed: {} now has components with SHA-256 {found}, but {known} is recorded for that version. A release does not change: find out who published other components. To accept them, record their SHA-256 in the set's capstan.yaml",
        wanted.label(),
        wanted.version,
        wanted.origin
    );
    let finding = Finding::new(rules::PROVIDER_DIGEST_DIFFERS, message);
    if wanted.recorded.is_some() { finding.place(record.clone()) } else { finding }
}

const fn placed(object: &RenderedObject) -> &PlacedValue {
    &object.placed
}

fn read(state: SetState<'_>) -> Result<ProviderSet, Vec<Refusal>> {
    ProviderSet::of(state.rendered.objects.iter().map(|object| object.placed.clone()))
}

fn finding(refusal: &Refusal) -> Finding {
    Finding::new(rules::RENDER_FAILED, refusal.without_place()).maybe_place(refusal.place().cloned())
}
