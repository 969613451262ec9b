//! Secrets that controllers trust by their name. Their content decides where Cluster API logs in, which keys it
//! signs with, and which certificate authorities it trusts.
//!
//! No overlay brings them, whichever cluster they are named after. A Secret that exists before its cluster is taken
//! as that cluster's. A kubeconfig among them holds inline data, or it is refused in base and overlay alike. With
//! `tokenFile` and a server of the author's choice, a controller would send its token to that server.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::fields::changed_at;
use super::fields::text;
use super::home::FolderHome;
use super::neighbours::NeighbourFolders;
use super::origin::BoundaryOrigin;
use super::outside::Beyond;
use super::references::named;
use crate::kubeconfig::InlineKubeconfig;
use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::{FieldPath, ObjectId};

/// What Cluster API and its providers look for beside a cluster: Secrets called `<cluster>-<this>`.
///
/// Source: `util/secret/consts.go` of Cluster API; `cca` and `token` are of the providers for K3s and RKE2,
/// `talosconfig` and `talos` of those for Talos, `user-kubeconfig` of EKS.
const PURPOSES: &[&str] = &[
    "apiserver-etcd-client",
    "ca",
    "cca",
    "etcd",
    "kubeconfig",
    "proxy",
    "sa",
    "talos",
    "talosconfig",
    "token",
    "user-kubeconfig",
];

/// Endings that no overlay gives a Secret, whether such a cluster is known or not. Those of Capstan's own are among them.
const RESERVED: &[&str] = &[
    "-apiserver-etcd-client",
    "-ca",
    "-cloud-config",
    "-cloud-controllers",
    "-etcd",
    "-host-keys",
    KUBECONFIG,
    "-proxy",
    "-sa",
];

/// Also of `-user-kubeconfig` and `-owners-kubeconfig`.
const KUBECONFIG: &str = "-kubeconfig";

/// Kinds that make a Secret of their own name.
const MAKE_SECRETS: &[&str] = &["ExternalSecret", "SealedSecret"];

/// Where an object says the name of a Secret that is made for it.
const MADE_AT: &[(&str, &str)] = &[
    ("ExternalSecret", "/spec/target/name"),
    ("VaultSecret", "/spec/secret/name"),
    ("Certificate", "/spec/secretName"),
];

/// The Secrets that an object brings: it is one, or one is made for it. With the field that says the name.
pub(super) fn brings(object: &RenderedObject) -> Vec<(&str, FieldPath)> {
    let id = &object.id;
    let at = MADE_AT.iter().filter(|(kind, _)| *kind == id.kind);
    let named =
        at.filter_map(|(_, pointer)| Some((text(&object.value, pointer)?, FieldPath::parse(pointer)?)));
    let mut found: Vec<(&str, FieldPath)> = named.collect();
    let is_secret = role_of(id) == Some(KindRole::Secret) || MAKE_SECRETS.contains(&id.kind.as_str());
    if is_secret {
        found.insert(0, (&id.name, FieldPath::of_keys(["metadata", "name"])));
    }
    found
}

/// What is known of such Secrets.
pub(super) struct Trusted<'a> {
    home: &'a FolderHome,
    /// The folders of other owners in the same namespaces.
    beside: NeighbourFolders<'a>,
    /// Secrets whose kubeconfigs the base has controllers use.
    kubeconfigs: BTreeSet<String>,
    /// What the base brings.
    base: BTreeSet<&'a ObjectId>,
}

impl<'a> Trusted<'a> {
    pub(super) fn of(
        rendered: &'a RenderedFolder,
        home: &'a FolderHome,
        beside: NeighbourFolders<'a>,
    ) -> Self {
        let base = rendered.base_objects();
        let used = base.iter().flat_map(named).filter(|named| named.is_kubeconfig());
        Self {
            home,
            beside,
            kubeconfigs: used.map(|named| named.name).collect(),
            base: base.iter().map(|object| &object.id).collect(),
        }
    }

