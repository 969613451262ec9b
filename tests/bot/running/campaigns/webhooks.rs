//! A wave that waits for the word of a webhook: who is asked, how, and what becomes of each answer.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use capstan_bot::wave_webhooks::WebhookHost;
use capstan_plan::settings::Glob;
use capstan_ports::{WaveWebhook as _, WebhookAnswer, WebhookCall, WebhookResult};
use capstan_webhooks::HttpWebhooks;
use serde_json::{Value, json};

use super::{dashboard, merge, open, pass, statuses, town};
use crate::running::town::{REPOSITORY, Town};
use capstan_test_parts::canary;

pub(super) const SECRET: &str = "wave-webhook-s3cret-of-the-tests";

/// What the webhook answers next.
#[derive(Clone)]
pub(super) enum Says {
    Text(StatusCode, String),
    Elsewhere(String),
    /// An answer that never ends.
    Endless,
    /// Nothing at all.
    Silence,
}

type Asked = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;
type Answer = Arc<Mutex<Says>>;

/// The server that the campaign's webhook calls.
pub(super) struct Judge {
    pub(super) address: SocketAddr,
    asked: Asked,
    says: Answer,
}

async fn answer(State((asked, says)): State<(Asked, Answer)>, headers: HeaderMap, body: Bytes) -> Response {
    asked.lock().unwrap().push((headers, body));
    let says = says.lock().unwrap().clone();
    match says {
        Says::Text(status, text) => (status, text).into_response(),
        Says::Elsewhere(url) => (StatusCode::FOUND, [("location", url)]).into_response(),
        Says::Endless => {
            let chunks = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1024]));
            Body::from_stream(chunks).into_response()
        }
        Says::Silence => std::future::pending().await,
    }
}

