//! Filters, parts of long lists, what is escaped, and what one cluster's page tells.

use capstan_live::agent::{RolloutReport, RolloutState};
use capstan_model::finding::Severity;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::ProposalId;
use capstan_ports::{Clock as _, Records as _, RolloutRecords as _};
use capstan_report::{DetailedFinding, ProposalState, TargetDetail};
use jiff::SignedDuration;

use super::reconcilers::enrol;
use super::world::{Ask, GITOPS, SigningIn, World, target};
use crate::agents::report;

/// The clusters that a page names, in its order.
fn clusters(body: &str) -> Vec<String> {
    let rows = body.split("role=\"rowheader\" scope=\"row\"").skip(1);
    let links = rows.map(|row| row.split_once("><a href=\"/clusters/acme/").unwrap().1);
    links.map(|link| link.split_once("\">").unwrap().0.split_once('/').unwrap().1.to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_live_in_the_address() {
    let world = World::start(SigningIn::Not).await.with_a_fleet().await;
    // Clusters that need a person come first.
    let all = ["gauss/peu02", "gauss/peu01", "euler/web", "gauss/peu03", "noether/vault"];
    let by_name = ["euler/web", "gauss/peu01", "gauss/peu02", "gauss/peu03", "noether/vault"];
    let cases: [(&str, &[&str]); 20] = [
        ("/", &all),
        ("/?q=&state=&repository=&page=", &all),
        ("/?state=held", &["euler/web"]),
        ("/?q=PEU0", &["gauss/peu02", "gauss/peu01", "gauss/peu03"]),
        ("/?q=peu+v22", &["gauss/peu02", "gauss/peu01", "gauss/peu03"]),
        ("/?sort=cluster", &by_name),
        ("/?sort=cluster&state=current", &["gauss/peu03", "noether/vault"]),
        ("/?sort=-cluster", &["noether/vault", "gauss/peu03", "gauss/peu02", "gauss/peu01", "euler/web"]),
        ("/?sort=kubernetes&q=gauss", &["gauss/peu01", "gauss/peu02", "gauss/peu03"]),
        ("/?sort=-kubernetes&q=gauss", &["gauss/peu03", "gauss/peu02", "gauss/peu01"]),
        ("/?kubernetes=v1.31.10", &["gauss/peu02"]),
        ("/?sort=%27%3B+DROP+TABLE+jobs", &all),
        ("/?q=audit", &["euler/web"]),
        ("/?q=olga+freeze", &["gauss/peu01"]),
        ("/?q=gauss&state=blocked", &["gauss/peu02"]),
        ("/?repository=acme%2Fsecret", &["noether/vault"]),
        ("/?q=100%25", &[]),
        ("/?q=peu_1", &[]),
        ("/?state=%27+OR+1%3D1", &[]),
        ("/?page=2", &[]),
    ];
    for (path, expected) in cases {
        let page = world.local(path).await;
        assert_eq!(
            (page.status, clusters(&page.body)),
            (200, expected.iter().map(|&one| one.to_owned()).collect()),
            "{path}"
        );
    }
    // The form holds what was asked, and so do the ways to the states.
    let page = world.local("/?q=gauss&state=blocked").await;
    page.has(r#"name="q" value="gauss""#);
    page.has("<option selected>blocked</option>");
    page.has(r#"href="/?q=gauss&#38;state=current""#);
    page.has("<b>1</b> proposed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_has_what_says_something_and_versions_are_spread_over_a_bar() {
    let world = World::start(SigningIn::Not).await.with_a_fleet().await;
    let page = world.local("/").await;
    for expected in [
        // Sorted by need, and a press turns it round.
        r#"<th role="columnheader" scope="col" aria-sort="ascending"><a href="/?sort=-need">State</a></th>"#,
        r#"<th role="columnheader" scope="col"><a href="/?sort=kubernetes">Kubernetes</a></th>"#,
        r#"<td role="cell" data-label="Kubernetes" class="step">v1.31.9 <span class="to">→ v1.32.7</span></td>"#,
        r#"<td role="cell" data-label="Kubernetes" class="step">v1.32.7</td>"#,
        r#"<td role="cell" data-label="Release" class="step">aws/v21.0.0 <span class="to">→ aws/v22.0.0</span></td>"#,
        r#"<td role="cell" data-label="Since"><time datetime="2026-11-21T12:00:00Z">a moment</time></td>"#,
        r#"<td role="cell" data-label="Wave">canary</td>"#,
        r#"<td role="cell" data-label="Machines"><span class="mood-waits">8 to replace</span></td>"#,
        // The bar, and the same as text.
        r#"<rect class="share-0" x="0" width="200" height="10"/><rect class="share-1" x="200" width="200" height="10"/>"#,
        r#"<a href="/?kubernetes=v1.31.10">v1.31.10</a> <span class="quiet">1 cluster</span>"#,
        r#"not known <span class="quiet">2 clusters</span>"#,
        "No reconciler reports machines that are being replaced.",
        r#"<li><a href="/" aria-current="true">What needs attention</a></li>"#,
    ] {
        page.has(expected);
    }
    // No cluster there has a value in these columns.
    let few = world.local("/?state=current&repository=acme/secret").await;
    for column in ["Kubernetes", "Wave", "Machines", "Proposal", "Check"] {
        few.lacks(&format!("data-label=\"{column}\""));
        few.lacks(&format!(">{column}</a></th>"));
    }
    let by_customer = world.local("/?sort=cluster").await;
    by_customer.has(r#"scope="rowgroup" colspan="9">euler in acme/gitops</th>"#);
    by_customer.has(r#"scope="rowgroup" colspan="9">noether in acme/secret</th>"#);
    let by_wave = world.local("/?sort=wave").await;
    assert_eq!(clusters(&by_wave.body)[0], "gauss/peu01");
    by_wave.has(r#"scope="rowgroup" colspan="9">Wave canary</th>"#);
    by_wave.has(r#"scope="rowgroup" colspan="9">In no wave</th>"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_rolls_is_above_the_table_and_its_machines_are_on_its_page() {
    let world = World::start(SigningIn::Not).await.with_a_fleet().await;
    let (database, agent) = (&world.bench.database, enrol(&world).await);
    let applied = CommitId::parse(&"c".repeat(40)).unwrap();
    let mut rolls = report("gauss/peu01", &applied, RolloutState::Rolling, 1);
    // The old one is of a reconciler that does not say it.
    rolls.machines[0].created_at = Some(world.bench.clock.now() - SignedDuration::from_secs(200));
    let done = RolloutReport { wanted: 5, ..report("gauss/peu03", &applied, RolloutState::Done, 5) };
    database.take_reports(world.gitops, &agent, "prod", &[rolls, done]).await.unwrap();
    let finding = DetailedFinding {
        rule: "kubernetes-minor-skip".to_owned(),
        severity: Severity::Error,
        message: "`v1.31.9` to `v1.33.1` skips <b>minors.".to_owned(),
        place: None,
    };
    let detail = TargetDetail { findings: vec![finding], ..TargetDetail::default() };
    let proposal = ProposalId::of_release(Target::parse("gauss/peu01").unwrap());
    database.save_details(world.gitops, &[(proposal.clone(), detail)]).await.unwrap();

    let page = world.local("/").await;
    page.has("<li><a href=\"/clusters/acme/gitops/gauss/peu01\">gauss/peu01</a> <span class=\"mood-open\">rolling, 1 of 2 machines are new</span></li>");
    page.lacks("<li><a href=\"/clusters/acme/gitops/gauss/peu03\">");
    page.has("data-label=\"Machines\"><span class=\"mood-open\">rolling, 1 of 2 machines</span></td>");
    page.has("data-label=\"Machines\"><span class=\"mood-good\">5</span></td>");
    let page = world.local("/clusters/acme/gitops/gauss/peu01").await;
    page.has("<caption>Machines: 1 old, 1 new</caption>");
    page.has("data-label=\"Age\"><span class=\"mood-waits\">old</span></td>");
    page.has("data-label=\"Age\"><span class=\"mood-good\">new</span>, <time datetime=\"");
    page.has("\">3 minutes</time></td>");
    let place = |name: &str| page.body.find(&format!("scope=\"row\">{name}</th>")).unwrap();
    assert!(place("peu01-mp-0-old") < place("peu01-mp-0-new"));
    page.has("<span class=\"badge mood-bad\">error</span> <code>kubernetes-minor-skip</code> <code>v1.31.9</code> to <code>v1.33.1</code> skips &lt;b&gt;minors.");
    page.has("<dt>Kubernetes</dt><dd>v1.31.9 → v1.32.7</dd>");
    page.has("<dt>Wave</dt><dd>canary</dd>");
    // The page drops what the latest run does not report.
    database.save_details(world.gitops, &[(proposal, TargetDetail::default())]).await.unwrap();
    world.local("/clusters/acme/gitops/gauss/peu01").await.lacks("kubernetes-minor-skip");
    database.save_details(world.gitops, &[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_has_the_frame_for_a_browser_and_is_plain_for_a_program() {
    let world = World::start(SigningIn::Not).await;
    let html = "text/html,application/xhtml+xml";
    for (path, status, title, sentence) in [
        ("/nothing", 404, "Not found", "There is nothing here."),
        ("/clusters/acme/gitops/none", 404, "Not found", "There is nothing here."),
        ("/logout", 404, "Not found", "There is nothing here."),
        (
            "/queue/1/look",
            405,
            "This did not work",
            "This address does not support the method of the request.",
        ),
    ] {
        let page = world.ask(world.internal, Ask::get(path).with("accept", html)).await;
        assert_eq!(page.status, status, "{path}");
        page.has(&format!("<h1>{title}</h1>"));
        page.has(&format!("<p>{sentence}</p>"));
        page.has(r#"<nav aria-label="Pages">"#);
        assert!(page.policy.starts_with("default-src 'none'; style-src 'sha256-"), "{}", page.policy);
        let plain = world.local(path).await;
        assert_eq!(plain.status, status, "{path}");
        plain.lacks("<");
    }
    // Through the public listener there are no pages here, and nothing says that there might be.
    let page = world.ask(world.public, Ask::get("/nothing").with("accept", html)).await;
    assert_eq!(page.status, 404);
    page.lacks("<");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_fleet_is_shown_a_hundred_at_a_time() {
    let world = World::start(SigningIn::Not).await;
    world.know(world.gitops, GITOPS).await;
    let name = |number| format!("gauss/peu{number:04}");
    let many = (0..1250).map(|number| target(&name(number), "current", "", "aws/v22.0.0", None));
    world.campaign(world.gitops, many.collect()).await;

    let first = world.local("/").await;
    assert_eq!(clusters(&first.body), (0..100).map(name).collect::<Vec<_>>());
    first.has("Clusters 1 to 100 of 1250");
    first.has(r#"<a rel="next" href="/?page=2">"#);
    first.lacks("rel=\"prev\"");
    let last = world.local("/?q=gauss&page=13").await;
    assert_eq!(clusters(&last.body), (1200..1250).map(name).collect::<Vec<_>>());
    last.has("Clusters 1201 to 1250 of 1250");
    last.has(r#"<a rel="prev" href="/?q=gauss&#38;page=12">"#);
    last.lacks("rel=\"next\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_wrote_is_text_and_markdown_is_shown_as_what_it_means() {
    let world = World::start(SigningIn::Not).await.with_a_fleet().await;
    let page = world.local("/?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E").await;
    page.lacks("<script>alert");
    let page = world.local("/").await;
    page.has("One field of <code>&lt;b&gt;peu02</code> conflicts.");
    // What other columns say is not repeated.
    page.has(&format!("<a href=\"{}/acme/gitops/pull/12\">#12</a></td>", world.forge.url()));
    page.lacks("</a> offers");
    page.lacks("`");
    page.has("action required: One conflict blocks");
    page.has(
        "<span class=\"reason\">On hold by <code>olga</code> until 2026-12-24: the &lt;b&gt;freeze.</span>",
    );
    page.has("<span class=\"reason\">The overlay holds upgrades back until 2026-12-01: audit.</span>");
    page.has("data-label=\"Check\" class=\"check\"><span class=\"empty\">none</span></td>");
    assert!(page.policy.starts_with("default-src 'none'; style-src 'sha256-"), "{}", page.policy);
    assert!(page.policy.contains("form-action 'self'; frame-ancestors 'none'"), "{}", page.policy);
    assert!(page.policy.contains("; script-src 'sha256-"), "{}", page.policy);
    // A page that does not renew itself runs nothing.
    let audit = world.local("/audit").await;
    assert!(!audit.policy.contains("script-src"), "{}", audit.policy);
    audit.lacks("<script");
    assert_eq!(page.body.matches("<script").count(), 1, "{}", page.body);
    page.has("<script>(() => {");
    page.lacks("style=\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_cluster_shows_its_state_and_its_history() {
    let world = World::start(SigningIn::Not).await.with_a_fleet().await;
    let page = world.local("/clusters/acme/gitops/gauss/peu01").await;
    assert_eq!(page.status, 200);
    page.has("<h1>gauss/peu01</h1>");
    page.has("A pull request carries its upgrade.");
    page.has("<dt>Release</dt><dd>aws/v21.0.0</dd>");
    page.has("<dt>Offered</dt><dd>aws/v22.0.0</dd>");
    page.has("offers <code>aws/v22.0.0</code> in <a href=");
    page.has(&format!("href=\"{}/acme/gitops/tree/HEAD/gauss/peu01\"", world.forge.url()));
    // The work of its repository, and what may be opened there.
    page.has("<h2 id=\"queue\">Queue and budget</h2>");
    page.has("Its repository: waits its turn; last checked: never yet.");
    page.has("<dt>Proposals open</dt><dd>1 of 20</dd>");
    page.has("<dt>Opened in the last hour</dt><dd>1 of 5</dd>");
    for path in
        ["/clusters/acme/gitops/gauss/none", "/clusters/acme/other/gauss/peu01", "/clusters/acme/gitops"]
    {
        assert_eq!(world.local(path).await.status, 404, "{path}");
    }
    // The audit trail and the queue tell the same.
    let audit = world.local("/audit?q=peu01&action=proposal-opened&actor=CAPSTAN").await;
    audit.has("href=\"/clusters/acme/gitops/gauss/peu01\"");
    world.local("/audit?actor=ada").await.has("Nothing matches.");
    let queue = world.local("/queue").await;
    queue.has("data-label=\"Proposals open\">1 of 20</td>");
    queue.has("data-label=\"Opened in the last hour\">1 of 5</td>");
    // A hundred repositories a page.
    queue.has("<caption>Repositories 1 to 2 of 2,");
    world.local("/queue?page=2").await.lacks("data-label=\"Proposals open\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_this_machines_own_names_are_answered_on_its_listener() {
    let world = World::start(SigningIn::Not).await.with_a_fleet().await;
    for host in ["evil.example", "10.0.0.1:8082"] {
        let page = world.ask(world.internal, Ask::get("/").with("host", host)).await;
        assert_eq!(page.status, 421, "{host}");
        page.lacks("gauss");
    }
    assert_eq!(world.ask(world.internal, Ask::get("/").with("host", "localhost:9")).await.status, 200);
    // Monitoring comes under any name.
    assert_eq!(
        world.ask(world.internal, Ask::get("/healthz").with("host", "10.0.0.1:8082")).await.status,
        200
    );
}

#[test]
fn the_page_about_pages_lists_every_state_with_its_meaning() {
    let told = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/page.md"))
        .unwrap();
    for state in ProposalState::ALL {
        let row = format!("| `{}` | {} |", state.as_str(), state.meaning());
        assert!(told.contains(&row), "docs/page.md lacks {row}");
    }
}
