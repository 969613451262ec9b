//! Which fields name other objects, or machines and hosts that exist already, as far as the field's name tells.
//!
//! Two answers: a table of fields with other names than references have ([`meaning`]), and the shape that all
//! references share ([`is_reference`]), for unknown kinds. The caller walks an object and asks here, with the
//! keys from the object's root to the field. Indexes of lists are not keys.
//!
//! Sources: the API types of the providers that are named.

use super::names::OPENSTACK_CLUSTER_IDENTITY;
use super::row::fits;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldMeaning {
    /// The name of an object of that kind, or a reference to one.
    Names(&'static str),
    /// The existing machine, instance or disk that the object represents.
    Exists,
    /// A path on the host where something of the management cluster runs.
    HostPath,
    /// Where a controller sends credentials of a cloud.
    Server,
    /// A field for a reader outside of the management cluster: names in it are names there.
    Elsewhere,
}

struct NamingField {
    /// Kinds; `*` at the beginning or the end of one matches anything.
    kinds: &'static [&'static str],
    /// The last keys on the way to the field.
    keys: &'static [&'static str],
    meaning: FieldMeaning,
}

const fn field(
    kinds: &'static [&'static str],
    keys: &'static [&'static str],
    meaning: FieldMeaning,
) -> NamingField {
    NamingField { kinds, keys, meaning }
}

const ANY: &[&str] = &["*"];
const METAL3: &[&str] = &["Metal3*"];
const KAMAJI: &[&str] = &["KamajiControlPlane*"];

