//! The values of one cluster: which objects it belongs to, what they say together, and where each value comes from.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::finding::Finding;
use capstan_model::ids::ReleaseId;
use capstan_model::object::FieldPath;
use capstan_model::track::Track;
use capstan_model::tree::RepoPath;
use capstan_yaml::Value;

use super::check::check;
use super::expression::{Dependencies, Evaluated, evaluate};
use super::kinds::{InventoryFiles, Object};
use super::membership::LevelMembership;
use super::merge::{Layer, MergedValue, merge};
use super::origin::{InventoryOrigin, LevelKind};
use super::schema::ReleaseSchema;

/// What the levels say of a cluster besides its values: later ones win (I1).
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The release, and who asks for it.
    pub release: Option<(ReleaseId, InventoryOrigin)>,
    /// How far newer releases are followed, and who says so.
    pub track: Option<(Track, InventoryOrigin)>,
    /// The components of all levels, upper ones first.
    pub components: Vec<(RepoPath, InventoryOrigin)>,
    /// The folder that the definition names.
    pub folder: Option<(RepoPath, InventoryOrigin)>,
}

/// One cluster of the inventory, without its values.
#[derive(Debug)]
pub struct Member<'i> {
    pub definition: &'i Object,
    /// The objects that it belongs to, upper ones first, and itself at the end.
    pub objects: Vec<&'i Object>,
    /// Their names by level.
    pub levels: BTreeMap<LevelKind, String>,
    /// What they ask for.
    pub wishes: Wishes,
}

impl<'i> Member<'i> {
    /// Looks up what a cluster belongs to.
    ///
    /// # Errors
    /// What is wrong with its membership.
    pub fn of(inventory: &'i InventoryFiles, definition: &'i Object) -> Result<Self, Vec<Finding>> {
        let levels = LevelMembership::of(inventory, definition)?.names();
        let named = inventory.settings.levels.iter().filter_map(|level| {
            let name = levels.get(level)?;
            inventory.object(*level, name)
        });
        let objects: Vec<&Object> = named.chain([definition]).collect();
        let mut wishes = Wishes::default();
        for object in &objects {
            let at = |offset| InventoryOrigin::new(Arc::clone(&object.level), offset);
            if let Some(said) = &object.release {
                wishes.release = Some((said.value.clone(), at(said.offset)));
            }
            if let Some(said) = &object.track {
                wishes.track = Some((said.value, at(said.offset)));
            }
            let components = object.components.iter();
            wishes.components.extend(components.map(|said| (said.value.clone(), at(said.offset))));
            if let Some(said) = &object.folder {
                wishes.folder = Some((said.value.clone(), at(said.offset)));
            }
        }
        Ok(Self { definition, objects, levels, wishes })
    }

    pub fn name(&self) -> &str {
        &self.definition.level.name
    }

    /// Its values under a release's schema; without one, everything goes and nothing has a type.
    pub fn values(&self, schema: Option<&ReleaseSchema>) -> ClusterValues {
        let layers: Vec<Layer<'_>> = self
            .objects
            .iter()
            .map(|object| Layer {
                level: &object.level,
                values: object.values.as_ref(),
                finals: &object.finals,
            })
            .collect();
        let own = Layer { level: &self.definition.level, values: None, finals: &[] };
        let (levels, own) = match layers.split_last() {
            Some((own, levels)) => (levels, *own),
            None => (&[][..], own),
        };
        let (mut merged, mut findings) = merge(levels, own, schema);
        let Evaluated { dependencies, findings: broken, steps } = evaluate(&mut merged);
        // What was not merged or has no value has no type either.
        let sound = broken.is_empty();
        findings.extend(broken);
        if let (Some(schema), true) = (schema, sound) {
            findings.extend(check(&merged, schema));
        }
        ClusterValues { merged, dependencies, findings, steps }
    }

    /// What the levels call final, and who.
    pub fn finals(&self) -> impl Iterator<Item = (&FieldPath, InventoryOrigin)> {
        self.objects.iter().flat_map(|object| {
            let at = |offset| InventoryOrigin::new(Arc::clone(&object.level), offset);
            object.finals.iter().map(move |said| (&said.value, at(said.offset)))
        })
    }
}

#[derive(Debug)]
pub struct ClusterValues {
    /// Each with its origin.
    pub merged: MergedValue,
    /// What expressions read.
    pub dependencies: Dependencies,
    /// What is wrong: with any error the cluster is not rendered.
    pub findings: Vec<Finding>,
    /// The steps that expressions took.
    pub steps: u64,
}

impl ClusterValues {
    /// As JSON.
    pub fn value(&self) -> Value {
        self.merged.value().unwrap_or_else(|| Value::Object(serde_json::Map::new()))
    }
}
