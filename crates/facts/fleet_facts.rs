//! What the fleet page sorts and groups clusters by.

use capstan_model::version::KubernetesVersion;

/// What the fleet is sorted and grouped by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetFacts {
    /// The version of Kubernetes that a target has, where that is known.
    pub kubernetes: Option<KubernetesVersion>,
    /// The one that its offer brings, where that is another.
    pub kubernetes_offered: Option<KubernetesVersion>,
    /// Its wave, where a campaign puts it in one.
    pub wave: Option<WavePlace>,
    /// How many machines the offer replaces, as far as Git says so; `None` where there is no offer.
    pub machines: Option<u32>,
    /// Whether it replaces others besides, whose number Git does not say.
    pub more_machines: bool,
}

/// A wave of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WavePlace {
    /// Its place among the waves: 0 is the first.
    pub place: usize,
    pub name: String,
}
