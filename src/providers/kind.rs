//! The seven kinds of providers: what each is called where.

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
}

const ROWS: [Row; 7] = [
    Row { kind: ProviderKind::Core, name: "CoreProvider", word: "core", clusterctl: "core" },
    Row {
        kind: ProviderKind::Bootstrap,
        name: "BootstrapProvider",
        word: "bootstrap",
        clusterctl: "bootstrap",
    },
    Row {
        kind: ProviderKind::ControlPlane,
        name: "ControlPlaneProvider",
        word: "control-plane",
        clusterctl: "control-plane",
    },
    Row {
        kind: ProviderKind::Infrastructure,
        name: "InfrastructureProvider",
        word: "infrastructure",
        clusterctl: "infrastructure",
    },
    Row { kind: ProviderKind::Ipam, name: "IPAMProvider", word: "ipam", clusterctl: "ipam" },
    Row {
        kind: ProviderKind::RuntimeExtension,
        name: "RuntimeExtensionProvider",
        word: "runtimeextension",
        clusterctl: "runtime-extension",
    },
    Row { kind: ProviderKind::Addon, name: "AddonProvider", word: "addon", clusterctl: "addon" },
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
    pub fn word(self) -> &'static str {
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
    pub fn components_file(self) -> String {
        format!("{}-components.yaml", self.row().clusterctl)
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
        }
        assert_eq!(ProviderKind::parse("coreprovider"), None);
    }
}
