//! The seven kinds of providers: what each is called where, and the names that need no source.

use std::fmt;

/// The group of all kinds.
pub(crate) const GROUP: &str = "operator.cluster.x-k8s.io";

/// A kind of provider. Ordered as clusterctl upgrades a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderKind {
    /// `CoreProvider`: Cluster API itself.
    Core,
    /// `BootstrapProvider`.
    Bootstrap,
    /// `ControlPlaneProvider`.
    ControlPlane,
    /// `InfrastructureProvider`.
    Infrastructure,
    /// `IPAMProvider`.
    Ipam,
    /// `RuntimeExtensionProvider`.
    RuntimeExtension,
    /// `AddonProvider`.
    Addon,
}

/// What is said of a kind.
struct Row {
    kind: ProviderKind,
    name: &'static str,
    /// The operator's word: labels and names of ConfigMaps.
    word: &'static str,
    /// clusterctl's word: labels of objects, names of files.
    clusterctl: &'static str,
    /// Names that clusterctl 1.12 to 1.14 knows an address for
    /// (<https://github.com/kubernetes-sigs/cluster-api/blob/main/cmd/clusterctl/client/config/providers_client.go>).
    built_in: &'static [&'static str],
}

const ROWS: [Row; 7] = [
    Row {
        kind: ProviderKind::Core,
        name: "CoreProvider",
        word: "core",
        clusterctl: "core",
        built_in: &["cluster-api"],
    },
    Row {
        kind: ProviderKind::Bootstrap,
        name: "BootstrapProvider",
        word: "bootstrap",
        clusterctl: "bootstrap",
        built_in: &[
            "canonical-kubernetes",
            "k0sproject-k0smotron",
            "kairos-io",
            "kubeadm",
            "kubekey-k3s",
            "microk8s",
            "rke2",
            "talos",
        ],
    },
    Row {
        kind: ProviderKind::ControlPlane,
        name: "ControlPlaneProvider",
        word: "control-plane",
        clusterctl: "control-plane",
        built_in: &[
            "canonical-kubernetes",
            "hosted-control-plane",
            "k0sproject-k0smotron",
            "kairos-io",
            "kamaji",
            "kubeadm",
            "kubekey-k3s",
            "microk8s",
            "nested",
            "rke2",
            "talos",
        ],
    },
    Row {
        kind: ProviderKind::Infrastructure,
        name: "InfrastructureProvider",
        word: "infrastructure",
        clusterctl: "infrastructure",
        built_in: &[
            "aws",
            "azure",
            "byoh",
            "cloudscale-ch-cloudscale",
            "cloudstack",
            "coxedge",
            "digitalocean",
            "docker",
            "gcp",
            "harvester-harvester",
            "hetzner",
            "huawei",
            "ibmcloud",
            "ionoscloud-ionoscloud",
            "k0sproject-k0smotron",
            "kairos-io-fleet",
            "kubekey",
            "kubeswift-io",
            "kubevirt",
            "linode-linode",
            "maas",
            "metal-stack",
            "metal3",
            "nested",
            "nutanix",
            "oci",
            "opennebula",
            "openstack",
            "outscale",
            "oxide",
            "proxmox",
            "scaleway",
            "sidero",
            "tinkerbell-tinkerbell",
            "vcd",
            "vcluster",
            "virtink",
            "vsphere",
            "vultr-vultr",
        ],
    },
    Row {
        kind: ProviderKind::Ipam,
        name: "IPAMProvider",
        word: "ipam",
        clusterctl: "ipam",
        built_in: &["in-cluster", "metal3", "nutanix"],
    },
    Row {
        kind: ProviderKind::RuntimeExtension,
        name: "RuntimeExtensionProvider",
        word: "runtimeextension",
        clusterctl: "runtime-extension",
        built_in: &["nutanix"],
    },
    Row {
        kind: ProviderKind::Addon,
        name: "AddonProvider",
        word: "addon",
        clusterctl: "addon",
        built_in: &["eitco-cdk8s", "helm", "rancher-fleet"],
    },
];

