//! Where objects hold kubeadm's configuration.

use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_model::object::FieldPath;

/// By kind.
const CONFIGS: [(&str, &[&str]); 4] = [
    ("KubeadmControlPlane", &["spec", "kubeadmConfigSpec"]),
    ("KubeadmControlPlaneTemplate", &["spec", "template", "spec", "kubeadmConfigSpec"]),
    ("KubeadmConfigTemplate", &["spec", "template", "spec"]),
    ("KubeadmConfig", &["spec"]),
];

/// A value with its field.
#[derive(Debug, Clone)]
pub(super) struct KubeadmField<'a> {
    pub(super) path: FieldPath,
    pub(super) placed: &'a PlacedValue,
}

/// kubeadm's configuration of an object.
pub(super) fn kubeadm_config(object: &RenderedObject) -> Option<KubeadmField<'_>> {
    let (_, keys) = CONFIGS.iter().find(|(kind, _)| *kind == object.id.kind)?;
    Some(KubeadmField { path: FieldPath::of_keys(*keys), placed: object.placed.at(keys)? })
}

impl<'a> KubeadmField<'a> {
    /// A field of it.
    pub(super) fn at(&self, keys: &[&str]) -> Option<Self> {
        let placed = self.placed.at(keys)?;
        Some(Self { path: self.path_of(keys), placed })
    }

    /// The path of a field, whether it is there or not.
    pub(super) fn path_of(&self, keys: &[&str]) -> FieldPath {
        keys.iter().fold(self.path.clone(), |path, key| path.key(key))
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Self> + use<'_, 'a> {
        let item = |(at, placed)| Self { path: self.path.index(at), placed };
        self.placed.items().iter().enumerate().map(item)
    }

    /// The contents of the files that it writes.
    pub(super) fn files(&self) -> Vec<Self> {
        let files = self.at(&["files"]);
        files.iter().flat_map(Self::items).filter_map(|file| file.at(&["content"])).collect()
    }

    /// Arguments of a process, as a map or as a list of `{name, value}`, where they are called.
    pub(super) fn arguments(&self) -> Vec<(&'a str, &'a str, Self)> {
        let of_map = self.placed.entries().iter().map(|(name, placed)| {
            (name.as_str(), placed.as_str().unwrap_or_default(), Self { path: self.path.key(name), placed })
        });
        let of_list = self.items().filter_map(|item| {
            let value = item.placed.text_at(&["value"]).unwrap_or_default();
            Some((item.placed.text_at(&["name"])?, value, item))
        });
        of_map.chain(of_list).collect()
    }
}
