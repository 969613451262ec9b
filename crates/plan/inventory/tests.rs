//! What a release step goes without, and what is said of folders: expected values by hand.

use capstan_model::tree::RepoPath;
use capstan_test_support::Files;
use capstan_yaml::Value;
use serde_json::json;

use super::{FleetInventory, InventoryDefinition, InventoryGap, record_of, without_pending};
use crate::settings::{RepositorySettings, RuleIds};

#[test]
fn a_release_step_takes_what_is_new_in_the_release_and_nothing_that_the_inventory_changed_meanwhile() {
    // What the inventory says under the old release, what the cluster took, what it says under the new release.
    for (said, took, under_new, expected) in [
        // Nothing is pending: all of it.
        (json!({"a": 1}), json!({"a": 1}), json!({"a": 1, "new": 2}), json!({"a": 1, "new": 2})),
        // A default that moves with the release moves, beside a value that is still to come.
        (
            json!({"version": "1.32", "replicas": 5}),
            json!({"version": "1.32", "replicas": 3}),
            json!({"version": "1.33", "replicas": 5}),
            json!({"version": "1.33", "replicas": 3}),
        ),
        // A value that somebody added to the inventory waits; one that somebody took out stays.
        (
            json!({"net": {"mtu": 9000, "dns": "a"}}),
            json!({"net": {"vip": "10.0.0.1", "dns": "a"}}),
            json!({"net": {"mtu": 9000, "dns": "a", "mode": "bgp"}}),
            json!({"net": {"dns": "a", "mode": "bgp", "vip": "10.0.0.1"}}),
        ),
        // Lists are taken as a whole.
        (
            json!({"pools": [{"name": "a", "replicas": 2}]}),
            json!({"pools": [{"name": "a", "replicas": 1}]}),
            json!({"pools": [{"name": "a", "replicas": 2, "flavor": "m"}]}),
            json!({"pools": [{"name": "a", "replicas": 1}]}),
        ),
        // What the new release knows no more and the cluster has as the inventory says it goes.
        (json!({"old": 1, "b": 1}), json!({"old": 1, "b": 2}), json!({"b": 1}), json!({"b": 2})),
        // A type that changed meanwhile.
        (json!({"x": {"y": 1}}), json!({"x": "text"}), json!({"x": {"y": 1}}), json!({"x": "text"})),
    ] {
        assert_eq!(without_pending(&said, &took, &under_new), expected, "{said} {took} {under_new}");
    }
    assert_eq!(without_pending(&Value::Null, &Value::Null, &json!({"a": 1})), json!({"a": 1}));
}

const RECORD: &str = "apiVersion: capstan.dev/v1alpha1
kind: ClusterValues
metadata: {name: peu01}
definition: peu01
levels: {}
components: []
values: {region: eu}
digest: 219ae4c00f0744f509d6dec139a22f783ad49d242f888ec1ab3b1305598530a7
";

fn definition(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    )
}

/// What is said of a folder.
fn record_text(files: &[(&str, &str)], settings: &str, folder: &str) -> String {
    let tree = Files::new(files);
    let path = RepoPath::parse(".capstan.yaml").unwrap();
    let settings = RepositorySettings::read(&path, settings, &RuleIds::of_catalogue()).unwrap();
    let inventory = FleetInventory::read(&tree, &settings);
    let folder = RepoPath::parse(folder).unwrap();
    let record = match record_of(&tree, &folder) {
        Ok(record) => record,
        Err(error) => return format!("edited: {error}"),
    };
    match InventoryDefinition::of(inventory.as_ref(), &folder, record.as_ref()) {
        Ok(InventoryDefinition::Nothing) => "nothing".to_owned(),
        Ok(InventoryDefinition::Defined(object)) => {
            format!("{}{}", object.level, if object.retire.is_some() { " goes" } else { "" })
        }
        Err(InventoryGap::Unreadable { why, place }) => format!("unreadable: {why} ({place})"),
        Err(InventoryGap::Removed(finding)) => {
            format!("removed: {}", finding.message.split(':').next().unwrap())
        }
    }
}

#[test]
fn a_folder_is_its_definitions_wherever_that_would_put_it_now_and_never_anybodys_when_the_inventory_is_lost()
{
    let here = "inventory: {path: inventory}\n";
    let peu01 = definition("peu01", "folder: acme/peu01");
    let elsewhere = definition("peu01", "folder: beta/peu01");
    let by_pattern = definition("peu01", "in: {customer: beta}")
        + "---\napiVersion: capstan.dev/v1alpha1\nkind: Customer\nmetadata: {name: beta}\n";
    let retire = definition("peu01", "folder: acme/peu01, retire: true");
    let other = definition("peu02", "folder: acme/peu01");
    let at = "acme/peu01/capstan-values.yaml";
    let edited = RECORD.replace("eu}", "us}");
    for (inventory, settings, record, folder, expected) in [
        (peu01.as_str(), here, RECORD, "acme/peu01", "ClusterDefinition peu01"),
        (&peu01, here, "", "acme/peu01", "ClusterDefinition peu01"),
        (&peu01, here, "", "acme/other", "nothing"),
        // The pattern would put it elsewhere: its record says where it is.
        (&by_pattern, here, RECORD, "acme/peu01", "ClusterDefinition peu01"),
        (&by_pattern, here, "", "beta/peu01", "ClusterDefinition peu01"),
        (&retire, here, RECORD, "acme/peu01", "ClusterDefinition peu01 goes"),
        (
            &elsewhere,
            here,
            RECORD,
            "acme/peu01",
            "removed: acme/peu01 was made from the definition peu01, but the inventory no longer defines it",
        ),
        (
            &other,
            here,
            RECORD,
            "acme/peu01",
            "removed: acme/peu01 was made from the definition peu01, but ClusterDefinition peu02 would be in its folder",
        ),
        (
            "# nothing\n",
            here,
            RECORD,
            "acme/peu01",
            "unreadable: the inventory in `inventory` defines no cluster at all (inventory)",
        ),
        ("a: [\n", here, RECORD, "acme/peu01", "unreadable: the inventory cannot be read as a whole: "),
        ("a: [\n", here, "", "acme/peu01", "nothing"),
        (
            &peu01,
            "{}\n",
            RECORD,
            "acme/peu01",
            "removed: acme/peu01 was made from the definition peu01, but `.capstan.yaml` no longer names an inventory",
        ),
        (
            &peu01,
            here,
            &edited,
            "acme/peu01",
            "edited: acme/peu01/capstan-values.yaml:8:9: the digest does not match the values",
        ),
    ] {
        let mut files = vec![("inventory/all.yaml", inventory)];
        files.extend((!record.is_empty()).then_some((at, record)));
        let told = record_text(&files, settings, folder);
        assert!(told.starts_with(expected), "{inventory}\n{told}\n{expected}");
    }
}

