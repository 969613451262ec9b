//! An API server whose owner means no good: whatever it answers, no more is read than the bounds say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::bounds::{ReadBounds, ReadSize};
use super::cluster::KubeCluster;
use super::rest::ApiServer;
use capstan_ports::{ApiKind, ApiObject, As, ManagementCluster as _};

/// What it does when it is asked.
enum Says {
    Page(String),
    Gone,
    /// The same, again and again.
    Endless(&'static str),
    Nothing,
}

/// A server that answers the nth request for nodes so.
async fn stranger(nodes: impl Fn(usize) -> Says + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (nodes, asked, sent) =
        (Arc::new(nodes), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&sent);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (nodes, asked, sent) = (Arc::clone(&nodes), Arc::clone(&asked), Arc::clone(&sent));
            tokio::spawn(async move { serve(stream, &*nodes, &asked, &sent).await });
        }
    });
    (port, counted)
}

async fn serve(
    mut stream: TcpStream,
    nodes: &(impl Fn(usize) -> Says + Sync),
    asked: &AtomicUsize,
    sent: &AtomicUsize,
) -> Option<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut buffer = [0; 4_096];
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&buffer[..read]);
    }
    let head = String::from_utf8(request).ok()?;
    let path = head.split(' ').nth(1)?;
    let verbs = json!(["get", "list"]);
    let served = json!({"resource": "nodes", "responseKind": {"group": "", "version": "v1", "kind": "Node"},
        "scope": "Cluster", "verbs": verbs});
    let core = json!({"kind": "APIGroupDiscoveryList",
        "items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [served]}]}]});
    let says = match path {
        "/api" => Says::Page(core.to_string()),
        "/apis" => Says::Page(json!({"kind": "APIGroupDiscoveryList", "items": []}).to_string()),
        _ => nodes(asked.fetch_add(1, Ordering::SeqCst)),
    };
    let head = |status: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")
    };
    match says {
        Says::Page(page) => write(&mut stream, sent, &(head("200 OK") + &page)).await,
        Says::Gone => {
            write(&mut stream, sent, &(head("410 Gone") + "{\"kind\": \"Status\", \"code\": 410}")).await
        }
        Says::Nothing => std::future::pending().await,
        Says::Endless(piece) => {
            write(&mut stream, sent, &(head("200 OK") + "{\"items\": [")).await?;
            let piece = piece.repeat(10_000);
            loop {
                write(&mut stream, sent, &piece).await?;
            }
        }
    }
}

async fn write(stream: &mut TcpStream, sent: &AtomicUsize, text: &str) -> Option<()> {
    sent.fetch_add(text.len(), Ordering::SeqCst);
    stream.write_all(text.as_bytes()).await.ok()
}

fn opened(port: u16, bounds: ReadBounds) -> KubeCluster {
    let config = Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    let client = Client::try_from(config).unwrap();
    KubeCluster::of(ApiServer::new(client, Duration::from_secs(10)).of_stranger("10.0.0.1:6443", bounds))
}

fn node() -> ApiKind {
    ApiKind::of_version("v1", "Node")
}

/// How many there are, or why that is not known.
async fn list(cluster: &KubeCluster) -> Result<usize, String> {
    let listed = cluster.list(&As::Reconciler, &node(), None, &[]).await;
    listed.map(|all| all.len()).map_err(|error| error.to_string())
}

/// A page of these items, and that another one follows.
fn page(items: &Value, follows: bool) -> String {
    json!({"metadata": {"continue": if follows { "more" } else { "" }}, "items": items}).to_string()
}

/// Far below what is read of real clusters, so that the tests are light.
const SMALL: ReadBounds = ReadBounds {
    answer: ReadSize { bytes: 4_096, values: 1_000 },
    list: ReadSize { bytes: 6_000, values: 1_500 },
    pages: 5,
    list_time: Some(Duration::from_secs(5)),
    ..ReadBounds::WORKLOAD
};

/// As many values as that, in one item: a list of numbers.
fn numbers(values: usize) -> Value {
    json!([vec![0; values]])
}

/// Values of a page besides those of its items: two mappings, three keys, the token, two lists.
const AROUND: usize = 4 + 4 + 3 + 1 + 4 + 4;

