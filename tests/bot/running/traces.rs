//! A collector receives each delivery, job, proposal and check, and nothing else.

use capstan_test_support::PATIENCE;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use capstan_forge::CANARY;

use super::kills::Place;
use super::sample;
use super::town::{REPOSITORY, forge};
use capstan_test_parts::canary;

const CLUSTER: &str = "gauss/peu01";

/// A span: its name, its trace, and its fields.
#[derive(Debug)]
struct RecordedSpan {
    name: String,
    trace: Vec<u8>,
    fields: BTreeMap<String, String>,
}

#[derive(Clone, Default)]
struct Collector {
    spans: Arc<Mutex<Vec<RecordedSpan>>>,
    /// Who showed what, of each batch.
    shown: Arc<Mutex<Vec<String>>>,
}

async fn take(State(collector): State<Collector>, headers: HeaderMap, body: Bytes) {
    canary::assert_none_in("a trace", &body);
    let shown = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    collector.shown.lock().unwrap().push(shown.unwrap_or_default());
    // ExportTraceServiceRequest.resource_spans, ResourceSpans.scope_spans, ScopeSpans.spans.
    let resources = messages(&body, 1);
    let scopes = resources.iter().flat_map(|resource| messages(resource, 2));
    let spans: Vec<&[u8]> = scopes.flat_map(|scope| messages(scope, 2)).collect();
    collector.spans.lock().unwrap().extend(spans.into_iter().map(RecordedSpan::read));
}

/// A field of a message of Protocol Buffers (<https://protobuf.dev/programming-guides/encoding/>).
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Of eight or four bytes.
    Fixed,
}

/// The fields of a message, by their numbers.
fn fields(mut message: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn number(message: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = message.split_off_first().unwrap();
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = number(&mut message);
        let field = match tag & 7 {
            0 => Field::Number(number(&mut message)),
            1 => message.split_off(..8).map(|_| Field::Fixed).unwrap(),
            2 => {
                let length = usize::try_from(number(&mut message)).unwrap();
                Field::Bytes(message.split_off(..length).unwrap())
            }
            5 => message.split_off(..4).map(|_| Field::Fixed).unwrap(),
            other => panic!("wire type {other}"),
        };
        found.push((tag >> 3, field));
    }
    found
}

/// The messages, texts or bytes in a field.
fn messages(message: &[u8], wanted: u64) -> Vec<&[u8]> {
    let bytes = |(number, field)| match field {
        Field::Bytes(bytes) if number == wanted => Some(bytes),
        _ => None,
    };
    fields(message).into_iter().filter_map(bytes).collect()
}

fn text(message: &[u8], wanted: u64) -> String {
    messages(message, wanted)
        .first()
        .map(|text| String::from_utf8(text.to_vec()).unwrap())
        .unwrap_or_default()
}

impl RecordedSpan {
    /// Span: trace_id 1, name 5, attributes 9; KeyValue: key 1, value 2; AnyValue: string_value 1, int_value 3.
    fn read(span: &[u8]) -> Self {
        let attributes = messages(span, 9);
        let told = attributes.iter().map(|attribute| {
            let value = messages(attribute, 2)[0];
            let number = fields(value).into_iter().find_map(|(field, value)| match value {
                Field::Number(number) if field == 3 => Some(number.to_string()),
                _ => None,
            });
            (text(attribute, 1), number.unwrap_or_else(|| text(value, 1)))
        });
        Self { name: text(span, 5), trace: messages(span, 1)[0].to_vec(), fields: told.collect() }
    }
}

impl Collector {
    async fn start() -> (Self, String) {
        let collector = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/traces", post(take)).with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (collector, address)
    }

    /// The trace of a span of that name with these fields.
    async fn hears(&self, name: &str, fields: &[(&str, &str)]) -> Vec<u8> {
        let began = Instant::now();
        let is_wanted = |told: &&RecordedSpan| {
            let has = |(field, value): &(&str, &str)| told.fields.get(*field).is_some_and(|is| is == value);
            told.name == name && fields.iter().all(has)
        };
        loop {
            if let Some(told) = self.spans.lock().unwrap().iter().find(is_wanted) {
                return told.trace.clone();
            }
            assert!(
                began.elapsed() < PATIENCE,
                "no {name} with {fields:?} in {:#?}",
                self.spans.lock().unwrap()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_hears_of_deliveries_jobs_proposals_and_checks_and_of_no_secret() {
    let (collector, address) = Collector::start().await;
    let forge = forge();
    let mut place = Place::new(&forge);
    let header = format!("Bearer {CANARY}");
    place.environment = vec![
        ("CAPSTAN_OTLP_ENDPOINT".to_owned(), address),
        ("CAPSTAN_OTLP_HEADERS".to_owned(), format!("authorization: {header}\n")),
        // Traces do not depend on what is logged.
        ("CAPSTAN_LOG".to_owned(), "warn".to_owned()),
        ("OTEL_BSP_SCHEDULE_DELAY".to_owned(), "200".to_owned()),
    ];
    let begin = sample::repository("mode: propose\n", &[CLUSTER]);
    forge.commit(REPOSITORY, "main", "ada", "Begin", &begin).unwrap();
    let bot = place.start_with(&[]);
    forge.commit(REPOSITORY, "main", "ada", "First", &[sample::release("v22.0.0", "v1.22.0")]).unwrap();

    let repository = ("repository", REPOSITORY);
    collector.hears("delivery", &[repository, ("event", "push"), ("outcome", "stored")]).await;
    collector.hears("delivery", &[repository, ("event", "pull_request"), ("pull_request", "1")]).await;
    let proposal =
        collector.hears("proposal", &[repository, ("cluster", CLUSTER), ("pull_request", "1")]).await;
    collector.hears("check", &[repository, ("cluster", CLUSTER), ("pull_request", "1")]).await;
    collector.hears("job", &[repository, ("outcome", "done")]).await;
    let spans = collector.spans.lock().unwrap();
    assert!(spans.iter().any(|told| told.name == "job" && told.trace == proposal), "it is the job's");
    let names: std::collections::BTreeSet<&str> = spans.iter().map(|told| told.name.as_str()).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["check", "delivery", "job", "proposal"]);
    drop(spans);
    assert!(collector.shown.lock().unwrap().iter().all(|shown| *shown == header));
    drop(bot);
    place.done();
}
