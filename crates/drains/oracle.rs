//! Both cases of a rollout compared.

use crate::budgets::Refusal;
use crate::plan::Plan;
use crate::rollout::{Case, RolloutCourse, RolloutEnd, all_nodes, simulate};
use crate::verdict::{Drains, MissingFact, Stop, StopCause, Verdict};
use crate::workload::Workload;

/// What happens when the machines of a plan leave.
pub fn drains(workload: &Workload, plan: &Plan) -> Drains {
    let Some(nodes) = all_nodes(workload, plan) else {
        let verdict = Verdict::CannotBeTold { missing: MissingFact::MoreWork };
        return Drains { verdict, steps: Vec::new() };
    };
    let best = simulate(workload, plan, &nodes, Case::Best);
    let surely = match best.end {
        // What the best case does not get past is certain.
        RolloutEnd::Stops(stop) => return Drains { verdict: Verdict::Stops(stop), steps: best.steps },
        RolloutEnd::Unknown(missing) => {
            return Drains { verdict: Verdict::CannotBeTold { missing }, steps: best.steps };
        }
        RolloutEnd::TimesOut { .. } => true,
        RolloutEnd::Through => false,
    };
    let RolloutCourse { end, steps } = simulate(workload, plan, &nodes, Case::Worst);
    let verdict = match end {
        RolloutEnd::Unknown(missing) => Verdict::CannotBeTold { missing },
        RolloutEnd::Stops(stop) => match missing(&stop) {
            Some(missing) => Verdict::CannotBeTold { missing },
            None => Verdict::MayStop(stop),
        },
        RolloutEnd::TimesOut { stop, after_seconds, killed } => {
            Verdict::TimesOut { stop, after_seconds, killed, surely }
        }
        RolloutEnd::Through => {
            let waits = steps.iter().map(|step| step.waited.len()).max();
            Verdict::GoesThrough { waits_at_most: waits.unwrap_or_default() }
        }
    };
    Drains { verdict, steps }
}

/// What would decide whether it stops, if somebody reads it.
fn missing(stop: &Stop) -> Option<MissingFact> {
    match &stop.because {
        StopCause::Eviction { refusal: Refusal::UnknownScale { budget, controller }, .. } => {
            Some(MissingFact::Replicas { budget: budget.clone(), controller: controller.clone() })
        }
        StopCause::UnknownNamespace(name) => Some(MissingFact::NamespaceLabels(name.clone())),
        _ => None,
    }
}
