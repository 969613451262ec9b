//! What campaigns do to the decisions of a run: one release after the other, because each takes room from the next.

use std::collections::BTreeMap;

use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::Mode;
use jiff::Timestamp;

use super::moving::Moving;
use super::release::CampaignRelease;
use super::releases::{Obeyed, in_no_wave, moving, unnoted};
use super::standing::{TargetProgress, places};
use crate::planned::PlannedRun;
use crate::proposals::{DecidedPull, Waits};

/// The decisions of a run, to which campaigns are applied.
pub struct Obeying<'a> {
    planned: PlannedRun<'a>,
    /// The progress of every target.
    places: BTreeMap<ProposalId, TargetProgress>,
    /// When it began.
    now: Timestamp,
}

impl<'a> Obeying<'a> {
    /// These decisions. `held` are the proposals that wait for something else.
    pub fn new(
        planned: PlannedRun<'a>,
        decided: &BTreeMap<ProposalId, DecidedPull>,
        held: &BTreeMap<ProposalId, String>,
        now: Timestamp,
    ) -> Self {
        let is_moved = !planned.settings.campaigns.is_empty() && planned.settings.mode != Mode::Observe;
        let places = if is_moved { places(planned, decided, held, now) } else { BTreeMap::new() };
        Self { planned, places, now }
    }

    /// The result before any release is processed. In `mode: observe` it keeps the recorded notes.
    pub fn begin(&self) -> Obeyed {
        let mut obeyed = Obeyed::default();
        if self.planned.settings.campaigns.is_empty() {
            return obeyed;
        }
        if self.planned.settings.mode == Mode::Observe {
            obeyed.campaigns.notes = self.planned.decided.notes().to_vec();
        }
        let strays = in_no_wave(self.planned, &self.places).into_iter();
        obeyed.waiting = strays.map(|(id, why)| (id, Waits { why, for_all: false })).collect();
        obeyed
    }

    /// The releases that move, in their order.
    pub fn releases(&self) -> Vec<Moving<'a>> {
        if self.places.is_empty() { Vec::new() } else { moving(self.planned, &self.places) }
    }

    /// One of them, with what the ones before it began.
    pub fn release(&self, moving: Moving<'a>, obeyed: &Obeyed) -> CampaignRelease<'_, 'a> {
        CampaignRelease::new((self.planned, &self.places), moving, obeyed, self.now)
    }

    /// The result of all campaigns.
    pub fn end(&self, mut obeyed: Obeyed) -> Obeyed {
        obeyed.waiting.extend(unnoted(self.planned, &self.places));
        obeyed
    }
}
