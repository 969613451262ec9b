//! The table of kinds: what objects of a kind are for a cluster, where their version of Kubernetes stands,
//! what an edit of one does, when it is applied, and what is lost with it. Merge, releases, templates, rules,
//! rollouts and applying all ask here, so that a kind which one of them knows is known to all.
//!
//! | file | owns |
//! |---|---|
//! | [`names`] | names of kinds, for whoever looks objects up by them |
//! | [`table`] | the rows, with their sources |
//! | [`templates`] | those of templates |
//!
//! A row is found by API group and kind; the first that fits counts. What only the Cluster can tell (which
//! object is its infrastructure, its control plane) is read from its references (`capstan_plan::templates`).
//!
//! Deliberately absent: which fields of a kind name others (`capstan_plan::templates`), replace machines
//! (`capstan_live::rollout`), are lists or have other shapes (`capstan_kustomize::schema`, `capstan_kustomize::conversion`), and the kinds
//! of Flux, Helm, Argo CD and kustomize.

pub mod names;
#[cfg(test)]
mod one_table_tests;
mod table;
mod templates;
#[cfg(test)]
mod tests;

use self::table::TABLES;
use crate::object::{FieldPath, ObjectId};

/// What objects of a kind are for a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KindRole {
    /// The `Cluster`; with a topology its version is that of all its machines.
    Cluster,
    /// What Clusters with a topology are made from.
    Class,
    /// A control plane, and who runs its machines.
    ControlPlane(Machines),
    /// What makes worker machines.
    Workers(Workers),
    /// One machine.
    Machine,
    /// The infrastructure of a MachinePool, and who runs its instances.
    Pool(Machines),
    /// The infrastructure of one machine.
    MachineInfrastructure,
    /// The infrastructure of a cluster.
    InfrastructureCluster,
    /// A template: of machines, of their bootstrap configs, of what a class is made of.
    Template,
    /// A template that other templates name.
    DataTemplate,
    /// The bootstrap config of one machine or of one MachinePool.
    BootstrapConfig,
    /// Tells which machines are unhealthy.
    HealthCheck,
    /// Brings ConfigMaps and Secrets into the cluster.
    ResourceSet,
    /// Credentials of an infrastructure provider.
    Identity,
    /// Kubernetes' own.
    Namespace,
    /// Kubernetes' own.
    ConfigMap,
    /// Kubernetes' own.
    Secret,
    /// Kubernetes' own.
    ServiceAccount,
    /// Something that one of the others is made of.
    Part,
}

impl KindRole {
    /// Whether machines go with an object: those it is, makes or runs.
    pub const fn has_machines(self) -> bool {
        matches!(self, Self::Cluster | Self::ControlPlane(_)) || self.is_worker()
    }

    /// Whether an object is a machine beside the control plane, or makes such.
    pub const fn is_worker(self) -> bool {
        matches!(self, Self::Workers(_) | Self::Machine)
    }
}

/// Who runs machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Machines {
    /// They are the cluster's own: an upgrade replaces them.
    Own,
    /// A provider does, by its own rules, or they are no machines at all.
    Provider,
}

/// What makes worker machines, by how it replaces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workers {
    /// By a new MachineSet beside the old one.
    Deployment,
    /// Not at all.
    Set,
    /// As the infrastructure provider does.
    Pool,
}

/// Whose version a field says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VersionRole {
    /// Machines' beside a control plane.
    Workers,
    /// The control plane's, or a whole topology's.
    ControlPlane,
}

/// What an edit of an object does to machines (U12, in `capstan_plan::templates`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Treatment {
    /// A change needs a new object with a new name.
    Rotate,
    /// May be edited in place; machines roll.
    MutableAndRolls,
    /// May be edited in place; nothing rolls.
    MutableSilent,
    /// Named by a ClusterClass only: rotated together with the class, never alone.
    Never,
}

/// A part of a cluster, in the order of applying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Namespaces.
    Namespaces,
    /// Identities, Secrets, ConfigMaps, service accounts and their rights.
    Credentials,
    /// Templates, classes, and the cluster's own infrastructure.
    Templates,
    /// The `Cluster` and its control plane.
    ControlPlane,
    /// Everything that is no machine: health checks, add-ons, apps.
    AddOns,
    /// Machines beside the control plane.
    Workers,
}

