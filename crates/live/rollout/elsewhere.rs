//! Classes that are elsewhere than the Clusters that name them.
//!
//! Another applier than that of the Clusters applies them, under their names in Git. The API server refuses an edit of
//! a template under its name, and the template stays.

use super::by_id::{ById, by_id};
use capstan_kustomize::render::{RenderedObject, in_versions_of};
use capstan_kustomize::schema::Schemas;
use capstan_plan::classes::{ClassRef, Classes, ClassesElsewhere};
use capstan_yaml::Value;

/// Both sides, in the versions of one another.
pub(super) struct InOneVersion<'a>([TreeSide<'a>; 2]);

struct TreeSide<'a> {
    classes: &'a Classes,
    /// All of them, in the order of the classes.
    objects: Vec<RenderedObject>,
}

impl<'a> InOneVersion<'a> {
    pub(super) fn of(elsewhere: &'a ClassesElsewhere, schemas: &Schemas) -> Self {
        let all = |classes: &'a Classes| -> Vec<RenderedObject> {
            classes.0.values().flat_map(|found| found.objects()).cloned().collect()
        };
        let (before, after) = (all(&elsewhere.before), all(&elsewhere.after));
        let before = in_versions_of(&before, &after, schemas).into_owned();
        let after = in_versions_of(&after, &before, schemas).into_owned();
        let side = |classes, objects| TreeSide { classes, objects };
        Self([side(&elsewhere.before, before), side(&elsewhere.after, after)])
    }

    pub(super) fn sides(&self) -> [Lookup<'_>; 2] {
        self.0.each_ref().map(|side| {
            let mut objects = side.objects.as_slice();
            let found = side.classes.0.iter().map(|(class, found)| {
                let (own, others) = objects.split_at(found.objects().len().min(objects.len()));
                objects = others;
                (class, by_id(own))
            });
            Lookup { classes: side.classes, objects: found.collect() }
        })
    }
}

/// What is found on one side.
pub(super) struct Lookup<'a> {
    classes: &'a Classes,
    objects: Vec<(&'a ClassRef, ById<'a>)>,
}

impl<'a> Lookup<'a> {
    /// The class that a Cluster names, and its templates.
    pub(super) fn of(&self, cluster: &Value) -> Option<&ById<'a>> {
        let class = ClassRef::of(cluster)?;
        let (_, objects) = self.objects.iter().find(|(other, _)| **other == class)?;
        Some(objects).filter(|objects| !objects.is_empty())
    }

    /// Why the class that a Cluster names is not known though it exists.
    pub(super) fn why_unknown(&self, cluster: &Value) -> Option<&'a str> {
        self.classes.find(&ClassRef::of(cluster)?)?.why_unknown()
    }

    /// Whether the class that a Cluster names is here what it is there, known or not.
    pub(super) fn is_as_in(&self, other: &Self, cluster: &Value) -> bool {
        let class = ClassRef::of(cluster);
        let found = |side: &Self| class.as_ref().and_then(|class| side.classes.find(class));
        found(self) == found(other)
    }
}