impl ProviderKind {
    fn row(self) -> &'static Row {
        // Every kind has its row; the first is never meant by another.
        ROWS.iter().find(|row| row.kind == self).unwrap_or(&ROWS[0])
    }

    /// The kind of that name; `None` where the group has none of it.
    pub fn parse(kind: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == kind).map(|row| row.kind)
    }

    /// The names of all kinds.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        ROWS.iter().map(|row| row.name)
    }

    /// `CoreProvider`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The operator's word for it, as in names and labels of its ConfigMaps: `runtimeextension`.
    pub(crate) fn word(self) -> &'static str {
        self.row().word
    }

    /// The value of the label `cluster.x-k8s.io/provider`: `infrastructure-aws`, `cluster-api`.
    pub fn label(self, name: &str) -> String {
        match self {
            Self::Core => name.to_owned(),
            _ => format!("{}-{name}", self.row().clusterctl),
        }
    }

    /// The file of components in a release: `infrastructure-components.yaml`.
    pub(crate) fn components_file(self) -> String {
        format!("{}-components.yaml", self.row().clusterctl)
    }

    /// Whether clusterctl knows where a provider of this name is released.
    pub(crate) fn is_built_in(self, name: &str) -> bool {
        self.row().built_in.contains(&name)
    }

    /// The names that need no source.
    pub(crate) fn built_in(self) -> &'static [&'static str] {
        self.row().built_in
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_files_are_those_of_clusterctl() {
        for (kind, name, label, file, word) in [
            ("CoreProvider", "cluster-api", "cluster-api", "core-components.yaml", "core"),
            ("BootstrapProvider", "kubeadm", "bootstrap-kubeadm", "bootstrap-components.yaml", "bootstrap"),
            (
                "ControlPlaneProvider",
                "rke2",
                "control-plane-rke2",
                "control-plane-components.yaml",
                "control-plane",
            ),
            (
                "InfrastructureProvider",
                "aws",
                "infrastructure-aws",
                "infrastructure-components.yaml",
                "infrastructure",
            ),
            ("IPAMProvider", "in-cluster", "ipam-in-cluster", "ipam-components.yaml", "ipam"),
            (
                "RuntimeExtensionProvider",
                "nutanix",
                "runtime-extension-nutanix",
                "runtime-extension-components.yaml",
                "runtimeextension",
            ),
            ("AddonProvider", "helm", "addon-helm", "addon-components.yaml", "addon"),
        ] {
            let read = ProviderKind::parse(kind).unwrap();
            assert_eq!((read.name(), read.label(name).as_str()), (kind, label));
            assert_eq!((read.components_file().as_str(), read.word()), (file, word));
            assert!(read.is_built_in(name), "{kind} {name}");
        }
        assert_eq!(ProviderKind::parse("coreprovider"), None);
        assert!(!ProviderKind::Bootstrap.is_built_in("aws"));
    }

    /// The names that the shared table of clusterctl's own providers has.
    #[test]
    fn the_built_in_names_are_clusterctls() {
        let Some(files) = capstan_test_support::shared_data::files("providers") else { return };
        let (_, bytes) =
            files.iter().find(|(path, _)| path.ends_with("clusterctl-known-providers.yaml")).unwrap();
        let file = capstan_yaml::YamlFile::read_bytes(bytes).unwrap();
        let root = file.documents()[0].root.value();
        let list = root.as_array().or_else(|| root.get("providers")?.as_array()).unwrap();
        let mut wanted: Vec<(String, String)> = list
            .iter()
            .map(|row| {
                let kind = row["type"].as_str().unwrap().trim_end_matches("Type");
                (kind.to_owned(), row["name"].as_str().unwrap().to_owned())
            })
            .collect();
        wanted.sort();
        let mut had: Vec<(String, String)> = ROWS
            .iter()
            .flat_map(|row| row.built_in.iter().map(|name| (row.name.to_owned(), (*name).to_owned())))
            .collect();
        had.sort();
        assert_eq!(had, wanted);
    }
}
