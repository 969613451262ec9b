//! Deliveries made and to be made, and the record of them.
//!
//! Like GitHub, the forge never tries a delivery again by itself. It can lose, double, hold back and reorder
//! deliveries when a test asks for that.

use std::collections::VecDeque;
use std::sync::Arc;

use aws_lc_rs::hmac;

use crate::clock::Seconds;

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

impl Delivery {
    /// What the receiver answered; empty before the attempt.
    pub fn answer(&self) -> &str {
        &self.response
    }

    /// The headers that it is sent with, signed with the webhook's secret.
    pub(crate) fn headers(&self, app_id: u64, secret: &str) -> Vec<(&'static str, String)> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, self.payload.as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        vec![
            ("User-Agent", "GitHub-Hookshot/forge".to_owned()),
            ("Content-Type", "application/json".to_owned()),
            ("X-GitHub-Delivery", self.guid.clone()),
            ("X-GitHub-Event", self.event.clone()),
            ("X-GitHub-Hook-ID", app_id.to_string()),
            ("X-GitHub-Hook-Installation-Target-ID", app_id.to_string()),
            ("X-GitHub-Hook-Installation-Target-Type", "integration".to_owned()),
            ("X-Hub-Signature-256", format!("sha256={hex}")),
        ]
    }
}

/// In which order held deliveries go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOrder {
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

    pub(crate) fn reorder(&mut self, order: DeliveryOrder) {
        if order == DeliveryOrder::Reversed {
            self.queue.make_contiguous().reverse();
        }
    }

    pub(crate) fn find(&self, id: u64) -> Option<&Delivery> {
        self.deliveries.iter().find(|delivery| delivery.id == id)
    }

    /// Queues a delivery, or loses it where that was asked for.
    pub(crate) fn add(&mut self, delivery: Delivery) {
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

    /// Notes what became of a delivery.
    pub(crate) fn finish(&mut self, id: u64, code: u16, status: &str, response: String, seconds: f64) {
        if let Some(delivery) = self.deliveries.iter_mut().rfind(|delivery| delivery.id == id) {
            delivery.status_code = code;
            delivery.status = status.to_owned();
            delivery.response = response;
            delivery.duration_seconds = seconds;
        }
    }

    /// The next delivery to send.
    pub(crate) fn take(&mut self) -> Option<Delivery> {
        if self.paused {
            return None;
        }
        let id = self.queue.pop_front()?;
        self.in_flight = true;
        self.deliveries.iter().rfind(|delivery| delivery.id == id).cloned()
    }
}
