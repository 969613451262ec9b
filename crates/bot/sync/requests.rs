//! Which comments and buttons ask for something: those that are not answered yet, each with what becomes of it.
//!
//! *Guarantee.* Whatever is wrong with comments (issues switched off, one that GitHub does not show) costs the
//! commands, and nothing else of the run.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::tree::CommitId;
use capstan_plan::command::{
    self, CommandError, CommentId, Hearing, Readers, Right, Unseen, hear, is_just_after, unseen,
};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::CommandSettings;
use capstan_plan::verbs::{Command, Verb};
use capstan_report::answered_comment;
use jiff::Timestamp;

use super::refusals::Write;
use super::request::{Origin, Request, UnseenBranch};
use super::rights::{Rights, address, right_of};
use super::{Ending, Run, Scopes, SyncError};
use capstan_ports::{
    CodeHostError, Comment, Hints, Permission, PlacedComment, Press, PullRequest, PullRequestState, Reaction,
};

/// How far back comments are read: longer than the bot is ever down, short enough for a page or two.
const DAYS_BACK: i64 = 3;
/// Comments whose reactions are asked for in one run, which only a run without its database has to do; those after them
/// wait for the next one.
const MOST_ASKED: usize = 200;
/// Issues that are read one by one; of more, all recent ones are listed.
const ISSUES_ONE_BY_ONE: usize = 5;

/// Whether it can be told what a request's author had seen.
enum Bound {
    /// It is.
    Now,
    /// GitHub has not noted it yet.
    NotYet,
}

/// Who was dealt with, and for which of their comments.
#[derive(Default)]
struct DealtWith(BTreeMap<String, Timestamp>);

impl DealtWith {
    /// The author's comment before this one that had commands and was dealt with.
    fn before(&self, comment: &Comment) -> Option<Timestamp> {
        self.0.get(&comment.author).copied().filter(|before| *before <= comment.created_at)
    }

    /// One that was passed over, as far as can be told, begins no new hour.
    fn note(&mut self, comment: &Comment) {
        if !self.before(comment).is_some_and(|before| is_just_after(comment.created_at, before)) {
            self.0.insert(comment.author.clone(), comment.created_at);
        }
    }
}

