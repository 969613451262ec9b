//! Where a provider's components and metadata are at hand: ConfigMaps of the set, or a folder laid out as clusterctl's
//! local repository. What needs the network is said to be not at hand, and where to put it.

mod config_maps;
mod folder;
mod metadata;

use std::collections::BTreeMap;

use capstan_model::finding::Place;
use capstan_model::tree::Tree;
use capstan_model::version::ReleaseVersion;

use super::refusal::Refusal;
use super::set::ProviderSet;
use super::spec::{Provider, Source, Spec};

/// Components of one version, and what its metadata says.
#[derive(Debug)]
pub(crate) struct Components {
    /// As the ConfigMap or folder has it.
    pub(crate) version: String,
    /// The contract of its release series.
    pub(crate) contract: String,
    /// The text, before variables have values.
    pub(crate) text: String,
    /// Where the text stands.
    pub(crate) place: Place,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
}

/// One version that is at hand, its components still packed.
struct Found<'a> {
    version: String,
    /// Text and place.
    metadata: (String, Place),
    components: Box<dyn Fn() -> Result<(String, Place), Refusal> + 'a>,
}

/// Finds the components of a provider at the version that it asks for, else at the newest.
///
/// # Errors
/// Nothing at hand, and where to put it; ConfigMaps or folders that are none; a version that no release series has.
pub(crate) fn find(tree: &dyn Tree, set: &ProviderSet, provider: &Provider) -> Result<Components, Refusal> {
    let wanted = provider.spec.version.as_deref();
    let (is_selected, maps) = match &provider.spec.source {
        Some(Source::Selector(selector)) => (true, config_maps::selected(set, provider, selector)?),
        _ => (false, config_maps::downloaded(set, provider)?),
    };
    let mut notes = Vec::new();
    let has_maps = !maps.is_empty();
    let known: Vec<String> = maps.iter().map(|found| found.version.clone()).collect();
    let mut found = choose(maps, wanted);
    // What ConfigMaps in Git have is what counts; a folder stands in for those that only the cluster has.
    if found.is_none() && !(is_selected && has_maps) {
        found = choose(folder::versions(tree, provider)?, wanted);
        if let (true, Some(found)) = (is_selected, &found) {
            notes.push(format!(
                "no ConfigMap here meets its selector: {} of the folder {} stands in for it",
                found.version,
                folder::of(provider)
            ));
        }
    }
    let Some(found) = found else {
        return Err(match wanted {
            Some(wanted) if is_selected && has_maps => Refusal::new(format!(
                "the ConfigMaps that meet its selector have {}, and `spec.version` is `{wanted}`: add a ConfigMap of that version, or change the version",
                known.join(", ")
            )),
            _ => not_at_hand(provider),
        });
    };
    let (metadata, place) = &found.metadata;
    let contract =
        metadata::contract(metadata, &found.version).map_err(|refusal| refusal.at(place.clone()))?;
    let (text, place) = (found.components)()?;
    Ok(Components { version: found.version, contract, text, place, notes })
}

/// The versions of a provider that are at hand, whichever it asks for, each with its contract. The metadata of the newest
/// one says it for all, since a release names every series before it.
///
/// # Errors
/// ConfigMaps or folders that are none; metadata that is none.
pub(crate) fn at_hand(
    tree: &dyn Tree,
    set: &ProviderSet,
    provider: &Provider,
) -> Result<AtHand, Refusal> {
    let any = Provider { spec: Spec { version: None, ..provider.spec.clone() }, ..provider.clone() };
    let mut all = match &provider.spec.source {
        Some(Source::Selector(selector)) => config_maps::selected(set, provider, selector)?,
        _ => config_maps::downloaded(set, provider)?,
    };
    all.extend(folder::versions(tree, &any)?);
    let Some(newest) = all.iter().max_by_key(|found| ReleaseVersion::parse(&found.version)) else {
        return Ok(AtHand::default());
    };
    let (metadata, place) = &newest.metadata;
    let contract = |version: &str| metadata::contract(metadata, version);
    let releases = all.iter().filter_map(|found| {
        Some((found.version.clone(), contract(&found.version).ok()?))
    });
    let asked = provider.spec.version.as_deref().map(contract).transpose();
    Ok(AtHand {
        releases: releases.collect(),
        asked: asked.map_err(|refusal| refusal.at(place.clone())).ok().flatten(),
    })
}

/// What is known of a provider's versions.
#[derive(Debug, Default)]
pub(crate) struct AtHand {
    /// Version and contract of each that is at hand.
    pub(crate) releases: BTreeMap<String, String>,
    /// The contract of the version that is asked for, at hand or not.
    pub(crate) asked: Option<String>,
}

/// The version that is asked for, to the letter; else the newest.
fn choose<'a>(all: Vec<Found<'a>>, wanted: Option<&str>) -> Option<Found<'a>> {
    match wanted {
        Some(wanted) => all.into_iter().find(|found| found.version == wanted),
        None => all.into_iter().max_by_key(|found| ReleaseVersion::parse(&found.version)),
    }
}

fn not_at_hand(provider: &Provider) -> Refusal {
    let from = match &provider.spec.source {
        Some(Source::Selector(selector)) => {
            format!("no ConfigMap of namespace `{}` here meets `{selector}`", provider.namespace)
        }
        Some(Source::Oci(address)) => {
            format!("they come from the OCI artifact `{}`", without_credentials(address))
        }
        Some(Source::Url(address)) => format!("they come from `{}`", without_credentials(address)),
        None => "they come from the releases that clusterctl knows for this name".to_owned(),
    };
    let version = provider.spec.version.as_deref().unwrap_or("VERSION");
    Refusal::new(format!(
        "its components are not at hand: {from}, and nothing is fetched; put `metadata.yaml` and `{}` of the release into {}/{version}/",
        provider.kind.components_file(),
        folder::of(provider)
    ))
    .not_at_hand()
}

/// An address without the user and password that may stand in it.
fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
    let host = rest.find('/').unwrap_or(rest.len());
    let begin = rest[..host].rfind('@').map_or(0, |at| at + 1);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{}", &rest[begin..])
}
