//! The table of kinds: the role of objects of a kind in a cluster, the place of their version of Kubernetes,
//! the effect of an edit, when they are applied, and what is lost with them. Merge, releases, templates,
//! rules, rollouts and applying all ask here, so that a kind that one of them knows is known to all.
//!
//! | file | owns |
//! |---|---|
//! | [`names`] | names of kinds, for looking objects up |
//! | [`naming`] | which fields name other objects, by the table and by their shape |
//! | [`preflight`] | what is checked before a MachineSet makes a machine |
//! | `readers` | which versions of other projects' kinds are read field by field, and where |
//! | `row` | what a row says, and whether it fits a kind |
//! | `table` | the rows, with their sources |
//! | `templates` | those of templates |
//!
//! A row is found by API group and kind; the first that fits counts. What only the Cluster can tell (which
//! object is its infrastructure, its control plane) is read from its references (`capstan_plan::templates`).
//!
//! Deliberately absent: which fields of a kind name the parts of a cluster (`capstan_plan::templates`), replace machines
//! (`capstan_live::rollout`), are lists or have other shapes (`capstan_kustomize::schema`, `capstan_kustomize::conversion`), and the kinds
//! of Flux, Helm, Argo CD and kustomize.

pub mod names;
pub mod naming;
pub mod preflight;
mod readers;
mod row;
mod table;
mod templates;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use self::readers::{KindReader, ReaderKinds};
use self::row::KindRow;
pub use self::row::{
    ApplyStage, Keys, KindRole, Loss, Machines, Treatment, VersionRole, Workers, is_cluster_api,
};
use self::table::TABLES;
use crate::object::{FieldPath, ObjectId};

/// The API group of the provider objects.
const OPERATOR_GROUP: &str = "operator.cluster.x-k8s.io";

/// The API group of the OpenStack resource controller (ORC).
const ORC_GROUP: &str = "openstack.k-orc.cloud";

fn rows() -> impl Iterator<Item = &'static KindRow> {
    TABLES.iter().flat_map(|rows| rows.iter())
}

/// The rows that may fit a kind, in their order: they are asked for each object again and again.
struct RowIndex {
    /// Those that fit a kind which one of them spells out.
    by_kind: HashMap<&'static str, Vec<&'static KindRow>>,
    /// Those that go by the ending of a kind, for all others.
    by_ending: Vec<&'static KindRow>,
}

static INDEX: LazyLock<RowIndex> = LazyLock::new(|| {
    let kinds = || rows().flat_map(|row| row.kinds.iter().copied());
    let spelled_out = kinds().filter(|pattern| !pattern.starts_with('*'));
    let fitting = |kind: &'static str| (kind, rows().filter(|row| row.fits_kind(kind)).collect());
    let goes_by_ending = |row: &&KindRow| row.kinds.iter().any(|pattern| pattern.starts_with('*'));
    RowIndex {
        by_kind: spelled_out.map(fitting).collect(),
        by_ending: rows().filter(goes_by_ending).collect(),
    }
});

fn rows_for(kind: &str) -> impl Iterator<Item = &'static KindRow> {
    INDEX.by_kind.get(kind).unwrap_or(&INDEX.by_ending).iter().copied()
}

fn row(group: &str, kind: &str) -> Option<&'static KindRow> {
    rows_for(kind).find(|row| row.fits_group(group) && row.fits_kind(kind))
}

/// The same for a fragment or a reference that may not say its group.
fn row_of_fragment(group: Option<&str>, kind: &str) -> Option<&'static KindRow> {
    match group {
        Some(group) => row(group, kind),
        None => rows_for(kind).find(|row| row.names_kind(kind)),
    }
}

/// The role of objects of a kind in a cluster; `None` for other kinds.
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

/// Whether a kind is a template's by its name, where nothing says its group.
pub fn is_template_name(kind: &str) -> bool {
    kind.ends_with("Template")
}

/// Whether a kind is one of the Cluster API operator's provider objects.
pub fn is_provider(group: &str, kind: &str) -> bool {
    role(group, kind) == Some(KindRole::Provider)
}

/// Whether an API group is that of the provider objects.
pub fn is_of_operator(group: &str) -> bool {
    group == OPERATOR_GROUP
}

/// Whether an API group is that of the OpenStack resource controller, whose objects stand for what a cloud must have.
pub fn is_of_orc(group: &str) -> bool {
    group == ORC_GROUP
}

/// The field with the version of the component that an object installs; `None` for kinds that install none.
/// It is not a version of Kubernetes, but changes with the others of its step group.
pub fn component_version(id: &ObjectId) -> Option<FieldPath> {
    is_provider(&id.group, &id.kind).then(|| FieldPath::of_keys(["spec", "version"]))
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
pub fn stage(id: &ObjectId) -> Option<(ApplyStage, u8)> {
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
    version_fields(&id.group, &id.kind).map(|(_, keys)| FieldPath::of_keys(keys)).collect()
}

/// Whether a field of an object is its version of Kubernetes.
pub fn is_version(id: &ObjectId, field: &FieldPath) -> bool {
    version_fields(&id.group, &id.kind).any(|(_, keys)| FieldPath::of_keys(keys) == *field)
}

/// The same for a document of which only a part is known: a fragment without `apiVersion` is of any group,
/// one without `kind` of any kind.
pub fn version_fields_of_fragment(
    group: Option<&str>,
    kind: Option<&str>,
) -> impl Iterator<Item = (VersionRole, Keys)> + use<> {
    let fitting: Vec<&KindRow> = match kind {
        Some(kind) => row_of_fragment(group, kind).into_iter().collect(),
        None => rows().filter(|row| group.is_none_or(|group| row.fits_group(group))).collect(),
    };
    fitting.into_iter().flat_map(|row| row.versions.iter().map(|keys| (row.version_role(), *keys)))
}

/// A field by its keys, as a JSON Pointer. (No key of the table needs escaping.)
pub fn pointer(keys: Keys) -> String {
    keys.iter().fold(String::new(), |pointer, key| pointer + "/" + key)
}