fn inventory_of(text: &str) -> FleetInventory {
    let path = RepoPath::parse(".capstan.yaml").unwrap();
    let settings = "inventory: {path: inventory}\n";
    let settings = RepositorySettings::read(&path, settings, &RuleIds::of_catalogue()).unwrap();
    FleetInventory::read(&Files::new(&[("inventory/all.yaml", text)]), &settings).unwrap()
}

#[test]
fn what_is_said_of_a_folder_is_a_digest_or_why_nothing_can_be_said() {
    let folder = |text: &str| RepoPath::parse(text).unwrap();
    let here = inventory_of(&definition("peu01", "folder: acme/peu01"));
    let other = inventory_of(&definition("peu01", "folder: acme/peu01, values: {region: eu}"));
    let at = folder("acme/peu01");
    assert!(here.said_of(&at).is_some());
    assert_eq!(here.said_of(&at), here.said_of(&at));
    assert_ne!(here.said_of(&at), other.said_of(&at));
    assert_eq!(here.said_of(&folder("acme/peu02")), None);
    let lost = inventory_of("# nothing\n").said_of(&folder("acme/peu02"));
    assert_eq!(lost.as_deref(), Some("inventory: the inventory in `inventory` defines no cluster at all"));
}

#[test]
fn levels_have_as_many_clusters_as_definitions_name_them() {
    let level = |kind: &str, name: &str| {
        format!("---\napiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\n")
    };
    let text = definition("n1", "folder: acme/n1, in: {customer: acme}")
        + "---\n"
        + &definition("n2", "folder: acme/n2, in: {customer: acme}")
        + "---\n"
        + &definition("n3", "folder: beta/n3, in: {customer: beta}")
        + &level("Customer", "acme")
        + &level("Customer", "beta")
        + &level("Customer", "gamma");
    let of = |name: &str| ("Customer".to_owned(), name.to_owned());
    let (gamma, acme) = (of("gamma"), of("acme"));
    let totals = inventory_of(&text).totals([&gamma, &acme].into());
    assert_eq!(totals, [(of("acme"), 2), (of("gamma"), 0)]);
}

/// Of six clusters that an inventory defined, which cannot be read any more, each is one of six, and of its level's.
#[test]
fn who_changes_is_one_of_all_whatever_the_inventory_says_of_it_then() {
    use std::collections::{BTreeMap, BTreeSet};

    use capstan_model::ids::ClusterId;

    use super::{InventoryChange, InventoryOutlook, LevelReach, PlansOfCluster};

    let id = |at: usize| ClusterId::new(RepoPath::parse(&format!("acme/n{at}")).unwrap());
    let level = || ("Site".to_owned(), "fra1".to_owned());
    // How many are defined then, how many of those that change are not, how many change.
    for (defined, uncounted, changed, all) in [(0, 6, 6, 6), (3, 0, 3, 3), (3, 1, 2, 4), (3, 2, 0, 3)] {
        let clusters: Vec<ClusterId> = (0..changed.max(uncounted)).map(id).collect();
        let gone: BTreeSet<ClusterId> = (0..uncounted).map(id).collect();
        let plan = |at: usize| -> PlansOfCluster {
            if at < changed { vec![Err("the inventory cannot be read".to_owned())] } else { Vec::new() }
        };
        let after: BTreeMap<ClusterId, PlansOfCluster> =
            (0..clusters.len()).map(|at| (id(at), plan(at))).collect();
        let change = InventoryChange {
            all: defined,
            levels: clusters.iter().map(|cluster| (cluster.clone(), vec![level()])).collect(),
            totals: vec![(level(), defined)],
            uncounted: gone.clone(),
            without_level: gone,
            clusters,
            ..InventoryChange::default()
        };
        let outlook = InventoryOutlook::of(&change, &BTreeMap::new(), &after, |all| all);
        let reach = LevelReach { all, changed, blocked: changed, ..LevelReach::default() };
        assert_eq!(outlook.whole, reach);
        let of_level: Vec<_> = outlook.levels.into_iter().map(|(_, reach)| reach).collect();
        assert_eq!(of_level, if changed > 0 { vec![reach] } else { vec![] });
    }
}
