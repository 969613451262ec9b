//! The fields by which the fleet page sorts and groups clusters.

use capstan_facts::{FleetFacts, WavePlace};
use capstan_plan::proposal::ProposalId;
use capstan_plan::upgrade::MachineCount;

use super::moving::wave_in;
use crate::planned::Planned;

/// The current and the offered version of Kubernetes, the wave and the machines of a proposal's target.
pub fn fleet_facts(planned: Planned<'_>, proposal: &ProposalId) -> FleetFacts {
    let wave = wave_in(planned, proposal).map(|(place, wave)| WavePlace { place, name: wave.name.clone() });
    let Some(upgrade) = planned.plan_of(proposal) else {
        return FleetFacts { wave, ..FleetFacts::default() };
    };
    let now = &upgrade.kubernetes_now;
    let machines = MachineCount::replaced(&upgrade.rollouts).exactly().filter(|_| upgrade.to.is_some());
    FleetFacts {
        kubernetes: now.clone(),
        kubernetes_offered: upgrade.kubernetes.clone().filter(|offered| now.as_ref() != Some(offered)),
        wave,
        machines: machines.map(|machines| u32::try_from(machines).unwrap_or(u32::MAX)),
    }
}
