//! A reconciler that has no management cluster: it enrols as a real one does, accepts what it is asked before a merge, and
//! reports that machines roll, after every merge.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capstan_bot::agents::{Agents, Invitee, Questions, invite};
use capstan_forge::Forge;
use capstan_plan::settings::ManagementClusterUid;
use capstan_ports::{Agent, AgentRecords, SystemClock};
use capstan_serve::Running;
use jiff::Timestamp;
use serde_json::{Value, json};
use ulid::Ulid;

use super::REPOSITORY;
use super::machines::Machines;
use crate::failure::{DemoFailure, failed};

/// How long a machine takes that is replaced after the story, so that a person sees it on the page.
const STEP: Duration = Duration::from_millis(700);
const PAUSE: Duration = Duration::from_millis(100);

/// The files of each cluster's base, by the cluster's id.
type Bases = BTreeMap<String, BTreeMap<String, Vec<u8>>>;

pub(crate) struct PlayedReconciler {
    agents: Arc<Agents>,
    records: Arc<dyn AgentRecords>,
    agent: Agent,
    /// The newest commit, and the bases of the clusters in it.
    tip: String,
    bases: Bases,
    machines: BTreeMap<String, Machines>,
}

impl PlayedReconciler {
    pub(super) async fn enrol(running: &Running, uid: &str) -> Result<Self, DemoFailure> {
        let agents = running.agents().ok_or_else(|| failed("the demo is not a dry run"))?;
        let records = running.agent_records();
        let uid = ManagementClusterUid::parse(uid).map_err(failed)?;
        let invitee = Invitee { management_cluster: uid.clone(), name: None, invited_by: "demo".to_owned() };
        let invited = invite(records.as_ref(), &SystemClock, invitee).await.map_err(failed)?;
        let agent = Agent {
            id: read(json!(Ulid::generate().to_string()))?,
            management_cluster: uid,
            name: "mc-eu".to_owned(),
            // It signs nothing: what it says does not come over HTTP.
            public_key: read(json!("A".repeat(43)))?,
            invited_by: "demo".to_owned(),
            enrolled_at: Timestamp::now(),
            seen_at: None,
            revoked_at: None,
        };
        records.enrol(&invited.code.hash(), &agent).await.map_err(failed)?;
        tokio::spawn(accept_all(Arc::clone(&agents), agent.clone()));
        let (tip, bases, machines) = (String::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { agents, records, agent, tip, bases, machines })
    }

    /// Looks at the newest commit that the bot knows. Returns the clusters whose machines it makes old; of others that changed it reports that
    /// they are done. Machines that are there for the first time were created at that time.
    pub(super) async fn look(
        &mut self,
        forge: &Forge,
        created: Timestamp,
    ) -> Result<Vec<String>, DemoFailure> {
        let asked = self.agents.work(&self.agent, REPOSITORY, None, Duration::ZERO, Questions::Keep).await;
        let tip = asked.map_err(failed)?.commit.map(|tip| tip.as_str().to_owned()).unwrap_or_default();
        if tip == self.tip {
            return Ok(Vec::new());
        }
        let before = std::mem::replace(&mut self.bases, bases(forge, &tip)?);
        self.tip = tip;
        let mut rolling = Vec::new();
        for (cluster, base) in &self.bases {
            if before.get(cluster) == Some(base) {
                continue;
            }
            match Machines::read(base, created) {
                Ok(wanted) => match self.machines.get_mut(cluster) {
                    Some(had) => had.follow(wanted),
                    None => {
                        self.machines.insert(cluster.clone(), wanted);
                    }
                },
                Err(_) => {
                    self.report(cluster, "refused").await?;
                    continue;
                }
            }
            if self.is_done(cluster) {
                self.report(cluster, "done").await?;
            } else {
                rolling.push(cluster.clone());
            }
        }
        Ok(rolling)
    }

    fn is_done(&self, cluster: &str) -> bool {
        self.machines.get(cluster).is_none_or(Machines::are_new)
    }

    /// Replaces `count` of the old machines, and reports how far the cluster is.
    pub(super) async fn replace(&mut self, cluster: &str, count: usize) -> Result<(), DemoFailure> {
        if let Some(machines) = self.machines.get_mut(cluster) {
            machines.replace(count, Timestamp::now());
        }
        self.report(cluster, if self.is_done(cluster) { "done" } else { "rolling" }).await
    }

    /// Reports the machines of a cluster at the newest commit.
    async fn report(&self, cluster: &str, state: &str) -> Result<(), DemoFailure> {
        let machines = self.machines.get(cluster);
        let report = read(json!({
            "id": Ulid::generate().to_string(),
            "repository": REPOSITORY,
            "cluster": cluster,
            "attempted": self.tip,
            "applied": self.tip,
            "state": state,
            "observed_at": Timestamp::now(),
            "wanted": machines.map_or(0, Machines::count),
            "ready": machines.map_or(0, Machines::new_ones),
            "machines": machines.map(Machines::reported).unwrap_or_default(),
        }))?;
        self.records.saw_agent(&self.agent.id).await.map_err(failed)?;
        let taken = self.agents.take_reports(&self.agent, vec![report]).await.map_err(failed)?;
        if taken.taken.is_empty() { Err(failed(format!("a report is refused: {taken:?}"))) } else { Ok(()) }
    }

    /// Follows the default branch: the machines of every merge roll, one after the other. Ends with the demo.
    pub(crate) async fn follow(mut self, forge: &Forge) {
        loop {
            tokio::time::sleep(PAUSE).await;
            // A user of the demo may push settings under which it may not report: the demo continues.
            if let Err(why) = self.follow_once(forge).await {
                tracing::warn!("the played reconciler: {why}");
            }
        }
    }

    async fn follow_once(&mut self, forge: &Forge) -> Result<(), DemoFailure> {
        let mut rolling = self.look(forge, Timestamp::now()).await?;
        while !rolling.is_empty() {
            for cluster in &rolling {
                self.replace(cluster, 0).await?;
            }
            tokio::time::sleep(STEP).await;
            for cluster in &rolling {
                self.replace(cluster, 1).await?;
            }
            rolling.retain(|cluster| !self.is_done(cluster));
        }
        Ok(())
    }
}

/// The files of each cluster's base at a commit. A cluster is a folder that records a release.
fn bases(forge: &Forge, commit: &str) -> Result<Bases, DemoFailure> {
    let files = forge.files(REPOSITORY, commit).map_err(failed)?;
    let mut bases: Bases = BTreeMap::new();
    for (path, text) in &files {
        if let Some((cluster, _)) = path.split_once("/base/")
            && files.contains_key(&format!("{cluster}/capstan.yaml"))
        {
            bases.entry(cluster.to_owned()).or_default().insert(path.clone(), text.clone());
        }
    }
    Ok(bases)
}

/// Answers all preflights, until the demo ends.
async fn accept_all(agents: Arc<Agents>, agent: Agent) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let asked = agents.work(&agent, REPOSITORY, None, Duration::ZERO, Questions::Give).await;
        for question in asked.map(|asked| asked.preflights).unwrap_or_default() {
            let accepted = |cluster: &_| json!({"cluster": cluster, "verdict": "accepted"});
            let clusters: Vec<Value> = question.clusters.iter().map(accepted).collect();
            let Ok(answer) = read(json!({"clusters": clusters})) else { continue };
            if let Err(denied) = agents.answer_preflight(&agent, &question.id, answer).await {
                tracing::warn!("a preflight of the demo has no answer: {denied}");
            }
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, DemoFailure> {
    serde_json::from_value(value).map_err(failed)
}
