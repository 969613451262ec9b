//! Bare-metal hosts and what tenants have of them: the platform team's.
//!
//! A folder that brings a host, or requests one, decides about the hardware of all tenants. The Secrets that a host
//! names are as critical: the credentials of its management controller give full control of the host.

use std::collections::HashSet;

use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::ObjectId;

use super::fields::text;

/// The group of `SIPCluster`.
pub(super) const SIP_GROUP: &str = "airship.airshipit.org";
/// The group of `BareMetalHost`.
pub(super) const METAL3_GROUP: &str = "metal3.io";
/// What they are.
pub(super) const WHAT: &str = "bare-metal hosts, SIPClusters, and their Secrets";

/// Fields of these groups' objects that name Secrets in the object's own namespace.
const NAMED_AT: [&str; 8] = [
    "/spec/bmc/credentialsName",
    "/spec/networkData/name",
    "/spec/userData/name",
    "/spec/metaData/name",
    "/spec/preprovisioningNetworkDataName",
    "/spec/services/auth/caSecret",
    "/spec/services/auth/connectorsSecret",
    "/spec/credentials/name",
];

pub(super) struct HostSecrets<'a>(HashSet<(Option<&'a str>, &'a str)>);

impl<'a> HostSecrets<'a> {
    /// Those that a render's hosts and SIPClusters name.
    pub(super) fn of(rendered: &'a RenderedFolder) -> Self {
        let of_hosts =
            |object: &&RenderedObject| [SIP_GROUP, METAL3_GROUP].contains(&object.id.group.as_str());
        let named = rendered.objects.iter().filter(of_hosts).flat_map(|object| {
            let namespace = object.id.namespace.as_deref();
            let jump_hosts = object.value.pointer("/spec/services/jumpHost").and_then(|list| list.as_array());
            let keys = jump_hosts.into_iter().flatten().filter_map(|one| text(one, "/nodeSSHPrivateKeys"));
            let fields = NAMED_AT.iter().filter_map(|pointer| text(&object.value, pointer));
            fields.chain(keys).map(move |name| (namespace, name))
        });
        Self(named.collect())
    }

    /// Whether an object is one of them.
    pub(super) fn hold(&self, id: &ObjectId) -> bool {
        role_of(id) == Some(KindRole::Secret) && self.0.contains(&(id.namespace.as_deref(), id.name.as_str()))
    }
}
