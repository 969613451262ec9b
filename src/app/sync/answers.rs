//! The one answer to each comment with slash-commands.
//!
//! A comment is answered once: the database remembers it, and where that is lost, Capstan's own answer
//! does, by a hidden marker. The answer is written last, so that a death before it repeats the command,
//! which does nothing where it was done already; and so does an answer that GitHub refused, when it is tried again.

use capstan_model::ids::ClusterId;
use capstan_model::wording::sentence;
use capstan_plan::command::{self, Hearing};
use capstan_plan::proposal::{ProposalId, Wanted, wanted};
use capstan_plan::settings::CommandPrefix;
use capstan_report::{
    Proposal, about, answer, edited_refusal, plan_answer, refusal, unseen_refusal, untold_refusal,
};

use super::outcome::Outcome;
use super::refusals::Write;
use super::requests::Request;
use super::{Ending, Planned, Run, Scopes, SyncError};
use crate::app::ports::{AuditEntry, CodeHostError, Comment, PullRequest, Reaction};

/// Plans shown in one answer; a comment has no room for more.
const MAX_PLANS: usize = 5;

impl Run<'_> {
    /// The proposal that a pull request carries; of a person's, those that bring the clusters that it touches to
    /// a newer release. Where nobody can read what it touches, however often it is tried, the words of that.
    pub(super) async fn concerned(
        &self,
        pull: &PullRequest,
        scopes: &Scopes,
    ) -> Result<Result<Vec<ProposalId>, String>, SyncError> {
        if let Some(proposal) = self.facts.proposal_of(pull) {
            return Ok(Ok(vec![proposal]));
        }
        match self.touched_by_head(pull, scopes).await {
            Ok(clusters) => Ok(Ok(clusters.into_iter().map(ProposalId::of_release).collect())),
            Err(error) if error.is_lasting() => {
                tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "what a pull request touches cannot be read");
                let why = error.to_string();
                let why = sentence(why.trim_end_matches('.'));
                Ok(Err(format!("Capstan cannot read what this pull request touches. {why}.\n")))
            }
            Err(error) => Err(error),
        }
    }

    async fn retarget_text(
        self,
        request: &Request,
        planned: Planned<'_>,
        outcome: &Outcome,
    ) -> Result<String, SyncError> {
        let proposals = match self.concerned(&request.pull, planned.scopes).await? {
            Ok(proposals) => proposals,
            Err(why) => return Ok(why),
        };
        if proposals.is_empty() {
            return Ok("This pull request touches no cluster, so there is no overlay to edit.\n".to_owned());
        }
        Ok(proposals
            .iter()
            .take(MAX_PLANS)
            .map(|proposal| one_retarget(proposal, planned, outcome))
            .collect())
    }

    pub(super) async fn answer_commands(
        self,
        planned: Planned<'_>,
        requests: &[Request],
        outcome: &Outcome,
    ) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        for request in requests {
            // Somebody was quicker with the branch: the next run finds out with what, and answers.
            if request.rewritten.iter().any(|proposal| outcome.overtaken.contains(proposal)) {
                continue;
            }
            match self.answer_one(request, planned, outcome).await {
                // What goes wrong with one request is not its neighbours' trouble: the run goes on, and fails at
                // its end.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, comment = request.comment.id, error = %error, "a comment's commands could not be answered");
                    ending.fail(error);
                }
                answered => answered?,
            }
        }
        Ok(ending)
    }

    async fn answer_one(
        self,
        request: &Request,
        planned: Planned<'_>,
        outcome: &Outcome,
    ) -> Result<(), SyncError> {
        let parts = self.parts(request, planned, outcome).await?;
        self.answer(request, &parts).await
    }

    async fn parts(
        self,
        request: &Request,
        planned: Planned<'_>,
        outcome: &Outcome,
    ) -> Result<Vec<String>, SyncError> {
        let prefix = &planned.settings.commands.prefix;
        if request.hearing == Hearing::Edited {
            return Ok(vec![edited_refusal(prefix.as_str())]);
        }
        let mut parts = Vec::new();
        for command in &request.commands {
            parts.push(match command {
                Ok(command::Command::Help) => command::help(prefix),
                Ok(command) if request.hearing != Hearing::Obeyed => refusal(&written(prefix, *command)),
                Ok(command) if !request.carries_out(*command) => unseen_text(request, prefix, *command),
                Ok(command::Command::Plan) => self.plan_text(request, planned, prefix).await?,
                Ok(command::Command::Replan) => self.replan_text(request, planned, outcome),
                Ok(command::Command::Retarget) => self.retarget_text(request, planned, outcome).await?,
                Err(error) => format!("{}\n\n{}", error.answer(prefix), command::help(prefix)),
            });
        }
        parts.dedup();
        Ok(parts)
    }

    async fn answer(&self, request: &Request, parts: &[String]) -> Result<(), SyncError> {
        let (host, comment) = (&self.ports.host, &request.comment);
        let number = request.pull.number;
        let written = host.create_comment(self.repository, number, &answer(comment.id, parts)).await;
        // Nobody is there any more to be answered.
        if matches!(written, Err(CodeHostError::NotFound { .. })) && self.is_gone(number).await? {
            return Ok(());
        }
        let written = written.map(drop).map_err(SyncError::from);
        if self.attempt(&Write::answer(comment.id), written).await?.is_some() {
            return Ok(());
        }
        self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
        let understood = request.commands.iter().all(Result::is_ok);
        let help_only = request.commands.iter().all(|command| *command == Ok(command::Command::Help));
        let (reaction, action) = match (request.hearing, understood) {
            (Hearing::Edited, _) => (Reaction::Confused, "command-edited"),
            (Hearing::Obeyed, true) if request.unseen.is_some() => (Reaction::Confused, "command-overtaken"),
            (Hearing::Obeyed, true) => (Reaction::ThumbsUp, "command-answered"),
            (Hearing::Obeyed, false) => (Reaction::Confused, "command-unknown"),
            (_, true) if help_only => (Reaction::ThumbsUp, "command-answered"),
            _ => (Reaction::Confused, "command-refused"),
        };
        self.react(comment, reaction).await?;
        self.audit_command(comment, number, action, self.facts.proposal_of(&request.pull)).await
    }

    /// A comment that is gone, or whose conversation is locked, is none the worse without a reaction.
    pub(super) async fn react(&self, comment: &Comment, reaction: Reaction) -> Result<(), SyncError> {
        match self.ports.host.react(self.repository, comment.id, reaction).await {
            Err(error) if error.is_refusal() => {
                tracing::debug!(repository = %self.repository.name, comment = comment.id, error = %error, "GitHub takes no reaction");
                Ok(())
            }
            result => Ok(result?),
        }
    }

    pub(super) async fn audit_command(
        &self,
        comment: &Comment,
        pull: u64,
        action: &'static str,
        proposal: Option<ProposalId>,
    ) -> Result<(), SyncError> {
        let entry = AuditEntry {
            repository: self.repository.id,
            proposal,
            actor: comment.author.clone(),
            action,
            detail: format!("comment {} on #{pull}", comment.id),
        };
        Ok(self.ports.records.audit(&entry).await?)
    }

    async fn plan_text(
        self,
        request: &Request,
        planned: Planned<'_>,
        prefix: &CommandPrefix,
    ) -> Result<String, SyncError> {
        let proposals = match self.concerned(&request.pull, planned.scopes).await? {
            Ok(proposals) => proposals,
            Err(why) => return Ok(why),
        };
        if proposals.is_empty() {
            return Ok("This pull request touches no cluster, so there is nothing to plan.\n".to_owned());
        }
        let mut text = String::new();
        for proposal in proposals.iter().take(MAX_PLANS) {
            text.push_str(&one_plan(proposal, planned, prefix));
            text.push('\n');
        }
        if proposals.len() > MAX_PLANS {
            let left = proposals.len() - MAX_PLANS;
            text.push_str(&format!("… and {left} more clusters: `capstan plan` in a checkout shows them.\n"));
        }
        Ok(text)
    }

    async fn touched_by_head(
        &self,
        pull: &PullRequest,
        scopes: &Scopes,
    ) -> Result<Vec<ClusterId>, SyncError> {
        let before = self.required_snapshot(&pull.base).await?;
        let after = self.required_snapshot(&pull.head).await?;
        self.touched(&before.tree, &after.tree, scopes).await
    }

    fn replan_text(&self, request: &Request, planned: Planned<'_>, outcome: &Outcome) -> String {
        let Some(proposal) = self.facts.proposal_of(&request.pull) else {
            return "This pull request is not one of Capstan's proposals, so there is nothing to write anew. \
                    Its check `capstan` shows what it does to clusters.\n"
                .to_owned();
        };
        let target = proposal.target.as_str();
        match outcome.proposals.get(&proposal) {
            Some(state) => {
                let link = state.pull.map_or_else(String::new, |number| format!("\nSee #{number}.\n"));
                about(target, &state.why) + &link
            }
            None => about(target, &planned.missing(&proposal)),
        }
    }
}

