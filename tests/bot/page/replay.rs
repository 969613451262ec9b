//! What a replay does, and which forms are believed.

use std::time::Duration;

use capstan_bot::intake::{DeliveryReading, DeliveryStore as _, read_delivery};
use capstan_ports::{Clock as _, CommentHint, Jobs as _};

use super::world::{Ask, SigningIn, World};

const GUID: &str = "11111111-1111-4111-8111-111111111111";

impl World {
    /// A comment, delivered.
    pub(super) async fn deliver(&self, guid: &str, repository: u64) {
        let name = if repository == self.gitops { super::world::GITOPS } else { super::world::SECRET };
        let payload = serde_json::json!({
            "action": "created",
            "issue": {"number": 12, "pull_request": {}},
            "comment": {"id": 5, "body": "/capstan help"},
            "repository": {"id": repository, "full_name": name, "default_branch": "main"},
            "installation": {"id": 7},
            "sender": {"login": "somebody", "type": "User"},
        });
        let now = self.bench.clock.now();
        let Ok(DeliveryReading::Store(delivery)) =
            read_delivery(guid, "issue_comment", payload.to_string().as_bytes(), now)
        else {
            unreachable!("a comment is of interest")
        };
        self.bench.database.store(&[*delivery]).await.unwrap();
    }

    /// Does all that waits.
    async fn work(&self) -> Vec<CommentHint> {
        let mut comments = Vec::new();
        while let Some(job) = self.bench.database.claim("worker", Duration::from_secs(30), 8).await.unwrap() {
            comments.extend(job.hints.comments.clone());
            self.bench.clock.advance(Duration::from_secs(1));
            self.bench.database.complete(&job, None).await.unwrap();
        }
        comments
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_repeats_the_delivery_and_the_audit_names_the_requester() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    world.deliver(GUID, world.gitops).await;
    let wim = world.sign_in("wim").await;
    world.page("/deliveries", &wim).await.has("<span class=\"badge mood-waits\">waiting</span>");
    let comment = CommentHint { comment: 5, pull_request: 12 };
    assert_eq!(world.work().await, [comment]);
    assert_eq!(world.work().await, []);
    let page = world.page("/deliveries", &wim).await;
    page.has("<span class=\"badge mood-good\">done</span>");

    let path = format!("/deliveries/{GUID}/replay");
    let done = world.ask(world.public, Ask::post(&path, &page.form_token()).of(Some(&wim))).await;
    assert_eq!((done.status, done.location), (303, format!("/deliveries?q={GUID}")));
    world
        .page(&format!("/deliveries?q={GUID}"), &wim)
        .await
        .has("<span class=\"badge mood-waits\">waiting</span>");
    assert_eq!(world.work().await, [comment], "it is named to the next run again");
    let audit = world.page("/audit?actor=wim", &wim).await;
    audit.has("data-label=\"What\">delivery-replayed</td>");
    audit.has(&format!("issue_comment created, delivery {GUID}"));

    // The page shows a failed run with its reason, and the filter finds it.
    world.ask(world.public, Ask::post(&path, &page.form_token()).of(Some(&wim))).await;
    let job = world.bench.database.claim("worker", Duration::from_secs(30), 8).await.unwrap().unwrap();
    world.bench.database.fail(&job, "the mirror <is> broken", None).await.unwrap();
    let failed = world.page("/deliveries?outcome=failed", &wim).await;
    failed.has("the mirror &lt;is&gt; broken");
    failed.has(GUID);
    world.page("/deliveries?outcome=done", &wim).await.lacks(GUID);
    world.page("/", &wim).await.has("failed once, tried again at ");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_forms_of_our_own_pages_are_believed() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    world.deliver(GUID, world.gitops).await;
    world.work().await;
    let (wim, ada) = (world.sign_in("wim").await, world.sign_in("ada").await);
    let (own, others) = (world.page("/", &wim).await.form_token(), world.page("/", &ada).await.form_token());
    let local = world.local("/queue").await.form_token();
    let path = format!("/deliveries/{GUID}/replay");
    let origin = |door| format!("http://{door}");
    let (site, here, public, internal) = ("sec-fetch-site", "origin", world.public, world.internal);
    let cases = [
        ("the page's own form", public, &own, vec![], 303),
        ("a browser's", public, &own, vec![(site, "same-origin".to_owned()), (here, origin(public))], 303),
        (
            "a browser's, by a proxy that calls this server otherwise",
            public,
            &own,
            vec![("host", "capstan.svc".to_owned()), (here, origin(public))],
            303,
        ),
        ("no token", public, &String::new(), vec![], 403),
        ("somebody else's token", public, &others, vec![], 403),
        ("this machine's token", public, &local, vec![], 403),
        ("another site", public, &own, vec![(site, "cross-site".to_owned())], 403),
        ("another port of this host", public, &own, vec![(site, "same-site".to_owned())], 403),
        ("another origin", public, &own, vec![(here, "https://evil.example".to_owned())], 403),
        ("a hidden origin", public, &own, vec![(here, "null".to_owned())], 403),
        ("this machine", internal, &local, vec![(here, origin(internal))], 303),
        ("this machine without a token", internal, &String::new(), vec![], 403),
        ("this machine with a person's token", internal, &own, vec![], 403),
        (
            "this machine from another site",
            internal,
            &local,
            vec![(here, "http://evil.example".to_owned())],
            403,
        ),
        (
            "this machine under another name",
            internal,
            &local,
            vec![("host", "evil.example".to_owned()), (here, "http://evil.example".to_owned())],
            421,
        ),
    ];
    for (what, door, token, headers, expected) in cases {
        let mut ask = Ask::post(&path, token).of((door == public).then_some(wim.as_str()));
        ask.headers.extend(headers);
        let answer = world.ask(door, ask).await;
        assert_eq!(answer.status, expected, "{what}: {answer:?}");
        let replayed = !world.work().await.is_empty();
        assert_eq!(replayed, expected == 303, "{what}");
    }
    // Nor does a link do anything.
    assert_eq!(world.ask(internal, Ask::get(&path)).await.status, 405);
    let large = "x".repeat(9 << 10);
    assert_eq!(world.ask(internal, Ask::post(&path, &large)).await.status, 400);
}
