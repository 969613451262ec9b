//! What the repository applies inside a workload cluster.

use crate::flux::{FluxIndex, FluxRemote};
use capstan_kustomize::render::{Folders, ParsedFiles, RenderedFolder, RenderedObject, render_with};
use capstan_model::kinds::is_cluster;
use capstan_model::tree::{RepoPath, Tree};

/// The objects of the folders that Flux applies to the cluster itself. A Kustomization among its rendered objects names
/// such a folder, or one elsewhere (`flux`, where the caller read those). A folder that cannot be rendered is skipped:
/// it is not part of the cluster's own files.
pub fn inside(
    tree: &dyn Tree,
    folders: &Folders,
    rendered: &RenderedFolder,
    flux: Option<&FluxIndex>,
    parsed: &ParsedFiles,
) -> Vec<RenderedObject> {
    let own = rendered.objects.iter().filter(|object| object.id.kind == "Kustomization");
    let mut remote: Vec<FluxRemote> = own.filter_map(|object| FluxRemote::read(&object.value)).collect();
    remote.extend(flux.map(FluxIndex::remote).unwrap_or_default().iter().cloned());
    if remote.is_empty() {
        return Vec::new();
    }
    let clusters = rendered.objects.iter().filter(|object| is_cluster(&object.id));
    let mut names: Vec<&str> = clusters.map(|object| object.id.name.as_str()).collect();
    if names.is_empty() {
        // A chart makes the cluster, and calls it as its folder is called.
        names.push(folders.cluster.name());
    }
    let mut reached: Vec<RepoPath> = remote
        .into_iter()
        .filter(|remote| names.iter().any(|name| remote.reaches(name)))
        .map(|remote| remote.folder)
        .filter(|folder| {
            let holds = |own: &RepoPath| own == folder || own.is_in(folder);
            !holds(&folders.base) && !folder.is_in(&folders.base)
        })
        .collect();
    reached.sort();
    reached.dedup();
    let objects = |folder: RepoPath| {
        // Nothing is laid over it.
        let overlay = folder.join(".overlay").ok()?;
        let folders = Folders { cluster: folder.clone(), base: folder, overlay };
        render_with(tree, &folders, parsed).ok()
    };
    reached.into_iter().filter_map(objects).flat_map(|rendered| rendered.objects).collect()
}
