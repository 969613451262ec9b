//! The tour `waves`: a campaign moves a release through a fleet. A person stops and resumes it on the dashboard issue, and
//! the machines of a merged cluster roll.

mod machines;
mod played;

use capstan_forge::{Edit, MergeMethod};
use capstan_serve::Running;
use jiff::{SignedDuration, Timestamp};

use self::played::PlayedReconciler;
use super::PLATFORM;
use super::failure::{DemoFailure, failed};
use super::tell::{heading, indented_lines, say, title};
use super::text::{indented, plain, section};
use super::watch::{Watch, expect, missing};

pub(super) const REPOSITORY: &str = "acme/fleet";

const NEW: &str = "aws/v1.1.0";
const CANARY: &str = "shop/canary-eu";
/// The clusters of the second wave.
const EUROPE: [&str; 2] = ["bank/core-eu", "shop/web-eu"];
/// Of the management cluster.
const UID: &str = "6f1c3a52-0d4e-4b7a-9c1e-2f3a4b5c6d7e";
const ROLLOUT: &str = "capstan/rollout";

/// The pull requests and the issue that the tour ends with, as its README names them.
const README: &str = "\
# Fleet

Four clusters. [.capstan.yaml](/acme/fleet/blob/main/.capstan.yaml) has a campaign: the canary first, then Europe, then the
rest. A reconciler, which is played here, reports machines after every merge.

## Look at

1. [The dashboard issue](/acme/fleet/issues/2): how far the campaign is, who stopped it and who resumed it.
2. [Pull request 1](/acme/fleet/pull/1), the canary, is merged: its check `capstan/rollout` says what became of the machines.
3. [The campaign in Capstan](@capstan@/campaigns/acme/fleet/fleet): its waves, and a time line with windows and a freeze.
4. [The canary in Capstan](@capstan@/clusters/acme/fleet/shop/canary-eu): its machines with their ages, and its merges.
5. [The fleet in Capstan](@capstan@/?repository=acme/fleet): what needs somebody comes first.

## Try it

1. Comment `/capstan campaign stop` on [the dashboard issue](/acme/fleet/issues/2), or tick its box. Nothing new opens until
   you comment `/capstan campaign resume` or tick that box.
2. Merge [pull request 3](/acme/fleet/pull/3) and [pull request 4](/acme/fleet/pull/4), the wave *europe*. Watch
   [the campaign](@capstan@/campaigns/acme/fleet/fleet): the machines roll for some seconds.
3. Now the wave *rest* begins, and [a pull request](/acme/fleet) for `shop/web-us` is there. Merge it: the campaign ends.
4. Comment `/capstan rollback` on [pull request 1](/acme/fleet/pull/1): Capstan offers the release before.
";

/// The canary's pull request, the dashboard issue, and the pull requests of the second wave.
const NUMBERS: [u64; 4] = [1, 2, 3, 4];

