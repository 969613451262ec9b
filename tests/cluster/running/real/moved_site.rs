//! A cluster of the inventory that moves to another site: what its two proposals write is applied, and it stays the cluster
//! that it was.

use std::sync::Arc;

use capstan_fleet::generator::{Fleet, plan_values};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;
use jiff::civil::date;
use serde_json::{Value, json};

use super::{CUSTOMER, Statuses, Town, rows};

const NAME: &str = "moved-site";
const TEMPLATE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: {{ cluster.name }}
  namespace: gauss
spec:
  paused: true
  clusterNetwork: {pods: {cidrBlocks: [\"{{ pods }}\"]}}
";

fn object(kind: &str, name: &str, spec: &str) -> String {
    format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

/// Writes to the folder what the inventory brings while the definition says that site.
fn propose(town: &Town, site: &str) {
    let folder = format!("{CUSTOMER}/{NAME}");
    let mut texts = vec![
        (".capstan.yaml".to_owned(), "inventory: {path: inventory}\n".to_owned()),
        ("inventory/fra1.yaml".to_owned(), object("Site", "fra1", "{values: {pods: 10.1.0.0/16}}")),
        ("inventory/ber1.yaml".to_owned(), object("Site", "ber1", "{values: {pods: 10.2.0.0/16}}")),
        (
            "inventory/cluster.yaml".to_owned(),
            object(
                "ClusterDefinition",
                NAME,
                &format!("{{in: {{site: {site}}}, folder: {folder}, release: openstack/v1.0.0}}"),
            ),
        ),
        (
            "openstack/v1.0.0/schema.yaml".to_owned(),
            "type: object\nproperties: {pods: {type: string}}\n".to_owned(),
        ),
        ("openstack/v1.0.0/templates/cluster.yaml".to_owned(), TEMPLATE.to_owned()),
    ];
    for file in ["base/cluster.yaml", "capstan.yaml", "capstan-values.yaml"] {
        let path = format!("{folder}/{file}");
        if let Ok(text) = std::fs::read_to_string(town.repository.path().join(&path)) {
            texts.push((path, text));
        }
    }
    let pairs: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let fleet = Fleet::open(Arc::new(Files::new(&pairs)), date(2026, 11, 25)).unwrap();
    let id = ClusterId::new(RepoPath::parse(&folder).unwrap());
    let upgrade = plan_values(&fleet, &id).unwrap().unwrap();
    assert!(upgrade.blocked.is_empty() && upgrade.conflicts.is_empty(), "{upgrade:?}");
    for file in &upgrade.files {
        town.repository.write(file.path.as_str(), file.after.as_deref().unwrap());
    }
}

/// Its Cluster as it is live.
async fn live(town: &Town) -> Value {
    let manifest = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": NAME, "namespace": CUSTOMER},
    });
    town.object(&manifest).await.unwrap()
}

/// The cluster in its first site.
pub(super) fn settle(town: &Town) {
    propose(town, "fra1");
}

/// What it is known by.
pub(super) async fn uid(town: &Town) -> Value {
    let live = live(town).await;
    assert_eq!(live["spec"]["clusterNetwork"]["pods"]["cidrBlocks"], json!(["10.1.0.0/16"]));
    live["metadata"]["uid"].clone()
}

/// Its definition says another site.
pub(super) fn make(town: &Town) {
    propose(town, "ber1");
}

pub(super) fn wrong(statuses: &Statuses) -> Vec<String> {
    let status = statuses.get(&format!("{CUSTOMER}-{NAME}")).map(rows::ready_and_reasons);
    let done = ("True Done".to_owned(), Vec::new());
    if status.as_ref() == Some(&done) { Vec::new() } else { vec![format!("{NAME}: {status:?}")] }
}

/// It is the same one, in the other site.
pub(super) async fn judge(town: &Town, uid: &Value) {
    let live = live(town).await;
    assert_eq!(live["spec"]["clusterNetwork"]["pods"]["cidrBlocks"], json!(["10.2.0.0/16"]));
    assert_eq!(live["metadata"]["uid"], *uid, "it was removed and made anew");
}
