//! A reconciler that has no management cluster: it enrols as a real one does, accepts what it is asked before a merge, and
//! says that machines roll.

use std::sync::Arc;
use std::time::Duration;

use capstan_bot::agents::{Agents, Invitee, Questions, invite};
use capstan_plan::settings::ManagementClusterUid;
use capstan_ports::{Agent, SystemClock};
use capstan_serve::Running;
use jiff::Timestamp;
use serde_json::{Value, json};
use ulid::Ulid;

use super::REPOSITORY;
use crate::failure::{Failure, failed};

/// How many machines each cluster has.
pub(super) const MACHINES: u32 = 6;

pub(super) struct PlayedReconciler {
    agents: Arc<Agents>,
    agent: Agent,
}

impl PlayedReconciler {
    pub(super) async fn enrol(running: &Running, uid: &str) -> Result<Self, Failure> {
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
        Ok(Self { agents, agent })
    }

    /// Says how far the machines of a cluster are at a commit.
    pub(super) async fn report(
        &self,
        cluster: &str,
        commit: &str,
        state: &str,
        ready: u32,
    ) -> Result<(), Failure> {
        let name = cluster.rsplit('/').next().unwrap_or(cluster);
        let machine = |at: u32| {
            let owner = match at {
                0..3 => format!("KubeadmControlPlane {name}"),
                _ => format!("MachineDeployment {name}-md-0"),
            };
            let (state, age) = if at < ready { ("Running", "new") } else { ("Running", "old") };
            json!({"name": format!("{name}-{at}"), "owner": owner, "state": state, "age": age})
        };
        let machines: Vec<Value> = (0..MACHINES).map(machine).collect();
        let report = read(json!({
            "id": Ulid::generate().to_string(),
            "repository": REPOSITORY,
            "cluster": cluster,
            "attempted": commit,
            "applied": commit,
            "state": state,
            "observed_at": Timestamp::now(),
            "wanted": MACHINES,
            "ready": ready,
            "machines": machines,
        }))?;
        let taken = self.agents.take_reports(&self.agent, vec![report]).await.map_err(failed)?;
        if taken.taken.is_empty() { Err(failed(format!("a report is refused: {taken:?}"))) } else { Ok(()) }
    }
}

/// Answers all preflights, until the demo ends.
async fn accept_all(agents: Arc<Agents>, agent: Agent) {
    const PAUSE: Duration = Duration::from_millis(100);
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

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(failed)
}
