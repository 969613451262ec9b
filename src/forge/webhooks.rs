//! Deliveries: what is sent to the App's webhook, in order and signed, and the record of it.
//!
//! Like GitHub, the forge never tries a delivery again by itself. It can lose, double, hold back and reorder
//! deliveries when a test asks for that.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::app_auth::random_guid;
use super::server::Shared;
use super::state::{Account, Seconds, State, now, rfc3339};
use super::views;

/// GitHub gives up on a webhook after ten seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// One attempt to deliver an event.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The attempt's id.
    pub id: u64,
    /// The event's id, the same for every attempt: `X-GitHub-Delivery`.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The payload's `action`.
    pub action: Option<String>,
    /// The payload as it was sent.
    pub payload: Arc<str>,
    /// Whether somebody asked for this attempt.
    pub redelivery: bool,
    /// The receiver's status; 0 before the attempt, 502 where nobody answered.
    pub status_code: u16,
    pub(crate) status: String,
    pub(crate) response: String,
    pub(crate) installation: Option<u64>,
    pub(crate) repository: Option<u64>,
    pub(crate) at: Seconds,
    pub(crate) duration_seconds: f64,
}

/// In which order held deliveries go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they happened.
    AsHappened,
    /// The last first.
    Reversed,
}

/// Deliveries made and to be made.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) deliveries: Vec<Delivery>,
    queue: VecDeque<u64>,
    pub(crate) in_flight: bool,
    pub(crate) paused: bool,
    pub(crate) lose_next: u32,
    pub(crate) duplicate_next: u32,
}

impl Outbox {
    pub(crate) fn is_idle(&self) -> bool {
        !self.in_flight && (self.paused || self.queue.is_empty())
    }

    pub(crate) fn reorder(&mut self, order: Order) {
        if order == Order::Reversed {
            self.queue.make_contiguous().reverse();
        }
    }

    pub(crate) fn find(&self, id: u64) -> Option<&Delivery> {
        self.deliveries.iter().find(|delivery| delivery.id == id)
    }

    fn add(&mut self, delivery: Delivery) {
        let id = delivery.id;
        self.deliveries.push(delivery);
        if self.lose_next > 0 && !self.deliveries.last().is_some_and(|delivery| delivery.redelivery) {
            self.lose_next -= 1;
            self.finish(id, 502, "failed to connect to host", String::new(), 0.0);
            return;
        }
        self.queue.push_back(id);
        if self.duplicate_next > 0 {
            self.duplicate_next -= 1;
            self.queue.push_back(id);
        }
    }

    fn finish(&mut self, id: u64, code: u16, status: &str, response: String, seconds: f64) {
        if let Some(delivery) = self.deliveries.iter_mut().rfind(|delivery| delivery.id == id) {
            delivery.status_code = code;
            delivery.status = status.to_owned();
            delivery.response = response;
            delivery.duration_seconds = seconds;
        }
    }

    fn take(&mut self) -> Option<Delivery> {
        if self.paused {
            return None;
        }
        let id = self.queue.pop_front()?;
        self.in_flight = true;
        self.deliveries.iter().rfind(|delivery| delivery.id == id).cloned()
    }
}

impl State {
    /// Records an event of a repository for the App, if it is installed there and subscribed.
    pub(crate) fn emit(
        &mut self,
        full_name: &str,
        sender: &Account,
        event: &str,
        action: &str,
        payload: Value,
    ) {
        let Ok(repository) = self.repository(full_name) else { return };
        let Some(installation) = self.installation_for(repository).map(|installation| installation.id) else {
            return;
        };
        let always = (event, action) == ("check_run", "rerequested")
            || (event, action) == ("check_suite", "rerequested");
        if !always && !self.app.events.iter().any(|subscribed| subscribed == event) {
            return;
        }
        let view = match event {
            "push" => views::push_repository(repository),
            _ => views::repository(repository),
        };
        let repository_id = repository.id;
        let mut body = json!({});
        if !action.is_empty() {
            body["action"] = json!(action);
        }
        let mut body = views::extend(body, payload);
        body["repository"] = view;
        body["sender"] = views::simple_user(sender, &self.web);
        body["installation"] = json!({"id": installation, "node_id": format!("IN_{installation}")});
        self.post(event, action, &body, Some(installation), Some(repository_id));
    }

    /// Records an event about an installation.
    pub(crate) fn emit_installation(
        &mut self,
        installation: u64,
        sender: &Account,
        event: &str,
        action: &str,
        payload: Value,
    ) {
        let Some(found) = self.installations.get(&installation) else { return };
        let view = views::installation(found, &self.app, &self.web);
        let mut body = views::extend(json!({"action": action, "installation": view}), payload);
        body["sender"] = views::simple_user(sender, &self.web);
        self.post(event, action, &body, Some(installation), None);
    }

