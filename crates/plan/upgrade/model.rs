//! The words of an upgrade: changes, conflicts, rollouts, and the upgrade that holds them.
//!
//! All of them may go between processes of one Capstan; what users and their programs read is `capstan_report`'s.

use super::component::ComponentChange;
use super::redact::redact;
use super::service_change::ServiceChange;
use crate::merge::kustomization;
use crate::merge::texts::merge_texts;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, Place, Severity};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::rest::Rest;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::target::Target;
use capstan_model::tree::RepoPath;
use capstan_model::version::KubernetesVersion;
use capstan_providers::{MissingComponents, ProviderChange};
use capstan_yaml::Value;
use serde::{Deserialize, Serialize};

/// What would be done to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Upgrade {
    pub target: Target,
    /// The source it is at; `None` where that is unknown.
    pub from: Option<SourceId>,
    /// The source offered; `None` where nothing is offered.
    pub to: Option<SourceId>,
    /// Why nothing is offered; of no meaning where something is.
    pub rest: Rest,
    /// Content of the source offered.
    pub to_content: Option<SourceContent>,
    /// The version of Kubernetes that the source offered brings; `None` where it names none, or is not a release.
    pub kubernetes: Option<KubernetesVersion>,
    /// The version of Kubernetes that the target has; `None` where nothing says it.
    #[serde(default)]
    pub kubernetes_now: Option<KubernetesVersion>,
    /// How well the old source is known.
    pub basis: Basis,
    /// Whole new contents; empty for an upgrade that blocks.
    pub files: Vec<FileChange>,
    /// Fields and objects that change in files, ordered by file, line (`None` last), path.
    pub changes: Vec<Change>,
    /// How many fields of applied objects differ: as the check of its pull request counts them. `None` where nothing
    /// was rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_changes: Option<usize>,
    /// What both sides changed, ordered likewise.
    pub conflicts: Vec<Conflict>,
    /// What the rules say, ordered likewise.
    pub findings: Vec<Finding>,
    /// Machines that will be replaced.
    pub rollouts: Vec<Rollout>,
    /// Components and apps that differ between the two releases, where they list any.
    pub components: Vec<ComponentChange>,
    /// What becomes of the providers of a set, in clusterctl's order; empty for a cluster.
    pub providers: Vec<ProviderChange>,
    /// Components of the providers of a set that are not at hand, and that nobody asked for yet.
    #[serde(default)]
    pub unasked: Vec<MissingComponents>,
    /// What becomes of what runs inside the cluster, cni, ccm, csi and metrics first.
    #[serde(default)]
    pub services: Vec<ServiceChange>,
    /// Why nothing may be written, in words, one sentence each; empty where the upgrade may go ahead.
    pub blocked: Vec<String>,
    /// What a person should know besides (why nothing is offered, what follows on the path).
    pub notes: Vec<String>,
    /// The file with the notes of the release offered, in the repository of the releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_notes: Option<RepoPath>,
    /// What the inventory has to do with it; `None` where it has nothing to say of the target.
    #[serde(default)]
    pub values: Option<Box<ValuesStep>>,
}

impl Upgrade {
    /// Nothing for a target yet, of a source that is known.
    pub fn nothing(target: Target) -> Self {
        Self {
            target,
            from: None,
            to: None,
            rest: Rest::default(),
            to_content: None,
            kubernetes: None,
            kubernetes_now: None,
            basis: Basis::Known,
            files: Vec::new(),
            changes: Vec::new(),
            applied_changes: None,
            conflicts: Vec::new(),
            findings: Vec::new(),
            rollouts: Vec::new(),
            components: Vec::new(),
            providers: Vec::new(),
            unasked: Vec::new(),
            services: Vec::new(),
            blocked: Vec::new(),
            notes: Vec::new(),
            release_notes: None,
            values: None,
        }
    }

    /// The reasons for which it blocks and that no finding gives: where findings are shown too, each reason appears
    /// once.
    pub fn reasons_beside_findings(&self) -> impl Iterator<Item = &String> {
        self.blocked.iter().filter(|why| !self.findings.iter().any(|finding| finding.says(why)))
    }

