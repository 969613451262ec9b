//! Deliveries.

use serde_json::{Value, json};

use super::object::extend;
use crate::clock::rfc3339;
use crate::outbox::Delivery;
use crate::state::State;

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
    let headers: serde_json::Map<String, Value> = delivery
        .headers(state.app.id, &state.app.webhook_secret)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::String(value)))
        .collect();
    let payload: Value = serde_json::from_str(&delivery.payload).unwrap_or_default();
    extend(
        delivery_item(delivery),
        json!({
            "url": state.app.webhook_url.clone().unwrap_or_default(),
            "request": {"headers": headers, "payload": payload},
            "response": {"headers": {}, "payload": delivery.response},
        }),
    )
}
