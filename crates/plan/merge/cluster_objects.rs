//! The cluster's base, read: its files and the objects in them.

use std::collections::{BTreeMap, BTreeSet};

use super::converted::{Converted, FileBefore};
use super::facts::ClusterFacts;
use super::kustomization;
use super::nodes::text;
use super::positions::{offset_of, path_of};
use crate::giant_swarm::generated_from;
use capstan_kustomize::render::{INCLUDE_FIELDS, is_kustomization, kustomization_field};
use capstan_model::finding::{FileError, Place, Position};
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::RepoPath;
use capstan_yaml::manifest::identity;
use capstan_yaml::{Node, YamlFile, manifest};

#[derive(Debug)]
pub(crate) struct BaseFile {
    pub(crate) path: RepoPath,
    /// The path below the base folder.
    pub(crate) below: String,
    /// Its content. Its objects may be in the new release's API version already.
    pub(crate) yaml: YamlFile,
    /// The file in the repository, if that has other content.
    pub(crate) before: Option<FileBefore>,
}

/// An object of the base: its place and its id.
#[derive(Debug)]
pub(crate) struct BaseObject {
    /// Index into the files.
    pub(crate) file: usize,
    /// Index into the file's documents.
    pub(crate) document: usize,
    /// Its path in the document: the root, or an item of a `List`.
    pub(crate) path: FieldPath,
    pub(crate) id: ObjectId,
}

/// The base of one cluster.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) files: Vec<BaseFile>,
    /// The cluster's objects, and after them the kustomizations of the base.
    pub(crate) objects: Vec<BaseObject>,
    /// Indexes of the kustomizations among the objects; the base's own comes first.
    pub(crate) kustomizations: std::ops::Range<usize>,
    /// The files that the kustomization reaches; `None` without one, where every file counts.
    named: Option<Vec<usize>>,
    /// What its kustomizations read from outside of the base's folder.
    pub(crate) outside: Vec<OutsideRead>,
    /// The keys of files from which a kustomization generates a ConfigMap, by object; only after
    /// [`Self::with_generated`].
    pub(crate) keys: BTreeMap<usize, String>,
    /// Objects that were brought to another API version.
    pub(crate) converted: BTreeMap<usize, Converted>,
}

impl Base {
    /// Reads the base. Where it has a kustomization, only what that names counts as the cluster's.
    pub(crate) fn read(cluster: &ClusterFacts) -> Result<Self, FileError> {
        let mut files = Vec::with_capacity(cluster.base.len());
        for file in &cluster.base {
            let below = file.path.below(&cluster.base_folder).unwrap_or_else(|| file.path.name()).to_owned();
            files.push(BaseFile { path: file.path.clone(), below, yaml: file.read()?, before: None });
        }
        Ok(Self::of(files, &cluster.base_folder))
    }

    /// The same base with files changed: what each is afterwards, `None` where it goes.
    pub(crate) fn with(&self, changed: Vec<(RepoPath, Option<YamlFile>)>, base_folder: &RepoPath) -> Self {
        let is_changed = |path: &RepoPath| changed.iter().any(|(other, _)| other == path);
        // An unchanged file is taken as it is in the repository. The API version in which it was merged does not
        // matter.
        let kept = self.files.iter().filter(|file| !is_changed(&file.path)).map(|file| BaseFile {
            path: file.path.clone(),
            below: file.below.clone(),
            yaml: file.before.as_ref().map_or(&file.yaml, |before| &before.yaml).clone(),
            before: None,
        });
        let mut files: Vec<BaseFile> = kept.collect();
        files.extend(changed.into_iter().filter_map(|(path, yaml)| {
            let below = path.below(base_folder).unwrap_or_else(|| path.name()).to_owned();
            Some(BaseFile { below, yaml: yaml?, path, before: None })
        }));
        Self::of(files, base_folder)
    }

