//! What a class is that the Cluster's own render lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::root::Root;
use super::users::ClassRef;
use crate::templates::{SpecDigest, references};
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::is_class;
use capstan_model::wording::{few, list};
use capstan_yaml::Value;

/// At most this many roots are rendered for one class.
const MOST_ROOTS: usize = 16;
/// At most this many of them are named.
const NAMED: usize = 3;
/// Where a class names templates, in `v1beta1` and `v1beta2`.
const REFERENCES: [&str; 2] = ["ref", "templateRef"];

/// What is applied elsewhere before and after a change.
#[derive(Debug, Clone, Default)]
pub struct ClassesElsewhere {
    pub before: Classes,
    pub after: Classes,
}

/// The outcome for the classes that were looked up.
///
/// As JSON a list of `[class, found]`; a found object is written as its value and its file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(ClassRef, Arc<FoundClass>)>", into = "Vec<(ClassRef, Arc<FoundClass>)>")]
pub struct Classes(pub BTreeMap<ClassRef, Arc<FoundClass>>);

impl From<Vec<(ClassRef, Arc<FoundClass>)>> for Classes {
    fn from(found: Vec<(ClassRef, Arc<FoundClass>)>) -> Self {
        Self(found.into_iter().collect())
    }
}

impl From<Classes> for Vec<(ClassRef, Arc<FoundClass>)> {
    fn from(classes: Classes) -> Self {
        classes.0.into_iter().collect()
    }
}

/// One class, with the templates that it names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FoundClass {
    /// What it is.
    outcome: ClassOutcome,
    /// The digest of everything that the outcome was computed from.
    content: SpecDigest,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ClassOutcome {
    /// No file holds it, and no render.
    Nowhere,
    /// The class, and then its templates.
    #[serde(with = "written_objects")]
    Known(Vec<RenderedObject>),
    /// Why it is not known, as a sentence.
    Unknown(String),
}

/// Two are equal if they were computed from the same content.
impl PartialEq for FoundClass {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for FoundClass {}

impl FoundClass {
    fn new(outcome: ClassOutcome, content: &Value) -> Self {
        Self { outcome, content: SpecDigest::of(content) }
    }

    fn unknown(why: String) -> Self {
        let content = json!(why);
        Self::new(ClassOutcome::Unknown(why), &content)
    }

    /// The class and its templates, where they are known.
    pub fn objects(&self) -> &[RenderedObject] {
        match &self.outcome {
            ClassOutcome::Known(objects) => objects,
            ClassOutcome::Nowhere | ClassOutcome::Unknown(_) => &[],
        }
    }