impl Judge {
    pub(super) async fn new(says: Says) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, says) = (Arc::default(), Arc::new(Mutex::new(says)));
        let router = Router::new().fallback(answer).with_state((Arc::clone(&asked), Arc::clone(&says)));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, asked, says }
    }

    fn says(&self, says: Says) {
        *self.says.lock().unwrap() = says;
    }

    fn pass(&self, result: &str, message: &str) {
        let answer = json!({"result": result, "message": message});
        self.says(Says::Text(StatusCode::OK, answer.to_string()));
    }

    pub(super) fn times(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// What was asked last; it was signed, and not only with a header that says so.
    pub(super) fn last(&self) -> Value {
        let (headers, body) = self.asked.lock().unwrap().last().unwrap().clone();
        let signature = headers["x-hub-signature-256"].to_str().unwrap().strip_prefix("sha256=").unwrap();
        let bytes: Vec<u8> = (0..signature.len() / 2)
            .map(|at| u8::from_str_radix(&signature[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        hmac::verify(&key, &body, &bytes).unwrap();
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(headers["x-capstan-delivery"].to_str().unwrap(), value["delivery"]);
        value
    }

    /// The operator's setting that allows this host for these repositories.
    fn host(&self, repositories: &str) -> WebhookHost {
        let (host, repositories) = (self.address.to_string(), vec![Glob::parse(repositories).unwrap()]);
        WebhookHost { host, repositories, secret: SECRET.into() }
    }
}

/// Works until it holds: answers come when they come.
async fn until(town: &Town, what: &str, holds: impl AsyncFn() -> bool) {
    for _ in 0..800 {
        town.settle().await;
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("never: {what}");
}

/// Why `a/rest` waits.
async fn why(town: &Town) -> String {
    town.standing("a/rest").await.1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wave_ends_by_the_word_of_its_webhook_and_nothing_else_waits_for_it() {
    canary::plant(SECRET);
    let judge = Judge::new(Says::Silence).await;
    let settings = format!(
        "\
mode: propose
dashboard: {{title: Fleet}}
campaigns:
- name: fleet
  waves:
  - name: canary
    match: {{clusters: [\"*/canary\"]}}
    verify: {{webhook: {{url: \"http://{}/well?of=fleet\", timeout: 1m}}}}
  - {{name: rest, match: {{clusters: [\"**\"]}}}}
",
        judge.address
    );
    let mut town = town(&settings).await;
    town.release("v22.0.0", "v1.22.0");
    let release = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    town.settle().await;
    assert_eq!(open(&town), ["a/canary"]);
    merge(&town, "a/canary").await;
    let merged = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();

    // An address in the repository alone causes no call, and neither does a host that is allowed for other
    // repositories.
    let refused =
        format!("`{}` is not among the hosts that Capstan may ask for this repository", judge.address);
    assert!(why(&town).await.contains(&refused), "{}", why(&town).await);
    town.allow_webhooks(vec![judge.host("other/*")]);
    town.resync().await;
    assert!(why(&town).await.contains(&refused), "{}", why(&town).await);
    assert_eq!((judge.times(), open(&town)), (0, vec![]));

    // One that does not answer holds nothing else of the repository up.
    town.allow_webhooks(vec![judge.host("acme/*")]);
    town.resync().await;
    until(&town, "it is asked", async || judge.times() == 1).await;
    let (issue, _) = dashboard(&town);
    town.comment(issue, "ada", "/capstan upgrade a/gold1").await;
    assert_eq!(open(&town), ["a/gold1"]);
    let asking = format!(
        "Wave `rest` of campaign `fleet` waits for wave `canary`: the webhook at `{}` is being asked.",
        judge.address
    );
    assert_eq!((why(&town).await, judge.times()), (asking, 1));
    let asked = judge.last();
    let canary = town.pulls().into_iter().find(|pull| pull.head_branch.ends_with("a/canary")).unwrap();
    assert_eq!(
        asked["clusters"],
        json!([{"cluster": "a/canary", "pull_request": canary.number, "merge_commit": merged}])
    );
    for (key, expected) in
        [("repository", REPOSITORY), ("campaign", "fleet"), ("wave", "canary"), ("release", "aws/v22.0.0")]
    {
        assert_eq!(asked[key], expected, "{key}");
    }

    // A new process asks the same question again. What it cannot understand counts as no answer, and it asks again by
    // itself.
    judge.says(Says::Text(StatusCode::INTERNAL_SERVER_ERROR, "token=hunter2".to_owned()));
    town.restart_with_nothing().await;
    town.allow_webhooks(vec![judge.host("acme/*")]);
    town.resync().await;
    until(&town, "it has answered", async || why(&town).await.contains("it answers 500")).await;
    assert!(why(&town).await.contains("has not answered (it answers 500); Capstan asks again at 20"));
    assert_eq!((judge.times(), judge.last()["question"].clone()), (2, asked["question"].clone()));
    assert_ne!(judge.last()["delivery"], asked["delivery"]);
    judge.pass("pending", "warming `up`\nslowly");
    pass(&town, 61).await;
    until(&town, "it answers again", async || why(&town).await.contains("cannot tell yet")).await;
    assert!(why(&town).await.contains("cannot tell yet (warming 'up' slowly); Capstan asks again at 20"));
    assert_eq!(open(&town), ["a/gold1"]);

    // A no stops the campaign for all, and is reported once.
    judge.pass("fail", "p99 doubled.");
    pass(&town, 121).await;
    until(&town, "it says no", async || judge.times() == 4 && why(&town).await.contains("was stopped on "))
        .await;
    assert!(why(&town).await.contains("the webhook of wave `canary` said no (p99 doubled)."));
    let words = "aws/v22.0.0 is stopped: the webhook of wave `canary` said no (p99 doubled).";
    assert_eq!(statuses(&town, &release), [("failure".to_owned(), words.to_owned())]);
    let (_, body) = dashboard(&town);
    assert!(body.contains("**stopped** on "), "{body}");
    pass(&town, 3_600).await;
    town.resync().await;
    let stops = town.audit().await.into_iter().filter(|row| row.contains("campaign-stopped")).count();
    assert_eq!((judge.times(), stops), (4, 1), "nobody is asked whether to go on while it stands still");

    // A resume asks the webhook again. Its yes is recorded in the place from which a lost database is rebuilt.
    judge.pass("pass", "");
    town.comment(issue, "olga", "/capstan campaign resume").await;
    until(&town, "it says yes", async || open(&town).len() == 3).await;
    assert_eq!((open(&town), judge.times()), (vec!["a/gold1".into(), "a/gold2".into(), "a/rest".into()], 5));
    town.restart_with_nothing().await;
    town.allow_webhooks(vec![judge.host("acme/*")]);
    town.resync().await;
    pass(&town, 3_600).await;
    assert_eq!((open(&town).len(), judge.times()), (3, 5));
    town.done();
}

fn call(judge: &Judge, timeout: Duration) -> WebhookCall {
    WebhookCall {
        url: format!("http://{}/well", judge.address).parse().unwrap(),
        secret: "It's a Secret to Everybody".into(),
        timeout,
        delivery: "1".to_owned(),
        body: b"Hello, World!".to_vec(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_a_word_in_time_and_of_bounded_size_and_everything_else_is_silence() {
    let webhooks = HttpWebhooks::new().unwrap();
    let judge = Judge::new(Says::Silence).await;
    let elsewhere = Judge::new(Says::Silence).await;
    let ask = async |timeout| webhooks.ask(&call(&judge, timeout)).await;
    let patience = Duration::from_secs(60);
    // 18 bytes, and spaces.
    let largest = format!("{{\"result\": \"pass\"}}{}", " ".repeat(16_384 - 18));
    for (body, result, message) in [
        (r#"{"result": "pass"}"#, WebhookResult::Pass, ""),
        (r#"{"result": "fail", "message": "p99"}"#, WebhookResult::Fail, "p99"),
        (r#"{"result": "pending", "message": null, "more": 1}"#, WebhookResult::Pending, ""),
        (&largest, WebhookResult::Pass, ""),
    ] {
        judge.says(Says::Text(StatusCode::OK, body.to_owned()));
        let expected = WebhookAnswer { result, message: message.to_owned() };
        assert_eq!(ask(patience).await, Ok(expected), "{body}");
    }
    // The example of <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>.
    let (headers, body) = judge.asked.lock().unwrap().last().unwrap().clone();
    assert_eq!(body, "Hello, World!");
    assert_eq!(
        headers["x-hub-signature-256"],
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );

    let text = |status: u16, text: &str| Says::Text(StatusCode::from_u16(status).unwrap(), text.to_owned());
    let unreadable = "its answer is not `{\"result\": \"pass\"}` with `pass`, `fail` or `pending`, and perhaps a `message` that is text";
    for (says, expected) in [
        (text(200, "pass"), unreadable),
        (text(200, "{\"result\": \"PASS\"}"), unreadable),
        (text(200, ""), unreadable),
        (text(503, "{\"result\": \"pass\"}"), "it answers 503"),
        (
            Says::Elsewhere(format!("http://{}/", elsewhere.address)),
            "it answers 302, and redirects are not followed",
        ),
        (text(200, &format!("{largest} ")), "its answer has more than 16384 bytes"),
        (Says::Endless, "its answer has more than 16384 bytes"),
    ] {
        judge.says(says);
        assert_eq!(ask(patience).await.unwrap_err().to_string(), expected);
    }
    assert_eq!(elsewhere.times(), 0);
    judge.says(Says::Silence);
    let slow = ask(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(slow.to_string(), "it took longer than 1 s");
}
