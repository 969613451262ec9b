//! Who works with a credential, as far as it can be told from the management cluster.

use capstan_live::credentials::{Consumer, Written};
use capstan_live::live_objects::{MANAGER, identity};
use capstan_model::kinds::names;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::asked::Subject;
use super::purpose::Purpose;
use super::secret::Found;
use crate::app::ports::{ApiKind, As, LiveError, ManagementCluster};

/// What Cluster API's OpenStack provider works on with the credential of an `identityRef`.
const KINDS: [&str; 3] = [names::OPENSTACK_CLUSTER, names::OPENSTACK_MACHINE, names::OPENSTACK_SERVER];
const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// The longest that one reconciliation of the provider lasts: who writes later has begun with the Secret as it is.
const RECONCILIATION: SignedDuration = SignedDuration::from_mins(2);

/// The provider reads the Secret whenever it reconciles an object, and reconciles each every ten minutes
/// (`--sync-period`). One that was away for all that time reads it when it comes back.
const TAKEN_UP: SignedDuration = SignedDuration::from_hours(1);

/// Who works with the credential of a Secret; `seen_on` is what was seen inside of the cluster.
pub(super) async fn consumers(
    live: &dyn ManagementCluster,
    subject: &Subject,
    purpose: Purpose,
    (found, seen_on): (&Found, Option<&String>),
    now: Timestamp,
) -> Result<Vec<Consumer>, LiveError> {
    match purpose {
        Purpose::ClusterApi => of_provider(live, subject, &found.written, now).await,
        Purpose::Controllers => Ok(vec![Consumer {
            what: format!("the cloud's controller and storage driver in {}", subject.cluster),
            // What somebody says counts before what was seen.
            on: found.in_use.clone().or_else(|| seen_on.cloned()),
        }]),
    }
}

async fn of_provider(
    live: &dyn ManagementCluster,
    subject: &Subject,
    written: &Written,
    now: Timestamp,
) -> Result<Vec<Consumer>, LiveError> {
    let is_taken_up = written.issued_at.saturating_add(TAKEN_UP).is_ok_and(|then| now >= then);
    let begun = written.issued_at.saturating_add(RECONCILIATION).unwrap_or(Timestamp::MAX);
    let secret = Purpose::ClusterApi.secret_name(&subject.cluster);
    let mut found = Vec::new();
    for kind in KINDS {
        let kind = ApiKind::preferred(GROUP, kind);
        // With the reconciler's own rights, with which it judges rollouts.
        let listed = live.list(&As::Reconciler, &kind, Some(&subject.namespace), &[]).await?;
        for object in listed.iter().filter(|object| works_with(object, &secret, &subject.cluster)) {
            let is_on = is_taken_up || reconciled_at(object).is_some_and(|at| at >= begun);
            found.push(Consumer {
                what: identity(object).map(|id| id.to_string()).unwrap_or_default(),
                on: is_on.then(|| written.current.clone()),
            });
        }
    }
    Ok(found)
}

/// Whether an object names the Secret, or names none and takes its cluster's.
fn works_with(object: &Value, secret: &str, cluster: &str) -> bool {
    let named = object.pointer("/spec/identityRef/name").and_then(Value::as_str);
    let of_cluster =
        object.pointer("/metadata/labels").and_then(|labels| labels.get(names::CLUSTER_NAME_LABEL));
    named.map_or(of_cluster.and_then(Value::as_str) == Some(cluster), |named| named == secret)
}

/// When somebody else wrote its status last: that is its controller.
fn reconciled_at(object: &Value) -> Option<Timestamp> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let by_controller =
        entries.iter().filter(|entry| entry["manager"] != MANAGER && entry["subresource"] == "status");
    by_controller.filter_map(|entry| entry["time"].as_str()?.parse().ok()).max()
}