    /// Whether it has findings of severity error, or conflicts that block (exit code 3).
    pub fn errors_stand(&self) -> bool {
        !self.blocked.is_empty()
            || self.findings.iter().any(|finding| finding.severity() == Severity::Error)
            || self.conflicts.iter().any(|conflict| conflict.blocks)
    }

    /// The first thing that it would change, or why it could not go ahead.
    pub fn first_difference(&self) -> Option<String> {
        let change = self.changes.first().map(|change| {
            let file = change.place.clone().without_column();
            format!("{file}: {} {}", change.object, change.path)
        });
        let conflict =
            || self.conflicts.first().map(|conflict| format!("{} {}", conflict.object, conflict.path));
        let file = || self.files.first().map(|file| file.path.to_string());
        change.or_else(conflict).or_else(|| self.blocked.first().cloned()).or_else(file)
    }

    /// What kind of source it comes from.
    pub fn brought_by(&self) -> SourceKind {
        let of_source = || self.to.as_ref().map_or(SourceKind::RELEASE, |to| to.kind().clone());
        self.values.as_ref().map_or_else(of_source, |values| values.brought_by.clone())
    }

    /// Whether it records values and changes nothing else: the base already has all that they lead to.
    pub fn records_alone(&self) -> bool {
        self.brought_by() == SourceKind::INVENTORY
            && self.basis == Basis::Inferred
            && self.changes.is_empty()
            && self.conflicts.is_empty()
    }
}

/// What an upgrade does to the values that a target's base is made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValuesStep {
    /// Whether a release brings the change, or the inventory.
    pub brought_by: SourceKind,
    /// What becomes of the target as a whole.
    pub course: ValuesCourse,
    /// Digest of the values that the base was made from; `None` where nobody recorded them.
    pub from: Option<String>,
    /// Digest of those that it is to be made from; `None` where it needs none.
    pub to: Option<String>,
    /// The levels that the cluster belongs to: kinds and names, upper ones first.
    pub levels: Vec<(String, String)>,
    /// Where the values stand that each change comes from, in the order of the changes; nothing for one that comes from
    /// the release's text.
    pub origins: Vec<Vec<ValueOrigin>>,
    /// The same of the inventory's side of each conflict, in the order of the conflicts.
    #[serde(default)]
    pub conflict_origins: Vec<Vec<ValueOrigin>>,
}

/// What becomes of a target as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValuesCourse {
    /// It stays, with other content.
    #[default]
    Changes,
    Comes,
    Goes,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueOrigin {
    /// The kind of who says it: `Environment`; `default` for a release's schema.
    pub level: String,
    /// Its name; of a default, the release.
    pub name: String,
    /// File, line and column.
    pub place: Place,
}

/// How the old release is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Recorded.
    Known,
    /// Found: the base still has all of its fields.
    Inferred,
    /// Not known: what the cluster lacks comes, what it has stays, nothing is removed.
    Unknown,
}

/// One field, or one whole object, that the upgrade sets, adds or removes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub object: ObjectId,
    /// The file that it is in (after the upgrade, for a new object), with the line before the upgrade. What is new has
    /// no line.
    pub place: Place,
    /// The field; the root for a whole object.
    pub path: FieldPath,
    /// Where the field was, if a new API version has it elsewhere.
    pub from: Option<FieldPath>,
    /// Value before; `None` = absent.
    #[serde(with = "maybe_null")]
    pub old: Option<Value>,
    /// Value after; `None` = removed.
    #[serde(with = "maybe_null")]
    pub new: Option<Value>,
    /// Why.
    pub reason: ChangeReason,
}

/// Why something changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeReason {
    /// The release changed this field.
    Release,
    /// The inventory changed it.
    Inventory,
    /// A whole object comes or goes.
    Object,
    /// A template gets a new name.
    Rotation,
    /// A reference follows a rotated template.
    Reference,
}