    /// Why it is not known though it exists, as a sentence.
    pub fn why_unknown(&self) -> Option<&str> {
        match &self.outcome {
            ClassOutcome::Unknown(why) => Some(why),
            ClassOutcome::Nowhere | ClassOutcome::Known(_) => None,
        }
    }
}

impl Classes {
    /// What became of a class.
    pub fn find(&self, class: &ClassRef) -> Option<&FoundClass> {
        self.0.get(class).map(AsRef::as_ref)
    }
}

/// What the class is of these [roots](super::ClassIndex::roots).
///
/// It is known if all roots that hold it agree about it and its templates; namespaces do not count. `render`
/// [renders](Root::render) a root. A root may hold many classes, so the caller may keep its result.
pub fn look_up(
    class: &ClassRef,
    roots: &BTreeSet<Root>,
    mut render: impl FnMut(&Root) -> Arc<Result<Vec<RenderedObject>, String>>,
) -> FoundClass {
    let name = &class.name;
    if roots.len() > MOST_ROOTS {
        return FoundClass::unknown(format!(
            "ClusterClass `{name}` is applied with {}: more than the {MOST_ROOTS} places that Capstan looks at.",
            list(&few(roots, NAMED, "more"))
        ));
    }
    let mut held: Vec<RootedClass> = Vec::new();
    for root in roots {
        match render(root).as_ref() {
            Ok(objects) => held.extend(held_in(objects, class, root)),
            Err(why) => {
                return FoundClass::unknown(format!(
                    "ClusterClass `{name}` is applied with {root}, which cannot be rendered: {why}."
                ));
            }
        }
    }
    let mut different: Vec<&RootedClass> = Vec::new();
    for one in &held {
        if !different.iter().any(|other| other.content == one.content) {
            different.push(one);
        }
    }
    match different.as_slice() {
        [] => FoundClass::new(ClassOutcome::Nowhere, &Value::Null),
        [one] => FoundClass::new(ClassOutcome::Known(one.objects.clone()), &one.content),
        several => {
            let files: BTreeSet<&String> = several.iter().map(|one| &one.file).collect();
            let stands = if files.len() == several.len() {
                format!("is in {}", list(&few(several.iter().map(|one| &one.file), NAMED, "more")))
            } else {
                format!("is applied with {}", list(&few(several.iter().map(|one| &one.root), NAMED, "more")))
            };
            let why = format!("ClusterClass `{name}` {stands}, and they differ.");
            let contents: Vec<&Value> = several.iter().map(|one| &one.content).collect();
            let content = json!([why, contents]);
            FoundClass::new(ClassOutcome::Unknown(why), &content)
        }
    }
}

/// A class in one root.
struct RootedClass {
    /// The class, and then its templates.
    objects: Vec<RenderedObject>,
    /// What of it counts.
    content: Value,
    /// Where the class is written.
    file: String,
    root: String,
}

fn held_in(objects: &[RenderedObject], class: &ClassRef, root: &Root) -> Vec<RootedClass> {
    let is_meant = |object: &&RenderedObject| {
        let id = &object.id;
        is_class(id) && id.name == class.name && class.may_be_in(id.namespace.as_deref())
    };
    let held = |found: &RenderedObject| {
        let of_class = with_templates(found, objects);
        let content = Value::Array(of_class.iter().map(without_namespaces).collect());
        let file = found.origin().file().to_string();
        RootedClass { objects: of_class, content, file, root: root.to_string() }
    };
    objects.iter().filter(is_meant).map(held).collect()
}

/// A class, and the templates of the same render that it names.
fn with_templates(class: &RenderedObject, objects: &[RenderedObject]) -> Vec<RenderedObject> {
    let id = &class.id;
    let named = references(&id.group, &id.kind, &class.value);
    let is_named = |object: &&RenderedObject| {
        named.iter().any(|reference| reference.means(id.namespace.as_deref(), &object.id))
    };
    let mut templates: Vec<&RenderedObject> = objects.iter().filter(is_named).collect();
    templates.sort_by(|one, other| one.id.cmp(&other.id));
    std::iter::once(class).chain(templates).cloned().collect()
}

/// An object as it is compared: which namespace it is in, and where it says that its templates are, does not count.
fn without_namespaces(object: &RenderedObject) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, below) in map.iter_mut() {
                    match below.as_object_mut().filter(|_| REFERENCES.contains(&key.as_str())) {
                        Some(reference) => drop(reference.remove("namespace")),
                        None => strip(below),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = object.value.clone();
    if is_class(&object.id) {
        strip(&mut value);
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("namespace");
    }
    value
}

/// Objects as their values and files. Lines are left out: no message names the line of a class elsewhere.
mod written_objects {
    use capstan_kustomize::render::RenderedObject;
    use capstan_model::tree::RepoPath;
    use capstan_yaml::Value;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(
        objects: &[RenderedObject],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let written: Vec<(&RepoPath, &Value)> =
            objects.iter().map(|object| (object.origin().file(), &object.value)).collect();
        written.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<RenderedObject>, D::Error> {
        let written: Vec<(RepoPath, Value)> = Deserialize::deserialize(deserializer)?;
        let object = |(file, value)| {
            RenderedObject::from_value(file, &value)
                .ok_or_else(|| D::Error::custom("not a Kubernetes object"))
        };
        written.into_iter().map(object).collect()
    }
}
