//! The hosts' part of a preflight: whether the racks can give what a head commit's SIPClusters ask for, and whether what the
//! folders bring beside them goes with that.
//!
//! *Expected flow*: each folder is looked at ([`look`]); then all folders of one question are answered together ([`answer`]),
//! since their SIPClusters compete for the same hosts.
//!
//! *Guarantees*: nothing is written; where SIPCluster or BareMetalHost are not served, or no folder brings a SIPCluster,
//! nothing is asked. Decided as a turn over the SIPClusters decides ([`crate::hosts`]), upon what is live now and the
//! counts of the head.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use capstan_hosts::choice::{Choice, Fleet, choose};
use capstan_hosts::cluster::{self, CONTROL_PLANE, Named, SipCluster, Status, WORKER};
use capstan_hosts::findings::{
    Owner, endpoint_differs, oidc_not_wired, selector_missing, too_few_for_rollout,
};
use capstan_hosts::host::{self, CLUSTER_NAME, CLUSTER_NAMESPACE, Host, NODE_TYPE};
use capstan_hosts::selector::{HostDeployPolicy, LabelSelector, Labels};
use capstan_hosts::services::balancer::says_endpoint;
use capstan_hosts::services::issuer::says_oidc;
use capstan_kustomize::render::RenderedObject;
use capstan_live::rollout::{TopologyGroup, most_surge, replicas, topology_groups};
use capstan_model::finding::Severity;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{KindRole, names, role_of};
use capstan_model::object::FieldPath;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::dependencies::Ports;
use super::ports::{PreflightAnswer, PreflightVerdict};
use super::reason::{AWAY, NOT_ANSWERED, Reason, untold};
use crate::hosts::{MANAGED_BY, RUNNING_KINDS, labels_of, labels_of_others, noting_namespaces};
use capstan_ports::{ApiKind, As, LiveError, ManagementCluster as _};

/// Nobody may look: what the racks can give is not known.
const UNKNOWN: &str = "HostsUnknown";

/// What one folder asks of the racks.
pub(super) struct HostsLook {
    cluster: ClusterId,
    by: As,
    objects: Vec<RenderedObject>,
}

/// Reads what a folder asks of the racks; `None` where that is nothing.
pub(super) fn look(id: &ClusterId, by: &As, objects: &[RenderedObject]) -> Option<HostsLook> {
    let is_anything = objects.iter().any(is_wish);
    is_anything.then(|| HostsLook { cluster: id.clone(), by: by.clone(), objects: objects.to_vec() })
}

/// Adds to the answers what the racks can give to all folders together.
pub(super) async fn answer(ports: &Ports, looks: &[HostsLook], answers: &mut [PreflightAnswer]) {
    if looks.is_empty() {
        return;
    }
    let said = match say(ports, looks).await {
        Ok(said) => said,
        Err(error) => (0..looks.len()).map(|at| (at, untold(&error))).collect(),
    };
    for (at, reason) in said {
        let Some(answer) = answers.iter_mut().find(|answer| answer.cluster == looks[at].cluster) else {
            continue;
        };
        match reason.severity {
            Severity::Error => answer.verdict = PreflightVerdict::Rejected,
            // What cannot be told is no yes; what is only told is.
            _ if is_untold(&reason) && answer.verdict == PreflightVerdict::Accepted => {
                answer.verdict = PreflightVerdict::NotVerifiable;
            }
            _ => {}
        }
        answer.reasons.push(reason);
    }
}

/// Whether a reason says that something cannot be told before the merge: that is no yes.
fn is_untold(reason: &Reason) -> bool {
    [UNKNOWN, AWAY, NOT_ANSWERED].contains(&reason.kind)
}

/// A wish of one of the folders.
struct Wish<'l> {
    /// Of which look.
    at: usize,
    object: &'l RenderedObject,
    wished: SipCluster,
    /// What the head does not change is not its fault: a host that broke holds up no other change.
    is_unchanged: bool,
}

