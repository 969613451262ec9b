//! Where a provider's components and metadata are at hand: ConfigMaps of the set, a folder laid out as clusterctl's
//! local repository, or what was fetched before. What is in none of them is said to be not at hand, and where to put it.

mod config_maps;
mod folder;
mod metadata;

pub(crate) use config_maps::VERSION as VERSION_LABEL;

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::digest::sha256;
use capstan_model::finding::Place;
use capstan_model::tree::Tree;
use capstan_model::version::ReleaseVersion;

use super::origin::without_credentials;
use super::published::Published;
use super::refusal::{Refusal, RenderStage};
use super::selector::ProviderSelector;
use super::set::ProviderSet;
use super::spec::{FetchSource, Provider, Spec};

/// Components of one version, and what its metadata says.
#[derive(Debug)]
pub(crate) struct VersionComponents {
    /// As the ConfigMap or folder has it.
    pub(crate) version: String,
    /// The contract of its release series.
    pub(crate) contract: String,
    /// The text, before variables have values.
    pub(crate) text: String,
    /// The place of the text.
    pub(crate) place: Place,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
}

/// One version that is at hand, its components still packed.
struct PackedVersion<'a> {
    version: String,
    /// Text and place.
    metadata: (String, Place),
    components: Box<dyn Fn() -> Result<(String, Place), Refusal> + 'a>,
}

/// Finds the components of a provider at the version that it asks for, else at the newest.
///
/// # Errors
/// Nothing was found, and where to put it; invalid ConfigMaps or folders; a version that no release series
/// has.
pub(crate) fn find(
    tree: &dyn Tree,
    set: &ProviderSet,
    provider: &Provider,
) -> Result<VersionComponents, Refusal> {
    let (found, notes) = look(tree, set, provider)?;
    let found = found.ok_or_else(|| not_at_hand(provider, set))?;
    let (metadata, place) = &found.metadata;
    let contract = metadata::contract(metadata, &found.version)
        .map_err(|refusal| refusal.during(RenderStage::Contract).at(place.clone()))?;
    let (text, place) = (found.components)()?;
    Ok(VersionComponents { version: found.version, contract, text, place, notes })
}

/// What is at hand of a provider, as it was published; `None` where it has to be fetched.
///
/// # Errors
/// As for rendering, but that nothing is at hand.
pub fn at_hand(
    tree: &dyn Tree,
    set: &ProviderSet,
    provider: &Provider,
) -> Result<Option<Published>, Refusal> {
    let of_provider = |refusal: Refusal| refusal.of(provider.subject()).at(provider.place.clone());
    let Some(found) = look(tree, set, provider).map_err(of_provider)?.0 else { return Ok(None) };
    let (components, place) = (found.components)().map_err(of_provider)?;
    let (metadata, _) = found.metadata;
    Ok(Some(Published { version: found.version, metadata, components, from: place.to_string() }))
}

/// Whether the components of a provider are at hand, without unpacking them.
///
/// # Errors
/// As for rendering, but that nothing is at hand.
pub(crate) fn is_at_hand(tree: &dyn Tree, set: &ProviderSet, provider: &Provider) -> Result<bool, Refusal> {
    Ok(look(tree, set, provider)?.0.is_some())
}

/// Whether the release series of a provider's metadata have a version, with a contract that is understood.
///
/// # Errors
/// Why not.
pub fn check_metadata(published: &Published) -> Result<(), Refusal> {
    metadata::contract(&published.metadata, &published.version).map(|_contract| ())
}

/// The version that counts, and what a person should know of the choice.
fn look<'a>(
    tree: &'a dyn Tree,
    set: &'a ProviderSet,
    provider: &Provider,
) -> Result<(Option<PackedVersion<'a>>, Vec<String>), Refusal> {
    let wanted = provider.spec.version.as_deref();
    let (is_selected, maps) = match &provider.spec.source {
        Some(FetchSource::Selector(selector)) => (true, config_maps::selected(set, provider, selector)?),
        _ => (false, config_maps::downloaded(set, provider)?),
    };
    let mut notes = Vec::new();
    let has_maps = !maps.is_empty();
    let known: Vec<String> = maps.iter().map(|found| found.version.clone()).collect();
    let mut found = choose(maps, wanted);
    // ConfigMaps in Git count; a folder replaces those that only the cluster has.
    if found.is_none() && !(is_selected && has_maps) {
        found = choose(folder::versions(tree, provider)?, wanted);
        if let (true, Some(found)) = (is_selected, &found) {
            notes.push(format!(
                "no ConfigMap here matches its selector: Capstan uses {} of the folder {} instead",
                found.version,
                folder::of(provider)
            ));
        }
    }
    if found.is_none() && !is_selected {
        found = choose(set.fetched(provider).map(|published| fetched(published, provider)).collect(), wanted);
    }
    match (&found, wanted) {
        (None, Some(wanted)) if is_selected && has_maps => Err(Refusal::new(format!(
            "the ConfigMaps that match its selector have {}, but `spec.version` is `{wanted}`: add a ConfigMap of that version, or change the version",
            known.join(", ")
        ))),
        _ => Ok((found, notes)),
    }
}