/// What both the cluster and the release changed since the old release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conflict {
    pub object: ObjectId,
    /// The file, with the line before the upgrade where the cluster has it.
    pub place: Place,
    /// The field; the root for a whole object.
    pub path: FieldPath,
    /// The old release's value; `None` = absent.
    #[serde(with = "maybe_null")]
    pub base: Option<Value>,
    /// The cluster's value.
    #[serde(with = "maybe_null")]
    pub cluster: Option<Value>,
    /// The new release's value.
    #[serde(with = "maybe_null")]
    pub release: Option<Value>,
    /// The side whose value remains after the upgrade.
    pub kept: Side,
    /// Whether the upgrade is held up by it.
    pub blocks: bool,
    /// How a person may settle it, and whether one has.
    pub settling: Settlement,
}

impl Conflict {
    /// Its values: the old release's, the cluster's, the new release's.
    pub const fn sides(&self) -> [&Option<Value>; 3] {
        [&self.base, &self.cluster, &self.release]
    }

    /// The same of a text that may be shown and whose lines merge, but for these; `None` of anything else.
    pub fn lines_in_dispute(&self) -> Option<[Option<Value>; 3]> {
        let [Some(old), Some(own), Some(new)] = self.sides() else { return None };
        let is_shown = |value: &&Value| redact(&self.object, &self.path, Some(value)) == **value;
        if ![old, own, new].iter().all(is_shown) {
            return None;
        }
        let merged = merge_texts(old.as_str()?, own.as_str()?, new.as_str()?)?;
        let side = |at: usize| {
            let lines: Vec<&str> = merged.disputed.iter().map(|sides| sides[at].as_str()).collect();
            Some(Value::String(lines.join("…\n")))
        };
        (!merged.disputed.is_empty()).then(|| [side(0), side(1), side(2)])
    }
}

/// How a person may settle a conflict by command, and whether one has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    /// Identifies the three values: what was settled holds as long as they are the same. Empty where nobody can settle it.
    pub values: String,
    /// Who has.
    pub by: Option<String>,
}

/// A conflict that a person settled by command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledConflict {
    pub object: ObjectId,
    /// The field.
    pub path: FieldPath,
    /// Whose value is kept.
    pub side: Side,
    /// The values between which it was settled ([`Settlement::values`]).
    pub values: String,
    /// Who settled it: a login.
    pub by: String,
}

/// A side of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The cluster's own value.
    Cluster,
    /// The new release's value.
    Release,
}

/// Machines that will be replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// The control plane, MachineDeployment or MachinePool.
    pub object: ObjectId,
    /// How many machines are replaced, or lost where the object goes; `None` where replicas are not in Git.
    pub machines: Option<u32>,
    /// How sure that is.
    pub certainty: Certainty,
    /// The fields that cause it; the root alone where the object goes.
    pub because: Vec<FieldPath>,
    /// How they come and go.
    pub course: Course,
}

/// How the machines of one owner come and go. A number that only the live cluster knows is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// Whether any machine is replaced or lost, or some only come or go by number.
    pub effect: RolloutEffect,
    /// Machines that are replaced by new ones.
    pub replaced: Option<u32>,
    /// Machines that come beyond those that are replaced.
    pub created: Option<u32>,
    /// Machines that go for good.
    pub deleted: Option<u32>,
    /// Its turn: what has 1 goes before what has 2.
    pub order: Option<u32>,
    /// `RollingUpdate`, `OnDelete`; `None` where the owner has none.
    pub strategy: Option<String>,
    /// The groups of a topology.
    pub parts: Vec<RolloutPart>,
    /// What a person should know besides, a sentence each.
    pub notes: Vec<String>,
}

/// What a rollout does to machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RolloutEffect {
    /// Machines are replaced, or lost with their owner.
    #[default]
    Replaces,
    /// The number of machines changes, if anything does, and those that stay are as they were.
    Scales,
}

/// What becomes of one group of machines of a topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutPart {
    /// `controlPlane`, or the name of the worker group.
    pub name: String,
    /// Machines that are replaced.
    pub replaced: Option<u32>,
    /// Machines that come besides.
    pub created: Option<u32>,
    /// Machines that go for good.
    pub deleted: Option<u32>,
    /// Its turn.
    pub order: u32,
}

