//! The agent API: the real bot (server, database, worker, forge) and the real client, over HTTP on loopback.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how tests fail")]

mod answered_meanwhile;
mod archives;
mod away;
mod command;
mod enrolment;
mod kubeconfigs;
mod names;
mod preflights;
mod raw;
mod rollouts;
mod standing;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use capstan_agent_client::{AgentClient, AgentOptions};
use capstan_live::agent::wire::ManagementClusterIdentity;
use capstan_live::agent::{Machine, MachineAge, ReportId, RolloutReport, RolloutState, Words};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, RepoPath};
use capstan_plan::settings::{ManagementClusterUid, RepositoryName};

use crate::running::town::{REPOSITORY, Town};

pub(super) const EU: &str = "6f1c2d3e-0000-4000-8000-000000000001";
pub(super) const US: &str = "6f1c2d3e-0000-4000-8000-000000000002";
pub(super) const SETTINGS: &str = "\
mode: propose
managementClusters:
- {name: mc-eu, uid: 6f1c2d3e-0000-4000-8000-000000000001, clusters: [\"gauss/*\", \"both/*\"]}
- {name: mc-us, uid: 6f1c2d3e-0000-4000-8000-000000000002, clusters: [\"euler/*\", \"both/*\"]}
dashboard: {enabled: false}
";

pub(super) fn identity(uid: &str) -> ManagementClusterIdentity {
    ManagementClusterIdentity { uid: ManagementClusterUid::parse(uid).unwrap(), name: Words::new("mc") }
}

/// A client of the town's bot that keeps its state in that folder.
pub(super) fn client(town: &Town, uid: &str, state: &Path, code: Option<&str>) -> Arc<AgentClient> {
    let options = AgentOptions {
        url: town.bot_url().parse().unwrap(),
        repository: RepositoryName::parse(REPOSITORY).unwrap(),
        state_dir: state.to_path_buf(),
        management_cluster: identity(uid),
        join_code: code.map(Into::into),
        key: None,
    };
    AgentClient::open(options).unwrap()
}

/// A client that has enrolled.
pub(super) async fn enrolled(town: &Town, uid: &str, state: &Path) -> Arc<AgentClient> {
    let code = town.invite(uid).await;
    let client = client(town, uid, state, Some(&code));
    client.work(None, Duration::ZERO).await.unwrap();
    client
}

pub(super) fn cluster(id: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(id).unwrap())
}

pub(super) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

pub(super) fn commit(id: &str) -> CommitId {
    CommitId::parse(id).unwrap()
}

/// A report with two machines; the client gives it its id and repository.
pub(super) fn report(id: &str, at: &CommitId, state: RolloutState, ready: u32) -> RolloutReport {
    let machine = |name: &str, phase: &str, age| Machine {
        name: Words::new(name),
        owner: Words::new("MachinePool peu01-mp-0"),
        state: Words::new(phase),
        age,
        created_at: None,
    };
    RolloutReport {
        id: ReportId::parse(&"0".repeat(26)).unwrap(),
        repository: RepositoryName::parse("nobody/knows").unwrap(),
        cluster: cluster(id),
        attempted: at.clone(),
        applied: Some(at.clone()),
        state,
        observed_at: jiff::Timestamp::now(),
        since: None,
        words: (state == RolloutState::Stuck).then(|| Words::new("no IP addresses left")),
        reasons: vec![],
        wanted: 2,
        ready,
        machines: vec![
            machine("peu01-mp-0-new", "Running", MachineAge::New),
            machine("peu01-mp-0-old", "Deleting", MachineAge::Old),
        ],
        machines_left_out: 0,
        kubeconfig: None,
        names: vec![],
    }
}

/// Until the bot has taken all reports.
pub(super) async fn delivered(client: &Arc<AgentClient>) {
    for _ in 0..400 {
        if client.waiting_reports() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} reports are never taken", client.waiting_reports());
}

/// The town on each engine.
pub(super) async fn each_engine(clusters: &'static [&'static str], test: impl AsyncFn(Town, String)) {
    crate::database::each_engine(async |bench| {
        let url = bench.url.clone();
        test(Town::on(SETTINGS, clusters, Some(&url)).await, url).await;
    })
    .await;
}
