//! The template table (U12): what an edit of a template or bootstrap config does, which fields name
//! templates, and the names of rotated ones.
//!
//! Machine templates are immutable by CAPI's contract
//! (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-machine#inframachinetemplate-support-cluster-topology>),
//! and a bootstrap template edited in place replaces no machine, so both get a new name instead.

use sha2::{Digest, Sha256};

use crate::object::{FieldPath, Step};
use crate::yaml::{Node, Value};

/// What an edit of an object of some kind does to machines.
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

/// Machine templates and bootstrap config templates: rotated.
const ROTATE: &[&str] = &[
    "AWSMachineTemplate",
    "AzureMachineTemplate",
    "ByoMachineTemplate",
    "CloudStackMachineTemplate",
    "DevMachineTemplate",
    "DockerMachineTemplate",
    "EKSConfigTemplate",
    "ElfMachineTemplate",
    "GCPMachineTemplate",
    "HCloudMachineTemplate",
    "HetznerBareMetalMachineTemplate",
    "IBMPowerVSMachineTemplate",
    "IBMVPCMachineTemplate",
    "K0sWorkerConfigTemplate",
    "KThreesConfigTemplate",
    "KubeadmConfigTemplate",
    "KubemarkMachineTemplate",
    "KubevirtMachineTemplate",
    "LinodeMachineTemplate",
    "MaasMachineTemplate",
    "Metal3DataTemplate",
    "Metal3MachineTemplate",
    "MicrovmMachineTemplate",
    "MicroK8sConfigTemplate",
    "NodeadmConfigTemplate",
    "NutanixMachineTemplate",
    "OCIMachineTemplate",
    "OpenStackMachineTemplate",
    "OscMachineTemplate",
    "PacketMachineTemplate",
    "ProxmoxMachineTemplate",
    "RKE2ConfigTemplate",
    "ScalewayMachineTemplate",
    "TalosConfigTemplate",
    "TinkerbellMachineTemplate",
    "VCDMachineTemplate",
    "VSphereMachineTemplate",
    "VultrMachineTemplate",
];

/// Parts of a ClusterClass that no machine names directly.
const CLASS_ONLY: &[&str] = &[
    "AWSClusterTemplate",
    "AWSManagedClusterTemplate",
    "AWSManagedControlPlaneTemplate",
    "AWSManagedMachinePoolTemplate",
    "AWSMachinePoolTemplate",
    "AzureClusterTemplate",
    "AzureManagedClusterTemplate",
    "AzureManagedControlPlaneTemplate",
    "AzureManagedMachinePoolTemplate",
    "CloudStackClusterTemplate",
    "DevClusterTemplate",
    "DevMachinePoolTemplate",
    "DockerClusterTemplate",
    "DockerMachinePoolTemplate",
    "GCPClusterTemplate",
    "GCPManagedClusterTemplate",
    "GCPManagedControlPlaneTemplate",
    "GCPManagedMachinePoolTemplate",
    "HetznerClusterTemplate",
    "IBMVPCClusterTemplate",
    "IBMPowerVSClusterTemplate",
    "K0sControlPlaneTemplate",
    "KThreesControlPlaneTemplate",
    "KubeadmControlPlaneTemplate",
    "KubevirtClusterTemplate",
    "LinodeClusterTemplate",
    "Metal3ClusterTemplate",
    "NutanixClusterTemplate",
    "OCIClusterTemplate",
    "OCIManagedClusterTemplate",
    "OCIManagedControlPlaneTemplate",
    "OpenStackClusterTemplate",
    "ProxmoxClusterTemplate",
    "RKE2ControlPlaneTemplate",
    "RosaControlPlaneTemplate",
    "TinkerbellClusterTemplate",
    "VCDClusterTemplate",
    "VSphereClusterTemplate",
];

/// Infrastructure of a MachinePool: edited in place, instances roll.
const POOLS: &[&str] = &[
    "AWSMachinePool",
    "AzureMachinePool",
    "DevMachinePool",
    "DockerMachinePool",
    "GCPMachinePool",
    "LinodeMachinePool",
    "OCIMachinePool",
    "ScalewayMachinePool",
];

