//! Webhook payload -> delivery: only the fields that the intake needs. Pure, and included by `fuzz/` by path,
//! so it imports nothing of this package, and from others only the name of a repository.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use capstan_ports::RepositoryName;

/// A delivery worth storing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// GitHub's id of the delivery (`X-GitHub-Delivery`); a redelivery has the same.
    pub guid: String,
    pub event: Event,
    /// Its action; empty where the event has none.
    pub action: String,
    pub installation: u64,
    /// The repositories to look at; several only where an installation changed.
    pub repositories: Vec<NamedRepository>,
    /// The names in it.
    pub hint: DeliveryHint,
    /// When it arrived, in UTC.
    pub received_at: jiff::Timestamp,
}

impl Delivery {
    /// Whether an owner accepted new permissions of the App: GitHub may now allow what it refused.
    pub fn grants_more(&self) -> bool {
        self.event == Event::Installation && self.action == "new_permissions_accepted"
    }
}

/// A repository named by a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRepository {
    /// GitHub's id.
    pub id: u64,
    /// `owner/name`.
    pub name: RepositoryName,
}

/// What a delivery names besides its repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryHint {
    /// Number of a pull request.
    pub pull_request: Option<u64>,
    /// GitHub's id of a new comment on that pull request, or on an issue.
    pub comment: Option<u64>,
    /// Number of an issue that somebody opened.
    pub issue: Option<u64>,
    /// A commit that needs a check, or on whose check a person pressed a button.
    pub head: Option<String>,
    /// The button that was pressed.
    pub press: Option<PressHint>,
    /// A person's edit of a bot's issue, which may be the dashboard; not stored.
    pub edit: Option<BodyEdit>,
    /// The boxes that the edit ticked.
    pub ticks: Option<TickHint>,
}

impl DeliveryHint {
    /// Whether there is no hint for the job.
    pub const fn is_nothing(&self) -> bool {
        self.pull_request.is_none() && self.issue.is_none() && self.head.is_none() && self.ticks.is_none()
    }
}

/// A press of a check's button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PressHint {
    /// Who: a login.
    pub by: String,
    /// Its identifier.
    pub button: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyEdit {
    /// Who: a login.
    pub by: String,
    /// The text before.
    pub before: String,
    /// The text after.
    pub after: String,
}

/// Ticks of boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickHint {
    /// Who: a login.
    pub by: String,
    /// Which boxes of which text: JSON of Capstan's.
    pub boxes: String,
}

/// The events that Capstan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Somebody asked for a check again, or pressed one of its buttons.
    CheckRun,
    /// Somebody asked for all checks again.
    CheckSuite,
    /// The App was installed, or its permissions changed.
    Installation,
    /// Repositories were added to an installation.
    InstallationRepositories,
    /// A comment on a pull request.
    IssueComment,
    /// An issue changed: the dashboard's boxes are ticked so.
    Issues,
    /// A merge queue wants checks.
    MergeGroup,
    /// A pull request changed.
    PullRequest,
    /// A review was given or taken back.
    PullRequestReview,
    /// A branch moved.
    Push,
    /// A repository was renamed, transferred, or otherwise changed.
    Repository,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::CheckRun,
        Self::CheckSuite,
        Self::Installation,
        Self::InstallationRepositories,
        Self::IssueComment,
        Self::Issues,
        Self::MergeGroup,
        Self::PullRequest,
        Self::PullRequestReview,
        Self::Push,
        Self::Repository,
    ];

    /// GitHub's word for it (`X-GitHub-Event`).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CheckRun => "check_run",
            Self::CheckSuite => "check_suite",
            Self::Installation => "installation",
            Self::InstallationRepositories => "installation_repositories",
            Self::IssueComment => "issue_comment",
            Self::Issues => "issues",
            Self::MergeGroup => "merge_group",
            Self::PullRequest => "pull_request",
            Self::PullRequestReview => "pull_request_review",
            Self::Push => "push",
            Self::Repository => "repository",
        }
    }

    /// Reads GitHub's word; `None` for events that Capstan does not read.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == word)
    }

    /// The actions that Capstan may have to react to; empty for events without actions.
    const fn actions(self) -> &'static [&'static str] {
        match self {
            Self::CheckRun => &["rerequested", "requested_action"],
            Self::CheckSuite => &["rerequested"],
            Self::Installation => &["created", "unsuspend", "new_permissions_accepted"],
            Self::InstallationRepositories => &["added"],
            Self::IssueComment => &["created"],
            Self::Issues => &["opened", "edited", "reopened", "deleted"],
            Self::MergeGroup => &["checks_requested"],
            Self::PullRequest => &[
                "opened",
                "reopened",
                "synchronize",
                "edited",
                "closed",
                "ready_for_review",
                "converted_to_draft",
                "auto_merge_enabled",
                "auto_merge_disabled",
                "enqueued",
                "dequeued",
                "stacked",
            ],
            Self::PullRequestReview => &["submitted", "edited", "dismissed"],
            Self::Push => &[],
            Self::Repository => {
                &["edited", "renamed", "transferred", "unarchived", "publicized", "privatized"]
            }
        }
    }
}

