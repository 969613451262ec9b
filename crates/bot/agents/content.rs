//! What tells what clusters are made of from anything else: an answer to a preflight is good for as long as it is the
//! same.

use capstan_kustomize::render::Folders;
use capstan_live::agent::archive::IndexKind;
use capstan_model::tree::TreeEntry;
use capstan_report::Fingerprint;

use capstan_fleet::planner::MadeOf;

/// What tells that clusters are made of the same in two commits.
///
/// The other clusters of the management cluster do not count, although they travel in the same archive: else
/// every merge would have every open pull request of the fleet asked about again.
pub(crate) fn content(clusters: &[(Folders, MadeOf)]) -> String {
    let entry = |digest: Fingerprint, entry: &TreeEntry| {
        digest
            .field("path", &entry.path)
            .field("kind", IndexKind::from(entry.kind).as_str())
            .field("blob", &entry.blob)
    };
    let cluster = |digest: Fingerprint, (folders, made_of): &(Folders, MadeOf)| {
        let digest = digest
            .field("cluster", &folders.cluster)
            .field("base", &folders.base)
            .field("overlay", &folders.overlay);
        made_of.values().fold(digest, entry)
    };
    clusters.iter().fold(Fingerprint::of("content"), cluster).finish()
}
