//! Attempts by naming: Secrets that controllers trust, and objects, credentials and machines that are not the folder's.
//!
//! AWSMachine and GCPCluster are served by nobody here: those rows show that the folder is refused before the API server is
//! asked for the kind.

use super::table::Attempt;
use super::table::Wall::{None as Nowhere, Rights};

/// A kubeconfig Secret: of what is written of the cluster, and of the user.
macro_rules! kubeconfig {
    ($cluster:literal, $user:literal) => {
        concat!(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME-kubeconfig}\nstringData:\n  value: \"",
            "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: {server: 'https://example.com:6443'",
            $cluster,
            "}}], users: [{name: u, user: {",
            $user,
            "}}]}\"\n"
        )
    };
}

/// What is said of a key in a kubeconfig.
macro_rules! not_inline {
    ($of:literal, $key:literal) => {
        concat!(
            "Secret gauss/NAME-kubeconfig: `/stringData/value` is not a kubeconfig that Capstan gives to a controller: its ",
            $of,
            " has `",
            $key,
            "`: only the server's https address and inline data count (`certificate-authority-data`, `client-certificate-data`, `client-key-data`, `token`)"
        )
    };
}

/// What is said of an object that the folder does not bring.
macro_rules! not_brought {
    ($object:literal, $named:literal, $field:literal) => {
        concat!(
            $object,
            " names ",
            $named,
            " in `",
            $field,
            "`, but this folder does not have it. An overlay may name only the folder's own objects, or what base names in the same field. Add it, or name it in base"
        )
    };
}

/// What is said of an object that another folder brings.
macro_rules! neighbours {
    ($object:literal, $named:literal) => {
        concat!(
            $object,
            " names ",
            $named,
            " of the folder gauss/neighbour: name one of this folder, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner"
        )
    };
}

/// What is said of a name in another namespace.
macro_rules! elsewhere {
    ($object:literal, $named:literal, $namespace:literal) => {
        concat!(
            $object,
            ": an overlay may not name ",
            $named,
            " in the namespace ",
            $namespace,
            ", which does not belong to this folder"
        )
    };
}

/// What bases bring, where rows of [`super::table::ATTEMPTS`] have overlays: in `base/a.yaml`.
pub(super) const OF_BASES: &[Attempt] = &[
    of_base(
        "trusts-token-file",
        kubeconfig!("", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"),
        &[(5, not_inline!("user", "tokenFile"))],
    ),
    of_base("trusts-exec", kubeconfig!("", "exec: {command: sh}"), &[(5, not_inline!("user", "exec"))]),
    of_base(
        "trusts-auth-provider",
        kubeconfig!("", "auth-provider: {name: oidc}"),
        &[(5, not_inline!("user", "auth-provider"))],
    ),
    of_base(
        "trusts-certificate-file",
        kubeconfig!("", "client-certificate: /etc/kubernetes/pki/a.crt"),
        &[(5, not_inline!("user", "client-certificate"))],
    ),
    of_base(
        "trusts-key-file",
        kubeconfig!("", "client-key: /etc/kubernetes/pki/a.key"),
        &[(5, not_inline!("user", "client-key"))],
    ),
    of_base(
        "trusts-proxy",
        kubeconfig!(", proxy-url: 'http://example.com'", "token: t"),
        &[(5, not_inline!("cluster", "proxy-url"))],
    ),
];

const fn of_base(name: &'static str, base: &'static str, says: &'static [(u32, &'static str)]) -> Attempt {
    Attempt { name, overlay: base, says, wall: Nowhere }
}

const fn of_overlay(
    name: &'static str,
    overlay: &'static str,
    says: &'static [(u32, &'static str)],
) -> Attempt {
    Attempt { name, overlay, says, wall: Nowhere }
}