    /// Records the event that GitHub sends when a webhook is set up.
    pub(crate) fn emit_ping(&mut self) {
        let id = self.app.id;
        let mut config = json!({"content_type": "json", "insecure_ssl": "0", "secret": "********"});
        if let Some(url) = &self.app.webhook_url {
            config["url"] = json!(url);
        }
        let body = json!({
            "zen": "Keep it logically awesome.",
            "hook_id": id,
            "hook": {
                "type": "App",
                "id": id,
                "app_id": id,
                "name": "web",
                "active": true,
                "events": self.app.events,
                "config": config,
                "created_at": rfc3339(self.app.created_at),
                "updated_at": rfc3339(self.app.created_at),
                "deliveries_url": format!("{}/app/hook/deliveries", self.web),
            },
        });
        self.post("ping", "", &body, None, None);
    }

    fn post(
        &mut self,
        event: &str,
        action: &str,
        body: &Value,
        installation: Option<u64>,
        repository: Option<u64>,
    ) {
        let delivery = Delivery {
            id: self.fresh_id(),
            guid: random_guid(),
            event: event.to_owned(),
            action: (!action.is_empty()).then(|| action.to_owned()),
            payload: body.to_string().into(),
            redelivery: false,
            status_code: 0,
            status: "pending".to_owned(),
            response: String::new(),
            installation,
            repository,
            at: now(),
            duration_seconds: 0.0,
        };
        self.outbox.add(delivery);
    }

    /// Queues the same event once more, under the same GUID.
    pub(crate) fn redeliver(&mut self, id: u64) -> bool {
        let Some(original) = self.outbox.find(id).cloned() else { return false };
        let again = Delivery {
            id: self.fresh_id(),
            redelivery: true,
            status_code: 0,
            status: "pending".to_owned(),
            response: String::new(),
            at: now(),
            ..original
        };
        self.outbox.add(again);
        true
    }
}

/// A delivery as lists show it.
pub(crate) fn delivery_item(delivery: &Delivery) -> Value {
    json!({
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": rfc3339(delivery.at),
        "redelivery": delivery.redelivery,
        "duration": delivery.duration_seconds,
        "status": delivery.status,
        "status_code": delivery.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": delivery.installation,
        "repository_id": delivery.repository,
        "throttled_at": null,
    })
}

/// A delivery with its request and response.
pub(crate) fn delivery_view(delivery: &Delivery, state: &State) -> Value {
    let headers: serde_json::Map<String, Value> = headers(delivery, state.app.id, &state.app.webhook_secret)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::String(value)))
        .collect();
    let payload: Value = serde_json::from_str(&delivery.payload).unwrap_or_default();
    views::extend(
        delivery_item(delivery),
        json!({
            "url": state.app.webhook_url.clone().unwrap_or_default(),
            "request": {"headers": headers, "payload": payload},
            "response": {"headers": {}, "payload": delivery.response},
        }),
    )
}

fn headers(delivery: &Delivery, app_id: u64, secret: &str) -> Vec<(&'static str, String)> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, delivery.payload.as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    vec![
        ("User-Agent", "GitHub-Hookshot/forge".to_owned()),
        ("Content-Type", "application/json".to_owned()),
        ("X-GitHub-Delivery", delivery.guid.clone()),
        ("X-GitHub-Event", delivery.event.clone()),
        ("X-GitHub-Hook-ID", app_id.to_string()),
        ("X-GitHub-Hook-Installation-Target-ID", app_id.to_string()),
        ("X-GitHub-Hook-Installation-Target-Type", "integration".to_owned()),
        ("X-Hub-Signature-256", format!("sha256={hex}")),
    ]
}

/// Sends what is queued, one delivery after the other, until the forge goes.
pub(crate) async fn deliver(shared: Arc<Shared>) {
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    loop {
        let next = {
            let mut state = shared.lock();
            let url = state.app.webhook_url.clone();
            let next = url.and_then(|url| state.outbox.take().map(|delivery| (url, delivery)));
            next.map(|(url, delivery)| {
                let headers = headers(&delivery, state.app.id, &state.app.webhook_secret);
                (url, delivery, headers)
            })
        };
        let Some((url, delivery, headers)) = next else {
            shared.outbox_changed.notified().await;
            continue;
        };
        let started = Instant::now();
        let (code, status, response) =
            match tokio::time::timeout(PATIENCE, send(&client, &url, &delivery, headers)).await {
                Ok(Ok((code, response))) => {
                    (code, if code < 400 { "OK" } else { "Invalid HTTP Response" }, response)
                }
                Ok(Err(_)) => (502, "failed to connect to host", String::new()),
                Err(_) => (504, "timed out", String::new()),
            };
        let mut state = shared.lock();
        state.outbox.in_flight = false;
        state.outbox.finish(delivery.id, code, status, response, started.elapsed().as_secs_f64());
    }
}

async fn send(
    client: &Client<HttpConnector, Full<Bytes>>,
    url: &str,
    delivery: &Delivery,
    headers: Vec<(&'static str, String)>,
) -> Result<(u16, String), Box<dyn std::error::Error + Send + Sync>> {
    let mut request = hyper::Request::post(url);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::copy_from_slice(delivery.payload.as_bytes()));
    let response = client.request(request.body(body)?).await?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}
