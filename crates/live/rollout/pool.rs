//! MachinePools, whose instances the infrastructure provider replaces.

use super::by_id::find_value_in;
use super::cluster_change::ClusterChange;
use super::course::CourseFindings;
use super::numbers::rolling;
use super::pair::{FieldPair, differing};
use super::pointer::PointerTarget;
use super::pools::{PoolEffect, PoolFacts};
use super::references::{renamed, target, text};
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{KindReader, is_cluster};
use capstan_model::wording::few;
use capstan_yaml::Value;

/// How many fields of another object a note names.
const NAMED: usize = 5;

impl ClusterChange<'_> {
    pub(super) fn pool(&self, pair: FieldPair<'_>) -> CourseFindings {
        let infrastructure = "/spec/template/spec/infrastructureRef";
        let bootstrap = "/spec/template/spec/bootstrap/configRef";
        let reference = pair.after.at(infrastructure);
        let kind = reference.and_then(|node| text(node, "kind")).unwrap_or_default();
        let object = target(reference).and_then(|(_, kind, name)| find_value_in(&self.after, kind, name));
        let facts = PoolFacts::of(kind, object);
        let mut found: Vec<(PoolEffect, String)> = Vec::new();
        let mut notes = Vec::new();
        let version = "/spec/template/spec/version";
        found.extend(pair.differs(version).then(|| (facts.version(), version.to_owned())));
        let secret = "/spec/template/spec/bootstrap/dataSecretName";
        found.extend(pair.differs(secret).then(|| (facts.bootstrap(), secret.to_owned())));
        if renamed(pair, bootstrap) {
            found.extend(self.reference_field(pair, bootstrap).map(|field| (facts.bootstrap(), field)));
        } else if let Some(config) = self.named(pair.before.at(bootstrap))
            && self.content_rolls(pair.before.at(bootstrap))
        {
            let fields = fields(config, &["/spec"]);
            notes.push(are_fields_of(pair.after.at(bootstrap), &fields));
            found.extend(fields.into_iter().map(|field| (facts.bootstrap(), field)));
        }
        if renamed(pair, infrastructure) {
            found.push((PoolEffect::Replaces, format!("{infrastructure}/name")));
        } else if let Some(named) = self.named(pair.before.at(infrastructure)) {
            let mut fields = fields(named, &["/spec"]);
            fields.retain(|field| facts.field(field) != PoolEffect::InPlace);
            if !fields.is_empty() {
                notes.push(are_fields_of(reference, &fields));
                let api_version =
                    KindReader::Pools.unread(kind, named.1.at("/apiVersion").and_then(Value::as_str));
                if let Some(api_version) = api_version.filter(|_| KindReader::Pools.knows(kind)) {
                    notes.push(format!(
                        "It is unknown which of its fields replace instances: {}.",
                        KindReader::Pools.describe_unread(kind, api_version)
                    ));
                }
            }
            found.extend(fields.into_iter().map(|field| (facts.field(&field), field)));
        }
        for (reference, named) in self.named_by_cluster_of(pair.after) {
            let fields = fields(named, facts.cluster_fields());
            if !fields.is_empty() {
                notes.push(are_fields_of(Some(reference), &fields));
                found.extend(fields.into_iter().map(|field| (facts.cluster_field(), field)));
            }
        }
        Self::judge_pool(pair, &facts, &found, notes)
    }

    /// What the fields of a pool that changed come to.
    fn judge_pool(
        pair: FieldPair<'_>,
        facts: &PoolFacts<'_>,
        found: &[(PoolEffect, String)],
        notes: Vec<String>,
    ) -> CourseFindings {
        let mut verdict = CourseFindings::default();
        let mut only_new = Vec::new();
        for (effect, field) in found {
            match effect {
                PoolEffect::Replaces => verdict.definitely(field),
                PoolEffect::ProviderDecides => verdict.perhaps(field),
                PoolEffect::OnlyNew | PoolEffect::NotYet => only_new.push(field),
                PoolEffect::InPlace => {}
            }
        }
        let replaces = verdict.is_definite() || verdict.is_unknown();
        if !replaces {
            only_new.iter().for_each(|field| verdict.definitely(field));
        }
        rolling(&mut verdict, pair);
        verdict.course.strategy = None;
        notes.into_iter().for_each(|note| verdict.note(note));
        if replaces {
            if !only_new.is_empty() {
                let named = few(only_new.iter().map(|field| format!("`{field}`")), NAMED, "more");
                verdict.note(format!("No instance is replaced for these alone: {}.", named.join(", ")));
            }
            verdict.note(facts.how());
        } else if !only_new.is_empty() {
            verdict.replaces(Some(0));
            let why = facts.why_kept().map(|why| format!("{why}: no instance is replaced."));
            let why = why.unwrap_or_else(|| "No instance is replaced for this.".to_owned());
            let is_read = found.iter().any(|(effect, _)| *effect == PoolEffect::OnlyNew);
            let who = if is_read {
                "Only new instances get the change."
            } else {
                "New instances get the change once another field of the launch template or the bootstrap data changes."
            };
            verdict.note(format!("{why} {who}"));
        }
        verdict
    }

    /// What a pool's Cluster names, before and after: its infrastructure and its control plane.
    fn named_by_cluster_of<'s>(&'s self, pool: &Value) -> Vec<(&'s Value, (&'s Value, &'s Value))> {
        let name = pool.at("/spec/clusterName").and_then(Value::as_str);
        let is_its =
            |object: &&RenderedObject| is_cluster(&object.id) && name == Some(object.id.name.as_str());
        let clusters = self.after.values().copied().filter(is_its);
        let references = clusters.flat_map(|cluster| {
            ["/spec/infrastructureRef", "/spec/controlPlaneRef"].map(|field| cluster.value.at(field))
        });
        let mut seen = Vec::new();
        let each = references.flatten().filter(|it| {
            // A managed control plane may be both.
            let object = target(Some(it));
            let is_new = !seen.contains(&object);
            seen.push(object);
            is_new
        });
        each.filter_map(|it| Some((it, self.named(Some(it))?))).collect()
    }
}

/// The fields of an object that differ below one of these.
fn fields((before, after): (&Value, &Value), below: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for prefix in below {
        differing(before.at(prefix), after.at(prefix), prefix, &mut found);
    }
    found
}

/// Says which object has these fields: a reason is a path alone, and these are in an object that the pool names.
fn are_fields_of(reference: Option<&Value>, fields: &[String]) -> String {
    let named = few(fields.iter().map(|field| format!("`{field}`")), NAMED, "more");
    let (_, kind, name) = target(reference).unwrap_or((None, "the object", "that it names"));
    format!("In {kind} {name}: {}.", named.join(", "))
}
