//! Where objects name others, in v1alpha3 to v1beta2.

use super::role::TemplateRole;
use capstan_model::object::{FieldPath, ObjectId, Step, api_group};
use capstan_yaml::Readable;

/// Where one kind names another object: keys from the root, `*` for every item of a list. The path
/// ends at the mapping that holds `kind` and `name`, or at a scalar that is the name itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferencePath {
    /// Keys and `*`.
    pub steps: &'static [&'static str],
    /// The kind named, where the reference itself does not say it.
    pub kind: Option<&'static str>,
    /// What the object named is there for.
    pub role: TemplateRole,
}

macro_rules! paths {
    ($($role:ident: [$($step:literal),*] $(=> $kind:literal)?),* $(,)?) => {
        &[$(ReferencePath { steps: &[$($step),*], kind: paths!(@ $($kind)?), role: TemplateRole::$role }),*]
    };
    (@ $kind:literal) => { Some($kind) };
    (@) => { None };
}

const CLUSTER: &[ReferencePath] = paths![
    Standing: ["spec", "infrastructureRef"],
    Standing: ["spec", "controlPlaneRef"],
    Class: ["spec", "topology", "class"] => "ClusterClass",
    Class: ["spec", "topology", "classRef"] => "ClusterClass",
    Remediation: ["spec", "topology", "controlPlane", "machineHealthCheck", "remediationTemplate"],
    Remediation: ["spec", "topology", "controlPlane", "healthCheck", "remediation", "templateRef"],
    Remediation: ["spec", "topology", "workers", "machineDeployments", "*", "machineHealthCheck", "remediationTemplate"],
    Remediation: ["spec", "topology", "workers", "machineDeployments", "*", "healthCheck", "remediation", "templateRef"],
];
const CONTROL_PLANE: &[ReferencePath] = paths![
    Machines: ["spec", "machineTemplate", "infrastructureRef"],
    Machines: ["spec", "machineTemplate", "spec", "infrastructureRef"],
    Machines: ["spec", "machineTemplate", "infrastructureTemplate"],
    Machines: ["spec", "infrastructureTemplate"],
    Machines: ["spec", "infrastructureRef"],
];
const WORKERS: &[ReferencePath] = paths![
    Bootstrap: ["spec", "template", "spec", "bootstrap", "configRef"],
    Machines: ["spec", "template", "spec", "infrastructureRef"],
];
const POOL: &[ReferencePath] = paths![
    PoolBootstrap: ["spec", "template", "spec", "bootstrap", "configRef"],
    Pool: ["spec", "template", "spec", "infrastructureRef"],
];
const MACHINE: &[ReferencePath] = paths![
    Standing: ["spec", "bootstrap", "configRef"],
    Standing: ["spec", "infrastructureRef"],
];
const HEALTH_CHECK: &[ReferencePath] = paths![
    Remediation: ["spec", "remediationTemplate"],
    Remediation: ["spec", "remediation", "templateRef"],
];
const CLASS: &[ReferencePath] = paths![
    ClassPart: ["spec", "infrastructure", "ref"],
    ClassPart: ["spec", "infrastructure", "templateRef"],
    ClassPart: ["spec", "controlPlane", "ref"],
    ClassPart: ["spec", "controlPlane", "templateRef"],
    ClassPart: ["spec", "controlPlane", "machineInfrastructure", "ref"],
    ClassPart: ["spec", "controlPlane", "machineInfrastructure", "templateRef"],
    Remediation: ["spec", "controlPlane", "machineHealthCheck", "remediationTemplate"],
    Remediation: ["spec", "controlPlane", "healthCheck", "remediation", "templateRef"],
    ClassPart: ["spec", "workers", "machineDeployments", "*", "template", "bootstrap", "ref"],
    ClassPart: ["spec", "workers", "machineDeployments", "*", "template", "infrastructure", "ref"],
    ClassPart: ["spec", "workers", "machineDeployments", "*", "bootstrap", "templateRef"],
    ClassPart: ["spec", "workers", "machineDeployments", "*", "infrastructure", "templateRef"],
    Remediation: ["spec", "workers", "machineDeployments", "*", "machineHealthCheck", "remediationTemplate"],
    Remediation: ["spec", "workers", "machineDeployments", "*", "healthCheck", "remediation", "templateRef"],
    ClassPart: ["spec", "workers", "machinePools", "*", "template", "bootstrap", "ref"],
    ClassPart: ["spec", "workers", "machinePools", "*", "template", "infrastructure", "ref"],
    ClassPart: ["spec", "workers", "machinePools", "*", "bootstrap", "templateRef"],
    ClassPart: ["spec", "workers", "machinePools", "*", "infrastructure", "templateRef"],
];
const METAL3: &[ReferencePath] =
    paths![Data: ["spec", "template", "spec", "dataTemplate"] => "Metal3DataTemplate"];
