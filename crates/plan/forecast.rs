//! What would be offered after a merge, seen before it: which clusters are planned, what becomes of each, and which
//! upgrades people should see first.
//!
//! Deliberately absent: planning them, which the caller does, and how it is reported.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use crate::proposal::{ProposalPlan, wanted};
use crate::settings::Glob;
use crate::upgrade::{RolloutEffect, Upgrade};
use capstan_model::finding::Severity;
use capstan_model::ids::{ClusterId, Provider};
use capstan_model::rest::Rest;
use capstan_model::source::{SourceId, SourceKind};

/// What becomes of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prospect {
    Offered(SourceId),
    /// It would be offered that, and the upgrade blocks.
    Blocked(SourceId),
    /// Nothing is offered to it.
    Nothing(Rest),
    /// It cannot be planned; why, with the place.
    Unplannable(String),
}

impl Prospect {
    /// By its plan; `Err` is why it has none.
    pub fn of(plan: &Result<impl Borrow<Upgrade>, String>) -> Self {
        let to = plan.as_ref().ok().and_then(|upgrade| upgrade.borrow().to.clone());
        match (wanted(&SourceKind::RELEASE, plan), to) {
            (ProposalPlan::Offer(_), Some(to)) => Self::Offered(to),
            (ProposalPlan::Blocked { .. }, Some(to)) => Self::Blocked(to),
            (ProposalPlan::Nothing { rest, .. }, _) => Self::Nothing(rest),
            (ProposalPlan::Unplannable { why }, _) => Self::Unplannable(why),
            (ProposalPlan::Offer(_) | ProposalPlan::Blocked { .. }, None) => Self::Nothing(Rest::Current),
        }
    }

    /// What it is offered, whether or not the upgrade blocks.
    pub const fn source(&self) -> Option<&SourceId> {
        match self {
            Self::Offered(to) | Self::Blocked(to) => Some(to),
            Self::Nothing(_) | Self::Unplannable(_) => None,
        }
    }
}

/// The clusters to plan where not all can be: first those that follow one of these providers, as far as that is known,
/// then in the order in which proposals are opened.
pub fn to_look_at(
    clusters: impl IntoIterator<Item = ClusterId>,
    provider: impl Fn(&ClusterId) -> Option<Provider>,
    providers: &BTreeSet<Provider>,
    order: &[Glob],
    most: usize,
) -> Vec<ClusterId> {
    let mut all: Vec<ClusterId> = clusters.into_iter().collect();
    all.sort_by_cached_key(|cluster| {
        let follows = provider(cluster).is_some_and(|provider| providers.contains(&provider));
        let turn = order.iter().position(|glob| glob.matches(cluster.as_str())).unwrap_or(order.len());
        (!follows, turn, cluster.clone())
    });
    all.truncate(most);
    all
}

