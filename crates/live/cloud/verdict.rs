//! The verdict over what a cloud said.

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::is_cluster;
use capstan_model::object::FieldPath;
use capstan_plan::upgrade::Rollout;

use super::ask::{CloudAsk, unread};
use super::facts::{CloudFacts, Unanswered};
use super::names::{self, NameReasons};
use super::quota::{Need, needs};
use super::reason::{CloudReason, Weight};
use super::table::ALL;
use crate::live_objects::LiveObjects;

/// What of a folder is not judged. Clusters of a managed topology beside templates of a known cloud are only reported.
/// So are objects of a version that is not known.
pub fn unjudged(after: &[RenderedObject], live: &LiveObjects, rollouts: &[Rollout]) -> Vec<CloudReason> {
    let mut reasons = of_topologies(after);
    reasons.extend(unread(after, live, rollouts));
    reasons
}

fn of_topologies(after: &[RenderedObject]) -> Vec<CloudReason> {
    if !after.iter().any(|object| ALL.iter().any(|reader| reader.is_of_provider(&object.id))) {
        return Vec::new();
    }
    let topologies = after
        .iter()
        .filter(|object| is_cluster(&object.id) && object.value.pointer("/spec/topology").is_some());
    let reason = |cluster: &RenderedObject| {
        CloudReason {
        kind: "CloudDemandUnknown",
        weight: Weight::Notable,
        message: "the cloud resources of its machines come from its class and variables, which Capstan does not check"
            .to_owned(),
        object: cluster.id.clone(),
        field: FieldPath::of_keys(["spec", "topology"]),
    }
    };
    topologies.map(reason).collect()
}

/// What an account's cloud cannot give one folder. `beside` is what other folders of the same commit need of the same
/// account, each with its name: they come together.
pub fn judge(ask: &CloudAsk, facts: &CloudFacts, beside: &[(String, Vec<Need>)]) -> Vec<CloudReason> {
    let mut found = NameReasons { words: ask.words, made: ask.made.clone(), reasons: Vec::new() };
    names::judge(ask, facts, &mut found);
    let (object, field) = &ask.named_by;
    for need in needs(ask, facts) {
        let resource = need.resource;
        let quota = match facts.quota(resource) {
            Ok(quota) => quota,
            Err(Unanswered(why)) => {
                found.not_answered(
                    object,
                    field,
                    format!("the quota of {} is unknown: {why}", ask.words.resource(resource)),
                );
                continue;
            }
        };
        let Some((limit, free)) = quota.and_then(|quota| Some((quota.limit?, quota.free()?))) else {
            continue;
        };
        let others: Vec<(&str, u64)> = beside
            .iter()
            .filter_map(|(who, needs)| {
                let their = needs.iter().find(|their| their.resource == resource)?;
                Some((who.as_str(), their.amount))
            })
            .collect();
        let together = others.iter().fold(need.amount, |sum, (_, amount)| sum.saturating_add(*amount));
        if together <= free {
            continue;
        }
        let of = |amount| resource.amount(amount);
        let besides: Vec<String> =
            others.iter().map(|(who, amount)| format!(" and {} for {who}", of(*amount))).collect();
        let message = format!(
            "{}: {} more needed ({}){}, {} free of {}",
            ask.words.resource(resource),
            of(need.amount),
            need.why,
            besides.concat(),
            of(free),
            of(limit),
        );
        found.impossible("QuotaExceeded", object, field, message);
    }
    found.reasons
}
