//! An inventory that lives in the management cluster: `kubectl apply` of its objects creates a cluster, edits reach the
//! clusters concerned and no others, and nothing goes without being retired.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use capstan_model::tree::Tree;
use capstan_ports::KindScope;
use capstan_reconciler::reconcile::ports::{
    FleetRecord, OpenSource, SecretData, SourceError, SourceOpener, TreeSource as _, TrialFailed,
};
use capstan_reconciler::reconcile::resources::{ConditionType, ReleaseSelector, SourceSpec};
use capstan_reconciler::reconcile::{InventorySource, Ports};
use serde_json::{Value, json};

use super::judging::green;
use super::looping::{Running, eventually};
use super::world::{Noted, UID, World};

const HOME: &str = "capstan-system";
const SCHEMA: &str = "type: object
required: [network]
properties:
  network: {type: object, required: [pods], properties: {pods: {type: string}}}
  note: {type: string, default: plain}
";
const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: {{ cluster.name }}
  namespace: org
spec:
  clusterNetwork:
    pods:
      cidrBlocks:
      - {{ network.pods }}
";
const NOTE: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ cluster.name }}-note
  namespace: org
data:
  note: {{ note }}
";

const CONTROL_PLANE: &str = "apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata:
  name: {{ cluster.name }}-cp
  namespace: org
spec:
  replicas: 1
  version: {{ note }}
";

struct Town {
    world: World,
    note: Arc<Noted>,
}

/// Opens the inventory whatever the Fleet says.
struct Opens(Arc<Noted>);

#[async_trait]
impl SourceOpener for Opens {
    async fn open(
        &self,
        ports: &Ports,
        fleet: &FleetRecord,
        uid: &str,
        _secret: Option<SecretData>,
    ) -> Result<OpenSource, SourceError> {
        let source = Arc::new(InventorySource::new(ports, fleet, uid, labels(), self.0.clone()));
        Ok(OpenSource { tree: Arc::<InventorySource>::clone(&source), bot: source })
    }
}

fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([("capstan.dev/release".to_owned(), "true".to_owned())])
}

