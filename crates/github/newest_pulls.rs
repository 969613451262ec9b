//! The newest pull request of each of many branches: of all that a repository has had in years, few are asked for.
//!
//! GitHub lists by state or by one branch. So many branches are asked about in one call, first for what tells which
//! pull request it is, then for the texts of those that have changed since they were read last.

use std::collections::HashMap;

use capstan_model::tree::CommitId;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use capstan_ports::{CodeHostError, EarlierPullRequest, PullRequestState, Repository};

use super::conditional::Remembered;
use super::transport::Transport;

/// Branches that one call asks about.
const BRANCHES: usize = 100;
/// Pull requests read of each: people's forks may have branches of the same names.
const NEWEST: usize = 10;
/// So many at once, where those are all people's.
const MORE: usize = 100;
/// Pull requests whose texts one call reads; each may have a quarter of a megabyte.
const TEXTS: usize = 25;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullsPage {
    nodes: Vec<Option<ListedPull>>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedPull {
    id: String,
    number: u64,
    updated_at: String,
    is_cross_repository: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Text {
    number: u64,
    state: String,
    body: String,
    head_ref_name: String,
    head_ref_oid: CommitId,
    base_ref_oid: CommitId,
}

impl From<Text> for EarlierPullRequest {
    fn from(text: Text) -> Self {
        Self {
            number: text.number,
            state: match text.state.as_str() {
                "OPEN" => PullRequestState::Open,
                "MERGED" => PullRequestState::Merged,
                _ => PullRequestState::Closed,
            },
            body: text.body,
            head_branch: text.head_ref_name,
            head: text.head_ref_oid,
            base: text.base_ref_oid,
        }
    }
}

/// What is asked about branches of a repository.
pub(super) struct NewestPulls<'a> {
    pub(super) transport: &'a Transport,
    pub(super) repository: &'a Repository,
    /// The branch that they are to be merged into, where only those are asked for.
    pub(super) base: Option<&'a str>,
}

impl NewestPulls<'_> {
    /// The newest pull request of each branch.
    pub(super) async fn of(&self, branches: &[String]) -> Result<Vec<EarlierPullRequest>, CodeHostError> {
        let mut seen = Vec::new();
        for branches in branches.chunks(BRANCHES) {
            seen.extend(self.see_newest(branches).await?);
        }
        let key = |seen: &ListedPull| format!("text of {} in {}", seen.id, self.repository.node_id);
        let doing = listing(self.repository);
        // What was read of each is let go at once: they may be as many as the fleet has clusters.
        let earlier = |text: &[u8]| -> Result<EarlierPullRequest, CodeHostError> {
            read::<Text>(&doing, serde_json::from_slice(text)).map(Into::into)
        };
        let mut found = Vec::new();
        let mut changed = Vec::new();
        for seen in seen {
            match self
                .transport
                .client
                .shared
                .memory
                .recall(&key(&seen))
                .filter(|known| known.etag == seen.updated_at)
            {
                Some(known) => found.push(earlier(&known.body())?),
                None => changed.push(seen),
            }
        }
        for changed in changed.chunks(TEXTS) {
            let mut texts = self.read_texts(changed).await?;
            for seen in changed {
                // One that is gone meanwhile says nothing any more.
                let Some(text) = texts.remove(&alias(seen.number)).filter(|text| !text.is_null()) else {
                    continue;
                };
                let body = text.to_string();
                found.push(earlier(body.as_bytes())?);
                let known = Remembered::new(seen.updated_at.clone(), body.as_bytes(), None);
                self.transport.client.shared.memory.remember(key(seen), known);
            }
        }
        Ok(found)
    }

    /// Of each branch the newest whose head is in the repository itself.
    async fn see_newest(&self, branches: &[String]) -> Result<Vec<ListedPull>, CodeHostError> {
        let doing = listing(self.repository);
        let indices: Vec<usize> = (0..branches.len()).collect();
        let definitions: String = indices.iter().map(|at| format!(", $h{at}: String!")).collect();
        let fields: String = indices
            .iter()
            .map(|at| {
                format!(
                    "b{at}: pullRequests(headRefName: $h{at}, baseRefName: $base, first: {NEWEST}, {ORDER}) {{ {SEEN} }} "
                )
            })
            .collect();
        let query = format!(
            "query($id: ID!, $base: String{definitions}) {{ node(id: $id) {{ ... on Repository {{ {fields}}} }} }}"
        );
        let mut variables = of_node(self.repository, self.base);
        variables.extend(branches.iter().enumerate().map(|(at, branch)| (format!("h{at}"), json!(branch))));
        let mut pages = self.fields_of(&doing, &query, variables).await?;
        let mut all = Vec::new();
        for (at, branch) in branches.iter().enumerate() {
            let page = pages.remove(&format!("b{at}")).unwrap_or_default();
            let page: PullsPage = read(&doing, serde_json::from_value(page))?;
            all.extend(self.newest_of(branch, page).await?);
        }
        Ok(all)
    }

    /// The newest of a branch whose head is in the repository itself, from this page on.
    async fn newest_of(
        &self,
        branch: &str,
        mut page: PullsPage,
    ) -> Result<Option<ListedPull>, CodeHostError> {
        let doing = listing(self.repository);
        for _ in 0..self.transport.client.shared.limits.pages {
            if let Some(own) = page.nodes.into_iter().flatten().find(|seen| !seen.is_cross_repository) {
                return Ok(Some(own));
            }
            let PageInfo { has_next_page: true, end_cursor: Some(after) } = page.page_info else {
                return Ok(None);
            };
            let query = format!(
                "query($id: ID!, $base: String, $head: String!, $after: String!) {{ node(id: $id) {{ ... on Repository {{ \
                 page: pullRequests(headRefName: $head, baseRefName: $base, first: {MORE}, after: $after, {ORDER}) {{ {SEEN} }} }} }} }}"
            );
            let mut variables = of_node(self.repository, self.base);
            variables.extend([("head".to_owned(), json!(branch)), ("after".to_owned(), json!(after))]);
            let mut fields = self.fields_of(&doing, &query, variables).await?;
            page = read(&doing, serde_json::from_value(fields.remove("page").unwrap_or_default()))?;
        }
        Err(CodeHostError::Unexpected {
            doing,
            status: 200,
            reason: format!(
                "the branch {branch} has more than {} pages of {MORE}",
                self.transport.client.shared.limits.pages
            ),
        })
    }

    async fn read_texts(&self, pulls: &[ListedPull]) -> Result<HashMap<String, Value>, CodeHostError> {
        let fields: String = pulls
            .iter()
            .map(|seen| {
                format!(
                    "{}: pullRequest(number: {}) {{ number state body headRefName headRefOid baseRefOid }} ",
                    alias(seen.number),
                    seen.number
                )
            })
            .collect();
        let query = format!("query($id: ID!) {{ node(id: $id) {{ ... on Repository {{ {fields}}} }} }}");
        let variables = Map::from_iter([("id".to_owned(), json!(self.repository.node_id))]);
        self.fields_of(&listing(self.repository), &query, variables).await
    }

    async fn fields_of(
        &self,
        doing: &str,
        query: &str,
        variables: Map<String, Value>,
    ) -> Result<HashMap<String, Value>, CodeHostError> {
        self.transport.read_node(self.repository, doing.to_owned(), query, variables.into()).await
    }
}

const ORDER: &str = "orderBy: {field: CREATED_AT, direction: DESC}";
const SEEN: &str = "nodes { id number updatedAt isCrossRepository } pageInfo { hasNextPage endCursor }";

/// The variables of both queries. A variable that is not sent leaves its argument away, so that nothing is filtered by it
/// (<https://spec.graphql.org/October2021/#sec-Coercing-Field-Arguments>).
fn of_node(repository: &Repository, base: Option<&str>) -> Map<String, Value> {
    let mut variables = Map::from_iter([("id".to_owned(), json!(repository.node_id))]);
    variables.extend(base.map(|base| ("base".to_owned(), json!(base))));
    variables
}

fn alias(number: u64) -> String {
    format!("p{number}")
}

fn listing(repository: &Repository) -> String {
    format!("listing earlier pull requests of {}", repository.name)
}

fn read<T>(doing: &str, read: serde_json::Result<T>) -> Result<T, CodeHostError> {
    read.map_err(|error| CodeHostError::Unexpected {
        doing: doing.to_owned(),
        status: 200,
        reason: format!("the answer is not as documented: {error}"),
    })
}
