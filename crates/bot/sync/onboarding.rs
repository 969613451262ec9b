//! First contact: a repository without settings gets one pull request that adds some, and nothing else.
//!
//! *Expected flow.* The newest pull request of the branch `capstan/onboarding` tells what people said: closed is no,
//! merged is done, and neither is asked again. Else the planner looks at the repository, and the branch, its file and
//! the body are brought to what it proposes.
//!
//! *Guarantees.* Asked once: what people said stands on GitHub, not in the database, which only spares a second look at
//! the same commit. A branch that a person edited is left alone, as is one of that name that is none of Capstan's. What
//! has neither a cluster nor anything of Cluster API's nor a release gets nothing, for there Capstan would have nothing to
//! do: an App that is installed on all repositories of an organisation must not ask in each. So do forks, whose own
//! repository is asked.

use capstan_bot_core::facts::ONBOARDING_BRANCH as BRANCH;
use capstan_bot_core::onboarding::{
    Asking, KIND, asking, closed_write, commit_message, holds_settings, limits_write, open_pull,
    proposal_write, settings_path, was_answered,
};
use capstan_model::tree::CommitId;
use capstan_plan::onboarding::Onboarding;
use capstan_plan::proposal::{Authorship, judge_head};
use capstan_plan::settings::REPOSITORY_FILE;
use capstan_report::{ONBOARDING_TITLE, closed_body, onboarding_body, says_onboarding};

use super::{Ending, Run, SyncError};
use capstan_fleet::planner::PlannerFailed;
use capstan_ports::{
    AuditEntry, CheckRecord, CreatedPullRequest, CreatedReference, MovedReference, NewPullRequest,
    NewTreeEntry, PullRequest, PullRequestEdit, PullRequestState,
};

/// What came of writing.
enum Asked {
    /// All is as proposed.
    Done,
    /// A person's branch: it is theirs.
    Theirs,
    /// Somebody was quicker.
    Overtaken,
    /// GitHub's rules refuse it, in its words.
    Refused(String),
}