impl Town {
    /// The definitions of `capstan crds`, and the release openstack/v1.0.0.
    fn new() -> Self {
        let world = World::new();
        for kind in capstan_inventory::kinds::all() {
            world.live.serve(&[("capstan.dev", kind, KindScope::Namespaced)]);
        }
        world.live.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}));
        world.fleet.lock().unwrap().spec.interval = Duration::from_millis(50);
        world.fleet.lock().unwrap().spec.source =
            SourceSpec::Inventory { releases: ReleaseSelector { match_labels: labels() } };
        let town = Self { world, note: Arc::default() };
        town.release("v1.0.0", &[("schema.yaml", SCHEMA), ("cluster.yaml", CLUSTER), ("note.yaml", NOTE)]);
        town
    }

    fn release(&self, version: &str, files: &[(&str, &str)]) {
        let data: BTreeMap<&str, &str> = files.iter().copied().collect();
        self.world.live.put(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": format!("openstack-{version}"), "namespace": HOME, "labels": {
                "capstan.dev/release": "true", "capstan.dev/release-provider": "openstack",
                "capstan.dev/release-version": version}},
        }));
    }

    /// `kubectl apply` of an object of the inventory.
    fn apply(&self, kind: &str, name: &str, spec: Value) {
        let mut object = json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": HOME}, "spec": spec,
        });
        if let Some(before) = self.world.live.object(kind, name) {
            object["status"] = before["status"].clone();
            object["metadata"]["finalizers"] = before["metadata"]["finalizers"].clone();
        }
        self.world.live.put(object);
    }

    /// Two sites, and the clusters `acme/peu01` and `acme/peu02` of fra1 and `beta/pus01` of iad1.
    fn apply_fleet(&self) {
        self.apply("Customer", "acme", json!({}));
        self.apply("Customer", "beta", json!({}));
        for (site, note) in [("fra1", "frankfurt"), ("iad1", "virginia")] {
            self.apply("Site", site, json!({"release": "openstack/v1.0.0", "values": {"note": note}}));
        }
        for (name, customer, site) in
            [("peu01", "acme", "fra1"), ("peu02", "acme", "fra1"), ("pus01", "beta", "iad1")]
        {
            self.define(name, customer, site, json!({"network": {"pods": "10.0.0.0/16"}}));
        }
    }

    fn define(&self, name: &str, customer: &str, site: &str, values: Value) {
        let spec = json!({"in": {"customer": customer, "site": site}, "values": values});
        self.apply("ClusterDefinition", name, spec);
    }

    fn delete(&self, name: &str) {
        self.world.live.change("ClusterDefinition", name, |object| {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-01T00:00:00Z");
        });
    }

    fn start(&self) -> Running {
        Running::over(&self.world, Arc::new(Opens(self.note.clone())))
    }

    /// A source of its own, for one look.
    fn source(&self) -> InventorySource {
        let fleet = self.world.fleet.lock().unwrap().clone();
        InventorySource::new(&self.world.ports(), &fleet, UID, labels(), self.note.clone())
    }

    /// Waits until every cluster has had a whole turn from now on: the second one begins once the first has ended.
    async fn has_had_a_turn(&self) {
        let turns = || {
            let posted = self.world.status_store.posted();
            let of = |name: &String| posted.turns.get(name).copied().unwrap_or_default();
            let turns = posted.clusters.keys().map(|name| (name.clone(), of(name)));
            turns.collect::<BTreeMap<String, _>>()
        };
        let before = turns();
        eventually("a turn of each", || {
            let now = turns();
            let has_had = |(name, turns): (&String, &usize)| {
                *turns >= before.get(name).copied().unwrap_or_default() + 2
            };
            !now.is_empty() && now.iter().all(has_had)
        })
        .await;
    }

    /// What the live note of a cluster says.
    fn said(&self, cluster: &str) -> Option<String> {
        let note = self.world.live.object("ConfigMap", &format!("{cluster}-note"))?;
        Some(note["data"]["note"].as_str().unwrap().to_owned())
    }

    fn status(&self, kind: &str, name: &str) -> Value {
        self.world.live.object(kind, name).map(|object| object["status"].clone()).unwrap_or_default()
    }

    /// `True Done`, or nothing.
    fn condition(&self, name: &str, kind: &str) -> String {
        let status = self.status("ClusterDefinition", name);
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|condition| condition["type"] == kind);
        found.map_or_else(String::new, |found| {
            format!("{} {}", found["status"].as_str().unwrap(), found["reason"].as_str().unwrap())
        })
    }

    fn message(&self, name: &str, kind: &str) -> String {
        let status = self.status("ClusterDefinition", name);
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|condition| condition["type"] == kind);
        found.map_or_else(String::new, |found| found["message"].as_str().unwrap().to_owned())
    }

    fn source_ready(&self) -> String {
        let posted = self.world.status_store.posted();
        let found = posted.fleet_status.conditions.of(ConditionType::SourceReady).cloned();
        found.map_or_else(String::new, |found| format!("{:?} {}", found.status, found.reason))
    }
}

impl Town {
    /// What the live control plane of a cluster is asked for.
    fn version(&self, cluster: &str) -> Option<String> {
        let plane = self.world.live.object("KubeadmControlPlane", &format!("{cluster}-cp"))?;
        Some(plane["spec"]["version"].as_str().unwrap().to_owned())
    }

    /// Cluster API is done with a control plane.
    fn finish(&self, cluster: &str) {
        self.world.live.change("KubeadmControlPlane", &format!("{cluster}-cp"), |plane| {
            plane["status"] = green(plane["spec"]["version"].as_str().unwrap());
            let generation = plane["metadata"]["generation"].clone();
            plane["status"]["observedGeneration"] = generation.clone();
            for condition in plane["status"]["conditions"].as_array_mut().unwrap() {
                condition["observedGeneration"] = generation.clone();
            }
        });
    }
}

