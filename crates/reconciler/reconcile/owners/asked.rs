//! Who the owners of a cluster are, as Git says.

use std::sync::Arc;

use capstan_fleet::generator::Refused;
use capstan_model::ids::ClusterId;
use capstan_plan::settings::{ClusterSettings, Recipient};
use capstan_reconciler_core::owners::OwnersRequest;
use capstan_reconciler_core::resources::KeyRecipient;

use super::sealed;
use crate::reconcile::blocking::where_blocking_is_allowed;
use crate::reconcile::revision::Revision;

/// What a cluster's `capstan.yaml` says of its owners.
pub(super) async fn asked(revision: &Revision, id: &ClusterId) -> Result<OwnersRequest, Refused> {
    let (tree, of) = (Arc::clone(&revision.fleet), id.clone());
    where_blocking_is_allowed(move || {
        let ClusterSettings { owners, access, .. } = tree.own_settings(&of)?;
        let mut asked = OwnersRequest { access, ..OwnersRequest::default() };
        for owner in owners {
            let name = owner.name.to_string();
            match Recipient::parse(&owner.key) {
                Ok(recipient) if !sealed::is_broken(&recipient) => {
                    let (fingerprint, key) = (recipient.fingerprint().to_owned(), recipient.key().to_owned());
                    asked.owners.push((KeyRecipient { name, fingerprint, key: Some(key) }, recipient));
                }
                Ok(_) => asked.unusable.push(format!("`{name}`: its key is broken")),
                Err(why) => asked.unusable.push(format!("`{name}`: {why}")),
            }
        }
        Ok(asked)
    })
    .await
}
