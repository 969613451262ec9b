//! One listener: takes connections within its limits, serves them, and ends well.

use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::connections::{Connections, Taking};

/// The head of a request: far more than GitHub or any browser sends.
const HEAD_BYTES: usize = 64 << 10;
/// After the system gave no file handle.
const OUT_OF_HANDLES_PAUSE: Duration = Duration::from_millis(50);
/// How long requests under way may take to end once a shutdown began.
const GRACE: Duration = Duration::from_secs(10);

/// What a listener grants those who connect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grants {
    /// Connections at a time.
    pub(super) connections: usize,
    /// How long a request's head may take, and how long a connection may be without a request.
    pub(super) head_timeout: Duration,
}

/// Serves until cancelled; then answers what is under way, for at most [`GRACE`].
pub(super) async fn serve(listener: TcpListener, router: Router, grants: Grants, stop: CancellationToken) {
    let connections = Connections::new(grants.connections);
    let mut serving = JoinSet::new();
    loop {
        while serving.try_join_next().is_some() {}
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            stream = accept(&listener, &connections) => stream,
        };
        let taking = tokio::select! {
            () = stop.cancelled() => break,
            taking = connections.take() => taking,
        };
        serving.spawn(converse(stream, taking, router.clone(), grants.head_timeout, stop.clone()));
    }
    drop(listener);
    let ended = tokio::time::timeout(GRACE, async { while serving.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        tracing::warn!("requests under way were cut off after {} s", GRACE.as_secs());
    }
}

/// The next connection. May be dropped at any time.
async fn accept(listener: &TcpListener, connections: &Connections) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Small answers should leave at once.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot turn off Nagle's algorithm");
                }
                return stream;
            }
            // Whoever hung up before it was its turn.
            Err(error) if is_of_the_connection(&error) => {}
            Err(error) => {
                tracing::warn!("cannot accept connections: {error}; the oldest is closed");
                connections.close_oldest();
                tokio::time::sleep(OUT_OF_HANDLES_PAUSE).await;
            }
        }
    }
}

fn is_of_the_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Answers the requests of one connection, as long as it keeps its place.
async fn converse(
    stream: TcpStream,
    taking: Taking,
    router: Router,
    head_timeout: Duration,
    stop: CancellationToken,
) {
    let service = service_fn(|mut request: Request<Incoming>| {
        let (router, place) = (router.clone(), taking.place());
        request.extensions_mut().insert(place.clone());
        async move {
            let answer = router.oneshot(request).await;
            place.answered();
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => {
            if let Err(error) = ended {
                tracing::debug!("a connection ended: {error}");
            }
            return;
        }
        () = taking.lost() => return,
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        // Whoever hung up meanwhile has lost nothing that was stored.
        _ended = connection => {}
        () = taking.lost() => {}
    }
}
