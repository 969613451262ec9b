//! What is asked of GitHub: as whom, where, and whether it may be asked again.

use http::Method;

use super::access::{Access, Task};
use crate::app::ports::Repository;

/// The route of GraphQL, for metrics and for finding its URL.
pub(super) const GRAPHQL: &str = "/graphql";

/// Whom GitHub's limits count a call against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CountedFor {
    /// The App itself.
    App,
    /// An installation, by GitHub's id, whatever the task.
    Installation(u64),
    /// A person, by a digest of their token.
    Person(u64),
}

/// As whom a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// The App itself.
    App,
    /// One of its installations, for a task.
    Installation(Access),
    /// A person who signed in, by a digest of their token.
    Person(u64),
}

impl Identity {
    /// For reading in a repository.
    pub(super) const fn reading(repository: &Repository) -> Self {
        Self::Installation(Access::to(Task::Read, repository))
    }

    /// For a task in a repository.
    pub(super) const fn doing(task: Task, repository: &Repository) -> Self {
        Self::Installation(Access::to(task, repository))
    }

    /// For finding out which repositories there are.
    pub(super) const fn finding(installation: u64) -> Self {
        Self::Installation(Access::find(installation))
    }

    pub(super) const fn counted_for(self) -> CountedFor {
        match self {
            Self::App => CountedFor::App,
            Self::Installation(access) => CountedFor::Installation(access.installation),
            Self::Person(digest) => CountedFor::Person(digest),
        }
    }
}

/// Whether a call may be repeated when its fate is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Writes,
}

/// Whether the answer is kept, to ask only for changes the next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    No,
    ForNextTime,
}

/// One call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) identity: Identity,
    pub(super) method: Method,
    /// The route as GitHub documents it: a metric's label, hence a closed set.
    pub(super) route: &'static str,
    /// What is being done, for errors.
    pub(super) doing: String,
    pub(super) segments: Vec<String>,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<serde_json::Value>,
    pub(super) effect: Effect,
    pub(super) keep: Keep,
    /// The media types that are taken.
    pub(super) accept: &'static str,
}

/// What GitHub's API answers with.
const MEDIA_TYPE: &str = "application/vnd.github+json";

impl Call {
    pub(super) fn new(
        identity: Identity,
        method: Method,
        route: &'static str,
        doing: String,
        effect: Effect,
    ) -> Self {
        let (segments, query) = (Vec::new(), Vec::new());
        let (body, keep, accept) = (None, Keep::No, MEDIA_TYPE);
        Self { identity, method, route, doing, segments, query, body, effect, keep, accept }
    }

    pub(super) fn get(identity: Identity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::GET, route, doing, Effect::Reads)
    }

    pub(super) fn post(identity: Identity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::POST, route, doing, Effect::Writes)
    }

    pub(super) fn put(identity: Identity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::PUT, route, doing, Effect::Writes)
    }

    pub(super) fn patch(identity: Identity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::PATCH, route, doing, Effect::Writes)
    }

    pub(super) fn delete(identity: Identity, route: &'static str, doing: String) -> Self {
        Self::new(identity, Method::DELETE, route, doing, Effect::Writes)
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

    /// Keeps the answer, so that the same read later costs nothing when nothing changed.
    pub(super) fn conditional(mut self) -> Self {
        self.keep = Keep::ForNextTime;
        self
    }
}