pub(super) const REFERENCES: &[Attempt] = &[
    of_overlay(
        "own-kubeconfig",
        kubeconfig!("", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"),
        &[
            (
                3,
                "Secret gauss/NAME-kubeconfig: controllers trust a Secret named NAME-kubeconfig, so an overlay may neither add nor change it; base may. Give your Secret another name",
            ),
            (5, not_inline!("user", "tokenFile")),
        ],
    ),
    of_overlay(
        "login-elsewhere",
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: ProxmoxCluster
metadata: {name: NAME}
spec:
  credentialsRef: {name: login, namespace: capmox-system}
",
        &[(5, elsewhere!("ProxmoxCluster gauss/NAME", "login", "capmox-system"))],
    ),
    Attempt {
        name: "login-elsewhere-unserved",
        overlay: "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: GCPCluster
metadata: {name: NAME}
spec:
  credentialsRef: {name: login, namespace: capg-system}
",
        says: &[(5, elsewhere!("GCPCluster gauss/NAME", "login", "capg-system"))],
        wall: Rights("GCPCluster.infrastructure.cluster.x-k8s.io is not served in version v1beta1"),
    },
    of_overlay(
        "data-of-metal",
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3MachineTemplate
metadata: {name: NAME}
spec:
  template:
    spec:
      userData: {name: theirs, namespace: metal}
      metaData: {name: by-hand}
      networkData: {name: login-two}
",
        &[
            (
                8,
                not_brought!(
                    "Metal3MachineTemplate gauss/NAME",
                    "Secret by-hand",
                    "/spec/template/spec/metaData/name"
                ),
            ),
            (9, neighbours!("Metal3MachineTemplate gauss/NAME", "the Secret login-two")),
            (7, elsewhere!("Metal3MachineTemplate gauss/NAME", "theirs", "metal")),
        ],
    ),
    of_overlay(
        "identity-of-all",
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: NAME}
spec:
  identityRef: {type: ClusterIdentity, name: platform, cloudName: openstack}
",
        &[(
            5,
            "OpenStackCluster gauss/NAME: an overlay may not choose the credentials OpenStackClusterIdentity platform, which are not in this folder; base may",
        )],
    ),
    of_overlay(
        "neighbours-control-plane",
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: gauss}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AcmeControlPlane, name: two}
",
        &[(
            5,
            "Cluster gauss/NAME names AcmeControlPlane two of the folder gauss/waiting: name one of this folder, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
    ),
    of_overlay(
        "neighbours-infrastructure",
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: gauss}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AcmeCluster, name: two}
",
        &[(5, neighbours!("Cluster gauss/NAME", "AcmeCluster two"))],
    ),
    of_overlay(
        "neighbours-template",
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME}
spec:
  clusterName: NAME
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      clusterName: NAME
      version: v1.34.3
      bootstrap: {dataSecretName: NAME-data}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: two}
---
apiVersion: v1
kind: Secret
metadata: {name: NAME-data}
",
        &[(14, neighbours!("MachineDeployment gauss/NAME", "DevMachineTemplate two"))],
    ),
    of_overlay(
        "class-elsewhere",
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: gauss}
spec:
  topology:
    version: v1.34.3
    classRef: {name: theirs, namespace: platform}
",
        &[(7, elsewhere!("Cluster gauss/NAME", "theirs", "platform"))],
    ),
    of_overlay(
        "machines-elsewhere",
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: KubevirtMachineTemplate
metadata: {name: NAME}
spec:
  template:
    spec:
      virtualMachineTemplate:
        metadata: {namespace: tenants}
",
        &[(8, elsewhere!("KubevirtMachineTemplate gauss/NAME", "anything", "tenants"))],
    ),
    of_overlay(
        "manifests-elsewhere",
        "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: RKE2ControlPlane
metadata: {name: NAME}
spec:
  manifestsConfigMapReference: {name: theirs, namespace: kube-system}
",
        &[(5, elsewhere!("RKE2ControlPlane gauss/NAME", "theirs", "kube-system"))],
    ),
    of_overlay(
        "somebodys-machine",
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: NAME}
spec:
  clusterName: NAME
  providerID: openstack:///11111111-1111-4111-8111-111111111111
  bootstrap: {dataSecretName: NAME-data}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AcmeCluster, name: NAME}
---
apiVersion: v1
kind: Secret
metadata: {name: NAME-data}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AcmeCluster
metadata: {name: NAME}
",
        &[(
            6,
            "Machine gauss/NAME: an overlay may not set `/spec/providerID`, which binds an object to an existing machine, instance or account; base may",
        )],
    ),
    Attempt {
        name: "somebodys-instance-unserved",
        overlay: "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {name: NAME}
spec:
  instanceID: i-1
",
        says: &[(
            5,
            "AWSMachine gauss/NAME: an overlay may not set `/spec/instanceID`, which binds an object to an existing machine, instance or account; base may",
        )],
        wall: Rights("AWSMachine.infrastructure.cluster.x-k8s.io is not served in version v1beta2"),
    },
    Attempt {
        name: "address-of-others",
        overlay: "\
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddress
metadata: {name: NAME}
spec:
  address: 10.0.0.1
  prefix: 24
  poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: theirs}
  claimRef: {name: NAME}
---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {name: NAME}
",
        says: &[(7, not_brought!("IPAddress gauss/NAME", "InClusterIPPool theirs", "/spec/poolRef/name"))],
        wall: Rights(
            "cannot patch resource \"ipaddresses\" in API group \"ipam.cluster.x-k8s.io\" in the namespace \"gauss\"",
        ),
    },
    of_overlay(
        "path-on-host",
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerMachineTemplate
metadata: {name: NAME}
spec:
  template:
    spec:
      extraMounts: [{hostPath: /var/run/docker.sock, containerPath: /var/run/docker.sock}]
",
        &[(
            7,
            "DockerMachineTemplate gauss/NAME: an overlay may not set `/spec/template/spec/extraMounts/0/hostPath`, a path on a host that runs parts of the management cluster; base may",
        )],
    ),
    of_overlay(
        "login-by-hand",
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AcmeCluster
metadata: {name: NAME}
spec:
  loginSecretRef: {name: by-hand}
",
        &[(5, not_brought!("AcmeCluster gauss/NAME", "Secret by-hand", "/spec/loginSecretRef/name"))],
    ),
];
