//! Names of kinds of Cluster API and of its OpenStack and Metal3 providers, for looking objects up.
//! [`super::role`] says what an object *is*: its kind is not compared with these.

pub const CLUSTER: &str = "Cluster";
/// What clusters with a topology are made from.
pub const CLUSTER_CLASS: &str = "ClusterClass";
/// The control plane of Cluster API itself.
pub const KUBEADM_CONTROL_PLANE: &str = "KubeadmControlPlane";
/// A group of worker machines that is upgraded by new MachineSets.
pub const MACHINE_DEPLOYMENT: &str = "MachineDeployment";
/// A group of worker machines that are alike.
pub const MACHINE_SET: &str = "MachineSet";
/// A group of worker machines that the infrastructure provider runs.
pub const MACHINE_POOL: &str = "MachinePool";
pub const MACHINE: &str = "Machine";
/// The label by which objects of Cluster API say which cluster they belong to.
pub const CLUSTER_NAME_LABEL: &str = "cluster.x-k8s.io/cluster-name";
/// The network of an OpenStack cluster and its endpoint.
pub const OPENSTACK_CLUSTER: &str = "OpenStackCluster";
pub const OPENSTACK_MACHINE: &str = "OpenStackMachine";
/// A server of OpenStack, above all a bastion.
pub const OPENSTACK_SERVER: &str = "OpenStackServer";
/// What machines of OpenStack are made from.
pub const OPENSTACK_MACHINE_TEMPLATE: &str = "OpenStackMachineTemplate";
/// Credentials of OpenStack that belong to the whole management cluster.
pub const OPENSTACK_CLUSTER_IDENTITY: &str = "OpenStackClusterIdentity";
/// A cluster on bare metal.
pub const METAL3_CLUSTER: &str = "Metal3Cluster";
/// A machine on a bare-metal host.
pub const METAL3_MACHINE: &str = "Metal3Machine";
/// What machines on bare-metal hosts are made from.
pub const METAL3_MACHINE_TEMPLATE: &str = "Metal3MachineTemplate";
