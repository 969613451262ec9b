//! The seven kinds of providers: what each is called where.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The group of all kinds.
pub const GROUP: &str = "operator.cluster.x-k8s.io";

/// The version in which an API server has them.
pub const VERSION: &str = "v1alpha2";

/// A kind of provider. Ordered as clusterctl upgrades a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
struct ProviderKindRow {
    kind: ProviderKind,
    name: &'static str,
    /// The operator's word: labels and names of ConfigMaps.
    word: &'static str,
    /// clusterctl's word: labels of objects, names of files.
    clusterctl: &'static str,
    /// What kubectl takes for it: the operator's definitions have these.
    short: &'static str,
}

const ROWS: [ProviderKindRow; 7] = [
    ProviderKindRow {
        kind: ProviderKind::Core,
        name: "CoreProvider",
        word: "core",
        clusterctl: "core",
        short: "cacp",
    },
    ProviderKindRow {
        kind: ProviderKind::Bootstrap,
        name: "BootstrapProvider",
        word: "bootstrap",
        clusterctl: "bootstrap",
        short: "cabp",
    },
    ProviderKindRow {
        kind: ProviderKind::ControlPlane,
        name: "ControlPlaneProvider",
        word: "control-plane",
        clusterctl: "control-plane",
        short: "cacpp",
    },
    ProviderKindRow {
        kind: ProviderKind::Infrastructure,
        name: "InfrastructureProvider",
        word: "infrastructure",
        clusterctl: "infrastructure",
        short: "caip",
    },
    ProviderKindRow {
        kind: ProviderKind::Ipam,
        name: "IPAMProvider",
        word: "ipam",
        clusterctl: "ipam",
        short: "caipamp",
    },
    ProviderKindRow {
        kind: ProviderKind::RuntimeExtension,
        name: "RuntimeExtensionProvider",
        word: "runtimeextension",
        clusterctl: "runtime-extension",
        short: "carep",
    },
    ProviderKindRow {
        kind: ProviderKind::Addon,
        name: "AddonProvider",
        word: "addon",
        clusterctl: "addon",
        short: "caap",
    },
];

impl ProviderKind {
    fn row(self) -> &'static ProviderKindRow {
        // Every kind has its row; the first is never meant by another.
        ROWS.iter().find(|row| row.kind == self).unwrap_or(&ROWS[0])
    }

    /// The kind of that name; `None` where the group has none of it.
    pub fn parse(kind: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == kind).map(|row| row.kind)
    }

    /// All kinds, in the order in which clusterctl upgrades a set.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.kind)
    }

    /// Its resource: `coreproviders`.
    pub fn plural(self) -> String {
        format!("{}s", self.name().to_ascii_lowercase())
    }

    /// What kubectl takes for it: `cacp`.
    pub fn short_name(self) -> &'static str {
        self.row().short
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

    /// The Secret in which the operator keeps what it rendered of a version: `infrastructure-aws-v2.9.1-cache`.
    pub fn operators_cache(self, name: &str, version: &str) -> String {
        format!("{}-{name}-{version}-cache", self.word())
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
        let named: Vec<String> =
            ProviderKind::all().map(|kind| format!("{} {}", kind.plural(), kind.short_name())).collect();
        assert_eq!(
            named,
            [
                "coreproviders cacp",
                "bootstrapproviders cabp",
                "controlplaneproviders cacpp",
                "infrastructureproviders caip",
                "ipamproviders caipamp",
                "runtimeextensionproviders carep",
                "addonproviders caap",
            ]
        );
    }
}
