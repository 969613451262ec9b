//! How the objects of a kind of cloud are read: what a row of the table says.
//!
//! It knows what Cluster API's provider for that cloud, and whatever else makes things in it from objects, ask for. The
//! sums and messages are the same for all clouds.

use capstan_kustomize::render::RenderedObject;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Value;

use super::brought::{CloudObjectNeeds, ControllerObject};
use super::identity::Identity;
use super::machine::Machine;
use super::new_cluster::NewCluster;
use super::words::Words;
use crate::live_objects::LiveObjects;

/// One row.
pub(super) trait CloudReader: Sync {
    /// What people call things there.
    fn words(&self) -> &'static Words;
    /// The kind of a cluster's infrastructure.
    fn cluster(&self) -> &'static str;
    /// The kind of a machine template.
    fn machine_template(&self) -> &'static str;
    /// Whether an object is one of the provider's.
    fn is_of_provider(&self, id: &ObjectId) -> bool;
    /// With whose credential a cluster is made, and the field that says so; `None` where it names none, or its version is
    /// not read.
    fn identity(&self, cluster: &RenderedObject) -> Option<(Identity, FieldPath)>;
    /// What a new cluster needs besides machines; `None` where its version is not read.
    fn new_cluster(&self, cluster: &RenderedObject) -> Option<NewCluster>;
    /// What a machine template asks for; of one whose version is not read, nothing but its name.
    fn machine(&self, template: &ObjectId, value: &Value) -> Option<Machine>;
    /// The field of a machine template that names a credential of its own.
    fn identity_of_machine(&self) -> FieldPath;
    /// Whether an object makes something in the cloud other than a machine.
    fn is_brought(&self, _id: &ObjectId) -> bool {
        false
    }
    /// With whose credential such an object is made, the field that says so, and what it takes; `None` where it takes
    /// nothing, the cloud has it, or its version is not read.
    fn brought(
        &self,
        _object: &RenderedObject,
        _live: &LiveObjects,
    ) -> Option<(Identity, FieldPath, CloudObjectNeeds)> {
        None
    }
    /// What an object makes, so that the cloud need not have it before the merge.
    fn made(&self, _object: &RenderedObject) -> Option<ControllerObject> {
        None
    }
    /// The kinds that the provider works on with a cluster's own credential, of the group
    /// `infrastructure.cluster.x-k8s.io`.
    fn works_on(&self) -> &'static [&'static str] {
        &[]
    }
    /// The Secret that such an object names, where it names one itself.
    fn secret_of<'v>(&self, _object: &'v Value) -> Option<&'v str> {
        None
    }
    /// The message for an object whose version is not read.
    fn unread(&self, _object: &Value) -> Option<String> {
        None
    }
}