/// The second and the third wave have a window that is open now for some hours, so that the time line shows windows and
/// nobody waits for one. A freeze comes in some days.
fn settings(now: Timestamp) -> String {
    let now = now.to_zoned(jiff::tz::TimeZone::UTC);
    let opened = now.saturating_sub(SignedDuration::from_hours(1)).hour();
    let day = |days: i64| now.date().saturating_add(jiff::Span::new().days(days));
    let window = format!("windows: [{{cron: \"0 {opened} * * *\", duration: 10h}}]");
    format!(
        "\
managementClusters:
  - {{name: mc-eu, uid: {UID}, clusters: [\"**\"]}}
upgrade:
  fields:
    - {{kind: MachineDeployment, path: /spec/replicas, owner: cluster}}
campaigns:
  - name: fleet
    stopOn: {{count: 1}}
    freezes:
      - {{from: {}, until: {}, reason: the audit}}
    waves:
      - {{name: canary, match: {{clusters: [\"*/canary*\"]}}}}
      - {{name: europe, match: {{clusters: [\"*/*-eu\"]}}, {window}}}
      - {{name: rest, match: {{clusters: [\"**\"]}}, {window}}}
",
        day(3),
        day(5)
    )
}

/// The commits that the repository begins with: a message, and the files. `capstan` is the address of Capstan's pages.
pub(super) fn begins_with(now: Timestamp, capstan: &str) -> Vec<(&'static str, Vec<Edit>)> {
    let own = [
        Edit::write(".capstan.yaml", settings(now)),
        Edit::write("README.md", README.replace("@capstan@", capstan)),
    ];
    let files = example![
        "platform":
        "aws/v1.0.0/base/cluster.yaml",
        "aws/v1.0.0/base/control-plane.yaml",
        "aws/v1.0.0/base/workers.yaml",
        "bank/core-eu/capstan.yaml",
        "bank/core-eu/base/cluster.yaml",
        "bank/core-eu/base/control-plane.yaml",
        "bank/core-eu/base/kustomization.yaml",
        "bank/core-eu/base/workers.yaml",
        "bank/core-eu/overlay/kustomization.yaml",
        "shop/canary-eu/capstan.yaml",
        "shop/canary-eu/base/cluster.yaml",
        "shop/canary-eu/base/control-plane.yaml",
        "shop/canary-eu/base/workers.yaml",
        "shop/web-eu/capstan.yaml",
        "shop/web-eu/base/cluster.yaml",
        "shop/web-eu/base/control-plane.yaml",
        "shop/web-eu/base/workers.yaml",
        "shop/web-us/capstan.yaml",
        "shop/web-us/base/cluster.yaml",
        "shop/web-us/base/control-plane.yaml",
        "shop/web-us/base/workers.yaml",
    ];
    vec![("The fleet", own.into_iter().chain(files).collect())]
}

fn new_release() -> [Edit; 3] {
    example![
        "platform":
        "aws/v1.1.0/base/cluster.yaml",
        "aws/v1.1.0/base/control-plane.yaml",
        "aws/v1.1.0/base/workers.yaml",
    ]
}

/// Plays it once.
pub(super) struct WavesTour<'a> {
    pub(super) watch: Watch<'a>,
    pub(super) running: &'a Running,
    /// The address of Capstan's pages.
    pub(super) capstan: &'a str,
}

impl WavesTour<'_> {
    /// Returns who follows what is merged afterwards.
    pub(super) async fn play(&self) -> Result<PlayedReconciler, DemoFailure> {
        title("waves", "a campaign, stopped and resumed, and machines that roll")?;
        say(&format!("   {}", self.watch.page()))?;
        let mut reconciler = self.settle().await?;
        self.begin().await?;
        self.stop().await?;
        self.roll(&mut reconciler).await?;
        self.resume().await?;
        Ok(reconciler)
    }

    /// Before anything is offered, the reconciler says that all machines are as Git has them.
    async fn settle(&self) -> Result<PlayedReconciler, DemoFailure> {
        self.watch.until("Capstan looks at the repository for the first time", |_| Ok(true)).await?;
        let mut reconciler = PlayedReconciler::enrol(self.running, UID).await?;
        let created = Timestamp::now() - SignedDuration::from_hours(9 * 24);
        let rolling = reconciler.look(self.watch.forge, created).await?;
        expect(rolling.is_empty(), || format!("machines roll before anything is merged: {rolling:?}"))?;
        Ok(reconciler)
    }

    async fn begin(&self) -> Result<(), DemoFailure> {
        heading(1, &format!("{PLATFORM} pushes release {NEW}: the campaign begins with the canary alone"))?;
        let forge = self.watch.forge;
        forge
            .commit(REPOSITORY, "main", PLATFORM, &format!("Release {NEW}"), &new_release())
            .map_err(failed)?;
        self.watch
            .until("the canary's pull request, and the dashboard issue", |watch| {
                let pull = watch.pull_of(CANARY);
                Ok(pull.is_ok_and(|pull| watch.check(&pull).is_ok()) && watch.dashboard().is_ok())
            })
            .await?;
        let pulls = self.watch.open_pulls()?;
        expect(pulls.len() == 1, || {
            format!("{} pull requests are open, expected the canary's", pulls.len())
        })?;
        for pull in &pulls {
            say(&format!("   #{} {}\n      {}", pull.number, pull.title, pull.url))?;
        }
        self.show_campaign()
    }

    /// What the dashboard issue says of the campaign.
    fn show_campaign(&self) -> Result<(), DemoFailure> {
        let issue = self.watch.dashboard()?;
        let told = section(&issue.body, "Campaigns");
        let lines: Vec<String> = told.lines().map(plain).filter(|line| !line.is_empty()).collect();
        expect(!lines.is_empty(), || format!("the dashboard names no campaign: {}", issue.body))?;
        say(&format!("   The dashboard issue says ({}/issues/{}):", self.watch.page(), issue.number))?;
        say(&indented_lines(&lines.join("\n")))
    }

    async fn stop(&self) -> Result<(), DemoFailure> {
        let command = "/capstan campaign stop the audit is not over";
        heading(2, &format!("{PLATFORM} comments on the dashboard issue: {command}"))?;
        let number = self.watch.dashboard()?.number;
        self.watch.forge.comment(REPOSITORY, number, PLATFORM, command).map_err(failed)?;
        self.watch
            .until("a campaign that is stopped", |watch| {
                Ok(watch.answer(number)?.is_some() && watch.dashboard()?.body.contains("campaign resume"))
            })
            .await?;
        let answer = self.watch.answer(number)?.ok_or_else(|| missing("the answer is gone again"))?;
        say("   Capstan answers:")?;
        say(&indented(&plain(&answer), 6))
    }

    async fn roll(&self, reconciler: &mut PlayedReconciler) -> Result<(), DemoFailure> {
        let forge = self.watch.forge;
        let pull = self.watch.pull_of(CANARY)?;
        let number = pull.number;
        heading(
            3,
            &format!(
                "{PLATFORM} merges #{number}; a reconciler, which is played here, replaces the machines"
            ),
        )?;
        forge.merge_pull(REPOSITORY, number, PLATFORM, MergeMethod::Merge).map_err(failed)?;
        self.watch
            .until("the check of the rollout", |watch| Ok(watch.check_named(ROLLOUT, &pull).is_ok()))
            .await?;
        let rolling = reconciler.look(forge, Timestamp::now()).await?;
        expect(rolling == [CANARY], || format!("the machines of {rolling:?} roll, expected the canary's"))?;
        for (replaced, said) in [(2, "2 of 4"), (2, "success")] {
            reconciler.replace(CANARY, replaced).await?;
            self.watch
                .until("news of the rollout", |watch| {
                    let check = watch.check_named(ROLLOUT, &pull)?;
                    Ok(check.title.contains(said) || check.conclusion.as_deref() == Some(said))
                })
                .await?;
            let check = self.watch.check_named(ROLLOUT, &pull)?;
            let verdict = check.conclusion.as_deref().unwrap_or(&check.status);
            say(&format!("   check {ROLLOUT} {verdict}: {}", plain(&check.title)))?;
        }
        say(&format!("   {}", pull.url))?;
        let open = self.watch.open_pulls()?.len();
        expect(open == 0, || format!("{open} pull requests are open although the campaign is stopped"))?;
        say("   The campaign is stopped, so nothing follows yet.")
    }

    async fn resume(&self) -> Result<(), DemoFailure> {
        heading(4, &format!("{PLATFORM} ticks the box `campaign resume` on the dashboard issue"))?;
        let issue = self.watch.dashboard()?;
        let line = issue.body.lines().find(|line| line.contains("campaign resume") && line.contains("- [ ]"));
        let line = line.ok_or_else(|| missing("the dashboard has no such box"))?;
        let ticked = issue.body.replacen(line, &line.replacen("[ ]", "[x]", 1), 1);
        self.watch.forge.edit_body(REPOSITORY, issue.number, PLATFORM, &ticked).map_err(failed)?;
        self.watch
            .until("the pull requests of the second wave", |watch| {
                Ok(EUROPE.iter().all(|cluster| watch.pull_of(cluster).is_ok()))
            })
            .await?;
        for cluster in EUROPE {
            let pull = self.watch.pull_of(cluster)?;
            say(&format!("   #{} {}", pull.number, pull.title))?;
        }
        let open = self.watch.open_pulls()?.len();
        expect(open == EUROPE.len(), || {
            format!("{open} pull requests are open, expected the second wave's")
        })?;
        let mut numbers: Vec<u64> =
            self.watch.forge.pulls(REPOSITORY).map_err(failed)?.iter().map(|pull| pull.number).collect();
        numbers.push(self.watch.dashboard()?.number);
        numbers.sort_unstable();
        expect(numbers == NUMBERS, || format!("the README names {NUMBERS:?}, and there are {numbers:?}"))?;
        self.show_campaign()?;
        say(&format!(
            "   The campaign has a page of its own: {}/campaigns/{REPOSITORY}/fleet\n   \
             Merge #3 and #4: their machines roll for some seconds, then the last wave begins.",
            self.capstan
        ))
    }
}
