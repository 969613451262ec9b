//! Verdicts on rollouts, at every moment of real ones: the recordings of `tests/histories` replayed event by event.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use capstan_kustomize::render::{Folders, RenderedObject, render};
use capstan_live::live_objects::LiveObjects;
use capstan_live::rollout::observed::{RolloutPatience, RolloutProgress, RolloutVerdict, judge};
use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// A minute without a step is enough on machines that boot in a second.
const PATIENCE: RolloutPatience = RolloutPatience {
    unobserved: SignedDuration::from_secs(30),
    blocked: SignedDuration::from_secs(30),
    still: SignedDuration::from_secs(40),
    settling: SignedDuration::from_secs(60),
};

/// What Git says of the plain cluster at a revision of `tests/controlplane/sample-cluster`.
fn plain(version: &str, control_plane: &str, workers: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: rec, namespace: default}}
spec:
  controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: rec-cp}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {{name: rec-cp, namespace: default}}
spec:
  replicas: 1
  version: {version}
  machineTemplate:
    spec:
      infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: rec-cp-{control_plane}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {{name: rec-md, namespace: default}}
spec:
  clusterName: rec
  replicas: 2
  template:
    spec:
      clusterName: rec
      version: {version}
      bootstrap:
        configRef: {{apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: rec-md}}
      infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: rec-md-{workers}}}
"
    )
}

fn topology(version: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: rectopo, namespace: gauss-rectopo}}
spec:
  topology:
    classRef: {{name: in-memory}}
    version: {version}
    controlPlane: {{replicas: 1}}
    workers:
      machineDeployments:
      - {{class: default-worker, name: md-0, replicas: 2}}
"
    )
}

/// A cluster folder of one file.
struct Folder {
    entries: [TreeEntry; 1],
    file: Arc<[u8]>,
}

impl Tree for Folder {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, _: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        Ok(Arc::clone(&self.file))
    }

    fn folder_id(&self, _: &RepoPath) -> Option<TreeId> {
        None
    }
}

/// The objects of a file, as Capstan renders them.
fn rendered(file: &str) -> Vec<RenderedObject> {
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let entry = TreeEntry {
        path: path("org/c/base/cluster.yaml"),
        kind: EntryKind::File,
        blob: BlobId::parse(&"0".repeat(40)).unwrap(),
    };
    let folder = Folder { entries: [entry], file: file.as_bytes().into() };
    let folders =
        Folders { cluster: path("org/c"), base: path("org/c/base"), overlay: path("org/c/overlay") };
    render(&folder, &folders).unwrap().objects
}

/// A recording being replayed.
struct History {
    began: Timestamp,
    events: Vec<Value>,
}

impl History {
    fn read(name: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/histories").join(name);
        let text = std::fs::read_to_string(file).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let began = lines.next().unwrap()["began"].as_str().unwrap().parse().unwrap();
        Self { began, events: lines.collect() }
    }

    /// What is said after each event, and every five seconds while there is none and for a minute after the last, of
    /// what Git says then: `wishes` has that from the moment on when it was applied.
    fn verdicts(&self, wishes: &[(u64, String)]) -> Vec<Said> {
        let wishes: Vec<_> = wishes.iter().map(|(from, file)| (*from, rendered(file))).collect();
        let mut live: BTreeMap<String, Value> = BTreeMap::new();
        let mut said = Vec::new();
        let ends = self.events.iter().skip(1).map(|event| event["at_ms"].as_u64().unwrap());
        let last = self.events.last().map_or(0, |event| event["at_ms"].as_u64().unwrap());
        for (event, next) in self.events.iter().zip(ends.chain([last + 60_000])) {
            let at = event["at_ms"].as_u64().unwrap();
            if let Some(gone) = event["gone"].as_str() {
                live.remove(gone);
            } else if let Some(name) = event["object"].as_str() {
                merge(live.get_mut(name).unwrap(), &event["patch"]);
            } else {
                let new = &event["new"];
                let word = |value: &Value| value.as_str().unwrap().to_owned();
                live.insert(
                    format!("{} {}", word(&new["kind"]), word(&new["metadata"]["name"])),
                    new.clone(),
                );
            }
            let Some((_, wish)) = wishes.iter().rev().find(|(from, _)| *from <= at) else { continue };
            let objects: LiveObjects = live.values().map(listed).collect();
            let machines: Vec<Value> =
                live.values().filter(|object| object["kind"] == "Machine").cloned().collect();
            for at in (at..next.max(at + 1)).step_by(5_000) {
                let now = self.began + SignedDuration::from_millis(i64::try_from(at).unwrap());
                let verdict = judge(wish, &objects, now, PATIENCE);
                said.push(Said { at, verdict, machines: machines.clone() });
            }
        }
        said
    }
}

/// What is said at a moment.
struct Said {
    /// Milliseconds since the recording began.
    at: u64,
    verdict: RolloutVerdict,
    /// The machines that there are.
    machines: Vec<Value>,
}

