//! Which network of pods a service of role cni is, and whether another one takes its place.
//!
//! *Caveat*: a network is recognised by what runs of it: the names of its DaemonSets and Deployments, or of its chart.
//! Where neither is known, the name of its service counts.

use std::collections::BTreeSet;

use capstan_yaml::Node;
use capstan_yaml::manifest::group_and_kind;
use serde_json::Value;

use super::version::text;
use crate::settings::{ForcedSwitch, Service, ServiceRole};

/// Where objects that bring a chart say which.
const CHARTS: &[(&str, &str, &[&str])] = &[
    ("addons.cluster.x-k8s.io", "HelmChartProxy", &["spec", "chartName"]),
    ("helm.toolkit.fluxcd.io", "HelmRelease", &["spec", "chart", "spec", "chart"]),
];

/// What of a network runs on nodes, and what sets that up.
const WORKLOADS: &[&str] = &["DaemonSet", "Deployment"];

/// The network of a cluster's pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodNetwork {
    pub service: String,
    parts: BTreeSet<String>,
}

impl PodNetwork {
    /// By the names of what runs of it.
    pub fn new(service: &str, parts: impl IntoIterator<Item = String>) -> Self {
        Self { service: service.to_owned(), parts: parts.into_iter().collect() }
    }

    /// Knows of more that runs of it.
    pub fn add(&mut self, parts: impl IntoIterator<Item = String>) {
        self.parts.extend(parts);
    }

    /// By its objects.
    pub(super) fn of<'n>(service: &str, objects: impl Iterator<Item = &'n Node>) -> Self {
        Self::new(service, objects.filter_map(part))
    }

    /// By its objects in JSON, rendered or live: those that another controller carries out among them.
    pub fn of_values<'v>(service: &str, objects: impl Iterator<Item = &'v Value>) -> Self {
        let tells = |object: &&Value| {
            let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
            WORKLOADS.contains(&kind) || CHARTS.iter().any(|(_, of, _)| *of == kind)
        };
        let nodes: Vec<Node> = objects.filter(tells).map(Node::from_value).collect();
        Self::of(service, nodes.iter())
    }

    /// Whether a group and kind are of what runs of a network.
    pub fn is_part(group: &str, kind: &str) -> bool {
        group == "apps" && WORKLOADS.contains(&kind)
    }

    /// Whether the other one is this one, under whatever name.
    fn is_same(&self, other: &Self) -> bool {
        if self.parts.is_empty() || other.parts.is_empty() {
            self.service == other.service
        } else {
            !self.parts.is_disjoint(&other.parts)
        }
    }
}

fn part(object: &Node) -> Option<String> {
    let (group, kind) = group_and_kind(object)?;
    if PodNetwork::is_part(group, kind) {
        return text(object, &["metadata", "name"]).map(str::to_owned);
    }
    let (_, _, path) = CHARTS.iter().find(|(of, is, _)| *of == group && *is == kind)?;
    text(object, path).map(str::to_owned)
}

/// The service that is the network of pods, of those that are on.
pub fn network_among(services: &[Service]) -> Option<&Service> {
    services.iter().find(|service| service.enabled && service.role == ServiceRole::Cni)
}

/// One network takes the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSwitch {
    from: String,
    to: String,
    /// Why, where somebody said that it may.
    reason: Option<String>,
}

/// What a switch does to what runs there.
/// Source: <https://github.com/cilium/cilium/issues/23751>, <https://github.com/kubernetes-sigs/kubespray/issues/2493>
const WHAT_IT_DOES: &str = "Pods keep the network that they started in until they are recreated. Until then, pods of the two networks do not reach each other, and Services and policies apply only to some pods. Both networks compete for each node's routes and CNI configuration. Each needs its own address range, and every node must be drained, one after the other";

/// Whether another network would be there, and whether somebody said that it may.
pub fn network_switch(
    was: &PodNetwork,
    is: &PodNetwork,
    force: Option<&ForcedSwitch>,
) -> Option<NetworkSwitch> {
    if was.is_same(is) {
        return None;
    }
    let (from, to) = (was.service.clone(), is.service.clone());
    let allows = |force: &&ForcedSwitch| force.from.as_str() == from && force.to.as_str() == to;
    let reason = force.filter(allows).map(|force| force.reason.to_string());
    Some(NetworkSwitch { from, to, reason })
}

impl NetworkSwitch {
    /// Whether nobody said that it may be.
    pub const fn is_refused(&self) -> bool {
        self.reason.is_none()
    }

    /// What is wrong with it, and what to do; or what it does, where it may be.
    pub fn words(&self) -> String {
        let Self { from, to, reason } = self;
        let what = if from == to {
            format!("the pod network `{to}` is replaced by another one")
        } else {
            format!("the pod network changes from `{from}` to `{to}`")
        };
        match reason {
            None => format!(
                "{what}: Capstan refuses this. Make a new cluster with the other network, and move the workloads. If you do want this, write `force: {{from: {from}, to: {to}, reason: …}}` at `{to}` in the cluster's \
                 capstan.yaml. {WHAT_IT_DOES}"
            ),
            Some(reason) => {
                let old = if from == to {
                    format!("Objects that `{to}` no longer brings are deleted after the rest is applied")
                } else {
                    format!("Objects of `{from}` stay until a tombstone names them")
                };
                format!(
                    "{what}, as `force` says ({reason}). {WHAT_IT_DOES}. Capstan does none of that for you. {old}"
                )
            }
        }
    }
}
