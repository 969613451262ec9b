//! Webhook payload -> event: of each delivery only what Capstan reads. A payload is a hint that
//! something changed; the handlers look at the present state.

use capstan_domain::tree::CommitId;
use serde::Deserialize;

use crate::app::ports::RepositoryName;

/// A delivery of GitHub's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The installation that it concerns; absent for a `ping`.
    pub installation: Option<u64>,
    /// The repository; absent where a whole installation is concerned.
    pub repository: Option<EventRepository>,
    /// What happened.
    pub happening: Happening,
}

/// The repository of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRepository {
    /// GitHub's id.
    pub id: u64,
    /// Its present name.
    pub name: RepositoryName,
}

/// What happened, as far as Capstan reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// The webhook was set up.
    Ping,
    /// A branch moved, came or went.
    Push {
        /// `refs/heads/main`, `refs/tags/v1`.
        reference: String,
        /// Where it points now; `None` where it was removed.
        after: Option<CommitId>,
    },
    /// A pull request was opened, pushed to, closed, labelled, queued, …
    PullRequest {
        /// Its number.
        number: u64,
        /// GitHub's word for what happened: `opened`, `synchronize`, `closed`, …
        action: String,
        /// Its head.
        head: CommitId,
    },
    /// Somebody reviewed, or took a review back.
    Review {
        /// The pull request.
        number: u64,
    },
    /// Somebody wrote a comment.
    Comment {
        /// The pull request or issue.
        number: u64,
        /// It stands on a pull request.
        on_pull_request: bool,
        /// The comment's id.
        comment: u64,
        /// Who wrote it.
        author: String,
        /// The author is an App or another bot.
        by_bot: bool,
        /// The text.
        body: String,
    },
    /// Somebody asks for a check to be made again.
    CheckRequested {
        /// The commit.
        head: CommitId,
    },
    /// A merge queue asks for checks on a group.
    MergeGroup {
        /// The group's commit.
        head: CommitId,
    },
    /// The App was installed, removed, suspended, or its repositories changed.
    Installation {
        /// GitHub's word: `created`, `deleted`, `suspend`, `added`, …
        action: String,
    },
    /// Of no interest.
    Other,
}

/// A payload that is not as GitHub documents it.
#[derive(Debug, thiserror::Error)]
#[error("the payload of `{event}` cannot be read: {reason}")]
pub struct PayloadError {
    /// The event's name.
    pub event: String,
    /// What is wrong; never holds content.
    pub reason: String,
}

#[derive(Deserialize)]
struct Payload {
    #[serde(default)]
    action: String,
    installation: Option<IdPayload>,
    repository: Option<RepositoryPayload>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    after: Option<String>,
    pull_request: Option<PullPayload>,
    issue: Option<IssuePayload>,
    comment: Option<CommentPayload>,
    check_run: Option<HeadPayload>,
    check_suite: Option<HeadPayload>,
    merge_group: Option<HeadPayload>,
}

#[derive(Deserialize)]
struct IdPayload {
    id: u64,
}

#[derive(Deserialize)]
struct RepositoryPayload {
    id: u64,
    full_name: String,
}

#[derive(Deserialize)]
struct PullPayload {
    number: u64,
    head: ShaPayload,
}

#[derive(Deserialize)]
struct ShaPayload {
    sha: CommitId,
}

#[derive(Deserialize)]
struct HeadPayload {
    head_sha: CommitId,
}

#[derive(Deserialize)]
struct IssuePayload {
    number: u64,
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct CommentPayload {
    id: u64,
    #[serde(default)]
    body: Option<String>,
    user: Option<UserPayload>,
}

#[derive(Deserialize)]
struct UserPayload {
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

/// Reads a delivery. `event` is the header `X-GitHub-Event`.
pub fn read(event: &str, body: &[u8]) -> Result<Event, PayloadError> {
    let unreadable = |reason: &str| PayloadError { event: event.to_owned(), reason: reason.to_owned() };
    let payload: Payload = serde_json::from_slice(body).map_err(|error| {
        // The error's own text quotes what it found: content, which may be anything.
        unreadable(&format!(
            "{:?} error at line {} column {}",
            error.classify(),
            error.line(),
            error.column()
        ))
    })?;
    let repository = match payload.repository {
        Some(found) => {
            let name = RepositoryName::parse(&found.full_name)
                .ok_or_else(|| unreadable("`repository.full_name` is no name"))?;
            Some(EventRepository { id: found.id, name })
        }
        None => None,
    };
    let installation = payload.installation.map(|installation| installation.id);
    let action = payload.action;
    let missing = |field: &'static str| move || unreadable(&format!("`{field}` is missing"));
    let happening = match (event, action.as_str()) {
        ("ping", _) => Happening::Ping,
        ("push", _) => Happening::Push {
            reference: payload.reference.ok_or_else(missing("ref"))?,
            after: payload
                .after
                .filter(|after| after.bytes().any(|digit| digit != b'0'))
                .map(|after| CommitId::parse(&after).map_err(|_| unreadable("`after` is no commit's id")))
                .transpose()?,
        },
        ("pull_request", _) => {
            let pull = payload.pull_request.ok_or_else(missing("pull_request"))?;
            Happening::PullRequest { number: pull.number, action, head: pull.head.sha }
        }
        ("pull_request_review", _) => {
            Happening::Review { number: payload.pull_request.ok_or_else(missing("pull_request"))?.number }
        }
        ("issue_comment", "created") => {
            let issue = payload.issue.ok_or_else(missing("issue"))?;
            let comment = payload.comment.ok_or_else(missing("comment"))?;
            Happening::Comment {
                number: issue.number,
                on_pull_request: issue.pull_request.is_some(),
                comment: comment.id,
                by_bot: comment.user.as_ref().is_some_and(|user| user.kind == "Bot"),
                author: comment.user.map_or_else(|| super::pulls::GHOST.to_owned(), |user| user.login),
                body: comment.body.unwrap_or_default(),
            }
        }
        ("check_run", "rerequested") => {
            Happening::CheckRequested { head: payload.check_run.ok_or_else(missing("check_run"))?.head_sha }
        }
        ("check_suite", "rerequested" | "requested") => Happening::CheckRequested {
            head: payload.check_suite.ok_or_else(missing("check_suite"))?.head_sha,
        },
        ("merge_group", "checks_requested") => {
            Happening::MergeGroup { head: payload.merge_group.ok_or_else(missing("merge_group"))?.head_sha }
        }
        ("installation" | "installation_repositories", _) => Happening::Installation { action },
        _ => Happening::Other,
    };
    Ok(Event { installation, repository, happening })
}
