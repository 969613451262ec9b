//! Decisions about pull requests: GitHub and Git are asked for what they need, one question after the other.

use std::collections::BTreeMap;

use capstan_bot_core::facts::Facts;
use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::{
    Answers, Carrier, DecidedPull, DecisionStep, Earlier, Form, MergeableFound, MergeableNeed, Need,
    awaited_cluster, keeps_its_form, mergeable, reviewed,
};
use capstan_plan::proposal::{Decisions, Mergeable, ProposalId, ProposalPlan, Reviewed};

use super::SyncError;
use super::earlier::fate_of;
use super::heads::Heads;
use super::inputs::ClusterInputs;
use super::reporters::awaits_rollout;
use capstan_ports::{CodeHost, PullRequest};

/// Reads what they need.
#[derive(Clone, Copy)]
pub(super) struct PullDecisions<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) facts: &'a Facts,
    pub(super) heads: Heads<'a>,
    pub(super) inputs: ClusterInputs<'a>,
}

impl PullDecisions<'_> {
    /// Decides about a pull request and the proposals whose changes it carries.
    pub(super) async fn decide_carrier(
        self,
        planned: PlannedRun<'_>,
        (id, members): (&ProposalId, &[ProposalId]),
        wanted: &BTreeMap<ProposalId, ProposalPlan>,
        earlier: &Earlier,
    ) -> Result<DecidedPull, SyncError> {
        let carrier = Carrier::new(planned, (id, members), wanted, earlier);
        for (member, error) in carrier.outside() {
            tracing::error!(repository = %self.facts.repository.name, cluster = %member, error = %error, "the plan is not published");
        }
        let mut answers = Answers::default();
        loop {
            match carrier.decide(&answers) {
                DecisionStep::Decided(decided) => return Ok(decided),
                DecisionStep::Ask(need) => self.answer(planned, id, need, &mut answers).await?,
            }
        }
    }

    /// Whether an open pull request is kept although the settings move its changes to another one.
    pub(super) async fn keeps_its_form(
        self,
        planned: PlannedRun<'_>,
        id: &ProposalId,
    ) -> Result<Form, SyncError> {
        let mut answers = Answers::default();
        loop {
            match keeps_its_form(planned, id, &answers) {
                DecisionStep::Decided(form) => return Ok(form),
                DecisionStep::Ask(need) => self.answer(planned, id, need, &mut answers).await?,
            }
        }
    }

    /// Answers a question of the decision about that proposal's pull request.
    async fn answer(
        self,
        planned: PlannedRun<'_>,
        id: &ProposalId,
        need: Need,
        answers: &mut Answers,
    ) -> Result<(), SyncError> {
        let open = self.facts.open_proposal(id);
        match need {
            Need::Branch { base } => {
                answers.of_pull.branch = Some(self.heads.branch_facts(id, base.as_ref()).await?);
            }
            Need::Reviewed => {
                let decisions = planned.decided.of(id);
                answers.of_pull.reviewed = Some(match open {
                    Some(open) => self.reviewed(open, &decisions).await?,
                    None => Reviewed::Not,
                });
            }
            Need::Mergeable => {
                answers.of_pull.mergeable = Some(match open {
                    Some(open) => self.mergeable(open).await?,
                    None => Mergeable::PerhapsYes,
                });
            }
            Need::Ended(on, pull) => {
                let ended = fate_of(self.heads, &on, &pull).await?;
                answers.ended.insert(on, ended);
            }
            Need::Rollouts(members) => {
                for member in members {
                    let why = self.rollout_of(planned, &member).await?;
                    answers.rollouts.insert(member, why);
                }
            }
        }
        Ok(())
    }

    /// Why a proposal waits for its cluster's machines, if it does.
    pub(super) async fn rollout_of(
        self,
        planned: PlannedRun<'_>,
        proposal: &ProposalId,
    ) -> Result<Option<String>, SyncError> {
        let Some(cluster) = awaited_cluster(planned, proposal) else { return Ok(None) };
        match awaits_rollout(self.inputs, planned.reporters, planned.scopes, cluster).await {
            // A problem with one cluster's last rollout does not affect the others.
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %self.facts.repository.name, cluster = %proposal, error = %error, "it is unknown whether a rollout is done");
                Ok(Some(format!("It is unknown whether its last rollout is done: {error}")))
            }
            why => why,
        }
    }

    async fn reviewed(self, open: &PullRequest, decisions: &Decisions) -> Result<Reviewed, SyncError> {
        Ok(reviewed(&self.host.merge_queue_state(&self.facts.repository, open).await?, decisions))
    }

    async fn mergeable(self, open: &PullRequest) -> Result<Mergeable, SyncError> {
        let mut found = MergeableFound::default();
        loop {
            match mergeable(self.facts, &found) {
                DecisionStep::Decided(mergeable) => return Ok(mergeable),
                DecisionStep::Ask(MergeableNeed::Head) => {
                    found.head = Some(self.heads.commits.snapshot(&open.head).await?);
                }
                DecisionStep::Ask(MergeableNeed::Pull) => {
                    let now = self.host.pull_request(&self.facts.repository, open.number).await?;
                    found.now = Some(now);
                }
            }
        }
    }
}
