//! Values that no schema knows, found once a level: a name that one of the releases below a level knows is
//! not unknown.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::finding::{Finding, rules};
use capstan_model::ids::ReleaseId;
use capstan_model::object::FieldPath;
use capstan_model::spelling::hint;
use capstan_yaml::{Node, NodeKind};

use super::kinds::Object;
use super::origin::LevelKind;
use super::schema::{ReleaseSchema, ValueSchema};

/// Objects that say values, each with the releases of the clusters below it.
#[derive(Debug, Default)]
pub struct ReleasesBelow<'i>(BTreeMap<(LevelKind, &'i str), (&'i Object, BTreeSet<ReleaseId>)>);

impl<'i> ReleasesBelow<'i> {
    /// Notes the objects that a cluster belongs to, and its release.
    pub fn note(&mut self, objects: impl IntoIterator<Item = &'i Object>, release: Option<&ReleaseId>) {
        for object in objects {
            let key = (object.level.kind, object.level.name.as_str());
            let (_, releases) = self.0.entry(key).or_insert_with(|| (object, BTreeSet::new()));
            releases.extend(release.cloned());
        }
    }

    /// The releases of them all.
    pub fn releases(&self) -> BTreeSet<&ReleaseId> {
        self.0.values().flat_map(|(_, releases)| releases).collect()
    }

    /// The values of each of them that no release below it knows. If one of those has no schema, the answer
    /// is unknown.
    pub fn unknown_values<'s>(
        &self,
        schema: impl Fn(&ReleaseId) -> Option<&'s ReleaseSchema>,
    ) -> Vec<Finding> {
        let of = |(object, releases): &(&Object, BTreeSet<ReleaseId>)| {
            let schemas: Option<Vec<&ReleaseSchema>> = releases.iter().map(&schema).collect();
            schemas.map(|schemas| unknown_values(object, &schemas)).unwrap_or_default()
        };
        self.0.values().flat_map(of).collect()
    }
}

/// The values of an object that none of these releases knows. Without a release the answer is unknown.
pub fn unknown_values(object: &Object, schemas: &[&ReleaseSchema]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let (Some(values), false) = (&object.values, schemas.is_empty()) {
        let roots: Vec<&ValueSchema> = schemas.iter().map(|schema| &schema.root).collect();
        walk(object, values, &roots, &FieldPath::root(), schemas, &mut findings);
    }
    findings
}

fn walk(
    object: &Object,
    node: &Node,
    known: &[&ValueSchema],
    path: &FieldPath,
    schemas: &[&ReleaseSchema],
    findings: &mut Vec<Finding>,
) {
    match &node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => {
            let below: Vec<&ValueSchema> =
                known.iter().filter_map(|schema| schema.items.as_deref()).collect();
            for (at, item) in items.iter().enumerate() {
                walk(object, item, &below, &path.index(at), schemas, findings);
            }
        }
        NodeKind::Mapping(entries) => {
            for entry in entries.iter().filter(|entry| entry.key != "$patch") {
                let path = path.key(&entry.key);
                if known.is_empty()
                    || known.iter().any(|schema| schema.open && schema.value(&entry.key).is_none())
                {
                    continue;
                }
                let below: Vec<&ValueSchema> =
                    known.iter().filter_map(|schema| schema.value(&entry.key)).collect();
                if below.is_empty() {
                    let mut names: Vec<&str> = known.iter().flat_map(|schema| schema.names()).collect();
                    names.sort_unstable();
                    names.dedup();
                    let mut releases: Vec<String> =
                        schemas.iter().map(|schema| schema.level.name.clone()).collect();
                    releases.sort();
                    releases.dedup();
                    let verb = if releases.len() == 1 { "knows" } else { "know" };
                    let releases = capstan_model::wording::few(releases, 3, "more");
                    let message = format!(
                        "`{path}`: {} {verb} no such value{}",
                        capstan_model::wording::list(&releases),
                        hint(&entry.key, &names)
                    );
                    let place = object.level.place(entry.key_span.start);
                    findings
                        .push(Finding::new(rules::INVENTORY_UNKNOWN_VALUE, message).place(place).path(&path));
                } else {
                    walk(object, &entry.value, &below, &path, schemas, findings);
                }
            }
        }
    }
}
