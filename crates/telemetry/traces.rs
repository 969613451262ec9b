//! Traces to a collector, by OTLP over HTTP (<https://opentelemetry.io/docs/specs/otlp/>): each of Capstan's own spans,
//! with its fields, and nothing of what the log says.
//!
//! The exporter asks from a thread of its own, in batches; what it asks is sent by the process' runtime and HTTP client,
//! so that there is one TLS library and one set of trusted CAs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use capstan_outbound::{AnswerBounds, Client, NetworkReach, OutboundRequest, Setup};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::runtime::Handle;
use url::Url;

use super::TelemetryError;

/// How long the collector may take for a batch.
const PATIENCE: Duration = Duration::from_secs(10);
/// An answer says how many spans it did not take, and why.
const BOUNDS: AnswerBounds = AnswerBounds { bytes: 64 << 10, within: PATIENCE, of_failures: true };

/// Sends what the exporter makes.
#[derive(Debug)]
struct Sender {
    client: Client,
    runtime: Handle,
    /// Sent along; their values are never shown.
    headers: HeaderMap,
    /// Logged once, and once when it is over.
    is_failing: Arc<AtomicBool>,
}

fn wrong(error: &dyn std::fmt::Display) -> TelemetryError {
    TelemetryError::Traces(error.to_string())
}

impl Sender {
    /// To be called in a Tokio runtime.
    fn new(headers: &[(String, SecretString)]) -> Result<Self, TelemetryError> {
        let mut sent_along = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| wrong(&error))?;
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|error| wrong(&error))?;
            value.set_sensitive(true);
            sent_along.insert(name, value);
        }
        let setup = Setup {
            agent: concat!("capstan/", env!("CARGO_PKG_VERSION")),
            connect: PATIENCE,
            // The operator names the collector, which may be in the same network.
            reach: NetworkReach::Network,
            authorities: None,
        };
        Ok(Self {
            client: Client::new(&setup).map_err(|error| wrong(&error))?,
            runtime: Handle::try_current().map_err(|error| wrong(&error))?,
            headers: sent_along,
            is_failing: Arc::default(),
        })
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (mut head, body) = request.into_parts();
        head.headers.extend(self.headers.clone());
        let url = Url::parse(&head.uri.to_string())?;
        let (client, headers) = (self.client.clone(), head.headers);
        let sending = async move {
            let mut question = OutboundRequest::new(head.method, url);
            (question.headers, question.body) = (headers, Some(body.to_vec()));
            let answer = client.ask(question, BOUNDS).await?;
            let mut response = Response::new(Bytes::from(answer.body));
            (*response.status_mut(), *response.headers_mut()) = (answer.status, answer.headers);
            Ok::<_, HttpError>(response)
        };
        // The exporter's thread has no runtime.
        let answered = self.runtime.spawn(sending).await.map_err(HttpError::from).flatten();
        let trouble = match &answered {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("it answers {}", response.status().as_u16())),
            Err(error) => Some(format!("it {error}")),
        };
        let was_failing = self.is_failing.swap(trouble.is_some(), Ordering::Relaxed);
        match trouble {
            Some(trouble) if !was_failing => {
                tracing::warn!("the collector does not accept traces: {trouble}")
            }
            None if was_failing => tracing::info!("the collector accepts traces again"),
            _ => {}
        }
        answered
    }
}

/// Exports traces until it is shut down.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Begins to export; to be called in a Tokio runtime.
    pub(super) fn begin(
        endpoint: &Url,
        headers: &[(String, SecretString)],
    ) -> Result<(Self, Tracer), TelemetryError> {
        let sender = Sender::new(headers)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(sender)
            .with_endpoint(endpoint.as_str())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(PATIENCE)
            .build()
            .map_err(|error| wrong(&error))?;
        let provider = SdkTracerProvider::builder()
            .with_resource(Resource::builder().with_service_name("capstan").build())
            .with_batch_exporter(exporter)
            .build();
        let tracer = provider.tracer("capstan");
        Ok((Self(provider), tracer))
    }

    /// Sends what is left, for at most a few seconds.
    pub async fn end(self) {
        let ended = tokio::task::spawn_blocking(move || self.0.shutdown()).await;
        if let Ok(Err(error)) = ended {
            tracing::debug!(%error, "the last traces were not accepted");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use http::StatusCode;

    use super::*;

    /// A collector's token is the collector's.
    #[test]
    fn a_collector_sends_nobody_elsewhere() {
        let [collector, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let (url, elsewhere) = (collector.local_addr().unwrap(), other.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = collector.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\nspans") {
                let mut buffer = [0; 1_024];
                let read = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..read]);
            }
            let head = format!("HTTP/1.1 307 Elsewhere\r\nlocation: http://{elsewhere}/\r\n");
            write!(stream, "{head}content-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            String::from_utf8(request).unwrap()
        });
        let headers = [("authorization".to_owned(), SecretString::from("Bearer a"))];
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let answer = runtime.block_on(async {
            let request = Request::post(format!("http://{url}/v1/traces")).body(Bytes::from("spans"));
            Sender::new(&headers).unwrap().send_bytes(request.unwrap()).await.unwrap()
        });
        assert_eq!(answer.status(), StatusCode::TEMPORARY_REDIRECT);
        assert!(answering.join().unwrap().contains("authorization: Bearer a\r\n"));
        other.set_nonblocking(true).unwrap();
        assert!(other.accept().is_err(), "it was followed there");
    }
}
