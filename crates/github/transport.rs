//! GitHub as one App asks it: which token a call is made with, lists, and writes that are made once.
//! What is asked is in `call`, GraphQL in `graphql`, and what octocrab lacks in `layers`, below it.

use http::StatusCode;
use octocrab::{FromResponse, Page};
use serde::de::DeserializeOwned;

use capstan_ports::CodeHostError;

use super::access::TokenAccess;
use super::answer::GitHubAnswer;
use super::app_client::AppClient;
use super::call::{CallerIdentity, GitHubCall};
use super::tokens::{InstallationToken, TokenRights, Tokens};

/// What all calls go through. Holds tokens, in memory only.
pub(super) struct Transport {
    pub(super) client: AppClient,
    tokens: Tokens,
}

impl Transport {
    pub(super) fn new(client: AppClient) -> Self {
        Self { client, tokens: Tokens::default() }
    }

    /// A token for a task that is good for at least ten minutes more.
    pub(super) async fn token(&self, access: TokenAccess) -> Result<InstallationToken, CodeHostError> {
        self.tokens.token_for(access, &self.client).await
    }

    /// Makes a call. Answers of every status come back, except those that ask to wait and failures of the server's.
    pub(super) async fn send(&self, call: &GitHubCall) -> Result<GitHubAnswer, CodeHostError> {
        let access = match call.terms.identity {
            CallerIdentity::Installation(access) => access,
            CallerIdentity::App => return self.client.send_as_app(call).await,
            CallerIdentity::Person(_) => {
                // As the App, the answer would contain more than the person may know.
                let Some(token) = &call.token else {
                    let reason = "a call for a user has no token of theirs".to_owned();
                    let doing = call.terms.doing.clone();
                    return Err(CodeHostError::Unexpected { doing, status: 401, reason });
                };
                return self.client.send_with(call, token).await;
            }
        };
        let token = self.token(access).await?;
        let answer = self.client.send_with(call, &token.secret).await?;
        // Revoked or expired before its time; or the owner has granted more since. Neither answer has an effect, so
        // that a write may be repeated too.
        let may_be_better = match answer.status() {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => token.rights == TokenRights::Fewer,
            _ => false,
        };
        if !may_be_better {
            return Ok(answer);
        }
        self.tokens.forget(access, &token.secret).await;
        let renewed = self.token(access).await?;
        if answer.status() == StatusCode::FORBIDDEN && renewed.rights == TokenRights::Fewer {
            return Ok(answer);
        }
        self.client.send_with(call, &renewed.secret).await
    }

    /// Makes a call and reads what is answered; a refusal is an error.
    pub(super) async fn ask<T: FromResponse>(&self, call: &GitHubCall) -> Result<T, CodeHostError> {
        self.send(call).await?.content().await
    }

    /// The same; `None` where there is no such thing.
    pub(super) async fn find<T: FromResponse>(&self, call: &GitHubCall) -> Result<Option<T>, CodeHostError> {
        self.send(call).await?.content_if_found().await
    }

    /// Makes a write that would be there twice if it were done twice: where its fate is unknown, `look` finds what it
    /// made, if it did; else it is made again.
    pub(super) async fn send_once<T, Sent, Looked>(
        &self,
        send: impl Fn() -> Sent,
        look: impl Fn() -> Looked,
    ) -> Result<T, CodeHostError>
    where
        Sent: Future<Output = Result<T, CodeHostError>>,
        Looked: Future<Output = Result<Option<T>, CodeHostError>>,
    {
        let mut pauses = self.client.shared.limits.pauses(self.client.shared.limits.retries);
        loop {
            let error = match send().await {
                Err(error @ CodeHostError::Unreachable { .. }) => error,
                sent => return sent,
            };
            let Some(pause) = pauses.next() else { return Err(error) };
            tokio::time::sleep(pause).await;
            if let Some(made) = look().await? {
                return Ok(made);
            }
            metrics::counter!("capstan_github_repeated_total", "reason" => "looked").increment(1);
        }
    }

    /// Reads all pages of a list.
    pub(super) async fn pages<P: Paged>(&self, call: GitHubCall) -> Result<Vec<P::Item>, CodeHostError> {
        self.pages_until::<P>(call, |_| false).await
    }

    /// The same up to the page whose last item is one of these.
    pub(super) async fn pages_until<P: Paged>(
        &self,
        call: GitHubCall,
        is_far_enough: impl Fn(&P::Item) -> bool,
    ) -> Result<Vec<P::Item>, CodeHostError> {
        let (doing, most) = (call.terms.doing.clone(), self.client.shared.limits.pages);
        let (all, is_whole) = self.first_pages::<P>(call.clone(), most, is_far_enough).await?;
        // A full page does not say whether another one follows.
        if is_whole || self.page(&call, most + 1).await?.content::<P>().await?.items().is_empty() {
            return Ok(all);
        }
        let reason = format!("the list has more than {most} pages of {PER_PAGE}");
        Err(CodeHostError::Unexpected { doing, status: 200, reason })
    }

    /// The same up to so many pages, and whether that was far enough. Pages are asked for by their numbers: octocrab goes where
    /// GitHub's links lead, to a GitHub Enterprise Server without the token.
    pub(super) async fn first_pages<P: Paged>(
        &self,
        call: GitHubCall,
        most: usize,
        is_far_enough: impl Fn(&P::Item) -> bool,
    ) -> Result<(Vec<P::Item>, bool), CodeHostError> {
        let (mut all, mut bytes) = (Vec::new(), 0);
        for page in 1..=most {
            let answer = self.page(&call, page).await?;
            self.client.shared.limits.judge_list(&mut bytes, answer.bytes(), &call.terms.doing)?;
            let has_next = answer.has_next_page();
            let found = answer.content::<P>().await?.items();
            let has_more = has_more(has_next, found.len());
            all.extend(found);
            if !has_more || all.last().is_some_and(&is_far_enough) {
                return Ok((all, true));
            }
        }
        Ok((all, false))
    }

    async fn page(&self, call: &GitHubCall, number: usize) -> Result<GitHubAnswer, CodeHostError> {
        self.send(&call.clone().query("per_page", PER_PAGE.to_string()).query("page", number.to_string()))
            .await
    }
}

/// The most that GitHub puts on one.
const PER_PAGE: usize = 100;

/// Whether a list may continue. GitHub names the next page in `Link`. A full page is followed by a request
/// for the next one in any case: "not modified" is true of its items, and not of newer pages.
const fn has_more(has_next: Option<bool>, items: usize) -> bool {
    matches!(has_next, Some(true)) || items >= PER_PAGE
}

/// A page of a list.
pub(super) trait Paged: FromResponse {
    type Item;

    fn items(self) -> Vec<Self::Item>;
}

impl<T: DeserializeOwned> Paged for Page<T> {
    type Item = T;

    fn items(self) -> Vec<T> {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_continues_if_a_next_page_is_linked_or_the_page_is_full() {
        assert!(has_more(Some(true), 1));
        assert!(!has_more(Some(false), 99));
        assert!(!has_more(None, 99));
        assert!(has_more(Some(false), 100));
        assert!(has_more(None, 100));
    }
}
