//! Sends what is queued to the App's webhook, in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::outbox::Delivery;
use crate::shared::SharedState;

/// GitHub gives up on a webhook after ten seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends what is queued, one delivery after the other, until the forge goes.
pub(crate) async fn deliver(shared: Arc<SharedState>) {
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    loop {
        let next = {
            let mut state = shared.lock();
            let url = state.app.webhook_url.clone();
            let next = url.and_then(|url| state.outbox.take().map(|delivery| (url, delivery)));
            next.map(|(url, delivery)| {
                let headers = delivery.headers(state.app.id, &state.app.webhook_secret);
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