/// What to do with a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryReading {
    /// Store it and look at its repositories.
    Store(Box<Delivery>),
    /// Nothing that Capstan does depends on it.
    OfNoInterest,
}

/// A payload that differs from GitHub's payloads.
#[derive(Debug, thiserror::Error)]
pub enum UnreadablePayload {
    /// Not JSON, or a field has another type than GitHub's. The parser's own text quotes what it found:
    /// untrusted content, which must not be logged.
    #[error("the payload is not what GitHub sends: {what} at line {line}, column {column}")]
    Json {
        /// What is wrong, in a word or two.
        what: &'static str,
        /// Line, from 1.
        line: usize,
        /// Column, from 1; 0 where the line before was the last.
        column: usize,
    },
    /// A field that GitHub always sends is missing.
    #[error("the payload of `{event}` has no `{field}`")]
    Missing { event: &'static str, field: &'static str },
}

impl From<serde_json::Error> for UnreadablePayload {
    fn from(error: serde_json::Error) -> Self {
        let what = match error.classify() {
            Category::Syntax => "no JSON",
            Category::Data => "another type",
            Category::Eof => "an early end",
            Category::Io => "a broken body",
        };
        Self::Json { what, line: error.line(), column: error.column() }
    }
}

#[derive(Deserialize)]
struct WebhookPayload<'a> {
    #[serde(borrow)]
    action: Option<Cow<'a, str>>,
    installation: Option<WithId>,
    #[serde(borrow)]
    repository: Option<PayloadRepository<'a>>,
    #[serde(borrow)]
    repositories: Option<Vec<PayloadRepository<'a>>>,
    #[serde(borrow)]
    repositories_added: Option<Vec<PayloadRepository<'a>>>,
    #[serde(borrow)]
    sender: Option<Sender<'a>>,
    #[serde(borrow)]
    issue: Option<HookIssue<'a>>,
    comment: Option<WithId>,
    pull_request: Option<Numbered>,
    #[serde(borrow, rename = "ref")]
    reference: Option<Cow<'a, str>>,
    #[serde(borrow)]
    merge_group: Option<Headed<'a>>,
    #[serde(borrow)]
    check_run: Option<Headed<'a>>,
    #[serde(borrow)]
    check_suite: Option<Headed<'a>>,
    #[serde(borrow)]
    requested_action: Option<RequestedAction<'a>>,
    #[serde(borrow)]
    changes: Option<Changes<'a>>,
}

#[derive(Deserialize)]
struct Changes<'a> {
    #[serde(borrow)]
    body: Option<ChangedText<'a>>,
}

#[derive(Deserialize)]
struct ChangedText<'a> {
    #[serde(borrow)]
    from: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct RequestedAction<'a> {
    #[serde(borrow)]
    identifier: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct WithId {
    id: u64,
}

#[derive(Deserialize)]
struct PayloadRepository<'a> {
    id: u64,
    #[serde(borrow)]
    full_name: Cow<'a, str>,
    #[serde(borrow)]
    default_branch: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Sender<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    login: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct HookIssue<'a> {
    number: u64,
    pull_request: Option<IgnoredAny>,
    #[serde(borrow)]
    user: Option<Sender<'a>>,
    #[serde(borrow)]
    body: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Numbered {
    number: u64,
}

#[derive(Deserialize)]
struct Headed<'a> {
    #[serde(borrow)]
    head_sha: Option<Cow<'a, str>>,
}

