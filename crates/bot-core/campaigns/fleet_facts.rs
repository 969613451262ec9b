//! The fields by which the fleet page sorts and groups clusters.

use capstan_facts::{FleetFacts, WavePlace};
use capstan_plan::proposal::ProposalId;
use capstan_plan::upgrade::MachineCount;
use capstan_report::kubernetes_after;

use super::moving::wave_in;
use crate::planned::PlannedRun;

/// The current and the offered version of Kubernetes, the wave and the machines of a proposal's target.
pub(super) fn fleet_facts(planned: PlannedRun<'_>, proposal: &ProposalId) -> FleetFacts {
    let wave = wave_in(planned, proposal).map(|(place, wave)| WavePlace { place, name: wave.name.clone() });
    let Some(upgrade) = planned.plan_of(proposal) else {
        return FleetFacts { wave, ..FleetFacts::default() };
    };
    let now = &upgrade.kubernetes_now;
    let offered = kubernetes_after(upgrade).or_else(|| upgrade.kubernetes.clone());
    let machines = MachineCount::replaced(&upgrade.rollouts);
    let is_offer = upgrade.to.is_some();
    FleetFacts {
        kubernetes: now.clone(),
        kubernetes_offered: offered.filter(|offered| now.as_ref() != Some(offered)),
        wave,
        machines: is_offer.then(|| u32::try_from(machines.known).unwrap_or(u32::MAX)),
        more_machines: is_offer && machines.is_more,
    }
}
