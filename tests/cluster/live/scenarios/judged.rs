//! Edits of clusters that others apply: what Capstan says of each from Git alone, beside what Cluster API does when
//! kubectl applies it. One row an edit; a wrong fact about Cluster API shows as a row that is not true.

use std::time::Duration;

use capstan_forge::Edit;
use capstan_git::Checkout;
use capstan_kustomize::render::{Folders, RenderedFolder, render};
use capstan_kustomize::schema::Schemas;
use capstan_live::rollout::rollouts;
use capstan_model::tree::RepoPath;
use capstan_plan::classes::ClassesElsewhere;
use capstan_plan::merge::AppliedBy;
use capstan_test_support::tally;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::ground::Ground;
use super::super::prediction::Prediction;
use super::super::sample::Sample;
use super::super::town::LONG;
use super::super::waiting::{Look, holds, until};
use capstan_test_parts::plane::world::Machine;
use capstan_test_parts::repository::TestRepository;

/// So long nothing must happen before an edit counts as one that replaces nothing: several times as long as the
/// controllers took for the first new machine whenever there was one.
const QUIET: Duration = Duration::from_secs(12);

/// An edit: what it is, the file, the text there and what comes in its place.
type Row = (&'static str, &'static str, &'static str, &'static str);

/// Fields of the control plane.
const CONTROL_PLANE: &[Row] = &[
    (
        "labels of control plane machines",
        "control-plane.yaml",
        "  machineTemplate:\n    spec:",
        "  machineTemplate:\n    metadata:\n      labels: {tier: gold}\n    spec:",
    ),
    (
        "a name more in the certificate",
        "control-plane.yaml",
        "certSANs: [localhost, 127.0.0.1]",
        "certSANs: [localhost, 127.0.0.1, api.example.com]",
    ),
    (
        "a deadline for drains",
        "control-plane.yaml",
        "  machineTemplate:\n    metadata:\n      labels: {tier: gold}\n    spec:\n",
        "  machineTemplate:\n    metadata:\n      labels: {tier: gold}\n    spec:\n      deletion: {nodeDrainTimeoutSeconds: 30}\n",
    ),
    (
        "a file more",
        "control-plane.yaml",
        "  kubeadmConfigSpec:\n",
        "  kubeadmConfigSpec:\n    files:\n    - path: /etc/motd\n      content: hello\n",
    ),
    (
        "how control plane machines are replaced",
        "control-plane.yaml",
        "  replicas: 1\n",
        "  replicas: 1\n  remediation: {maxRetry: 3}\n",
    ),
    (
        "machines older than now made anew",
        "control-plane.yaml",
        "  remediation: {maxRetry: 3}\n",
        "  remediation: {maxRetry: 3}\n  rollout: {after: \"NOW\"}\n",
    ),
];

/// Fields of the workers.
const WORKERS: &[Row] = &[
    (
        "labels of workers",
        "workers.yaml",
        "  template:\n    spec:\n      clusterName",
        "  template:\n    metadata:\n      labels: {tier: gold}\n    spec:\n      clusterName",
    ),
    (
        "a bootstrap template edited in place",
        "workers.yaml",
        "      joinConfiguration:\n",
        "      preKubeadmCommands: [\"true\"]\n      joinConfiguration:\n",
    ),
    (
        "another failure domain",
        "workers.yaml",
        "      version: VERSION\n      bootstrap",
        "      version: VERSION\n      failureDomain: north\n      bootstrap",
    ),
    (
        "a deadline for drains of workers",
        "workers.yaml",
        "      failureDomain: north\n",
        "      failureDomain: north\n      deletion: {nodeDrainTimeoutSeconds: 30}\n",
    ),
    (
        "how many workers at once",
        "workers.yaml",
        "  replicas: 2\n",
        "  replicas: 2\n  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}}\n",
    ),
    (
        "another bootstrap template",
        "workers.yaml",
        "kind: KubeadmConfigTemplate\n          name: judged-workers-md\n",
        "kind: KubeadmConfigTemplate\n          name: judged-workers-md-2\n",
    ),
    ("a worker more", "workers.yaml", "  replicas: 2\n", "  replicas: 3\n"),
];

pub(super) fn control_plane(ground: &Ground, cluster: &Sample) {
    play(ground, cluster, CONTROL_PLANE);
}

pub(super) fn workers(ground: &Ground, cluster: &Sample) {
    play(ground, cluster, WORKERS);
}

