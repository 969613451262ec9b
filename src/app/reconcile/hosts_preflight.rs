//! The hosts' part of a preflight: whether the racks can give what a head commit's SIPClusters ask for, and whether what the
//! folder brings beside them goes with that.
//!
//! *Guarantees*: nothing is written; where SIPCluster or BareMetalHost are not served, or the folder brings no SIPCluster,
//! nothing is asked. Decided as a turn over the SIPClusters decides ([`crate::app::hosts`]), upon what is live now and the
//! counts of the head.

use std::collections::BTreeMap;

use capstan_hosts::choice::{Fleet, choose};
use capstan_hosts::cluster::{self, CONTROL_PLANE, Named, SipCluster, WORKER};
use capstan_hosts::findings::{Owner, endpoint_differs, selector_missing, too_few_for_rollout};
use capstan_hosts::host::{self, Host, NODE_TYPE};
use capstan_hosts::selector::{HostDeployPolicy, LabelSelector, Labels};
use capstan_kustomize::render::RenderedObject;
use capstan_live::rollout::{most_surge, replicas};
use capstan_model::finding::Severity;
use capstan_model::kinds::{KindRole, names, role_of};
use capstan_model::object::FieldPath;
use serde::Deserialize as _;
use serde_json::Value;

use super::dependencies::Ports;
use super::reason::Reason;
use crate::app::ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _};

/// Nobody may look: what the racks can give is not known.
const UNKNOWN: &str = "HostsUnknown";

/// Whether a reason says that something cannot be told before the merge: that is no yes.
pub(super) fn is_untold(reason: &Reason) -> bool {
    reason.kind == UNKNOWN
}

/// What is to be said of a folder's SIPClusters.
///
/// # Errors
/// The API server does not answer.
pub(super) async fn look(
    ports: &Ports,
    by: &As,
    objects: &[RenderedObject],
) -> Result<Vec<Reason>, LiveError> {
    let wishes: Vec<&RenderedObject> = objects.iter().filter(|object| is_wish(object)).collect();
    let (sip_clusters, hosts) = (kind(cluster::GROUP, cluster::KIND), kind(host::GROUP, host::KIND));
    if wishes.is_empty() {
        return Ok(Vec::new());
    }
    for kind in [&sip_clusters, &hosts] {
        if ports.live.scope(kind).await?.is_none() {
            // The dry run says that the kind is missing.
            return Ok(Vec::new());
        }
    }
    let seen = match see(ports, &sip_clusters, &hosts).await {
        Err(error) if error.is_forbidden() => {
            let told = |object: &&RenderedObject| {
                let message = format!(
                    "whether the racks can give these hosts is not known: {error}; kubectl apply -k deploy/hosts grants it"
                );
                warning(Reason::of_object(UNKNOWN, &message, object, &FieldPath::root()))
            };
            return Ok(wishes.iter().map(told).collect());
        }
        seen => seen?,
    };
    let mut clusters = seen.clusters;
    let mut reasons = Vec::new();
    for object in wishes {
        // What cannot be read is refused by the dry run.
        let Ok(mut wished) = SipCluster::read(&object.value) else { continue };
        let me = wished.named();
        let live = clusters.iter().find(|live| live.named() == me);
        // What the head does not change is not its fault: a host that broke holds up no other change.
        let is_unchanged = live.is_some_and(|live| live.spec.nodes == wished.spec.nodes);
        if let Some(live) = live {
            wished.status = live.status.clone();
        }
        let labels = labels(ports, by, &me.namespace, &seen.policies).await?;
        let fleet = Fleet {
            hosts: &seen.hosts,
            clusters: &clusters,
            policies: &seen.policies,
            namespace_labels: &labels,
        };
        let choice = choose(&wished, &fleet);
        if !choice.too_few.is_empty() {
            let nodes = FieldPath::of_keys(["spec", "nodes"]);
            let reason = Reason::of_object("HostsTooFew", choice.too_few.join("\n"), object, &nodes);
            reasons.push(if is_unchanged { warning(reason) } else { reason });
        }
        reasons.extend(beside(object, &wished, objects));
        // What one takes, the next of the folder cannot have.
        wished.status.hosts = choice.hosts;
        clusters.retain(|live| live.named() != me);
        clusters.push(wished);
    }
    Ok(reasons)
}

/// What is live.
struct Seen {
    clusters: Vec<SipCluster>,
    hosts: Vec<Host>,
    policies: Vec<HostDeployPolicy>,
}

