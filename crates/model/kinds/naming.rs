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
pub enum Meaning {
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
    meaning: Meaning,
}

const fn field(
    kinds: &'static [&'static str],
    keys: &'static [&'static str],
    meaning: Meaning,
) -> NamingField {
    NamingField { kinds, keys, meaning }
}

const ANY: &[&str] = &["*"];
const METAL3: &[&str] = &["Metal3*"];
const KAMAJI: &[&str] = &["KamajiControlPlane*"];

/// The first that fits counts.
const FIELDS: &[NamingField] = &[
    // A namespace in the workload cluster.
    field(&["HelmChartProxy", "HelmReleaseProxy"], &["spec", "namespace"], Meaning::Elsewhere),
    field(&["AWSFargateProfile"], &["spec", "selectors"], Meaning::Elsewhere),
    field(&["App"], &["spec", "namespace"], Meaning::Elsewhere),
    field(&["AWSManagedControlPlane*"], &["podIdentityAssociations"], Meaning::Elsewhere),
    field(&["Profile", "ClusterProfile"], &["spec", "driftExclusions"], Meaning::Elsewhere),
    field(&["Profile", "ClusterProfile"], &["spec", "patches"], Meaning::Elsewhere),
    field(&["Profile", "ClusterProfile"], &["spec", "validateHealths"], Meaning::Elsewhere),
    // What a machine is given of its own configuration.
    field(&["K0s*"], &["k0sConfigSpec", "k0s"], Meaning::Elsewhere),
    field(&["K0smotron*"], &["k0sConfig"], Meaning::Elsewhere),
    field(&["Talos*"], &["configPatches"], Meaning::Elsewhere),
    // Files of the machine itself, which kubeadm mounts into its static pods.
    field(ANY, &["clusterConfiguration", "apiServer", "extraVolumes", "hostPath"], Meaning::Elsewhere),
    field(
        ANY,
        &["clusterConfiguration", "controllerManager", "extraVolumes", "hostPath"],
        Meaning::Elsewhere,
    ),
    field(ANY, &["clusterConfiguration", "scheduler", "extraVolumes", "hostPath"], Meaning::Elsewhere),
    field(ANY, &["hostPath"], Meaning::HostPath),
    field(ANY, &["hostDisk"], Meaning::HostPath),
    field(&["VSphere*", "Harvester*"], &["spec", "server"], Meaning::Server),
    field(&["Nutanix*"], &["prismCentral", "address"], Meaning::Server),
    field(ANY, &["prismCentralEndpoint", "url"], Meaning::Server),
    field(ANY, &["providerID"], Meaning::Exists),
    field(ANY, &["providerIDList"], Meaning::Exists),
    field(ANY, &["instanceID"], Meaning::Exists),
    field(ANY, &["instanceId"], Meaning::Exists),
    field(ANY, &["virtualMachineID"], Meaning::Exists),
    field(ANY, &["biosUUID"], Meaning::Exists),
    field(ANY, &["instanceUUID"], Meaning::Exists),
    // Only the order of what a controller does.
    field(ANY, &["spec", "dependsOn"], Meaning::Elsewhere),
    field(ANY, &["customHAProxyConfigTemplateRef"], Meaning::Names("ConfigMap")),
    field(ANY, &["kubeconfigRef"], Meaning::Names("Secret")),
    field(ANY, &["sshKeyRef"], Meaning::Names("Secret")),
    field(ANY, &["userDataRef"], Meaning::Names("Secret")),
    field(&["CloudStack*"], &["acsEndpoint"], Meaning::Names("Secret")),
    field(METAL3, &["userData"], Meaning::Names("Secret")),
    field(METAL3, &["metaData"], Meaning::Names("Secret")),
    field(METAL3, &["networkData"], Meaning::Names("Secret")),
    field(METAL3, &["dataTemplate"], Meaning::Names("Metal3DataTemplate")),
    field(&["Metal3Data", "Metal3DataClaim"], &["spec", "template"], Meaning::Names("Metal3DataTemplate")),
    field(&["Metal3Data"], &["spec", "claim"], Meaning::Names("Metal3DataClaim")),
    field(METAL3, &["ipAddressesFromIPPool"], Meaning::Names("IPPool")),
    field(METAL3, &["prefixesFromIPPool"], Meaning::Names("IPPool")),
    field(METAL3, &["gatewaysFromIPPool"], Meaning::Names("IPPool")),
    field(METAL3, &["dnsServersFromIPPool"], Meaning::Names("IPPool")),
    field(METAL3, &["ipAddressFromIPPool"], Meaning::Names("IPPool")),
    field(METAL3, &["dnsFromIPPool"], Meaning::Names("IPPool")),
    field(METAL3, &["fromIPPool"], Meaning::Names("IPPool")),
    field(&["Tinkerbell*"], &["hardwareName"], Meaning::Names("Hardware")),
    field(&["RKE2*"], &["resolvConf"], Meaning::Names("ConfigMap")),
    // One store of many tenants' control planes, and what of it is whose.
    field(KAMAJI, &["dataStoreName"], Meaning::Names("DataStore")),
    field(KAMAJI, &["dataStoreSchema"], Meaning::Exists),
    field(KAMAJI, &["dataStoreUsername"], Meaning::Exists),
    // Pods on the management cluster.
    field(&["Kamaji*", "K0smotron*", "Kubevirt*"], &["serviceAccountName"], Meaning::Names("ServiceAccount")),
    field(&["Kubevirt*"], &["claimName"], Meaning::Names("PersistentVolumeClaim")),
    field(&["Cluster"], &["spec", "topology", "class"], Meaning::Names("ClusterClass")),
    field(&["ClusterResourceSetBinding"], &["clusterResourceSetName"], Meaning::Names("ClusterResourceSet")),
    field(&["ClusterClass"], &["external", "generateExtension"], Meaning::Names("ExtensionConfig")),
    field(&["ClusterClass"], &["external", "generatePatchesExtension"], Meaning::Names("ExtensionConfig")),
    field(&["ClusterClass"], &["external", "validateExtension"], Meaning::Names("ExtensionConfig")),
    field(&["ClusterClass"], &["external", "validateTopologyExtension"], Meaning::Names("ExtensionConfig")),
    field(&["ClusterClass"], &["external", "discoverVariablesExtension"], Meaning::Names("ExtensionConfig")),
    // Annotations that name what another controller hands on.
    field(ANY, &["annotations", "serviceoperator.azure.com/credential-from"], Meaning::Names("Secret")),
    field(ANY, &["annotations", "metal3.io/BareMetalHost"], Meaning::Names("BareMetalHost")),
    field(ANY, &["annotations", "replicator.v1.mittwald.de/replicate-from"], Meaning::Exists),
    field(ANY, &["annotations", "reflector.v1.k8s.emberstack.com/reflects"], Meaning::Exists),
];

/// What a field of that kind holds, where the table knows it.
pub fn meaning(kind: &str, keys: &[&str]) -> Option<Meaning> {
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
    fn references_are_recognised_by_their_key() {
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
                Some(Meaning::Names("Secret")),
            ),
            (
                "Metal3MachineTemplate",
                &["spec", "template", "spec", "userData"],
                Some(Meaning::Names("Secret")),
            ),
            ("AWSMachine", &["spec", "userData"], None),
            ("AWSMachine", &["spec", "instanceID"], Some(Meaning::Exists)),
            ("HelmChartProxy", &["spec", "namespace"], Some(Meaning::Elsewhere)),
            (
                "DockerMachineTemplate",
                &["spec", "template", "spec", "extraMounts", "hostPath"],
                Some(Meaning::HostPath),
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
                Some(Meaning::Elsewhere),
            ),
        ] {
            assert_eq!(meaning(kind, keys), expected, "{kind} {keys:?}");
        }
    }
}