fn written(prefix: &CommandPrefix, command: command::Command) -> String {
    format!("{prefix} {}", command.word())
}

/// For a command that is not carried out because of what its author had not seen.
fn unseen_text(request: &Request, prefix: &CommandPrefix, command: command::Command) -> String {
    let command = written(prefix, command);
    match &request.unseen {
        Some(unseen) if !unseen.pushes.is_empty() => unseen_refusal(&command, &unseen.branch, &unseen.pushes),
        Some(unseen) => untold_refusal(&command, &unseen.branch),
        None => refusal(&command),
    }
}

fn one_plan(proposal: &ProposalId, planned: Planned<'_>, prefix: &CommandPrefix) -> String {
    let target = proposal.target.as_str();
    let Some(plan) = planned.plans.get(proposal) else {
        return about(target, &planned.missing(proposal));
    };
    match (wanted(&proposal.kind, plan), plan) {
        (Wanted::Offer(offer), Ok(upgrade)) => plan_answer(&Proposal {
            upgrade,
            source: &offer.source,
            plan: &offer.plan,
            origin: None,
            command_prefix: prefix.as_str(),
            retarget: planned.retarget_of(proposal),
            reporter: None,
        }),
        (Wanted::Blocked { why }, _) => about(target, &format!("the upgrade is blocked. {}", why.join(" "))),
        (Wanted::Nothing { why } | Wanted::Unplannable { why }, _) => about(target, &why),
        (Wanted::Offer(_), Err(why)) => about(target, why),
    }
}

fn one_retarget(proposal: &ProposalId, planned: Planned<'_>, outcome: &Outcome) -> String {
    let target = proposal.target.as_str();
    let Some(state) = outcome.proposals.get(proposal) else {
        return about(target, &planned.missing(proposal));
    };
    let scope = planned.scopes.get(&proposal.target);
    let edited = scope.zip(planned.plans.get(proposal)).and_then(|(scope, plan)| {
        let files = &plan.as_ref().ok()?.files;
        files.iter().find(|file| file.path.is_in(&scope.overlay))
    });
    let overlay = match (edited, state.pull) {
        (Some(_), Some(_)) => {
            " Names in its overlay follow their templates, and nothing else there is edited."
        }
        (None, _) => " Nothing in its overlay is edited.",
        (Some(_), None) => "",
    };
    let link = state.pull.map_or_else(String::new, |number| format!("\nSee #{number}.\n"));
    about(target, &format!("{}{overlay}", state.why)) + &link
}