/// The folders of a tree.
fn folders(tree: &dyn Tree) -> BTreeSet<String> {
    let base = |path: &str| path.split_once("/base/").map(|(folder, _)| folder.to_owned());
    tree.entries().iter().filter_map(|entry| base(entry.path.as_str())).collect()
}

#[tokio::test]
async fn objects_that_are_applied_create_clusters_and_a_site_reaches_its_own() {
    let town = Town::new();
    town.apply_fleet();
    let running = town.start();
    for name in ["peu01", "peu02", "pus01"] {
        eventually(name, || town.condition(name, "Ready") == "True Done").await;
    }
    assert_eq!(town.said("peu01").as_deref(), Some("frankfurt"));
    assert_eq!(town.said("pus01").as_deref(), Some("virginia"));
    let status = town.status("ClusterDefinition", "peu01");
    assert_eq!(status["release"], "openstack/v1.0.0");
    assert_eq!(status["managedCluster"], "acme-peu01");
    assert_eq!(status["digest"].as_str().unwrap().len(), 64);
    assert_eq!(town.condition("peu01", "Rendered"), "True Rendered");
    assert_eq!(town.status("Site", "fra1"), json!({"clusters": 2}));
    assert_eq!(town.status("Customer", "beta"), json!({"clusters": 1}));
    let held = town.world.live.object("ClusterDefinition", "peu01").unwrap();
    assert_eq!(held["metadata"]["finalizers"], json!(["capstan.dev/inventory"]));

    town.world.live.take_writes();
    town.apply("Site", "fra1", json!({"release": "openstack/v1.0.0", "values": {"note": "main"}}));
    for name in ["peu01", "peu02"] {
        eventually(name, || town.said(name).as_deref() == Some("main")).await;
    }
    eventually("all is said", || {
        let digest = town.status("ClusterDefinition", "peu02")["digest"].clone();
        digest != status["digest"] && town.condition("peu02", "Ready") == "True Done"
    })
    .await;
    town.has_had_a_turn().await;
    let writes = town.world.live.take_writes();
    let applied: Vec<&String> = writes.iter().filter(|write| write.starts_with("apply ")).collect();
    let mut applied: Vec<&str> = applied.into_iter().map(String::as_str).collect();
    applied.sort_unstable();
    assert_eq!(applied, ["apply ConfigMap org/peu01-note", "apply ConfigMap org/peu02-note"]);
    assert!(!writes.iter().any(|write| write.contains("pus01")), "{writes:?}");

    // What has nothing new to say says nothing.
    town.has_had_a_turn().await;
    assert_eq!(town.world.live.take_writes(), [""; 0]);
    running.stop().await;
}

#[tokio::test]
async fn a_definition_that_goes_deletes_nothing_before_it_is_retired() {
    let town = Town::new();
    town.apply_fleet();
    let running = town.start();
    eventually("it is there", || town.condition("peu01", "Ready") == "True Done").await;
    town.delete("peu01");
    eventually("it says so", || town.condition("peu01", "RetireFirst") == "True RetireFirst").await;
    town.has_had_a_turn().await;
    assert!(town.world.live.object("Cluster", "peu01").is_some());
    assert!(town.world.live.object("ClusterDefinition", "peu01").is_some());
    let notes = || {
        let posted = town.world.status_store.posted();
        let notes = posted.notes.iter().filter(|(_, note)| note.reason == "RetireFirst");
        let mut notes: Vec<String> =
            notes.map(|(on, note)| format!("{on}: {}", note.message.split(':').next().unwrap())).collect();
        notes.sort();
        notes
    };
    assert_eq!(
        notes(),
        ["acme-peu01: ClusterDefinition peu01", "fleet: ClusterDefinition peu01"],
        "once each"
    );

    town.world.live.change("ClusterDefinition", "peu01", |object| object["spec"]["retire"] = json!(true));
    eventually("the cluster goes", || town.world.live.object("Cluster", "peu01").is_none()).await;
    eventually("its definition goes", || town.world.live.object("ClusterDefinition", "peu01").is_none())
        .await;
    eventually("and its ManagedCluster", || {
        !town.world.status_store.posted().clusters.contains_key("acme-peu01")
    })
    .await;
    assert_eq!(town.said("peu01"), None);
    assert_eq!(town.said("peu02").as_deref(), Some("frankfurt"));
    running.stop().await;
}

