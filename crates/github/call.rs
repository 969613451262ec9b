//! A call to GitHub: its identity, its address, and whether it may be repeated.

use http::Method;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use url::{Position, Url};

use super::access::{Task, TokenAccess};
use capstan_budget::{Cost, RateResource};
use capstan_ports::Repository;

/// The route of GraphQL, for metrics and for finding its URL.
pub(super) const GRAPHQL: &str = "/graphql";

/// The account that GitHub's limits count a call for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CountedFor {
    /// The App itself.
    App,
    /// An installation, by GitHub's id, whatever the task.
    Installation(u64),
    /// A person, by a digest of their token.
    Person(u64),
}

impl CountedFor {
    /// What the budget calls it. A person's own limits are theirs.
    pub(super) fn account(self) -> Option<String> {
        (!matches!(self, Self::Person(_))).then(|| self.to_string())
    }
}

impl std::fmt::Display for CountedFor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::App => f.write_str("app"),
            Self::Installation(id) => write!(f, "installation {id}"),
            Self::Person(digest) => write!(f, "person {digest:016x}"),
        }
    }
}

/// The identity that makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CallerIdentity {
    /// The App itself.
    App,
    /// One of its installations, for a task.
    Installation(TokenAccess),
    /// A person who signed in, by a digest of their token.
    Person(u64),
}

impl CallerIdentity {
    /// For reading in a repository.
    pub(super) const fn reading(repository: &Repository) -> Self {
        Self::Installation(TokenAccess::to(Task::Read, repository))
    }

    /// For a task in a repository.
    pub(super) const fn doing(task: Task, repository: &Repository) -> Self {
        Self::Installation(TokenAccess::to(task, repository))
    }

    /// For finding out which repositories there are.
    pub(super) const fn finding(installation: u64) -> Self {
        Self::Installation(TokenAccess::find(installation))
    }

    pub(super) const fn counted_for(self) -> CountedFor {
        match self {
            Self::App => CountedFor::App,
            Self::Installation(access) => CountedFor::Installation(access.installation),
            Self::Person(digest) => CountedFor::Person(digest),
        }
    }
}

/// What a call does, and so whether it may be repeated when its fate is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEffect {
    Reads,
    /// Doing it twice is doing it once.
    WritesAgain,
    /// Repeating it would create it twice: the caller checks whether it was done.
    Writes,
}

impl CallEffect {
    pub(super) const fn writes(self) -> bool {
        !matches!(self, Self::Reads)
    }

    pub(super) const fn may_be_repeated(self) -> bool {
        !matches!(self, Self::Writes)
    }
}

/// What creates content. GitHub publishes no list for its limit; these are the operations that its description of the API
/// marks as triggering notifications, as its own client libraries take it, whether Capstan asks for them or not, and
/// [`SEEN`].
const NOTIFY: &[(Method, &str)] = &[
    (Method::DELETE, "/orgs/{org}/invitations/{invitation_id}"),
    (Method::DELETE, "/repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by/{issue_id}"),
    (Method::DELETE, "/repos/{owner}/{repo}/issues/{issue_number}/issue-field-values/{issue_field_id}"),
    (Method::DELETE, "/repos/{owner}/{repo}/issues/{issue_number}/sub_issue"),
    (Method::PATCH, "/repos/{owner}/{repo}/issues/{issue_number}/sub_issues/priority"),
    (Method::POST, "/orgs/{org}/invitations"),
    (Method::POST, "/repos/{owner}/{repo}/commits/{commit_sha}/comments"),
    (Method::POST, "/repos/{owner}/{repo}/issues"),
    (Method::POST, "/repos/{owner}/{repo}/issues/{issue_number}/comments"),
    (Method::POST, "/repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by"),
    (Method::POST, "/repos/{owner}/{repo}/issues/{issue_number}/issue-field-values"),
    (Method::POST, "/repos/{owner}/{repo}/pulls"),
    (Method::POST, "/repos/{owner}/{repo}/pulls/{pull_number}/comments"),
    (Method::POST, "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies"),
    (Method::POST, "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers"),
    (Method::POST, "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"),
    (Method::POST, "/repos/{owner}/{repo}/releases"),
    (Method::PUT, "/repos/{owner}/{repo}/collaborators/{username}"),
    (Method::PUT, "/repos/{owner}/{repo}/issues/{issue_number}/issue-field-values"),
    (Method::PUT, "/repos/{owner}/{repo}/pulls/{pull_number}/merge"),
    (Method::PUT, "/repos/{owner}/{repo}/pulls/{pull_number}/merge-async"),
];

/// What people see in a conversation without a notification: counted as content too, to be on the safe side.
const SEEN: &[(Method, &str)] = &[
    (Method::POST, "/repos/{owner}/{repo}/check-runs"),
    (Method::POST, "/repos/{owner}/{repo}/statuses/{sha}"),
];

/// Whether the answer is kept, to ask only for changes the next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    No,
    ForNextTime,
}

