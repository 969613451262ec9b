//! GitHub's record of the deliveries of the App's webhook.
//!
//! Read by hand: octocrab has chrono's times and an enumeration of events, where the port has jiff's times and words.

use async_trait::async_trait;
use http::StatusCode;
use jiff::Timestamp;
use octocrab::Page;
use serde::Deserialize;
use url::form_urlencoded;

use super::call::{CallerIdentity, GitHubCall};
use super::code_host::GitHub;
use capstan_ports::{CodeHostError, DeliveryAttempt, DeliveryLog, Redelivery};

const LIST: &str = "/app/hook/deliveries";
const AGAIN: &str = "/app/hook/deliveries/{delivery_id}/attempts";
const PER_PAGE: &str = "100";

#[derive(Deserialize)]
struct AttemptPayload {
    id: u64,
    guid: String,
    delivered_at: Timestamp,
    /// 0 where nobody answered.
    status_code: i64,
    event: String,
}

#[async_trait]
impl DeliveryLog for GitHub {
    async fn delivery_attempts(&self, since: Timestamp) -> Result<Vec<DeliveryAttempt>, CodeHostError> {
        let doing = "listing deliveries";
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..self.transport.client.shared.limits.pages {
            let mut call = GitHubCall::get(CallerIdentity::App, LIST, doing.to_owned())
                .path(&["app", "hook", "deliveries"])
                .query("per_page", PER_PAGE);
            if let Some(cursor) = cursor.take() {
                call = call.query("cursor", cursor);
            }
            let page: Page<AttemptPayload> = self.transport.ask(&call).await?;
            let next = page.next.as_ref().and_then(|next| next.query()).unwrap_or_default();
            cursor = form_urlencoded::parse(next.as_bytes())
                .find(|(name, _)| name == "cursor")
                .map(|(_, cursor)| cursor.into_owned());
            let page = page.items;
            let is_far_enough = page.last().is_none_or(|last| last.delivered_at < since);
            all.extend(page.into_iter().filter(|attempt| attempt.delivered_at >= since).map(|attempt| {
                DeliveryAttempt {
                    id: attempt.id,
                    guid: attempt.guid,
                    at: attempt.delivered_at,
                    arrived: (200..300).contains(&attempt.status_code),
                    event: attempt.event,
                }
            }));
            if is_far_enough || cursor.is_none() {
                return Ok(all);
            }
        }
        // The newest are here: the older ones are looked for by the next look.
        Ok(all)
    }

    async fn redeliver(&self, attempt: u64) -> Result<Redelivery, CodeHostError> {
        // Made twice it is known the second time.
        let call =
            GitHubCall::post(CallerIdentity::App, AGAIN, format!("asking for delivery {attempt} again"))
                .repeatable()
                .path(&["app", "hook", "deliveries", &attempt.to_string(), "attempts"]);
        let answer = self.transport.send(&call).await?;
        match answer.status() {
            StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY | StatusCode::BAD_REQUEST => {
                Ok(Redelivery::Refused)
            }
            status if status.is_success() => Ok(Redelivery::Accepted),
            _ => Err(answer.into_error()),
        }
    }
}
