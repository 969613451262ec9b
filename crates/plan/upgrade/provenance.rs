//! Why the fields of an upgrade are what they are: the record of its merge, kept beside the plan.
//!
//! Nothing is decided again here. The merge records its decisions ([`crate::merge::decision`]), and this keeps those
//! that are about single objects of the cluster.

use crate::merge::cluster_merge::ClusterMerge;
use crate::merge::cluster_objects::Base;
use crate::merge::decision::{Decider, HowMerged, MergeDecision, MergeRecord, MergeRule, ReleasePlaces};
use capstan_kustomize::schema::ValueKind;
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId};

/// What is known of the reasons of an upgrade's changes.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    pub(super) objects: Vec<ObjectProvenance>,
    /// Why every field changes, and where the source says so, of a source that sets fields by itself.
    pub(super) source: Option<(&'static str, Place)>,
    /// Lists on which cluster and releases differ.
    pub(super) lists: Vec<ListMerged>,
    /// Texts that differ and are one value.
    pub(super) values: Vec<ValueCompared>,
}

/// What was decided of one object.
#[derive(Debug, Clone)]
pub(super) struct ObjectProvenance {
    pub(super) id: ObjectId,
    /// Where the releases have it.
    pub(super) in_releases: ReleasePlaces,
    /// Whether it comes or goes, or its fields merge.
    pub(super) rule: MergeRule,
    pub(super) decisions: Vec<MergeDecision>,
    /// Fields that its conversion to another API version touched, and where the releases have them.
    pub(super) converted: Vec<(FieldPath, ReleasePlaces)>,
}

/// How one list was merged, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListMerged {
    pub object: ObjectId,
    /// The cluster's file, with the line where it has such a list.
    pub place: Place,
    /// The list.
    pub path: FieldPath,
    pub how: HowMerged,
    /// Who said so.
    pub decided_by: Decider,
}

/// Texts that differ and are one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueCompared {
    pub object: ObjectId,
    /// The cluster's file and line.
    pub place: Place,
    /// The field.
    pub path: FieldPath,
    /// What the texts stand for.
    pub kind: ValueKind,
    /// Who said so.
    pub decided_by: Decider,
    /// The old release's text.
    pub base: Option<String>,
    /// The cluster's.
    pub cluster: Option<String>,
    /// The new release's.
    pub release: Option<String>,
}

impl Provenance {
    /// Of a source that sets fields by itself: why, and where it says so.
    pub(super) fn of_source(because: &'static str, place: Place) -> Self {
        Self { source: Some((because, place)), ..Self::default() }
    }

    pub(super) fn of_merge(base: &Base, merge: ClusterMerge) -> Self {
        let mut provenance = Self::default();
        for merged in merge.merged {
            let MergeRecord { decisions, lists, values } = merged.record;
            let id = &base.objects[merged.object].id;
            provenance.lists.extend(lists.into_iter().map(|list| ListMerged {
                object: id.clone(),
                place: base.line(merged.object, list.at),
                path: list.path,
                how: list.how,
                decided_by: list.decided_by,
            }));
            provenance.values.extend(values.into_iter().map(|value| {
                let place = base.line(merged.object, value.at);
                let [base, cluster, release] = value.texts;
                ValueCompared {
                    object: id.clone(),
                    place,
                    path: value.path,
                    kind: value.kind,
                    decided_by: value.decided_by,
                    base,
                    cluster,
                    release,
                }
            }));
            provenance.objects.push(ObjectProvenance {
                id: id.clone(),
                in_releases: merged.in_releases,
                rule: MergeRule::Fields,
                decisions,
                converted: merged.converted,
            });
        }
        let mut whole = |id: ObjectId, in_releases: ReleasePlaces| {
            let (decisions, converted) = (Vec::new(), Vec::new());
            let rule = MergeRule::Objects;
            provenance.objects.push(ObjectProvenance { id, in_releases, rule, decisions, converted });
        };
        for dropped in merge.removed {
            whole(base.objects[dropped.object].id.clone(), dropped.in_releases);
        }
        for new in merge.added {
            whole(new.id, new.in_releases);
        }
        for conflict in merge.conflicts {
            whole(conflict.id, conflict.in_releases);
        }
        provenance.lists.sort_by_cached_key(|list| (list.place.clone(), list.path.to_string()));
        provenance.values.sort_by_cached_key(|value| (value.place.clone(), value.path.to_string()));
        provenance
    }
}
