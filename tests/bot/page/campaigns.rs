//! Campaigns: a page each, with waves, what clusters wait for, and a time line.

use std::collections::BTreeSet;
use std::time::Duration;

use capstan_campaign::facts::Stop;
use capstan_campaign::time::{Calendar, Cron, Freeze, Moment, Period, WaveCalendar, Window, ZoneName};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_plan::settings::Principal;
use capstan_ports::{
    AuditEntry, CampaignProgress, Jobs as _, KnownDashboard, MovingCluster, MovingStage, PageOrder,
    Records as _, WaveProgress,
};

use super::world::{Ask, Page, SigningIn, World};

fn id(path: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(path).unwrap())
}

/// A campaign of two waves, of which the first is done.
fn progress() -> CampaignProgress {
    let window =
        Window { cron: Cron::parse("0 9 * * MON-FRI").unwrap(), duration: Period::parse("8h").unwrap() };
    let freeze = Freeze {
        from: Moment::parse("2026-11-24").unwrap(),
        until: Moment::parse("2026-11-26T12:00").unwrap(),
        reason: "the <b>quarter ends".to_owned(),
    };
    let cluster = |(path, stage, why): (&str, MovingStage, &str)| MovingCluster {
        cluster: id(path),
        wave: 1,
        machines: Some(8),
        stage,
        why: why.to_owned(),
    };
    let wave = |state: &str, clusters, done: &[&str]| WaveProgress {
        state: state.to_owned(),
        soaks_until: None,
        clusters,
        failed: 0,
        rolling: 0,
        open: 0,
        done_undated: 0,
        done: done.iter().map(|at| (at.parse().unwrap(), 1)).collect(),
    };
    CampaignProgress {
        campaign: "fleet <1>".to_owned(),
        release: "aws/v22.0.0".to_owned(),
        prefix: "/capstan".to_owned(),
        ordered_by: Vec::new(),
        stopped: Some(Stop {
            at: "2026-11-21T11:00:00Z".parse().unwrap(),
            why: "the rollout of `gauss/peu02` is stuck.".to_owned(),
            by_person: false,
        }),
        skipped: BTreeSet::from([id("gauss/lab")]),
        calendar: Calendar {
            time_zone: ZoneName::parse("Europe/Berlin").unwrap(),
            freezes: vec![freeze],
            waves: vec![
                WaveCalendar { name: "canary".to_owned(), windows: Vec::new() },
                WaveCalendar { name: "all".to_owned(), windows: vec![window] },
            ],
        },
        waves: vec![
            wave("has ended", 2, &["2026-11-20T10:00:00Z", "2026-11-20T15:30:00Z"]),
            WaveProgress { failed: 1, open: 1, ..wave("is under way; the campaign is stopped", 3, &[]) },
        ],
        clusters: [
            ("gauss/peu02", MovingStage::Failed, "Its rollout is stuck."),
            ("gauss/peu01", MovingStage::Open, "Its pull request is not merged."),
            ("gauss/<i>peu04", MovingStage::Waiting, "Campaign `fleet` is stopped."),
        ]
        .map(cluster)
        .into(),
        left_out: 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_has_a_page_with_its_waves_and_what_waits() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    let database = &world.bench.database;
    world.local("/campaigns").await.has("No release moves through a campaign now.");
    database.save_progress(world.gitops, &[progress()]).await.unwrap();
    let secret = CampaignProgress { campaign: "secret".to_owned(), ..progress() };
    database.save_progress(world.secret, std::slice::from_ref(&secret)).await.unwrap();

    let list = world.local("/campaigns").await;
    list.has(r#"<a href="/campaigns/acme/gitops/fleet%20%3C1%3E">fleet &#60;1&#62;</a>"#);
    list.has(r#"<td role="cell" data-label="Done">2 of 5</td>"#);
    list.has(r#"<td role="cell" data-label="Wave">all</td>"#);
    let page = world.local("/campaigns/acme/gitops/fleet%20%3C1%3E").await;
    for expected in [
        "<h1>fleet &#60;1&#62;</h1>",
        "on 2026-11-21 11:00 UTC: the rollout of <code>gauss/peu02</code> is stuck.",
        "Administrators of the repository may stop and resume it. The buttons are shown to people who sign in through GitHub.",
        r#"It continues without <a href="/clusters/acme/gitops/gauss/lab">gauss/lab</a>."#,
        "<span>2 of 2 done</span>",
        "<span>0 of 3 done, 1 failed, 1 open</span>",
        "<li>Monday to Friday 09:00 to 17:00 (Europe/Berlin)</li>",
        "<li>2026-11-23 23:00 UTC to 2026-11-26 11:00 UTC: the &#60;b&#62;quarter ends</li>",
        r#"<a href="/clusters/acme/gitops/gauss/%3Ci%3Epeu04">gauss/&#60;i&#62;peu04</a>"#,
        r#"<svg class="time-line""#,
        "Frozen from 2026-11-24 00:00 to 2026-11-26 12:00: the &lt;b&gt;quarter ends",
        r#"<path class="stop""#,
    ] {
        page.has(expected);
    }
    page.lacks("<b>quarter");
    page.lacks("style=\"");
    assert_eq!(world.local("/campaigns/acme/gitops/none").await.status, 404);

    // People see those of repositories that they can read.
    let wim = world.sign_in("wim").await;
    let list = world.page("/campaigns", &wim).await;
    list.has("fleet &#60;1&#62;");
    list.lacks("secret");
    assert_eq!(world.page("/campaigns/acme/secret/secret", &wim).await.status, 404);

    // What does not move any more is gone.
    database.save_progress(world.gitops, &[]).await.unwrap();
    assert_eq!(world.local("/campaigns/acme/gitops/fleet%20%3C1%3E").await.status, 404);
}

impl World {
    /// The campaign `fleet`, which moves in both repositories and is noted in the dashboard issue; by the settings,
    /// `wim` and a team may order it, too.
    pub(super) async fn with_campaigns(self) -> Self {
        let ordered_by = ["@wim", "@acme/platform"].map(|one| Principal::parse(one).unwrap()).to_vec();
        let mut fleet =
            CampaignProgress { campaign: "fleet".to_owned(), stopped: None, ordered_by, ..progress() };
        "is under way".clone_into(&mut fleet.waves[1].state);
        fleet.clusters.truncate(2);
        for repository in [self.gitops, self.secret] {
            self.bench.database.save_progress(repository, std::slice::from_ref(&fleet)).await.unwrap();
            let known = KnownDashboard { repository, issue: Some(5), record: String::new() };
            self.bench.database.save_dashboard(&known).await.unwrap();
        }
        self
    }

    async fn order(&self, session: Option<&str>, form: &str) -> Page {
        let ask = Ask { form: Some(form.to_owned()), ..Ask::post(ORDER, "") };
        self.ask(self.public, ask.of(session)).await
    }

    /// The orders that the next run is given, without their ids.
    async fn orders(&self) -> Vec<(String, String)> {
        let mut orders = Vec::new();
        while let Some(job) = self.bench.database.claim("worker", Duration::from_secs(30), 8).await.unwrap() {
            orders.extend(
                job.hints.orders.iter().map(|PageOrder { by, given, .. }| (by.clone(), given.clone())),
            );
            self.bench.database.complete(&job, None).await.unwrap();
        }
        orders
    }
}

const FLEET: &str = "/campaigns/acme/gitops/fleet";
const ORDER: &str = "/campaigns/acme/gitops/fleet/order";

#[tokio::test(flavor = "multi_thread")]
async fn who_may_stops_a_campaign_on_its_page_and_reads_there_what_became_of_it() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await.with_campaigns().await;
    world.orders().await;
    let wim = world.sign_in("wim").await;
    let page = world.page(FLEET, &wim).await;
    for expected in [
        "<button>Stop the campaign</button>",
        "Administrators of the repository, and by the settings @wim, @acme/platform may stop and resume it.",
        "A comment <code>/capstan campaign stop of fleet</code>",
    ] {
        page.has(expected);
    }
    page.lacks("Resume the campaign");

    let token = page.form_token();
    let done =
        world.order(Some(&wim), &format!("token={token}&do=stop&reason=wrong%0D%0Aimage+of+other")).await;
    assert_eq!(done.status, 303, "{done:?}");
    let (path, id) = done.location.split_once("?order=").unwrap();
    assert_eq!((path, id.starts_with("page-")), (FLEET, true), "{done:?}");
    world.page(&done.location, &wim).await.has(
        "Capstan carries out the order of wim when it next looks at the repository, usually within seconds.",
    );
    let audit = world.page("/audit?actor=wim", &wim).await;
    audit.has("data-label=\"What\">campaign-ordered</td>");
    audit.has("stop wrong image of other of fleet, page-");
    assert_eq!(world.orders().await, [("wim".to_owned(), "stop wrong image of other of fleet".to_owned())]);
    assert_eq!(world.orders().await, [], "it is given to one run");

    // What the run says of it, and nothing to those who may not see the repository.
    let said = |action: &'static str| AuditEntry {
        repository: world.gitops,
        proposal: None,
        actor: "wim".to_owned(),
        action,
        detail: format!("campaign stop, {id} on Capstan's page"),
    };
    for (action, expected) in [
        ("command-not-possible", "The order of wim was not carried out."),
        ("command-refused", "GitHub or the settings do not allow wim to do this."),
        ("command-carried-out", "The order of wim was carried out."),
    ] {
        world.bench.clock.advance(Duration::from_secs(1));
        world.bench.database.audit(&said(action)).await.unwrap();
        world.page(&done.location, &wim).await.has(expected);
    }
    let ada = world.sign_in("ada").await;
    let elsewhere = format!("/campaigns/acme/secret/fleet?order={id}");
    world.page(&elsewhere, &ada).await.lacks("The order of wim");

    // A campaign that is stopped can be resumed; without a dashboard issue nothing could be noted.
    let stopped = CampaignProgress { campaign: "fleet".to_owned(), ..progress() };
    world.bench.database.save_progress(world.gitops, std::slice::from_ref(&stopped)).await.unwrap();
    let page = world.page(FLEET, &ada).await;
    page.has("<button>Resume the campaign</button>");
    page.lacks("Stop the campaign");
    let token = page.form_token();
    assert_eq!(world.order(Some(&ada), &format!("token={token}&do=resume")).await.status, 303);
    assert_eq!(world.orders().await, [("ada".to_owned(), "resume of fleet".to_owned())]);
    let known = KnownDashboard { repository: world.gitops, issue: None, record: String::new() };
    world.bench.database.save_dashboard(&known).await.unwrap();
    let page = world.page(FLEET, &ada).await;
    page.lacks("<button>Resume");
    page.has("The buttons need the dashboard issue, where Capstan records it.");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_orders_a_campaign() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await.with_campaigns().await;
    world.orders().await;
    let mut tokens = Vec::new();
    for login in ["sam", "rea", "wim", "ada"] {
        let session = world.sign_in(login).await;
        let token = world.page("/", &session).await.form_token();
        let buttons = world.page(FLEET, &session).await.body.matches("the campaign</button>").count();
        assert_eq!(buttons, usize::from(["wim", "ada"].contains(&login)), "{login}");
        tokens.push((session, token));
    }
    let [(sam, of_sam), (rea, of_rea), (wim, of_wim), (ada, of_ada)] = tokens.as_slice() else {
        unreachable!("four people signed in")
    };
    world.local(FLEET).await.lacks("the campaign</button>");
    let local = world.local("/queue").await.form_token();
    let stop = |token: &str| format!("token={token}&do=stop");
    for (what, session, form, expected) in [
        ("a stranger", None, stop(""), 401),
        ("who may not see the repository", Some(sam), stop(of_sam), 404),
        ("who may read", Some(rea), stop(of_rea), 403),
        ("no token", Some(ada), "do=stop".to_owned(), 403),
        ("a made-up token", Some(ada), stop("AAAA"), 403),
        ("somebody else's token", Some(ada), stop(of_wim), 403),
        ("this machine's token", Some(ada), stop(&local), 403),
        ("no order", Some(ada), format!("token={of_ada}"), 400),
        ("another order", Some(ada), format!("token={of_ada}&do=skip&reason=gauss/peu01"), 400),
        (
            "a reason that is too long for one",
            Some(ada),
            format!("token={of_ada}&do=stop&reason={}", "x".repeat(201)),
            400,
        ),
    ] {
        let answer = world.order(session.map(String::as_str), &form).await;
        assert_eq!(answer.status, expected, "{what}: {answer:?}");
        if expected == 400 {
            answer.has("The form must ask for `stop` or `resume`, with a reason of at most 200 characters");
        }
    }
    // A link does nothing, and neither does another site's form, or one on a campaign that the visitor cannot see.
    assert_eq!(world.page(ORDER, ada).await.status, 405);
    let mut foreign = Ask { form: Some(stop(of_ada)), ..Ask::post(ORDER, "") }.of(Some(ada));
    foreign = foreign.with("sec-fetch-site", "cross-site");
    assert_eq!(world.ask(world.public, foreign).await.status, 403);
    let hidden = Ask { form: Some(stop(of_wim)), ..Ask::post("/campaigns/acme/secret/fleet/order", "") };
    assert_eq!(world.ask(world.public, hidden.of(Some(wim))).await.status, 404);
    let gone = Ask { form: Some(stop(of_ada)), ..Ask::post("/campaigns/acme/gitops/none/order", "") };
    assert_eq!(world.ask(world.public, gone.of(Some(ada))).await.status, 404);
    // GitHub decides who may, and it does not know the people at this machine.
    let here = Ask { form: Some(stop(&local)), ..Ask::post(ORDER, "") };
    assert_eq!(world.ask(world.internal, here).await.status, 403);
    // In a browser, the answer has the frame of the pages.
    let refused =
        Ask { form: Some(stop(of_rea)), ..Ask::post(ORDER, "") }.of(Some(rea)).with("accept", "text/html");
    let page = world.ask(world.public, refused).await;
    page.has("You may not stop or resume this campaign: its page says who may.");
    page.has("<nav aria-label=\"Pages\">");
    assert_eq!(world.orders().await, [], "nothing of that is an order");
}

/// The orders of one person do not displace those of another, and an answered order is given to no later run.
#[tokio::test(flavor = "multi_thread")]
async fn ten_orders_of_a_person_wait_and_each_is_given_until_it_is_answered() {
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await.with_campaigns().await;
    world.orders().await;
    let [ada, wim] = [world.sign_in("ada").await, world.sign_in("wim").await];
    let token = world.page("/", &ada).await.form_token();
    for nth in 0..11 {
        let answer = world.order(Some(&ada), &format!("token={token}&do=stop&reason=no{nth}")).await;
        assert_eq!(answer.status, if nth < 10 { 303 } else { 429 }, "{answer:?}");
    }
    let token = world.page("/", &wim).await.form_token();
    let last = world.order(Some(&wim), &format!("token={token}&do=resume")).await;
    assert_eq!(last.status, 303);

    let database = &world.bench.database;
    let claim = || database.claim("worker", Duration::from_secs(30), 8);
    let job = claim().await.unwrap().unwrap();
    let given: Vec<&str> = job.hints.orders.iter().map(|order| order.given.as_str()).collect();
    assert_eq!((given.len(), given[0], given[10]), (11, "stop no0 of fleet", "resume of fleet"));
    let (_, id) = last.location.split_once("?order=").unwrap();
    database.save_order_answered(id).await.unwrap();
    database.fail(&job, "GitHub does not answer", Some(Duration::from_secs(1))).await.unwrap();
    world.bench.clock.advance(Duration::from_secs(600));
    let job = claim().await.unwrap().unwrap();
    assert_eq!(job.hints.orders.len(), 10, "the one that was answered is not among them");
    assert!(job.hints.orders.iter().all(|order| order.by == "ada"));

    // Orders from the page are not deliveries, so the page offers no replay of them.
    let deliveries = world.page("/deliveries?q=page", &ada).await;
    deliveries.has("order on the page");
    deliveries.lacks("<button aria-label=\"Replay order");
}
