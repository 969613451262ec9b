//! A small server that answers as a test says, and records each request with its authorization.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use axum::routing::any;
use capstan_model::digest::sha256;
use serde_json::{Value, json};

type Answer = dyn Fn(&str) -> Response<Body> + Send + Sync;

/// Ends with the test's runtime.
pub struct Serving {
    pub host: String,
    /// `GET /path?query`, and the authorization after it, where there was one.
    pub asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
struct Shared {
    answer: Arc<Answer>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Serving {
    pub async fn start(answer: impl Fn(&str) -> Response<Body> + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let shared = Shared { answer: Arc::new(answer), asked: Arc::clone(&asked) };
        let router = Router::new().fallback(any(serve)).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { host, asked }
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(State(shared): State<Shared>, method: Method, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let said = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    shared.asked.lock().unwrap().push(format!("{method} {uri} {said}").trim_end().to_owned());
    (shared.answer)(uri.path())
}

/// An answer with this status, headers and body.
pub fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}

/// What a registry answers whose artifact, whatever its tag, has these files by their titles.
pub fn artifact(path: &str, files: &[(&str, &str)]) -> Response<Body> {
    let digest = |text: &str| format!("sha256:{}", sha256(text.as_bytes()));
    if path.contains("/manifests/") {
        let layer = |(title, text): &(&str, &str)| {
            json!({"mediaType": "application/yaml", "digest": digest(text), "size": text.len(),
                "annotations": {"org.opencontainers.image.title": title}})
        };
        let layers: Vec<Value> = files.iter().map(layer).collect();
        return answer(200, &[], json!({"schemaVersion": 2, "layers": layers}).to_string());
    }
    match files.iter().find(|(_, text)| path.ends_with(&digest(text))) {
        Some((_, text)) => answer(200, &[], (*text).to_owned()),
        None => answer(404, &[], ""),
    }
}