/// What is lost with an object, and hence how it may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The cluster: no release takes it away.
    Cluster,
    /// The cluster, where a `Cluster` names the object, or none is at hand to say.
    ClusterIfNamed,
    /// Whatever depends on it, machines among it: it goes with a tombstone alone.
    Unknown,
    /// Other folders may use a class. One that a rotation left behind goes like a template.
    Class,
    /// Nothing, where nothing names it and every machine is as wished: it goes by itself.
    Template,
    /// Nothing, where nothing names it.
    WhileNamed,
    /// Nothing: it goes by itself.
    Nothing,
}

/// Keys from an object's root to a field.
pub type Keys = &'static [&'static str];

/// What the table says of some kinds.
struct Row {
    groups: Groups,
    /// Names; one that begins with `*` fits every kind that ends so.
    kinds: &'static [&'static str],
    role: KindRole,
    /// Where the version stands. Several spell the same thing in several versions of the API.
    versions: &'static [Keys],
    /// What an edit does; `None` where who names the object tells, or nothing needs telling.
    edit: Option<Treatment>,
    /// When it is applied, and its turn in that stage.
    stage: (Stage, u8),
    loss: Loss,
}

/// The API groups of a row.
enum Groups {
    /// These.
    Are(&'static [&'static str]),
    /// `cluster.x-k8s.io` and everything below it, where Cluster API's providers have their kinds.
    Providers,
    /// Whatever it is.
    All,
}

impl Row {
    fn fits_group(&self, group: &str) -> bool {
        match self.groups {
            Groups::Are(groups) => groups.contains(&group),
            Groups::Providers => is_cluster_api(group),
            Groups::All => true,
        }
    }

    fn fits_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|pattern| fits(pattern, kind))
    }

    /// Whether the kind alone says enough: a whole group's row needs the group.
    fn is_told_by_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|pattern| *pattern != "*" && fits(pattern, kind))
    }

    const fn version_role(&self) -> VersionRole {
        match self.role {
            KindRole::Cluster | KindRole::ControlPlane(_) => VersionRole::ControlPlane,
            _ => VersionRole::Workers,
        }
    }
}

fn fits(pattern: &str, kind: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(ending) => kind.ends_with(ending),
        None => kind == pattern,
    }
}

fn rows() -> impl Iterator<Item = &'static Row> {
    TABLES.iter().flat_map(|rows| rows.iter())
}

/// Whether a group is Cluster API's or one of its providers'.
pub fn is_cluster_api(group: &str) -> bool {
    group.strip_suffix("cluster.x-k8s.io").is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

fn row(group: &str, kind: &str) -> Option<&'static Row> {
    rows().find(|row| row.fits_group(group) && row.fits_kind(kind))
}

/// The same for a fragment or a reference that may not say its group.
fn row_of_fragment(group: Option<&str>, kind: &str) -> Option<&'static Row> {
    match group {
        Some(group) => row(group, kind),
        None => rows().find(|row| row.is_told_by_kind(kind)),
    }
}

/// What objects of a kind are for a cluster; `None` for kinds that are none of a cluster's parts.
pub fn role(group: &str, kind: &str) -> Option<KindRole> {
    row(group, kind).map(|row| row.role)
}

/// The same for a fragment, which may not say its group.
pub fn role_of_fragment(group: Option<&str>, kind: &str) -> Option<KindRole> {
    row_of_fragment(group, kind).map(|row| row.role)
}

/// What an object is for a cluster.
pub fn role_of(id: &ObjectId) -> Option<KindRole> {
    role(&id.group, &id.kind)
}

/// Whether an object is a `Cluster`.
pub fn is_cluster(id: &ObjectId) -> bool {
    role_of(id) == Some(KindRole::Cluster)
}

/// Whether an object is a ClusterClass.
pub fn is_class(id: &ObjectId) -> bool {
    role_of(id) == Some(KindRole::Class)
}

/// Whether an object is a template, of a kind that is known or not.
pub fn is_template(id: &ObjectId) -> bool {
    matches!(role_of(id), Some(KindRole::Template | KindRole::DataTemplate))
}

/// Whether an object makes machines beside the control plane: MachineDeployments, MachineSets, MachinePools.
pub fn is_workers(id: &ObjectId) -> bool {
    matches!(role_of(id), Some(KindRole::Workers(_)))
}

/// Whether machines go with an object.
pub fn has_machines(id: &ObjectId) -> bool {
    role_of(id).is_some_and(KindRole::has_machines)
}