/// Reads the headers and the body of a delivery with a valid signature.
///
/// # Errors
/// The body is not what GitHub sends for that event.
pub fn read_delivery(
    guid: &str,
    event: &str,
    body: &[u8],
    received_at: jiff::Timestamp,
) -> Result<DeliveryReading, UnreadablePayload> {
    let Some(event) = Event::parse(event) else { return Ok(DeliveryReading::OfNoInterest) };
    let payload: WebhookPayload<'_> = serde_json::from_slice(body)?;
    let missing = |field| UnreadablePayload::Missing { event: event.as_str(), field };
    let action = payload.action.as_deref().unwrap_or_default();
    if !event.actions().is_empty() {
        if action.is_empty() {
            return Err(missing("action"));
        }
        if !event.actions().contains(&action) {
            return Ok(DeliveryReading::OfNoInterest);
        }
    }

    let mut hint = DeliveryHint {
        pull_request: payload.pull_request.as_ref().map(|pull| pull.number),
        ..DeliveryHint::default()
    };
    match event {
        Event::IssueComment => {
            let issue = payload.issue.as_ref().ok_or_else(|| missing("issue"))?;
            let comment = payload.comment.as_ref().ok_or_else(|| missing("comment"))?;
            // Bots get no answers, Capstan itself least of all.
            let by_bot = payload.sender.as_ref().and_then(|sender| sender.kind.as_deref()) == Some("Bot");
            if by_bot {
                return Ok(DeliveryReading::OfNoInterest);
            }
            hint.pull_request = issue.pull_request.as_ref().map(|_| issue.number);
            hint.comment = Some(comment.id);
        }
        Event::Issues => {
            // The text of an issue that a person opens may contain commands. Otherwise Capstan reads only
            // changes of issues that a bot opened, since its dashboard may be one; and never its own changes
            // there.
            let issue = payload.issue.as_ref().ok_or_else(|| missing("issue"))?;
            let is_bot = |who: Option<&Sender<'_>>| who.and_then(|who| who.kind.as_deref()) == Some("Bot");
            if action == "opened" {
                if is_bot(issue.user.as_ref()) || is_bot(payload.sender.as_ref()) {
                    return Ok(DeliveryReading::OfNoInterest);
                }
                hint.issue = Some(issue.number);
            } else if !is_bot(issue.user.as_ref()) || is_bot(payload.sender.as_ref()) {
                return Ok(DeliveryReading::OfNoInterest);
            } else if action == "edited" {
                hint.edit = body_edit(&payload);
            }
        }
        Event::Push => {
            let reference = payload.reference.as_deref().ok_or_else(|| missing("ref"))?;
            let repository = payload.repository.as_ref().ok_or_else(|| missing("repository"))?;
            if !concerns_capstan(reference, repository.default_branch.as_deref()) {
                return Ok(DeliveryReading::OfNoInterest);
            }
        }
        Event::MergeGroup => hint.head = head(payload.merge_group.as_ref()),
        Event::CheckRun => {
            hint.head = head(payload.check_run.as_ref());
            if action == "requested_action" {
                let Some(press) = press(&payload) else { return Ok(DeliveryReading::OfNoInterest) };
                hint.press = Some(press);
            }
        }
        Event::CheckSuite => hint.head = head(payload.check_suite.as_ref()),
        Event::PullRequest | Event::PullRequestReview => {
            hint.pull_request.ok_or_else(|| missing("pull_request"))?;
        }
        Event::Installation | Event::InstallationRepositories | Event::Repository => {}
    }

    let named: Vec<&PayloadRepository<'_>> = match event {
        Event::Installation => payload.repositories.iter().flatten().collect(),
        Event::InstallationRepositories => payload.repositories_added.iter().flatten().collect(),
        _ => vec![payload.repository.as_ref().ok_or_else(|| missing("repository"))?],
    };
    let repositories = named
        .into_iter()
        .map(|repository| {
            let name = RepositoryName::parse(&repository.full_name)
                .ok_or_else(|| missing("repository.full_name"))?;
            Ok(NamedRepository { id: repository.id, name })
        })
        .collect::<Result<Vec<_>, UnreadablePayload>>()?;
    Ok(DeliveryReading::Store(Box::new(Delivery {
        guid: guid.to_owned(),
        event,
        action: action.to_owned(),
        installation: payload.installation.ok_or_else(|| missing("installation"))?.id,
        repositories,
        hint,
        received_at,
    })))
}

/// A push matters on the default branch, and on Capstan's own branches. Pushes to other people's pull
/// requests arrive as `pull_request` events.
fn concerns_capstan(reference: &str, default_branch: Option<&str>) -> bool {
    reference.strip_prefix("refs/heads/").is_some_and(|branch| {
        default_branch.is_none_or(|default| branch == default) || branch.starts_with("capstan/")
    })
}

/// An edit of an issue's text; `None` where something else of it changed.
fn body_edit(payload: &WebhookPayload<'_>) -> Option<BodyEdit> {
    let before = payload.changes.as_ref()?.body.as_ref()?.from.as_deref()?.to_owned();
    let after = payload.issue.as_ref()?.body.as_deref()?.to_owned();
    let by =
        payload.sender.as_ref()?.login.as_deref().filter(|login| login.len() <= LONGEST_LOGIN)?.to_owned();
    Some(BodyEdit { by, before, after })
}

/// GitHub's limit of a login.
const LONGEST_LOGIN: usize = 100;

/// The press of a button; `None` for bots, and for buttons that are not Capstan's.
fn press(payload: &WebhookPayload<'_>) -> Option<PressHint> {
    /// GitHub's limit of an identifier.
    const LONGEST: usize = 20;
    let sender = payload.sender.as_ref().filter(|sender| sender.kind.as_deref() != Some("Bot"))?;
    let by = sender.login.as_deref()?.to_owned();
    let button = payload.requested_action.as_ref()?.identifier.as_deref()?.to_owned();
    let is_short = button.len() <= LONGEST && by.len() <= LONGEST_LOGIN;
    is_short.then_some(PressHint { by, button })
}

fn head(headed: Option<&Headed<'_>>) -> Option<String> {
    headed?.head_sha.as_deref().map(str::to_owned)
}