/// The first that fits counts.
const FIELDS: &[NamingField] = &[
    // A namespace in the workload cluster.
    field(&["HelmChartProxy", "HelmReleaseProxy"], &["spec", "namespace"], FieldMeaning::Elsewhere),
    field(&["AWSFargateProfile"], &["spec", "selectors"], FieldMeaning::Elsewhere),
    field(&["App"], &["spec", "namespace"], FieldMeaning::Elsewhere),
    field(&["AWSManagedControlPlane*"], &["podIdentityAssociations"], FieldMeaning::Elsewhere),
    field(&["Profile", "ClusterProfile"], &["spec", "driftExclusions"], FieldMeaning::Elsewhere),
    field(&["Profile", "ClusterProfile"], &["spec", "patches"], FieldMeaning::Elsewhere),
    field(&["Profile", "ClusterProfile"], &["spec", "validateHealths"], FieldMeaning::Elsewhere),
    // What a machine is given of its own configuration.
    field(&["K0s*"], &["k0sConfigSpec", "k0s"], FieldMeaning::Elsewhere),
    field(&["K0smotron*"], &["k0sConfig"], FieldMeaning::Elsewhere),
    field(&["Talos*"], &["configPatches"], FieldMeaning::Elsewhere),
    // Files of the machine itself, which kubeadm mounts into its static pods.
    field(ANY, &["clusterConfiguration", "apiServer", "extraVolumes", "hostPath"], FieldMeaning::Elsewhere),
    field(
        ANY,
        &["clusterConfiguration", "controllerManager", "extraVolumes", "hostPath"],
        FieldMeaning::Elsewhere,
    ),
    field(ANY, &["clusterConfiguration", "scheduler", "extraVolumes", "hostPath"], FieldMeaning::Elsewhere),
    field(ANY, &["hostPath"], FieldMeaning::HostPath),
    field(ANY, &["hostDisk"], FieldMeaning::HostPath),
    field(&["VSphere*", "Harvester*"], &["spec", "server"], FieldMeaning::Server),
    field(&["Nutanix*"], &["prismCentral", "address"], FieldMeaning::Server),
    field(ANY, &["prismCentralEndpoint", "url"], FieldMeaning::Server),
    field(ANY, &["providerID"], FieldMeaning::Exists),
    field(ANY, &["providerIDList"], FieldMeaning::Exists),
    field(ANY, &["instanceID"], FieldMeaning::Exists),
    field(ANY, &["instanceId"], FieldMeaning::Exists),
    field(ANY, &["virtualMachineID"], FieldMeaning::Exists),
    field(ANY, &["biosUUID"], FieldMeaning::Exists),
    field(ANY, &["instanceUUID"], FieldMeaning::Exists),
    // Only the order of what a controller does.
    field(ANY, &["spec", "dependsOn"], FieldMeaning::Elsewhere),
    field(ANY, &["customHAProxyConfigTemplateRef"], FieldMeaning::Names("ConfigMap")),
    field(ANY, &["kubeconfigRef"], FieldMeaning::Names("Secret")),
    field(ANY, &["sshKeyRef"], FieldMeaning::Names("Secret")),
    field(ANY, &["userDataRef"], FieldMeaning::Names("Secret")),
    field(&["CloudStack*"], &["acsEndpoint"], FieldMeaning::Names("Secret")),
    field(METAL3, &["userData"], FieldMeaning::Names("Secret")),
    field(METAL3, &["metaData"], FieldMeaning::Names("Secret")),
    field(METAL3, &["networkData"], FieldMeaning::Names("Secret")),
    field(METAL3, &["dataTemplate"], FieldMeaning::Names("Metal3DataTemplate")),
    field(
        &["Metal3Data", "Metal3DataClaim"],
        &["spec", "template"],
        FieldMeaning::Names("Metal3DataTemplate"),
    ),
    field(&["Metal3Data"], &["spec", "claim"], FieldMeaning::Names("Metal3DataClaim")),
    field(METAL3, &["ipAddressesFromIPPool"], FieldMeaning::Names("IPPool")),
    field(METAL3, &["prefixesFromIPPool"], FieldMeaning::Names("IPPool")),
    field(METAL3, &["gatewaysFromIPPool"], FieldMeaning::Names("IPPool")),
    field(METAL3, &["dnsServersFromIPPool"], FieldMeaning::Names("IPPool")),
    field(METAL3, &["ipAddressFromIPPool"], FieldMeaning::Names("IPPool")),
    field(METAL3, &["dnsFromIPPool"], FieldMeaning::Names("IPPool")),
    field(METAL3, &["fromIPPool"], FieldMeaning::Names("IPPool")),
    field(&["Tinkerbell*"], &["hardwareName"], FieldMeaning::Names("Hardware")),
    field(&["RKE2*"], &["resolvConf"], FieldMeaning::Names("ConfigMap")),
    // One store of many tenants' control planes, and what of it is whose.
    field(KAMAJI, &["dataStoreName"], FieldMeaning::Names("DataStore")),
    field(KAMAJI, &["dataStoreSchema"], FieldMeaning::Exists),
    field(KAMAJI, &["dataStoreUsername"], FieldMeaning::Exists),
    // Pods on the management cluster.
    field(
        &["Kamaji*", "K0smotron*", "Kubevirt*"],
        &["serviceAccountName"],
        FieldMeaning::Names("ServiceAccount"),
    ),
    field(&["Kubevirt*"], &["claimName"], FieldMeaning::Names("PersistentVolumeClaim")),
    field(&["Cluster"], &["spec", "topology", "class"], FieldMeaning::Names("ClusterClass")),
    field(
        &["ClusterResourceSetBinding"],
        &["clusterResourceSetName"],
        FieldMeaning::Names("ClusterResourceSet"),
    ),
    field(&["ClusterClass"], &["external", "generateExtension"], FieldMeaning::Names("ExtensionConfig")),
    field(
        &["ClusterClass"],
        &["external", "generatePatchesExtension"],
        FieldMeaning::Names("ExtensionConfig"),
    ),
    field(&["ClusterClass"], &["external", "validateExtension"], FieldMeaning::Names("ExtensionConfig")),
    field(
        &["ClusterClass"],
        &["external", "validateTopologyExtension"],
        FieldMeaning::Names("ExtensionConfig"),
    ),
    field(
        &["ClusterClass"],
        &["external", "discoverVariablesExtension"],
        FieldMeaning::Names("ExtensionConfig"),
    ),
    // Annotations that name what another controller hands on.
    field(ANY, &["annotations", "serviceoperator.azure.com/credential-from"], FieldMeaning::Names("Secret")),
    field(ANY, &["annotations", "metal3.io/BareMetalHost"], FieldMeaning::Names("BareMetalHost")),
    field(ANY, &["annotations", "replicator.v1.mittwald.de/replicate-from"], FieldMeaning::Exists),
    field(ANY, &["annotations", "reflector.v1.k8s.emberstack.com/reflects"], FieldMeaning::Exists),
];

/// What a field of that kind holds, where the table knows it.
pub fn meaning(kind: &str, keys: &[&str]) -> Option<FieldMeaning> {
    let fits_kind = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(beginning) if !beginning.is_empty() => kind.starts_with(beginning),
        _ => fits(pattern, kind),
    };
    let row = FIELDS.iter().find(|row| keys.ends_with(row.keys) && row.kinds.iter().any(fits_kind))?;
    Some(row.meaning)
}

