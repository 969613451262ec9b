//! Slash-commands: which are unanswered, who may give them, and the one answer to each comment.
//!
//! A comment is answered once: the database remembers it, and where that is lost, Capstan's own answer
//! does, by a hidden marker. The answer is written last, so that a death before it repeats the command,
//! which does nothing where it was done already.

use std::collections::BTreeSet;

use capstan_model::ids::ClusterId;
use capstan_model::tree::{Tree, differences};
use capstan_plan::command::{self, CommandError};
use capstan_plan::proposal::{ProposalId, Wanted, wanted};
use capstan_plan::settings::CommandPrefix;
use capstan_report::{Proposal, about, answer, answered_comment, plan_answer, refusal};

use super::outcome::Outcome;
use super::{Planned, Run, Scopes, SyncError, clusters_of};
use crate::app::ports::{AuditEntry, CodeHostError, Comment, Permission, PullRequest, Reaction};

/// How far back comments are read: longer than the bot is ever down, short enough for a page or two.
const DAYS_BACK: i64 = 3;
/// Plans shown in one answer; a comment has no room for more.
const MAX_PLANS: usize = 5;

/// A comment with commands that awaits its answer.
pub(super) struct Request {
    pull: PullRequest,
    comment: Comment,
    commands: Vec<Result<command::Command, CommandError>>,
    allowed: Allowed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Yes,
    No,
}

impl Request {
    /// The pull request of the proposal that is to be written anew.
    pub(super) fn replans(&self) -> Option<&PullRequest> {
        let asked = self.commands.contains(&Ok(command::Command::Replan));
        (asked && self.allowed == Allowed::Yes).then_some(&self.pull)
    }

    fn retargets(&self) -> bool {
        self.commands.contains(&Ok(command::Command::Retarget)) && self.allowed == Allowed::Yes
    }
}