#[tokio::test]
async fn a_definition_whose_finalizer_somebody_took_away_deletes_nothing_either() {
    let town = Town::new();
    town.apply_fleet();
    let running = town.start();
    eventually("it is there", || town.condition("peu01", "Ready") == "True Done").await;
    town.world.live.remove("ClusterDefinition", "peu01");
    eventually("its ManagedCluster says so", || {
        let posted = town.world.status_store.posted();
        let ready = posted.clusters["acme-peu01"].status.conditions.of(ConditionType::Ready).cloned();
        ready.is_some_and(|ready| {
            ready.reason == "FolderGone"
                && ready.message.starts_with("the folder is gone from the inventory; ")
                && ready.message.ends_with("restore its ClusterDefinition with `retire: true`")
        })
    })
    .await;
    assert!(town.world.live.object("Cluster", "peu01").is_some());
    assert_eq!(town.said("peu01").as_deref(), Some("frankfurt"));
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_listed_whole_counts_as_unread() {
    let town = Town::new();
    town.apply_fleet();
    let running = town.start();
    for name in ["peu01", "peu02", "pus01"] {
        eventually(name, || town.condition(name, "Ready") == "True Done").await;
    }
    // The definition of a kind goes, and all its objects with it.
    town.world.live.state().kinds.remove(&("capstan.dev".to_owned(), "Site".to_owned()));
    for site in ["fra1", "iad1"] {
        town.world.live.remove("Site", site);
    }
    town.world.live.change("ConfigMap", "peu01-note", |object| object["data"]["note"] = json!("by hand"));
    eventually("it is said", || town.source_ready() == "False SourceAway").await;
    eventually("drift is repaired all the same", || town.said("peu01").as_deref() == Some("frankfurt")).await;
    assert_eq!(town.condition("peu01", "Rendered"), "True Rendered");
    running.stop().await;

    // One kind that may not be listed is as bad.
    let town = Town::new();
    town.apply_fleet();
    let source = town.source();
    let first = source.fetch().await.unwrap();
    town.world.live.state().refused_lists.insert("Customer".to_owned());
    town.world.live.remove("ClusterDefinition", "peu01");
    let error = source.fetch().await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "the inventory in the namespace capstan-system cannot be read: listing Customer.capstan.dev: 403 Forbidden: forbidden: no"
    );
    town.world.live.state().refused_lists.clear();
    assert_ne!(source.fetch().await.unwrap().commit, first.commit);
}

