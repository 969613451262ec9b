//! One listener of HTTP: takes connections within its limits, serves them, and ends well.
//!
//! Both programs listen here, so what is refused is refused at every door. Not here: what is answered, and who may ask.

pub mod answer;
pub mod connections;
mod heads;
mod sending;

use std::net::IpAddr;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use answer::HttpRefusal;
use connections::{Connections, Taking};
use heads::{Strict, names_one_host};
use sending::{SendProgress, Sending};

/// The head of a request: far more than GitHub or any browser sends.
const HEAD_BYTES: usize = 64 << 10;
const NOT_ONE_HOST: &str = "A request names one host: `Host` once, and the target no other";
/// After the system gave no file handle.
const OUT_OF_HANDLES_PAUSE: Duration = Duration::from_millis(50);
/// How long requests under way may take to end once a shutdown began.
const GRACE: Duration = Duration::from_secs(10);

/// Who connected: a client, or a proxy before it.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// What a listener grants those who connect.
#[derive(Debug, Clone, Copy)]
pub struct Grants {
    /// Connections at a time.
    pub connections: usize,
    /// How long a request's head may take, and how long a connection may be without a request.
    pub head_timeout: Duration,
    /// For how long nothing of an answer may be taken.
    pub send_timeout: Duration,
}

/// Serves until cancelled; then answers what is under way, for at most [`GRACE`].
pub async fn serve(listener: TcpListener, router: Router, grants: Grants, stop: CancellationToken) {
    let connections = Connections::new(grants.connections);
    let mut serving = JoinSet::new();
    loop {
        while serving.try_join_next().is_some() {}
        let (stream, peer) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        let taking = tokio::select! {
            () = stop.cancelled() => break,
            taking = connections.take() => taking,
        };
        serving.spawn(converse((stream, peer), taking, router.clone(), grants, stop.clone()));
    }
    drop(listener);
    let ended = tokio::time::timeout(GRACE, async { while serving.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        tracing::warn!("requests under way were cut off after {} s", GRACE.as_secs());
    }
}

/// The next connection. May be dropped at any time.
async fn accept(listener: &TcpListener, connections: &Connections) -> (TcpStream, Peer) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                // Small answers should leave at once.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot turn off Nagle's algorithm");
                }
                return (stream, Peer(address.ip()));
            }
            // A client that hung up before its turn.
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
    (stream, peer): (TcpStream, Peer),
    taking: Taking,
    router: Router,
    grants: Grants,
    stop: CancellationToken,
) {
    let progress = SendProgress::default();
    let service = service_fn(|mut request: Request<Incoming>| {
        let (router, place, progress) = (router.clone(), taking.place(), progress.clone());
        request.extensions_mut().insert(place.clone());
        request.extensions_mut().insert(peer);
        async move {
            let answer = match names_one_host(&request) {
                true => router.oneshot(request).await,
                false => Ok(HttpRefusal::new(StatusCode::BAD_REQUEST, NOT_ONE_HOST).into_response()),
            };
            answer.map(|answer| answer.map(|body| Sending::new(body, place, progress)))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(grants.head_timeout)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Strict::new(stream)), service);
    tokio::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => {
            if let Err(error) = ended {
                tracing::debug!("a connection ended: {error}");
            }
            return;
        }
        () = taking.lost() => return,
        () = progress.stalled(grants.send_timeout) => return,
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        // A client that hung up meanwhile has lost nothing that was stored.
        _ended = connection => {}
        () = taking.lost() => {}
        () = progress.stalled(grants.send_timeout) => {}
    }
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_util::sync::DropGuard;

    use super::connections::{ConnectionSlot, TrustedCaller};
    use super::*;

    const ARCHIVE_BYTES: usize = 64 << 20;

    async fn archive(Extension(place): Extension<ConnectionSlot>) -> Vec<u8> {
        place.trust(TrustedCaller::Agent).unwrap();
        vec![b'.'; ARCHIVE_BYTES]
    }

    /// A listener of four places that serves an archive.
    async fn start(send_timeout: Duration) -> (std::net::SocketAddr, DropGuard) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let grants = Grants { connections: 4, head_timeout: Duration::from_secs(600), send_timeout };
        tokio::spawn(serve(listener, Router::new().route("/", get(archive)), grants, stop.clone()));
        (address, stop.drop_guard())
    }

    async fn ask(address: std::net::SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n").await.unwrap();
        // What the system keeps for the reader is far less than the answer.
        stream.read_exact(&mut [0; 1024]).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn who_reads_a_long_answer_slowly_keeps_its_place_until_it_has_it() {
        let (address, _stop) = start(Duration::from_secs(600)).await;
        let mut slow = ask(address).await;
        let mut strangers = Vec::new();
        for _ in 0..16 {
            strangers.push(TcpStream::connect(address).await.unwrap());
        }
        // Taken one after the other: the first is closed for one of the last.
        assert_eq!(strangers[0].read(&mut [0]).await.unwrap_or(0), 0);
        let mut answer = Vec::new();
        slow.read_to_end(&mut answer).await.unwrap();
        assert!(answer.len() + 1024 > ARCHIVE_BYTES, "{} bytes came", answer.len());
    }

    #[tokio::test]
    async fn who_takes_nothing_of_an_answer_is_cut_off() {
        let (address, _stop) = start(Duration::from_millis(100)).await;
        let mut silent = ask(address).await;
        let closed = async {
            while silent.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), closed).await.expect("it is closed");
    }
}
