//! What a plan says: findings of the merge, each with its place, and why the upgrade blocks.

use super::conversions::unconvertible;
use super::plan::Plan;
use super::{Conflict, Side};
use crate::conversion::convert_or_all;
use crate::finding::{Finding, Severity};
use crate::merge::api_versions::{self, Origin};
use crate::merge::decision::Decision;
use crate::merge::objects::{Between, ClusterMerge, MergedObject};
use crate::merge::step_group::StepGroup;
use crate::object::{FieldPath, ObjectId};
use crate::tree::RepoPath;
use crate::yaml::Node;

impl Plan<'_> {
    /// What the merge could not match, bind or take over, and what it does that needs words.
    pub(super) fn say(&mut self, merge: &ClusterMerge) {
        self.say_matching(merge);
        self.say_contradictions(merge);
        for change in &merge.kind_changes {
            let (old, new) = (&self.base.objects[change.object].id, &change.added);
            let what = if self.staying.contains(&change.object) {
                "another object comes, and this one stays until nothing can name it any more"
            } else {
                "one object goes and another comes"
            };
            let message = format!(
                "The release puts {} of {} in place of this {} of {}: {what}.",
                new,
                api(new),
                old.kind,
                api(old),
            );
            let at = self.base.node(change.object).span.start;
            self.finding_at(
                "kind-changed",
                Severity::Warning,
                message,
                change.object,
                at,
                &FieldPath::root(),
            );
        }
        for not_merged in &merge.not_merged {
            let what = &not_merged.what;
            let message = format!(
                "The release changes {what}, which Capstan cannot take over into this cluster's base. Make the same change in the base by hand; then the upgrade goes on.",
            );
            let (file, line) = &not_merged.place;
            let place = (file.clone(), *line, 1);
            self.finding("kustomization-not-merged", Severity::Error, message, place, None, None);
            self.blocked.push(format!("{file}: the base cannot take over {what}."));
        }
    }

    fn say_matching(&mut self, merge: &ClusterMerge) {
        for ambiguity in &merge.ambiguous {
            let piece = &ambiguity.piece;
            let (message, blocked) = match &ambiguity.between {
                Between::Objects(candidates) => {
                    let candidates = candidates.join(" or ");
                    (
                        format!(
                            "{piece} could be {candidates}: nothing is changed for it. Give the release's document the name that the cluster's object has after the cluster's name, or split the file.",
                        ),
                        format!("{piece} of the release could be {candidates}."),
                    )
                }
                Between::Documents(id, places) => {
                    let places: Vec<String> =
                        places.iter().map(|(file, line)| format!("{file}:{line}")).collect();
                    let places = places.join(" and ");
                    (
                        format!(
                            "{places} are both {id} and say different things: nothing is changed for it. An object is known by group, kind, namespace and name, not by its API version: leave one of them in the release.",
                        ),
                        format!("{piece} stands in the release more than once, and differs: {places}."),
                    )
                }
            };
            let (file, line) = &ambiguity.place;
            self.finding("ambiguous-match", Severity::Error, message, (file.clone(), *line, 1), None, None);
            // Recorded as done, what was left out would never be offered again.
            self.blocked.push(blocked);
        }
        for (file, line, piece) in &merge.unmatched {
            let message = format!(
                "The release's fragment ({piece}) speaks of no object of this cluster, so it changes nothing here. Put it into a file of the same name as the cluster's, or give it a kind."
            );
            self.finding(
                "unmatched-fragment",
                Severity::Warning,
                message,
                (file.clone(), *line, 1),
                None,
                None,
            );
        }
    }

    pub(super) fn finding(
        &mut self,
        rule: &'static str,
        severity: Severity,
        message: String,
        (file, line, column): (RepoPath, u32, u32),
        object: Option<ObjectId>,
        path: Option<FieldPath>,
    ) {
        self.findings.push(Finding {
            rule,
            severity,
            message,
            file: Some(file),
            line: Some(line),
            column: Some(column),
            object,
            path,
        });
    }

    /// A finding about a byte of one of the base's objects.
    pub(super) fn finding_at(
        &mut self,
        rule: &'static str,
        severity: Severity,
        message: String,
        object: usize,
        at: usize,
        path: &FieldPath,
    ) {
        let position = self.base.position(object, at);
        let place = (self.base.file_of(object).path.clone(), position.line, position.column);
        self.finding(
            rule,
            severity,
            message,
            place,
            Some(self.base.objects[object].id.clone()),
            Some(path.clone()),
        );
    }

    /// The cluster is ahead of the release: no Kubernetes version ever goes back.
    pub(super) fn ahead(&mut self, group: &StepGroup) {
        for ahead in &group.ahead {
            let id = self.base.objects[ahead.object].id.to_string();
            let (cluster, release) = (&ahead.cluster, &ahead.release);
            self.blocked.push(format!(
                "{id} runs Kubernetes {cluster}, which is newer than the release's {release}."
            ));
            let message = format!(
                "{id} is at Kubernetes {cluster}, the release at {release}. Kubernetes cannot go back: choose a release of {cluster} or newer."
            );
            self.finding_at(
                "kubernetes-downgrade",
                Severity::Error,
                message,
                ahead.object,
                ahead.at,
                &ahead.path,
            );
        }
    }

    /// A field of the step group stays while others move.
    pub(super) fn split(&mut self, merged: &MergedObject, decision: &Decision, holder: &str) {
        let id = self.base.objects[merged.object].id.to_string();
        self.blocked.push(format!(
            "{id} {} is held by {holder}, and versions and images move together.",
            decision.path
        ));
        let message = format!(
            "{} of {id} is held by {holder}, while the release moves Kubernetes versions and images, which move together or not at all. Take the release's value, or hold back the whole upgrade.",
            decision.path
        );
        let at = decision.at.unwrap_or(self.base.node(merged.object).span.start);
        self.finding_at("step-group-split", Severity::Error, message, merged.object, at, &decision.path);
    }

    /// What an API version leaves behind: a field in the shape of another version blocks, with both
    /// values; one that the cluster alone has is named.
    pub(super) fn foreign_fields(&mut self, merged: &MergedObject) {
        let Some(sides) = &merged.sides else { return };
        let (object, cluster) = (merged.object, self.base.node(merged.object));
        let edits = self.draft.edits_of(object);
        let after = api_versions::version_after(cluster, edits).unwrap_or_default().to_owned();
        let id = self.base.objects[object].id.clone();
        // Where both versions are defined, they say what it is in either.
        let refused = match convert_or_all(cluster, &after, self.request.schemas) {
            Err((first, others)) => [*first].into_iter().chain(others).collect(),
            Ok(_) => Vec::new(),
        };
        for foreign in api_versions::foreign(sides, self.request.schemas, cluster, edits) {
            let path = foreign.path;
            if foreign.origin == Origin::ClusterAlone {
                let message = format!(
                    "{id} becomes {after}, for which no conversion is known here, and {path}, which only this cluster has, stays as it is. Look up what {after} calls it, and write it so; a definition of both versions in `.capstan/crds` tells whether it is the same.",
                );
                let at = foreign.at.unwrap_or(cluster.span.start);
                self.finding_at("api-version-leaves-field", Severity::Warning, message, object, at, &path);
                continue;
            }
            match refused.iter().find(|why| !why.field.is_root() && path.starts_with(&why.field)) {
                Some(why) => {
                    let message = unconvertible(&id, why);
                    self.blocked.push(message.clone());
                    let at = foreign.at.unwrap_or(cluster.span.start);
                    self.finding_at("api-version-leaves-field", Severity::Error, message, object, at, &path);
                }
                None => self.blocked.push(format!(
                    "{path} of {id} is not in the shape of {after}, and no conversion of this kind is known here: write by hand what it becomes there, or take the release's value."
                )),
            }
            match self.conflicts.iter_mut().find(|known| known.object == id && known.path == path) {
                Some(known) => known.blocks = true,
                None => {
                    let value = |node: &Node| node.at(&path).map(Node::value);
                    let stays = foreign.at.is_some();
                    self.conflicts.push(Conflict {
                        object: id.clone(),
                        file: self.base.file_of(object).path.clone(),
                        line: foreign.at.map(|at| self.base.position(object, at).line),
                        base: sides.old.as_ref().and_then(value),
                        cluster: if stays { Some(foreign.value) } else { value(cluster) },
                        release: value(&sides.new),
                        path,
                        kept: Side::Cluster,
                        blocks: true,
                    });
                }
            }
        }
    }
}

/// `infrastructure.cluster.x-k8s.io`, or in words for the core group.
fn api(id: &ObjectId) -> &str {
    if id.group.is_empty() { "the core API" } else { &id.group }
}
