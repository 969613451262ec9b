//! The providers that need no source: clusterctl knows in which repository of github.com each is released.
//!
//! The facts are those of clusterctl 1.12 to 1.14
//! (<https://github.com/kubernetes-sigs/cluster-api/blob/main/cmd/clusterctl/client/config/providers_client.go>).

use super::kind::ProviderKind;

/// The one name of a core provider.
pub const CORE_PROVIDER: &str = "cluster-api";

/// Per kind, names and repositories.
const KNOWN: [(ProviderKind, &[(&str, &str)]); 7] = [
    (ProviderKind::Core, &[(CORE_PROVIDER, "kubernetes-sigs/cluster-api")]),
    (
        ProviderKind::Bootstrap,
        &[
            ("canonical-kubernetes", "canonical/cluster-api-k8s"),
            ("k0sproject-k0smotron", "k0sproject/k0smotron"),
            ("kairos-io", "kairos-io/cluster-api-provider-kairos"),
            ("kubeadm", "kubernetes-sigs/cluster-api"),
            ("kubekey-k3s", "kubesphere/kubekey"),
            ("microk8s", "canonical/cluster-api-bootstrap-provider-microk8s"),
            ("rke2", "rancher/cluster-api-provider-rke2"),
            ("talos", "siderolabs/cluster-api-bootstrap-provider-talos"),
        ],
    ),
    (
        ProviderKind::ControlPlane,
        &[
            ("canonical-kubernetes", "canonical/cluster-api-k8s"),
            ("hosted-control-plane", "teutonet/cluster-api-provider-hosted-control-plane"),
            ("k0sproject-k0smotron", "k0sproject/k0smotron"),
            ("kairos-io", "kairos-io/cluster-api-provider-kairos"),
            ("kamaji", "clastix/cluster-api-control-plane-provider-kamaji"),
            ("kubeadm", "kubernetes-sigs/cluster-api"),
            ("kubekey-k3s", "kubesphere/kubekey"),
            ("microk8s", "canonical/cluster-api-control-plane-provider-microk8s"),
            ("nested", "kubernetes-sigs/cluster-api-provider-nested"),
            ("rke2", "rancher/cluster-api-provider-rke2"),
            ("talos", "siderolabs/cluster-api-control-plane-provider-talos"),
        ],
    ),
    (
        ProviderKind::Infrastructure,
        &[
            ("aws", "kubernetes-sigs/cluster-api-provider-aws"),
            ("azure", "kubernetes-sigs/cluster-api-provider-azure"),
            ("byoh", "vmware-tanzu/cluster-api-provider-bringyourownhost"),
            ("cloudscale-ch-cloudscale", "cloudscale-ch/cluster-api-provider-cloudscale"),
            ("cloudstack", "kubernetes-sigs/cluster-api-provider-cloudstack"),
            ("coxedge", "coxedge/cluster-api-provider-coxedge"),
            ("digitalocean", "kubernetes-sigs/cluster-api-provider-digitalocean"),
            ("docker", "kubernetes-sigs/cluster-api"),
            ("gcp", "kubernetes-sigs/cluster-api-provider-gcp"),
            ("harvester-harvester", "rancher-sandbox/cluster-api-provider-harvester"),
            ("hetzner", "syself/cluster-api-provider-hetzner"),
            ("huawei", "HuaweiCloudDeveloper/cluster-api-provider-huawei"),
            ("ibmcloud", "kubernetes-sigs/cluster-api-provider-ibmcloud"),
            ("ionoscloud-ionoscloud", "ionos-cloud/cluster-api-provider-ionoscloud"),
            ("k0sproject-k0smotron", "k0sproject/k0smotron"),
            ("kairos-io-fleet", "kairos-io/cluster-api-provider-kairos-fleet"),
            ("kubekey", "kubesphere/kubekey"),
            ("kubeswift-io", "kubeswift-io/cluster-api-provider-kubeswift"),
            ("kubevirt", "kubernetes-sigs/cluster-api-provider-kubevirt"),
            ("linode-linode", "linode/cluster-api-provider-linode"),
            ("maas", "spectrocloud/cluster-api-provider-maas"),
            ("metal-stack", "metal-stack/cluster-api-provider-metal-stack"),
            ("metal3", "metal3-io/cluster-api-provider-metal3"),
            ("nested", "kubernetes-sigs/cluster-api-provider-nested"),
            ("nutanix", "nutanix-cloud-native/cluster-api-provider-nutanix"),
            ("oci", "oracle/cluster-api-provider-oci"),
            ("opennebula", "OpenNebula/cluster-api-provider-opennebula"),
            ("openstack", "kubernetes-sigs/cluster-api-provider-openstack"),
            ("outscale", "outscale/cluster-api-provider-outscale"),
            ("oxide", "oxidecomputer/cluster-api-provider-oxide"),
            ("proxmox", "ionos-cloud/cluster-api-provider-proxmox"),
            ("scaleway", "scaleway/cluster-api-provider-scaleway"),
            ("sidero", "siderolabs/sidero"),
            ("tinkerbell-tinkerbell", "tinkerbell/cluster-api-provider-tinkerbell"),
            ("vcd", "vmware/cluster-api-provider-cloud-director"),
            ("vcluster", "loft-sh/cluster-api-provider-vcluster"),
            ("virtink", "smartxworks/cluster-api-provider-virtink"),
            ("vsphere", "kubernetes-sigs/cluster-api-provider-vsphere"),
            ("vultr-vultr", "vultr/cluster-api-provider-vultr"),
        ],
    ),
    (
        ProviderKind::Ipam,
        &[
            ("in-cluster", "kubernetes-sigs/cluster-api-ipam-provider-in-cluster"),
            ("metal3", "metal3-io/ip-address-manager"),
            ("nutanix", "nutanix-cloud-native/cluster-api-ipam-provider-nutanix"),
        ],
    ),
    (
        ProviderKind::RuntimeExtension,
        &[("nutanix", "nutanix-cloud-native/cluster-api-runtime-extensions-nutanix")],
    ),
    (
        ProviderKind::Addon,
        &[
            ("eitco-cdk8s", "eitco/cluster-api-addon-provider-cdk8s"),
            ("helm", "kubernetes-sigs/cluster-api-addon-provider-helm"),
            ("rancher-fleet", "rancher/cluster-api-addon-provider-fleet"),
        ],
    ),
];

