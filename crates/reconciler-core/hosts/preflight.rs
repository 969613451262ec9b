//! Whether the racks can give what a head commit's SIPClusters ask for, and whether what the folders bring beside them goes
//! with that.

use std::collections::BTreeMap;

use capstan_hosts::choice::{Choice, HostFleet, choose};
use capstan_hosts::cluster::{self, CONTROL_PLANE, NamespacedName, SipCluster, WORKER};
use capstan_hosts::findings::{
    MachineMaker, endpoint_differs, oidc_not_wired, selector_missing, too_few_for_rollout,
};
use capstan_hosts::host::{CLUSTER_NAME, CLUSTER_NAMESPACE, Host, NODE_TYPE};
use capstan_hosts::selector::{HostDeployPolicy, LabelSelector, Labels};
use capstan_kustomize::render::RenderedObject;
use capstan_live::rollout::{TopologyGroup, most_surge, replicas, topology_groups};
use capstan_model::finding::Severity;
use capstan_model::kinds::{KindRole, names, role_of};
use capstan_model::object::FieldPath;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::reason::Reason;

/// A wish of one of the folders.
pub struct Wish<'l> {
    /// Of which look.
    pub at: usize,
    pub object: &'l RenderedObject,
    /// What it asks for, and its status.
    pub wished: SipCluster,
    /// What the head does not change is not its fault: a host that broke holds up no other change.
    pub is_unchanged: bool,
}

/// Whether an object is one.
pub fn is_wish(object: &RenderedObject) -> bool {
    object.id.group == cluster::GROUP && object.id.kind == cluster::KIND
}

/// Who would get too few hosts, in turns over all of them, as they are made live: what one takes, the next cannot have, and
/// what one gives back, the next turn gives to another.
pub fn too_few(wishes: &mut [Wish<'_>], mut seen: LiveAndWished) -> Vec<(usize, Reason)> {
    let mut open: Vec<usize> = (0..wishes.len()).collect();
    loop {
        let mut is_any_released = false;
        let mut lacking: Vec<(usize, Choice)> = Vec::new();
        for number in open {
            let Wish { wished, .. } = &mut wishes[number];
            let fleet = HostFleet {
                hosts: &seen.hosts,
                clusters: &seen.clusters,
                policies: &seen.policies,
                namespace_labels: &seen.labels,
            };
            let choice = choose(wished, &fleet);
            wished.status.hosts.clone_from(&choice.hosts);
            is_any_released |= seen.note(wished, &choice);
            if !choice.too_few.is_empty() {
                lacking.push((number, choice));
            }
        }
        if lacking.is_empty() || !is_any_released {
            let nodes = FieldPath::of_keys(["spec", "nodes"]);
            let told = |(number, choice): (usize, Choice)| {
                let wish = &wishes[number];
                let reason = Reason::of_object("HostsTooFew", choice.too_few.join("\n"), wish.object, &nodes);
                (wish.at, if wish.is_unchanged { warning(reason) } else { reason })
            };
            return lacking.into_iter().map(told).collect();
        }
        open = lacking.into_iter().map(|(number, _)| number).collect();
    }
}

/// What is live, and what the wishes so far would make of it.
pub struct LiveAndWished {
    /// The SIPClusters.
    pub clusters: Vec<SipCluster>,
    pub hosts: Vec<Host>,
    pub policies: Vec<HostDeployPolicy>,
    /// Of the namespaces of SIPClusters, where a policy asks for them.
    pub labels: BTreeMap<String, Labels>,
}

impl LiveAndWished {
    /// After a choice: it is noted, and what it gives back has no labels any more. Whether anything is given back.
    fn note(&mut self, wished: &SipCluster, choice: &Choice) -> bool {
        self.clusters.retain(|live| live.named() != wished.named());
        self.clusters.push(wished.clone());
        for host in &mut self.hosts {
            if choice.released.iter().any(|one| one.uid == host.metadata.uid) {
                for label in [CLUSTER_NAMESPACE, CLUSTER_NAME, NODE_TYPE] {
                    host.metadata.labels.remove(label);
                }
            }
        }
        !choice.released.is_empty()
    }
}

/// What the folder brings beside a SIPCluster.
pub fn beside(object: &RenderedObject, wished: &SipCluster, objects: &[RenderedObject]) -> Vec<Reason> {
    let mut found =
        OtherClusters { wished, objects, owners: BTreeMap::new(), named: Vec::new(), reasons: Vec::new() };
    let namespace = wished.metadata.namespace.as_str();
    for owner in objects.iter().filter(|other| other.id.namespace.as_deref() == Some(namespace)) {
        found.owner(owner);
    }
    found.topology();
    found.rollouts(object);
    found.endpoint();
    found.reasons
}

/// What is found beside a SIPCluster.
struct OtherClusters<'f> {
    wished: &'f SipCluster,
    objects: &'f [RenderedObject],
    /// Who makes machines of its hosts, by role.
    owners: BTreeMap<String, Vec<MachineMaker>>,
    /// Templates that were reported.
    named: Vec<String>,
    reasons: Vec<Reason>,
}

