//! MachinePools, whose instances the infrastructure provider replaces.

use super::by_id::find_value_in;
use super::cluster_change::ClusterChange;
use super::course::Verdict;
use super::facts::{self, PoolInfrastructure};
use super::numbers::rolling;
use super::pair::{Pair, differing};
use super::pointer::{At, is_below};
use super::references::{renamed, target, text};
use capstan_model::kinds::{Reader, is_managed_pool};
use capstan_model::wording::few;
use capstan_yaml::Value;

/// How many fields of another object a note names.
const NAMED: usize = 5;

impl ClusterChange<'_> {
    pub(super) fn pool(&self, pair: Pair<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        let infrastructure = "/spec/template/spec/infrastructureRef";
        let bootstrap = "/spec/template/spec/bootstrap/configRef";
        let kind = pair.after.at(infrastructure).and_then(|node| text(node, "kind")).unwrap_or_default();
        for pointer in ["/spec/template/spec/version", "/spec/template/spec/bootstrap/dataSecretName"] {
            if pair.differs(pointer) {
                verdict.definitely(pointer);
            }
        }
        if renamed(pair, bootstrap) {
            self.reference(&mut verdict, pair, bootstrap);
        } else if let Some(config) = self.named(pair.before.at(bootstrap))
            && self.content_rolls(pair.before.at(bootstrap))
        {
            let fields = fields(config, &["/spec"]);
            fields.iter().for_each(|field| verdict.definitely(field));
            verdict.note(are_fields_of(pair.after.at(bootstrap), &fields));
        }
        if renamed(pair, infrastructure) {
            verdict.definitely(&format!("{infrastructure}/name"));
        } else if let Some(named) = self.named(pair.before.at(infrastructure)) {
            let known = facts::pool_infrastructure(kind, named.1);
            let fields = match known {
                PoolInfrastructure::Below(prefixes) => fields(named, prefixes),
                PoolInfrastructure::ProviderDecides => {
                    let mut all = fields(named, &["/spec"]);
                    all.retain(|field| !facts::POOL_IN_PLACE.iter().any(|known| is_below(field, known)));
                    all
                }
            };
            for field in &fields {
                match known {
                    PoolInfrastructure::Below(_) => verdict.definitely(field),
                    PoolInfrastructure::ProviderDecides => verdict.perhaps(field),
                }
            }
            if !fields.is_empty() {
                verdict.note(are_fields_of(pair.after.at(infrastructure), &fields));
                let api_version =
                    Reader::Pools.unread(kind, named.1.at("/apiVersion").and_then(Value::as_str));
                if let Some(api_version) = api_version.filter(|_| Reader::Pools.knows(kind)) {
                    verdict.note(format!(
                        "It is unknown which of its fields replace instances: {}.",
                        Reader::Pools.told(kind, api_version)
                    ));
                }
            }
        }
        rolling(&mut verdict, pair);
        verdict.course.strategy = None;
        if (verdict.is_definite() || verdict.is_unknown())
            && let Some(field) = self.refresh_disabled(pair.after.at(infrastructure), kind)
        {
            verdict.replaces(Some(0));
            verdict.note(format!(
                "`{field}: true` of {kind}: no instance is replaced. Only new instances get the change."
            ));
        } else if verdict.is_definite() || verdict.is_unknown() {
            verdict.note(if is_managed_pool(kind) {
                "The provider replaces the nodes of its node group, by its own rules."
            } else {
                "The infrastructure provider replaces the instances of its group."
            });
        }
        verdict
    }

    /// The field of a pool's infrastructure object that keeps the instances as they are, where it says so.
    fn refresh_disabled(&self, reference: Option<&Value>, kind: &str) -> Option<String> {
        let (_, named, name) = target(reference)?;
        let object = find_value_in(&self.after, named, name)?;
        let field = facts::refresh_disabled(kind, object)?;
        (object.at(field) == Some(&Value::Bool(true)))
            .then(|| field.trim_start_matches("/spec/").replace('/', "."))
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

/// Says whose fields they are: a reason is a path alone, and these stand in an object that the pool names.
fn are_fields_of(reference: Option<&Value>, fields: &[String]) -> String {
    let named = few(fields.iter().map(|field| format!("`{field}`")), NAMED, "more");
    let (_, kind, name) = target(reference).unwrap_or((None, "the object", "that it names"));
    format!("In {kind} {name}: {}.", named.join(", "))
}