async fn see(ports: &Ports, sip_clusters: &ApiKind, hosts: &ApiKind) -> Result<Seen, LiveError> {
    let list = |kind: ApiKind| async move { ports.live.list(&As::Reconciler, &kind, None, &[]).await };
    let (clusters, hosts) = (list(sip_clusters.clone()).await?, list(hosts.clone()).await?);
    let policies = list(kind(host::GROUP, HostDeployPolicy::KIND)).await?;
    Ok(Seen {
        clusters: clusters.iter().filter_map(|object| SipCluster::read(object).ok()).collect(),
        hosts: hosts.iter().filter_map(|object| Host::read(object).ok()).collect(),
        policies: policies.iter().map(HostDeployPolicy::read).collect(),
    })
}

/// The labels of the namespace, where a policy asks for them and the folder's account may read them.
async fn labels(
    ports: &Ports,
    by: &As,
    namespace: &str,
    policies: &[HostDeployPolicy],
) -> Result<Labels, LiveError> {
    if !policies.iter().any(HostDeployPolicy::reads_labels) {
        return Ok(Labels::new());
    }
    let object = ApiObject {
        kind: ApiKind::of_version("v1", "Namespace"),
        namespace: None,
        name: namespace.to_owned(),
    };
    let found = match ports.live.read(by, &object).await {
        Err(error) if error.is_forbidden() => None,
        found => found?,
    };
    let labels = found.as_ref().and_then(|found| found["metadata"]["labels"].as_object());
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    Ok(labels.into_iter().flatten().filter_map(text).collect())
}

/// What the folder brings beside a SIPCluster.
fn beside(object: &RenderedObject, wished: &SipCluster, objects: &[RenderedObject]) -> Vec<Reason> {
    let me = wished.named();
    let is_there = |other: &&RenderedObject| other.id.namespace.as_deref() == Some(me.namespace.as_str());
    let of_kind =
        |kind: &'static str| objects.iter().filter(is_there).filter(move |other| other.id.kind == kind);
    let mut reasons = Vec::new();
    let mut owners: BTreeMap<String, Vec<Owner>> = BTreeMap::new();
    let mut told = Vec::new();
    for owner in objects.iter().filter(is_there) {
        let Some(by_kind) = role_of_owner(owner) else { continue };
        let Some(name) = template_of(&owner.value) else { continue };
        let Some(template) = of_kind(names::METAL3_MACHINE_TEMPLATE).find(|one| one.id.name == name) else {
            continue;
        };
        let is_ours = selector_missing(&me, &template.value).is_none();
        if !is_ours && !is_of_cluster(owner, &me.name, objects) {
            continue;
        }
        if !is_ours && !told.contains(&name) {
            told.push(name);
            let at = FieldPath::of_keys(["spec", "template", "spec", "hostSelector"]);
            let message = selector_missing(&me, &template.value).unwrap_or_default();
            reasons.push(warning(Reason::of_object("SelectorMissing", &message, template, &at)));
        }
        let count = replicas(&owner.value);
        let one = Owner {
            kind: owner.id.kind.clone(),
            named: Named::new(&me.namespace, &owner.id.name),
            replicas: count.unwrap_or(1).into(),
            max_surge: most_surge(&owner.value, count).into(),
        };
        let role = role_of_template(&template.value).unwrap_or_else(|| by_kind.to_owned());
        owners.entry(role).or_default().push(one);
    }
    for (role, owners) in owners {
        let Some(count) = wished.spec.nodes.get(&role).map(|role| role.count) else { continue };
        if let Some(message) = too_few_for_rollout(&role, count, &owners) {
            let at = FieldPath::of_keys(["spec", "nodes", role.as_str(), "count"]);
            reasons.push(warning(Reason::of_object("HostsTooFewForRollout", &message, object, &at)));
        }
    }
    if let Some(endpoint) = &wished.status.endpoints.control_plane {
        let named = objects
            .iter()
            .filter(is_there)
            .find(|one| one.id.kind == names::CLUSTER && one.id.name == me.name);
        let name = named.and_then(|one| one.value.pointer("/spec/infrastructureRef/name")?.as_str());
        for infrastructure in of_kind(names::METAL3_CLUSTER).filter(|one| Some(one.id.name.as_str()) == name)
        {
            if let Some(message) = endpoint_differs(endpoint, &infrastructure.value) {
                let at = FieldPath::of_keys(["spec", "controlPlaneEndpoint"]);
                reasons.push(warning(Reason::of_object("EndpointDiffers", &message, infrastructure, &at)));
            }
        }
    }
    reasons
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
