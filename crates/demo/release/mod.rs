//! The tour `release`: a platform team pushes a release. Capstan opens pull requests, and says why some clusters get none.

mod sample;

use capstan_forge::{Edit, MergeMethod, NewPull, PullState};
use capstan_report::ProposalState;

use self::sample::{
    AHEAD, BROKEN, CANARY, CONFLICTING, HELD, NEW, NEWS, OFFERED, PINNED, cluster_count, edited_template,
    of_other_provider,
};
use super::failure::{DemoFailure, failed};
use super::tell::{heading, indented_lines, say, say_diff, title};
use super::text::{cells, hunks, indented, plain, row, section};
use super::watch::{Watch, expect, missing};
use super::{CUSTOMER, PLATFORM};

pub(super) const REPOSITORY: &str = "acme/clusters";

/// The numbers of the pull request with a conflict and of a person's, as the README names them.
const CONFLICT: u64 = 4;
const PERSONS: u64 = 5;

/// The commits that the repository begins with: a message, and the files. `capstan` is the address of Capstan's pages.
pub(super) fn begins_with(today: jiff::civil::Date, capstan: &str) -> Vec<(&'static str, Vec<Edit>)> {
    let hold_until = today.saturating_add(jiff::Span::new().days(30));
    vec![
        ("Releases, and how upgrades are proposed", sample::releases_and_settings(capstan)),
        ("The clusters", sample::clusters(hold_until)),
    ]
}

/// Plays it once.
pub(super) struct ReleaseTour<'a> {
    pub(super) watch: Watch<'a>,
    /// The address of Capstan's pages.
    pub(super) capstan: &'a str,
}

