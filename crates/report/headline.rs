//! The first line of a pull request's text: the Kubernetes versions, how many machines of which role, and the
//! order.

use std::collections::BTreeSet;

use super::markdown::text;
use super::values;
use capstan_model::kinds::{is_cluster, is_control_plane, is_version};
use capstan_model::object::ObjectId;
use capstan_model::target::Target;
use capstan_model::version::KubernetesVersion;
use capstan_model::wording::{list, sentence};
use capstan_plan::upgrade::{Change, MachineCount, Rollout, RolloutEffect, Upgrade, ValuesCourse};

/// The name of the control plane among the groups of a topology.
const CONTROL_PLANE: &str = "controlPlane";

/// Replaced machines, by role.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReplacedMachines {
    control_plane: MachineCount,
    workers: MachineCount,
    /// Machines of rollouts with only a sum.
    others: MachineCount,
}

impl ReplacedMachines {
    /// The machines of these rollouts, without those that are deleted with their owner.
    pub(super) fn of<'r>(rollouts: impl IntoIterator<Item = &'r Rollout>) -> Self {
        let mut replaced = Self::default();
        for rollout in rollouts {
            if !rollout.replaces() {
                continue;
            }
            if let Some([control_plane, workers]) = groups(rollout) {
                replaced.control_plane = replaced.control_plane.and(MachineCount::one(Some(control_plane)));
                replaced.workers = replaced.workers.and(MachineCount::one(Some(workers)));
                continue;
            }
            let sort = if is_control_plane(&rollout.object) {
                &mut replaced.control_plane
            } else if is_cluster(&rollout.object) {
                &mut replaced.others
            } else {
                &mut replaced.workers
            };
            *sort = sort.and(MachineCount::one(rollout.machines));
        }
        replaced
    }

    fn all(self) -> MachineCount {
        self.control_plane.and(self.workers).and(self.others)
    }

    /// `3 + 5 machines are replaced`, `at least 3 machines are replaced`, `no machine is replaced`.
    pub(super) fn in_words(self) -> String {
        let all = self.all();
        let is_known = !self.control_plane.is_more && !self.workers.is_more;
        let is_split =
            is_known && self.others.is_none() && !self.control_plane.is_none() && !self.workers.is_none();
        if is_split {
            return format!(
                "{} + {} machines are replaced",
                number(self.control_plane),
                number(self.workers)
            );
        }
        machines(all, "replaced")
    }
}

/// The machines of a topology's groups, the control plane's first; `None` where they differ from the
/// rollout's sum.
fn groups(rollout: &Rollout) -> Option<[u32; 2]> {
    let mut sums = [0_u32; 2];
    for part in &rollout.course.parts {
        let sum = &mut sums[usize::from(part.name != CONTROL_PLANE)];
        *sum = sum.checked_add(part.replaced?)?;
    }
    let [control_plane, workers] = sums;
    let is_all = Some(control_plane.checked_add(workers)?) == rollout.machines;
    (!rollout.course.parts.is_empty() && is_all).then_some(sums)
}

fn number(machines: MachineCount) -> String {
    match (machines.known, machines.is_more) {
        (0, false) => "no".to_owned(),
        (0, true) => "an unknown number of".to_owned(),
        (known, true) => format!("at least {known}"),
        (known, false) => known.to_string(),
    }
}

/// `5 machines are deleted`
fn machines(count: MachineCount, what: &str) -> String {
    let is_one = count.known == 1 || count.is_none();
    format!("{} {} {what}", number(count), if is_one { "machine is" } else { "machines are" })
}

/// What happens to machines: `3 + 5 machines are replaced and 2 machines are deleted`; `None` where nothing
/// does.
pub(super) fn machine_changes<'r>(
    rollouts: impl IntoIterator<Item = &'r Rollout, IntoIter: Clone>,
) -> Option<String> {
    let rollouts = rollouts.into_iter();
    let (replaced, lost) = (ReplacedMachines::of(rollouts.clone()), MachineCount::lost(rollouts));
    let mut parts = Vec::new();
    parts.extend((!replaced.all().is_none()).then(|| replaced.in_words()));
    parts.extend((!lost.is_none()).then(|| machines(lost, "deleted")));
    (!parts.is_empty()).then(|| list(&parts))
}

/// Says that no machine is replaced.
pub(super) fn none_replaced() -> String {
    ReplacedMachines::default().in_words()
}

