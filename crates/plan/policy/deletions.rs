//! What a cluster's `delete:` takes away, and where it contradicts what is rendered.

use crate::layout::TargetFolder;
use crate::settings::{Deletion, Tombstone};
use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::kinds::{KindRole, is_cluster, role_of_fragment};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::{RepoPath, Tree};
use capstan_yaml::YamlFile;

/// The `delete:` of a cluster's settings.
pub(super) struct Deletions {
    deletion: Deletion,
    path: RepoPath,
    /// The settings as text, for places.
    file: Option<YamlFile>,
}

impl Deletions {
    pub(super) fn of(tree: &dyn Tree, folder: &TargetFolder, deletion: Deletion) -> Self {
        let read = || YamlFile::read_bytes(&tree.read(folder.settings.as_ref()?).ok()?).ok();
        let file = if deletion == Deletion::Nothing { None } else { read() };
        Self { deletion, path: folder.settings_path(), file }
    }

    /// Tombstones of what the folder still renders.
    pub(super) fn of_what_is_rendered(&self, rendered: &RenderedFolder) -> Vec<Finding> {
        let Deletion::Objects(tombstones) = &self.deletion else { return Vec::new() };
        let still = |(index, tombstone): (usize, &Tombstone)| {
            let object = rendered_as(tombstone, rendered)?;
            let message = format!(
                "`delete` names {}, which {} still renders: remove one of the two. Until then Capstan deletes nothing",
                object.id,
                object.origin().file()
            );
            let verdict = Finding::new(rules::RENDERED_TOMBSTONE, message);
            Some(verdict.object(&object.id).place(self.place(Some(index))))
        };
        tombstones.iter().enumerate().filter_map(still).collect()
    }

    /// Machines that go because `delete:` asks for more than it did; `said` is what it asked for before.
    ///
    /// What leaves the folder in the same change is said of its object.
    pub(super) fn of_machines(
        &self,
        said: &Deletion,
        before: &RenderedFolder,
        after: &RenderedFolder,
    ) -> Vec<Finding> {
        match &self.deletion {
            Deletion::Nothing => Vec::new(),
            Deletion::Cluster if *said == Deletion::Cluster => Vec::new(),
            Deletion::Cluster => {
                let clusters: Vec<&ObjectId> = after.objects.iter().filter_map(cluster).collect();
                if clusters.is_empty() && !before.objects.iter().any(|object| cluster(object).is_some()) {
                    return vec![self.lost("`delete: cluster` deletes the live cluster of this folder with all its machines after the merge: remove it if you do not want that".to_owned(), None)];
                }
                let lost = |id: &&ObjectId| {
                    let message = format!(
                        "`delete: cluster` deletes {id} with all its machines after the merge, then the rest of this folder: remove it if you do not want that"
                    );
                    self.lost(message, None).object(id)
                };
                clusters.iter().map(lost).collect()
            }
            Deletion::Objects(tombstones) => {
                let lost = |(index, tombstone): (usize, &Tombstone)| {
                    let is_new = !matches!(said, Deletion::Objects(said) if said.contains(tombstone));
                    let said_elsewhere = rendered_as(tombstone, before).or(rendered_as(tombstone, after));
                    let role = role_of_fragment(tombstone.group.as_deref(), &tombstone.kind);
                    let machines = role.is_some_and(KindRole::has_machines);
                    (is_new && machines && said_elsewhere.is_none()).then(|| {
                        let message = format!(
                            "`delete` names {} {}, which is deleted from the live cluster with its machines after the merge: remove the entry if you do not want that",
                            tombstone.kind, tombstone.name
                        );
                        self.lost(message, Some(index))
                    })
                };
                tombstones.iter().enumerate().filter_map(lost).collect()
            }
        }
    }

    fn lost(&self, message: String, index: Option<usize>) -> Finding {
        Finding::new(rules::REMOVES_MACHINES, message).place(self.place(index))
    }

    /// The place of `delete:`, or of one of its tombstones.
    fn place(&self, index: Option<usize>) -> Place {
        let path = FieldPath::root().key("delete");
        let path = index.map_or_else(|| path.clone(), |index| path.index(index));
        let position = self.file.as_ref().and_then(|file| {
            let root = &file.documents().first()?.root;
            Some(file.position(root.at(&path)?.span.start))
        });
        Place::maybe_at(self.path.clone(), position)
    }
}

fn cluster(object: &RenderedObject) -> Option<&ObjectId> {
    is_cluster(&object.id).then_some(&object.id)
}

/// The object that a tombstone means among those that are rendered.
fn rendered_as<'a>(tombstone: &Tombstone, rendered: &'a RenderedFolder) -> Option<&'a RenderedObject> {
    rendered.objects.iter().find(|object| tombstone.means(&object.id, None))
}
