//! What people call things in one kind of cloud.

use super::facts::{Resource, Thing};

/// The words of one kind of cloud.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// What a machine is made of: `flavor`.
    pub machine_type: &'static str,
    /// What keeps machines apart: `server group`.
    pub placement_group: &'static str,
    /// Whose quotas they are: `project`.
    pub account: &'static str,
    /// What the quotas are of, in the order of [`Resource::ALL`].
    pub resources: [&'static str; 8],
    /// What it says of an image that machines boot: `active`.
    pub bootable: &'static str,
    /// The field of a machine that asks for a volume to boot from.
    pub root_volume: &'static str,
    /// The field of a cluster that names the network that leads out.
    pub external_network: &'static str,
    /// Why an image does not boot on a machine type that has no disk.
    pub no_disk: &'static str,
    /// The reason of a machine type that is not there, and of one that is too small.
    pub machine_type_reasons: [&'static str; 2],
    /// The reason of a placement group that is not there, and of several.
    pub placement_group_reasons: [&'static str; 2],
}

impl Words {
    /// The noun for a thing.
    pub(super) const fn noun(&self, thing: Thing) -> &'static str {
        match thing {
            Thing::MachineType => self.machine_type,
            Thing::PlacementGroup => self.placement_group,
            Thing::Image => "image",
            Thing::Network => "network",
            Thing::KeyPair => "key pair",
        }
    }

    /// The reason of a thing that is not there.
    pub(super) const fn not_there(&self, thing: Thing) -> &'static str {
        match thing {
            Thing::MachineType => self.machine_type_reasons[0],
            Thing::PlacementGroup => self.placement_group_reasons[0],
            Thing::Image => "ImageNotThere",
            Thing::Network => "NetworkNotThere",
            Thing::KeyPair => "KeyPairNotThere",
        }
    }

    /// The reason of a name that several things have.
    pub(super) const fn ambiguous(&self, thing: Thing) -> &'static str {
        match thing {
            Thing::PlacementGroup => self.placement_group_reasons[1],
            Thing::Image => "ImageAmbiguous",
            Thing::Network => "NetworkAmbiguous",
            Thing::MachineType => "MachineTypeAmbiguous",
            Thing::KeyPair => "KeyPairAmbiguous",
        }
    }

    /// What a quota is of.
    pub(super) fn resource(&self, resource: Resource) -> &'static str {
        let all = Resource::ALL.into_iter().zip(self.resources);
        all.into_iter().find(|(known, _)| *known == resource).map_or("", |(_, words)| words)
    }
}