impl<'f> OtherClusters<'f> {
    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'f RenderedObject> + use<'f> {
        let (objects, namespace) = (self.objects, self.wished.metadata.namespace.clone());
        let is_it = move |other: &&RenderedObject| {
            other.id.namespace.as_deref() == Some(namespace.as_str()) && other.id.kind == kind
        };
        objects.iter().filter(is_it)
    }

    fn cluster(&self) -> Option<&'f RenderedObject> {
        self.of_kind(names::CLUSTER).find(|one| one.id.name == self.wished.metadata.name)
    }

    /// An owner of machines, and the template that it names.
    fn owner(&mut self, owner: &'f RenderedObject) {
        let Some(by_kind) = role_of_owner(owner) else { return };
        let me = self.wished.named();
        let is_of_cluster = is_of_cluster(owner, &me.name, self.objects);
        if is_of_cluster {
            self.issuer(owner, &owner.value);
        }
        let Some(name) = template_of(&owner.value) else { return };
        let Some(template) = self.of_kind(names::METAL3_MACHINE_TEMPLATE).find(|one| one.id.name == name)
        else {
            return;
        };
        let missing = selector_missing(&me, &template.value);
        if missing.is_some() && !is_of_cluster {
            return;
        }
        if let Some(message) = missing
            && !self.named.iter().any(|named| named == name)
        {
            self.named.push(name.to_owned());
            let at = FieldPath::of_keys(["spec", "template", "spec", "hostSelector"]);
            self.reasons.push(warning(Reason::of_object("SelectorMissing", message, template, &at)));
        }
        let count = replicas(&owner.value);
        let one = MachineMaker {
            kind: owner.id.kind.clone(),
            named: NamespacedName::new(&me.namespace, &owner.id.name),
            replicas: count.unwrap_or(1).into(),
            max_surge: most_surge(&owner.value, count).into(),
        };
        let role = role_of_template(&template.value).unwrap_or_else(|| by_kind.to_owned());
        self.owners.entry(role).or_default().push(one);
    }

    /// The groups of machines of the Cluster's topology.
    fn topology(&mut self) {
        let Some(cluster) = self.cluster() else { return };
        for group in topology_groups(&cluster.value, self.objects) {
            self.group(cluster, &group);
        }
    }

    fn group(&mut self, cluster: &'f RenderedObject, group: &TopologyGroup) {
        let me = self.wished.named();
        let by_kind = if group.is_control_plane { CONTROL_PLANE } else { WORKER };
        if let Some(plane) = &group.control_plane {
            let version = cluster.value.pointer("/spec/topology/version");
            let mut plane = json!({"metadata": {"name": me.name}, "spec": plane["spec"]});
            plane["spec"]["version"] = version.cloned().unwrap_or_default();
            self.issuer(cluster, &plane);
        }
        let mut role = by_kind.to_owned();
        if let Some(template) =
            group.template.as_ref().filter(|made| made["kind"] == names::METAL3_MACHINE_TEMPLATE)
        {
            let mut named = template.clone();
            named["metadata"]["name"] = format!("of {}", group.name).into();
            if let Some(message) = selector_missing(&me, &named) {
                let at = FieldPath::parse(&group.path).unwrap_or_default();
                self.reasons.push(warning(Reason::of_object("SelectorMissing", message, cluster, &at)));
            }
            role = role_of_template(template).unwrap_or(role);
        }
        self.owners.entry(role).or_default().push(MachineMaker {
            kind: format!("{} of {}", group.name, names::CLUSTER),
            named: me,
            replicas: group.replicas.unwrap_or(1).into(),
            max_surge: group.max_surge.into(),
        });
    }

    /// Whether a rolling upgrade has the hosts that it takes.
    fn rollouts(&mut self, object: &RenderedObject) {
        for (role, owners) in &self.owners {
            let Some(count) = self.wished.spec.nodes.get(role).map(|role| role.count) else { continue };
            if let Some(message) = too_few_for_rollout(role, count, owners) {
                let at = FieldPath::of_keys(["spec", "nodes", role.as_str(), "count"]);
                self.reasons.push(warning(Reason::of_object("HostsTooFewForRollout", message, object, &at)));
            }
        }
    }

    /// Whether the infrastructure cluster names the load balancer.
    fn endpoint(&mut self) {
        let Some(endpoint) = &self.wished.status.endpoints.control_plane else { return };
        let name = self.cluster().and_then(|one| one.value.pointer("/spec/infrastructureRef/name")?.as_str());
        let named = self.of_kind(names::METAL3_CLUSTER).filter(|one| Some(one.id.name.as_str()) == name);
        for infrastructure in named {
            if let Some(message) = endpoint_differs(endpoint, &infrastructure.value) {
                let at = FieldPath::of_keys(["spec", "controlPlaneEndpoint"]);
                self.reasons.push(warning(Reason::of_object(
                    "EndpointDiffers",
                    message,
                    infrastructure,
                    &at,
                )));
            }
        }
    }

    /// Whether the control plane trusts the issuer that runs for it.
    fn issuer(&mut self, written: &RenderedObject, control_plane: &Value) {
        let Some(issuer) = &self.wished.status.oidc else { return };
        if let Some(message) = oidc_not_wired(issuer, control_plane) {
            let at = FieldPath::of_keys(["spec", "kubeadmConfigSpec"]);
            self.reasons.push(warning(Reason::of_object("OidcNotWired", message, written, &at)));
        }
    }
}