/// Templates that are read anew each time and replace no machine.
const SILENT: &[&str] = &[
    "HetznerBareMetalRemediationTemplate",
    "HCloudRemediationTemplate",
    "Metal3RemediationTemplate",
    "SelfNodeRemediationTemplate",
];

/// The treatment of a kind; `None` for a kind that the table does not list (an unlisted kind that
/// ends in `Template` is the finding `unknown-template`).
pub fn treatment(kind: &str) -> Option<Treatment> {
    let listed = |table: &[&str]| table.contains(&kind);
    if listed(ROTATE) {
        Some(Treatment::Rotate)
    } else if listed(CLASS_ONLY) {
        Some(Treatment::Never)
    } else if listed(POOLS) {
        Some(Treatment::MutableAndRolls)
    } else if listed(SILENT) {
        Some(Treatment::MutableSilent)
    } else {
        None
    }
}

/// Whether the kind is an infrastructure template or machine pool, where images live (U9).
pub fn bears_images(group: &str, kind: &str) -> bool {
    group == "infrastructure.cluster.x-k8s.io"
        && (kind.ends_with("MachineTemplate") || kind.ends_with("MachinePool") || kind.ends_with("Machine"))
}

/// Where one kind names another object: keys from the root, `*` for every item of a list. The path
/// ends at the mapping that holds `kind` and `name`, or at a scalar that is the name itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferencePath {
    /// Keys and `*`.
    pub steps: &'static [&'static str],
    /// The kind named, where the reference itself does not say it.
    pub kind: Option<&'static str>,
}

macro_rules! paths {
    ($([$($step:literal),*]),* $(,)?) => {
        &[$(ReferencePath { steps: &[$($step),*], kind: None }),*]
    };
}

const CLUSTER: &[ReferencePath] = &[
    ReferencePath { steps: &["spec", "infrastructureRef"], kind: None },
    ReferencePath { steps: &["spec", "controlPlaneRef"], kind: None },
    ReferencePath { steps: &["spec", "topology", "class"], kind: Some("ClusterClass") },
    ReferencePath { steps: &["spec", "topology", "classRef"], kind: Some("ClusterClass") },
];
const CONTROL_PLANE: &[ReferencePath] = paths![
    ["spec", "machineTemplate", "infrastructureRef"],
    ["spec", "machineTemplate", "spec", "infrastructureRef"],
    ["spec", "infrastructureTemplate"],
    ["spec", "infrastructureRef"],
];
const MACHINES: &[ReferencePath] = paths![
    ["spec", "template", "spec", "bootstrap", "configRef"],
    ["spec", "template", "spec", "infrastructureRef"],
];
const MACHINE: &[ReferencePath] = paths![["spec", "bootstrap", "configRef"], ["spec", "infrastructureRef"]];
const CLASS: &[ReferencePath] = paths![
    ["spec", "infrastructure", "ref"],
    ["spec", "infrastructure", "templateRef"],
    ["spec", "controlPlane", "ref"],
    ["spec", "controlPlane", "templateRef"],
    ["spec", "controlPlane", "machineInfrastructure", "ref"],
    ["spec", "controlPlane", "machineInfrastructure", "templateRef"],
    ["spec", "workers", "machineDeployments", "*", "template", "bootstrap", "ref"],
    ["spec", "workers", "machineDeployments", "*", "template", "infrastructure", "ref"],
    ["spec", "workers", "machineDeployments", "*", "bootstrap", "templateRef"],
    ["spec", "workers", "machineDeployments", "*", "infrastructure", "templateRef"],
    ["spec", "workers", "machinePools", "*", "template", "bootstrap", "ref"],
    ["spec", "workers", "machinePools", "*", "template", "infrastructure", "ref"],
    ["spec", "workers", "machinePools", "*", "bootstrap", "templateRef"],
    ["spec", "workers", "machinePools", "*", "infrastructure", "templateRef"],
];
const METAL3: &[ReferencePath] = &[ReferencePath {
    steps: &["spec", "template", "spec", "dataTemplate"],
    kind: Some("Metal3DataTemplate"),
}];