impl ReleaseTour<'_> {
    pub(super) async fn play(&self) -> Result<(), DemoFailure> {
        title("release", "a release becomes pull requests, or reasons")?;
        self.introduce().await?;
        self.push_release().await?;
        self.show_diff()?;
        self.show_conflict()?;
        self.show_refusals().await?;
        self.judge_a_persons_change().await?;
        self.ask().await?;
        self.merge().await
    }

    async fn introduce(&self) -> Result<(), DemoFailure> {
        self.watch.until("Capstan looks at the repository for the first time", |_| Ok(true)).await?;
        say(&format!(
            "   {0}\n   \
             It holds {1} clusters of three customers (gauss, euler, noether) on AWS and OpenStack, and the\n   \
             releases that the platform team offers them.",
            self.watch.page(),
            cluster_count(),
        ))
    }

    async fn push_release(&self) -> Result<(), DemoFailure> {
        heading(1, &format!("{PLATFORM} of the platform team pushes release {NEW}"))?;
        say(&format!("   {NEWS}"))?;
        let forge = self.watch.forge;
        forge
            .commit(REPOSITORY, "main", PLATFORM, &format!("Release {NEW}"), &sample::new_release())
            .map_err(failed)?;
        let took = self
            .watch
            .until("a pull request for each cluster that the release concerns, with its check", |watch| {
                let offered = OFFERED.iter().map(|cluster| watch.pull_of(cluster));
                Ok(offered.flatten().filter(|pull| watch.check(pull).is_ok()).count() == OFFERED.len())
            })
            .await?;
        let pulls = self.watch.open_pulls()?;
        heading(
            2,
            &format!("{:.1} s later Capstan has opened {} pull requests", took.as_secs_f64(), pulls.len()),
        )?;
        for pull in &pulls {
            let check = self.watch.check(pull)?;
            let replaced = row(&pull.body, "Will be replaced").unwrap_or_else(|| "nothing".to_owned());
            say(&format!(
                "   #{} {}\n      {}; replaced after the merge: {replaced}\n      check {}: {}\n      {}",
                pull.number,
                pull.title,
                row(&pull.body, "Changes").unwrap_or_default(),
                check.conclusion.as_deref().unwrap_or(&check.status),
                plain(&check.title),
                pull.url
            ))?;
        }
        expect(pulls.len() == OFFERED.len(), || {
            format!("{} pull requests are open, expected {}", pulls.len(), OFFERED.len())
        })
    }

    fn show_diff(&self) -> Result<(), DemoFailure> {
        let pull = self.watch.pull_of(CANARY)?;
        heading(3, &format!("What #{} writes, in part", pull.number))?;
        let diff = self.watch.forge.pull_diff(REPOSITORY, pull.number).map_err(failed)?;
        expect(diff.contains("+  version: v1.32.7"), || {
            "the diff does not raise the Kubernetes version".to_owned()
        })?;
        say_diff(&hunks(&diff, "control-plane.yaml", 24))?;
        say(&format!(
            "   Machine templates are immutable, so a new one takes each one's place and the reference follows.\n   \
             Comments and everything else stay as they were. All of it: {}",
            pull.url
        ))
    }

    fn show_conflict(&self) -> Result<(), DemoFailure> {
        let pull = self.watch.pull_of(CONFLICTING)?;
        expect(pull.number == CONFLICT, || {
            format!("the conflict is in #{}, and the README names #{CONFLICT}", pull.number)
        })?;
        heading(4, &format!("A conflict in {CONFLICTING}, and what was kept"))?;
        let conflicts = section(&pull.body, "Conflicts");
        let row = conflicts
            .lines()
            .map(cells)
            .find(|cells| cells.last().is_some_and(|settled| settled.contains("kept")))
            .ok_or_else(|| missing(&format!("#{} shows no conflict that was kept", pull.number)))?;
        let [object, field, old, cluster, new, settled] = row.as_slice() else {
            return Err(missing("the table of conflicts has other columns than the demo knows"));
        };
        say(&format!(
            "   {object}\n   {field}\n      old release  {old}\n      set by {CUSTOMER}  {cluster}\n      \
             new release  {new}\n      settled: {settled}\n      {}",
            pull.url
        ))
    }

    async fn show_refusals(&self) -> Result<(), DemoFailure> {
        heading(5, "The other clusters got no pull request; Capstan's words why")?;
        let clusters = self.watch.clusters().await?;
        let reason = |id: &str| {
            let found = clusters.iter().find(|cluster| cluster.target == id);
            found.ok_or_else(|| missing(&format!("Capstan says nothing of {id}")))
        };
        for (id, state, refused) in [
            (AHEAD, ProposalState::Blocked, "  REFUSED"),
            (BROKEN, ProposalState::Unplannable, "  REFUSED"),
            (HELD, ProposalState::Held, ""),
            (PINNED, ProposalState::Pinned, ""),
        ] {
            let (cluster, word) = (reason(id)?, state.as_str());
            expect(cluster.state == word, || {
                format!("{id} is {}, expected {word}: {}", cluster.state, cluster.reason)
            })?;
            say(&format!("   {id}{refused}\n{}", indented(&plain(&cluster.reason), 6)))?;
        }
        let others: Vec<&str> = of_other_provider().collect();
        say(&format!("   {}\n      run on OpenStack, and this release is for AWS", others.join(", ")))?;
        say(&format!("   All of this is on Capstan's own page: {}/", self.capstan))
    }

    async fn judge_a_persons_change(&self) -> Result<(), DemoFailure> {
        let forge = self.watch.forge;
        let title = "Bigger disks for the workers";
        heading(6, &format!("{CUSTOMER} of customer gauss opens a pull request: {title}"))?;
        let open = || {
            forge.commit(REPOSITORY, "bigger-disks", CUSTOMER, title, &[edited_template()])?;
            let body = "120 GiB are not enough for the image cache.";
            forge.open_pull(
                REPOSITORY,
                CUSTOMER,
                NewPull {
                    title: title.into(),
                    body: body.into(),
                    head: "bigger-disks".into(),
                    base: "main".into(),
                    draft: false,
                },
            )
        };
        let number = open().map_err(failed)?;
        self.watch
            .until("a check on the pull request of a person", |watch| {
                let pull = watch.forge.pull(REPOSITORY, number).map_err(failed)?;
                Ok(watch.check(&pull).is_ok_and(|check| check.conclusion.is_some()))
            })
            .await?;
        expect(number == PERSONS, || format!("it is #{number}, and the README names #{PERSONS}"))?;
        let pull = forge.pull(REPOSITORY, number).map_err(failed)?;
        let check = self.watch.check(&pull)?;
        let verdict = check.conclusion.clone().unwrap_or_default();
        say(&format!("   check {verdict}: {}", plain(&check.title)))?;
        for annotation in &check.annotations {
            let text = |field: &str| annotation[field].as_str().unwrap_or_default().to_owned();
            say(&format!("      {}, line {}", text("path"), annotation["start_line"]))?;
            say(&indented(&plain(&text("message")), 6))?;
        }
        say(&format!("   {}", pull.url))?;
        expect(verdict == "failure", || format!("the check says {verdict}, expected failure"))
    }

    async fn ask(&self) -> Result<(), DemoFailure> {
        let pull = self.watch.pull_of(CONFLICTING)?;
        let command = "/capstan help";
        heading(7, &format!("{PLATFORM} comments on #{}: {command}", pull.number))?;
        let number = pull.number;
        self.watch.forge.comment(REPOSITORY, number, PLATFORM, command).map_err(failed)?;
        self.watch.until("an answer to the command", |watch| Ok(watch.answer(number)?.is_some())).await?;
        let answer = self.watch.answer(number)?.ok_or_else(|| missing("the answer is gone again"))?;
        expect(answer.contains("replan"), || format!("the answer does not list the commands: {answer}"))?;
        say("   Capstan answers:")?;
        for line in answer.lines().filter(|line| line.starts_with("| `")) {
            if let [command, meaning, ..] = cells(line).as_slice() {
                say(&format!("      {command}\n{}", indented(meaning, 10)))?;
            }
        }
        Ok(())
    }

    async fn merge(&self) -> Result<(), DemoFailure> {
        let pull = self.watch.pull_of(CANARY)?;
        let number = pull.number;
        heading(8, &format!("{PLATFORM} merges #{number}"))?;
        let forge = self.watch.forge;
        forge.merge_pull(REPOSITORY, number, PLATFORM, MergeMethod::Merge).map_err(failed)?;
        self.watch
            .until("nothing further for the merged cluster", |watch| {
                let merged = watch.forge.pull(REPOSITORY, number).map_err(failed)?.state == PullState::Merged;
                Ok(merged && watch.pull_of(CANARY).is_err())
            })
            .await?;
        let file = format!("{CANARY}/capstan.yaml");
        let record = forge.file(REPOSITORY, "main", &file).map_err(failed)?.unwrap_or_default();
        expect(record.contains(&format!("release: {NEW}")), || {
            format!("{file} does not name {NEW}: {record}")
        })?;
        say(&format!("   {file} on main says now:"))?;
        say(&indented_lines(&record))?;
        say("   Nothing further is offered to it until the next release.")
    }
}
