//! Whether a comment is a request, and what is done at once.

use capstan_facts::{AuditEntry, Hints, Permission, PlacedComment, PullRequest, Reaction};
use capstan_plan::command::{self, CommandError, CommentId, Hearing, Right, Wording};
use capstan_plan::settings::CommandSettings;
use capstan_plan::verbs::Command;
use jiff::Timestamp;

use crate::effects::Effect;
use crate::facts::{Facts, Write};
use crate::proposals::DecisionStep;
use crate::requests::{CommandAuthor, Request, RequestOrigin, address, readers_of, right_of};

/// Issues that are read one by one. If there are more, all recent ones are listed.
const ISSUES_ONE_BY_ONE: usize = 5;

/// A comment, with what decides about it.
#[derive(Clone, Copy)]
pub struct CommentFacts<'a> {
    /// What a run starts from.
    pub facts: &'a Facts,
    /// Whose commands count.
    pub settings: &'a CommandSettings,
    /// The comment.
    pub placed: &'a PlacedComment,
    /// Capstan's login.
    pub own: &'a str,
    /// Comments before this time are not requests.
    pub since: Timestamp,
    /// When its author wrote an earlier comment that was dealt with.
    pub before: Option<Timestamp>,
    /// The time.
    pub now: Timestamp,
}

/// A fact about a comment that is needed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentNeed {
    /// Whether the records have it as answered.
    Answered,
    /// Whether Capstan's own reaction shows its result.
    Verdict,
    /// What its author may do in the repository.
    Permission,
    /// Whether its text is the one that its author wrote.
    Wording,
    /// Its pull request.
    Pull,
}

/// The answers so far. A fact that is absent was not asked for.
#[derive(Debug, Clone, Default)]
pub struct CommentAnswers {
    /// Whether the records have it as answered.
    pub answered: Option<bool>,
    /// Whether Capstan's own reaction shows its result.
    pub verdict: Option<bool>,
    /// What its author may do in the repository.
    pub permission: Option<Permission>,
    /// Whether its text is the one that its author wrote.
    pub wording: Option<Wording>,
    /// Its pull request; `None` inside where GitHub does not show it.
    pub pull: Option<Option<Box<PullRequest>>>,
}

/// What becomes of a comment.
#[derive(Debug, Clone, Default)]
pub struct HeardComment {
    /// Its request, where it is one.
    pub request: Option<Request>,
    /// Whether it counts as its author's last comment that was dealt with.
    pub is_dealt_with: bool,
    /// What is done at once.
    pub effects: Vec<Effect>,
}

/// Which new issues have a text to read: none, all recent ones (an empty list), or these. Without any hint all are read,
/// because one may have been lost.
pub fn issues_to_read(hints: &Hints) -> Option<&[u64]> {
    match hints.issues.as_slice() {
        [] if *hints != Hints::default() => None,
        few if few.len() <= ISSUES_ONE_BY_ONE => Some(few),
        _ => Some(&[]),
    }
}

/// Decides about a comment.
pub fn hear(of: CommentFacts<'_>, known: &CommentAnswers) -> DecisionStep<HeardComment, CommentNeed> {
    heard(of, known).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
}

fn heard(of: CommentFacts<'_>, known: &CommentAnswers) -> Result<HeardComment, CommentNeed> {
    let PlacedComment { number, on_pull_request, comment } = of.placed;
    let commands = commands_of(of);
    if commands.is_empty() {
        return Ok(HeardComment::default());
    }
    let ends = |effects| HeardComment { is_dealt_with: true, effects, ..HeardComment::default() };
    if known.answered.ok_or(CommentNeed::Answered)? {
        return Ok(ends(Vec::new()));
    }
    let answered = Effect::CommentAnswered(comment.id);
    // Only a comment that has such reactions at all, by anybody, costs a call.
    if comment.verdicts != Some(0) && known.verdict.ok_or(CommentNeed::Verdict)? {
        return Ok(ends(vec![answered]));
    }
    if of.facts.refusals.against(&Write::answer(comment.id), of.now).is_some() {
        return Ok(HeardComment::default());
    }
    let (right, hearing) = hearing_of(of, known)?;
    let react = |reaction| Effect::React { comment: comment.id, reaction };
    let effects = match hearing {
        Hearing::PassedOver => {
            return Ok(HeardComment { effects: vec![answered], ..HeardComment::default() });
        }
        Hearing::Waved => {
            let detail = match comment.id {
                CommentId::Comment(id) => format!("comment {id} on #{number}"),
                CommentId::Issue(number) => format!("issue #{number}"),
            };
            let audited = AuditEntry::by(of.facts.repository.id, &comment.author, "command-refused", detail);
            return Ok(ends(vec![react(Reaction::Confused), Effect::Audit(audited), answered]));
        }
        // Planning may take long: the author sees at once that the comment was read.
        Hearing::Obeyed => vec![react(Reaction::Eyes)],
        Hearing::Refused | Hearing::Edited => Vec::new(),
    };
    let pull = match (on_pull_request, &known.pull) {
        (false, _) => None,
        (true, None) => return Err(CommentNeed::Pull),
        // It was deleted between the two reads, or this installation may not see it.
        (true, Some(None)) => return Ok(HeardComment::default()),
        (true, Some(Some(pull))) => Some(PullRequest::clone(pull)),
    };
    let given = CommandAuthor { by: &comment.author, at: comment.created_at, right, hearing };
    let origin = RequestOrigin::Comment(comment.clone());
    let request = Request::new(origin, *number, pull, given, commands);
    Ok(HeardComment { request: Some(request), ..ends(effects) })
}

/// The reaction to a comment that arrives while a run works, as far as is known then: the next run handles it.
pub fn eyes(of: CommentFacts<'_>, known: &CommentAnswers) -> DecisionStep<Option<Effect>, CommentNeed> {
    if commands_of(of).is_empty() {
        return DecisionStep::Decided(None);
    }
    let comment = of.placed.comment.id;
    match hearing_of(of, known) {
        Ok((_, Hearing::Obeyed)) => {
            DecisionStep::Decided(Some(Effect::React { comment, reaction: Reaction::Eyes }))
        }
        Ok(_) => DecisionStep::Decided(None),
        Err(need) => DecisionStep::Ask(need),
    }
}

/// The commands of a comment; none where it is Capstan's own, a bot's or too old. GitHub lists by the last edit: an edit
/// of an old comment does not make it a new request.
fn commands_of(of: CommentFacts<'_>) -> Vec<Result<Command, CommandError>> {
    let comment = &of.placed.comment;
    if comment.by_bot || comment.author == of.own || comment.created_at < of.since {
        return Vec::new();
    }
    let address = address(of.settings, of.own);
    match comment.id {
        CommentId::Comment(_) => command::parse(address, &comment.body),
        CommentId::Issue(_) => command::parse_issue(address, &comment.body),
    }
}

/// The right of a comment's author, and whether the comment counts.
fn hearing_of(of: CommentFacts<'_>, known: &CommentAnswers) -> Result<(Right, Hearing), CommentNeed> {
    let right = right_of(known.permission.ok_or(CommentNeed::Permission)?);
    match command::hear(right, readers_of(of.settings), of.placed.comment.created_at, of.before) {
        Hearing::Obeyed => Ok((right, Hearing::Obeyed.worded(known.wording.ok_or(CommentNeed::Wording)?))),
        hearing => Ok((right, hearing)),
    }
}