impl Run<'_> {
    /// Brings the pull request of first contact up, where there is to be one.
    pub(super) async fn onboard(self) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        let asking = asking(self.facts);
        if asking == Asking::Never || self.was_looked_at().await? {
            return Ok(ending);
        }
        let limits = limits_write();
        if self.refusal(&limits).is_some() {
            return Ok(ending);
        }
        let open = open_pull(self.facts);
        let is_answered = match asking {
            Asking::Never | Asking::Answered => true,
            Asking::Open => false,
            Asking::AskEarlier => self.was_answered().await?,
        };
        if is_answered {
            self.looked_at().await?;
            return Ok(ending);
        }
        let (tree, today) = (self.facts.base.tree.clone(), self.facts.today);
        let onboarding = match self.ask_planner(move |planner| planner.onboard(tree, today)).await? {
            Ok(onboarding) => onboarding,
            // What ended the processes is known then and left out, so that the next look comes further.
            Err(PlannerFailed::Exceeded(why)) => {
                self.refused(&limits, &why).await?;
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
        if self.refusal(&write).is_some() {
            return Ok(ending);
        }
        let asked = match self.bring_onboarding_up(&onboarding, body, open).await {
            Ok(asked) => asked,
            Err(error) => {
                self.attempt(&write, Err(error)).await?;
                return Ok(ending);
            }
        };
        match asked {
            Asked::Done | Asked::Theirs => {
                self.taken(&write).await?;
                self.looked_at().await?;
            }
            Asked::Overtaken => ending.look_again(),
            Asked::Refused(why) => {
                self.refused(&write, &why).await?;
            }
        }
        Ok(ending)
    }

    /// Closes the pull request of first contact once there are settings, unless a person works on it.
    pub(super) async fn end_onboarding(self) -> Result<(), SyncError> {
        let Some(pull) = open_pull(self.facts) else { return Ok(()) };
        let write = closed_write();
        if self.refusal(&write).is_some() {
            return Ok(());
        }
        let closed = self.close_onboarding(pull).await;
        self.attempt(&write, closed).await.map(drop)
    }

    async fn close_onboarding(self, pull: &PullRequest) -> Result<(), SyncError> {
        if !self.is_own_onboarding(&pull.head, Some(&pull.base)).await? {
            return Ok(());
        }
        let now = self.ports.host.pull_request(self.repository, pull.number).await?;
        if now.state != PullRequestState::Open {
            return Ok(());
        }
        let why = format!("`{REPOSITORY_FILE}` stands on the default branch now, and what it says holds.");
        let edit =
            PullRequestEdit { title: None, body: Some(closed_body(&now.body, &why, None)), close: true };
        self.ports.host.edit_pull_request(self.repository, pull.number, &edit).await?;
        self.audit_onboarding("onboarding-closed", format!("#{}: there are settings", pull.number)).await
    }

    /// Whether a person closed or merged an earlier one.
    async fn was_answered(&self) -> Result<bool, SyncError> {
        let newest =
            self.ports.host.newest_pull_requests(self.repository, &[BRANCH.to_owned()], None).await?;
        Ok(was_answered(&newest))
    }

    async fn was_looked_at(&self) -> Result<bool, SyncError> {
        let (id, head) = (self.repository.id, &self.facts.base.commit);
        Ok(self.ports.records.check(id, head, KIND).await?.is_some())
    }

    async fn looked_at(&self) -> Result<(), SyncError> {
        let record = CheckRecord {
            repository: self.repository.id,
            head: self.facts.base.commit.clone(),
            name: KIND.to_owned(),
            check_run: 0,
            content: String::new(),
            verdict: None,
            pressed: None,
        };
        Ok(self.ports.records.save_check(&record).await?)
    }

    async fn bring_onboarding_up(
        &self,
        onboarding: &Onboarding,
        body: String,
        open: Option<&PullRequest>,
    ) -> Result<Asked, SyncError> {
        let head = open.map(|pull| &pull.head).or(self.facts.onboarding.as_ref());
        if let Some(head) = head {
            if !self.is_own_onboarding(head, open.map(|pull| &pull.base)).await? {
                tracing::debug!(repository = %self.repository.name, "a person works on {BRANCH}: it is left alone");
                return Ok(Asked::Theirs);
            }
            if !self.holds_settings(head, &onboarding.settings).await? {
                if let Some(pull) = open
                    && self.ports.host.pull_request(self.repository, pull.number).await?.state
                        != PullRequestState::Open
                {
                    return Ok(Asked::Overtaken);
                }
                let commit = self.commit_settings(onboarding).await?;
                match self.ports.host.move_branch(self.repository, BRANCH, head, &commit).await? {
                    MovedReference::Moved => {}
                    MovedReference::Elsewhere => return Ok(Asked::Overtaken),
                    MovedReference::Refused(why) => return Ok(Asked::Refused(why)),
                }
            }
        } else {
            let commit = self.commit_settings(onboarding).await?;
            match self.ports.host.create_branch(self.repository, BRANCH, &commit).await? {
                CreatedReference::Created => {}
                CreatedReference::Exists => return Ok(Asked::Overtaken),
                CreatedReference::Refused => {
                    return Ok(Asked::Refused(format!("the branch {BRANCH} may not be created")));
                }
            }
        }
        match open {
            None => self.open_onboarding(body).await,
            Some(pull) if says_onboarding(&pull.body, onboarding) => Ok(Asked::Done),
            Some(pull) => {
                let edit = PullRequestEdit { title: None, body: Some(body), close: false };
                self.ports.host.edit_pull_request(self.repository, pull.number, &edit).await?;
                self.audit_onboarding("onboarding-updated", format!("#{}", pull.number)).await?;
                Ok(Asked::Done)
            }
        }
    }

    async fn open_onboarding(&self, body: String) -> Result<Asked, SyncError> {
        let new = NewPullRequest {
            title: ONBOARDING_TITLE.to_owned(),
            body,
            head_branch: BRANCH.to_owned(),
            base_branch: self.repository.default_branch.clone(),
            draft: false,
        };
        match self.ports.host.create_pull_request(self.repository, &new).await? {
            CreatedPullRequest::Created(pull) => {
                self.audit_onboarding("onboarding-opened", format!("#{}", pull.number)).await?;
                Ok(Asked::Done)
            }
            CreatedPullRequest::Exists | CreatedPullRequest::NothingBetween => Ok(Asked::Overtaken),
        }
    }

    /// A commit on the default branch's tip that adds the one file, and can write nothing else.
    async fn commit_settings(&self, onboarding: &Onboarding) -> Result<CommitId, SyncError> {
        let path = settings_path();
        let entry = NewTreeEntry::Write { path, text: onboarding.settings.clone(), executable: false };
        let base = &self.facts.base;
        let tree = self.ports.host.create_tree(self.repository, &base.root, &[entry]).await?;
        let message = commit_message(onboarding, &base.root);
        self.write_sealed(BRANCH, &base.commit, tree, message).await
    }

    /// Whether a head is what Capstan wrote, a clean merge of the default branch aside.
    async fn is_own_onboarding(&self, head: &CommitId, base: Option<&CommitId>) -> Result<bool, SyncError> {
        let read = self.read_head(BRANCH, head, base).await?;
        Ok(matches!(judge_head(&read, None), Authorship::Capstan { .. }))
    }

    async fn holds_settings(&self, head: &CommitId, text: &str) -> Result<bool, SyncError> {
        let Some(snapshot) = self.snapshot(head).await? else { return Ok(false) };
        Ok(holds_settings(snapshot.tree.as_ref(), text))
    }

    async fn audit_onboarding(&self, action: &'static str, detail: String) -> Result<(), SyncError> {
        let entry = AuditEntry {
            repository: self.repository.id,
            proposal: None,
            actor: "capstan".to_owned(),
            action,
            detail,
        };
        Ok(self.ports.records.audit(&entry).await?)
    }
}