    fn of(files: Vec<BaseFile>, base_folder: &RepoPath) -> Self {
        let kustomization = files.iter().position(|file| {
            is_kustomization(&file.path) && file.path.parent().as_ref() == Some(base_folder)
        });
        let reached = kustomization.map(|at| reached(&files, at, base_folder));
        let KustomizedBase { kustomizations, named, outside } = reached.unwrap_or_default();
        let named = kustomization.map(|_| named);
        let mut objects = Vec::new();
        for (file, base) in files.iter().enumerate() {
            let passed_over = |named: &Vec<usize>| !named.contains(&file);
            if is_kustomization(&base.path) || named.as_ref().is_some_and(passed_over) {
                continue;
            }
            for (document, content) in base.yaml.documents().iter().enumerate() {
                for (path, node) in manifest::objects(&content.root) {
                    if let Some(id) = identity(node) {
                        objects.push(BaseObject { file, document, path, id });
                    }
                }
            }
        }
        let first = objects.len();
        objects.extend(kustomizations.into_iter().filter_map(|file| {
            let root = &files[file].yaml.documents().first()?.root;
            let id = kustomization::identity(root, files[file].path.name());
            Some(BaseObject { file, document: 0, path: FieldPath::root(), id })
        }));
        let kustomizations = first..objects.len();
        let converted = BTreeMap::new();
        Self { files, objects, kustomizations, named, outside, keys: BTreeMap::new(), converted }
    }

    /// With the files of which its kustomizations generate ConfigMaps, behind all objects.
    pub(crate) fn with_generated(mut self) -> Self {
        let mut generated = Vec::new();
        for at in self.kustomizations.clone() {
            let folder = self.file_of(at).path.parent().unwrap_or_default();
            generated.extend(generated_from(self.node(at), &folder));
        }
        for from in generated {
            let Some(file) = self.files.iter().position(|file| file.path == from.file) else { continue };
            let is_known = self.keys.keys().any(|object| self.objects[*object].file == file);
            if is_known || self.files[file].yaml.documents().is_empty() {
                continue;
            }
            self.keys.insert(self.objects.len(), from.key);
            self.objects.push(BaseObject { file, document: 0, path: FieldPath::root(), id: from.config_map });
        }
        self
    }

    /// Whether the base has a kustomization.
    pub(crate) const fn has_kustomization(&self) -> bool {
        self.named.is_some()
    }

    /// Whether a file is part of the base: one that its kustomization does not reach is not.
    pub(crate) fn counts(&self, file: usize) -> bool {
        self.named.as_ref().is_none_or(|named| named.contains(&file))
    }

    pub(crate) fn node(&self, object: usize) -> &Node {
        let object = &self.objects[object];
        let root = &self.files[object.file].yaml.documents()[object.document].root;
        root.at(&object.path).unwrap_or(root)
    }

    pub(crate) fn file_of(&self, object: usize) -> &BaseFile {
        &self.files[self.objects[object].file]
    }

    /// Line and column of a byte of one of its objects, in the file in the repository.
    pub(crate) fn position(&self, object: usize, offset: usize) -> Position {
        let file = self.objects[object].file;
        self.text_before(file).position(self.offset_before(object, offset))
    }

    /// The offset in the file of the repository for a byte of the converted text.
    pub(crate) fn offset_before(&self, object: usize, offset: usize) -> usize {
        let place = &self.objects[object];
        let file = &self.files[place.file];
        let Some(before) = &file.before else { return offset };
        let [own, was] = [&file.yaml, &before.yaml].map(|yaml| &yaml.documents()[place.document]);
        if !before.is_other(place.document) {
            return (offset + was.span.start).saturating_sub(own.span.start);
        }
        let (path, at_key) = path_of(self.node(object), offset);
        match self.converted.get(&object) {
            Some(converted) => offset_of(&converted.was, &converted.conversion.before(&path), at_key),
            None => was.root.at(&place.path).map_or(0, |root| offset_of(root, &path, at_key)),
        }
    }

    /// A file as it is in the repository.
    pub(crate) fn text_before(&self, file: usize) -> &YamlFile {
        let file = &self.files[file];
        file.before.as_ref().map_or(&file.yaml, |before| &before.yaml)
    }

    /// A file to edit. These objects keep the API version that they have in the repository, if each is alone in its
    /// document.
    pub(crate) fn to_edit(&self, file: usize, left: &BTreeSet<usize>) -> YamlFile {
        let own = &self.files[file];
        let stay: BTreeSet<usize> = left
            .iter()
            .map(|object| &self.objects[*object])
            .filter(|place| place.file == file && place.path.is_root())
            .map(|place| place.document)
            .collect();
        let again =
            own.before.as_ref().filter(|_| !stay.is_empty()).and_then(|before| before.after(&stay).ok());
        again.unwrap_or_else(|| own.yaml.clone())
    }