#[tokio::test]
async fn each_bound_is_kept_at_it_and_beyond_and_names_itself_and_the_server() {
    let letters = |count: usize| json!(["x".repeat(count)]);
    let bytes_around = page(&letters(0), true).len();
    let last = |number: usize, pages: usize| number + 1 < pages;
    let server = "listing Node: the API server at 10.0.0.1:6443";
    type Nodes = Box<dyn Fn(usize) -> Says + Send + Sync>;
    let rows: [(&str, Nodes, Result<usize, String>); 11] = [
        ("values of an answer", Box::new(|_| Says::Page(page(&numbers(1_000 - AROUND), false))), Ok(1)),
        (
            "a value more",
            Box::new(|_| Says::Page(page(&numbers(1_001 - AROUND), false))),
            Err(format!("{server} answers with more than 1000 values, which is too much to read")),
        ),
        ("values of a list", Box::new(move |n| Says::Page(page(&numbers(500 - AROUND), last(n, 3)))), Ok(3)),
        (
            "a value more",
            Box::new(move |n| Says::Page(page(&numbers(500 - AROUND + usize::from(n == 2)), last(n, 3)))),
            Err(format!("{server} has more than 1500 values for one list, which is too much to read")),
        ),
        (
            "bytes of an answer",
            Box::new(move |n| {
                Says::Page(page(&letters(4_096 - bytes_around + 4 * usize::from(n == 0)), false))
            }),
            Ok(1),
        ),
        (
            "a byte more",
            Box::new(move |_| Says::Page(page(&letters(4_097 - bytes_around + 4), false))),
            Err(format!("{server} answers with more than 4096 bytes, which is too much to read")),
        ),
        (
            "bytes of a list",
            Box::new(move |n| {
                Says::Page(page(&letters(3_000 - bytes_around + 4 * usize::from(n == 1)), last(n, 2)))
            }),
            Ok(2),
        ),
        (
            "a byte more",
            Box::new(move |n| {
                Says::Page(page(&letters(3_001 - bytes_around + 4 * usize::from(n == 1)), last(n, 2)))
            }),
            Err(format!("{server} has more than 6000 bytes for one list, which is too much to read")),
        ),
        ("pages", Box::new(move |n| Says::Page(page(&numbers(1), last(n, 5)))), Ok(5)),
        (
            "a page more",
            Box::new(move |n| Says::Page(page(&numbers(1), last(n, 6)))),
            Err(format!("{server} has more than 5 pages for one list, which is too much to read")),
        ),
        (
            "a list that begins anew again and again",
            Box::new(move |n| if n % 2 == 1 { Says::Gone } else { Says::Page(page(&numbers(600), true)) }),
            Err(format!("{server} has more than 1500 values for one list, which is too much to read")),
        ),
    ];
    for (what, nodes, expected) in rows {
        let (port, _) = stranger(nodes).await;
        assert_eq!(list(&opened(port, SMALL)).await, expected, "{what}");
    }
}

/// Tenants write objects into it: its lists end too, however many pages they have.
#[tokio::test]
async fn a_list_of_the_management_cluster_ends_at_its_bound_too() {
    assert_eq!(ReadBounds::MANAGEMENT.list, ReadSize { bytes: 536_870_912, values: 8_000_000 });
    let more =
        "listing Node: the API server has more than 1999 values for one list, which is too much to read";
    for (values, expected) in [(2_000, Ok(4)), (1_999, Err(more.to_owned()))] {
        let (port, _) = stranger(|n| Says::Page(page(&numbers(500 - AROUND), n < 3))).await;
        let config = Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
        let mut rest = ApiServer::new(Client::try_from(config).unwrap(), Duration::from_secs(10));
        rest.bounds.list.values = values;
        assert_eq!(list(&KubeCluster::of(rest)).await, expected);
    }
}

