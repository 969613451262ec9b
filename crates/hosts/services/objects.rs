//! What the objects of a service have in common: names, labels, owners, how pods run, and when a live one differs.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use capstan_model::digest::digest;
use capstan_model::dns_name::{LONGEST_LABEL, is_label};
use serde_json::{Value, json};

use crate::cluster::{Exposure, GROUP, KIND, SipCluster, VERSION};
use crate::host::CLUSTER_NAME;

/// Says what an object was made from: one that differs is applied again.
pub const DIGEST: &str = "capstan.dev/content";
/// Tells the objects of one service from those of another of the same SIPCluster.
pub const SERVICE: &str = "app.kubernetes.io/instance";

/// The name of a service's objects: `<cluster>-<what>`, shortened with a digest where that is not a valid
/// name of a Service.
pub fn name(cluster: &SipCluster, what: &str) -> String {
    let whole = format!("{}-{what}", cluster.metadata.name);
    // A Service's name begins with a letter.
    if is_label(&whole) && whole.starts_with(|first: char| first.is_ascii_lowercase()) {
        return whole;
    }
    let short = &digest(&[&cluster.metadata.name])[..8];
    let name = format!("sip-{short}-{what}");
    name[..name.len().min(LONGEST_LABEL)].trim_end_matches('-').to_owned()
}

/// Whether a service of this name is of a sort: the word that its name has before the port.
pub fn is_of_sort(cluster: &SipCluster, name: &str, sort: &str) -> bool {
    let short = &digest(&[&cluster.metadata.name])[..8];
    [cluster.metadata.name.as_str(), &format!("sip-{short}")].iter().any(|first| {
        name.strip_prefix(first)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|rest| rest.strip_prefix(sort).is_some_and(|rest| rest.starts_with('-')))
    })
}

/// Metadata of an object that belongs to the SIPCluster and goes with it.
pub(super) fn metadata(cluster: &SipCluster, name: &str) -> Value {
    json!({
        "namespace": cluster.metadata.namespace,
        "name": name,
        "labels": labels(cluster, name),
        "ownerReferences": [{
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": KIND,
            "name": cluster.metadata.name,
            "uid": cluster.metadata.uid,
            "controller": true,
            "blockOwnerDeletion": false,
        }],
    })
}

/// By which they are found.
pub(super) fn labels(cluster: &SipCluster, name: &str) -> Value {
    json!({
        "app.kubernetes.io/managed-by": "capstan",
        SERVICE: name,
        CLUSTER_NAME: cluster.metadata.name,
    })
}

/// The object, with the digest of what it was made from.
pub(super) fn sealed(mut object: Value) -> Value {
    let content = digest(&[&object.to_string()]);
    object["metadata"]["annotations"][DIGEST] = content.into();
    object
}

/// A port that a service hands on.
pub(super) struct Port {
    pub(super) name: String,
    pub(super) port: u16,
    /// Of the container.
    pub(super) target: u16,
    /// Of the nodes, where one is wished.
    pub(super) node_port: Option<u16>,
}

/// The Service before the pods of this name.
pub(super) fn service(cluster: &SipCluster, name: &str, exposure: Exposure, ports: &[Port]) -> Value {
    let ports: Vec<Value> = ports
        .iter()
        .map(|port| {
            let mut told =
                json!({"name": port.name, "port": port.port, "protocol": "TCP", "targetPort": port.target});
            if let Some(node_port) = port.node_port {
                told["nodePort"] = node_port.into();
            }
            told
        })
        .collect();
    let kind = match exposure {
        Exposure::NodePort => "NodePort",
        Exposure::LoadBalancer => "LoadBalancer",
    };
    sealed(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(cluster, name),
        "spec": {"type": kind, "selector": labels(cluster, name), "ports": ports, "ipFamilyPolicy": "PreferDualStack"},
    }))
}

/// How a container runs: as the standard `restricted` wants it
/// (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>), and without a file that it could write.
pub(super) fn container_security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": true,
        "runAsNonRoot": true,
    })
}

/// A Deployment whose pods change when one of these texts does, one after the other, each until its connections ended.
pub(super) fn deployment(
    cluster: &SipCluster,
    name: &str,
    replicas: u16,
    texts: &[&str],
    pod: Value,
) -> Value {
    let mut pod = pod;
    pod["automountServiceAccountToken"] = false.into();
    pod["enableServiceLinks"] = false.into();
    pod["securityContext"] = json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    pod["topologySpreadConstraints"] = json!([{
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels(cluster, name)},
    }]);
    sealed(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(cluster, name),
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": labels(cluster, name)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": labels(cluster, name), "annotations": {DIGEST: digest(texts)}},
                "spec": pod,
            },
        },
    }))
}

/// The user of containers: not a user of the image.
pub(super) const USER: u32 = 65_532;

/// A port at every address of a pod. Where a tenant's hosts have addresses of IPv6, so have the pods that reach them.
pub(super) fn everywhere(port: u16, reached: impl IntoIterator<Item = IpAddr>) -> Vec<SocketAddr> {
    let mut listen = vec![SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port)];
    if reached.into_iter().any(|address| address.is_ipv6()) {
        listen.push(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port));
    }
    listen
}

/// Whether a live object has everything that is wished of it. What others added stays theirs.
pub fn is_as_wished(live: &Value, wished: &Value) -> bool {
    match (live, wished) {
        (Value::Object(live), Value::Object(wished)) => {
            wished.iter().all(|(key, wished)| live.get(key).is_some_and(|live| is_as_wished(live, wished)))
        }
        (Value::Array(live), Value::Array(wished)) => {
            live.len() == wished.len()
                && live.iter().zip(wished).all(|(live, wished)| is_as_wished(live, wished))
        }
        (live, wished) => live == wished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::testing::cluster;

    #[test]
    fn names_are_names_of_services() {
        let of = |of: &str| name(&cluster(of, json!({})), "control-plane-30000");
        assert_eq!(of("gauss"), "gauss-control-plane-30000");
        for other in ["1a", "a.b"] {
            let name = of(other);
            assert!(is_label(&name), "{name}");
            assert!(name.starts_with("sip-") && name.ends_with("-control-plane-30000"), "{name}");
        }
        for cluster in ["gauss", "a.b"].map(|name| cluster(name, json!({}))) {
            let name = name(&cluster, "control-plane-30000");
            assert!(is_of_sort(&cluster, &name, "control-plane") && !is_of_sort(&cluster, &name, "jump"));
        }
        assert_ne!(of("a.b"), of("a.c"));
        let long = of(&"x".repeat(63));
        assert!(is_label(&long) && long.ends_with("-control-plane-30000"), "{long}");
    }

    #[test]
    fn what_others_added_is_theirs_and_what_they_changed_is_not() {
        let wished = json!({"spec": {"replicas": 2, "ports": [{"port": 1}]}});
        for (live, is_same) in [
            (
                json!({"spec": {"replicas": 2, "ports": [{"port": 1, "protocol": "TCP"}], "x": 1}, "status": {}}),
                true,
            ),
            (json!({"spec": {"replicas": 3, "ports": [{"port": 1}]}}), false),
            (json!({"spec": {"replicas": 2, "ports": [{"port": 1}, {"port": 2}]}}), false),
            (json!({"spec": {"replicas": 2}}), false),
        ] {
            assert_eq!(is_as_wished(&live, &wished), is_same, "{live}");
        }
    }
}