/// `Kubernetes v1.31.9 → v1.32.7 · 3 + 5 machines are replaced · control plane first`; of clusters that
/// are created, `Kubernetes v1.33.4 · a new cluster`. `None` for a provider set, and for a cluster that is deleted.
pub(super) fn first_line<'u>(
    upgrades: impl IntoIterator<Item = &'u Upgrade, IntoIter: Clone>,
) -> Option<String> {
    let upgrades = upgrades.into_iter();
    let stays = |upgrade: &Upgrade| {
        matches!(upgrade.target, Target::Cluster(_))
            && values::brought(upgrade).is_none_or(|values| values.course == ValuesCourse::Changes)
    };
    if !upgrades.clone().all(stays) {
        return of_new_clusters(upgrades);
    }
    let rollouts = upgrades.clone().flat_map(|upgrade| &upgrade.rollouts);
    let mut parts = Vec::new();
    parts.extend(kubernetes(upgrades.clone()));
    parts.push(ReplacedMachines::of(rollouts.clone()).in_words());
    let lost = MachineCount::lost(rollouts);
    parts.extend((!lost.is_none()).then(|| machines(lost, "deleted")));
    let mut rolls = upgrades.filter_map(|upgrade| is_control_plane_first(&upgrade.rollouts)).peekable();
    parts.extend(
        (rolls.peek().is_some() && rolls.all(|first| first)).then(|| "control plane first".to_owned()),
    );
    Some(parts.join(" · "))
}

/// `Kubernetes v1.33.4 · a new cluster`; `None` where not all are new.
fn of_new_clusters<'u>(upgrades: impl Iterator<Item = &'u Upgrade> + Clone) -> Option<String> {
    let is_new = |upgrade: &Upgrade| {
        values::brought(upgrade).is_some_and(|values| values.course == ValuesCourse::Comes)
    };
    if !upgrades.clone().all(is_new) {
        return None;
    }
    let clusters = match upgrades.clone().count() {
        1 => "a new cluster".to_owned(),
        several => format!("{several} new clusters"),
    };
    let versions: BTreeSet<String> =
        upgrades.filter_map(|upgrade| Some(upgrade.kubernetes.as_ref()?.to_string())).collect();
    if versions.is_empty() {
        return Some(sentence(&clusters));
    }
    let versions = text(&versions.into_iter().collect::<Vec<_>>().join(", "), 100);
    Some(format!("Kubernetes {versions} · {clusters}"))
}

/// The version of Kubernetes after an upgrade, if it changes: that of the control plane, else that of workers; the newest
/// of several.
pub fn kubernetes_after(upgrade: &Upgrade) -> Option<KubernetesVersion> {
    let steps = steps(std::iter::once(upgrade));
    steps.into_iter().filter_map(|[_, after]| KubernetesVersion::parse(after)).max_by_key(|one| one.rank())
}

/// The versions of Kubernetes before and after: those of control planes, else those of workers.
fn steps<'u>(upgrades: impl Iterator<Item = &'u Upgrade> + Clone) -> BTreeSet<[&'u str; 2]> {
    let steps = |wanted: fn(&ObjectId) -> bool| -> BTreeSet<[&'u str; 2]> {
        let changes = upgrades.clone().flat_map(|upgrade| &upgrade.changes);
        changes.filter(|change| wanted(&change.object)).filter_map(step).collect()
    };
    let of_planes = steps(|object| is_control_plane(object) || is_cluster(object));
    if of_planes.is_empty() { steps(|_| true) } else { of_planes }
}

fn kubernetes<'u>(upgrades: impl Iterator<Item = &'u Upgrade> + Clone) -> Option<String> {
    let steps = steps(upgrades);
    if steps.is_empty() {
        return None;
    }
    let all = |side: usize| {
        let versions: BTreeSet<&str> = steps.iter().map(|step| step[side]).collect();
        text(&versions.into_iter().collect::<Vec<_>>().join(", "), 100)
    };
    Some(format!("Kubernetes {} → {}", all(0), all(1)))
}

fn step(change: &Change) -> Option<[&str; 2]> {
    let step = [change.old.as_ref()?.as_str()?, change.new.as_ref()?.as_str()?];
    (is_version(&change.object, &change.path) && step[0] != step[1]).then_some(step)
}