const BYOH: &[ReferencePath] = paths![Data: ["spec", "template", "spec", "installerRef"]];

/// Where objects of a kind name others, in v1alpha3 to v1beta2.
pub fn reference_paths(group: &str, kind: &str) -> &'static [ReferencePath] {
    match (group, kind) {
        ("cluster.x-k8s.io", "Cluster") => CLUSTER,
        ("cluster.x-k8s.io", "MachineDeployment" | "MachineSet") => WORKERS,
        ("cluster.x-k8s.io" | "exp.cluster.x-k8s.io", "MachinePool") => POOL,
        ("cluster.x-k8s.io", "Machine") => MACHINE,
        ("cluster.x-k8s.io", "MachineHealthCheck") => HEALTH_CHECK,
        ("cluster.x-k8s.io", "ClusterClass") => CLASS,
        ("controlplane.cluster.x-k8s.io", _) => CONTROL_PLANE,
        (group, kind) if group.ends_with(".cluster.x-k8s.io") && kind.ends_with("ControlPlane") => {
            CONTROL_PLANE
        }
        (_, "Metal3MachineTemplate") => METAL3,
        (_, "ByoMachineTemplate") => BYOH,
        _ => &[],
    }
}

/// One reference to another object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'n> {
    /// Path of the scalar that is the name.
    pub path: FieldPath,
    /// API group of the object named, where the reference says it.
    pub group: Option<&'n str>,
    /// Kind of the object named.
    pub kind: &'n str,
    /// Namespace of the object named, where the reference says it; else its owner's.
    pub namespace: Option<&'n str>,
    /// Its name, as written.
    pub name: &'n str,
    /// What it is there for.
    pub role: TemplateRole,
}

impl Reference<'_> {
    /// Whether an owner in that namespace means this object. What one side leaves out fits anything.
    pub fn means(&self, owner_namespace: Option<&str>, id: &ObjectId) -> bool {
        self.kind == id.kind
            && self.name == id.name
            && fits(self.group, Some(&id.group))
            && fits(self.namespace.or(owner_namespace), id.namespace.as_deref())
    }
}

/// Whether both may mean the same group or namespace: what one side leaves out fits anything.
pub(super) fn fits(one: Option<&str>, other: Option<&str>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// The references of an object, in the order of the table.
pub fn references<'n, T: Readable>(group: &str, kind: &str, root: &'n T) -> Vec<Reference<'n>> {
    let mut found = Vec::new();
    for reference in reference_paths(group, kind) {
        walk(root, root, reference.steps, &mut Vec::new(), &mut |parent, node, indexes| {
            let path = path_of(reference.steps, indexes);
            let text = |node: &'n T, key: &str| node.field(key).and_then(T::text);
            let (path, name, namespace) = match node.text() {
                Some(name) => (path, Some(name), text(parent, "classNamespace")),
                None => (path.key("name"), text(node, "name"), text(node, "namespace")),
            };
            let group = text(node, "apiGroup").or_else(|| text(node, "apiVersion").map(api_group));
            if let (Some(kind), Some(name)) = (text(node, "kind").or(reference.kind), name) {
                found.push(Reference { path, group, kind, namespace, name, role: reference.role });
            }
        });
    }
    found
}

/// Most ways end in nothing, so only the indexes on the way are kept.
fn walk<'n, T: Readable>(
    parent: &'n T,
    node: &'n T,
    steps: &[&str],
    indexes: &mut Vec<usize>,
    found: &mut dyn FnMut(&'n T, &'n T, &[usize]),
) {
    match steps {
        [] => found(parent, node, indexes),
        ["*", rest @ ..] => {
            for (at, item) in node.items().iter().enumerate() {
                indexes.push(at);
                walk(node, item, rest, indexes, found);
                indexes.pop();
            }
        }
        [key, rest @ ..] => {
            if let Some(below) = node.field(key) {
                walk(node, below, rest, indexes, found);
            }
        }
    }
}

/// The table's steps with these indexes for its stars.
fn path_of(steps: &[&str], indexes: &[usize]) -> FieldPath {
    let mut indexes = indexes.iter().copied();
    steps
        .iter()
        .map(|step| match *step {
            "*" => Step::Index(indexes.next().unwrap_or_default()),
            key => Step::Key(key.to_owned()),
        })
        .collect()
}
