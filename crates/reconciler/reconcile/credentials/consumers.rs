//! Who works with a credential, as far as the management cluster shows it.

use capstan_live::cloud::worked_on;
use capstan_ports::{ApiKind, As, LiveError, ManagementCluster};
use capstan_reconciler_core::credentials::consumers::{GROUP, inside_of, of_provider};
use capstan_reconciler_core::credentials::{Consumer, CredentialSecret, CredentialSubject, Purpose};
use jiff::Timestamp;

/// Who works with the credential of a Secret; `seen_on` is what was seen inside of the cluster.
pub(super) async fn consumers(
    live: &dyn ManagementCluster,
    subject: &CredentialSubject,
    purpose: Purpose,
    (found, seen_on): (&CredentialSecret, Option<&String>),
    now: Timestamp,
) -> Result<Vec<Consumer>, LiveError> {
    match purpose {
        Purpose::ClusterApi => {
            let mut objects = Vec::new();
            for kind in worked_on() {
                let kind = ApiKind::preferred(GROUP, kind);
                // With the reconciler's own rights, with which it judges rollouts.
                objects.extend(live.list(&As::Reconciler, &kind, Some(&subject.namespace), &[]).await?);
            }
            Ok(of_provider(&objects, &subject.cluster, &found.written, now))
        }
        Purpose::Controllers => Ok(vec![inside_of(&subject.cluster, found, seen_on)]),
    }
}