fn fetched<'a>(published: &'a Published, provider: &Provider) -> PackedVersion<'a> {
    let place = provider.place.clone();
    PackedVersion {
        version: published.version.clone(),
        metadata: (published.metadata.clone(), place.clone()),
        components: Box::new(move || Ok((published.components.clone(), place.clone()))),
    }
}

/// The versions of a provider that are at hand, whichever it asks for, each with its contract. The metadata of the newest
/// one says it for all, since a release names every series before it.
///
/// # Errors
/// Invalid ConfigMaps or folders; invalid metadata.
pub(crate) fn releases(tree: &dyn Tree, set: &ProviderSet, provider: &Provider) -> Result<Releases, Refusal> {
    let any = Provider { spec: Spec { version: None, ..provider.spec.clone() }, ..provider.clone() };
    let mut all = match &provider.spec.source {
        Some(FetchSource::Selector(selector)) => config_maps::selected(set, provider, selector)?,
        _ => config_maps::downloaded(set, provider)?,
    };
    all.extend(folder::versions(tree, &any)?);
    all.extend(set.fetched(provider).map(|published| fetched(published, provider)));
    let Some(newest) = all.iter().max_by_key(|found| ReleaseVersion::parse(&found.version)) else {
        return Ok(Releases::default());
    };
    let (metadata, place) = &newest.metadata;
    let contract = |version: &str| metadata::contract(metadata, version);
    let releases =
        all.iter().filter_map(|found| Some((found.version.clone(), contract(&found.version).ok()?)));
    let asked = provider.spec.version.as_deref().map(contract).transpose();
    Ok(Releases {
        at_hand: releases.collect(),
        asked: asked.map_err(|refusal| refusal.at(place.clone())).ok().flatten(),
    })
}

/// The versions of a provider whose components are at hand; none where they cannot be read, which rendering says.
pub fn versions_at_hand(tree: &dyn Tree, set: &ProviderSet, provider: &Provider) -> BTreeSet<String> {
    let releases = releases(tree, set, provider).unwrap_or_default();
    releases.at_hand.into_keys().collect()
}

/// What is known of a provider's versions.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    /// Version and contract of each that is at hand.
    pub(crate) at_hand: BTreeMap<String, String>,
    /// The contract of the version that is asked for, at hand or not.
    pub(crate) asked: Option<String>,
}

/// The version that is asked for, to the letter; else the newest.
fn choose<'a>(all: Vec<PackedVersion<'a>>, wanted: Option<&str>) -> Option<PackedVersion<'a>> {
    match wanted {
        Some(wanted) => all.into_iter().find(|found| found.version == wanted),
        None => all.into_iter().max_by_key(|found| ReleaseVersion::parse(&found.version)),
    }
}

fn not_at_hand(provider: &Provider, set: &ProviderSet) -> Refusal {
    if let Some(why) = set.why_missing(provider) {
        return Refusal::new(format!("its components are unknown: {why}")).not_at_hand();
    }
    let from = match &provider.spec.source {
        Some(FetchSource::Selector(selector)) => {
            let here = if set.is_live { "" } else { " here" };
            format!("no ConfigMap of namespace `{}`{here} matches `{selector}`", provider.namespace)
        }
        Some(FetchSource::Oci(address)) => {
            format!("they come from the OCI artifact `{}`", without_credentials(address))
        }
        Some(FetchSource::Url(address)) => format!("they come from `{}`", without_credentials(address)),
        None => "they come from the releases that clusterctl knows for this name".to_owned(),
    };
    if set.is_live {
        let todo = match &provider.spec.source {
            Some(FetchSource::Selector(_)) => {
                "correct `spec.fetchConfig.selector`, or add such a ConfigMap there"
            }
            Some(_) => {
                "correct `spec.fetchConfig`, let the reconciler fetch from there (its setting `provider-hosts`), or put \
                 them into a ConfigMap there, as `capstan providers fetch` prints it"
            }
            None => {
                "let the reconciler fetch them (its setting `provider-hosts`), or put them into a ConfigMap there, as \
                 `capstan providers fetch` prints it"
            }
        };
        return Refusal::new(format!("its components are not available: {from}; {todo}")).not_at_hand();
    }
    let version = provider.spec.version.as_deref().unwrap_or("VERSION");
    let fetch = match &provider.spec.source {
        Some(FetchSource::Selector(_)) => "",
        _ => "fetch them with `capstan providers fetch`, or ",
    };
    Refusal::new(format!(
        "its components are not available: {from}; {fetch}put `metadata.yaml` and `{}` of the release into {}/{version}/",
        provider.kind.components_file(),
        folder::of(provider)
    ))
    .not_at_hand()
}

/// The labels of the ConfigMaps that a provider's components may be in.
pub(crate) fn selector(provider: &Provider) -> ProviderSelector {
    match &provider.spec.source {
        Some(FetchSource::Selector(selector)) => selector.clone(),
        _ => config_maps::downloads(provider),
    }
}

/// Version and SHA-256 of the components of every provider of a set of which they are at hand, by label: of their text,
/// unpacked, before variables have values.
pub fn digests(tree: &dyn Tree, set: &ProviderSet) -> BTreeMap<String, (String, String)> {
    let found = set.providers().iter().filter_map(|provider| {
        let components = find(tree, set, provider).ok()?;
        Some((provider.label(), (components.version, sha256(&components.text))))
    });
    found.collect()
}
