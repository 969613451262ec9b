//! `unknown-release`, found in a cluster's record, and by everything that plans from it.

use super::rule::{About, PolicyRule};
use crate::cluster::Cluster;
use crate::layout::Layout;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::ReleaseId;
use capstan_model::tree::Tree;
use capstan_yaml::{Position, YamlFile};

pub(super) struct UnknownRelease;

static ABOUT: About =
    About::new(rules::UNKNOWN_RELEASE, include_str!("../../../docs/rules/unknown-release.md"));

impl PolicyRule for UnknownRelease {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}

/// Whether a cluster's own record names a release that no folder has. With the id of its content beside it the
/// release may well be in Git's history, which is looked for where upgrades are planned.
pub(super) fn verdict(tree: &dyn Tree, layout: &Layout, cluster: &Cluster) -> Option<Finding> {
    let settings = cluster.settings.as_ref().filter(|settings| settings.release_tree.is_none())?;
    let id = settings.release.as_ref()?;
    let exists = layout.releases.iter().any(|release| id.names(&release.id));
    (!exists && !layout.releases.is_empty()).then(|| unknown_release(tree, cluster, id))
}

/// The finding that nobody has the content of the release that a cluster records.
pub fn unknown_release(tree: &dyn Tree, cluster: &Cluster, id: &ReleaseId) -> Finding {
    let message = format!(
        "{} is recorded at {id}, but no folder and no readable history has that release. Correct `release` in its capstan.yaml. Or remove the line: `capstan adopt` then shows which release its base fits",
        cluster.id
    );
    let place = cluster.folder.settings.as_ref().map(|entry| {
        let yaml = tree.read(entry).ok().and_then(|bytes| YamlFile::read_bytes(&bytes).ok());
        let position = yaml.and_then(|yaml| {
            let roots = yaml.documents().iter().map(|document| &document.root);
            let start = roots.filter_map(|root| root.get("release")).next()?.span.start;
            Some(yaml.position(start))
        });
        Place::at(entry.path.clone(), position.unwrap_or(Position { line: 1, column: 1 }))
    });
    Finding::new(rules::UNKNOWN_RELEASE, message).maybe_place(place)
}