/// The upgrades that people should look at first, the worst in front: those that block, then by errors, conflicts and
/// machines that are replaced or lost; among equals by cluster.
pub fn worst<U: Borrow<Upgrade>>(upgrades: impl IntoIterator<Item = U>, most: usize) -> Vec<U> {
    let mut all: Vec<U> = upgrades.into_iter().collect();
    all.sort_by_cached_key(|upgrade| {
        let upgrade: &Upgrade = upgrade.borrow();
        let errors = upgrade.findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
        let machines = upgrade
            .rollouts
            .iter()
            .filter(|rollout| rollout.course.effect == RolloutEffect::Replaces)
            // The number is unknown: at least one.
            .map(|rollout| rollout.machines.unwrap_or(1))
            .fold(0_u32, u32::saturating_add);
        let gravity = (!upgrade.blocked.is_empty(), errors, upgrade.conflicts.len(), machines);
        (std::cmp::Reverse(gravity), upgrade.target.clone())
    });
    all.truncate(most);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upgrade::{Basis, Certainty, Conflict, Course, Rollout, Settlement, Side};
    use capstan_model::finding::{Finding, Place, rules};
    use capstan_model::object::{FieldPath, ObjectId};
    use capstan_model::target::Target;
    use capstan_model::tree::RepoPath;

    fn cluster(id: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(id).unwrap())
    }

    #[test]
    fn those_of_the_provider_come_first_then_those_whose_turn_it_is() {
        let all = ["b/x", "a/y", "z/canary", "b/canary", "c/own"].map(cluster);
        let providers = BTreeSet::from([Provider::new("aws")]);
        let provider = |cluster: &ClusterId| match cluster.as_str() {
            "c/own" => None,
            "z/canary" => Some(Provider::new("azure")),
            _ => Some(Provider::new("aws")),
        };
        let order = [Glob::parse("*/canary*").unwrap()];
        let looked_at = to_look_at(all, provider, &providers, &order, 4);
        assert_eq!(looked_at, ["b/canary", "a/y", "b/x", "z/canary"].map(cluster));
    }

    /// `blocked`, errors, conflicts, machines (`None` = not in Git).
    fn upgrade(id: &str, blocked: bool, errors: usize, conflicts: usize, machines: Option<u32>) -> Upgrade {
        let object = ObjectId {
            group: "cluster.x-k8s.io".to_owned(),
            kind: "MachinePool".to_owned(),
            namespace: None,
            name: "mp".to_owned(),
        };
        let conflict = Conflict {
            object: object.clone(),
            place: Place::whole(RepoPath::parse("a.yaml").unwrap()),
            path: FieldPath::root(),
            base: None,
            cluster: None,
            release: None,
            kept: Side::Cluster,
            blocks: false,
            settling: Settlement::default(),
        };
        let rollout = Rollout {
            object,
            machines,
            certainty: Certainty::Offline,
            because: vec![],
            course: Course::default(),
        };
        Upgrade {
            target: Target::parse(id).unwrap(),
            from: None,
            to: SourceId::parse("aws/v2"),
            kubernetes: None,
            kubernetes_now: None,
            applied_changes: None,
            release_notes: None,
            rest: Rest::default(),
            to_content: None,
            basis: Basis::Known,
            files: vec![],
            changes: vec![],
            conflicts: vec![conflict; conflicts],
            findings: vec![Finding::new(rules::KUBERNETES_DOWNGRADE, "back"); errors],
            rollouts: vec![rollout],
            components: vec![],
            providers: vec![],
            unasked: vec![],
            services: vec![],
            values: None,
            blocked: if blocked { vec!["No.".to_owned()] } else { vec![] },
            notes: vec![],
        }
    }

    #[test]
    fn what_blocks_is_worse_than_errors_and_those_than_conflicts_and_those_than_machines() {
        let all = [
            upgrade("c/machines", false, 0, 0, Some(900)),
            upgrade("c/conflict", false, 0, 1, Some(0)),
            upgrade("c/b-like-a", false, 0, 0, Some(3)),
            upgrade("c/a", false, 0, 0, Some(3)),
            upgrade("c/unknown", false, 0, 0, None),
            upgrade("c/blocked", true, 0, 0, Some(0)),
            upgrade("c/error", false, 1, 0, Some(0)),
        ];
        let order: Vec<String> =
            worst(&all, 6).into_iter().map(|upgrade| upgrade.target.path().to_owned()).collect();
        assert_eq!(order, ["c/blocked", "c/error", "c/conflict", "c/machines", "c/a", "c/b-like-a"]);
    }

    #[test]
    fn a_prospect_is_what_the_plan_asks_for() {
        let plan = |upgrade: Upgrade| Ok::<_, String>(upgrade);
        let to = SourceId::parse("aws/v2").unwrap();
        assert_eq!(Prospect::of(&plan(upgrade("c/a", true, 0, 0, None))), Prospect::Blocked(to));
        // Nothing is to be written: it has all of it.
        assert_eq!(Prospect::of(&plan(upgrade("c/a", false, 0, 0, None))), Prospect::Nothing(Rest::Current));
        let held = Upgrade { to: None, rest: Rest::Held, ..upgrade("c/a", false, 0, 0, None) };
        assert_eq!(Prospect::of(&plan(held)).source(), None);
        assert_eq!(
            Prospect::of(&Err::<Upgrade, _>("a.yaml:1: no".to_owned())),
            Prospect::Unplannable("a.yaml:1: no".to_owned())
        );
    }
}
