//! The whole loop on one machine: a forge, the bot and the reconciler as processes, and a management cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capstan_forge::{CheckView, Edit, Forge, MergeMethod, NewPull, PullState, PullView};
use serde_json::Value;

use super::ground::Ground;
use super::prediction::Prediction;
use super::sample::Sample;
use super::setting::{self, Bot};
use super::waiting::{Look, holds, until};
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::tail;
use capstan_test_parts::plane::world::Machine;

pub(crate) const REPOSITORY: &str = "acme/fleet";

/// As long as something may take that machines take part in: a rollout of three is done in 50 s on an idle machine.
pub(crate) const LONG: Duration = Duration::from_secs(600);
/// As long as something may take that only programs take part in.
pub(crate) const SHORT: Duration = Duration::from_secs(240);

/// Everything that takes part.
pub(crate) struct Town<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) forge: Forge,
    pub(crate) bot: Bot,
    pub(crate) reconciler: Process,
    _folder: tempfile::TempDir,
}

impl<'a> Town<'a> {
    /// Starts bot and reconciler, with these clusters on the default branch from the start, and room for those that
    /// come by a merge.
    pub(crate) fn start(ground: &'a Ground, clusters: &[Sample], expected: &[Sample]) -> Self {
        let plane = &ground.plane;
        let forge = setting::forge();
        let folder = tempfile::tempdir().unwrap();
        let bot = Bot::new(&forge, folder.path());
        clusters.iter().chain(expected).for_each(|cluster| setting::prepare_namespace(plane, cluster));
        let reconciler = reconciler::process(plane, folder.path());
        let town = Self { ground, forge, bot, reconciler, _folder: folder };

        let uid = plane.uid();
        let mut edits = vec![Edit::write(".capstan.yaml", setting::settings(&uid))];
        edits.extend(clusters.iter().flat_map(Sample::folder));
        let mut providers = BTreeSet::new();
        for cluster in clusters.iter().chain(expected) {
            if providers.insert(&cluster.provider) {
                edits.extend(cluster.release("v1.0.0"));
            }
        }
        town.push("main", "The fleet", &edits);
        town.bot.process.start();
        until("the bot answers", SHORT, || town.bot.answers());
        let code = town.bot.invite(&uid);
        plane.apply(&setting::fleet(&town.bot.url, &code));
        town.reconciler.start();
        // Proposals are tried on the live cluster from here on.
        until("the reconciler follows the bot", SHORT, || {
            let fleet = ground.world.object("Fleet", HOME, "fleet").ok_or("there is no Fleet")?;
            holds(fleet["status"]["commit"].is_string(), || fleet["status"].to_string())
        });
        town
    }

    // Git.

    /// A commit of the platform team's.
    pub(crate) fn push(&self, branch: &str, message: &str, edits: &[Edit]) -> String {
        self.forge.commit(REPOSITORY, branch, "ada", message, edits).unwrap()
    }

