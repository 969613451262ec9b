//! Signing in through GitHub, and what ends a session.

use std::time::Duration;

use futures_util::future::select_all;

use capstan_forge::{Fault, Matching, Permission, Selection, Strike};

use super::world::{Ask, GITOPS, Page, SigningIn, World, session_of, target};

async fn come_back(world: &World, path: &str, cookie: &str) -> Page {
    world.ask(world.public, Ask::get(path).of(Some(cookie))).await
}

/// The same from that address, as the proxy before the server notes it.
async fn come_back_from(world: &World, address: &str, path: &str, cookie: &str) -> Page {
    world.ask(world.public, Ask::get(path).of(Some(cookie)).with("x-forwarded-for", address)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_signs_in_and_ends_where_they_wanted_to_go() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    let wanted = world.ask(world.public, Ask::get("/?q=gauss&state=held")).await;
    assert_eq!(
        (wanted.status, wanted.location.as_str()),
        (303, "/login?next=%2F%3Fq%3Dgauss%26state%3Dheld")
    );
    let login = world.ask(world.public, Ask::get(&wanted.location)).await;
    login.has("href=\"/login/github?next=%2F%3Fq%3Dgauss%26state%3Dheld\"");
    login.lacks("gauss/peu01");

    let (back, begun) = world.go_to_github("rea", "%2F%3Fq%3Dgauss").await;
    let done = come_back(&world, &back, &begun).await;
    assert_eq!((done.status, done.location.as_str()), (303, "/?q=gauss"));
    let [gone, session] = done.cookies.as_slice() else { unreachable!("two cookies: {done:?}") };
    assert!(gone.starts_with("__Host-capstan-sign-in=; Path=/; Max-Age=0;"), "{gone}");
    for part in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Lax", "; Max-Age=28800"] {
        assert!(session.contains(part), "{part} is missing in {session}");
    }
    assert!(!session.contains("Domain"), "{session}");
    let page = world.page("/", &session_of(&done)).await;
    page.has("Signed in as <b>rea</b>");
    page.has("gauss/peu01");
    // Nothing of the token is to be seen, in the page or in the cookie.
    page.lacks("ghu_");
    assert!(!session.contains("ghu_"));
    capstan_test_parts::conformance::assert_conforms(&world.forge);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_began_elsewhere_gets_no_session() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    let (back, begun) = world.go_to_github("ada", "/").await;
    let (_, other) = world.go_to_github("wim", "/").await;
    let refused = |page: &Page, status: u16, what: &str| {
        assert_eq!(page.status, status, "{what}: {page:?}");
        assert!(!page.cookies.iter().any(|cookie| cookie.starts_with("__Host-capstan-session=")), "{what}");
    };
    refused(&world.ask(world.public, Ask::get(&back)).await, 400, "no cookie");
    refused(&come_back(&world, &back, &other).await, 400, "somebody else's cookie");
    refused(&come_back(&world, &back, "__Host-capstan-sign-in=AAAA").await, 400, "a made up cookie");
    let (path, _) = back.split_once("&state=").unwrap();
    refused(&come_back(&world, &format!("{path}&state=AAAA"), &begun).await, 400, "another state");
    let (_, state) = back.split_once("&state=").unwrap();
    let made_up = format!("/login/callback?code=made-up&state={state}");
    refused(&come_back(&world, &made_up, &begun).await, 403, "a made up code");
    let asked = |world: &World| {
        world.forge.exchanges().iter().filter(|one| one.path.ends_with("/access_token")).count()
    };
    let before = asked(&world);
    refused(&come_back(&world, &back, &begun).await, 400, "what was begun once is good for one code");
    assert_eq!(asked(&world), before, "GitHub is not asked");
    // The right one, once.
    let (back, begun) = world.go_to_github("ada", "/").await;
    let done = come_back(&world, &back, &begun).await;
    assert_eq!(done.status, 303, "{done:?}");
    refused(&come_back(&world, &back, &begun).await, 400, "a code that was used");
    // A session needs the right kind of value, unchanged, in the cookie of that name.
    let session = session_of(&done);
    let value = begun.split_once('=').unwrap().1;
    for cookie in [
        format!("__Host-capstan-session={value}"),
        format!("{session}A"),
        session.replace("capstan-session", "x"),
    ] {
        assert_eq!(world.page("/", &cookie).await.status, 303, "{cookie}");
    }
    // Invalid codes from one address, as many as GitHub is asked about at once, and an honest user at another address.
    let mut strangers = Vec::new();
    for _ in 0..4 {
        strangers.push(world.go_to_github("wim", "/").await);
    }
    let (back, begun) = world.go_to_github("ada", "/").await;
    let exchange = Matching::any().path("/login/oauth/access_token");
    world.forge.fail_next(4, exchange, Strike::Before, Fault::Hang(Duration::from_secs(600)));
    let asked_before = asked(&world);
    let paths: Vec<String> =
        strangers.iter().map(|(path, _)| path.replace("code=", "code=made-up-")).collect();
    let attack = select_all(
        paths
            .iter()
            .zip(&strangers)
            .map(|(path, (_, cookie))| Box::pin(come_back_from(&world, "203.0.113.1", path, cookie))),
    );
    let honest = async {
        while asked(&world) < asked_before + 4 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        come_back_from(&world, "198.51.100.2", &back, &begun).await
    };
    let done = tokio::select! { (first, ..) = attack => panic!("{first:?}"), done = honest => done };
    assert_eq!(done.status, 303, "{done:?}");

    // Too late.
    let (back, begun) = world.go_to_github("ada", "/").await;
    world.bench.clock.advance(Duration::from_secs(601));
    refused(&come_back(&world, &back, &begun).await, 400, "after ten minutes");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_sent_to_another_site() {
    let world = World::start(SigningIn::Configured).await;
    for next in ["https%3A%2F%2Fevil.example", "%2F%2Fevil.example", "%2F%5Cevil.example"] {
        let (back, begun) = world.go_to_github("rea", next).await;
        assert_eq!(come_back(&world, &back, &begun).await.location, "/", "{next}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_github_s_within_minutes_and_sessions_end() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    let (rea, wim) = (world.sign_in("rea").await, world.sign_in("wim").await);
    world.page("/", &rea).await.has("gauss/peu01");
    world.page("/", &wim).await.has("gauss/peu01");
    let calls = || world.forge.exchanges().iter().filter(|one| one.path == "/user/installations").count();
    let asked = calls();
    for _ in 0..5 {
        world.page("/", &rea).await.has("gauss/peu01");
    }
    assert_eq!(calls(), asked, "GitHub is asked once in three minutes");

    world.forge.grant(GITOPS, "rea", Permission::None).unwrap();
    world.bench.clock.advance(Duration::from_secs(181));
    world.page("/", &rea).await.lacks("gauss/peu01");

    // Signed out: the cookie alone is worth nothing any more.
    let token = world.page("/", &wim).await.form_token();
    let out = world.ask(world.public, Ask::post("/logout", &token).of(Some(&wim))).await;
    assert_eq!((out.status, out.location.as_str()), (303, "/login"));
    assert!(out.cookies[0].starts_with("__Host-capstan-session=; Path=/; Max-Age=0;"), "{out:?}");
    assert_eq!(world.page("/", &wim).await.status, 303);

    // GitHub takes the token back.
    let ada = world.sign_in("ada").await;
    assert_eq!(world.page("/", &ada).await.status, 200);
    world.forge.revoke_tokens_of("ada");
    world.bench.clock.advance(Duration::from_secs(181));
    assert_eq!(world.page("/", &ada).await.status, 303);

    // Eight hours.
    let ada = world.sign_in("ada").await;
    world.bench.clock.advance(Duration::from_secs(8 * 3600 + 1));
    assert_eq!(world.page("/", &ada).await.status, 303);
    capstan_test_parts::conformance::assert_conforms(&world.forge);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_github_does_not_answer_nobody_sees_anything() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    let ada = world.sign_in("ada").await;
    let question = Matching::any().path("/user/installations");
    world.forge.fail_next(20, question, Strike::Before, Fault::Status(500));
    let page = world.page("/", &ada).await;
    assert_eq!(page.status, 503, "{page:?}");
    page.lacks("gauss");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_in_person_can_sign_out_while_github_does_not_answer() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    let ada = world.sign_in("ada").await;
    let token = world.page("/", &ada).await.form_token();
    world.bench.clock.advance(Duration::from_secs(181));
    world.forge.fail_next(100, Matching::any(), Strike::Before, Fault::Status(500));
    assert_eq!(world.page("/", &ada).await.status, 503);
    let refused = world.ask(world.public, Ask::post("/logout", "made-up").of(Some(&ada))).await;
    assert_eq!((refused.status, refused.cookies.len()), (403, 0), "{refused:?}");
    let out = world.ask(world.public, Ask::post("/logout", &token).of(Some(&ada))).await;
    assert_eq!((out.status, out.location.as_str()), (303, "/login"), "{out:?}");
    assert!(out.cookies[0].starts_with("__Host-capstan-session=; Path=/; Max-Age=0;"), "{out:?}");
    assert_eq!(world.page("/", &ada).await.status, 303, "the session has ended");
    // A cookie that is worth nothing any more goes; where none came along none is taken away, because another site's
    // form comes without it.
    let again = world.ask(world.public, Ask::post("/logout", "").of(Some(&ada))).await;
    assert_eq!((again.status, again.cookies.len()), (303, 1), "{again:?}");
    let nobody = world.ask(world.public, Ask::post("/logout", "")).await;
    assert_eq!((nobody.status, nobody.cookies.len()), (303, 0), "{nobody:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_that_github_refuses_hides_nothing_of_the_others() {
    const OTHER: &str = "beta/gitops";
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    world.forge.create_organization("beta").unwrap();
    world.forge.create_repository(OTHER).unwrap();
    world.forge.grant(OTHER, "ada", Permission::Admin).unwrap();
    let installation = world.forge.install("beta", Selection::All).unwrap();
    let other = world.id_of(OTHER).await;
    world.know(other, OTHER).await;
    let targets = vec![target("bessel/web", "current", "It is there.", "aws/v22.0.0", None)];
    world.campaign(other, targets).await;
    let ada = world.sign_in("ada").await;
    for status in [403, 404] {
        let question = Matching::any().path(&format!("/user/installations/{installation}/repositories"));
        world.forge.fail_next(1, question, Strike::Before, Fault::Status(status));
        let page = world.page("/", &ada).await;
        assert_eq!(page.status, 200, "{status}: {page:?}");
        page.has("gauss/peu01");
        page.lacks("bessel/web");
        world.bench.clock.advance(Duration::from_secs(181));
    }
    let page = world.page("/", &ada).await;
    page.has("gauss/peu01");
    page.has("bessel/web");
}