/// Whether the control plane's machines are replaced before the workers'; `None` where one of them is not
/// replaced, or the order is unknown.
fn is_control_plane_first(rollouts: &[Rollout]) -> Option<bool> {
    let mut planes = Vec::new();
    let mut workers = Vec::new();
    for rollout in rollouts.iter().filter(|rollout| rollout.course.effect == RolloutEffect::Replaces) {
        for part in &rollout.course.parts {
            let turns = if part.name == CONTROL_PLANE { &mut planes } else { &mut workers };
            turns.push(part.order);
        }
        if rollout.course.parts.is_empty() && !rollout.loses_its_owner() {
            let turns = if is_control_plane(&rollout.object) { &mut planes } else { &mut workers };
            turns.push(rollout.course.order?);
        }
    }
    Some(planes.into_iter().max()? < workers.into_iter().min()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::tests::{change, upgrade};
    use capstan_model::object::FieldPath;
    use capstan_plan::upgrade::{Course, RolloutPart};
    use serde_json::json;

    fn rollout(kind: &str, machines: Option<u32>, order: Option<u32>) -> Rollout {
        let group =
            if kind == "KubeadmControlPlane" { "controlplane.cluster.x-k8s.io" } else { "cluster.x-k8s.io" };
        let object = ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: Some("my-org".to_owned()),
            name: "peu01".to_owned(),
        };
        let course = Course { order, ..Course::default() };
        Rollout { object, machines, course, ..upgrade().rollouts[0].clone() }
    }

    fn plane(machines: Option<u32>, order: Option<u32>) -> Rollout {
        rollout("KubeadmControlPlane", machines, order)
    }

    fn workers(machines: Option<u32>, order: Option<u32>) -> Rollout {
        rollout("MachineDeployment", machines, order)
    }

    #[test]
    fn the_first_line_says_which_kubernetes_how_many_machines_and_in_which_order() {
        let lost = Rollout { because: vec![FieldPath::root()], ..workers(Some(2), Some(2)) };
        for (rollouts, said) in [
            (vec![], "no machine is replaced"),
            (vec![plane(Some(1), Some(1))], "1 machine is replaced"),
            (
                vec![plane(Some(3), Some(1)), workers(Some(5), Some(2))],
                "3 + 5 machines are replaced · control plane first",
            ),
            (vec![plane(Some(3), Some(1)), workers(Some(5), Some(1))], "3 + 5 machines are replaced"),
            (vec![plane(Some(3), None), workers(Some(5), None)], "3 + 5 machines are replaced"),
            (
                vec![plane(Some(3), Some(1)), workers(None, Some(2))],
                "at least 3 machines are replaced · control plane first",
            ),
            (
                vec![plane(Some(3), Some(1)), workers(None, Some(2)), workers(Some(1), Some(2))],
                "at least 4 machines are replaced · control plane first",
            ),
            (vec![workers(None, Some(2))], "an unknown number of machines are replaced"),
            (vec![workers(Some(5), Some(2)), lost], "5 machines are replaced · 2 machines are deleted"),
        ] {
            let one = Upgrade { rollouts, changes: vec![], ..upgrade() };
            assert_eq!(first_line([&one]).as_deref(), Some(said));
            let versions = change("/spec/template/spec/version", json!("v1.31.9"), json!("v1.32.7"));
            let with = Upgrade { changes: vec![versions], ..one };
            assert_eq!(first_line([&with]), Some(format!("Kubernetes v1.31.9 → v1.32.7 · {said}")));
            let forged = change("/spec/template/spec/version", json!("v1 @a <!--"), json!("v1+rke2r1"));
            let with = Upgrade { changes: vec![forged], ..with };
            let first = format!("Kubernetes v1 @\u{200b}a &lt;\\!-- → v1+rke2r1 · {said}");
            assert_eq!(first_line([&with]), Some(first), "what stands in Git is text");
        }
    }

    #[test]
    fn the_groups_of_a_topology_are_counted_apart_where_they_are_the_whole() {
        let part = |name: &str, replaced, order| RolloutPart {
            name: name.to_owned(),
            replaced,
            created: None,
            deleted: None,
            order,
        };
        let parts =
            vec![part("controlPlane", Some(3), 1), part("md-0", Some(4), 2), part("md-1", Some(1), 2)];
        let mut topology = rollout("Cluster", Some(8), None);
        topology.course.parts = parts;
        let one = Upgrade { rollouts: vec![topology.clone()], changes: vec![], ..upgrade() };
        assert_eq!(first_line([&one]).as_deref(), Some("3 + 5 machines are replaced · control plane first"));
        topology.machines = Some(11);
        let other = Upgrade { rollouts: vec![topology], ..one };
        assert_eq!(first_line([&other]).as_deref(), Some("11 machines are replaced · control plane first"));
    }
}
