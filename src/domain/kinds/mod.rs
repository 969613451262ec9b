//! The table of kinds: what objects of a kind are for a cluster, and where their version of Kubernetes
//! stands. Merge, releases, rules, rollouts and applying all ask here, so that a kind which one of them
//! knows is known to all.
//!
//! | file | owns |
//! |---|---|
//! | [`table`] | the rows, with their sources |
//!
//! A row is found by API group and kind; the first that fits counts. What only the Cluster can tell (which
//! object is its infrastructure, its control plane) is read from its references ([`crate::templates`]).

mod table;
#[cfg(test)]
mod tests;

use self::table::ROWS;
use crate::object::{FieldPath, ObjectId};

/// What objects of a kind are for a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KindRole {
    /// The `Cluster`; with a topology its version is that of all its machines.
    Cluster,
    /// A control plane, and who runs its machines.
    ControlPlane(Machines),
    /// What makes worker machines: MachineDeployments, MachineSets, MachinePools.
    Workers,
    /// One machine.
    Machine,
    /// The infrastructure of a MachinePool that has a version of its own beside the pool's.
    Pool,
}

/// Who runs the machines of a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Machines {
    /// They are the cluster's own: an upgrade replaces them.
    Own,
    /// A provider does, or they are no machines at all: an upgrade replaces none.
    Provider,
}

/// Whose version a field says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VersionRole {
    /// Machines' beside a control plane.
    Workers,
    /// The control plane's, or a whole topology's.
    ControlPlane,
}

/// Keys from an object's root to a field.
pub type Keys = &'static [&'static str];

/// What the table says of some kinds.
struct Row {
    groups: Groups,
    kinds: &'static [&'static str],
    role: KindRole,
    versions: &'static [Keys],
}

/// The API groups of a row.
enum Groups {
    /// These.
    Are(&'static [&'static str]),
    /// `cluster.x-k8s.io` and everything below it, where Cluster API's providers have their kinds.
    Providers,
}

impl Row {
    fn fits_group(&self, group: &str) -> bool {
        match self.groups {
            Groups::Are(groups) => groups.contains(&group),
            Groups::Providers => is_cluster_api(group),
        }
    }

    /// A pattern that begins with `*` fits every kind that ends so.
    fn fits_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|pattern| match pattern.strip_prefix('*') {
            Some(ending) => kind.ends_with(ending),
            None => kind == *pattern,
        })
    }

    const fn version_role(&self) -> VersionRole {
        match self.role {
            KindRole::Cluster | KindRole::ControlPlane(_) => VersionRole::ControlPlane,
            KindRole::Workers | KindRole::Machine | KindRole::Pool => VersionRole::Workers,
        }
    }
}

/// Whether a group is Cluster API's or one of its providers'.
pub fn is_cluster_api(group: &str) -> bool {
    group.strip_suffix("cluster.x-k8s.io").is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

fn row(group: &str, kind: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.fits_group(group) && row.fits_kind(kind))
}

/// What objects of a kind are for a cluster; `None` for kinds that have no version of Kubernetes and are
/// told by who names them.
pub fn role(group: &str, kind: &str) -> Option<KindRole> {
    row(group, kind).map(|row| row.role)
}

/// Whether objects of this kind are control planes.
pub fn is_control_plane(id: &ObjectId) -> bool {
    matches!(role(&id.group, &id.kind), Some(KindRole::ControlPlane(_)))
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
    let mut fitting: Vec<&Row> = ROWS
        .iter()
        .filter(|row| {
            group.is_none_or(|group| row.fits_group(group)) && kind.is_none_or(|kind| row.fits_kind(kind))
        })
        .collect();
    if kind.is_some() {
        fitting.truncate(1);
    }
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
