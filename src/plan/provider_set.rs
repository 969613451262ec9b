//! What becomes of the providers of a set, and what is wrong with it: the rendered provider objects and the components
//! that are at hand in the repository, handed to [`capstan_providers`].
//!
//! Deliberately absent: what an upgrade does to the provider objects themselves ([`crate::upgrade`]).

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::layout::TargetFolder;
use crate::settings::{ClusterSettings, ComponentsRecord, ProvidersBy, RepositorySettings};
use capstan_kustomize::render::{Folders, Placed, Rendered, RenderedObject, render};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::wording::list;
use capstan_providers::{
    Facts, Inputs, Migration, ProviderChange, ProviderSet, Recorded, Refusal, RenderedSet, Values, compare,
    digests,
};

pub use capstan_providers::Workload;

/// A state of a set: its objects as they are applied, and the repository in which components may lie.
#[derive(Clone, Copy)]
pub struct SetState<'a> {
    /// The repository.
    pub tree: &'a dyn Tree,
    /// The set.
    pub rendered: &'a Rendered,
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
    pub workloads: &'a [Workload],
    /// What those clusters are made of.
    pub objects: &'a [Rendered],
}

/// What becomes of a set.
#[derive(Debug, Clone, Default)]
pub struct JudgedSet {
    /// Every provider of either state, in clusterctl's order of kinds and by name.
    pub providers: Vec<ProviderChange>,
    /// What the rules find, before the settings have their say.
    pub findings: Vec<Finding>,
    /// The components that are at hand for the set as it would be, by label.
    pub components: BTreeMap<String, ComponentsRecord>,
    /// What a person should know besides.
    pub notes: Vec<String>,
}

/// A cluster, as a set's rules know it; `None` where its files name no version of Kubernetes or cannot be read.
pub fn workload(tree: &dyn Tree, folder: &TargetFolder) -> Option<Workload> {
    let cluster = Cluster::read(tree, folder).ok()?;
    let first = cluster.base.first().map(|manifest| Place::whole(manifest.entry.path.clone()));
    Some(Workload { name: folder.id.to_string(), version: cluster.kubernetes?, place: first })
}

/// Those of these clusters that the management cluster of a set runs.
pub fn workloads_of<'w>(
    settings: &RepositorySettings,
    set: &ClusterId,
    clusters: impl IntoIterator<Item = (&'w ClusterId, &'w Workload)>,
) -> Vec<Workload> {
    let Some((own, _)) = settings.providers_of(set) else { return Vec::new() };
    let is_its = |cluster: &ClusterId| {
        settings.claimed_by(cluster).is_ok_and(|by| by.is_some_and(|by| by.name == own.name))
    };
    let its = clusters.into_iter().filter(|(cluster, _)| is_its(cluster));
    its.map(|(_, workload)| workload.clone()).collect()
}

/// Who applies a set.
pub fn applied_by(settings: &RepositorySettings, set: &ClusterId) -> ProvidersBy {
    settings.providers_of(set).map(|(_, providers)| providers.by).unwrap_or_default()
}

/// What these clusters are made of: objects of kinds whose definitions the providers bring. What cannot be rendered is
/// its own cluster's trouble.
pub fn objects_of(tree: &dyn Tree, settings: &RepositorySettings, workloads: &[Workload]) -> Vec<Rendered> {
    let rendered = |workload: &Workload| {
        let cluster = RepoPath::parse(&workload.name).ok()?;
        let base = settings.clusters.base.inside(&cluster);
        let overlay = settings.clusters.overlay.inside(&cluster);
        render(tree, &Folders { cluster, base, overlay }).ok()
    };
    workloads.iter().filter_map(rendered).collect()
}

/// Compares two states of a set and judges the later one.
pub fn judge_set(facts: &SetFacts<'_>) -> JudgedSet {
    let after = match read(facts.after) {
        Ok(after) => after,
        Err(refused) => {
            return JudgedSet { findings: refused.iter().map(finding).collect(), ..JudgedSet::default() };
        }
    };
    // What cannot be read as it is cannot be compared; what is wrong with it is no news.
    let before = facts.before.and_then(|before| Some((before, read(before).ok()?)));
    let variables = Values::default();
    let rendered = |state: SetState<'_>, set: &ProviderSet| {
        RenderedSet::read(Inputs { tree: state.tree, set, variables: &variables, configuration: None })
    };
    let was = before.as_ref().map(|(state, set)| rendered(*state, set));
    let is = rendered(facts.after, &after);
    let (path, settings) = facts.record;
    let recorded = settings.into_iter().flat_map(|settings| &settings.components);
    let recorded = recorded.map(|(label, record)| {
        let recorded = Recorded {
            sha256: record.sha256.clone(),
            version: record.version.clone(),
            place: Some(Place::whole(path.clone())),
        };
        (label.clone(), recorded)
    });
    let known = Facts {
        workloads: facts.workloads.to_vec(),
        recorded: recorded.collect(),
        objects: facts.objects.iter().flat_map(|cluster| &cluster.objects).map(placed).collect(),
        migration: match facts.by {
            ProvidersBy::Capstan => Migration::Capstan,
            ProvidersBy::Operator | ProvidersBy::Others => Migration::Nobody,
        },
        ..Facts::default()
    };
    let compared = compare(was.as_ref(), &is, &known);
    let components: BTreeMap<String, ComponentsRecord> = digests(facts.after.tree, &after)
        .into_iter()
        .map(|(label, (version, sha256))| (label, ComponentsRecord { version, sha256 }))
        .collect();
    let labels = after.providers().iter().map(|provider| provider.label());
    let without: Vec<String> = labels.filter(|label| !components.contains_key(label)).collect();
    let note = (!without.is_empty()).then(|| {
        format!(
            "The components of {} are not at hand in the repository, so what becomes of their objects is unknown, and \
             `components` in the set's capstan.yaml has no digest of them.",
            list(&without)
        )
    });
    JudgedSet {
        providers: compared.providers,
        findings: compared.findings,
        components,
        notes: note.into_iter().collect(),
    }
}

const fn placed(object: &RenderedObject) -> &Placed {
    &object.placed
}

fn read(state: SetState<'_>) -> Result<ProviderSet, Vec<Refusal>> {
    ProviderSet::of(state.rendered.objects.iter().map(|object| object.placed.clone()))
}

fn finding(refusal: &Refusal) -> Finding {
    Finding::new(rules::RENDER_FAILED, refusal.without_place()).maybe_place(refusal.place().cloned())
}
