//! Who works with a credential, as far as the management cluster shows it.

use capstan_live::cloud::secret_of;
use capstan_live::live_objects::{MANAGER, identity};
use capstan_model::kinds::{KindReader, names};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::purpose::Purpose;
use super::secret::CredentialSecret;
use super::step::{Consumer, CredentialRecord};

/// The API group of what Cluster API's providers work on with a cluster's credential.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// The longest that one reconciliation of the provider lasts: a status that is written later is of one that read the
/// current Secret.
const RECONCILIATION: SignedDuration = SignedDuration::from_mins(2);

/// The provider reads the Secret whenever it reconciles an object, and reconciles each every ten minutes
/// (`--sync-period`). One that was away for all that time reads it when it comes back.
const TAKEN_UP: SignedDuration = SignedDuration::from_hours(1);

/// Who works with the credential inside of the cluster, as far as somebody said, or it was seen.
pub fn inside_of(cluster: &str, found: &CredentialSecret, seen_on: Option<&String>) -> Consumer {
    Consumer {
        what: format!("the cloud's controller and storage driver in {cluster}"),
        // What somebody says counts before what was seen.
        on: found.in_use.clone().or_else(|| seen_on.cloned()),
    }
}

/// The objects among these that the provider works on with the credential of a cluster's Secret.
pub fn of_provider(
    objects: &[Value],
    cluster: &str,
    written: &CredentialRecord,
    now: Timestamp,
) -> Vec<Consumer> {
    let is_taken_up = written.issued_at.saturating_add(TAKEN_UP).is_ok_and(|then| now >= then);
    let begun = written.issued_at.saturating_add(RECONCILIATION).unwrap_or(Timestamp::MAX);
    let secret = Purpose::ClusterApi.secret_name(cluster);
    let those = objects.iter().filter(|object| works_with(object, &secret, cluster));
    let consumer = |object: &Value| {
        let is_on = is_taken_up || reconciled_at(object).is_some_and(|at| at >= begun);
        let mut what = identity(object).map(|id| id.to_string()).unwrap_or_default();
        if let Some(why) = unread(object) {
            what = format!("{what} (its Secret is unknown: {why})");
        }
        Consumer { what, on: is_on.then(|| written.current.clone()) }
    };
    those.map(consumer).collect()
}

/// Why nothing is read of an object: its version.
fn unread(object: &Value) -> Option<String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let api_version = KindReader::CloudCredentials.unread(kind, object["apiVersion"].as_str())?;
    Some(KindReader::CloudCredentials.describe_unread(kind, api_version))
}

/// Whether an object names the Secret, or names none and uses its cluster's. If what it names cannot be read, it counts
/// as its cluster's.
fn works_with(object: &Value, secret: &str, cluster: &str) -> bool {
    let named = secret_of(object).filter(|_| unread(object).is_none());
    let of_cluster =
        object.pointer("/metadata/labels").and_then(|labels| labels.get(names::CLUSTER_NAME_LABEL));
    named.map_or(of_cluster.and_then(Value::as_str) == Some(cluster), |named| named == secret)
}

/// When another manager last wrote its status: that is its controller.
fn reconciled_at(object: &Value) -> Option<Timestamp> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let by_controller =
        entries.iter().filter(|entry| entry["manager"] != MANAGER && entry["subresource"] == "status");
    by_controller.filter_map(|entry| entry["time"].as_str()?.parse().ok()).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_live::cloud::worked_on;
    use serde_json::json;

    fn object(api_version: &str, kind: &str, secret: &str, cluster: &str) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"labels": {names::CLUSTER_NAME_LABEL: cluster}},
            "spec": {"identityRef": {"name": secret}}})
    }

    #[test]
    fn what_is_read_is_what_the_table_says() {
        for known in KindReader::CloudCredentials.known() {
            for kind in known.kinds {
                assert!(worked_on().any(|known| known == *kind), "nobody reads {kind}");
                for version in known.versions {
                    let of = |secret, cluster| {
                        object(&format!("{}/{version}", known.group), kind, secret, cluster)
                    };
                    assert!(works_with(&of("peu01-cloud-config", "other"), "peu01-cloud-config", "peu01"));
                    assert!(!works_with(&of("mine", "peu01"), "peu01-cloud-config", "peu01"));
                    assert_eq!(unread(&of("mine", "peu01")), None);
                }
                let next = object(&format!("{}/v9", known.group), kind, "mine", "peu01");
                assert!(
                    works_with(&next, "peu01-cloud-config", "peu01"),
                    "its cluster's, as long as nobody can tell"
                );
                assert!(unread(&next).unwrap().contains("/v9` is not read here"), "{kind}");
            }
        }
    }
}
