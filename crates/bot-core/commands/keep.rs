//! `keep` and `take`: a conflict is settled, for the cluster's value or for the new one.

use capstan_plan::proposal::{ProposalId, find_conflicts};
use capstan_plan::upgrade::{Conflict, SettledConflict, Side};
use capstan_plan::verbs::OfConflict;
use capstan_report::{Answer, Refusal, not_settled, refused, settled};

use super::given::{CommandContext, Deciding, NotedIn};

const NOTED: NotedIn = NotedIn::Any { instead: "`upgrade.fields` in `.capstan.yaml` sets who owns a field" };

pub(super) fn hear(given: &mut CommandContext<'_>, named: &OfConflict, side: Side) -> Answer {
    let those = meant(given, named);
    given.decide_each(&those, NOTED, |one| decide(one, named, side))
}

/// The clusters that have such a conflict. If none has, only the first cluster, so that the error appears once.
fn meant(given: &CommandContext<'_>, named: &OfConflict) -> Vec<ProposalId> {
    let mut all = given.those();
    let has = |proposal: &ProposalId| {
        let plan = given.plans.get(proposal).and_then(|plan| plan.as_ref().ok());
        plan.is_some_and(|plan| find_conflicts(&plan.conflicts, named).is_ok())
    };
    if all.iter().any(has) {
        all.retain(has);
    } else {
        all.truncate(1);
    }
    all
}

fn decide(one: &mut Deciding<'_, '_>, named: &OfConflict, side: Side) -> Answer {
    let target = one.target();
    let conflicts: &[Conflict] = match one.given.plans.get(one.proposal) {
        Some(Ok(upgrade)) => &upgrade.conflicts,
        Some(Err(why)) => return refused(target, why, Refusal::State),
        None => &[],
    };
    let found = match find_conflicts(conflicts, named) {
        Ok(found) => found,
        Err(why) => {
            let word = one.given.command.verb().word();
            let written = format!("{} {word}{}", one.given.prefix(), argument(named));
            return not_settled(&written, target, &why);
        }
    };
    let by = one.given.by();
    let settle = |conflict: &Conflict| SettledConflict {
        object: conflict.object.clone(),
        path: conflict.path.clone(),
        side,
        values: conflict.settling.values.clone(),
        by: by.to_owned(),
    };
    let all: Vec<SettledConflict> = found.into_iter().map(settle).collect();
    all.iter().for_each(|conflict| one.decisions().settle(conflict.clone()));
    settled(target, &one.proposal.kind, &all)
}

fn argument(named: &OfConflict) -> String {
    let object = named.object.as_ref().map(|(kind, name)| format!(" {kind}/{name}"));
    let path = if named.means_all() { "all".to_owned() } else { named.path.to_string() };
    format!("{} {path}", object.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::testing::{hears, town};

    #[test]
    fn a_conflict_is_settled_where_there_is_one() {
        hears(
            &town(),
            (3, "gauss/peu01"),
            &[
                (
                    "/capstan keep all",
                    "",
                    "!`/capstan keep all` was not carried out: the upgrade of `gauss/peu01` has no conflict to settle.",
                ),
                (
                    "/capstan take Cluster/peu01 /spec/paused",
                    "",
                    "!`/capstan take Cluster/peu01 /spec/paused` was not carried out: the upgrade of `gauss/peu01` has no conflict to settle.",
                ),
            ],
        );
    }

    #[test]
    fn elsewhere_a_cluster_has_to_be_named() {
        hears(
            &town(),
            (9, "kiel/peu01"),
            &[
                (
                    "/capstan keep all",
                    "",
                    "!This pull request is not one of Capstan's open proposals, so there is nothing to decide here; `for CLUSTER` names another one.",
                ),
                (
                    "/capstan take all",
                    "",
                    "!This pull request is not one of Capstan's open proposals, so there is nothing to decide here; `for CLUSTER` names another one.",
                ),
            ],
        );
    }
}
