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

use capstan_bot_core::effects::{BranchThere, Effect};
use capstan_bot_core::facts::ONBOARDING_BRANCH;
use capstan_bot_core::onboarding::{
    Asking, KIND, asking, closed_write, closing, desired, holds_settings, limits_write, open_pull,
    proposal_write, was_answered,
};
use capstan_model::tree::CommitId;
use capstan_plan::onboarding::Onboarding;
use capstan_plan::proposal::{Authorship, judge_head};
use capstan_report::onboarding_body;

use super::{Ending, Run, SyncError};
use crate::performing::Published;
use capstan_fleet::planner::PlannerFailed;
use capstan_ports::PullRequest;

impl Run<'_> {
    /// Opens or updates the onboarding pull request, if there is to be one.
    pub(super) async fn onboard(self) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        let asking = asking(self.facts);
        if asking == Asking::Never || self.was_looked_at().await? {
            return Ok(ending);
        }
        let limits = limits_write();
        if self.performer.refusal(&limits).is_some() {
            return Ok(ending);
        }
        let open = open_pull(self.facts);
        let is_answered = match asking {
            Asking::Never | Asking::Answered => true,
            Asking::Open => false,
            Asking::AskEarlier => was_answered(self.newest_on(ONBOARDING_BRANCH).await?.as_slice()),
        };
        if is_answered {
            self.looked_at().await?;
            return Ok(ending);
        }
        let (tree, today) = (self.facts.base.tree.clone(), self.facts.today);
        let onboarding = match self.ask_planner(move |planner| planner.onboard(tree, today)).await? {
            Ok(onboarding) => onboarding,
            // What ended the processes is recorded and left out, so that the next look gets further.
            Err(PlannerFailed::Exceeded(why)) => {
                self.performer.refused(&limits, &why).await?;
                return Ok(ending);
            }
            Err(failed) => return Err(failed.into()),
        };
        let Some(onboarding) = onboarding else {
            tracing::debug!(repository = %self.repository.name, "neither clusters nor releases: nothing is proposed");
            self.looked_at().await?;
            return Ok(ending);
        };
        let body = onboarding_body(&onboarding);
        let write = proposal_write(&onboarding, &body);
        if self.performer.refusal(&write).is_some() {
            return Ok(ending);
        }
        let published = self.bring_onboarding_up(&onboarding, body, open).await;
        match self.performer.settle(&write, published).await? {
            Some(Published::Overtaken) => ending.look_again(),
            Some(Published::Refused(_)) => {}
            None | Some(_) => self.looked_at().await?,
        }
        Ok(ending)
    }

    /// Closes the onboarding pull request once there are settings, unless a person works on it.
    pub(super) async fn end_onboarding(self) -> Result<(), SyncError> {
        let Some(pull) = open_pull(self.facts) else { return Ok(()) };
        let write = closed_write();
        if self.performer.refusal(&write).is_some() {
            return Ok(());
        }
        let closed = self.close_onboarding(pull).await;
        self.performer.attempt(&write, closed).await.map(drop)
    }

    async fn close_onboarding(self, pull: &PullRequest) -> Result<(), SyncError> {
        if !self.is_own_onboarding(&pull.head, Some(&pull.base)).await? {
            return Ok(());
        }
        let Some(now) = self.performer.still_open(pull.number).await? else { return Ok(()) };
        self.performer.close(now.number, closing(self.facts, &now)).await
    }

    async fn was_looked_at(&self) -> Result<bool, SyncError> {
        let (id, head) = (self.repository.id, &self.facts.base.commit);
        Ok(self.ports.records.check(id, head, KIND).await?.is_some())
    }

    async fn looked_at(&self) -> Result<(), SyncError> {
        let looked = Effect::LookedAt { commit: self.facts.base.commit.clone(), name: KIND };
        self.performer.perform(looked).await.map(drop)
    }

    /// `None` where a person works on the branch.
    async fn bring_onboarding_up(
        self,
        onboarding: &Onboarding,
        body: String,
        open: Option<&PullRequest>,
    ) -> Result<Option<Published>, SyncError> {
        let there = match open.map(|pull| &pull.head).or(self.facts.onboarding.as_ref()) {
            None => None,
            Some(head) => {
                let is_own = self.is_own_onboarding(head, open.map(|pull| &pull.base)).await?;
                let holds = is_own && self.holds_settings(head, &onboarding.settings).await?;
                Some(BranchThere { head: head.clone(), is_own, holds })
            }
        };
        let Some(desired) = desired(self.facts, onboarding, (there.as_ref(), open), body) else {
            tracing::debug!(repository = %self.repository.name, "a person works on {ONBOARDING_BRANCH}: Capstan does not change it");
            return Ok(None);
        };
        self.performer.bring_up(&desired).await.map(Some)
    }

    /// Whether Capstan wrote a head, except for a clean merge of the default branch.
    async fn is_own_onboarding(&self, head: &CommitId, base: Option<&CommitId>) -> Result<bool, SyncError> {
        let read = self.read_head(ONBOARDING_BRANCH, head, base).await?;
        Ok(matches!(judge_head(&read, None), Authorship::Capstan { .. }))
    }

    async fn holds_settings(&self, head: &CommitId, text: &str) -> Result<bool, SyncError> {
        let Some(snapshot) = self.snapshot(head).await? else { return Ok(false) };
        Ok(holds_settings(snapshot.tree.as_ref(), text))
    }
}
