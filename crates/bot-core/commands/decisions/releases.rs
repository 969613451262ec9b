//! Releases that people ask for by name.

use std::collections::BTreeSet;

use capstan_model::ids::ReleaseName;
use capstan_model::source::SourceId;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{Command as Wish, ProposalId, RolledBack};
use capstan_plan::settings::Mode;
use capstan_plan::verbs::Command;
use capstan_report::{Refusal, refused};

use super::super::request::{Request, RequestId};
use super::super::rollbacks::RollBacks;
use super::{Decided, Ground};
use crate::facts::Plans;

/// A release that is asked for now.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    request: RequestId,
    at: usize,
    /// What was asked for before.
    before: (Option<ReleaseName>, Option<RolledBack>),
}

impl Decided {
    /// Adds the releases that are asked for now; what is planned then shows whether they are offered
    /// ([`Self::take_back_releases`]).
    pub fn hear_releases(&mut self, ground: Ground<'_>, requests: &[Request], rollbacks: &RollBacks) {
        if ground.settings.mode == Mode::Observe {
            return;
        }
        for request in requests {
            for (at, command) in request.carried_out() {
                let (proposals, release, rollback) = match command {
                    Command::Upgrade(to) => {
                        let proposals = ground.facts.proposals_of(ground.scopes, request, command);
                        for proposal in &proposals {
                            self.wishes.insert(proposal.clone(), Wish::Offer);
                        }
                        let Some(release) = to.release.clone() else { continue };
                        (proposals, release, None)
                    }
                    Command::Rollback(_) => match rollbacks.of(request, at) {
                        Some(Ok((proposal, back))) => {
                            let leaves = SourceId::from(&back.leaves).to_string();
                            let by = request.by.clone();
                            (vec![proposal.clone()], back.to.clone(), Some(RolledBack { leaves, by }))
                        }
                        Some(Err(why)) => {
                            let proposal =
                                ground.facts.proposals_of(ground.scopes, request, command).into_iter().next();
                            let target = proposal.map(|proposal| proposal.target.path().to_owned());
                            let answer = refused(
                                target.as_deref().unwrap_or("rollback"),
                                &format!("{}.", sentence(why)),
                                Refusal::NotRolledBack,
                            );
                            self.answers.insert((request.id(), at), answer);
                            continue;
                        }
                        None => continue,
                    },
                    _ => continue,
                };
                for proposal in proposals {
                    self.wishes.insert(proposal.clone(), Wish::Offer);
                    let decisions = self.decisions.entry(proposal.clone()).or_default();
                    decisions.skipped = None;
                    let before = (decisions.release.replace(release.clone()), decisions.rollback.take());
                    decisions.rollback.clone_from(&rollback);
                    // Of several the last counts, and none of them stood there before.
                    let before = self.asked.remove(&proposal).map_or(before, |earlier| earlier.before);
                    self.changed.insert(proposal.clone());
                    self.asked.insert(proposal, Asked { request: request.id(), at, before });
                }
            }
        }
    }

    /// Takes back the releases that were asked for now and are not offered: why is the answer. Of these proposals the plans
    /// are others then.
    pub(super) fn take_back_releases(&mut self, plans: &Plans) -> BTreeSet<ProposalId> {
        let mut taken_back = BTreeSet::new();
        for (proposal, asked) in std::mem::take(&mut self.asked) {
            let why = match plans.get(&proposal) {
                Some(Ok(_)) => continue,
                Some(Err(why)) => why.clone(),
                None => "there is no such cluster on the default branch.".to_owned(),
            };
            let answer = refused(proposal.target.path(), &why, Refusal::State);
            let earlier = self.answers.remove(&(asked.request.clone(), asked.at)).unwrap_or_default();
            self.answers.insert((asked.request, asked.at), earlier.and(answer));
            let decisions = self.decisions.entry(proposal.clone()).or_default();
            (decisions.release, decisions.rollback) = asked.before;
            self.wishes.remove(&proposal);
            self.changed.remove(&proposal);
            taken_back.insert(proposal);
        }
        taken_back
    }
}
