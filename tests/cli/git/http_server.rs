//! Bare repositories over HTTP: `git http-backend` behind a small server that asks for a token.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use axum::routing::any;
use base64::Engine as _;
use tokio::io::AsyncWriteExt as _;

/// The only token that the server takes.
pub(crate) const TOKEN: &str = "ghs_0000SecretOfTheTest0000";

/// What a test may look at and change while the server runs.
#[derive(Default)]
pub(crate) struct Control {
    /// Method and path of every request, refused ones included.
    pub(crate) requests: Vec<String>,
    /// Cuts the answer to the next `fetch` after so many bytes.
    pub(crate) cut_next_pack_after: Option<usize>,
    /// Sends packs a kilobyte at a time, with pauses.
    pub(crate) trickle: bool,
    /// Answers with this status instead.
    pub(crate) fail_with: Option<StatusCode>,
    /// Redirects every request there.
    pub(crate) redirect_to: Option<String>,
}

#[derive(Clone)]
struct Server {
    folder: Arc<Path>,
    control: Arc<Mutex<Control>>,
}

/// A running server. It ends with the test's runtime.
pub(crate) struct GitServer {
    pub(crate) address: SocketAddr,
    pub(crate) control: Arc<Mutex<Control>>,
}

impl GitServer {
    /// Serves the repositories in a folder.
    pub(crate) async fn start(folder: &Path) -> Self {
        let control = Arc::<Mutex<Control>>::default();
        let server = Server { folder: folder.into(), control: Arc::clone(&control) };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new().fallback(any(serve)).with_state(server);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, control }
    }

    pub(crate) fn url(&self, repository: &str) -> String {
        format!("http://{}/{repository}", self.address)
    }

    /// The requests so far; forgets them.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.control.lock().unwrap().requests)
    }
}

fn answer(status: StatusCode) -> Response<Body> {
    Response::builder().status(status).body(Body::empty()).unwrap()
}

async fn serve(
    State(server): State<Server>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let (cut, trickle, failure, redirect) = {
        let mut control = server.control.lock().unwrap();
        control.requests.push(format!("{method} {}", uri.path()));
        let cut = if method == Method::POST { control.cut_next_pack_after.take() } else { None };
        (cut, control.trickle && method == Method::POST, control.fail_with, control.redirect_to.clone())
    };
    if let Some(status) = failure {
        return answer(status);
    }
    if let Some(to) = redirect {
        return Response::builder()
            .status(302)
            .header("location", format!("{to}{uri}"))
            .body(Body::empty())
            .unwrap();
    }
    let expected = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{TOKEN}"));
    if headers.get("authorization").and_then(|value| value.to_str().ok())
        != Some(&format!("Basic {expected}"))
    {
        let mut refused = answer(StatusCode::UNAUTHORIZED);
        refused.headers_mut().insert("www-authenticate", "Basic realm=\"test\"".parse().unwrap());
        return refused;
    }
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let mut backend = tokio::process::Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &*server.folder)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("PATH_INFO", uri.path())
        .env("QUERY_STRING", uri.query().unwrap_or_default())
        .env("REQUEST_METHOD", method.as_str())
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("REMOTE_USER", "capstan")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = backend.stdin.take().unwrap();
    stdin.write_all(&body).await.unwrap();
    drop(stdin);
    let output = backend.wait_with_output().await.unwrap().stdout;
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let mut response = Response::builder();
    for line in std::str::from_utf8(&output[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        response = match name {
            "Status" => response.status(value[..3].parse::<u16>().unwrap()),
            name => response.header(name, value),
        };
    }
    let content = output[end + 4..].to_vec();
    if trickle {
        let chunks: Vec<Bytes> = content.chunks(1024).map(Bytes::copy_from_slice).collect();
        let slow = futures_util::stream::unfold(chunks.into_iter(), async |mut chunks| {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            Some((Ok::<_, std::io::Error>(chunks.next()?), chunks))
        });
        return response.body(Body::from_stream(slow)).unwrap();
    }
    match cut {
        None => response.body(Body::from(content)).unwrap(),
        Some(bytes) => {
            let head = Bytes::copy_from_slice(&content[..bytes.min(content.len())]);
            let broken = futures_util::stream::iter([Ok(head), Err(std::io::Error::other("cut"))]);
            response.body(Body::from_stream(broken)).unwrap()
        }
    }
}