/// RFC 7386.
fn merge(value: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let fields = value.as_object_mut().unwrap();
    for (key, change) in changes {
        if change.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// An object as the API has it: conditions are a list.
fn listed(object: &Value) -> Value {
    let mut object = object.clone();
    let conditions = object["status"]["conditions"].as_object().cloned().unwrap_or_default();
    let list = conditions.into_iter().map(|(kind, mut condition)| {
        condition["type"] = kind.into();
        condition
    });
    object["status"]["conditions"] = list.collect();
    object
}

/// The course of the verdicts: each word with the second from which on it was said.
fn course(said: &[Said]) -> Vec<(u64, &'static str)> {
    let mut course: Vec<(u64, &'static str)> = Vec::new();
    for said in said {
        let word = said.verdict.state.as_str();
        if course.last().is_none_or(|(_, last)| *last != word) {
            course.push((said.at / 1000, word));
        }
    }
    course
}

/// What a machine of the in-memory provider says that never boots.
const NEVER_BOOTS: &str = "InfrastructureReady: * VMProvisioned: WaitingForStartupTimeout * NodeProvisioned: WaitingForVMProvisioned";

/// The machine that the first verdict of "stuck" names, and its words.
fn held_up_by(said: &[Said]) -> (String, String) {
    let stuck = said.iter().find(|said| said.verdict.state == RolloutProgress::Stuck).unwrap();
    let owner = stuck.verdict.decisive().unwrap();
    let on = owner.on.as_ref().unwrap();
    assert_eq!(on.kind, "Machine");
    (on.name.clone(), owner.words.clone().unwrap())
}

/// Whenever it was said to be done, there were exactly the wished machines, all with a node at that version.
fn assert_never_done_too_early(said: &[Said], version_at: impl Fn(u64) -> &'static str) {
    for said in said.iter().filter(|said| said.verdict.state == RolloutProgress::Done) {
        let as_wished = |machine: &Value| {
            machine["spec"]["version"] == version_at(said.at)
                && machine["status"]["nodeRef"]["name"].is_string()
        };
        assert!(
            said.machines.len() == 3 && said.machines.iter().all(as_wished),
            "done at {} ms with {:#?}",
            said.at,
            said.machines
        );
    }
}

#[test]
fn a_cluster_that_is_created_is_done_once_all_its_machines_run() {
    let said = History::read("create.jsonl").verdicts(&[(0, plain("v1.34.3", "a", "a"))]);
    assert_eq!(course(&said), [(6, "waiting"), (6, "rolling"), (49, "done")]);
    assert_never_done_too_early(&said, |_| "v1.34.3");
}

#[test]
fn an_upgrade_is_done_when_the_last_old_machine_has_gone() {
    let wishes = [(900, plain("v1.34.3", "a", "a")), (1_052, plain("v1.35.1", "b", "b"))];
    let said = History::read("upgrade.jsonl").verdicts(&wishes);
    assert_eq!(course(&said), [(1, "waiting"), (1, "rolling"), (49, "done")]);
    assert_never_done_too_early(&said, |at| if at < 1_052 { "v1.34.3" } else { "v1.35.1" });
}

#[test]
fn a_worker_that_never_boots_is_named_and_a_better_template_frees_it() {
    let revision = |revision: &str| plain("v1.35.1", revision, revision);
    let wishes = [(900, revision("b")), (2_266, revision("c")), (71_398, revision("d"))];
    let said = History::read("stuck-worker.jsonl").verdicts(&wishes);
    assert_eq!(
        course(&said),
        [(2, "waiting"), (2, "rolling"), (50, "stuck"), (71, "rolling"), (106, "done")]
    );
    assert_eq!(held_up_by(&said), ("rec-md-fbnxl-tgbrv".to_owned(), NEVER_BOOTS.to_owned()));
    assert_never_done_too_early(&said, |_| "v1.35.1");
}

#[test]
fn a_control_plane_machine_that_never_boots_is_named() {
    let wishes = [(900, plain("v1.35.1", "d", "d")), (2_266, plain("v1.35.1", "e", "e"))];
    let said = History::read("stuck-control-plane.jsonl").verdicts(&wishes);
    assert_eq!(course(&said), [(2, "waiting"), (2, "rolling"), (50, "stuck")]);
    let (machine, words) = held_up_by(&said);
    assert_eq!(machine, "rec-cp-zncjz");
    assert!(words.starts_with(NEVER_BOOTS), "{words}");
    assert_never_done_too_early(&said, |_| "v1.35.1");
}

/// Between the halves the `Cluster` is green for a second.
#[test]
fn a_topology_is_done_when_both_halves_are() {
    let wishes = [(0, topology("v1.34.3")), (49_872, topology("v1.35.1"))];
    let said = History::read("topology.jsonl").verdicts(&wishes);
    assert_eq!(
        course(&said),
        [
            (2, "rolling"),
            (8, "waiting"),
            (9, "rolling"),
            (49, "done"),
            (49, "waiting"),
            (50, "rolling"),
            (100, "done"),
        ]
    );
    assert_never_done_too_early(&said, |at| if at < 49_872 { "v1.34.3" } else { "v1.35.1" });
}