/// Whether a field that is called so holds a reference to an object, whatever its kind: `…Ref`, `…Reference`,
/// `…Secret…`, `…ConfigMap…`, `…Identity…`, `…credential…`.
pub fn is_reference(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let endings = ["Ref", "Refs", "Reference", "References"];
    endings.iter().any(|ending| key.ends_with(ending))
        || ["ref", "reference"].contains(&key)
        || ["secret", "configmap", "identity", "credential"].iter().any(|word| lower.contains(word))
}

/// Whether a text in a field that is called so is the name of an object: neither `secretNamespace` nor `secretKey`.
pub fn is_name(key: &str) -> bool {
    let key = key.strip_suffix('s').unwrap_or(key);
    let lower = key.to_ascii_lowercase();
    let endings = [
        "secret",
        "secretname",
        "secretref",
        "configmapname",
        "configmapref",
        "identityname",
        "identityref",
        "credentialsname",
        "credentialname",
    ];
    endings.iter().any(|ending| lower.ends_with(ending)) || key.ends_with("Ref") || key.ends_with("Reference")
}

/// The kind of what a reference names that says none itself, where the key tells it.
pub fn kind_of_reference(key: &str) -> Option<&'static str> {
    let lower = key.to_ascii_lowercase();
    if lower.contains("configmap") {
        Some("ConfigMap")
    } else if lower.contains("secret") || lower.contains("credential") || lower == "identityref" {
        Some("Secret")
    } else {
        None
    }
}

/// The kind of the identity that an `identityRef` names which says no kind, by its `type`
/// (<https://github.com/kubernetes-sigs/cluster-api-provider-openstack>).
pub fn kind_of_identity(kind_of: &str) -> Option<&'static str> {
    (kind_of == "ClusterIdentity").then_some(OPENSTACK_CLUSTER_IDENTITY)
}

/// What the name of a Secret ends in that a controller makes for an object of the folder: by the kind of that object.
pub const MADE_SECRETS: &[(&str, &str)] = &[
    ("AzureMachineTemplate", "-azure-json"),
    ("AzureMachinePool", "-azure-json"),
    ("AzureMachine", "-azure-json"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_told_by_what_they_are_called() {
        for (key, expected) in [
            ("credentialsRef", true),
            ("manifestsConfigMapReference", true),
            ("hetznerSecretRef", true),
            ("cloudsSecret", true),
            ("clientSecret", true),
            ("identityRef", true),
            ("ref", true),
            ("certificateRefs", true),
            ("network", false),
            ("variables", false),
            ("href", false),
            ("xref", false),
            ("subnets", false),
        ] {
            assert_eq!(is_reference(key), expected, "{key}");
        }
        for (key, expected) in [
            ("secretName", true),
            ("dataSecretName", true),
            ("sshKeySecret", true),
            ("imageRef", true),
            ("secretNamespace", false),
            ("secretKey", false),
            ("identity", false),
            ("name", false),
        ] {
            assert_eq!(is_name(key), expected, "{key}");
        }
    }

    #[test]
    fn the_table_knows_fields_by_kind_and_by_their_last_keys() {
        for (kind, keys, expected) in [
            (
                "CloudStackCluster",
                &["spec", "failureDomains", "acsEndpoint"][..],
                Some(FieldMeaning::Names("Secret")),
            ),
            (
                "Metal3MachineTemplate",
                &["spec", "template", "spec", "userData"],
                Some(FieldMeaning::Names("Secret")),
            ),
            ("AWSMachine", &["spec", "userData"], None),
            ("AWSMachine", &["spec", "instanceID"], Some(FieldMeaning::Exists)),
            ("HelmChartProxy", &["spec", "namespace"], Some(FieldMeaning::Elsewhere)),
            (
                "DockerMachineTemplate",
                &["spec", "template", "spec", "extraMounts", "hostPath"],
                Some(FieldMeaning::HostPath),
            ),
            (
                "KubeadmControlPlane",
                &[
                    "spec",
                    "kubeadmConfigSpec",
                    "clusterConfiguration",
                    "apiServer",
                    "extraVolumes",
                    "hostPath",
                ],
                Some(FieldMeaning::Elsewhere),
            ),
        ] {
            assert_eq!(meaning(kind, keys), expected, "{kind} {keys:?}");
        }
    }
}