    /// An object in the API version that it has in the repository.
    pub(crate) fn node_before(&self, object: usize) -> &Node {
        self.converted.get(&object).map_or_else(|| self.node(object), |converted| &converted.was)
    }

    /// The spec that an object had when it got its name.
    pub(crate) fn spec_as_named(&self, object: usize) -> Option<&Node> {
        self.node_before(object).get("spec")
    }

    /// The API version that an object has in the repository.
    pub(crate) fn version_before(&self, object: usize) -> Option<&str> {
        text(self.node_before(object), "apiVersion")
    }

    /// The same place with its file.
    pub(crate) fn place(&self, object: usize, offset: usize) -> Place {
        self.place_before(object, self.offset_before(object, offset))
    }

    /// The place of a byte of one of its files, as they are in the repository.
    pub(crate) fn place_before(&self, object: usize, offset: usize) -> Place {
        let position = self.text_before(self.objects[object].file).position(offset);
        Place::at(self.file_of(object).path.clone(), position)
    }

    /// The line of a byte of one of its objects; the object's file where there is no such byte.
    pub(crate) fn line(&self, object: usize, offset: Option<usize>) -> Place {
        let line = offset.map(|offset| self.position(object, offset).line);
        Place::known(self.file_of(object).path.clone(), line, None)
    }

    /// The cluster's own `Cluster`; `None` where it has none or several.
    pub(crate) fn cluster(&self) -> Option<&ObjectId> {
        let mut found = self.objects.iter().filter(|object| is_cluster(&object.id));
        let first = found.next()?;
        found.next().is_none().then_some(&first.id)
    }

    /// The namespace for a new object that names none: the `Cluster`'s, else the one all share.
    pub(crate) fn namespace(&self) -> Option<&str> {
        if let Some(cluster) = self.cluster() {
            return cluster.namespace.as_deref();
        }
        let own = &self.objects[..self.kustomizations.start];
        let mut namespaces = own.iter().map(|object| object.id.namespace.as_deref());
        let first = namespaces.next()??;
        namespaces.all(|other| other == Some(first)).then_some(first)
    }
}

/// Something that a kustomization of the base reads from outside of the base's folder.
#[derive(Debug)]
pub(crate) struct OutsideRead {
    /// The kustomization: index into the files.
    pub(crate) file: usize,
    /// The byte at which it is named.
    pub(crate) at: usize,
    /// As it is written.
    pub(crate) text: String,
}

/// What a base's kustomization comes to.
#[derive(Debug, Default)]
struct KustomizedBase {
    /// The kustomizations, the base's own first.
    kustomizations: Vec<usize>,
    /// The files that they name.
    named: Vec<usize>,
    outside: Vec<OutsideRead>,
}

/// The kustomizations that one reaches through `resources` and `components`, and the files that they name.
fn reached(files: &[BaseFile], start: usize, base_folder: &RepoPath) -> KustomizedBase {
    let mut reached = KustomizedBase::default();
    let mut open = vec![(start, base_folder.clone())];
    while let Some((at, folder)) = open.pop() {
        if reached.kustomizations.contains(&at) {
            continue;
        }
        reached.kustomizations.push(at);
        let roots = files[at].yaml.documents().iter().map(|document| &document.root);
        let lists = roots.flat_map(|root| {
            INCLUDE_FIELDS.map(|field| kustomization_field(root, field).map(|entry| &entry.value))
        });
        for item in lists.flatten().flat_map(|list| list.as_sequence().unwrap_or_default()) {
            let Some(text) = item.as_str() else { continue };
            let path = folder.join(text).ok();
            let file_at = |path: &RepoPath| files.iter().position(|file| file.path == *path);
            let folder_at = |path: &RepoPath| {
                let is_its = |file: &BaseFile| file.path.parent().as_ref() == Some(path);
                files.iter().position(|file| is_kustomization(&file.path) && is_its(file))
            };
            match path {
                Some(path) if let Some(file) = file_at(&path) => reached.named.push(file),
                Some(path) if let Some(file) = folder_at(&path) => open.push((file, path)),
                Some(path) if path.is_in(base_folder) => {}
                _ => {
                    reached.outside.push(OutsideRead { file: at, at: item.span.start, text: text.to_owned() })
                }
            }
        }
    }
    reached
}