impl Run<'_> {
    pub(super) async fn unanswered_commands(
        &self,
        prefix: &CommandPrefix,
    ) -> Result<Vec<Request>, SyncError> {
        let (host, records) = (&self.ports.host, &self.ports.records);
        let since = self.ports.clock.now() - jiff::SignedDuration::from_hours(24 * DAYS_BACK);
        let recent = host.recent_comments(self.repository, since).await?;
        let login = host.bot_login().await?;
        let answered: BTreeSet<u64> = recent
            .iter()
            .filter(|placed| placed.comment.author == login)
            .filter_map(|placed| answered_comment(&placed.comment.body))
            .collect();
        let mut requests = Vec::new();
        for placed in recent {
            let comment = placed.comment;
            // GitHub lists by the last edit: an old comment that somebody edits is not asked anew.
            if !placed.on_pull_request
                || comment.by_bot
                || comment.author == login
                || comment.created_at < since
            {
                continue;
            }
            let commands = command::parse(prefix, &comment.body);
            if commands.is_empty()
                || answered.contains(&comment.id)
                || records.is_comment_answered(self.repository.id, comment.id).await?
            {
                continue;
            }
            let pull = match host.pull_request(self.repository, placed.number).await {
                // It went between the two reads, or is not for this installation to see.
                Err(CodeHostError::NotFound { .. }) => continue,
                pull => pull?,
            };
            let permission = host.permission(self.repository, &comment.author).await?;
            let allowed = if permission >= Permission::Write { Allowed::Yes } else { Allowed::No };
            requests.push(Request { pull, comment, commands, allowed });
        }
        Ok(requests)
    }

    /// The proposals for which somebody asks for `retarget`.
    pub(super) async fn retargeted(
        &self,
        requests: &[Request],
        scopes: &Scopes,
    ) -> Result<BTreeSet<ProposalId>, SyncError> {
        let mut proposals = BTreeSet::new();
        for request in requests.iter().filter(|request| request.retargets()) {
            proposals.extend(self.concerned(&request.pull, scopes).await?);
        }
        Ok(proposals)
    }

    /// The proposal that a pull request carries; of a person's, those that bring the clusters that it touches to
    /// a newer release.
    async fn concerned(&self, pull: &PullRequest, scopes: &Scopes) -> Result<Vec<ProposalId>, SyncError> {
        if let Some(proposal) = self.facts.proposal_of(pull) {
            return Ok(vec![proposal]);
        }
        let clusters = self.touched_by_head(pull, scopes).await?;
        Ok(clusters.into_iter().map(ProposalId::of_release).collect())
    }

    async fn retarget_text(
        self,
        request: &Request,
        planned: Planned<'_>,
        outcome: &Outcome,
    ) -> Result<String, SyncError> {
        let proposals = self.concerned(&request.pull, planned.scopes).await?;
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
    ) -> Result<(), SyncError> {
        let prefix = &planned.settings.commands.prefix;
        for request in requests {
            let mut parts = Vec::new();
            for command in &request.commands {
                parts.push(match (command, request.allowed) {
                    (Ok(command::Command::Help), _) => command::help(prefix),
                    (Ok(command), Allowed::No) => refusal(&format!("{prefix} {}", command.word())),
                    (Ok(command::Command::Plan), Allowed::Yes) => {
                        self.plan_text(request, planned, prefix).await?
                    }
                    (Ok(command::Command::Replan), Allowed::Yes) => {
                        self.replan_text(request, planned, outcome)
                    }
                    (Ok(command::Command::Retarget), Allowed::Yes) => {
                        self.retarget_text(request, planned, outcome).await?
                    }
                    (Err(error), _) => format!("{}\n\n{}", error.answer(prefix), command::help(prefix)),
                });
            }
            parts.dedup();
            match self.answer(request, &parts).await {
                // Nobody is there any more to be answered.
                Err(SyncError::Host(CodeHostError::NotFound { .. }))
                    if self.is_gone(request.pull.number).await? => {}
                result => result?,
            }
        }
        Ok(())
    }

    async fn answer(&self, request: &Request, parts: &[String]) -> Result<(), SyncError> {
        let (host, comment) = (&self.ports.host, &request.comment);
        host.create_comment(self.repository, request.pull.number, &answer(comment.id, parts)).await?;
        self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
        let understood = request.commands.iter().all(Result::is_ok);
        let help_only = request.commands.iter().all(|command| *command == Ok(command::Command::Help));
        let (reaction, action) = match (request.allowed, understood) {
            (Allowed::Yes, true) => (Reaction::ThumbsUp, "command-answered"),
            (Allowed::No, true) if help_only => (Reaction::ThumbsUp, "command-answered"),
            (Allowed::No, _) => (Reaction::Confused, "command-refused"),
            (Allowed::Yes, false) => (Reaction::Confused, "command-unknown"),
        };
        host.react(self.repository, comment.id, reaction).await?;
        let entry = AuditEntry {
            repository: self.repository.id,
            proposal: self.facts.proposal_of(&request.pull),
            actor: comment.author.clone(),
            action,
            detail: format!("comment {} on #{}", comment.id, request.pull.number),
        };
        Ok(self.ports.records.audit(&entry).await?)
    }

    async fn plan_text(
        self,
        request: &Request,
        planned: Planned<'_>,
        prefix: &CommandPrefix,
    ) -> Result<String, SyncError> {
        let proposals = self.concerned(&request.pull, planned.scopes).await?;
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
        let before = self.snapshot(&pull.base).await?;
        let after = self.snapshot(&pull.head).await?;
        let (Some(before), Some(after)) = (before, after) else { return Ok(Vec::new()) };
        Ok(touched(&*before.tree, &*after.tree, scopes))
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

/// The clusters in whose folders something differs.
pub(super) fn touched(before: &dyn Tree, after: &dyn Tree, scopes: &Scopes) -> Vec<ClusterId> {
    let differences = differences(before, after);
    clusters_of(scopes)
        .filter(|cluster| differences.iter().any(|difference| difference.path.is_in(cluster.folder())))
        .cloned()
        .collect()
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