    /// A pull request by a person; its number.
    pub(crate) fn propose(&self, title: &str, edits: &[Edit]) -> u64 {
        let branch = title.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "-");
        self.push(&branch, title, edits);
        let new =
            NewPull { title: title.to_owned(), head: branch, base: "main".to_owned(), ..NewPull::default() };
        self.forge.open_pull(REPOSITORY, "ada", new).unwrap()
    }

    /// The open proposal of the bot's for a cluster, to a release.
    pub(crate) fn proposal(&self, cluster: &Sample, release: &str) -> PullView {
        let branch = format!("capstan/upgrade/{}", cluster.id());
        let title = format!(" to {}/{release}", cluster.provider);
        until(&format!("a proposal of {} {title}", cluster.id()), SHORT, || {
            let pulls = self.forge.pulls(REPOSITORY).map_err(|error| error.to_string())?;
            let mut open = pulls.into_iter().filter(|pull| pull.state == PullState::Open);
            open.find(|pull| pull.head_branch == branch && pull.title.ends_with(&title))
                .ok_or_else(|| "there is none".to_owned())
        })
    }

    pub(crate) fn pull(&self, number: u64) -> PullView {
        self.forge.pull(REPOSITORY, number).unwrap()
    }

    /// Merges; the commit on the default branch.
    pub(crate) fn merge(&self, number: u64) -> String {
        self.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap()
    }

    /// The latest check of a name on a pull request's head.
    pub(crate) fn check(&self, number: u64, name: &str) -> Look<CheckView> {
        let head = self.pull(number).head;
        let checks = self.forge.checks(REPOSITORY, &head).map_err(|error| error.to_string())?;
        let of_name = checks.into_iter().filter(|check| check.name == name);
        of_name.max_by_key(|check| check.id).ok_or_else(|| format!("#{number} has no check {name}"))
    }

    /// Waits until a check has concluded so.
    pub(crate) fn wait_for_check(
        &self,
        number: u64,
        name: &str,
        conclusion: &str,
        patience: Duration,
    ) -> CheckView {
        until(&format!("check {name} of #{number}: {conclusion}"), patience, || {
            self.all_is_well()?;
            let check = self.check(number, name)?;
            let found = check.conclusion.clone().unwrap_or_else(|| check.status.clone());
            holds(found == conclusion, || format!("it is {found}: {}\n{}", check.title, check.summary))?;
            Ok(check)
        })
    }

    /// What a pull request says will be replaced: its body where it is a proposal, else its check.
    pub(crate) fn prediction(&self, number: u64) -> Prediction {
        let pull = self.pull(number);
        let check = self.check(number, "capstan").map(|check| check.summary + &check.text);
        let text = if pull.author == self.forge.bot_login() { pull.body } else { check.unwrap_or_default() };
        Prediction::read(&text)
    }

    // Machines.

    /// The machines of a cluster as they are now.
    pub(crate) fn machines(&self, cluster: &Sample) -> Vec<Machine> {
        self.ground.machines(cluster)
    }

    /// Waits until a cluster runs at this version, and Capstan says that it is done with this commit.
    pub(crate) fn wait_until_done(&self, cluster: &Sample, version: &str, commit: &str) -> Vec<Machine> {
        until(&format!("{} done at {version}", cluster.id()), LONG, || {
            self.all_is_well()?;
            let status = self.managed(cluster)?["status"].clone();
            let machines =
                self.ground.running(cluster, version).map_err(|why| format!("{why}; {}", brief(&status)))?;
            holds(status["phase"] == "Done" && condition(&status, "Ready") == "True", || brief(&status))?;
            // Others merge too: a newer commit with the same folder will do.
            let applied = status["appliedCommit"].as_str().unwrap_or_default();
            holds(self.folder(cluster, applied) == self.folder(cluster, commit), || {
                format!("applied is {applied}, wanted {commit}")
            })?;
            Ok(machines)
        })
    }

    /// The files of a cluster at a commit.
    fn folder(&self, cluster: &Sample, commit: &str) -> Vec<Option<String>> {
        let files = ["capstan.yaml", "base/cluster.yaml", "base/control-plane.yaml", "base/workers.yaml"];
        let read = |file: &&str| {
            self.forge.file(REPOSITORY, commit, &format!("{}/{file}", cluster.id())).ok().flatten()
        };
        files.iter().map(read).collect()
    }

    /// The same for a cluster that was there from the start, of which any commit since then will do.
    pub(crate) fn wait_until_done_at_first(&self, cluster: &Sample) -> Vec<Machine> {
        until(&format!("{} done at first", cluster.id()), LONG, || {
            self.all_is_well()?;
            let status = self.managed(cluster)?["status"].clone();
            let machines = self.ground.running(cluster, &cluster.kubernetes);
            let machines = machines.map_err(|why| format!("{why}; {}", brief(&status)))?;
            holds(status["phase"] == "Done" && condition(&status, "Ready") == "True", || brief(&status))?;
            Ok(machines)
        })
    }

    /// The ManagedCluster of a cluster.
    pub(crate) fn managed(&self, cluster: &Sample) -> Look<Value> {
        let all = self.ground.world.objects("ManagedCluster", HOME);
        all.into_iter()
            .find(|managed| managed["spec"]["cluster"] == cluster.id())
            .ok_or_else(|| format!("no ManagedCluster of {}", cluster.id()))
    }

    /// Waits until Capstan refuses a cluster for a reason whose words contain these.
    pub(crate) fn wait_until_refused(&self, cluster: &Sample, words: &str) -> String {
        until(&format!("{} refused: {words}", cluster.id()), SHORT, || {
            self.all_is_well()?;
            let status = self.managed(cluster)?["status"].clone();
            holds(condition(&status, "Refused") == "True", || brief(&status))?;
            let said = status["refused"].to_string() + &status["conditions"].to_string();
            holds(said.contains(words), || said.clone())?;
            Ok(said)
        })
    }

    /// Merges a pull request, waits until its rollout is done, and holds its prediction against what happened.
    pub(crate) fn merge_and_compare(
        &self,
        what: &str,
        cluster: &Sample,
        number: u64,
        version: &str,
    ) -> Vec<Machine> {
        let prediction = self.prediction(number);
        let before = self.machines(cluster);
        let commit = self.merge(number);
        let after = self.wait_until_done(cluster, version, &commit);
        self.ground.judge(what, &prediction, &before, &after);
        after
    }

    /// Fails with its log where a program ended that nobody killed.
    fn all_is_well(&self) -> Look<()> {
        for process in [&self.bot.process, &self.reconciler] {
            if let Err(why) = process.is_well() {
                panic!("{why}\n{}", tail(&process.log(), 30));
            }
        }
        Ok(())
    }

    /// What the programs said last, for a scenario that failed.
    pub(crate) fn logs(&self) -> String {
        let mut text = String::new();
        for (name, log) in [("serve", self.bot.process.log()), ("reconcile", self.reconciler.log())] {
            text.push_str(&format!("--- the end of what capstan {name} logged\n{}\n", tail(&log, 40)));
        }
        text
    }
}

/// The state of a condition of a status; empty where it is not there.
pub(crate) fn condition<'a>(status: &'a Value, kind: &str) -> &'a str {
    let all = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let found = all.iter().find(|condition| condition["type"] == kind);
    found.and_then(|condition| condition["status"].as_str()).unwrap_or_default()
}

/// A status in a line.
pub(crate) fn brief(status: &Value) -> String {
    let all = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let conditions: BTreeMap<&str, String> = all
        .iter()
        .map(|condition| {
            let text = |key: &str| condition[key].as_str().unwrap_or_default();
            (text("type"), format!("{} {} {}", text("status"), text("reason"), text("message")))
        })
        .collect();
    format!("phase {}, {conditions:?}, rollout {}", status["phase"], status["rollout"])
}
