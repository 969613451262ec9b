//! One API request on its way: who asks, for what, and the answer. Permissions are decided here and nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::state::{Account, ForgeRepository, Permission, State};
use crate::url_encoding::encode;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum Actor {
    /// No credentials.
    Nobody,
    /// The App itself, by a JSON web token.
    App,
    /// The App on an account, by an installation token.
    Installation { id: u64, permissions: BTreeMap<String, String>, repositories: Option<BTreeSet<String>> },
    /// A person.
    User(Account),
}

impl Actor {
    pub(crate) fn describe(&self) -> String {
        match self {
            Actor::Nobody => "nobody".to_owned(),
            Actor::App => "app".to_owned(),
            Actor::Installation { id, .. } => format!("installation {id}"),
            Actor::User(account) => account.login.clone(),
        }
    }
}

/// What a request needs: a permission of the App, and what a person must be for the same.
#[derive(Clone, Copy)]
pub(crate) struct PermissionNeed {
    scopes: &'static [&'static str],
    write: bool,
    person: Permission,
}

impl PermissionNeed {
    const fn read(scopes: &'static [&'static str]) -> PermissionNeed {
        PermissionNeed { scopes, write: false, person: Permission::Read }
    }

    const fn write(scopes: &'static [&'static str], person: Permission) -> PermissionNeed {
        PermissionNeed { scopes, write: true, person }
    }
}

pub(crate) const METADATA: PermissionNeed = PermissionNeed::read(&["metadata"]);
pub(crate) const READ_CODE: PermissionNeed = PermissionNeed::read(&["contents"]);
pub(crate) const WRITE_CODE: PermissionNeed = PermissionNeed::write(&["contents"], Permission::Write);
pub(crate) const READ_PULLS: PermissionNeed = PermissionNeed::read(&["pull_requests"]);
pub(crate) const WRITE_PULLS: PermissionNeed = PermissionNeed::write(&["pull_requests"], Permission::Read);
pub(crate) const MERGE_PULLS: PermissionNeed = PermissionNeed::write(&["contents"], Permission::Write);
pub(crate) const READ_TALK: PermissionNeed = PermissionNeed::read(&["issues", "pull_requests"]);
pub(crate) const WRITE_TALK: PermissionNeed =
    PermissionNeed::write(&["issues", "pull_requests"], Permission::Read);
pub(crate) const TRIAGE: PermissionNeed =
    PermissionNeed::write(&["issues", "pull_requests"], Permission::Triage);
pub(crate) const READ_CHECKS: PermissionNeed = PermissionNeed::read(&["checks"]);
pub(crate) const WRITE_CHECKS: PermissionNeed = PermissionNeed::write(&["checks"], Permission::Admin);
pub(crate) const READ_STATUSES: PermissionNeed = PermissionNeed::read(&["statuses"]);
pub(crate) const WRITE_STATUSES: PermissionNeed = PermissionNeed::write(&["statuses"], Permission::Write);

/// A request to the REST or GraphQL API.
pub(crate) struct ForgeCall<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) actor: &'a Actor,
    pub(crate) query: &'a BTreeMap<String, String>,
    pub(crate) body: &'a Value,
    /// The path and host to build pagination links from.
    pub(crate) url: &'a str,
    /// The media types that the caller takes: some open a preview.
    pub(crate) accept: &'a str,
}

impl<'a> ForgeCall<'a> {
    /// The account in whose name something is done.
    pub(crate) fn account(&self) -> Result<Account, ApiError> {
        match self.actor {
            Actor::Nobody => Err(ApiError::new(401, "Requires authentication")),
            Actor::App => Err(ApiError::new(403, "Resource not accessible by integration")),
            Actor::Installation { .. } => Ok(self.state.app.bot.clone()),
            Actor::User(account) => Ok(account.clone()),
        }
    }

    pub(crate) fn is_app(&self) -> bool {
        matches!(self.actor, Actor::Installation { .. })
    }

    /// The full name of a repository in which the actor may do what is needed.
    pub(crate) fn repository(
        &self,
        owner: &str,
        name: &str,
        need: PermissionNeed,
    ) -> Result<String, ApiError> {
        let repository = self.state.repository(&format!("{owner}/{name}"))?;
        let full_name = repository.full_name();
        permit(self.state, self.actor, repository, need)?;
        if need.write && repository.archived {
            return Err(ApiError::new(403, "Repository was archived so is read-only."));
        }
        Ok(full_name)
    }

