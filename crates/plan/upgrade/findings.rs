//! What a plan says: findings of the merge, each with its place, and why the upgrade blocks.

use super::context::Context;
use super::conversions::unconvertible;
use super::draft::Draft;
use super::model::{Conflict, Settlement, Side};
use super::redact::hide_in;
use super::said::UpgradeReport;
use super::staying::Staying;
use super::variables::contradictions;
use crate::merge::api_versions::{self, FieldOrigin};
use crate::merge::cluster_merge::{Between, ClusterMerge, MergedObject};
use crate::merge::decision::MergeDecision;
use crate::merge::step_group::StepGroup;
use capstan_kustomize::conversion::{AtHand, convert_or_all};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::kinds::component_version;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Node;

/// What the merge could not match, bind or take over, and what it does that needs words.
pub(super) fn say(context: Context<'_>, merge: &ClusterMerge, staying: &Staying, said: &mut UpgradeReport) {
    say_matching(merge, said);
    contradictions(context, merge, said);
    for change in &merge.kind_changes {
        let (old, new) = (&context.base.objects[change.object].id, &change.added);
        let what = if staying.contains(change.object) {
            "another object is added, and this one stays until nothing can name it"
        } else {
            "one object is removed and another is added"
        };
        let message = format!(
            "The release puts {} of {} in place of this {} of {}: {what}.",
            new,
            api(new),
            old.kind,
            api(old),
        );
        let at = context.base.node(change.object).span.start;
        said.findings.push(context.finding_at(
            rules::KIND_CHANGED,
            message,
            change.object,
            at,
            &FieldPath::root(),
        ));
    }
    for not_merged in &merge.not_merged {
        let what = &not_merged.what;
        let message = format!(
            "The release changes {what}, which Capstan cannot apply to this cluster's base. Make the same change in the base by hand; then the upgrade continues.",
        );
        let place = not_merged.place.clone().at_first_column();
        let reason = format!("{}: Capstan cannot apply {what} to the base.", not_merged.place.file());
        said.block(Finding::new(rules::KUSTOMIZATION_NOT_MERGED, message).place(place), reason);
    }
}

fn say_matching(merge: &ClusterMerge, said: &mut UpgradeReport) {
    for ambiguity in &merge.ambiguous {
        let piece = &ambiguity.piece;
        let (message, blocked) = match &ambiguity.between {
            Between::Objects(candidates) => {
                let candidates = candidates.join(" or ");
                (
                    format!(
                        "{piece} could be {candidates}, so Capstan changes nothing for it. Give the release's document the same name suffix as the cluster's object, or split the file.",
                    ),
                    format!("{piece} of the release could be {candidates}."),
                )
            }
            Between::Documents(id, places) => {
                let places: Vec<String> = places.iter().map(Place::to_string).collect();
                let places = places.join(" and ");
                (
                    format!(
                        "{places} are both {id} but differ, so Capstan changes nothing for it. Group, kind, namespace and name identify an object, not the API version: keep one of them in the release.",
                    ),
                    format!("{piece} is in the release more than once, with differences: {places}."),
                )
            }
        };
        let place = ambiguity.place.clone().at_first_column();
        // Recorded as done, what was left out would never be offered again.
        said.block(Finding::new(rules::AMBIGUOUS_MATCH, message).place(place), blocked);
    }
    for (place, piece) in &merge.nameless {
        let message = format!(
            "In this cluster, the name of {piece} is empty, or YAML reads it as a boolean or a number, so Capstan does not add the object. Give the variable in the name another value, or quote the name in the release.",
        );
        let blocked = format!("{piece} of the release has no name in this cluster.");
        let place = place.clone().at_first_column();
        said.block(Finding::new(rules::INVALID_NAME, message).place(place), blocked);
    }
    for (place, piece) in &merge.unmatched {
        let message = format!(
            "The release's fragment ({piece}) matches no object of this cluster, so it changes nothing here. Put it into a file with the same name as the cluster's, or give it a kind."
        );
        let place = place.clone().at_first_column();
        said.findings.push(Finding::new(rules::UNMATCHED_FRAGMENT, message).place(place));
    }
}

