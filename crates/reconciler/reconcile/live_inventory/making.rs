//! The tree of a live inventory: the folders that its definitions make, and those that stay as they were.
//!
//! Blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_inventory::origin::LevelKind;
use capstan_inventory::record::{self, ValuesRecord};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{MadeTree, RepoPath, Tree};
use capstan_model::version::ReleaseVersion;
use capstan_plan::settings::{FOLDER_FILE, REPOSITORY_FILE, record_deletion};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::read::{FetchedObject, ReadInventory};
use super::release::HOME;
use crate::reconcile::ports::{SourceError, TrialFailed};
use crate::reconcile::trial::Trial;
use capstan_fleet::generator::{Fleet, MadeFolder, Refused, ToMake, folders_to_make, make_folder};

/// The reason of a definition that cannot be made.
const NOT_MADE: &str = "NotMade";
/// The reason of a definition whose folder belongs to another one, contains the folder of another one, or is inside of
/// it.
const FOLDER_TAKEN: &str = "FolderTaken";

/// Bytes that all folders together may be.
const BYTES: usize = 256 << 20;

/// The management cluster, as `.capstan.yaml` names it.
#[derive(Debug, Clone)]
pub(super) struct Claimant {
    pub(super) name: String,
    pub(super) uid: String,
}

/// A folder that was made of a definition, now or earlier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DefinitionFolder {
    pub(super) cluster: ClusterId,
    pub(super) release: String,
    pub(super) digest: String,
    pub(super) files: BTreeMap<RepoPath, String>,
    /// What tells all that it was made from from anything else; nothing where it is not what its definition says now.
    #[serde(skip)]
    print: String,
}

impl DefinitionFolder {
    fn of(made: MadeFolder, print: String) -> Self {
        let MadeFolder { cluster, release, digest, files } = made;
        Self { cluster, release: release.to_string(), digest, files, print }
    }

    /// One of which nothing is made.
    fn unmade(to_make: ToMake) -> Self {
        let (release, digest) = (String::new(), String::new());
        Self { cluster: to_make.cluster, release, digest, files: BTreeMap::new(), print: String::new() }
    }
}

