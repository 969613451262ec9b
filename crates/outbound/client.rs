//! A question and its answer.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use reqwest::{Certificate, Response};

use crate::address::is_near;
use crate::redirect::{MOST_REDIRECTS, Redirects};
use crate::request::OutboundRequest;
use crate::resolver::{NetworkReach, Resolver};
use crate::tls::share_tls;
use crate::trouble::OutboundError;

/// How a client is made.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// What it calls itself.
    pub agent: &'static str,
    /// How long a connection may take to come about.
    pub connect: Duration,
    /// Where names may lead.
    pub reach: NetworkReach,
    /// The only ones that it trusts; `None`: those of the machine.
    pub authorities: Option<Authorities<'a>>,
}

/// Authorities of certificates.
#[derive(Debug, Clone, Copy)]
pub struct Authorities<'a> {
    /// Their certificates.
    pub pem: &'a str,
    /// Where they are from, as a sentence begins: "`ca.crt` of the Secret".
    pub from: &'a str,
}

/// Asks others over HTTP. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    far: reqwest::Client,
    /// Nobody asks a proxy for this machine or this cluster.
    near: reqwest::Client,
}

/// Why no client can be made, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{from} holds {what}")]
pub struct NoClient {
    from: String,
    what: &'static str,
}

/// What an answer may cost.
#[derive(Debug, Clone, Copy)]
pub struct AnswerBounds {
    /// The most bytes of its body.
    pub bytes: usize,
    /// How long it may take from the call to its last byte.
    pub within: Duration,
    /// Whether the body is read whatever the status; else of a success alone.
    pub of_failures: bool,
}

/// What is answered, whatever its status.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status. That of a redirect where nobody was followed.
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body, as far as it is wanted.
    pub body: Vec<u8>,
}

impl Client {
    /// Makes one; nothing is sent yet.
    ///
    /// # Errors
    /// See [`NoClient`].
    pub fn new(setup: &Setup<'_>) -> Result<Self, NoClient> {
        let from = setup.authorities.map_or("the machine's trust store", |authorities| authorities.from);
        // What fails may quote a certificate.
        let holds = |what| NoClient { from: from.to_owned(), what };
        let authorities = match setup.authorities {
            Some(Authorities { pem, .. }) => {
                let all = Certificate::from_pem_bundle(pem.as_bytes()).ok().filter(|all| !all.is_empty());
                Some(all.ok_or_else(|| holds("no certificate in PEM"))?)
            }
            None => None,
        };
        let no_tls = |_| holds("certificates that TLS cannot use");
        let builder = || {
            let builder = reqwest::Client::builder()
                .user_agent(setup.agent)
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(setup.connect);
            match &authorities {
                Some(authorities) => builder.tls_certs_only(authorities.iter().cloned()),
                None => share_tls(builder),
            }
        };
        let far = builder().dns_resolver(Resolver::new(&setup.reach)).build().map_err(no_tls)?;
        let near = builder().no_proxy().build().map_err(no_tls)?;
        Ok(Self { far, near })
    }

    /// Asks once.
    ///
    /// # Errors
    /// See [`OutboundError`].
    pub async fn ask(
        &self,
        question: OutboundRequest,
        bounds: AnswerBounds,
    ) -> Result<HttpAnswer, OutboundError> {
        let exchange = async {
            let mut response = self.send(question).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut body = Vec::new();
            if status.is_success() || bounds.of_failures {
                while let Some(chunk) = response.chunk().await.map_err(trouble)? {
                    body.extend_from_slice(&chunk);
                    if body.len() > bounds.bytes {
                        return Err(OutboundError::TooLarge(bounds.bytes));
                    }
                }
            }
            Ok(HttpAnswer { status, headers, body })
        };
        tokio::time::timeout(bounds.within, exchange)
            .await
            .unwrap_or(Err(OutboundError::TooSlow(bounds.within)))
    }

