//! Which control plane workers belong to: the one whose API servers their kubelets talk to.

use std::collections::HashMap;

use super::references::{Reference, fits, references};
use capstan_model::kinds::names::CLUSTER_NAME_LABEL;
use capstan_model::kinds::{VersionRole, is_cluster, version_fields};
use capstan_model::object::ObjectId;
use capstan_yaml::Readable;

/// An object and its content.
type NamedContent<'n, T> = (&'n ObjectId, &'n T);

/// The control planes among some objects, and the Clusters that have them.
pub struct ControlPlanes<'n, T> {
    clusters: HashMap<&'n str, Vec<PlaneOwner<'n, T>>>,
    planes: Vec<Plane<'n, T>>,
    by_name: HashMap<&'n str, Vec<NamedContent<'n, T>>>,
}

struct PlaneOwner<'n, T> {
    id: &'n ObjectId,
    /// Itself, where its topology makes the control plane.
    own: Option<NamedContent<'n, T>>,
    reference: Option<Reference<'n>>,
}

struct Plane<'n, T> {
    known: NamedContent<'n, T>,
    /// The Cluster whose it is, where it says that.
    cluster: Option<&'n str>,
}

impl<'n, T: Readable> ControlPlanes<'n, T> {
    /// Among these objects.
    pub fn of(objects: impl Iterator<Item = (&'n ObjectId, &'n T)>) -> Self {
        let mut found = Self { clusters: HashMap::new(), planes: Vec::new(), by_name: HashMap::new() };
        for known @ (id, root) in objects {
            let is_owner = is_cluster(id);
            let is_plane = if is_owner {
                root.field("spec").and_then(|spec| spec.field("topology")).is_some()
            } else {
                version_fields(&id.group, &id.kind).any(|(role, _)| role == VersionRole::ControlPlane)
            };
            if is_owner {
                let named = references(&id.group, &id.kind, root).into_iter();
                let reference =
                    named.into_iter().find(|one| one.path.to_string() == "/spec/controlPlaneRef/name");
                let owner = PlaneOwner { id, own: is_plane.then_some(known), reference };
                found.clusters.entry(&id.name).or_default().push(owner);
            }
            if is_plane {
                let labels = || root.field("metadata")?.field("labels");
                let label = || labels()?.field(CLUSTER_NAME_LABEL)?.text();
                let cluster = if is_owner { Some(id.name.as_str()) } else { label() };
                found.planes.push(Plane { known, cluster });
                found.by_name.entry(&id.name).or_default().push(known);
            }
        }
        found
    }

    /// What says the version of the control plane of these workers: the Cluster that they name, where it has a topology, and
    /// what its `controlPlaneRef` names. Where neither is among the objects, nothing does. Of a Cluster that is not
    /// among the objects, or that names no control plane, it is the only one there is.
    pub fn of_workers(&self, id: &ObjectId, root: &T) -> Vec<(&'n ObjectId, &'n T)> {
        let namespace = id.namespace.as_deref();
        let is_near = |other: &ObjectId| fits(namespace, other.namespace.as_deref());
        let named = root.field("spec").and_then(|spec| spec.field("clusterName")).and_then(T::text);
        let mut clusters = named.and_then(|name| self.clusters.get(name)).into_iter().flatten();
        if let Some(owner) = clusters.find(|owner| is_near(owner.id))
            && (owner.own.is_some() || owner.reference.is_some())
        {
            let referenced = owner.reference.as_ref().and_then(|reference| {
                let mut all = self.by_name.get(reference.name)?.iter();
                all.find(|(id, _)| reference.means(owner.id.namespace.as_deref(), id)).copied()
            });
            return owner.own.into_iter().chain(referenced).collect();
        }
        let is_its = |plane: &&Plane<'n, T>| {
            is_near(plane.known.0) && (named.is_none() || plane.cluster.is_none() || plane.cluster == named)
        };
        let mut all = self.planes.iter().filter(is_its).map(|plane| plane.known);
        all.next().filter(|_| all.next().is_none()).into_iter().collect()
    }
}
