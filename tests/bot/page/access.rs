//! Who is shown what: every route, by everybody.

use super::world::{Ask, SigningIn, World};

/// What the page that lists deliveries knows of, in each repository.
const HERE: &str = "11111111-1111-4111-8111-111111111111";
const THERE: &str = "22222222-2222-4222-8222-222222222222";

#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_answered_by_who_asks() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    world.deliver(HERE, world.gitops).await;
    world.deliver(THERE, world.secret).await;
    let sessions = [
        None,
        Some(world.sign_in("sam").await),
        Some(world.sign_in("rea").await),
        Some(world.sign_in("wim").await),
        Some(world.sign_in("ada").await),
    ];
    let look = |id: u64| format!("/queue/{id}/look");
    let replay = |guid: &str| format!("/deliveries/{guid}/replay");
    let (look_here, look_there) = (look(world.gitops), look(world.secret));
    let (replay_here, replay_there) = (replay(HERE), replay(THERE));
    // A stranger, and who may do nothing, read, write, and everything; then this machine.
    let table: [(&str, &str, [u16; 6]); 16] = [
        ("GET", "/", [303, 200, 200, 200, 200, 200]),
        ("GET", "/clusters/acme/gitops/gauss/peu01", [303, 404, 200, 200, 200, 200]),
        ("GET", "/clusters/acme/secret/noether/vault", [303, 404, 404, 404, 200, 200]),
        ("GET", "/queue", [303, 200, 200, 200, 200, 200]),
        ("GET", "/deliveries", [303, 200, 200, 200, 200, 200]),
        ("GET", "/audit", [303, 200, 200, 200, 200, 200]),
        ("GET", "/reconcilers", [303, 404, 404, 404, 404, 200]),
        ("GET", "/login", [200, 200, 200, 200, 200, 404]),
        ("GET", "/login/github", [303, 303, 303, 303, 303, 404]),
        ("GET", "/metrics", [404, 404, 404, 404, 404, 200]),
        ("POST", &look_here, [401, 404, 403, 303, 303, 303]),
        ("POST", &look_there, [401, 404, 404, 404, 303, 303]),
        ("POST", "/queue/999999/look", [401, 404, 404, 404, 404, 404]),
        ("POST", &replay_here, [401, 404, 403, 303, 303, 303]),
        ("POST", &replay_there, [401, 404, 404, 404, 303, 303]),
        ("POST", "/deliveries/none/replay", [401, 404, 404, 404, 404, 404]),
    ];
    let local = world.local("/queue").await.form_token();
    for (method, path, expected) in table {
        let mut statuses = Vec::new();
        for session in &sessions {
            let token = match session {
                Some(session) => world.page("/", session).await.form_token(),
                None => String::new(),
            };
            let ask = if method == "GET" { Ask::get(path) } else { Ask::post(path, &token) };
            statuses.push(world.ask(world.public, ask.of(session.as_deref())).await.status);
        }
        let ask = if method == "GET" { Ask::get(path) } else { Ask::post(path, &local) };
        statuses.push(world.ask(world.internal, ask).await.status);
        assert_eq!(statuses, expected, "{method} {path}");
    }
    // What lists hold of it.
    let names = ["gauss/peu01", "noether/vault"];
    for (who, path, expected) in [
        (1, "/", [false, false]),
        (2, "/", [true, false]),
        (3, "/?q=noether", [false, false]),
        (4, "/", [true, true]),
        (2, "/audit", [true, false]),
        (1, "/audit", [false, false]),
    ] {
        let page = world.page(path, sessions[who].as_deref().unwrap()).await;
        assert_eq!(names.map(|name| page.body.contains(&format!(">{name}</a>"))), expected, "{who} {path}");
        assert_eq!(page.body.contains("acme/secret"), who == 4, "{who} {path}");
    }
    for (who, seen, buttons) in
        [(1, [false, false], 0), (2, [true, false], 0), (3, [true, false], 1), (4, [true, true], 2)]
    {
        let page = world.page("/deliveries", sessions[who].as_deref().unwrap()).await;
        assert_eq!([HERE, THERE].map(|guid| page.body.contains(guid)), seen, "{who}");
        assert_eq!(page.body.matches(">Replay</button>").count(), buttons, "{who}");
    }
    capstan_test_parts::conformance::assert_conforms(&world.forge);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sign_in_the_public_listener_has_no_pages() {
    let world = World::start(SigningIn::Not).await.with_a_fleet().await;
    for path in [
        "/",
        "/queue",
        "/deliveries",
        "/audit",
        "/login",
        "/login/github",
        "/clusters/acme/gitops/gauss/peu01",
    ] {
        assert_eq!(world.ask(world.public, Ask::get(path)).await.status, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_internal_listener_that_others_reach_shows_nothing_to_them() {
    for signing_in in [SigningIn::Not, SigningIn::Configured] {
        let world = World::start_on("0.0.0.0:0", signing_in).await.with_a_fleet().await;
        for path in
            ["/", "/queue", "/deliveries", "/audit", "/reconcilers", "/clusters/acme/gitops/gauss/peu01"]
        {
            let page = world.local(path).await;
            assert_eq!(page.status, 403, "{path}");
            page.has("Sign in to see pages, or open them on a loopback address");
        }
        let look = format!("/queue/{}/look", world.gitops);
        assert_eq!(world.ask(world.internal, Ask::post(&look, "")).await.status, 403);
        for path in ["/healthz", "/metrics"] {
            assert_eq!(world.local(path).await.status, 200, "{path}");
        }
    }
}