impl Run<'_> {
    /// What was hinted at, and the heads of which somebody asks for a preflight.
    pub(super) fn hints_with(&self, requests: &[Request]) -> Hints {
        let asked = requests.iter().filter(|request| request.carries_out(Verb::Preflight));
        let heads = asked.filter_map(|request| Some(request.pull.as_ref()?.head.as_str().to_owned()));
        let mut hints = self.hints.clone();
        hints.heads.extend(heads);
        hints
    }

    pub(super) async fn unanswered_commands(
        self,
        settings: &CommandSettings,
        ending: &mut Ending,
    ) -> Result<Vec<Request>, SyncError> {
        let login = self.ports.host.bot_login().await?;
        let address = address(settings, &login);
        let since = self.ports.clock.now() - jiff::SignedDuration::from_hours(24 * DAYS_BACK);
        let mut recent = match self.ports.host.recent_comments(self.repository, since).await {
            Ok(recent) => recent,
            Err(error @ CodeHostError::RateLimited { .. }) => return Err(error.into()),
            Err(error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "comments cannot be listed: no command is obeyed");
                if !error.is_refusal() {
                    ending.fail(error.into());
                }
                return Ok(Vec::new());
            }
        };
        let answered: BTreeSet<CommentId> = recent
            .iter()
            .filter(|placed| placed.comment.author == login)
            .filter_map(|placed| answered_comment(&placed.comment.body))
            .collect();
        recent.extend(self.opened_issues(since, ending).await?);
        recent.sort_by_key(|placed| (placed.comment.created_at, placed.comment.id));
        let mut dealt_with = DealtWith::default();
        let mut permissions = BTreeMap::new();
        let mut requests = Vec::new();
        let mut asked = 0;
        for placed in recent {
            let comment = &placed.comment;
            // GitHub lists by the last edit: an old comment that somebody edits is not asked anew.
            if comment.by_bot || comment.author == login || comment.created_at < since {
                continue;
            }
            let commands = match comment.id {
                CommentId::Comment(_) => command::parse(address, &comment.body),
                CommentId::Issue(_) => command::parse_issue(address, &comment.body),
            };
            if commands.is_empty() {
                continue;
            }
            if answered.contains(&comment.id) || self.is_answered(comment.id).await? {
                dealt_with.note(comment);
                continue;
            }
            if comment.verdicts != Some(0) {
                if asked == MOST_ASKED {
                    ending.look_again();
                    break;
                }
                asked += 1;
                let bears = match self.bears_verdict(comment).await {
                    // Unknown, it is neither obeyed nor forgotten.
                    Err(error) if error.is_of_one() => {
                        ending.fail(error);
                        continue;
                    }
                    bears => bears?,
                };
                if bears {
                    self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
                    dealt_with.note(comment);
                    continue;
                }
            }
            if self.refusal(&Write::answer(comment.id)).is_some() {
                continue;
            }
            let readers = if settings.admits_readers() { Readers::Admitted } else { Readers::Refused };
            let heard = self.hear(&placed, commands, readers, &mut dealt_with, &mut permissions).await;
            // What cannot be found out about one comment is looked for again with the next run.
            match heard {
                Ok(request) => requests.extend(request),
                Err(SyncError::Host(error)) if error.is_refusal() => {
                    tracing::warn!(repository = %self.repository.name, comment = %comment.id, error = %error, "a comment's commands are not obeyed");
                }
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, comment = %comment.id, error = %error, "a comment's commands are not obeyed yet");
                    ending.fail(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(requests)
    }

    /// The texts of issues that were opened, where any is hinted at; all recent ones where nothing at all is, because
    /// what was said of one may have been lost.
    async fn opened_issues(
        &self,
        since: Timestamp,
        ending: &mut Ending,
    ) -> Result<Vec<PlacedComment>, SyncError> {
        if self.hints.issues.is_empty() && *self.hints != Hints::default() {
            return Ok(Vec::new());
        }
        let few =
            if self.hints.issues.len() > ISSUES_ONE_BY_ONE { &[] } else { self.hints.issues.as_slice() };
        match self.ports.host.opened_issues(self.repository, since, few).await {
            Ok(opened) => Ok(opened),
            Err(error @ CodeHostError::RateLimited { .. }) => Err(error.into()),
            Err(error) => {
                tracing::warn!(repository = %self.repository.name, error = %error, "issues cannot be read: no command in the text of one is obeyed");
                if !error.is_refusal() {
                    ending.fail(error.into());
                }
                Ok(Vec::new())
            }
        }
    }

    async fn is_answered(&self, comment: CommentId) -> Result<bool, SyncError> {
        Ok(self.ports.records.is_comment_answered(self.repository.id, comment).await?)
    }

    /// What becomes of a comment; `None` where it gets no answer.
    async fn hear(
        &self,
        placed: &PlacedComment,
        commands: Vec<Result<Command, CommandError>>,
        readers: Readers,
        dealt_with: &mut DealtWith,
        permissions: &mut BTreeMap<String, Permission>,
    ) -> Result<Option<Request>, SyncError> {
        let (host, comment) = (&self.ports.host, &placed.comment);
        let permission = self.permission_of(&comment.author, permissions).await?;
        let right = right_of(permission);
        let mut hearing = hear(right, readers, comment.created_at, dealt_with.before(comment));
        if hearing == Hearing::Obeyed {
            hearing = hearing.worded(host.wording(self.repository, comment).await?);
        }
        match hearing {
            Hearing::PassedOver | Hearing::Waved => {
                if hearing == Hearing::Waved {
                    dealt_with.note(comment);
                    self.react(comment, Reaction::Confused).await?;
                    self.audit_command(comment, placed.number, "command-refused", None).await?;
                }
                self.ports.records.save_comment_answered(self.repository.id, comment.id).await?;
                return Ok(None);
            }
            Hearing::Obeyed | Hearing::Refused | Hearing::Edited => {}
        }
        let number = placed.number;
        let pull = if placed.on_pull_request {
            match host.pull_request(self.repository, number).await {
                // It went between the two reads, or is not for this installation to see.
                Err(CodeHostError::NotFound { .. }) => return Ok(None),
                pull => Some(pull?),
            }
        } else {
            None
        };
        dealt_with.note(comment);
        if hearing == Hearing::Obeyed {
            // Planning may take its time: whoever asked sees at once that they were heard.
            self.react(comment, Reaction::Eyes).await?;
        }
        Ok(Some(Request {
            number,
            pull,
            by: comment.author.clone(),
            given_at: comment.created_at,
            origin: Origin::Comment(comment.clone()),
            commands,
            denied: BTreeMap::new(),
            right,
            hearing,
            rewritten: Vec::new(),
            unseen: None,
            moved: None,
            result: None,
        }))
    }

    /// The buttons that people pressed on checks of proposals: commands like any others.
    pub(super) async fn pressed_buttons(
        &self,
        settings: &CommandSettings,
    ) -> Result<Vec<Request>, SyncError> {
        let mut requests = Vec::new();
        for press in &self.hints.presses {
            let Some((command, pull)) = self.meant_by(press) else {
                // Its head is another one by now, or it is closed: the button was of something that is gone.
                tracing::info!(repository = %self.repository.name, actor = press.by, button = press.button, head = press.head, "a button was pressed of what is gone");
                let detail = format!("{}, button at {}", press.button, press.head);
                self.audit_request("command-overtaken", &press.by, None, detail).await?;
                continue;
            };
            let (right, hearing) = self.hear_press(press, settings).await?;
            requests.push(Request {
                number: pull.number,
                pull: Some(pull.clone()),
                by: press.by.clone(),
                given_at: press.at,
                origin: Origin::Button(press.clone()),
                commands: vec![Ok(command)],
                denied: BTreeMap::new(),
                right,
                hearing,
                rewritten: Vec::new(),
                unseen: None,
                moved: None,
                result: None,
            });
        }
        Ok(requests)
    }

    /// What a button asks for, and the open proposal whose check it is on.
    pub(super) fn meant_by(&self, press: &Press) -> Option<(Command, &PullRequest)> {
        let verb = Verb::named(&press.button).filter(|verb| verb.button().is_some())?;
        let pull = self.facts.proposals.values().find(|pull| pull.head.as_str() == press.head)?;
        Some((verb.with("").ok()?, pull))
    }

    /// What whoever pressed a button may do in the repository, and whether they are heard.
    pub(super) async fn hear_press(
        &self,
        press: &Press,
        settings: &CommandSettings,
    ) -> Result<(Right, Hearing), SyncError> {
        let right = match self.ports.host.permission(self.repository, &press.by).await {
            Ok(permission) => right_of(permission),
            Err(error) if error.is_refusal() => Right::None,
            Err(error) => return Err(error.into()),
        };
        let readers = if settings.admits_readers() { Readers::Admitted } else { Readers::Refused };
        Ok((right, hear(right, readers, press.at, None)))
    }

    /// Binds commands to what their authors may, and those that write branches anew to what they had seen of them. Those
    /// of which GitHub does not tell yet are left for the next run.
    pub(super) async fn bind_commands(
        &self,
        requests: Vec<Request>,
        settings: &CommandSettings,
        scopes: &Scopes,
        ending: &mut Ending,
    ) -> Result<Vec<Request>, SyncError> {
        let mut rights = Rights::of(*self, settings);
        let mut bound = Vec::new();
        for mut request in requests {
            match self.bind(&mut request, &mut rights, scopes).await {
                Ok(Bound::Now) => bound.push(request),
                Ok(Bound::NotYet) => ending.look_again(),
                // What is wrong with one request is not the others' trouble.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, request = %request.id(), error = %error, "commands are not obeyed");
                    ending.fail(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(bound)
    }

    async fn bind(
        &self,
        request: &mut Request,
        rights: &mut Rights<'_>,
        scopes: &Scopes,
    ) -> Result<Bound, SyncError> {
        self.judge_rights(request, rights, scopes).await?;
        if let Some(proposal) = self.carrier_of(request)
            && let Some(pull) = request.pull.clone()
            && pull.state == PullRequestState::Open
            && self.facts.proposals.contains_key(&proposal)
        {
            if request.means_the_head() {
                let Some(moved) = self.moved_under(request, &proposal, &pull).await? else {
                    return Ok(Bound::NotYet);
                };
                request.moved = moved;
            }
            if request.carries_out(Verb::Approve) {
                let Some(result) = self.result_of(&pull).await? else { return Ok(Bound::NotYet) };
                request.result = result;
            }
        }
        if !request.may_overwrite() {
            return Ok(Bound::Now);
        }
        request.rewritten = self.rewritten_by(request, scopes).await?;
        let Some(unseen) = self.unseen_by(request).await? else { return Ok(Bound::NotYet) };
        request.unseen = unseen;
        Ok(Bound::Now)
    }

    async fn rewritten_by(&self, request: &Request, scopes: &Scopes) -> Result<Vec<ProposalId>, SyncError> {
        let retarget = request.carried_out().find(|(_, command)| command.verb() == Verb::Retarget);
        if let Some((_, command)) = retarget {
            if command.cluster().is_some() {
                return Ok(self.proposals_of(request, command));
            }
            // Of what nobody can read nothing is written; the answer says so.
            return Ok(self.concerned_by(request, scopes).await?.unwrap_or_default());
        }
        Ok(self.carrier_of(request).into_iter().collect())
    }

    /// What came to a proposal's branch after its head was meant, by whomever; `None` where that cannot be told yet. A
    /// button is of one commit's check.
    async fn moved_under(
        &self,
        request: &Request,
        proposal: &ProposalId,
        pull: &PullRequest,
    ) -> Result<Option<Option<UnseenBranch>>, SyncError> {
        let Origin::Comment(comment) = &request.origin else { return Ok(Some(None)) };
        let branch = proposal.branch();
        let found = match self.ports.host.pushes(self.repository, &branch).await {
            // What Capstan wrote since was not seen either.
            Ok(pushes) => unseen(&pushes, &pull.head, comment.created_at, "", self.ports.clock.now()),
            Err(error) if error.is_refusal() => Unseen::NotTold,
            Err(error) => return Err(error.into()),
        };
        Ok(match found {
            Unseen::Nothing => Some(None),
            Unseen::NotYetNoted => None,
            Unseen::Pushes(pushes) => Some(Some(UnseenBranch { branch, pushes })),
            Unseen::NotTold => Some(Some(UnseenBranch { branch, pushes: Vec::new() })),
        })
    }

    /// The first branch of which the author of a request had not seen all; `None` where that cannot be told yet.
    async fn unseen_by(&self, request: &Request) -> Result<Option<Option<UnseenBranch>>, SyncError> {
        let own = self.ports.host.bot_login().await?;
        if let Some(pull) = own_branch(request) {
            match self.unseen_on(request, &pull.head_branch, &pull.head, &own).await? {
                Some(None) => {}
                found => return Ok(found),
            }
        }
        for proposal in &request.rewritten {
            let proposal = self.facts.carrier(proposal).unwrap_or(proposal);
            let Some(head) = self.facts.branches.get(proposal) else { continue };
            // Nobody's work stands there but Capstan's.
            if self.facts.record_of(proposal, head).is_some_and(|record| record.head == *head) {
                continue;
            }
            match self.unseen_on(request, &proposal.branch(), head, &own).await? {
                Some(None) => {}
                found => return Ok(found),
            }
        }
        Ok(Some(None))
    }

    /// What the author of a request had not seen of a branch; `None` where that cannot be told yet.
    async fn unseen_on(
        &self,
        request: &Request,
        branch: &str,
        head: &CommitId,
        own: &str,
    ) -> Result<Option<Option<UnseenBranch>>, SyncError> {
        let found = match self.ports.host.pushes(self.repository, branch).await {
            Ok(pushes) => unseen(&pushes, head, request.given_at, own, self.ports.clock.now()),
            Err(error) if error.is_refusal() => Unseen::NotTold,
            Err(error) => return Err(error.into()),
        };
        let unseen = |pushes| UnseenBranch { branch: branch.to_owned(), pushes };
        Ok(match found {
            Unseen::Nothing => Some(None),
            Unseen::NotYetNoted => None,
            Unseen::Pushes(pushes) => Some(Some(unseen(pushes))),
            Unseen::NotTold => Some(Some(unseen(Vec::new()))),
        })
    }
}

/// The pull request on whose own branch something is to be put.
fn own_branch(request: &Request) -> Option<&PullRequest> {
    let is_open = |pull: &&PullRequest| pull.state == PullRequestState::Open && pull.head_in_repository;
    request.pull.as_ref().filter(is_open).filter(|_| request.carries_out(Verb::Render))
}
