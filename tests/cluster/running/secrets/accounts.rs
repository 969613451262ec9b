//! Several Fleets of one management cluster, each with its own account: a VaultSecret is read as the account of the
//! Fleet that applied it.

use capstan_live::applying::AppliedInventory;
use capstan_model::object::ObjectId;
use capstan_reconciler::reconcile::ports::{ClusterKey, ClusterRecord, FleetKey, FleetRecord};
use capstan_reconciler::reconcile::resources::{ManagedClusterSpec, ManagedClusterStatus};
use serde_json::json;

use super::town::Town;
use super::vault::CANARY;
use crate::running::world::id;

/// The second Fleet, with the account `second-applier`.
fn second(town: &Town) -> FleetRecord {
    let mut fleet = town.world.fleet.lock().unwrap().clone();
    fleet.key = FleetKey { name: "second".to_owned(), ..fleet.key };
    fleet.spec.service_account.name = "second-applier".to_owned();
    fleet
}

/// A folder of a Fleet's that has brought these, and a ConfigMap into `org-beta`.
fn brings(fleet: &FleetRecord, secrets: &[&str]) -> ClusterRecord {
    let mut inventory = AppliedInventory::default();
    let mut intend = |group: &str, kind: &str, namespace: &str, name: &str| {
        let id = ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        };
        inventory.intend(&id, "v1alpha1", name);
    };
    secrets.iter().for_each(|name| intend("capstan.dev", "VaultSecret", "org-acme", name));
    intend("", "ConfigMap", "org-beta", "notes");
    let cluster = format!("{}/peu01", fleet.key.name);
    ClusterRecord {
        key: ClusterKey { namespace: fleet.key.namespace.clone(), name: format!("{}-peu01", fleet.key.name) },
        uid: "u".to_owned(),
        resource_version: "1".to_owned(),
        generation: 1,
        spec: ManagedClusterSpec::of(&id(&cluster), &fleet.key.name),
        status: ManagedClusterStatus { inventory, ..ManagedClusterStatus::default() },
        reconcile_requested: false,
    }
}

#[tokio::test]
async fn each_vault_secret_is_read_as_the_account_of_the_fleet_that_brought_it() {
    let town = Town::new().await;
    for namespace in ["org-acme", "org-beta"] {
        town.vault.put(&format!("kv/{namespace}/fra1"), json!({"clouds": format!("{CANARY}-{namespace}")}));
        town.vault.state().roles.get_mut(&format!("capstan-{namespace}")).unwrap().account = "*".to_owned();
    }
    let fleet = second(&town);
    {
        let mut posted = town.world.status_store.posted();
        let record = brings(&fleet, &["theirs"]);
        posted.clusters.insert(record.key.name.clone(), record);
        posted.fleets.push(fleet.clone());
    }
    town.put_field("org-acme", "nobodys", "org-acme/fra1", None);
    town.put_field("org-acme", "theirs", "org-acme/fra1", None);
    town.put_field("org-beta", "beside", "org-beta/fra1", None);
    town.pass().await;
    for name in ["nobodys", "theirs", "beside"] {
        assert_eq!(town.condition(name), "True Resolved", "{}", town.message(name));
    }
    let accounts = || {
        let mut accounts = std::mem::take(&mut town.vault.state().accounts);
        accounts.sort();
        accounts
    };
    // Nobody brought `nobodys`, and somebody applies in its namespace: that Fleet. In org-beta there is the second one alone.
    assert_eq!(accounts(), ["org-acme/second-applier", "org-beta/second-applier"]);
    // The first Fleet has brought one, too: each has a login of its own in that namespace.
    let first = town.world.fleet.lock().unwrap().clone();
    let record = brings(&first, &["ours"]);
    town.world.status_store.posted().clusters.insert(record.key.name.clone(), record);
    town.put_field("org-acme", "ours", "org-acme/fra1", None);
    town.pass().await;
    assert_eq!(town.condition("ours"), "True Resolved", "{}", town.message("ours"));
    assert_eq!(accounts(), ["org-acme/capstan-applier"]);
}
