//! Digest of a cluster's inputs: the answer to a preflight is valid while it is the same.

use capstan_kustomize::render::Folders;
use capstan_live::agent::archive::IndexKind;
use capstan_model::tree::TreeEntry;
use capstan_report::Fingerprint;

use capstan_fleet::planner::MadeOf;

/// The same for two commits if the inputs of the clusters are the same.
///
/// The other clusters of the management cluster do not count, although the same archive contains them.
/// Otherwise every merge would repeat the preflights of all open pull requests of the fleet.
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
