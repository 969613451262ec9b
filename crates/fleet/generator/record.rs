//! What a cluster records of its release and of the components of its values, read alone.

use capstan_inventory::record::{self, ValuesRecord};
use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::layout::TargetFolder;
use capstan_plan::settings::ClusterSettings;

/// What a cluster records of its release in its own settings, and beside them of components.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) release: Option<ReleaseId>,
    pub(super) content: Option<ContentId>,
    /// The components that its values were rendered with, and the trees that their folders were.
    pub(super) components: Vec<(RepoPath, TreeId)>,
}

/// How many components a record may name that are looked for elsewhere: anybody may write it.
const MOST_COMPONENTS: usize = 64;

impl Record {
    pub(super) fn of(settings: Option<&ClusterSettings>, values: Option<&ValuesRecord>) -> Self {
        let components = values.map(|values| values.components.clone()).unwrap_or_default();
        settings.map_or_else(Self::default, |settings| Self {
            release: settings.release.clone(),
            content: settings.release_content(),
            components,
        })
    }

    /// The contents that it names and that are not where it says in this snapshot: the components of an old render.
    pub(super) fn moved_components<'r>(&'r self, tree: &'r dyn Tree) -> impl Iterator<Item = ContentId> + 'r {
        let moved = self.components.iter().take(MOST_COMPONENTS);
        moved
            .filter(|(path, recorded)| tree.folder_id(path).as_ref() != Some(recorded))
            .map(|(_, recorded)| recorded.clone().into())
    }
}

/// The values that a cluster records, where it records components with them.
pub(super) fn values_with_components(tree: &dyn Tree, cluster: &RepoPath) -> Option<ValuesRecord> {
    let entry = cluster.join(record::FILE).ok().and_then(|path| tree.entry(&path))?;
    let bytes = tree.read(entry).ok()?;
    let has_none = bytes.windows(NO_COMPONENTS.len()).any(|line| line == NO_COMPONENTS.as_bytes());
    if has_none { None } else { ValuesRecord::read(&entry.path, &bytes).ok() }
}

/// The line of a record that names none.
const NO_COMPONENTS: &str = "\ncomponents: []\n";

/// A cluster's own settings, where they can be read.
pub(super) fn settings_of(tree: &dyn Tree, folder: &TargetFolder) -> Option<ClusterSettings> {
    let entry = folder.settings.as_ref()?;
    let bytes = tree.read(entry).ok()?;
    ClusterSettings::read(&entry.path, std::str::from_utf8(&bytes).ok()?).ok()
}
