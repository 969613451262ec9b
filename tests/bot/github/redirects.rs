//! A renamed repository: GitHub redirects from its old name. Capstan does not follow a redirect to another server.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use capstan_ports::{Branches, CodeHostError, Issues, NewIssue, Repository, RepositoryName};

use super::fleet::{Fleet, NAME, connect_at};

/// A server in front of the forge that redirects from `acme/old` to its repository.
#[derive(Clone)]
struct Renaming {
    forge: String,
    /// Before the path to which it leads: another server, or nothing.
    server: Arc<Mutex<String>>,
    /// With what it leads a write.
    of_writes: Arc<Mutex<u16>>,
    asked: Arc<Mutex<Vec<String>>>,
    client: reqwest::Client,
}

async fn serve(
    State(state): State<Renaming>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path_and_query().unwrap().as_str();
    state.asked.lock().unwrap().push(format!("{method} {}", uri.path()));
    if let Some(rest) = path.strip_prefix("/repos/acme/old") {
        let status = if method == Method::GET { 301 } else { *state.of_writes.lock().unwrap() };
        let to = format!("{}/repos/{NAME}{rest}", state.server.lock().unwrap());
        return Response::builder().status(status).header("location", to).body(Body::empty()).unwrap();
    }
    let mut asked = state.client.request(method, format!("{}{path}", state.forge)).body(body);
    for name in ["authorization", "content-type"] {
        if let Some(value) = headers.get(name) {
            asked = asked.header(name, value);
        }
    }
    let answer = asked.send().await.unwrap();
    let status = answer.status();
    Response::builder().status(status).body(Body::from(answer.bytes().await.unwrap())).unwrap()
}

#[tokio::test]
async fn a_renamed_repository_is_found_and_no_token_goes_to_another_server() {
    let fleet = Fleet::new().await;
    let renaming = Renaming {
        forge: fleet.forge.url().to_owned(),
        server: Arc::default(),
        of_writes: Arc::new(Mutex::new(307)),
        asked: Arc::default(),
        client: reqwest::Client::builder().no_proxy().build().unwrap(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(serve).with_state(renaming.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let github = connect_at(&fleet.forge, &url);
    let old = Repository { name: RepositoryName::parse("acme/old").unwrap(), ..fleet.repository.clone() };
    let issue = |title: &str| NewIssue { title: title.to_owned(), body: String::new(), labels: Vec::new() };

    assert_eq!(github.branch(&old, "main").await.unwrap().as_ref(), Some(&fleet.head));
    github.create_issue(&old, &issue("followed")).await.unwrap();
    let asked = std::mem::take(&mut *renaming.asked.lock().unwrap());
    let posted: Vec<&String> = asked.iter().filter(|asked| asked.ends_with("/issues")).collect();
    assert_eq!(posted, ["POST /repos/acme/old/issues", "POST /repos/acme/fleet/issues"]);

    *renaming.of_writes.lock().unwrap() = 302;
    let error = github.create_issue(&old, &issue("lost")).await.unwrap_err();
    let CodeHostError::Unexpected { status: 302, reason, .. } = &error else { panic!("{error}") };
    assert!(reason.starts_with("it redirects in a way that may turn a write into a read"), "{reason}");
    *renaming.of_writes.lock().unwrap() = 307;

    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    *renaming.server.lock().unwrap() = format!("http://{}", elsewhere.local_addr().unwrap());
    for (error, expected) in [
        (github.branch(&old, "main").await.unwrap_err(), StatusCode::MOVED_PERMANENTLY),
        (github.create_issue(&old, &issue("lost")).await.unwrap_err(), StatusCode::TEMPORARY_REDIRECT),
    ] {
        let CodeHostError::Unexpected { status, reason, .. } = &error else { panic!("{error}") };
        assert_eq!(*status, expected.as_u16());
        assert!(reason.ends_with("Capstan does not follow: check --github-api-url"), "{reason}");
    }
    assert!(elsewhere.accept().is_err(), "somebody else was asked");
    let titles: Vec<String> =
        fleet.forge.issues(NAME).unwrap().into_iter().map(|issue| issue.title).collect();
    assert_eq!(titles, ["followed"]);
}
