//! A summary of an upgrade, which the page of a cluster shows.

use capstan_model::finding::Severity;
use capstan_plan::upgrade::{
    Conflict, Rollout, RolloutEffect, ServiceChange, ServiceCourse, Side, Upgrade, whole_of,
};
use serde::{Deserialize, Serialize};

use super::excerpt::{Excerpt, excerpts};
use super::field_diff;
use super::markdown::one_line;
use super::tables;

/// Bytes of the diff.
const DIFF: usize = 16_000;
/// Conflicts, findings, owners of machines and services that are listed, of each kind.
const LISTED: usize = 50;
/// Characters of a finding's message.
const MESSAGE: usize = 1_000;
/// Characters of a value.
const VALUE: usize = 200;
/// Characters of a name or a place.
const NAME: usize = 300;

/// What an upgrade does to a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetDetail {
    /// Changes of fields, each line with its sign.
    pub diff: String,
    /// Changes left out.
    pub more_changes: usize,
    /// What both sides changed.
    pub conflicts: Vec<DetailedConflict>,
    /// What rules say.
    pub findings: Vec<DetailedFinding>,
    /// Conflicts and findings left out.
    pub more: usize,
    /// Owners that lose machines or get new ones, in their order.
    pub rollouts: Vec<DetailedRollout>,
    /// Owners of machines left out.
    pub more_rollouts: usize,
    /// Changes of services.
    pub services: Vec<DetailedService>,
    /// Services left out.
    pub more_services: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailedConflict {
    /// Object and field.
    pub what: String,
    /// The old release's value, the cluster's and the new release's, redacted.
    pub sides: [String; 3],
    /// How it is settled, as a sentence.
    pub settled: String,
    /// Whether it blocks the upgrade.
    pub blocks: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailedFinding {
    pub rule: String,
    pub severity: Severity,
    /// What was found, and what to do.
    pub message: String,
    /// Where it was found, if there is a file.
    pub place: Option<String>,
}

/// The machines of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailedRollout {
    pub owner: String,
    /// How many machines; `None` where Git does not say.
    pub machines: Option<u32>,
    /// What happens to them.
    pub becomes: MachinesBecome,
}

/// What happens to machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MachinesBecome {
    /// New ones replace them.
    Replaced,
    /// They are deleted with their owner.
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailedService {
    pub name: String,
    /// What it is for.
    pub role: String,
    /// What happens to it, with its versions.
    pub becomes: String,
}

impl TargetDetail {
    /// Of an upgrade.
    pub fn of(upgrade: &Upgrade) -> Self {
        let (diff, more_changes) = field_diff::plain(upgrade, DIFF);
        let listed = upgrade.conflicts.len().min(LISTED) + upgrade.findings.len().min(LISTED);
        let replaces = |one: &&Rollout| one.course.effect == RolloutEffect::Replaces;
        let replacing = tables::planes_first(upgrade.rollouts.iter().filter(replaces));
        Self {
            diff,
            more_changes,
            conflicts: upgrade.conflicts.iter().take(LISTED).map(|one| conflict(one, upgrade)).collect(),
            findings: upgrade
                .findings
                .iter()
                .take(LISTED)
                .map(|finding| DetailedFinding {
                    rule: finding.rule.id().to_owned(),
                    severity: finding.severity(),
                    message: one_line(&finding.message, MESSAGE),
                    place: finding.place.as_ref().map(|place| one_line(&place.to_string(), NAME)),
                })
                .collect(),
            more: upgrade.conflicts.len() + upgrade.findings.len() - listed,
            rollouts: replacing.iter().take(LISTED).map(|one| rollout(one)).collect(),
            more_rollouts: replacing.len().saturating_sub(LISTED),
            services: upgrade.services.iter().take(LISTED).map(service).collect(),
            more_services: upgrade.services.len().saturating_sub(LISTED),
        }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn conflict(conflict: &Conflict, upgrade: &Upgrade) -> DetailedConflict {
    let field = if conflict.path.is_root() {
        whole_of(&conflict.object).to_owned()
    } else {
        conflict.path.to_string()
    };
    let in_dispute = conflict.lines_in_dispute();
    let sides = in_dispute.as_ref().map_or_else(|| conflict.sides(), |sides| sides.each_ref());
    let values = sides.map(Option::as_ref);
    let mut shown = excerpts(&conflict.object, &conflict.path, &values, VALUE).into_iter();
    let side = |value: Option<_>| match (value, shown.next().flatten()) {
        (Some(_), _) if conflict.path.is_root() => "present".to_owned(),
        (Some(_), Some(Excerpt { text, .. })) => text,
        _ => "absent".to_owned(),
    };
    let kind = upgrade.brought_by();
    let settled = match (conflict.blocks, conflict.kept) {
        (true, _) => "It blocks the upgrade.".to_owned(),
        (false, Side::Cluster) => "The cluster's value is kept.".to_owned(),
        (false, Side::Release) => format!("The {kind}'s value is taken."),
    };
    DetailedConflict {
        what: one_line(&format!("{} {field}", conflict.object), NAME),
        sides: values.map(side),
        settled,
        blocks: conflict.blocks,
    }
}

fn rollout(rollout: &Rollout) -> DetailedRollout {
    DetailedRollout {
        owner: one_line(&rollout.object.to_string(), NAME),
        machines: rollout.machines,
        becomes: if rollout.loses_its_owner() { MachinesBecome::Deleted } else { MachinesBecome::Replaced },
    }
}

fn service(service: &ServiceChange) -> DetailedService {
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "no version".to_owned());
    DetailedService {
        name: service.name.clone(),
        role: service.role.to_string(),
        becomes: match service.course {
            ServiceCourse::Add => format!("added, {}", version(&service.to)),
            ServiceCourse::Modify => format!("{} → {}", version(&service.from), version(&service.to)),
            ServiceCourse::Remove => format!("removed, was {}", version(&service.from)),
        },
    }
}

#[cfg(test)]
mod tests {
    use capstan_plan::settings::ServiceRole;

