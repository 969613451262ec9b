//! Calls by GraphQL: one route, and errors that come with 200.
//!
//! Read by hand: octocrab's `graphql` drops the data beside an error, and the type of an error.

use std::time::Duration;

use http::Method;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::answer::cut;
use super::call::{CallEffect, CallerIdentity, GRAPHQL, GitHubCall};
use super::transport::Transport;
use capstan_ports::{CodeHostError, Repository};

/// GitHub Enterprise Server had `updateRefs` as a preview for long, which needs this header; elsewhere it
/// changes nothing (<https://docs.github.com/en/enterprise-server@3.10/graphql/overview/schema-previews>).
const WITH_PREVIEWS: &str = "application/vnd.github+json, application/vnd.github.update-refs-preview+json";

/// What a GraphQL call came back with.
#[derive(Debug, serde::Deserialize)]
pub(super) struct GraphQl<T> {
    pub(super) data: Option<T>,
    #[serde(default)]
    pub(super) errors: Vec<GraphQlError>,
}

/// What a query of one node answers.
#[derive(Debug, serde::Deserialize)]
pub(super) struct OfNode<T> {
    pub(super) node: Option<T>,
}

/// What a mutation answers that is called `done`.
#[derive(Debug, serde::Deserialize)]
pub(super) struct MutationReply {
    done: Option<IgnoredAny>,
}

impl GraphQl<MutationReply> {
    pub(super) fn is_done(&self) -> bool {
        self.errors.is_empty() && self.data.as_ref().is_some_and(|data| data.done.is_some())
    }
}

/// One error of a GraphQL call.
#[derive(Debug, serde::Deserialize)]
pub(super) struct GraphQlError {
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Debug, Default, serde::Deserialize)]
struct Extensions {
    #[serde(default)]
    code: Option<String>,
}

impl GraphQlError {
    /// Whether the server has no such field: an older GitHub Enterprise Server refuses the whole query then.
    pub(super) fn is_undefined_field(&self) -> bool {
        self.extensions.code.as_deref() == Some("undefinedField")
    }
}

/// The error that a GraphQL answer without the node that was asked for is.
pub(super) fn missing_node(doing: String, errors: Vec<GraphQlError>) -> CodeHostError {
    match errors.into_iter().next() {
        None => CodeHostError::NotFound { doing },
        Some(error) => match error.kind.as_deref() {
            Some("NOT_FOUND") => CodeHostError::NotFound { doing },
            Some("FORBIDDEN") => CodeHostError::Forbidden { doing, reason: cut(&error.message) },
            _ => CodeHostError::Unexpected { doing, status: 200, reason: cut(&error.message) },
        },
    }
}

impl Transport {
    /// Reads by GraphQL.
    pub(super) async fn query<T: DeserializeOwned>(
        &self,
        identity: CallerIdentity,
        doing: String,
        query: &str,
        variables: serde_json::Value,
    ) -> Result<GraphQl<T>, CodeHostError> {
        self.graphql(identity, doing, query, variables, CallEffect::Reads).await
    }

    /// Reads the `node` that a query asks for.
    pub(super) async fn read_node<T: DeserializeOwned>(
        &self,
        repository: &Repository,
        doing: String,
        query: &str,
        variables: serde_json::Value,
    ) -> Result<T, CodeHostError> {
        let identity = CallerIdentity::reading(repository);
        let answer = self.query::<OfNode<T>>(identity, doing.clone(), query, variables).await?;
        answer.data.and_then(|data| data.node).ok_or_else(|| missing_node(doing, answer.errors))
    }

    /// Writes by GraphQL. Every mutation that is made brings something into a state (a reference with its former commit
    /// named, draft or ready, merged), so that doing it twice is doing it once.
    pub(super) async fn mutate<T: DeserializeOwned>(
        &self,
        identity: CallerIdentity,
        doing: String,
        mutation: &str,
        variables: serde_json::Value,
    ) -> Result<GraphQl<T>, CodeHostError> {
        self.graphql(identity, doing, mutation, variables, CallEffect::WritesAgain).await
    }

    async fn graphql<T: DeserializeOwned>(
        &self,
        identity: CallerIdentity,
        doing: String,
        query: &str,
        variables: serde_json::Value,
        effect: CallEffect,
    ) -> Result<GraphQl<T>, CodeHostError> {
        let mut call = GitHubCall::new(identity, Method::POST, GRAPHQL, doing, effect)
            .body(serde_json::json!({"query": query, "variables": variables}));
        if effect.writes() {
            call.accept = WITH_PREVIEWS;
        }
        let answer: GraphQl<T> = self.ask(&call).await?;
        // GraphQL says so with 200.
        if answer.errors.iter().any(|error| error.kind.as_deref() == Some("RATE_LIMITED")) {
            let retry_after = Duration::from_secs(60);
            self.client.shared.be_quiet(identity, retry_after);
            return Err(CodeHostError::RateLimited { doing: call.terms.doing, retry_after });
        }
        Ok(answer)
    }
}
