//! Campaigns: a page each, with waves, what clusters wait for, and a time line.

use std::collections::BTreeSet;

use capstan_campaign::facts::Stop;
use capstan_campaign::time::{Calendar, Cron, Freeze, Moment, Period, WaveCalendar, Window, ZoneName};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_ports::{CampaignProgress, MovingCluster, MovingStage, Records as _, WaveProgress};

use super::world::{SigningIn, World};

fn id(path: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(path).unwrap())
}

/// A campaign of two waves, of which the first is done.
pub(super) fn progress() -> CampaignProgress {
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
        stopped: Some(Stop {
            at: "2026-11-21T11:00:00Z".parse().unwrap(),
            why: "of `gauss/peu02` its rollout is stuck.".to_owned(),
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
        "since 2026-11-21 11:00 UTC: of <code>gauss/peu02</code> its rollout is stuck.",
        "A comment <code>/capstan campaign resume of fleet &#60;1&#62;</code> on the dashboard issue continues it.",
        r#"It continues without <a href="/clusters/acme/gitops/gauss/lab">gauss/lab</a>."#,
        "<span>2 of 2 done</span>",
        "<span>0 of 3 done, 1 failed, 1 open</span>",
        "<li>0 9 * * MON-FRI for 8h (Europe/Berlin)</li>",
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