/// What is to be said, each of which look.
async fn say(ports: &Ports, looks: &[HostsLook]) -> Result<Vec<(usize, Reason)>, LiveError> {
    let (sip_clusters, hosts) = (kind(cluster::GROUP, cluster::KIND), kind(host::GROUP, host::KIND));
    for kind in [&sip_clusters, &hosts] {
        if ports.live.scope(kind).await?.is_none() {
            // The dry run says that the kind is missing.
            return Ok(Vec::new());
        }
    }
    let all = wishes_of(looks);
    let mut seen = match see(ports, &sip_clusters, &hosts).await {
        Err(error) if error.is_forbidden() => {
            let message = format!(
                "whether the racks can give these hosts is not known: {error}; kubectl apply -k deploy/hosts grants it"
            );
            let told = |(at, object): (usize, &RenderedObject)| {
                (at, warning(Reason::of_object(UNKNOWN, &message, object, &FieldPath::root())))
            };
            return Ok(all.into_iter().map(told).collect());
        }
        seen => seen?,
    };
    let mut wishes: Vec<Wish<'_>> = Vec::new();
    let mut said: Vec<(usize, Reason)> = Vec::new();
    for (at, object) in all {
        // What cannot be read is refused by the dry run; what two folders bring, by their dispute.
        let Ok(mut wished) = SipCluster::read(&object.value) else { continue };
        let me = wished.named();
        if wishes.iter().any(|other| other.wished.named() == me) {
            continue;
        }
        let live = seen.clusters.iter().find(|live| live.named() == me);
        let is_unchanged = live.is_some_and(|live| live.spec.nodes == wished.spec.nodes);
        let known = async {
            let status = match live {
                Some(live) => confirm(ports, &looks[at].by, live).await?,
                None => Status::default(),
            };
            let labels = match seen.policies.iter().any(HostDeployPolicy::reads_labels) {
                true => labels_of(&ports.live, &looks[at].by, &me.namespace).await?,
                false => Labels::new(),
            };
            Ok((status, labels))
        };
        match known.await {
            Ok((status, labels)) => {
                wished.status = status;
                seen.labels.insert(me.namespace, labels);
            }
            Err(error @ (LiveError::Unreachable { .. } | LiveError::NotLeading { .. })) => return Err(error),
            // What is wrong with one folder's namespace concerns no other folder.
            Err(error) => {
                said.push((at, untold(&error)));
                continue;
            }
        }
        wishes.push(Wish { at, object, wished, is_unchanged });
    }
    for namespace in noting_namespaces(&seen.clusters, &seen.policies) {
        if let Entry::Vacant(unread) = seen.labels.entry(namespace) {
            let labels = labels_of_others(&ports.live, unread.key()).await?;
            unread.insert(labels);
        }
    }
    wishes.sort_by_key(|wish| wish.wished.named());
    let beside = wishes.iter().flat_map(|wish| {
        let reasons = beside(wish.object, &wish.wished, &looks[wish.at].objects);
        reasons.into_iter().map(|reason| (wish.at, reason))
    });
    let beside: Vec<(usize, Reason)> = beside.collect();
    said.extend(too_few(&mut wishes, seen));
    said.extend(beside);
    Ok(said)
}

fn wishes_of(looks: &[HostsLook]) -> Vec<(usize, &RenderedObject)> {
    let mut all = Vec::new();
    for (at, look) in looks.iter().enumerate() {
        all.extend(look.objects.iter().filter(|object| is_wish(object)).map(|object| (at, object)));
    }
    all
}