fn play(ground: &Ground, cluster: &Sample, rows: &[Row]) {
    let folder = TestRepository::new();
    for edit in cluster.folder() {
        let Edit::Write { path, content } = edit else { continue };
        folder.write(&path, std::str::from_utf8(&content).unwrap());
    }
    ground
        .plane
        .apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", cluster.namespace()));
    let mut rendered = read(&folder, cluster);
    apply(ground, &rendered);
    let mut cluster = cluster.clone();
    let mut machines = settled(ground, &cluster);
    for (what, file, old, new) in rows {
        let path = format!("{}/base/{file}", cluster.id());
        let text = std::fs::read_to_string(folder.at(&path)).unwrap();
        let now = Timestamp::now().strftime("%FT%TZ").to_string();
        let filled = |text: &str| text.replace("VERSION", &cluster.kubernetes).replace("NOW", &now);
        assert_eq!(text.matches(&filled(old)).count(), 1, "{what}: {text}");
        let mut edited = text.replacen(&filled(old), &filled(new), 1);
        if new.contains("judged-workers-md-2") {
            edited.push_str(&second_bootstrap_template(&text));
        }
        folder.write(&path, &edited);
        let after = read(&folder, &cluster);
        let (elsewhere, schemas) = (ClassesElsewhere::default(), Schemas::built_in());
        let found = rollouts(&rendered.objects, &after.objects, AppliedBy::Others, &elsewhere, schemas);
        let prediction =
            Prediction::of(found.iter().map(|rollout| (rollout.object.to_string(), rollout.course.replaced)));
        if *what == "a worker more" {
            cluster.workers = 3;
        }
        apply(ground, &after);
        rendered = after;
        if prediction.machines() == 0 {
            // Machines that are replaced against the prediction show within this time.
            std::thread::sleep(tally::wait(QUIET));
        } else {
            until(&format!("{what}: a machine more"), LONG, || {
                let now = ground.machines(&cluster);
                holds(now.iter().any(|machine| !machines.contains(machine)), || format!("{now:?}"))
            });
        }
        let now = settled(ground, &cluster);
        ground.judge(what, &prediction, &machines, &now);
        machines = now;
    }
}

/// A bootstrap template of another name with the same content.
fn second_bootstrap_template(text: &str) -> String {
    let template =
        text.split("---\n").find(|document| document.contains("kind: KubeadmConfigTemplate\nmetadata"));
    format!(
        "---\n{}",
        template.unwrap().replacen("name: judged-workers-md\n", "name: judged-workers-md-2\n", 1)
    )
}

fn read(folder: &TestRepository, cluster: &Sample) -> RenderedFolder {
    let tree = Checkout::open(Some(folder.path())).unwrap().work_tree().unwrap();
    let path = |path: String| RepoPath::parse(&path).unwrap();
    let id = cluster.id();
    let folders = Folders {
        cluster: path(id.clone()),
        base: path(format!("{id}/base")),
        overlay: path(format!("{id}/overlay")),
    };
    render(tree.as_ref(), &folders).unwrap()
}

fn apply(ground: &Ground, rendered: &RenderedFolder) {
    let items: Vec<Value> = rendered.objects.iter().map(|object| object.value.clone()).collect();
    ground.plane.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
}

/// Waits until a cluster has its machines, and what owns them has had its last word.
fn settled(ground: &Ground, cluster: &Sample) -> Vec<Machine> {
    until(&format!("{} settled", cluster.id()), LONG, || {
        let machines = ground.running(cluster, &cluster.kubernetes)?;
        is_quiet(ground, "KubeadmControlPlane", &cluster.namespace(), &format!("{}-cp", cluster.name))?;
        is_quiet(ground, "MachineDeployment", &cluster.namespace(), &format!("{}-md", cluster.name))?;
        Ok(machines)
    })
}

fn is_quiet(ground: &Ground, kind: &str, namespace: &str, name: &str) -> Look<()> {
    let object = ground.world.object(kind, namespace, name).ok_or("not there")?;
    let conditions = object["status"]["conditions"].as_array().ok_or("no conditions")?;
    let rolling = conditions.iter().find(|one| one["type"] == "RollingOut").ok_or("no RollingOut")?;
    let wanted = &object["spec"]["replicas"];
    holds(
        rolling["status"] == "False"
            && object["status"]["observedGeneration"] == object["metadata"]["generation"]
            && ["replicas", "upToDateReplicas", "readyReplicas"]
                .iter()
                .all(|count| &object["status"][count] == wanted),
        || format!("{kind} {name}: {rolling}"),
    )
}
