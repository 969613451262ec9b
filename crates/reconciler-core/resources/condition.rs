//! Conditions by Kubernetes' conventions
//! (<https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties>).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One condition of a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type of the condition.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// The generation of the object that was observed.
    pub observed_generation: i64,
    /// When `status` last changed, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub last_transition_time: Timestamp,
    /// A CamelCase word for programs.
    pub reason: String,
    /// A sentence or two for people.
    pub message: String,
}

/// What a condition speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionType {
    /// All is as Git says, and the machines are done.
    Ready,
    /// The last commit was applied whole.
    Applied,
    /// Nothing of it is applied, for the reason given.
    Refused,
    /// The machines are as wished.
    RolledOut,
    /// It does not go on without somebody doing something.
    Stalled,
    /// Something is being done or waited for.
    Reconciling,
    /// The Secrets with the cluster's own credentials of its cloud hold valid ones.
    CredentialsPublished,
    /// The owners of the cluster can have a key of it that is valid.
    OwnersKeyPublished,
    /// The source was read in the last reconciliation (of a Fleet).
    SourceReady,
    /// The cloud gives what the cluster asks of it, as far as Cluster API and the infrastructure provider tell.
    CloudReady,
    /// Every service inside the cluster is ready.
    ServicesReady,
    /// The Secret holds what is asked for (of a VaultSecret).
    Resolved,
    /// What it says now was made into the cluster's objects (of a ClusterDefinition).
    Rendered,
    /// It is to be deleted and its cluster is not: nothing goes before `retire` is said (of a ClusterDefinition).
    RetireFirst,
}

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// It is not known.
    Unknown,
}

/// The conditions of an object, each type once, in the order of their types.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
pub struct Conditions(Vec<Condition>);

/// The time as Kubernetes writes it in objects (`metav1.Time`): whole seconds.
pub(super) fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

impl Conditions {
    /// The condition of a type.
    pub fn of(&self, kind: ConditionType) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.kind == kind)
    }

    /// Whether the condition of a type is there and holds.
    pub fn hold(&self, kind: ConditionType) -> bool {
        self.of(kind).is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Condition> {
        self.0.iter()
    }

    /// Says what holds now. The time of the last transition stays where the status stays.
    pub fn set(
        &mut self,
        now: Timestamp,
        generation: i64,
        kind: ConditionType,
        status: ConditionStatus,
        reason: &str,
        message: impl Into<String>,
    ) {
        let since = self
            .of(kind)
            .filter(|condition| condition.status == status)
            .map_or(now, |condition| condition.last_transition_time);
        let condition = Condition {
            kind,
            status,
            observed_generation: generation,
            last_transition_time: whole_second(since),
            reason: reason.to_owned(),
            message: message.into(),
        };
        match self.0.binary_search_by_key(&kind, |condition| condition.kind) {
            Ok(at) => self.0[at] = condition,
            Err(at) => self.0.insert(at, condition),
        }
    }

    /// Takes a condition away that has nothing to say any more.
    pub fn clear(&mut self, kind: ConditionType) {
        self.0.retain(|condition| condition.kind != kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_seconds_as_kubernetes_writes_them() {
        let mut conditions = Conditions::default();
        let now: Timestamp = "2026-11-21T22:53:54.987654321Z".parse().unwrap();
        conditions.set(now, 1, ConditionType::Ready, ConditionStatus::True, "Done", "");
        let written = serde_json::to_value(&conditions).unwrap();
        assert_eq!(written[0]["lastTransitionTime"], "2026-11-21T22:53:54Z");
    }

    #[test]
    fn the_time_of_a_transition_stays_while_the_status_stays() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut conditions = Conditions::default();
        conditions.set(at(10), 1, ConditionType::Ready, ConditionStatus::False, "Rolling", "1 of 3");
        conditions.set(at(20), 2, ConditionType::Ready, ConditionStatus::False, "Rolling", "2 of 3");
        let ready = conditions.of(ConditionType::Ready).unwrap();
        assert_eq!((ready.last_transition_time, ready.message.as_str()), (at(10), "2 of 3"));
        assert_eq!(ready.observed_generation, 2);
        conditions.set(at(30), 2, ConditionType::Ready, ConditionStatus::True, "Done", "");
        assert_eq!(conditions.of(ConditionType::Ready).unwrap().last_transition_time, at(30));
        assert!(conditions.hold(ConditionType::Ready) && !conditions.hold(ConditionType::Applied));
    }
}
