//! What the demo does and tells, step by step. Each step waits for the bot and checks what it tells:
//! a demo that goes wrong says so and fails.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use capstan_forge::{CheckView, Forge, MergeMethod, NewPull, PullState, PullView};
use capstan_report::ProposalState;

use super::failure::{Failure, failed};
use super::sample::{
    self, AHEAD, BROKEN, CANARY, CONFLICTING, CUSTOMER, HELD, NEW, NEWS, OFFERED, PINNED, PLATFORM,
    REPOSITORY,
};
use super::text::{cells, hunks, indented, plain, row, section};
use super::watch::Watch;

/// Tells the story once.
pub(super) struct Story<'a> {
    pub(super) watch: Watch<'a>,
    pub(super) fleet_page: String,
    /// A file for git, with the token of the one who pushes.
    pub(super) credentials: &'a std::path::Path,
}

impl Story<'_> {
    pub(super) async fn tell(&self) -> Result<(), Failure> {
        self.introduce().await?;
        let pulls = self.push_release().await?;
        self.show_diff(&pulls)?;
        self.show_conflict(&pulls)?;
        self.show_refusals().await?;
        self.judge_a_persons_change().await?;
        self.ask(&pulls).await?;
        self.merge(&pulls).await
    }

    async fn introduce(&self) -> Result<(), Failure> {
        self.watch.until("Capstan looks at the repository for the first time", |_| Ok(true)).await?;
        say(&format!(
            "Capstan demo\n\n\
             A stand-in for GitHub serves {0}\n\
             It holds {1} clusters of three customers (gauss, euler, noether) on AWS and OpenStack, and the\n\
             releases that the platform team offers them. Capstan runs beside it, installed as a GitHub App.\n\
             Nothing leaves this machine.",
            self.page(),
            sample::cluster_count(),
        ))
    }

    async fn push_release(&self) -> Result<Vec<PullView>, Failure> {
        heading("1", &format!("{PLATFORM} of the platform team pushes release {NEW}"))?;
        say(&format!("   {NEWS}"))?;
        let forge = self.watch.forge;
        forge
            .commit(REPOSITORY, "main", PLATFORM, &format!("Release {NEW}"), &sample::new_release())
            .map_err(failed)?;
        let took = self
            .watch
            .until("a pull request for each cluster that the release concerns, with its check", |forge| {
                let pulls = open_pulls(forge)?;
                Ok(OFFERED
                    .iter()
                    .all(|cluster| of(&pulls, cluster).is_ok_and(|pull| check(forge, pull).is_ok())))
            })
            .await?;
        let pulls = open_pulls(forge)?;
        heading(
            "2",
            &format!("{:.1} s later Capstan has opened {} pull requests", took.as_secs_f64(), pulls.len()),
        )?;
        for pull in &pulls {
            let check = check(forge, pull)?;
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
        })?;
        Ok(pulls)
    }

    fn show_diff(&self, pulls: &[PullView]) -> Result<(), Failure> {
        let pull = of(pulls, CANARY)?;
        heading("3", &format!("What #{} writes, in part", pull.number))?;
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

    fn show_conflict(&self, pulls: &[PullView]) -> Result<(), Failure> {
        let pull = of(pulls, CONFLICTING)?;
        heading("4", &format!("A conflict in {CONFLICTING}, and what was kept"))?;
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
            "   {object}\n   {field}\n      the old release said  {old}\n      {CUSTOMER} has set          {cluster}\n      \
             the new one says      {new}\n      settled: {settled}\n      {}",
            pull.url
        ))
    }

    async fn show_refusals(&self) -> Result<(), Failure> {
        heading("5", "The other clusters got no pull request; Capstan's words why")?;
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
        let others: Vec<&str> = sample::of_other_provider().collect();
        say(&format!("   {}\n      run on OpenStack: the release is not theirs", others.join(", ")))?;
        say(&format!("   All of this is on Capstan's own page: {}", self.fleet_page))
    }

    async fn judge_a_persons_change(&self) -> Result<(), Failure> {
        let forge = self.watch.forge;
        let title = "Bigger disks for the workers";
        heading("6", &format!("{CUSTOMER} of customer gauss opens a pull request: {title}"))?;
        let open = || {
            forge.commit(REPOSITORY, "bigger-disks", CUSTOMER, title, &[sample::edited_template()])?;
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
            .until("a check on the pull request of a person", |forge| {
                let pull = forge.pull(REPOSITORY, number).map_err(failed)?;
                Ok(check(forge, &pull).is_ok_and(|check| check.conclusion.is_some()))
            })
            .await?;
        let pull = forge.pull(REPOSITORY, number).map_err(failed)?;
        let check = check(forge, &pull)?;
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

    async fn ask(&self, pulls: &[PullView]) -> Result<(), Failure> {
        let pull = of(pulls, CONFLICTING)?;
        let command = "/capstan help";
        heading("7", &format!("{PLATFORM} comments on #{}: {command}", pull.number))?;
        let number = pull.number;
        self.watch.forge.comment(REPOSITORY, number, PLATFORM, command).map_err(failed)?;
        self.watch.until("an answer to the command", |forge| Ok(answer(forge, number)?.is_some())).await?;
        let answer = answer(self.watch.forge, number)?.ok_or_else(|| missing("the answer is gone again"))?;
        expect(answer.contains("replan"), || format!("the answer does not list the commands: {answer}"))?;
        say("   Capstan answers:")?;
        for line in answer.lines().filter(|line| line.starts_with("| `")) {
            if let [command, meaning, ..] = cells(line).as_slice() {
                say(&format!("      {command}\n{}", indented(meaning, 10)))?;
            }
        }
        Ok(())
    }

    async fn merge(&self, pulls: &[PullView]) -> Result<(), Failure> {
        let pull = of(pulls, CANARY)?;
        let number = pull.number;
        heading("8", &format!("{PLATFORM} merges #{number}"))?;
        let forge = self.watch.forge;
        forge.merge_pull(REPOSITORY, number, PLATFORM, MergeMethod::Merge).map_err(failed)?;
        self.watch
            .until("nothing further for the merged cluster", |forge| {
                let merged = forge.pull(REPOSITORY, number).map_err(failed)?.state == PullState::Merged;
                let again = open_pulls(forge)?.iter().any(|pull| of_cluster(pull, CANARY));
                Ok(merged && !again)
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

    /// What can be done while the demo goes on.
    pub(super) fn invite(&self) -> Result<(), Failure> {
        let forge = self.watch.forge;
        let token = forge.token_for(PLATFORM).map_err(failed)?;
        let address = forge.url().trim_start_matches("http://");
        // In a file that only its owner reads: a token in an address would stand in shell histories.
        std::fs::write(self.credentials, format!("http://{PLATFORM}:{token}@{address}\n")).map_err(failed)?;
        heading("9", "Now you: all of this continues until Ctrl-C")?;
        say(&format!(
            "   Look at pull requests, merge one, comment /capstan plan:\n      {}\n   \
             The fleet as Capstan sees it:\n      {}\n   \
             Push something of your own:\n      git clone -c credential.helper='store --file {}' http://{PLATFORM}@{address}/{REPOSITORY}.git\n",
            self.page(),
            self.fleet_page,
            self.credentials.display()
        ))
    }

    fn page(&self) -> String {
        format!("{}/{REPOSITORY}", self.watch.forge.url())
    }
}

fn open_pulls(forge: &Forge) -> Result<Vec<PullView>, Failure> {
    let pulls = forge.pulls(REPOSITORY).map_err(failed)?;
    Ok(pulls.into_iter().filter(|pull| pull.state == PullState::Open).collect())
}

fn of_cluster(pull: &PullView, cluster: &str) -> bool {
    pull.head_branch == format!("capstan/upgrade/{cluster}")
}

fn of<'a>(pulls: &'a [PullView], cluster: &str) -> Result<&'a PullView, Failure> {
    let found = pulls.iter().find(|pull| of_cluster(pull, cluster));
    found.ok_or_else(|| missing(&format!("{cluster} has no pull request")))
}

fn check(forge: &Forge, pull: &PullView) -> Result<CheckView, Failure> {
    let checks = forge.checks(REPOSITORY, &pull.head).map_err(failed)?;
    let found = checks.into_iter().find(|check| check.name == "capstan");
    found.ok_or_else(|| missing(&format!("#{} has no check", pull.number)))
}

fn answer(forge: &Forge, number: u64) -> Result<Option<String>, Failure> {
    let bot = forge.bot_login();
    let comments = forge.comments(REPOSITORY, number).map_err(failed)?;
    Ok(comments.into_iter().rev().find(|comment| comment.author == bot).map(|comment| comment.body))
}

fn missing(what: &str) -> Failure {
    failed(format!("the demo failed: {what}"))
}

fn expect(so: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    if so { Ok(()) } else { Err(missing(&otherwise())) }
}

fn indented_lines(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("      {line}")).collect::<Vec<_>>().join("\n")
}

const BOLD: Style = Style::new().bold();

fn heading(number: &str, text: &str) -> Result<(), Failure> {
    say(&format!("\n{BOLD}{number}. {text}{BOLD:#}"))
}

fn say_diff(lines: &[String]) -> Result<(), Failure> {
    for line in lines {
        let style = match line.as_bytes().first() {
            Some(b'+') => AnsiColor::Green.on_default(),
            Some(b'-') => AnsiColor::Red.on_default(),
            Some(b'@') => AnsiColor::Cyan.on_default(),
            _ => Style::new(),
        };
        say(&format!("      {style}{line}{style:#}"))?;
    }
    Ok(())
}

/// Prints; colours are dropped where standard output is no terminal.
pub(super) fn say(text: &(impl Display + ?Sized)) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match writeln!(out, "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