    async fn send(&self, mut question: OutboundRequest) -> Result<Response, OutboundError> {
        let client = if is_near(&question.url) { &self.near } else { &self.far };
        let mut redirects = Redirects::within_origin(if question.follows { MOST_REDIRECTS } else { 0 });
        loop {
            let OutboundRequest { method, url, headers, body, .. } = question.clone();
            let mut request = client.request(method, url).headers(headers);
            if let Some(body) = body {
                request = request.body(body);
            }
            let response = request.send().await.map_err(trouble)?;
            // Who leads on and on is not followed: the caller sees the redirect.
            if redirects.follow(&mut question, response.status(), response.headers()) != Ok(true) {
                return Ok(response);
            }
        }
    }
}

/// The operator reads all of it in the log.
fn trouble(error: reqwest::Error) -> OutboundError {
    let kind = OutboundError::of(&error);
    tracing::debug!(error = %capstan_model::wording::with_causes(&error.without_url()), "a call failed");
    kind
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{HeaderValue, Method};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    const BOUNDS: AnswerBounds =
        AnswerBounds { bytes: 1_000, within: Duration::from_secs(60), of_failures: false };

    fn client(reach: NetworkReach) -> Client {
        let setup = Setup { agent: "test", connect: Duration::from_secs(30), reach, authorities: None };
        Client::new(&setup).unwrap()
    }

    fn get(url: &str) -> OutboundRequest {
        OutboundRequest::new(Method::GET, url.parse().unwrap())
    }

    /// The port of a server that answers so.
    async fn answers(text: &'static str, stays_open: bool) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let _request = stream.read(&mut [0; 4_096]).await;
                    let _hung_up = stream.write_all(text.as_bytes()).await;
                    if stays_open {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        port
    }

    #[tokio::test]
    async fn nobody_is_followed_and_refusals_are_not_read() {
        let port = answers(
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 3\r\n\r\nyou",
            false,
        )
        .await;
        let client = client(NetworkReach::Network);
        let answer = client.ask(get(&format!("http://127.0.0.1:{port}/")), BOUNDS).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.body.as_slice()), (302, b"".as_slice()));
        let all = AnswerBounds { of_failures: true, ..BOUNDS };
        let answer = client.ask(get(&format!("http://127.0.0.1:{port}/")), all).await.unwrap();
        assert_eq!(answer.body, b"you");
    }

    /// A server that leads from `/to?LOCATION` to there, and elsewhere says what it was asked; and how often it was.
    async fn leads() -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, asked) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let mut buffer = [0; 4_096];
                let read = stream.read(&mut buffer).await.unwrap();
                let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                let line = text.lines().next().unwrap().trim_end_matches(" HTTP/1.1");
                let answer = match line.split_once("/to?") {
                    Some((_, location)) => {
                        let (status, location) = location.split_at(3);
                        format!("{status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
                    }
                    None => {
                        let token = text.lines().find_map(|line| line.strip_prefix("authorization: "));
                        let said = format!("{line} {} {}", token.unwrap_or("nobody"), text.ends_with("body"));
                        format!("200 OK\r\ncontent-length: {}\r\n\r\n{said}", said.len())
                    }
                };
                stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await.unwrap();
            }
        });
        (port, asked)
    }

    #[tokio::test]
    async fn who_is_followed_stays_at_the_server_and_is_asked_the_same() {
        let client = client(NetworkReach::Network);
        let ((port, asked), (other, never)) = (leads().await, leads().await);
        let ask = async |method: Method, rest: &str, follows: bool| {
            let url = format!("http://127.0.0.1:{port}{rest}").parse().unwrap();
            let token = HeaderValue::from_static("Bearer t0ken");
            let question = OutboundRequest::new(method, url).header(http::header::AUTHORIZATION, token);
            let question = question.body("text/plain", b"body".to_vec());
            let question = if follows { question.follow() } else { question };
            let answer = client.ask(question, BOUNDS).await.unwrap();
            (answer.status.as_u16(), String::from_utf8(answer.body).unwrap())
        };
        let unsaid = |status| (status, String::new());
        let told = |text: &str| (200, text.to_owned());
        assert_eq!(ask(Method::GET, "/to?301/new", true).await, told("GET /new Bearer t0ken true"));
        assert_eq!(ask(Method::POST, "/to?307/new", true).await, told("POST /new Bearer t0ken true"));
        assert_eq!(ask(Method::POST, "/to?302/new", true).await, unsaid(302));
        assert_eq!(ask(Method::GET, "/to?301/new", false).await, unsaid(301));
        for elsewhere in
            [format!("http://127.0.0.1:{other}/"), format!("http://localhost:{port}/"), "//[::1]/".to_owned()]
        {
            assert_eq!(ask(Method::GET, &format!("/to?307{elsewhere}"), true).await, unsaid(307));
        }
        assert_eq!(never.load(Ordering::SeqCst), 0);
        let on_and_on = |times: usize| format!("{}/new", "/to?307".repeat(times));
        assert_eq!(ask(Method::GET, &on_and_on(5), true).await, told("GET /new Bearer t0ken true"));
        assert_eq!(ask(Method::GET, &on_and_on(6), true).await, unsaid(307));
        asked.store(0, Ordering::SeqCst);
        // Each leads to the same path again.
        assert_eq!(ask(Method::GET, "/to?307", true).await, unsaid(307));
        assert_eq!(asked.load(Ordering::SeqCst), 6);
    }

    #[tokio::test]
    async fn an_answer_ends_by_bytes_and_by_time() {
        let client = client(NetworkReach::Network);
        let port = answers("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nten bytes", false).await;
        let url = format!("http://127.0.0.1:{port}/");
        let of = |bytes| AnswerBounds { bytes, ..BOUNDS };
        assert_eq!(client.ask(get(&url), of(9)).await.unwrap().body, b"ten bytes");
        assert_eq!(client.ask(get(&url), of(8)).await.unwrap_err(), OutboundError::TooLarge(8));
        let port = answers("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nten", true).await;
        let short = AnswerBounds { within: Duration::from_millis(300), ..BOUNDS };
        let slow = client.ask(get(&format!("http://127.0.0.1:{port}/")), short).await.unwrap_err();
        assert_eq!(slow, OutboundError::TooSlow(short.within));
    }

    #[tokio::test]
    async fn a_failure_says_its_kind_and_no_word_of_the_other_side() {
        let client = client(NetworkReach::Network);
        let broken = answers("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nten", false).await;
        let no_http = answers("220 inside.example ESMTP\r\n", false).await;
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        for (url, expected) in [
            (format!("http://127.0.0.1:{broken}/"), OutboundError::Broken),
            (format!("http://127.0.0.1:{no_http}/"), OutboundError::Broken),
            (format!("https://127.0.0.1:{no_http}/"), OutboundError::NoTls),
            (format!("http://127.0.0.1:{free}/"), OutboundError::Refused),
        ] {
            let trouble = client.ask(get(&url), BOUNDS).await.unwrap_err();
            assert_eq!(trouble, expected, "{url}");
            assert!(!trouble.to_string().contains("inside"), "{trouble}");
        }
    }

    /// Asked by a client that would ask a stranger, since `localhost` itself is asked by the other one.
    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_not_called() {
        let port = answers("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nme", false).await;
        let asked = async |reach| {
            let answer = client(reach).far.get(format!("http://localhost:{port}/")).send().await;
            answer.map(|answer| answer.status().as_u16()).map_err(|error| OutboundError::of(&error))
        };
        let beyond = || Err(OutboundError::OutOfReach("of this machine, its link or a metadata service"));
        assert_eq!(asked(NetworkReach::Network).await, beyond());
        assert_eq!(
            asked(NetworkReach::Internet { but: vec!["localhost.example".to_owned()] }).await,
            beyond()
        );
        assert_eq!(asked(NetworkReach::Internet { but: vec!["localhost".to_owned()] }).await, Ok(200));
    }
}