/// What became of a definition.
#[derive(Debug, Clone)]
pub(super) struct DefinitionOutcome {
    /// Its folder as the tree has it; `None` where none was ever made.
    pub(super) folder: Option<DefinitionFolder>,
    /// Why that is not what the definition says now: a CamelCase word, and what was found.
    pub(super) problem: Option<(&'static str, String)>,
}

/// What an inventory comes to.
#[derive(Debug, Default)]
pub(super) struct InventoryResult {
    /// By the names of the definitions.
    pub(super) clusters: BTreeMap<String, DefinitionOutcome>,
    /// How many clusters are of a level's object.
    pub(super) of_levels: BTreeMap<(LevelKind, String), u32>,
}

/// What is known of folders from before.
#[derive(Debug, Clone, Default)]
pub(super) struct EarlierFoldersMade {
    /// The folders that were made last, by the names of their definitions.
    pub(super) folders: BTreeMap<String, DefinitionFolder>,
    /// The clusters that definitions have, by their names.
    pub(super) owned: BTreeMap<String, ClusterId>,
}

impl EarlierFoldersMade {
    /// The definitions that have a cluster, by its id.
    fn owners(&self) -> BTreeMap<&str, &str> {
        self.owned.iter().map(|(name, cluster)| (cluster.as_str(), name.as_str())).collect()
    }
}

/// Makes the folders.
///
/// # Errors
/// The inventory cannot be read as a whole.
pub(super) fn make(
    read: &ReadInventory,
    before: &EarlierFoldersMade,
    claimant: &Claimant,
    (trial, today): (&Trial, Date),
) -> Result<InventoryResult, SourceError> {
    let unreadable = SourceError::Inventory;
    let thieves = thieves(read, before);
    let mut all = InventoryResult::default();
    let mut made = BTreeMap::new();
    if read.definitions().next().is_some() {
        let source: Arc<dyn Tree> = Arc::new(source_tree(read, before, claimant, &thieves));
        // What others wrote is read where it does no harm, before it is read here.
        trial.open(&source, None, today).map_err(|failed| unreadable(failed.to_string()))?;
        let fleet = Fleet::open(source, today).map_err(|error| unreadable(error.to_string()))?;
        let to_make = folders_to_make(&fleet).map_err(|refused| unreadable(refused.to_string()))?;
        all.of_levels = to_make.of_levels;
        made = make_new(&fleet, to_make.clusters, before, trial)?;
    }
    let mut settled = settle(made, before);
    for found in read.definitions() {
        let problem = match (thieves.get(&found.name), settled.remove(&found.name)) {
            (Some(why), _) => (FOLDER_TAKEN, why.clone()),
            (None, Some(Ok(folder))) => {
                all.clusters
                    .insert(found.name.clone(), DefinitionOutcome { folder: Some(folder), problem: None });
                continue;
            }
            (None, Some(Err(problem))) => problem,
            (None, None) => (NOT_MADE, "the inventory was read without it".to_owned()),
        };
        let outcome = stays(&found.name, problem, found.retires, before);
        all.clusters.insert(found.name.clone(), outcome);
    }
    Ok(all)
}

/// Makes the folders that are not made from the same already. What takes too much is that definition's own refusal.
fn make_new(
    fleet: &Fleet,
    clusters: BTreeMap<String, Result<ToMake, Refused>>,
    before: &EarlierFoldersMade,
    trial: &Trial,
) -> Result<BTreeMap<String, Result<DefinitionFolder, String>>, SourceError> {
    let is_made = |name: &str, to_make: &ToMake| {
        let known = before.folders.get(name);
        known.is_some_and(|known| known.print == to_make.print && known.cluster == to_make.cluster)
    };
    let new = clusters.iter().filter_map(|(name, one)| {
        let to_make = one.as_ref().ok()?;
        (!is_made(name, to_make) && check_folder(to_make.cluster.folder()).is_ok())
            .then(|| to_make.cluster.clone())
    });
    let new: Vec<ClusterId> = new.collect();
    let failed = trial.try_made(fleet, &new).map_err(|failed| SourceError::Inventory(failed.to_string()))?;
    if let Some(why) = failed.values().find(|why| is_passing(why)) {
        // The same will come to something else: nothing is given under this revision before.
        return Err(SourceError::Inventory(why.to_string()));
    }
    let make = |(name, one): (String, Result<ToMake, Refused>)| {
        let folder = match one {
            Err(refused) => Err(refused.to_string()),
            Ok(to_make) => match before.folders.get(&name).filter(|_| is_made(&name, &to_make)) {
                Some(known) => Ok(known.clone()),
                None => match failed.get(&to_make.cluster) {
                    Some(why) => Err(why.to_string()),
                    // What means something else is not made: it is refused for that.
                    None if !new.contains(&to_make.cluster) => Ok(DefinitionFolder::unmade(to_make)),
                    None => make_folder(fleet, &to_make.cluster)
                        .map(|made| DefinitionFolder::of(made, to_make.print))
                        .map_err(|refused| refused.to_string()),
                },
            },
        };
        (name, folder)
    };
    Ok(clusters.into_iter().map(make).collect())
}

/// Whether nothing that was tried is to blame.
const fn is_passing(why: &TrialFailed) -> bool {
    matches!(why, TrialFailed::Killed(_) | TrialFailed::Unavailable(_))
}

/// Definitions that name a folder which another one has, and what is said of them. The inventory is read without them: else
/// the one that has it could not be made.
fn thieves(read: &ReadInventory, before: &EarlierFoldersMade) -> BTreeMap<String, String> {
    let owners = before.owners();
    let is_there = |name: &str| read.definitions().any(|one| one.name == name);
    let one = |found: &FetchedObject| {
        let folder = found.folder()?;
        let owner = owners.get(folder).filter(|owner| **owner != found.name && is_there(owner))?;
        Some((found.name.clone(), taken(folder, owner)))
    };
    read.definitions().filter_map(one).collect()
}

fn taken(folder: &str, owner: &str) -> String {
    format!("the folder `{folder}` is that of the definition {owner}: write another `folder`")
}

/// What stays of a definition that cannot be made: the folder that was made of it last.
fn stays(
    name: &str,
    problem: (&'static str, String),
    retires: bool,
    before: &EarlierFoldersMade,
) -> DefinitionOutcome {
    let mut folder = before.folders.get(name).cloned();
    if let Some(folder) = &mut folder {
        folder.print.clear();
    }
    if let Some(folder) = folder.as_mut().filter(|_| retires)
        && let Ok(path) = folder.cluster.folder().join(FOLDER_FILE)
    {
        let text = folder.files.get(&path).map(String::as_str);
        if let Ok(text) = record_deletion(&path, text, folder.cluster.folder().name()) {
            folder.files.insert(path, text);
        }
    }
    DefinitionOutcome { folder, problem: Some(problem) }
}

/// Which of the folders that were made may stand beside each other.
fn settle(
    made: BTreeMap<String, Result<DefinitionFolder, String>>,
    before: &EarlierFoldersMade,
) -> BTreeMap<String, Result<DefinitionFolder, (&'static str, String)>> {
    let mut settled = BTreeMap::new();
    let mut folders: BTreeMap<String, DefinitionFolder> = BTreeMap::new();
    let owners = before.owners();
    for (name, one) in made {
        let folder = match one {
            Ok(folder) => folder,
            Err(refused) => {
                settled.insert(name, Err((NOT_MADE, refused)));
                continue;
            }
        };
        let cluster = &folder.cluster;
        if let Err(why) = check_folder(cluster.folder()) {
            settled.insert(name, Err(("FolderRefused", why)));
            continue;
        }
        if let Some(owner) = owners.get(cluster.as_str()).filter(|owner| **owner != name) {
            settled.insert(name, Err((FOLDER_TAKEN, taken(cluster.as_str(), owner))));
            continue;
        }
        folders.insert(name, folder);
    }
    for (name, why) in nested(&folders, before) {
        settled.insert(name, Err((FOLDER_TAKEN, why)));
    }
    for (name, folder) in folders {
        settled.entry(name).or_insert(Ok(folder));
    }
    settled
}

/// Definitions whose folder contains the folder of another one, or is inside of it. The one that already has its folder
/// keeps it.
fn nested(
    folders: &BTreeMap<String, DefinitionFolder>,
    before: &EarlierFoldersMade,
) -> Vec<(String, String)> {
    let of_others = before.owned.iter().filter(|(name, _)| !folders.contains_key(*name));
    let all = folders.iter().map(|(name, folder)| (name, &folder.cluster)).chain(of_others);
    let all: BTreeMap<&ClusterId, &String> = all.map(|(name, cluster)| (cluster, name)).collect();
    let is_known = |name: &String, cluster: &ClusterId| before.owned.get(name) == Some(cluster);
    let mut refused = Vec::new();
    for (inner, inner_name) in &all {
        let mut above = inner.folder().parent();
        while let Some(path) = above.filter(|path| !path.is_root()) {
            above = path.parent();
            let outer = ClusterId::new(path);
            let Some(outer_name) = all.get(&outer) else { continue };
            let why = |other: &str| {
                format!(
                    "a cluster's folder never contains another, and `{outer}` contains `{inner}`, of the definition {other}: \
                     write another `folder`"
                )
            };
            if !is_known(inner_name, inner) {
                refused.push(((*inner_name).clone(), why(outer_name)));
            }
            if !is_known(outer_name, &outer) {
                refused.push(((*outer_name).clone(), why(inner_name)));
            }
        }
    }
    refused
}

/// Whether a cluster may have that folder: one that means nothing else.
fn check_folder(folder: &RepoPath) -> Result<(), String> {
    const TAKEN: [&str; 6] = ["base", "overlay", "services", "archived", "templates", HOME];
    for part in folder.parts() {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let is_plain = part.bytes().all(fits) && !part.starts_with(['.', '-']);
        if !is_plain || TAKEN.contains(&part) || ReleaseVersion::parse(part).is_some() {
            return Err(format!(
                "`{folder}` cannot be a cluster's folder because of its part `{part}`: use letters, digits, `-`, `_` and `.`, no version, and none of {}",
                TAKEN.join(", ")
            ));
        }
    }
    Ok(())
}

/// The tree that the generator reads: objects, releases, and where the folder of each existing cluster is.
fn source_tree(
    read: &ReadInventory,
    before: &EarlierFoldersMade,
    claimant: &Claimant,
    left_out: &BTreeMap<String, String>,
) -> MadeTree {
    let mut files = read.files_without(left_out);
    for (name, cluster) in &before.owned {
        // The least that says whose folder it is.
        let record = ValuesRecord {
            definition: name.clone(),
            levels: BTreeMap::new(),
            components: Vec::new(),
            values: json!({}),
        };
        if let Ok(path) = cluster.folder().join(record::FILE) {
            files.insert(path, Ok(record.text().into_bytes().into()));
        }
    }
    let settings = format!("inventory: {{path: {HOME}}}\n{}", settings(claimant));
    files.extend(settings_file(settings));
    MadeTree::of(files)
}

type MadeFile = (RepoPath, Result<Arc<[u8]>, String>);

fn settings_file(text: String) -> Option<MadeFile> {
    Some((RepoPath::parse(REPOSITORY_FILE).ok()?, Ok(text.into_bytes().into())))
}

/// Every folder is this management cluster's.
fn settings(claimant: &Claimant) -> String {
    let claim = json!([{"name": claimant.name, "uid": claimant.uid, "clusters": ["**"]}]);
    format!("managementClusters: {claim}\n")
}

/// The tree that clusters are applied from.
///
/// # Errors
/// It is too large.
pub(super) fn tree<'f>(
    folders: impl Iterator<Item = &'f DefinitionFolder>,
    claimant: &Claimant,
) -> Result<MadeTree, SourceError> {
    let mut files: BTreeMap<RepoPath, Result<Arc<[u8]>, String>> = BTreeMap::new();
    let mut taken: BTreeSet<&ClusterId> = BTreeSet::new();
    for folder in folders.filter(|folder| taken.insert(&folder.cluster)) {
        let file = |(path, text): (&RepoPath, &String)| (path.clone(), Ok(text.as_bytes().into()));
        files.extend(folder.files.iter().map(file));
    }
    files.extend(settings_file(settings(claimant)));
    let tree = MadeTree::of(files);
    judge(tree.bytes())?;
    Ok(tree)
}

/// Whether the folders of all clusters may have so many bytes.
fn judge(bytes: usize) -> Result<(), SourceError> {
    if bytes > BYTES {
        let most = BYTES >> 20;
        return Err(SourceError::Inventory(format!("the folders of its clusters are more than {most} MiB")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_taken_at_their_bound_and_refused_beyond() {
        assert!(judge(268_435_456).is_ok());
        let told = judge(268_435_457).unwrap_err().to_string();
        assert!(told.ends_with("the folders of its clusters are more than 256 MiB"), "{told}");
    }
}