/// A second page that never comes is the same as many that come slowly.
#[tokio::test]
async fn a_request_has_a_time_and_so_have_the_pages_of_a_list() {
    let moment = Duration::from_millis(1);
    let (port, _) = stranger(|_| Says::Nothing).await;
    let config = Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    let client = Client::try_from(config).unwrap();
    let one = ApiObject { kind: node(), namespace: None, name: "a".to_owned() };
    for (of_stranger, server) in [(true, " from 10.0.0.1:6443"), (false, "")] {
        let rest = ApiServer::new(client.clone(), moment);
        let rest = if of_stranger { rest.of_stranger("10.0.0.1:6443", SMALL) } else { rest };
        let told = KubeCluster::of(rest).read(&As::Reconciler, &one).await.unwrap_err().to_string();
        assert!(told.contains(&format!("no answer{server} within 0.001 s")), "{told}");
    }
    let (port, _) =
        stranger(|n| if n == 0 { Says::Page(page(&numbers(1), true)) } else { Says::Nothing }).await;
    let bounds = ReadBounds { list_time: Some(moment), ..SMALL };
    let told = list(&opened(port, bounds)).await.unwrap_err();
    assert!(told.contains("the API server at 10.0.0.1:6443 takes more than 0.001 s for one list"), "{told}");
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    for piece in ["[0],", "{\"\":0},", "[[[[[[", "\"x\",", "{},", "{\"a\":0,\"b\":[{}]},"] {
        let (port, sent) = stranger(move |_| Says::Endless(piece)).await;
        let told = list(&opened(port, ReadBounds::WORKLOAD)).await.unwrap_err();
        assert!(told.ends_with(" answers with more than 8388608 bytes, which is too much to read"), "{told}");
        // The rest is what the system's buffers hold.
        assert!(sent.load(Ordering::SeqCst) < 24 << 20, "{piece}: {}", sent.load(Ordering::SeqCst));
    }
}

#[tokio::test]
async fn what_is_small_as_bytes_and_large_in_memory_is_not_read() {
    for piece in ["[0],", "{\"\":0},", "{},", "0,"] {
        let items = format!("[{}0]", piece.repeat((6 << 20) / piece.len()));
        let text = format!("{{\"metadata\": {{\"continue\": \"more\"}}, \"items\": {items}}}");
        let (port, _) = stranger(move |_| Says::Page(text.clone())).await;
        let cluster = opened(port, ReadBounds::WORKLOAD);
        let told = list(&cluster).await.unwrap_err();
        let bound = "the API server at 10.0.0.1:6443 answers with more than 250000 values";
        assert!(told.contains(bound), "{piece}: {told}");
        let one = ApiObject { kind: node(), namespace: None, name: "a".to_owned() };
        let told = cluster.read(&As::Reconciler, &one).await.unwrap_err().to_string();
        assert!(told.contains(bound), "{piece}: {told}");
    }
}

#[tokio::test]
async fn each_cluster_has_its_own_budget_which_restarts_with_each_list() {
    // The second list is as long as may be, whatever was read before; so is another cluster's.
    let nodes = |n: usize| match n % 4 {
        0 => Says::Page(page(&numbers(2_000), false)),
        number => Says::Page(page(&numbers(500 - AROUND), number < 3)),
    };
    let (one, _) = stranger(nodes).await;
    let (other, _) = stranger(|n| Says::Page(page(&numbers(500 - AROUND), n < 2))).await;
    let (one, other) = (opened(one, SMALL), opened(other, SMALL));
    assert!(list(&one).await.is_err());
    assert_eq!(list(&one).await, Ok(3));
    assert!(list(&one).await.is_err());
    assert_eq!(list(&other).await, Ok(3));
}

#[tokio::test]
async fn what_nobody_looks_at_in_a_list_counts_for_nothing() {
    let fields: Value = vec![json!({"f:spec": {"f:a": {}}}); 60].into();
    let node = json!({"metadata": {"name": "a", "managedFields": fields}, "status": {"images": fields}});
    let (port, _) = stranger(move |_| Says::Page(page(&json!([node]), false))).await;
    let cluster = opened(port, SMALL);
    let listed = cluster.list(&As::Reconciler, &self::node(), None, &[]).await.unwrap();
    assert_eq!(
        listed,
        [json!({"metadata": {"name": "a"}, "status": {}, "apiVersion": "v1", "kind": "Node"})]
    );
}