/// The role of the hosts that an owner of machines takes, as long as no template says another.
fn role_of_owner(object: &RenderedObject) -> Option<&'static str> {
    match role_of(&object.id)? {
        KindRole::ControlPlane(_) => Some(CONTROL_PLANE),
        KindRole::Workers(_) => Some(WORKER),
        _ => None,
    }
}

/// The template that an owner makes machines from, in each version of the contract.
fn template_of(owner: &Value) -> Option<&str> {
    const AT: [&str; 3] = [
        "/spec/machineTemplate/spec/infrastructureRef/name",
        "/spec/machineTemplate/infrastructureRef/name",
        "/spec/template/spec/infrastructureRef/name",
    ];
    AT.iter().find_map(|pointer| owner.pointer(pointer)?.as_str())
}

/// The role that a template's selector names.
fn role_of_template(template: &Value) -> Option<String> {
    let selector = template.pointer("/spec/template/spec/hostSelector")?;
    LabelSelector::deserialize(selector).ok()?.match_labels.remove(NODE_TYPE)
}

/// Whether an owner of machines belongs to the Cluster of this name.
fn is_of_cluster(owner: &RenderedObject, cluster: &str, objects: &[RenderedObject]) -> bool {
    let text = |pointer: &str| owner.value.pointer(pointer).and_then(Value::as_str);
    let is_named = objects.iter().any(|object| {
        object.id.kind == names::CLUSTER
            && object.id.name == cluster
            && object.id.namespace == owner.id.namespace
            && object.value.pointer("/spec/controlPlaneRef/name").and_then(Value::as_str)
                == Some(owner.id.name.as_str())
    });
    text("/spec/clusterName") == Some(cluster) || is_named
}

/// Makes a reason a warning.
pub fn warning(reason: Reason) -> Reason {
    Reason { severity: Severity::Warning, ..reason }
}