/// Files of components that are called otherwise than their kind's.
const FILES: [(ProviderKind, &str, &str); 2] = [
    (ProviderKind::Infrastructure, "docker", "infrastructure-components-development.yaml"),
    (ProviderKind::RuntimeExtension, "nutanix", "runtime-extensions-components.yaml"),
];

/// The names of a kind.
pub(crate) fn names(kind: ProviderKind) -> impl Iterator<Item = &'static str> {
    rows(kind).iter().map(|(name, _)| *name)
}

/// `OWNER/REPOSITORY` on github.com; `None` where clusterctl knows no provider of that kind and name.
pub(crate) fn repository(kind: ProviderKind, name: &str) -> Option<&'static str> {
    rows(kind).iter().find(|(known, _)| *known == name).map(|(_, repository)| *repository)
}

/// Whether clusterctl knows where a provider of that kind and name is released, so that it needs no source.
pub fn is_known(kind: ProviderKind, name: &str) -> bool {
    repository(kind, name).is_some()
}

/// The file of components in its releases.
pub(crate) fn components_file(kind: ProviderKind, name: &str) -> String {
    let other = FILES.iter().find(|(of, known, _)| *of == kind && *known == name);
    other.map_or_else(|| kind.components_file(), |(.., file)| (*file).to_owned())
}

fn rows(kind: ProviderKind) -> &'static [(&'static str, &'static str)] {
    KNOWN.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, rows)| rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_provider_has_a_repository_and_a_file() {
        for (kind, name, expected, file) in [
            (ProviderKind::Core, "cluster-api", Some("kubernetes-sigs/cluster-api"), "core-components.yaml"),
            (
                ProviderKind::Infrastructure,
                "docker",
                Some("kubernetes-sigs/cluster-api"),
                "infrastructure-components-development.yaml",
            ),
            (
                ProviderKind::Ipam,
                "in-cluster",
                Some("kubernetes-sigs/cluster-api-ipam-provider-in-cluster"),
                "ipam-components.yaml",
            ),
            (ProviderKind::Bootstrap, "aws", None, "bootstrap-components.yaml"),
        ] {
            assert_eq!(repository(kind, name), expected, "{kind} {name}");
            assert_eq!(components_file(kind, name), file);
        }
    }

    /// What the shared table of clusterctl's own providers has.
    #[test]
    fn the_known_providers_are_clusterctls() {
        let Some(files) = capstan_test_support::shared_data::files("providers") else { return };
        let (_, bytes) =
            files.iter().find(|(path, _)| path.ends_with("clusterctl-known-providers.yaml")).unwrap();
        let file = capstan_yaml::YamlFile::read_bytes(bytes).unwrap();
        let root = file.documents()[0].root.value();
        let list = root["providers"].as_array().unwrap();
        let mut wanted: Vec<String> = list
            .iter()
            .map(|row| {
                let kind = row["type"].as_str().unwrap().trim_end_matches("Type");
                format!("{kind} {} {}", row["name"].as_str().unwrap(), row["url"].as_str().unwrap())
            })
            .collect();
        wanted.sort();
        let mut had: Vec<String> = KNOWN
            .iter()
            .flat_map(|(kind, rows)| rows.iter().map(move |row| (*kind, row)))
            .map(|(kind, (name, repository))| {
                let file = components_file(kind, name);
                format!("{kind} {name} https://github.com/{repository}/releases/latest/{file}")
            })
            .collect();
        had.sort();
        assert_eq!(had, wanted);
    }
}