/// What the layers below octocrab know of a call.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) identity: CallerIdentity,
    /// The route as GitHub documents it: a metric's label, so a closed set.
    pub(super) route: &'static str,
    /// What is being done, for errors.
    pub(super) doing: String,
    pub(super) effect: CallEffect,
    pub(super) keep: Keep,
}

impl Terms {
    /// What it takes of GitHub's limits.
    pub(super) fn cost(&self, method: &Method) -> Cost {
        let is_it = |known: &(Method, &str)| known.0 == *method && known.1 == self.route;
        match self.effect {
            CallEffect::Reads => Cost::READ,
            _ if NOTIFY.iter().chain(SEEN).any(is_it) => Cost::CONTENT,
            _ => Cost::WRITE,
        }
    }

    /// Against which of the primary limits it counts.
    pub(super) fn resource(&self) -> RateResource {
        if self.route == GRAPHQL { RateResource::Graphql } else { RateResource::Core }
    }
}

#[derive(Debug, Clone)]
pub(super) struct GitHubCall {
    pub(super) terms: Terms,
    pub(super) method: Method,
    segments: Vec<String>,
    query: Vec<(&'static str, String)>,
    pub(super) body: Option<serde_json::Value>,
    /// The media types that are taken.
    pub(super) accept: &'static str,
    /// A person's: they alone know it.
    pub(super) token: Option<SecretString>,
}

/// What GitHub's API answers with.
pub(super) const MEDIA_TYPE: &str = "application/vnd.github+json";

impl GitHubCall {
    pub(super) fn new(
        identity: CallerIdentity,
        method: Method,
        route: &'static str,
        doing: String,
        effect: CallEffect,
    ) -> Self {
        let terms = Terms { identity, route, doing, effect, keep: Keep::No };
        let (segments, query) = (Vec::new(), Vec::new());
        Self { terms, method, segments, query, body: None, accept: MEDIA_TYPE, token: None }
    }

    pub(super) fn get(identity: CallerIdentity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::GET, route, doing, CallEffect::Reads)
    }

    /// The path and the query, without the server: octocrab tells its token to no server by name but github.com's.
    pub(super) fn path_and_query(&self, rest: &Url) -> String {
        if self.terms.route == GRAPHQL {
            return GRAPHQL.to_owned();
        }
        let mut url = rest.clone();
        url.set_path("");
        // Only fails for URLs that cannot be a base; `connect` refuses those.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&self.segments);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url[Position::BeforePath..].to_owned()
    }

    /// Doing it twice is doing it once.
    pub(super) const fn repeatable(mut self) -> Self {
        self.terms.effect = CallEffect::WritesAgain;
        self
    }

    pub(super) fn post(identity: CallerIdentity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::POST, route, doing, CallEffect::Writes)
    }

    pub(super) fn put(identity: CallerIdentity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::PUT, route, doing, CallEffect::Writes)
    }

    pub(super) fn patch(identity: CallerIdentity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::PATCH, route, doing, CallEffect::WritesAgain)
    }

    pub(super) fn delete(identity: CallerIdentity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::DELETE, route, doing, CallEffect::WritesAgain)
    }

    /// The path, a part each; parts are escaped where needed.
    pub(super) fn path(mut self, segments: &[&str]) -> Self {
        self.segments = segments.iter().map(|&segment| segment.to_owned()).collect();
        self
    }

    /// The path below a repository. A part may hold slashes (the name of a branch).
    pub(super) fn in_repository(self, repository: &Repository, below: &[&str]) -> Self {
        let mut segments = vec!["repos", repository.name.owner(), repository.name.name()];
        segments.extend(below.iter().flat_map(|part| part.split('/')));
        self.path(&segments)
    }

    pub(super) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(super) fn body(mut self, body: serde_json::Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Asks a list for newer items; slightly older ones may come, too. GitHub takes whole seconds. A list
    /// that reaches back for days begins at a whole hour: the next run asks for the same, and gets "not
    /// modified" if nothing is new.
    pub(super) fn since(self, since: Timestamp) -> Self {
        let is_long = Timestamp::now().duration_since(since) > SignedDuration::from_hours(24);
        let step = if is_long { 3_600 } else { 1 };
        let from = Timestamp::from_second(since.as_second().div_euclid(step) * step).unwrap_or(since);
        let call = self.query("since", from.to_string());
        if is_long { call.conditional() } else { call }
    }

    /// Keeps the answer, so that the same read later costs nothing when nothing changed.
    pub(super) fn conditional(mut self) -> Self {
        self.terms.keep = Keep::ForNextTime;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_github_marks_as_triggering_notifications_counts_as_content() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/github/api.github.com.json");
        let Ok(text) = std::fs::read_to_string(file) else {
            println!("SKIPPED: {file} is absent, so nothing is held against it; run tests/fetch-openapi");
            return;
        };
        let description: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut marked = Vec::new();
        for (route, operations) in description["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                if operation["x-github"]["triggersNotification"] == true {
                    marked.push(format!("{} {route}", method.to_uppercase()));
                }
            }
        }
        marked.sort();
        let mut known: Vec<String> =
            NOTIFY.iter().map(|(method, route)| format!("{method} {route}")).collect();
        known.sort();
        assert_eq!(known, marked);
    }
}
