//! `missing-reference`

use std::collections::HashMap;

use super::evidence::ClusterEvidence;
use super::fitting::Trail;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedObject};
use capstan_model::finding::{Finding, rules};

pub(super) struct MissingReference;

static ABOUT: About =
    About::new(rules::MISSING_REFERENCE, include_str!("../../../docs/rules/missing-reference.md"));

impl PolicyRule for MissingReference {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        // Classes are shared between clusters.
        for (object, named) in cluster.references().iter().filter(|(_, named)| !named.is_class()) {
            let there = |other: &RenderedObject| named.implied || other.id.group == named.group;
            let is_renamed = |other: &&RenderedObject| {
                other.id.kind == named.kind && other.former_names.iter().any(|name| name == named.name)
            };
            // The object exists, or it had that name before: `Renamed` reports the latter below.
            if cluster.named(named.kind, named.name).any(there)
                || cluster.objects.iter().any(|one| is_renamed(&one))
            {
                continue;
            }
            let message = format!(
                "{} names {} {}, which this folder does not render: correct the name, add the object, or apply it from elsewhere",
                object.id, named.kind, named.name
            );
            let path = named.path.key("name");
            verdicts.push(
                Finding::new(rules::MISSING_REFERENCE, message)
                    .object(&object.id)
                    .path(&path)
                    .place(&named.at.place),
            );
        }
        let renamed = Renamed::of(cluster.objects);
        if !renamed.0.is_empty() {
            for object in cluster.objects {
                renamed.look(object, &object.placed, &Trail::Root, None, verdicts);
            }
        }
    }
}

/// Objects that a kustomization gave new names, by kind and former name: it follows their names only where it knows
/// that a field names an object, and of Cluster API's fields it knows none.
struct Renamed<'a>(HashMap<(&'a str, &'a str), &'a RenderedObject>);

impl<'a> Renamed<'a> {
    fn of(objects: &'a [RenderedObject]) -> Self {
        let mut renamed: HashMap<_, _> = objects
            .iter()
            .flat_map(|object| object.former_names.iter().map(move |name| (name, object)))
            .map(|(name, object)| ((object.id.kind.as_str(), name.as_str()), object))
            .collect();
        for object in objects {
            renamed.remove(&(object.id.kind.as_str(), object.id.name.as_str()));
        }
        Self(renamed)
    }

    /// Reports former names: of a `name` beside a `kind`, or below a key that implies a kind (`secretRef`).
    fn look(
        &self,
        object: &RenderedObject,
        value: &PlacedValue,
        trail: &Trail<'_>,
        kind: Option<&str>,
        verdicts: &mut Vec<Finding>,
    ) {
        match &value.content {
            PlacedContent::Scalar(_) => {}
            PlacedContent::Sequence(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.look(object, item, &Trail::Index(trail, at), kind, verdicts);
                }
            }
            PlacedContent::Mapping(entries) => {
                let kind = value.text_at(&["kind"]).or(kind);
                let name = value.field("name").filter(|_| !matches!(trail, Trail::Root));
                let known = kind.zip(name.and_then(PlacedValue::as_str)).and_then(|key| self.0.get(&key));
                if let (Some(other), Some(at)) = (known, name) {
                    let message = format!(
                        "{} names {} {}, which this folder's kustomization renames to {}. kustomize does not update the name here: write the final name of the object",
                        object.id,
                        other.id.kind,
                        at.as_str().unwrap_or_default(),
                        other.id.name
                    );
                    let verdict = Finding::new(rules::MISSING_REFERENCE, message).object(&object.id);
                    verdicts.push(verdict.path(&trail.path().key("name")).place(&at.place));
                }
                for (key, below) in entries.iter().filter(|(key, _)| key != "metadata") {
                    self.look(object, below, &Trail::Key(trail, key), kind_of_key(key), verdicts);
                }
            }
        }
    }
}

/// The kind that a key speaks of, as in `secretRef` or `configMap`.
fn kind_of_key(key: &str) -> Option<&'static str> {
    match key.strip_suffix("Ref").unwrap_or(key) {
        "secret" => Some("Secret"),
        "configMap" => Some("ConfigMap"),
        _ => None,
    }
}