/// Where objects of a kind name others, in v1alpha3 to v1beta2.
pub fn reference_paths(group: &str, kind: &str) -> &'static [ReferencePath] {
    match (group, kind) {
        ("cluster.x-k8s.io", "Cluster") => CLUSTER,
        ("cluster.x-k8s.io", "MachineDeployment" | "MachineSet") => MACHINES,
        (_, "MachinePool") => MACHINES,
        ("cluster.x-k8s.io", "Machine") => MACHINE,
        ("cluster.x-k8s.io", "ClusterClass") => CLASS,
        ("controlplane.cluster.x-k8s.io", _) => CONTROL_PLANE,
        (_, "Metal3MachineTemplate") => METAL3,
        _ => &[],
    }
}

/// One reference to another object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'n> {
    /// Path of the scalar that is the name.
    pub path: FieldPath,
    /// Kind of the object named.
    pub kind: &'n str,
    /// Its name, as written.
    pub name: &'n str,
}

/// The references of an object, in the order of the table.
pub fn references<'n>(group: &str, kind: &str, root: &'n Node) -> Vec<Reference<'n>> {
    let mut found = Vec::new();
    for reference in reference_paths(group, kind) {
        walk(root, &mut Vec::new(), reference.steps, &mut |node, path| {
            let text =
                |node: Option<&'n Node>| node.and_then(Node::as_scalar).map(|scalar| scalar.text.as_str());
            let (path, name) = match node.as_scalar() {
                Some(scalar) => (path, Some(scalar.text.as_str())),
                None => (path.key("name"), text(node.get("name"))),
            };
            if let (Some(kind), Some(name)) = (text(node.get("kind")).or(reference.kind), name) {
                found.push(Reference { path, kind, name });
            }
        });
    }
    found
}

/// `path` is the way so far, as one list that grows and shrinks: most ways end in nothing.
fn walk<'n>(
    node: &'n Node,
    path: &mut Vec<Step>,
    steps: &[&str],
    found: &mut dyn FnMut(&'n Node, FieldPath),
) {
    match steps {
        [] => found(node, path.iter().cloned().collect()),
        ["*", rest @ ..] => {
            for (at, item) in node.as_sequence().unwrap_or_default().iter().enumerate() {
                path.push(Step::Index(at));
                walk(item, path, rest, found);
                path.pop();
            }
        }
        [key, rest @ ..] => {
            if let Some(below) = node.get(key) {
                path.push(Step::Key((*key).to_owned()));
                walk(below, path, rest, found);
                path.pop();
            }
        }
    }
}

/// Eight hex digits of the canonical form of a template's `spec`: JSON without blanks, keys sorted,
/// nulls left out (absent and null are the same in a typed object).
pub fn spec_hash(spec: &Value) -> String {
    let mut text = String::new();
    write_canonical(spec, &mut text);
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// The base name: the name without a `-<8 hex>` that is the hash of this very spec. A suffix that
/// only looks like one belongs to the name.
pub fn base_name<'n>(name: &'n str, spec: &Value) -> &'n str {
    match split_suffix(name) {
        Some((base, suffix)) if suffix == spec_hash(spec) => base,
        _ => name,
    }
}

/// A name's last part, where it looks like a rotation suffix.
pub fn split_suffix(name: &str) -> Option<(&str, &str)> {
    let (base, suffix) = name.rsplit_once('-')?;
    let hex = suffix.len() == 8 && suffix.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    (hex && !base.is_empty()).then_some((base, suffix))
}

/// The name of a template with this spec: `<base>-<8 hex>`.
pub fn rotated_name(base: &str, spec: &Value) -> String {
    format!("{base}-{}", spec_hash(spec))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_and_nulls_do_not_change_a_hash() {
        let one = json!({"template": {"spec": {"customImage": "kindest/node:v1.27.3", "extra": null}}});
        let two = json!({"template": {"spec": {"customImage": "kindest/node:v1.27.3"}}});
        assert_eq!(spec_hash(&one), spec_hash(&two));
        assert_ne!(spec_hash(&one), spec_hash(&json!({"template": {"spec": {"customImage": "x"}}})));
    }

    #[test]
    fn only_the_hash_of_its_own_spec_is_a_suffix() {
        let spec = json!({"a": 1});
        let name = rotated_name("peu01-md-0", &spec);
        assert_eq!(base_name(&name, &spec), "peu01-md-0");
        assert_eq!(base_name(&name, &json!({"a": 2})), name);
        assert_eq!(base_name("peu01-deadbeef", &spec), "peu01-deadbeef");
    }
}
