//! Cluster API Provider IBM Cloud: VPC from v1beta1 to v1beta2, PowerVS from v1beta2 to v1beta3
//! (<https://github.com/kubernetes-sigs/cluster-api-provider-ibmcloud/tree/main/docs/book/src/migrations>).

use super::rule::TableRule::{self, Append, Each, Move, Refuse, Required, Wins, Wrap};
use super::rule::{ConversionTable, ServedSince, TablePart};

pub(super) const VPC: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("infrastructure-ibmcloud", "v0.4.0"),
    parts: &[
        TablePart {
            at: &[("IBMVPCMachine", "spec"), ("IBMVPCMachineTemplate", "spec.template.spec")],
            rules: &[
                Wins("imageName", "image"),
                Wrap("image", "id"),
                Move("imageName", "image.name"),
                Required("image", "name the machine's image"),
                Each("sshKeys", &[Wrap("", "id")]),
                Each("sshKeyNames", &[Wrap("", "name")]),
                Append("sshKeyNames", "sshKeys"),
            ],
        },
        TablePart { at: &[("IBMVPCCluster", "spec")], rules: &[] },
    ],
};

/// Whether an object is found or made was to be seen from other fields in v1beta2, and has to be said in v1beta3.
pub(super) const POWER_VS: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta2", "v1beta3"),
    since: ServedSince::release("infrastructure-ibmcloud", "v0.14.0"),
    parts: &[
        TablePart {
            at: &[("IBMPowerVSCluster", "spec"), ("IBMPowerVSClusterTemplate", "spec.template.spec")],
            rules: CLUSTER,
        },
        TablePart {
            at: &[("IBMPowerVSMachine", "spec"), ("IBMPowerVSMachineTemplate", "spec.template.spec")],
            rules: &[
                Refuse("serviceInstanceID", FOUND_OR_MADE, WORKSPACE),
                Refuse("serviceInstance", FOUND_OR_MADE, WORKSPACE),
                Refuse("image", FOUND_OR_MADE, TYPED),
                Refuse("imageRef", FOUND_OR_MADE, "write it as `image: {type: Import, import: {name: …}}`"),
            ],
        },
        TablePart {
            at: &[("IBMPowerVSImage", "spec")],
            rules: &[
                Refuse("serviceInstanceID", FOUND_OR_MADE, WORKSPACE),
                Refuse("serviceInstance", FOUND_OR_MADE, WORKSPACE),
            ],
        },
    ],
};

const CLUSTER: &[TableRule] = &[
    Refuse("serviceInstanceID", FOUND_OR_MADE, WORKSPACE),
    Refuse("serviceInstance", FOUND_OR_MADE, WORKSPACE),
    Refuse("network", FOUND_OR_MADE, TYPED),
    Refuse(
        "dhcpServer",
        FOUND_OR_MADE,
        "write it as `network: {type: Provision, provision: {dhcpServer: …}}`",
    ),
    Refuse("resourceGroup", FOUND_OR_MADE, TYPED),
    Refuse("vpc", FOUND_OR_MADE, TYPED),
    Refuse(
        "vpcSubnets",
        FOUND_OR_MADE,
        "write each as one of `subnets`, with `type: Reference` or `type: Provision`",
    ),
    Refuse("vpcSecurityGroups", FOUND_OR_MADE, TYPED),
    Refuse("transitGateway", FOUND_OR_MADE, TYPED),
    Refuse("loadBalancers", FOUND_OR_MADE, TYPED),
    Refuse("cosInstance", FOUND_OR_MADE, TYPED),
    Required(
        "topology",
        "write `topology: LoadBalancer` where the annotation `powervs.cluster.x-k8s.io/create-infra` is \"true\", else \
         `topology: VirtualIP`",
    ),
];

const FOUND_OR_MADE: &str =
    "v1beta3 says whether it is found or made, and v1beta2 leaves that to what the provider finds";

const TYPED: &str = "write it with `type: Reference` and `reference`, or `type: Provision` and `provision`";

const WORKSPACE: &str = "write it as `workspace`, as the provider's notes on v1beta3 say";
