//! In which files of a snapshot ClusterClasses are.

use std::collections::{BTreeMap, BTreeSet};

use super::kustomizations::Kustomizations;
use super::root::Root;
use super::users::{ClassRef, class_name};
use crate::layout::{Layout, TargetFolder, may_hold};
use capstan_kustomize::render::is_kustomization;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{KindRole, role};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::manifest::objects;
use capstan_yaml::{Node, YamlFile};

/// The ClusterClasses of a snapshot, outside of releases: in which files they are, and what is applied with them.
///
/// Building it reads every manifest. So a planner builds it once, and only if a Cluster names a class that its own
/// render lacks.
#[derive(Debug, Default)]
pub struct ClassIndex {
    files: BTreeMap<RepoPath, Holder>,
    /// Whether kustomizations were read: only if a class is outside of clusters.
    asked: ClassLookup,
    /// Folders that have the shape of a cluster and hold none.
    shells: BTreeSet<RepoPath>,
}

/// A file with classes.
#[derive(Debug)]
struct Holder {
    classes: Vec<ClassRef>,
    /// What is applied with it.
    roots: BTreeSet<Root>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ClassLookup {
    #[default]
    Nobody,
    Kustomizations,
}

impl ClassIndex {
    /// Reads a snapshot. Files that cannot be read are passed over: judging the tree says so.
    pub fn read(tree: &dyn Tree, layout: &Layout) -> Self {
        let candidates = tree.entries().iter().filter(|entry| is_candidate(layout, entry));
        let held: Vec<(RepoPath, Vec<ClassRef>)> = candidates
            .filter_map(|entry| Some((entry.path.clone(), classes_in(&tree.read(entry).ok()?))))
            .filter(|(_, classes)| !classes.is_empty())
            .collect();
        let clusters = Clusters { tree, layout };
        let is_beside = held.iter().any(|(path, _)| clusters.around(path).is_none());
        let kustomizations = is_beside.then(|| Kustomizations::read(tree, layout));
        let asked = if is_beside { ClassLookup::Kustomizations } else { ClassLookup::Nobody };
        let shells = held.iter().filter_map(|(path, _)| clusters.shell_around(path)).collect();
        let holder = |(path, classes): (RepoPath, Vec<ClassRef>)| {
            let roots = clusters.roots_with(&path, kustomizations.as_ref());
            (path, Holder { classes, roots })
        };
        Self { files: held.into_iter().map(holder).collect(), asked, shells }
    }

    /// Whether another index might come of a snapshot that differs from this index's own in a file.
    pub fn may_change(&self, tree: &dyn Tree, layout: &Layout, path: &RepoPath) -> bool {
        if self.files.contains_key(path)
            || self.asked == ClassLookup::Kustomizations && is_kustomization(path)
            || self.shells.iter().any(|shell| path.is_in(shell))
        {
            return true;
        }
        let Some(entry) = tree.entry(path).filter(|entry| is_candidate(layout, entry)) else { return false };
        tree.read(entry).map_or(true, |bytes| may_hold(&bytes, is_class_kind))
    }

    /// Whether there is no class.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether that class is applied with the cluster itself.
    pub fn is_own(&self, class: &ClassRef, cluster: &ClusterId) -> bool {
        self.roots(class, None).iter().any(|root| is_of(root, cluster))
    }

    /// What may be applied with that class in it; not the render of the cluster that asks, which comes first
    /// anyway. Where no file has the name, kustomizations may make it of a part of it (`namePrefix`).
    pub fn roots(&self, class: &ClassRef, asks: Option<&ClusterId>) -> BTreeSet<Root> {
        let found = self.roots_of(asks, |other, root| match root {
            Root::Folder(_) => other.may_be(class),
            // A kustomization may give it a namespace.
            Root::Cluster(_) | Root::Kustomization(_) => other.name == class.name,
        });
        if !found.is_empty() {
            return found;
        }
        self.roots_of(asks, |other, root| {
            !matches!(root, Root::Folder(_)) && class.name.contains(&other.name)
        })
    }

    fn roots_of(&self, asks: Option<&ClusterId>, fits: impl Fn(&ClassRef, &Root) -> bool) -> BTreeSet<Root> {
        let is_own = |root: &Root| asks.is_some_and(|cluster| is_of(root, cluster));
        let of_file = |file: &Holder| {
            let fits = |root: &&Root| file.classes.iter().any(|class| fits(class, root));
            file.roots.iter().filter(fits).cloned().collect::<Vec<_>>()
        };
        self.files.values().flat_map(of_file).filter(|root| !is_own(root)).collect()
    }
}

/// The clusters of a snapshot, to find what a file is applied with.
struct Clusters<'a> {
    tree: &'a dyn Tree,
    layout: &'a Layout,
}