    pub(crate) fn text(&self, field: &str) -> Option<&'a str> {
        let body: &'a Value = self.body;
        body[field].as_str()
    }

    pub(crate) fn required_text(&self, field: &str) -> Result<&'a str, ApiError> {
        self.text(field).ok_or_else(|| {
            ApiError::unprocessable(format!("Invalid request.\n\n\"{field}\" wasn't supplied."))
        })
    }

    pub(crate) fn texts(&self, field: &str) -> Vec<String> {
        let items = self.body[field].as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        let query: &'a BTreeMap<String, String> = self.query;
        query.get(name).map(String::as_str)
    }

    /// The requested page of a list.
    pub(crate) fn page(&self, items: Vec<Value>) -> Reply {
        let (items, link) = self.cut(items);
        Reply { link, ..Reply::ok(Value::Array(items)) }
    }

    /// The requested page of a long list, of which nothing else is written out.
    pub(crate) fn page_of<T>(&self, items: Vec<T>, view: impl Fn(T) -> Value) -> Reply {
        let (items, link) = self.cut(items);
        Reply { link, ..Reply::ok(items.into_iter().map(view).collect()) }
    }

    /// The requested page of a list that is in an object with its total count.
    pub(crate) fn counted_page(&self, field: &str, items: Vec<Value>) -> Reply {
        let total = items.len();
        let (items, link) = self.cut(items);
        Reply { link, ..Reply::ok(json!({"total_count": total, field: items})) }
    }

    fn cut<T>(&self, items: Vec<T>) -> (Vec<T>, Option<String>) {
        let number = |name: &str, default: usize| {
            self.parameter(name).and_then(|text| text.parse().ok()).filter(|n| *n > 0).unwrap_or(default)
        };
        let (size, page) = (number("per_page", 30).min(100), number("page", 1));
        let last = items.len().div_ceil(size).max(1);
        let link = |page: usize, relation: &str| {
            let others: String = self
                .query
                .iter()
                .filter(|(name, _)| *name != "page")
                .map(|(name, value)| format!("{name}={}&", encode(value)))
                .collect();
            format!("<{}?{others}page={page}>; rel=\"{relation}\"", self.url)
        };
        let mut links = Vec::new();
        if page > 1 {
            links.extend([link(page - 1, "prev"), link(1, "first")]);
        }
        if page < last {
            links.extend([link(page + 1, "next"), link(last, "last")]);
        }
        let items = items.into_iter().skip((page - 1) * size).take(size).collect();
        (items, (!links.is_empty()).then(|| links.join(", ")))
    }
}

/// Whether the actor may; 404 where it may not even read, as GitHub hides what exists.
pub(crate) fn permit(
    state: &State,
    actor: &Actor,
    repository: &ForgeRepository,
    need: PermissionNeed,
) -> Result<(), ApiError> {
    match actor {
        Actor::App => Err(ApiError::new(403, "Resource not accessible by integration")),
        Actor::Nobody if need.write => Err(ApiError::new(401, "Requires authentication")),
        Actor::Nobody if repository.private => Err(ApiError::not_found()),
        Actor::Nobody => Ok(()),
        Actor::User(account) => {
            let has = repository.permission_of(&account.login);
            if has < Permission::Read {
                return Err(ApiError::not_found());
            }
            if has < need.person {
                return Err(ApiError::new(403, "Must have admin rights to Repository."));
            }
            Ok(())
        }
        Actor::Installation { id, permissions, repositories } => {
            let covered =
                state.installations.get(id).is_some_and(|installation| installation.covers(repository))
                    && repositories.as_ref().is_none_or(|names| names.contains(&repository.name));
            if !covered {
                return if repository.private || need.write { Err(ApiError::not_found()) } else { Ok(()) };
            }
            let level = |scope: &&str| match permissions.get(*scope).map(String::as_str) {
                Some("write" | "admin") => true,
                Some("read") => !need.write,
                _ => *scope == "metadata" && !need.write,
            };
            if need.scopes.iter().any(level) { Ok(()) } else { Err(ApiError::forbidden()) }
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) link: Option<String>,
    /// Where it leads.
    pub(crate) location: Option<String>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: Value) -> Reply {
        Reply { status, body, link: None, location: None }
    }

    pub(crate) fn ok(body: Value) -> Reply {
        Reply::new(200, body)
    }

    pub(crate) fn created(body: Value) -> Reply {
        Reply::new(201, body)
    }

    pub(crate) fn found(location: String) -> Reply {
        Reply { location: Some(location), ..Reply::new(302, Value::Null) }
    }

    pub(crate) fn no_content() -> Reply {
        Reply::new(204, Value::Null)
    }
}

/// The answer to an API request.
pub(crate) type ApiResult = Result<Reply, ApiError>;
