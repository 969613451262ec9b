//! Conversations: reconcilers report the live names of templates, and predictions get exact with them.

use std::sync::Arc;
use std::time::Duration;

use capstan_agent_client::AgentClient;
use capstan_forge::Edit;
use capstan_live::agent::{ClusterAnswer, PreflightAnswer, PreflightVerdict, RolloutState};
use capstan_plan::templates::{LiveTemplate, SpecDigest};
use serde_json::{Value, json};

use super::{EU, SETTINGS, cluster, commit, delivered, enrolled, report};
use crate::running::town::{REPOSITORY, Town};

fn template(spec: &Value) -> Edit {
    Edit::write(
        "gauss/peu01/base/template.yaml",
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata:
  name: peu01-md
  namespace: my-org
spec: {spec}
"
        ),
    )
}

fn workers(version: &str) -> Edit {
    Edit::write(
        "gauss/peu01/base/workers.yaml",
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: peu01-md
  namespace: my-org
spec:
  clusterName: peu01
  replicas: 3
  template:
    spec:
      clusterName: peu01
      version: {version}
      bootstrap:
        dataSecretName: peu01-bootstrap
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: DockerMachineTemplate
        name: peu01-md
"
        ),
    )
}

fn image(name: &str) -> Value {
    json!({"template": {"spec": {"customImage": name}}})
}

fn live(spec: &Value, name: &str) -> LiveTemplate {
    LiveTemplate {
        group: "infrastructure.cluster.x-k8s.io".to_owned(),
        kind: "DockerMachineTemplate".to_owned(),
        namespace: Some("my-org".to_owned()),
        name: "peu01-md".to_owned(),
        live: name.to_owned(),
        spec: SpecDigest::of(spec),
    }
}

/// The live cluster takes the one head that it is asked about, with these names.
async fn takes(agent: &AgentClient, names: Vec<LiveTemplate>) {
    let work = agent.work(None, Duration::ZERO).await.unwrap();
    let [question] = work.preflights.as_slice() else { panic!("{work:?}") };
    let one = ClusterAnswer {
        cluster: cluster("gauss/peu01"),
        verdict: PreflightVerdict::Accepted,
        reasons: vec![],
        names,
    };
    agent.answer(&question.id, &PreflightAnswer { clusters: vec![one], duration_ms: 1 }).await.unwrap();
}

/// The town with a deployment, whose reconciler has applied it under the live name `peu01-md-x`.
async fn town_with_workers() -> (Town, Arc<AgentClient>, tempfile::TempDir) {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    town.push("main", &[workers("v1.21.4"), template(&image("a"))]);
    town.settle().await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let tip = commit(&town.forge.resolve(REPOSITORY, "main").unwrap().unwrap());
    let mut applied = report("gauss/peu01", &tip, RolloutState::Done, 2);
    applied.names = vec![live(&image("a"), "peu01-md-x")];
    agent.report(applied).await.unwrap();
    delivered(&agent).await;
    town.settle().await;
    (town, agent, state)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_live_cluster_was_asked_about_is_predicted_exactly() {
    let (town, agent, _state) = town_with_workers().await;
    let row = |number: u64, certainty: &str| {
        let says = town.check(number).summary;
        let row = "| `MachineDeployment my-org/peu01-md` | replaces 3 | `/spec/template/spec/infrastructureRef/name` |";
        assert!(says.contains(row) && says.contains(certainty), "{says}");
    };
    let rolls = town.open("ada", "image", &[template(&image("b"))]);
    town.settle().await;
    row(rolls, "Judged from Git alone.\n\n|");
    takes(&agent, vec![live(&image("a"), "peu01-md-x"), live(&image("b"), "peu01-md-y")]).await;
    town.settle().await;
    row(rolls, "Judged with the live names of templates.\n\n|");

    // What is written out and means the same is the same live template: no machine rolls.
    let written_out = json!({"template": {"spec": {"customImage": "a", "bootstrapTimeout": "3m"}}});
    let same = town.open("ada", "default", &[template(&written_out)]);
    town.settle().await;
    row(same, "Judged from Git alone.\n\n|");
    takes(&agent, vec![live(&written_out, "peu01-md-x")]).await;
    town.settle().await;
    let says = town.check(same).summary;
    assert!(!says.contains("`MachineDeployment my-org/peu01-md`"), "{says}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_that_changes_no_template_is_exact_from_the_start() {
    let (town, _agent, _state) = town_with_workers().await;
    town.push(
        "main",
        &[Edit::write(
            "aws/v22.0.0/base/workers.yaml",
            "kind: MachineDeployment\nspec:\n  template:\n    spec:\n      version: v1.22.5\n",
        )],
    );
    town.settle().await;
    let pulls = town.open_pulls();
    let [proposal] = pulls.as_slice() else { panic!("{pulls:?}") };
    let row = "| `MachineDeployment my-org/peu01-md` | replaces 3 | `/spec/template/spec/version` |";
    assert!(proposal.body.contains(row), "{}", proposal.body);
    assert!(proposal.body.contains("Judged with the live names of templates.\n\n|"), "{}", proposal.body);
    town.done();
}