#[tokio::test]
async fn one_broken_customer_stops_no_other_and_keeps_what_it_had() {
    let town = Town::new();
    town.apply_fleet();
    let source = town.source();
    let first = source.fetch().await.unwrap();
    assert_eq!(folders(first.tree.as_ref()), names(["acme/peu01", "acme/peu02", "beta/pus01"]));

    // A value of the wrong type, a site that is nowhere, a folder of somebody else's, one around others, and one outside.
    town.define("pus01", "beta", "iad1", json!({"network": "none"}));
    town.define("lost", "beta", "nowhere", json!({}));
    let pods = json!({"network": {"pods": "10.1.0.0/16"}});
    for (name, folder) in [
        ("a-thief", "acme/peu01"),
        ("around", "acme"),
        ("inside", "acme/peu02/inner"),
        ("climber", "../acme/peu01"),
        ("release", "openstack/v1.0.0"),
    ] {
        let level = json!({"customer": "beta", "site": "iad1"});
        town.apply("ClusterDefinition", name, json!({"in": level, "folder": folder, "values": pods}));
    }
    // What nests deeper than any file may, of a cluster and of a site.
    let deep = (0..230).fold(json!("deep"), |deep, _| json!({"deeper": deep}));
    town.define("deep", "beta", "iad1", json!({"network": {"pods": "10.2.0.0/16"}, "note": deep}));
    town.apply("Site", "abyss", json!({"release": "openstack/v1.0.0", "values": {"note": deep}}));
    town.define("below", "beta", "abyss", pods.clone());
    town.apply("Site", "fra1", json!({"release": "openstack/v1.0.0", "values": {"note": "main"}}));
    let second = source.fetch().await.unwrap();
    assert_eq!(folders(second.tree.as_ref()), names(["acme/peu01", "acme/peu02", "beta/pus01"]));
    let text = |tree: &dyn Tree, path: &str| {
        let entry = tree.entry(&capstan_model::tree::RepoPath::parse(path).unwrap()).unwrap();
        String::from_utf8(tree.read(entry).unwrap().to_vec()).unwrap()
    };
    let note = "acme/peu01/base/note.yaml";
    assert!(text(first.tree.as_ref(), note).contains("note: frankfurt"));
    assert!(text(second.tree.as_ref(), note).contains("note: main"));
    let of_pus01 = "beta/pus01/base/cluster.yaml";
    assert_eq!(text(first.tree.as_ref(), of_pus01), text(second.tree.as_ref(), of_pus01));
    for (name, expected) in [
        ("peu01", "True Rendered"),
        ("pus01", "False NotMade"),
        ("lost", "False NotMade"),
        ("a-thief", "False FolderTaken"),
        ("around", "False FolderTaken"),
        ("inside", "False FolderTaken"),
        ("climber", "False NotMade"),
        ("release", "False FolderRefused"),
        ("deep", "False NotMade"),
        ("below", "False NotMade"),
    ] {
        assert_eq!(town.condition(name, "Rendered"), expected, "{name}: {}", town.message(name, "Rendered"));
    }
    let message = town.message("pus01", "Rendered");
    assert!(message.ends_with("[inventory-type]; its earlier objects stay"), "{message}");

    // The next process knows what was made, as long as nobody applied anything newer.
    source.keep(&second.commit).await.unwrap();
    town.world.fleet.lock().unwrap().status.commit = Some(second.commit.to_string());
    let next = town.source();
    assert_eq!(next.kept().await.unwrap().unwrap().commit, second.commit);
    let third = next.fetch().await.unwrap();
    assert_eq!(text(third.tree.as_ref(), of_pus01), text(first.tree.as_ref(), of_pus01));
    let root = capstan_model::tree::RepoPath::root();
    assert_eq!(third.tree.folder_id(&root), second.tree.folder_id(&root));

    // An Inventory that is wrong changes what everything means.
    town.apply("Inventory", "inventory", json!({"levels": ["Region"]}));
    let error = next.fetch().await.err().unwrap();
    assert_eq!(error.kind(), "InventoryUnreadable");
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn only_what_changed_is_made_again_and_what_takes_too_much_is_refused_alone() {
    let town = Town::new();
    town.apply_fleet();
    let source = town.source();
    let trial = &town.world.trial;
    let site = |note: &str| {
        town.apply("Site", "fra1", json!({"release": "openstack/v1.0.0", "values": {"note": note}}));
    };
    source.fetch().await.unwrap();
    assert_eq!(trial.takes(), ["acme/peu01 acme/peu02 beta/pus01"]);
    site("one");
    source.fetch().await.unwrap();
    assert_eq!(trial.takes(), ["acme/peu01 acme/peu02"]);
    source.fetch().await.unwrap();
    assert_eq!(trial.takes(), [""; 0]);

    let note = |tree: &dyn Tree, cluster: &str| {
        let path = capstan_model::tree::RepoPath::parse(&format!("acme/{cluster}/base/note.yaml")).unwrap();
        let text = tree.read(tree.entry(&path).unwrap()).unwrap();
        String::from_utf8(text.to_vec()).unwrap().lines().last().unwrap().trim().to_owned()
    };
    trial.fail("acme/peu02", TrialFailed::TooLarge("Rendering ended by signal 6.".to_owned()));
    site("two");
    let tree = source.fetch().await.unwrap().tree;
    assert_eq!(note(tree.as_ref(), "peu01"), "note: two");
    assert_eq!(note(tree.as_ref(), "peu02"), "note: one");
    assert_eq!(town.message("peu02", "Rendered"), "Rendering ended by signal 6; its earlier objects stay");
    // A temporary failure refuses nothing: fetching fails, and the earlier tree stays until rendering works again.
    trial.fail("acme/peu01", TrialFailed::Killed("Rendering ended by signal 9.".to_owned()));
    site("three");
    let error = source.fetch().await.err().unwrap();
    assert_eq!(error.kind(), "InventoryUnreadable");
    assert_eq!(town.condition("peu01", "Rendered"), "True Rendered");
    for cluster in ["acme/peu01", "acme/peu02"] {
        trial.pass(cluster);
    }
    let tree = source.fetch().await.unwrap().tree;
    assert_eq!(note(tree.as_ref(), "peu01"), "note: three");
    assert_eq!(note(tree.as_ref(), "peu02"), "note: three");
}

#[tokio::test]
async fn an_edit_of_a_site_rolls_so_many_clusters_at_a_time_also_over_a_restart() {
    let town = Town::new();
    let with_reference = format!(
        "{CLUSTER}  controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: \"{{{{ cluster.name }}}}-cp\"}}\n"
    );
    let files = [("schema.yaml", SCHEMA), ("cluster.yaml", &with_reference), ("cp.yaml", CONTROL_PLANE)];
    town.release("v1.0.0", &files);
    town.apply_fleet();
    let site = |name: &str, version: &str| {
        town.apply("Site", name, json!({"release": "openstack/v1.0.0", "values": {"note": version}}));
    };
    site("fra1", "v1.34.3");
    site("iad1", "v1.34.3");
    town.define("peu03", "acme", "fra1", json!({"network": {"pods": "10.0.0.0/16"}}));
    town.world.fleet.lock().unwrap().spec.guards.max_rolling_clusters = Some(1);
    let running = town.start();
    let all = ["peu01", "peu02", "peu03", "pus01"];
    for name in all {
        eventually("it is created beside the others", || town.version(name).is_some()).await;
    }
    for name in all {
        town.finish(name);
        eventually(name, || town.condition(name, "Ready") == "True Done").await;
    }

    site("fra1", "v1.35.1");
    let rolling = || -> Vec<&str> {
        all.into_iter().filter(|name| town.version(name).as_deref() == Some("v1.35.1")).collect()
    };
    eventually("one begins", || rolling().len() == 1).await;
    let first = rolling()[0];
    let others: Vec<&str> = ["peu01", "peu02", "peu03"].into_iter().filter(|name| *name != first).collect();
    for name in &others {
        eventually(name, || town.condition(name, "Ready") == "False RollsLater").await;
    }
    let why = town.message(others[0], "Ready");
    let expected =
        format!("`guards.maxRollingClusters` of the Fleet is 1, machines of acme/{first} are replaced");
    assert!(why.contains(&expected), "{why}");
    running.stop().await;
    let running = town.start();
    town.has_had_a_turn().await;
    assert_eq!(rolling(), [first]);

    town.finish(first);
    eventually("the next one", || rolling().len() == 2).await;
    assert!(rolling().contains(&others[0]), "in the order of their folders: {:?}", rolling());
    town.has_had_a_turn().await;
    assert_eq!(rolling().len(), 2);
    town.finish(others[0]);
    eventually("the last one", || rolling() == ["peu01", "peu02", "peu03"]).await;
    town.finish(others[1]);
    for name in all {
        eventually(name, || town.condition(name, "Ready") == "True Done").await;
        assert_eq!(town.status("ClusterDefinition", name)["rollout"], "Done", "{name}");
    }
    assert_eq!(town.version("pus01").as_deref(), Some("v1.34.3"));
    running.stop().await;
}
