//! MachineDeployments and MachineSets.

use super::cluster_change::ClusterChange;
use super::control_plane::refreshed_in_place;
use super::course::CourseFindings;
use super::facts;
use super::numbers::rolling;
use super::owner::MachineOwner;
use super::pair::FieldPair;
use super::pointer::PointerTarget;
use capstan_yaml::Value;

impl ClusterChange<'_> {
    pub(super) fn workers(&self, owner: MachineOwner, pair: FieldPair<'_>) -> CourseFindings {
        let mut verdict = CourseFindings::default();
        for pointer in facts::WORKER_ROLLS {
            if pair.differs(pointer) {
                verdict.definitely(pointer);
            }
        }
        self.references(&mut verdict, pair);
        refreshed_in_place(&mut verdict, pair);
        if owner == MachineOwner::Set {
            let changed = verdict.is_definite();
            rolling(&mut verdict, pair);
            verdict.course.strategy = None;
            verdict.replaces(Some(0));
            if changed {
                verdict.note("A MachineSet replaces no machines. Existing machines stay as they are; new ones use the new template.");
            }
            return verdict;
        }
        Self::rollout_after(&mut verdict, pair, facts::set_made_before);
        let strategy = |value: &Value| {
            facts::STRATEGIES
                .iter()
                .find_map(|pointer| value.at(pointer)?.get("type")?.as_str())
                .unwrap_or("RollingUpdate")
                .to_owned()
        };
        let (was, is) = (strategy(pair.before), strategy(pair.after));
        if was == "OnDelete" && is != "OnDelete" {
            let pointer = facts::STRATEGIES
                .iter()
                .find(|pointer| pair.after.at(pointer).is_some() || pair.before.at(pointer).is_some());
            verdict.perhaps(&format!("{}/type", pointer.unwrap_or(&"/spec/strategy")));
            verdict.note("Machines that `OnDelete` left unchanged are replaced now.");
        }
        let (numbers, replacing) = rolling(&mut verdict, pair);
        if is == "OnDelete" && verdict.is_definite() {
            verdict.replaces(Some(0));
            verdict.note(facts::ON_DELETE);
        } else if verdict.is_definite() {
            numbers.while_deployment_rolls(&replacing).into_iter().for_each(|note| verdict.note(note));
        }
        if pair.after.at("/spec/paused") == Some(&Value::Bool(true)) {
            verdict.note("Paused: nothing happens until somebody removes the pause.");
        }
        verdict
    }
}