/// Whether an object describes machines' infrastructure, where images live (U9, in
/// `capstan_plan::merge::step_group`): templates, and the infrastructure of MachinePools and Machines.
pub fn bears_images(id: &ObjectId) -> bool {
    id.group == "infrastructure.cluster.x-k8s.io"
        && matches!(
            role_of(id),
            Some(
                KindRole::Template
                    | KindRole::DataTemplate
                    | KindRole::Pool(_)
                    | KindRole::MachineInfrastructure
            )
        )
}

/// Whether a provider runs the instances of a MachinePool whose infrastructure is of this kind.
pub fn is_managed_pool(kind: &str) -> bool {
    role_of_fragment(None, kind) == Some(KindRole::Pool(Machines::Provider))
}

/// What an edit of objects of a kind does; `None` for a kind that is not listed (one that is a template, and
/// whose owners and shape do not tell either, is the finding `unknown-template`). A reference may not say its
/// group.
pub fn treatment(group: Option<&str>, kind: &str) -> Option<Treatment> {
    row_of_fragment(group, kind)?.edit
}

/// When objects of a kind are applied, and their turn in that stage, as far as the kind tells.
pub fn stage(id: &ObjectId) -> Option<(Stage, u8)> {
    row(&id.group, &id.kind).map(|row| row.stage)
}

/// What is lost with an object.
pub fn loss(id: &ObjectId) -> Loss {
    row(&id.group, &id.kind).map_or(Loss::Unknown, |row| row.loss)
}

/// The kind of what a template of this kind makes, by Cluster API's convention.
pub fn made_from(template: &str) -> &str {
    template.strip_suffix("Template").unwrap_or(template)
}

/// Whether objects of a kind, or what is made from them, configure machines from inside.
pub fn is_config(kind: &str) -> bool {
    succession(made_from(kind)) == "Config"
}

/// What kinds are for, whatever their group: objects of one such role take one another's place.
const SUCCESSORS: [&str; 8] = [
    "RemediationTemplate",
    "MachineTemplate",
    "ConfigTemplate",
    "ClusterTemplate",
    "ControlPlane",
    "MachinePool",
    "Config",
    "Cluster",
];

/// By what objects of a kind take one another's place (U2, in `capstan_plan::merge::matching`): the ending that tells
/// what it is for; a kind of no known ending is one by itself.
pub fn succession(kind: &str) -> &str {
    SUCCESSORS.into_iter().find(|ending| kind.ends_with(ending)).unwrap_or(match kind {
        names::MACHINE_DEPLOYMENT | names::MACHINE_SET => names::MACHINE_POOL,
        other => other,
    })
}

/// Whether objects of this kind are control planes.
pub fn is_control_plane(id: &ObjectId) -> bool {
    matches!(role_of(id), Some(KindRole::ControlPlane(_)))
}

/// Where objects of a kind say their version of Kubernetes, and whose it is. A kind with several such
/// fields spells the same thing in several versions of its API.
pub fn version_fields(group: &str, kind: &str) -> impl Iterator<Item = (VersionRole, Keys)> + Clone + use<> {
    let row = row(group, kind);
    row.into_iter().flat_map(|row| row.versions.iter().map(|keys| (row.version_role(), *keys)))
}

/// The same as paths.
pub fn version_paths(id: &ObjectId) -> Vec<FieldPath> {
    version_fields(&id.group, &id.kind).map(|(_, keys)| path(keys)).collect()
}

/// Whether a field of an object is its version of Kubernetes.
pub fn is_version(id: &ObjectId, field: &FieldPath) -> bool {
    version_fields(&id.group, &id.kind).any(|(_, keys)| path(keys) == *field)
}

/// The same for a document of which only a part is known: a fragment without `apiVersion` is of any group,
/// one without `kind` of any kind.
pub fn version_fields_of_fragment(
    group: Option<&str>,
    kind: Option<&str>,
) -> impl Iterator<Item = (VersionRole, Keys)> + use<> {
    let fitting: Vec<&Row> = match kind {
        Some(kind) => row_of_fragment(group, kind).into_iter().collect(),
        None => rows().filter(|row| group.is_none_or(|group| row.fits_group(group))).collect(),
    };
    fitting.into_iter().flat_map(|row| row.versions.iter().map(|keys| (row.version_role(), *keys)))
}

/// A field by its keys.
pub fn path(keys: Keys) -> FieldPath {
    keys.iter().fold(FieldPath::root(), |path, key| path.key(key))
}

/// A field by its keys, as a JSON Pointer. (No key of the table needs escaping.)
pub fn pointer(keys: Keys) -> String {
    keys.iter().fold(String::new(), |pointer, key| pointer + "/" + key)
}