/// How sure a rollout is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Judged with the live names of templates.
    Exact,
    /// Judged from Git alone.
    Offline,
    /// Cannot be judged.
    Unknown,
}

/// A value that may be `null`, which is not the same as none: a list of one, or of nothing.
mod maybe_null {
    use capstan_yaml::Value;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde asks for it")]
    pub(super) fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_slice().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
        Ok(Vec::deserialize(deserializer)?.pop())
    }
}

/// What a change or conflict without a field is about: the object as a whole; of a kustomization, a file that it
/// reads.
pub fn whole_of(object: &ObjectId) -> &'static str {
    let is_kustomization = object.kind == kustomization::KIND && object.group == kustomization::GROUP;
    if is_kustomization { "file that it reads" } else { "whole object" }
}

#[cfg(test)]
mod tests {
    use capstan_model::finding::rules;
    use serde_json::json;

    use super::*;

    fn file() -> RepoPath {
        RepoPath::parse("gauss/peu01/base/pool.yaml").unwrap()
    }

    fn object() -> ObjectId {
        ObjectId {
            group: "cluster.x-k8s.io".to_owned(),
            kind: "MachinePool".to_owned(),
            namespace: Some("acme".to_owned()),
            name: "peu01".to_owned(),
        }
    }

    fn change() -> Change {
        Change {
            object: object(),
            place: Place::line_of(file(), 7),
            path: FieldPath::parse("/spec/replicas").unwrap(),
            from: None,
            old: Some(json!(2)),
            new: Some(json!(3)),
            reason: ChangeReason::Release,
        }
    }

    fn conflict(blocks: bool) -> Conflict {
        Conflict {
            object: object(),
            place: Place::line_of(file(), 8),
            path: FieldPath::parse("/spec/version").unwrap(),
            base: Some(json!(1)),
            cluster: Some(json!(2)),
            release: Some(json!(3)),
            kept: Side::Cluster,
            blocks,
            settling: Settlement::default(),
        }
    }

    fn upgrade() -> Upgrade {
        Upgrade::nothing(Target::parse("gauss/peu01").unwrap())
    }

    #[test]
    fn errors_stand_where_something_blocks_or_a_finding_is_an_error() {
        let finding = |rule| vec![Finding::new(rule, "wrong")];
        for (stands, upgrade) in [
            (false, upgrade()),
            (true, Upgrade { blocked: vec!["no".to_owned()], ..upgrade() }),
            (true, Upgrade { findings: finding(rules::INVALID_SETTINGS), ..upgrade() }),
            (false, Upgrade { conflicts: vec![conflict(false)], ..upgrade() }),
            (true, Upgrade { conflicts: vec![conflict(true)], ..upgrade() }),
        ] {
            assert_eq!(upgrade.errors_stand(), stands, "{upgrade:?}");
        }
    }

    #[test]
    fn the_first_difference_is_a_change_before_a_conflict_a_reason_and_a_file() {
        let written = FileChange { path: file(), before: None, after: Some("a: 1\n".to_owned()) };
        let mut upgrade = Upgrade {
            changes: vec![change()],
            conflicts: vec![conflict(false)],
            blocked: vec!["It is held.".to_owned()],
            files: vec![written],
            ..upgrade()
        };
        let first = |upgrade: &Upgrade| upgrade.first_difference().unwrap_or_default();
        assert_eq!(first(&upgrade), "gauss/peu01/base/pool.yaml:7: MachinePool acme/peu01 /spec/replicas");
        upgrade.changes.clear();
        assert_eq!(first(&upgrade), "MachinePool acme/peu01 /spec/version");
        upgrade.conflicts.clear();
        assert_eq!(first(&upgrade), "It is held.");
        upgrade.blocked.clear();
        assert_eq!(first(&upgrade), "gauss/peu01/base/pool.yaml");
        upgrade.files.clear();
        assert_eq!(upgrade.first_difference(), None);
    }
}
