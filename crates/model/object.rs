//! Identity and field paths of Kubernetes objects.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What makes an object the same object: API group, kind, namespace and name; never the file's name
/// and never the API version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId {
    /// API group; empty for the core group.
    pub group: String,
    pub kind: String,
    /// Namespace; `None` where the manifest names none.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl fmt::Display for ObjectId {
    /// `MachinePool my-org/peu01-mp-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {}/{}", self.kind, namespace, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// The group of an `apiVersion`: `cluster.x-k8s.io/v1beta1` -> `cluster.x-k8s.io`, `v1` -> ``.
pub fn api_group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The `apiVersion` of a version of a group: `cluster.x-k8s.io/v1beta1`, `v1` of the core group.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// How new a version of an API is, as Kubernetes orders names: `v1alpha1`, `v1beta1`, `v2beta1`, `v1`, `v2`; `None` for
/// other names, which come first.
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority>
pub fn version_age(version: &str) -> Option<(u8, u64, u64)> {
    let numbers = version.strip_prefix('v').filter(|rest| !rest.contains('+'))?;
    for (stage, word) in [(0, "alpha"), (1, "beta")] {
        if let Some((major, minor)) = numbers.split_once(word) {
            return Some((stage, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, numbers.parse().ok()?, 0))
}

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A key of a mapping.
    Key(String),
    /// An item of a sequence, from 0, counted before the upgrade.
    Index(usize),
    /// An item that the upgrade adds.
    New,
}

/// Steps that a path of others may have. No field of a Kubernetes object is nearly as deep.
const DEEPEST: usize = 200;

/// The way from an object's root to a field; written as a JSON Pointer (RFC 6901), `""` is the object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Step>);

impl FieldPath {
    /// The object itself.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Reads a JSON Pointer: digits alone become indexes, `-` a new item. `None` also where it has more than 200 steps:
    /// what walks along a path may recurse, and a stranger may have written it.
    pub fn parse(pointer: &str) -> Option<Self> {
        if pointer.is_empty() {
            return Some(Self::root());
        }
        if pointer.split('/').nth(DEEPEST + 1).is_some() {
            return None;
        }
        let steps = pointer.strip_prefix('/')?.split('/').map(|raw| {
            if raw == "-" {
                Step::New
            } else if let (true, Ok(index)) = (raw.bytes().all(|b| b.is_ascii_digit()), raw.parse()) {
                Step::Index(index)
            } else {
                Step::Key(raw.replace("~1", "/").replace("~0", "~"))
            }
        });
        Some(Self(steps.collect()))
    }

    /// The field under these keys, from the root.
    pub fn of_keys(keys: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        keys.into_iter().map(|key| Step::Key(key.as_ref().to_owned())).collect()
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether this is the object itself.
    pub const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// This path and one step more.
    #[must_use]
    pub fn join(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// This path and one key more.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.join(Step::Key(key.to_owned()))
    }

    /// This path and one index more.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.join(Step::Index(index))
    }

    /// The path without its last step; `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, steps) = self.0.split_last()?;
        Some(Self(steps.to_vec()))
    }

    /// Whether `self` is `other` or inside it.
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl FromIterator<Step> for FieldPath {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1"))?,
                Step::Index(index) => write!(f, "/{index}")?,
                Step::New => write!(f, "/-")?,
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for FieldPath {
    /// As [`Self::parse`] reads it: a key of digits comes back as an index, which is written the same.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pointer = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&pointer)
            .ok_or_else(|| serde::de::Error::custom(format!("`{pointer}` is not a JSON Pointer")))
    }
}

impl Serialize for FieldPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_200_steps_at_most() {
        assert_eq!(FieldPath::parse(&"/a".repeat(200)).map(|path| path.steps().len()), Some(200));
        assert_eq!(FieldPath::parse(&"/a".repeat(201)), None);
    }

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions = [
            "v1",
            "v1alpha4",
            "v2beta1",
            "v10",
            "v1beta2",
            "foo1",
            "v2",
            "v1beta10",
            "v12alpha1",
            "v1alpha10",
        ];
        versions.sort_by_key(|version| version_age(version));
        assert_eq!(
            versions,
            [
                "foo1",
                "v1alpha4",
                "v1alpha10",
                "v12alpha1",
                "v1beta2",
                "v1beta10",
                "v2beta1",
                "v1",
                "v2",
                "v10"
            ]
        );
        for none in
            ["latest", "1", "v", "v1junk", "v1beta", "vbeta1", "v1beta1alpha1", "v+1", "v1beta+2", "v1gamma1"]
        {
            assert_eq!(version_age(none), None, "{none}");
        }
    }
}