/// The cluster is ahead of the release: no Kubernetes version ever goes back, nor does a minor of Cluster API.
pub(super) fn ahead(context: Context<'_>, group: &StepGroup, said: &mut UpgradeReport) {
    for ahead in &group.ahead {
        let object = &context.base.objects[ahead.object].id;
        let id = object.to_string();
        let (cluster, release) = (&ahead.cluster, &ahead.release);
        if component_version(object).is_some() {
            let reason = format!("{id} is at {cluster}, which is newer than the release's {release}.");
            let message = format!(
                "{id} is at {cluster}, the release at {release}. A provider cannot go back a minor: choose a release with {cluster} or newer."
            );
            let rule = rules::PROVIDER_DOWNGRADE;
            said.block(context.finding_at(rule, message, ahead.object, ahead.at, &ahead.path), reason);
            continue;
        }
        let reason = format!("{id} runs Kubernetes {cluster}, which is newer than the release's {release}.");
        let message = format!(
            "{id} is at Kubernetes {cluster}, the release at {release}. Kubernetes cannot be downgraded: choose a release with {cluster} or newer."
        );
        let rule = rules::KUBERNETES_DOWNGRADE;
        said.block(context.finding_at(rule, message, ahead.object, ahead.at, &ahead.path), reason);
    }
}

/// A field of the step group stays while others move.
pub(super) fn split(
    context: Context<'_>,
    merged: &MergedObject,
    decision: &MergeDecision,
    holder: &str,
    said: &mut UpgradeReport,
) {
    let id = context.base.objects[merged.object].id.to_string();
    let reason =
        format!("{id} {} is held by {holder}, but versions and images must change together.", decision.path);
    let message = format!(
        "{} of {id} is held by {holder}, but the release changes Kubernetes versions and images, which must change together. Take the release's value, or hold the whole upgrade.",
        decision.path
    );
    let at = decision.at.unwrap_or(context.base.node(merged.object).span.start);
    let rule = rules::STEP_GROUP_SPLIT;
    said.block(context.finding_at(rule, message, merged.object, at, &decision.path), reason);
}

/// What an API version leaves behind: a field in the shape of another version blocks, with both
/// values; one that the cluster alone has is named.
pub(super) fn foreign_fields(
    context: Context<'_>,
    merged: &MergedObject,
    draft: &Draft,
    said: &mut UpgradeReport,
) {
    let Some(sides) = &merged.sides else { return };
    let (object, cluster) = (merged.object, context.base.node(merged.object));
    let edits = draft.edits_of(object);
    let after = api_versions::version_after(cluster, edits).unwrap_or_default().to_owned();
    let id = context.base.objects[object].id.clone();
    // Where both versions are defined, they say what it is in either.
    let refused = match convert_or_all(cluster, &after, AtHand::Whole, context.request.schemas) {
        Err((first, others)) => [*first].into_iter().chain(others).collect(),
        Ok(_) => Vec::new(),
    };
    for foreign in api_versions::foreign(sides, context.request.schemas, cluster, edits) {
        let path = foreign.path;
        if foreign.origin == FieldOrigin::ClusterAlone {
            let message = format!(
                "{id} becomes {after}, for which Capstan knows no conversion. {path}, which only this cluster has, stays as it is. Look up its name in {after} and write that, or add a definition of both versions to `.capstan/crds`.",
            );
            let at = foreign.at.unwrap_or(cluster.span.start);
            said.findings.push(context.finding_at(
                rules::API_VERSION_LEAVES_FIELD,
                message,
                object,
                at,
                &path,
            ));
            continue;
        }
        match refused.iter().find(|why| !why.field.is_root() && path.starts_with(&why.field)) {
            Some(why) => {
                let message = unconvertible(&id, why, None);
                said.blocked.push(message.clone());
                let at = foreign.at.unwrap_or(cluster.span.start);
                let rule = rules::API_VERSION_LEAVES_FIELD;
                let finding = context.finding_at(rule, message, object, at, &path).blocking();
                said.findings.push(finding);
            }
            None => said.blocked.push(format!(
                "{path} of {id} does not have the shape of {after}, and Capstan knows no conversion of this kind: write the new form by hand, or take the release's value."
            )),
        }
        match said.conflicts.iter_mut().find(|known| known.object == id && known.path == path) {
            Some(known) => known.blocks = true,
            None => {
                let value = |node: &Node| Some(hide_in(node, &path, node.at(&path)?.value()));
                let stays = foreign.at.is_some();
                said.conflicts.push(Conflict {
                    object: id.clone(),
                    place: context.base.line(object, foreign.at),
                    base: sides.old.as_ref().and_then(value),
                    cluster: if stays {
                        Some(hide_in(cluster, &path, foreign.value))
                    } else {
                        value(cluster)
                    },
                    release: value(&sides.new),
                    path,
                    kept: Side::Cluster,
                    blocks: true,
                    settling: Settlement::default(),
                });
            }
        }
    }
}

/// `infrastructure.cluster.x-k8s.io`, or in words for the core group.
fn api(id: &ObjectId) -> &str {
    if id.group.is_empty() { "the core API" } else { &id.group }
}
