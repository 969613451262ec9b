//! The hosts' part of a preflight: whether the racks can give what a head commit's SIPClusters ask for, and whether what the
//! folders bring beside them goes with that.
//!
//! *Expected flow*: [`look`] reads each folder. Then [`answer`] answers all folders of one question together, since
//! their SIPClusters compete for the same hosts.
//!
//! *Guarantees*: nothing is written; where SIPCluster or BareMetalHost are not served, or no folder brings a SIPCluster,
//! nothing is asked. Decided as a turn over the SIPClusters decides ([`crate::hosts`]), upon what is live now and the
//! counts of the head.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use capstan_hosts::cluster::{self, ClusterStatus, SipCluster};
use capstan_hosts::host::{self, Host};
use capstan_hosts::selector::{HostDeployPolicy, Labels};
use capstan_hosts::services::balancer::says_endpoint;
use capstan_hosts::services::issuer::says_oidc;
use capstan_kustomize::render::RenderedObject;
use capstan_model::ids::ClusterId;
use capstan_model::object::FieldPath;
use capstan_ports::{ApiKind, As, LiveError, ManagementCluster as _};
use capstan_reconciler_core::hosts::preflight::{LiveAndWished, Wish, beside, is_wish, too_few, warning};
use capstan_reconciler_core::preflight::{HOSTS_UNKNOWN, add_of_hosts};
use capstan_reconciler_core::reason::{Reason, not_answered};
use capstan_reconciler_core::reports::PreflightAnswer;

use super::dependencies::Ports;
use crate::hosts::{MANAGED_BY, RUNNING_KINDS, labels_of, labels_of_others, noting_namespaces};

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
        Err(error) => (0..looks.len()).map(|at| (at, not_answered(&error))).collect(),
    };
    for (at, reason) in said {
        let Some(answer) = answers.iter_mut().find(|answer| answer.cluster == looks[at].cluster) else {
            continue;
        };
        add_of_hosts(answer, reason);
    }
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
                "it is unknown whether the racks have these hosts: {error}; kubectl apply -k deploy/hosts grants it"
            );
            let told = |(at, object): (usize, &RenderedObject)| {
                (at, warning(Reason::of_object(HOSTS_UNKNOWN, &message, object, &FieldPath::root())))
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
                None => ClusterStatus::default(),
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
                said.push((at, not_answered(&error)));
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

async fn see(ports: &Ports, sip_clusters: &ApiKind, hosts: &ApiKind) -> Result<LiveAndWished, LiveError> {
    let list = |kind: ApiKind| async move { ports.live.list(&As::Reconciler, &kind, None, &[]).await };
    let (clusters, hosts) = (list(sip_clusters.clone()).await?, list(hosts.clone()).await?);
    let policies = list(kind(host::GROUP, HostDeployPolicy::KIND)).await?;
    Ok(LiveAndWished {
        clusters: clusters.iter().filter_map(|object| SipCluster::read(object).ok()).collect(),
        hosts: hosts.iter().filter_map(|object| Host::read(object).ok()).collect(),
        policies: policies.iter().map(HostDeployPolicy::read).collect(),
        labels: BTreeMap::new(),
    })
}

/// The status of a SIPCluster, with only those endpoints and OIDC settings that the objects running for it confirm. A
/// status that somebody wrote by hand must not reach Git.
async fn confirm(ports: &Ports, by: &As, live: &SipCluster) -> Result<ClusterStatus, LiveError> {
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

fn kind(group: &str, kind: &str) -> ApiKind {
    ApiKind::preferred(group, kind)
}