/// Who would get too few hosts, in turns over all of them, as they are made live: what one takes, the next cannot have, and
/// what one gives back, the next turn gives to another.
fn too_few(wishes: &mut [Wish<'_>], mut seen: Seen) -> Vec<(usize, Reason)> {
    let mut open: Vec<usize> = (0..wishes.len()).collect();
    loop {
        let mut is_any_released = false;
        let mut lacking: Vec<(usize, Choice)> = Vec::new();
        for number in open {
            let Wish { wished, .. } = &mut wishes[number];
            let fleet = Fleet {
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
struct Seen {
    clusters: Vec<SipCluster>,
    hosts: Vec<Host>,
    policies: Vec<HostDeployPolicy>,
    /// Of the namespaces of SIPClusters, where a policy asks for them.
    labels: BTreeMap<String, Labels>,
}

impl Seen {
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

async fn see(ports: &Ports, sip_clusters: &ApiKind, hosts: &ApiKind) -> Result<Seen, LiveError> {
    let list = |kind: ApiKind| async move { ports.live.list(&As::Reconciler, &kind, None, &[]).await };
    let (clusters, hosts) = (list(sip_clusters.clone()).await?, list(hosts.clone()).await?);
    let policies = list(kind(host::GROUP, HostDeployPolicy::KIND)).await?;
    Ok(Seen {
        clusters: clusters.iter().filter_map(|object| SipCluster::read(object).ok()).collect(),
        hosts: hosts.iter().filter_map(|object| Host::read(object).ok()).collect(),
        policies: policies.iter().map(HostDeployPolicy::read).collect(),
        labels: BTreeMap::new(),
    })
}

/// What was said of a SIPCluster, as far as what runs for it says that, too: whoever writes a status by hand has nothing
/// told that is to go into Git.
async fn confirm(ports: &Ports, by: &As, live: &SipCluster) -> Result<Status, LiveError> {
    let mut status = live.status.clone();
    if status.endpoints.is_empty() && status.oidc.is_none() {
        return Ok(status);
    }
    let mut runs = Vec::new();
    for (version, kind) in RUNNING_KINDS {
        let kind = ApiKind::of_version(version, kind);
        let found = ports.live.list(by, &kind, Some(&live.metadata.namespace), &[MANAGED_BY]).await;
        match found {
            Err(error) if error.is_forbidden() => {}
            found => runs.extend(found?),
        }
    }
    let endpoint = &mut status.endpoints.control_plane;
    *endpoint = endpoint.take().filter(|at| runs.iter().any(|one| says_endpoint(live, one, at)));
    status.oidc = status.oidc.filter(|oidc| runs.iter().any(|one| says_oidc(live, one, oidc)));
    Ok(status)
}

/// What the folder brings beside a SIPCluster.
fn beside(object: &RenderedObject, wished: &SipCluster, objects: &[RenderedObject]) -> Vec<Reason> {
    let mut found =
        Beside { wished, objects, owners: BTreeMap::new(), told: Vec::new(), reasons: Vec::new() };
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
struct Beside<'f> {
    wished: &'f SipCluster,
    objects: &'f [RenderedObject],
    /// Who makes machines of its hosts, by role.
    owners: BTreeMap<String, Vec<Owner>>,
    /// Templates that were told.
    told: Vec<String>,
    reasons: Vec<Reason>,
}

impl<'f> Beside<'f> {
    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'f RenderedObject> + use<'f> {
        let (objects, namespace) = (self.objects, self.wished.metadata.namespace.clone());
        let is_it = move |other: &&RenderedObject| {
            other.id.namespace.as_deref() == Some(namespace.as_str()) && other.id.kind == kind
        };
        objects.iter().filter(is_it)
    }

    /// The Cluster that it is for.
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
            && !self.told.iter().any(|told| told == name)
        {
            self.told.push(name.to_owned());
            let at = FieldPath::of_keys(["spec", "template", "spec", "hostSelector"]);
            self.reasons.push(warning(Reason::of_object("SelectorMissing", message, template, &at)));
        }
        let count = replicas(&owner.value);
        let one = Owner {
            kind: owner.id.kind.clone(),
            named: Named::new(&me.namespace, &owner.id.name),
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
        self.owners.entry(role).or_default().push(Owner {
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

fn is_wish(object: &RenderedObject) -> bool {
    object.id.group == cluster::GROUP && object.id.kind == cluster::KIND
}

fn kind(group: &str, kind: &str) -> ApiKind {
    ApiKind::preferred(group, kind)
}

fn warning(reason: Reason) -> Reason {
    Reason { severity: Severity::Warning, ..reason }
}