impl Clusters<'_> {
    /// The cluster whose base or overlay holds a file or folder, or is that folder. A folder with classes and no
    /// Cluster may look like one (`clusterclasses/base`), and does not count.
    fn around(&self, path: &RepoPath) -> Option<&TargetFolder> {
        self.shaped_around(path).filter(|folder| self.has_cluster(folder))
    }

    fn shell_around(&self, path: &RepoPath) -> Option<RepoPath> {
        let folder = self.shaped_around(path).filter(|folder| !self.has_cluster(folder))?;
        Some(folder.id.folder().clone())
    }

    fn shaped_around(&self, path: &RepoPath) -> Option<&TargetFolder> {
        let folder = self.layout.target(path.as_str()).or_else(|| self.layout.target_around(path))?;
        let is_part = |part: &RepoPath| path == part || path.is_in(part);
        let is_its = path == folder.id.folder() || is_part(&folder.base) || is_part(&folder.overlay);
        is_its.then_some(folder)
    }

    fn has_cluster(&self, folder: &TargetFolder) -> bool {
        let is_cluster = |group: &str, kind: &str| role(group, kind) == Some(KindRole::Cluster);
        let holds = |entry: &TreeEntry| {
            // What cannot be read may be anything.
            self.tree.read(entry).map_or(true, |bytes| may_hold(&bytes, is_cluster))
        };
        folder.base_files.iter().any(holds)
    }

    /// What is applied with a file in it.
    fn roots_with(&self, path: &RepoPath, kustomizations: Option<&Kustomizations>) -> BTreeSet<Root> {
        if let Some(cluster) = self.around(path) {
            return [Root::Cluster(cluster.id.clone())].into();
        }
        let ends = |folder: &RepoPath| self.around(folder).is_some();
        let roots = kustomizations.map(|all| all.roots(path, ends)).unwrap_or_default();
        let of_shape = |path: &RepoPath| Some(Root::Cluster(self.shaped_around(path)?.id.clone()));
        if roots.is_empty() {
            let folder = || Root::Folder(path.parent().unwrap_or_default());
            return [of_shape(path).unwrap_or_else(folder)].into();
        }
        roots.into_iter().map(|root| of_shape(&root).unwrap_or(Root::Kustomization(root))).collect()
    }
}

fn is_of(root: &Root, cluster: &ClusterId) -> bool {
    matches!(root, Root::Cluster(other) if other == cluster)
}

fn is_candidate(layout: &Layout, entry: &TreeEntry) -> bool {
    entry.is_file()
        && is_manifest(&entry.path)
        && !is_kustomization(&entry.path)
        && !entry.path.parts().any(|part| part.starts_with('.'))
        && layout.release_around(&entry.path).is_none()
}

fn is_class_kind(group: &str, kind: &str) -> bool {
    role(group, kind) == Some(KindRole::Class)
}

/// Whether a file of a cluster's folder seems to hold a class.
pub fn has_class(tree: &dyn Tree, folder: &TargetFolder) -> bool {
    let holds = |entry: &TreeEntry| {
        is_manifest(&entry.path) && tree.read(entry).is_ok_and(|bytes| may_hold(&bytes, is_class_kind))
    };
    folder.base_files.iter().chain(&folder.overlay_files).any(holds)
}

/// The classes of a file. A name that Flux substitutes is left out, because it cannot be looked up.
fn classes_in(bytes: &[u8]) -> Vec<ClassRef> {
    if !may_hold(bytes, is_class_kind) {
        return Vec::new();
    }
    let Ok(file) = YamlFile::read_bytes(bytes) else { return Vec::new() };
    let roots = file.documents().iter().flat_map(|document| objects(&document.root));
    let class = |object: &Node| {
        let name = class_name(object).filter(|name| !name.is_empty() && !name.contains('$'))?;
        let namespace = object.get("metadata").and_then(|metadata| metadata.get("namespace"));
        let namespace = namespace.and_then(Node::as_str).filter(|text| !text.contains('$'));
        Some(ClassRef { name: name.to_owned(), namespace: namespace.map(str::to_owned) })
    };
    roots.filter_map(|(_, object)| class(object)).collect()
}