    /// What is wrong with the Secrets that an object brings.
    pub(super) fn judge(
        &self,
        object: &RenderedObject,
        origin: BoundaryOrigin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        for (name, field) in brings(object) {
            if let Some((cluster, folder)) = self.named_after(name) {
                let (cluster, folder) = (cluster.to_owned(), folder.clone());
                outside(field, Beyond::NamedAfter { cluster, folder });
            } else if !matches!(origin, BoundaryOrigin::Base) && self.is_trusted(name) {
                let changed = changed_at(object, origin);
                let field = if changed.is_root() { field } else { changed };
                outside(field, Beyond::TrustedSecret { name: name.to_owned() });
            }
        }
        let is_secret = object.id.group.is_empty() && role_of(&object.id) == Some(KindRole::Secret);
        let name = &object.id.name;
        if is_secret && (name.ends_with(KUBECONFIG) || self.kubeconfigs.contains(name)) {
            for (field, read) in kubeconfigs(&object.value) {
                if let Err(why) = read {
                    outside(field, Beyond::Kubeconfig { why });
                }
            }
        }
    }

    fn is_trusted(&self, name: &str) -> bool {
        RESERVED.iter().any(|ending| name.ends_with(ending))
            || self.kubeconfigs.contains(name)
            || self.is_own_clusters(name)
    }

    /// Whether a Secret is one that controllers make for one of the folder's clusters.
    pub(super) fn is_own_clusters(&self, name: &str) -> bool {
        self.clusters_of(name).any(|cluster| self.home.clusters.contains(cluster))
    }

    /// The clusters that it may be named after.
    pub(super) fn clusters_of<'n>(&self, name: &'n str) -> impl Iterator<Item = &'n str> + use<'n> {
        PURPOSES.iter().filter_map(move |purpose| name.strip_suffix(purpose)?.strip_suffix('-'))
    }

    /// The other folder's cluster that a Secret is named after. `prod-user-kubeconfig` is that of EKS for `prod`, and
    /// everybody's for `prod-user`: where both are there, it is the longer name's, which has no other.
    pub(super) fn named_after<'n>(&self, name: &'n str) -> Option<(&'n str, &'a ClusterId)> {
        let is_own = |cluster: &str| self.home.clusters.contains(cluster);
        let is_known = |cluster: &&str| is_own(cluster) || self.beside.with_cluster(cluster).is_some();
        let known = self.clusters_of(name).filter(is_known);
        let longest = known.max_by_key(|cluster| cluster.len()).filter(|cluster| !is_own(cluster))?;
        Some((longest, self.beside.with_cluster(longest)?))
    }

    /// Whether an overlay may have controllers use the kubeconfig in a Secret: that of one of the folder's clusters, or one
    /// that the base brings or uses. Of clusters that a chart makes the base alone can know.
    pub(super) fn is_own_kubeconfig(&self, namespace: Option<&str>, name: &str) -> bool {
        let of_cluster = ["-kubeconfig", "-user-kubeconfig"].iter().any(|purpose| {
            name.strip_suffix(purpose).is_some_and(|cluster| self.home.clusters.contains(cluster))
        });
        let brought = |id: &&ObjectId| {
            role_of(id) == Some(KindRole::Secret) && id.name == name && id.namespace.as_deref() == namespace
        };
        of_cluster || self.kubeconfigs.contains(name) || self.base.iter().any(brought)
    }
}

/// The values of a Secret, read as kubeconfigs.
fn kubeconfigs(secret: &Value) -> Vec<(FieldPath, Result<(), String>)> {
    let read = |text: &str| InlineKubeconfig::read(text).map(drop).map_err(|why| why.to_string());
    let entries = |field: &str| secret.get(field).and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let plain = entries("stringData").map(|(key, value)| {
        (
            FieldPath::of_keys(["stringData", key]),
            value.as_str().map_or_else(|| Err(NO_TEXT.to_owned()), read),
        )
    });
    let encoded = entries("data").map(|(key, value)| {
        let bytes = value.as_str().and_then(|text| {
            let letters: String = text.split_whitespace().collect();
            String::from_utf8(STANDARD.decode(letters).ok()?).ok()
        });
        (FieldPath::of_keys(["data", key]), bytes.map_or_else(|| Err(NO_TEXT.to_owned()), |text| read(&text)))
    });
    plain.chain(encoded).collect()
}

const NO_TEXT: &str = "it is not text";