    use super::*;
    use crate::body::tests::upgrade;

    #[test]
    fn an_upgrade_is_shown_with_its_changes_conflicts_findings_and_machines() {
        let detail = TargetDetail::of(&upgrade());
        assert!(detail.diff.contains("\n-v1.16.8\n+v1.21.4\n"), "{}", detail.diff);
        assert!(!detail.diff.contains("```"), "{}", detail.diff);
        assert_eq!(detail.more_changes, 0);
        let conflict = DetailedConflict {
            what: "MachinePool my-org/peu01-mp-0 /spec/replicas".to_owned(),
            sides: ["2", "5", "3"].map(str::to_owned),
            settled: "The cluster's value is kept.".to_owned(),
            blocks: false,
        };
        assert_eq!(detail.conflicts, [conflict]);
        let finding = DetailedFinding {
            rule: "kubernetes-minor-skip".to_owned(),
            severity: Severity::Error,
            message: "`v1.16.8` to `v1.21.4` skips minors".to_owned(),
            place: Some("gauss/peu01/base/machinepool.yaml:9:3".to_owned()),
        };
        assert_eq!((detail.findings, detail.more), (vec![finding], 0));
        let rollouts = detail.rollouts.iter().map(|one| (one.owner.as_str(), one.machines, one.becomes));
        assert_eq!(
            rollouts.collect::<Vec<_>>(),
            [("MachinePool my-org/peu01-mp-0", Some(5), MachinesBecome::Replaced)]
        );
        let nothing = Upgrade::nothing(upgrade().target);
        assert!(TargetDetail::of(&nothing).is_empty());
    }

    #[test]
    fn of_many_the_first_fifty_are_listed_and_a_long_message_is_cut() {
        let mut many = upgrade();
        many.conflicts = vec![many.conflicts[0].clone(); 51];
        many.findings[0].message = "é".repeat(1_001);
        many.rollouts = vec![many.rollouts[0].clone(); 52];
        let service = ServiceChange {
            name: "cilium".to_owned(),
            role: ServiceRole::Cni,
            course: ServiceCourse::Modify,
            folder: None,
            from: Some("1.15".to_owned()),
            to: Some("1.16".to_owned()),
            settings: vec![],
            kept: vec![],
        };
        many.services = vec![service; 53];
        let detail = TargetDetail::of(&many);
        assert_eq!((detail.conflicts.len(), detail.findings.len(), detail.more), (50, 1, 1));
        assert_eq!(detail.findings[0].message, format!("{}…", "é".repeat(1_000)));
        assert_eq!((detail.rollouts.len(), detail.more_rollouts), (50, 2));
        assert_eq!((detail.services.len(), detail.more_services), (50, 3));
        assert_eq!(detail.services[0].becomes, "1.15 → 1.16");
    }
}
