//! Commands are heard: what they ask for is added to what people decided before. Releases come first, because plans depend on
//! them.

use std::collections::BTreeSet;

use capstan_plan::proposal::{ProposalCommand as Wish, ProposalId};
use capstan_plan::settings::Mode;

use super::catalogue;
use super::given::CommandContext;
use super::replan;
use super::rollback::RollBacks;
use crate::facts::TargetPlans;
use crate::requests::{Ground, Request, RunDecisions};

impl RunDecisions {
    /// Adds the releases that are asked for now. The plans show then whether they are offered, and [`Self::hear`] takes the
    /// others back.
    pub fn hear_releases(&mut self, ground: Ground<'_>, requests: &[Request], rollbacks: &RollBacks) {
        if ground.settings.mode == Mode::Observe {
            return;
        }
        for request in requests {
            for (at, command) in request.carried_out() {
                let place = (request.id(), at);
                let proposals = ground.facts.proposals_of(ground.scopes, request, command);
                match catalogue::release(command, (request, at), proposals, rollbacks) {
                    Some(Ok(asked)) => {
                        let release =
                            asked.release.as_ref().map(|release| (release, asked.rollback.as_ref()));
                        match release {
                            Some(release) => self.ask_release(asked.proposals, release, &place),
                            None => {
                                asked.proposals.into_iter().for_each(|one| self.wish_of(one, Wish::Offer))
                            }
                        }
                    }
                    Some(Err(answer)) => self.say(place, answer),
                    None => {}
                }
            }
        }
    }

    /// Adds what is asked for now; `plans` are those of what was decided so far. The proposals that it returns have to be
    /// planned again.
    pub fn hear(
        &mut self,
        ground: Ground<'_>,
        requests: &[Request],
        plans: &TargetPlans,
    ) -> BTreeSet<ProposalId> {
        let mut settled = self.take_back_releases(plans);
        for request in requests {
            let ended = ground.facts.ended_shared(request);
            self.hear_wish(ground, request, ended.as_deref());
            for (at, command) in request.carried_out() {
                let mut given = CommandContext {
                    decided: &mut *self,
                    ground,
                    plans,
                    request,
                    at,
                    command,
                    is_ended: ended.is_some(),
                    settled: &mut settled,
                };
                if let Some(answer) = catalogue::hear(&mut given) {
                    self.say((request.id(), at), answer);
                }
            }
        }
        settled
    }

    /// Adds what a request wishes of its pull request's proposal as a whole. Of several wishes the one that loses least
    /// counts.
    fn hear_wish(&mut self, ground: Ground<'_>, request: &Request, ended: Option<&[ProposalId]>) {
        let loss = |wish: &Wish| match wish {
            Wish::Skip => 0,
            Wish::Offer => 1,
            Wish::Replan => 2,
            Wish::None => 3,
        };
        let wishes = request.carried_out().filter_map(|(_, command)| catalogue::wish(command));
        let (Some(wish), Some(proposal)) = (wishes.min_by_key(loss), ground.facts.proposal_asked(request))
        else {
            return;
        };
        // One cluster of several is skipped by itself.
        if wish == Wish::Skip && (request.is_tick() || ended.is_some()) {
            return;
        }
        // On a shared pull request that has ended, the wish is about the clusters that it had: another one may be open by
        // now, with other clusters.
        let those = ended.filter(|members| !members.is_empty()).map(<[ProposalId]>::to_vec);
        for one in those.unwrap_or_else(|| vec![proposal]) {
            if wish == replan::WISH {
                self.forget_skip(&one);
            }
            self.wish_of(one, wish);
        }
    }
}
