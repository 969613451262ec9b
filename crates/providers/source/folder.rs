//! Components in files, laid out as clusterctl's local repository:
//! `.capstan/providers/<label>/<version>/{metadata.yaml,<type>-components.yaml}`.

use std::collections::BTreeSet;

use capstan_model::finding::Place;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::version::ReleaseVersion;
use capstan_yaml::limits;

use super::PackedVersion;
use crate::refusal::Refusal;
use crate::spec::Provider;

/// Where the folder of a provider is.
pub(super) fn of(provider: &Provider) -> String {
    format!(".capstan/providers/{}", provider.label())
}

/// The versions that are there.
pub(super) fn versions<'a>(
    tree: &'a dyn Tree,
    provider: &Provider,
) -> Result<Vec<PackedVersion<'a>>, Refusal> {
    let Ok(folder) = RepoPath::parse(&of(provider)) else { return Ok(Vec::new()) };
    let entries = tree.entries_in(&folder).iter();
    let first = |path: &RepoPath| path.below(&folder)?.split_once('/').map(|(version, _)| version.to_owned());
    let names: BTreeSet<String> = entries.filter_map(|entry| first(&entry.path)).collect();
    let mut all = Vec::new();
    for version in names.into_iter().filter(|name| ReleaseVersion::parse(name).is_some()) {
        if provider.spec.version.as_ref().is_some_and(|wanted| *wanted != version) {
            continue;
        }
        let path = |name: &str| folder.join(&format!("{version}/{name}")).unwrap_or_else(|_| folder.clone());
        let components = path(&provider.kind.components_file());
        all.push(PackedVersion {
            metadata: read(tree, &path("metadata.yaml"))?,
            components: Box::new(move || read(tree, &components)),
            version,
        });
    }
    Ok(all)
}

fn read(tree: &dyn Tree, path: &RepoPath) -> Result<(String, Place), Refusal> {
    let place = Place::whole(path.clone());
    let refuse = |message: String| Refusal::new(message).at(place.clone());
    let entry = tree.entry(path).filter(|entry| entry.is_file());
    let entry = entry.ok_or_else(|| refuse("this file of the release is missing: add it".to_owned()))?;
    let bytes = tree.read(entry).map_err(|error| refuse(error.reason))?;
    if bytes.len() > limits::BYTES {
        return Err(refuse(format!("{} bytes exceed the limit of {}", bytes.len(), limits::BYTES)));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok((text.to_owned(), place)),
        Err(_) => Err(refuse("this is not UTF-8: save the file as UTF-8".to_owned())),
    }
}
