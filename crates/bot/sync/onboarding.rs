//! Onboarding: a repository without settings gets one pull request that adds some, and nothing else.
//!
//! *Expected flow.* The newest pull request of the branch `capstan/onboarding` has people's answer: closed
//! means no, merged means done, and neither is asked again. If there is none, the planner looks at the
//! repository, and the branch, its file and the body are written.
//!
//! *Guarantees.* A repository is asked once: the answer is on GitHub, not in the database, which only saves a
//! second look at the same commit. A branch that a person edited is not touched, and neither is one of that
//! name that is not Capstan's. A repository without clusters, Cluster API objects and releases gets nothing,
//! because Capstan would have nothing to do there: an App that is installed on all repositories of an
//! organisation must not ask in each. Forks get nothing either; their upstream is asked.

use capstan_bot_core::effects::Effect;
use capstan_bot_core::facts::{Facts, ONBOARDING_BRANCH};
use capstan_bot_core::onboarding::{
    KIND, OnboardingFound, OnboardingNeed, OnboardingStep, closed_write, closing, next_step, open_pull,
};
use capstan_bot_core::proposals::DecisionStep;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::{Authorship, judge_head};

use super::SyncError;
use super::ending::Ending;
use super::heads::Heads;
use super::planning::TreePlanner;
use crate::performing::{Performer, Published};
use capstan_fleet::planner::PlannerFailed;
use capstan_ports::{Clock, PullRequest, Records};

/// Writes it.
#[derive(Clone, Copy)]
pub(super) struct OnboardingPull<'a> {
    pub(super) records: &'a dyn Records,
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) heads: Heads<'a>,
    pub(super) planner: TreePlanner<'a>,
    pub(super) performer: &'a Performer<'a>,
}

impl OnboardingPull<'_> {
    /// Opens or updates the onboarding pull request, if there is to be one.
    pub(super) async fn bring_up(self) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        let mut found = OnboardingFound::default();
        let step = loop {
            let need = match next_step(self.facts, &found, self.clock.now()) {
                DecisionStep::Decided(step) => break step,
                DecisionStep::Ask(need) => need,
            };
            self.find(need, &mut found).await?;
        };
        match step {
            OnboardingStep::Nothing => {}
            OnboardingStep::Rests => self.record_survey().await?,
            OnboardingStep::Exceeds(write, why) => {
                self.performer.refused(&write, &why).await?;
            }
            OnboardingStep::Writes(write, desired) => {
                let published = match desired {
                    Some(desired) => self.performer.bring_up(&desired).await.map(Some),
                    None => {
                        tracing::debug!(repository = %self.facts.repository.name, "a person works on {ONBOARDING_BRANCH}: Capstan does not change it");
                        Ok(None)
                    }
                };
                match self.performer.settle(&write, published).await? {
                    Some(Published::Overtaken) => ending.look_again(),
                    Some(Published::Refused(_)) => {}
                    None | Some(_) => self.record_survey().await?,
                }
            }
        }
        Ok(ending)
    }

    /// Finds out what the decision has to know.
    async fn find(self, need: OnboardingNeed, found: &mut OnboardingFound) -> Result<(), SyncError> {
        match need {
            OnboardingNeed::Surveyed => {
                let (id, head) = (self.facts.repository.id, &self.facts.base.commit);
                found.surveyed = Some(self.records.check(id, head, KIND).await?.is_some());
            }
            OnboardingNeed::Newest => found.newest = Some(self.heads.newest_on(ONBOARDING_BRANCH).await?),
            OnboardingNeed::Proposal => {
                let (tree, today) = (self.facts.base.tree.clone(), self.planner.today);
                found.proposal =
                    Some(match self.planner.ask(move |planner| planner.onboard(tree, today)).await? {
                        Ok(onboarding) => Ok(onboarding),
                        Err(PlannerFailed::Exceeded(why)) => Err(why),
                        Err(failed) => return Err(failed.into()),
                    });
            }
            OnboardingNeed::IsOwn(head) => {
                let base = open_pull(self.facts).map(|pull| &pull.base);
                found.is_own = Some(self.is_own(&head, base).await?);
            }
            OnboardingNeed::Content(head) => {
                found.content = Some(self.heads.commits.snapshot(&head).await?);
            }
        }
        Ok(())
    }

    /// Closes the onboarding pull request once there are settings, unless a person works on it.
    pub(super) async fn end(self) -> Result<(), SyncError> {
        let Some(pull) = open_pull(self.facts) else { return Ok(()) };
        let write = closed_write();
        if self.performer.refusal(&write).is_some() {
            return Ok(());
        }
        let closed = self.close_onboarding(pull).await;
        self.performer.attempt(&write, closed).await.map(drop)
    }

    async fn close_onboarding(self, pull: &PullRequest) -> Result<(), SyncError> {
        if !self.is_own(&pull.head, Some(&pull.base)).await? {
            return Ok(());
        }
        let Some(now) = self.performer.still_open(pull.number).await? else { return Ok(()) };
        self.performer.close(now.number, closing(self.facts, &now)).await
    }

    async fn record_survey(self) -> Result<(), SyncError> {
        let looked = Effect::Inspected { commit: self.facts.base.commit.clone(), name: KIND };
        self.performer.perform(looked).await.map(drop)
    }

    /// Whether Capstan wrote a head, except for a clean merge of the default branch.
    async fn is_own(self, head: &CommitId, base: Option<&CommitId>) -> Result<bool, SyncError> {
        let read = self.heads.read_head(ONBOARDING_BRANCH, head, base).await?;
        Ok(matches!(judge_head(&read, None), Authorship::Capstan { .. }))
    }
}
