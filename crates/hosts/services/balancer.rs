//! A load balancer of a SIPCluster: Secret with the configuration, ConfigMap with the tenant's CA, Service, Deployment.
//!
//! *Expected flow.* The role's chosen hosts that have an address are its servers. Until the tenant's CA exists they are
//! checked by connecting, then by what API servers say of themselves. A changed text changes the pods' template, so they
//! are replaced one by one, each new one first; an old one ends once its connections have, or after 290 seconds.
//!
//! *Caveats.* The image must run as any user and end softly by its own stop signal, as `haproxy` of Docker's library does.

use core::net::IpAddr;

use serde_json::{Value, json};

use super::haproxy::{
    BackendServer, BalancedTarget, Frontend, HaproxyPaths, LONGEST_END_SECONDS, Program, ServerCheck, render,
};
use super::objects::{
    Port, container_security, deployment, everywhere, is_of_sort, metadata, name, sealed, service,
};
use crate::cluster::{Endpoint, LoadBalancer, NamespacedName, SipCluster};

/// At a Service: at which name or address the nodes are reached, as the reconciler's setting said when it was applied.
const NODES_AT: &str = "capstan.dev/nodes-at";
/// The port of API servers.
pub const API_PORT: u16 = 6443;
/// Where HAProxy says that it is alive.
const HEALTH_PORT: u16 = 8404;
/// More ports than these make no Service.
pub const MOST_PORTS: usize = 250;
const CONFIGURATION: &str = "/etc/capstan/haproxy";
const CA: &str = "/etc/capstan/ca";

/// The hosts behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalancerRole {
    /// The API servers.
    ControlPlane,
    /// Ports of the workers.
    Workers,
}

impl BalancerRole {
    /// What its services' names have before their port.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ControlPlane => "control-plane",
            Self::Workers => "worker",
        }
    }
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoBalancer {
    /// There is nobody to hand on to.
    #[error("none of its hosts has an address yet")]
    NoServers,
    /// A range of too many.
    #[error("nodePortRange {0} to {1} has more than {MOST_PORTS} ports")]
    TooManyPorts(u16, u16),
    /// A range of none, or no port at all.
    #[error("neither nodePort nor a nodePortRange says which ports of the workers are reached")]
    NoPorts,
}

/// A chosen host and where it is reached.
pub type HostAddress = (NamespacedName, IpAddr);

/// Notes at the Service among a balancer's objects where nodes are reached, for [`says_endpoint`].
pub fn note_nodes_at(objects: &mut [Value], nodes_at: Option<&str>) {
    for service in objects.iter_mut().filter(|object| object["kind"] == "Service") {
        if let Some(nodes_at) = nodes_at.filter(|_| service["spec"]["type"] == "NodePort") {
            service["metadata"]["annotations"][NODES_AT] = nodes_at.into();
        }
    }
}

/// Where the live Service of a load balancer is reached.
pub fn endpoint(live: &Value, nodes_at: Option<&str>) -> Option<Endpoint> {
    if live["spec"]["type"] == "NodePort" {
        let port = live.pointer("/spec/ports/0/nodePort").and_then(Value::as_u64)?;
        return Some(Endpoint { host: nodes_at?.to_owned(), port: port.try_into().ok()? });
    }
    let ingress = live.pointer("/status/loadBalancer/ingress/0")?;
    let host = ingress["ip"].as_str().or_else(|| ingress["hostname"].as_str())?;
    Some(Endpoint { host: host.to_owned(), port: API_PORT })
}

/// Whether a live object is the Service of a load balancer before the API servers, and is reached there. A status alone,
/// which others may write, says nothing.
pub fn says_endpoint(cluster: &SipCluster, live: &Value, endpoint: &Endpoint) -> bool {
    let nodes_at = live["metadata"]["annotations"][NODES_AT].as_str();
    is_before_api_servers(cluster, live) && self::endpoint(live, nodes_at).as_ref() == Some(endpoint)
}

/// Whether a live object is the Service of a load balancer before the API servers of this cluster.
pub fn is_before_api_servers(cluster: &SipCluster, live: &Value) -> bool {
    let name = live["metadata"]["name"].as_str().unwrap_or_default();
    live["kind"] == "Service" && is_of_sort(cluster, name, BalancerRole::ControlPlane.word())
}

/// The objects of the `number`th load balancer before some hosts. `ca` is the tenant's CA in PEM, once it exists.
///
/// # Errors
/// Where there is nothing to balance.
pub fn objects(
    cluster: &SipCluster,
    before: BalancerRole,
    number: usize,
    wish: &LoadBalancer,
    hosts: &[HostAddress],
    ca: Option<&str>,
) -> Result<Vec<Value>, NoBalancer> {
    let ports = ports(before, wish)?;
    let name = name_of(cluster, before, number, wish);
    let ca = ca.filter(|_| before == BalancerRole::ControlPlane);
    let mut frontends = Vec::new();
    for port in &ports {
        let target = if before == BalancerRole::ControlPlane {
            BalancedTarget::ControlPlane
        } else {
            BalancedTarget::Worker(port.target)
        };
        let servers: Vec<BackendServer> = hosts
            .iter()
            .filter_map(|(host, address)| BackendServer::new(host, *address, port.target))
            .collect();
        if servers.is_empty() {
            return Err(NoBalancer::NoServers);
        }
        let check = if ca.is_some() { ServerCheck::Readyz } else { ServerCheck::Connect };
        let listen = everywhere(port.target, hosts.iter().map(|(_, address)| *address));
        frontends.push(Frontend { target, listen, servers, check });
    }
    let health = everywhere(HEALTH_PORT, hosts.iter().map(|(_, address)| *address));
    let files = HaproxyPaths::new(&format!("{CA}/ca.crt"), &format!("{CONFIGURATION}/servers.state"));
    let Some(files) = files else { return Err(NoBalancer::NoServers) };
    let texts = render(&Program { frontends, health, files });
    let of_pods: Vec<&str> =
        [texts.configuration.as_str(), texts.state.as_str()].into_iter().chain(ca).collect();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(cluster, &name),
        "type": "Opaque",
        "data": {"haproxy.cfg": encoded(&texts.configuration), "servers.state": encoded(&texts.state)},
    });
    let mut objects = vec![sealed(secret)];
    if let Some(ca) = ca {
        objects.push(sealed(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(cluster, &name),
            "data": {"ca.crt": ca},
        })));
    }
    objects.push(deployment(cluster, &name, wish.replicas.unwrap_or(2), &of_pods, pod(wish, &name, &ports)));
    objects.push(service(cluster, &name, wish.exposure, &ports));
    Ok(objects)
}

/// The name of its objects: by its port, so that an entry that goes does not change the others.
pub fn name_of(cluster: &SipCluster, before: BalancerRole, number: usize, wish: &LoadBalancer) -> String {
    let port = wish.node_port_range.map(|range| range.start).or(wish.node_port);
    name(
        cluster,
        &format!("{}-{}", before.word(), port.map_or_else(|| number.to_string(), |port| port.to_string())),
    )
}

fn ports(before: BalancerRole, wish: &LoadBalancer) -> Result<Vec<Port>, NoBalancer> {
    let port = |port: u16, node_port: Option<u16>| Port {
        name: format!("port-{port}"),
        port,
        target: port,
        node_port,
    };
    if before == BalancerRole::ControlPlane {
        return Ok(vec![Port { name: "https".to_owned(), ..port(API_PORT, wish.node_port) }]);
    }
    let range = match (wish.node_port_range, wish.node_port) {
        (Some(range), _) => range.start..=range.end,
        (None, Some(port)) => port..=port,
        (None, None) => return Err(NoBalancer::NoPorts),
    };
    match range.len() {
        0 => Err(NoBalancer::NoPorts),
        number if number > MOST_PORTS => Err(NoBalancer::TooManyPorts(*range.start(), *range.end())),
        _ => Ok(range.map(|number| port(number, Some(number))).collect()),
    }
}

fn pod(wish: &LoadBalancer, name: &str, ports: &[Port]) -> Value {
    let health = json!({"httpGet": {"path": "/healthz", "port": HEALTH_PORT}, "periodSeconds": 5});
    let ports: Vec<Value> =
        ports.iter().map(|port| json!({"containerPort": port.target, "protocol": "TCP"})).collect();
    json!({
        // Connections are let end.
        "terminationGracePeriodSeconds": LONGEST_END_SECONDS + 10,
        "containers": [{
            "name": "haproxy",
            "image": wish.image,
            "command": ["haproxy", "-W", "-db", "-f", format!("{CONFIGURATION}/haproxy.cfg")],
            "ports": ports,
            "securityContext": container_security(),
            "readinessProbe": health,
            "livenessProbe": health,
            "volumeMounts": [
                {"name": "configuration", "mountPath": CONFIGURATION, "readOnly": true},
                {"name": "ca", "mountPath": CA, "readOnly": true},
            ],
        }],
        "volumes": [
            {"name": "configuration", "secret": {"secretName": name}},
            {"name": "ca", "configMap": {"name": name, "optional": true}},
        ],
    })
}

pub(super) fn encoded(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::testing::cluster;
    use crate::cluster::{Exposure, PortRange};

    fn hosts() -> Vec<HostAddress> {
        vec![(NamespacedName::new("gauss", "bm-1"), "10.0.0.1".parse().unwrap())]
    }

    fn kinds(objects: &[Value]) -> Vec<&str> {
        objects.iter().filter_map(|object| object["kind"].as_str()).collect()
    }

    #[test]
    fn four_objects_that_go_with_the_cluster() {
        let cluster = cluster("gauss", json!({}));
        let wish = LoadBalancer {
            image: "haproxy:2.6".to_owned(),
            node_port: Some(30000),
            ..LoadBalancer::default()
        };
        let made = objects(&cluster, BalancerRole::ControlPlane, 0, &wish, &hosts(), Some("PEM")).unwrap();
        assert_eq!(kinds(&made), ["Secret", "ConfigMap", "Deployment", "Service"]);
        for object in &made {
            assert_eq!(object["metadata"]["name"], "gauss-control-plane-30000");
            assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "uid-gauss");
        }
        let (deployment, service) = (&made[2], &made[3]);
        assert_eq!(deployment["spec"]["replicas"], 2);
        let pod = &deployment["spec"]["template"]["spec"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["containers"][0]["securityContext"]["capabilities"]["drop"][0], "ALL");
        assert_eq!(service["spec"]["ports"][0]["nodePort"], 30000);
        assert_eq!(service["spec"]["ports"][0]["targetPort"], 6443);
        // The certificate authority is not secret; until it exists, it is not mentioned.
        let before = objects(&cluster, BalancerRole::ControlPlane, 0, &wish, &hosts(), None).unwrap();
        assert_eq!(kinds(&before), ["Secret", "Deployment", "Service"]);
        // A changed text changes the pods.
        let template = "/spec/template/metadata/annotations";
        assert_ne!(before[1].pointer(template), deployment.pointer(template));
        let other = [(NamespacedName::new("gauss", "bm-1"), "10.0.0.2".parse().unwrap())];
        let moved = objects(&cluster, BalancerRole::ControlPlane, 0, &wish, &other, Some("PEM")).unwrap();
        assert_ne!(moved[2].pointer(template), deployment.pointer(template));
        let again = objects(&cluster, BalancerRole::ControlPlane, 0, &wish, &hosts(), Some("PEM")).unwrap();
        assert_eq!(again, made);
    }

    #[test]
    fn workers_have_a_port_or_a_range() {
        let cluster = cluster("gauss", json!({}));
        let range = |start, end| LoadBalancer {
            node_port: Some(30000),
            node_port_range: Some(PortRange { start, end }),
            exposure: Exposure::LoadBalancer,
            ..LoadBalancer::default()
        };
        let made =
            objects(&cluster, BalancerRole::Workers, 0, &range(30011, 30013), &hosts(), Some("PEM")).unwrap();
        assert_eq!(kinds(&made), ["Secret", "Deployment", "Service"]);
        let ports: Vec<_> = made[2]["spec"]["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|port| port["nodePort"].clone())
            .collect();
        assert_eq!(ports, [30011, 30012, 30013]);
        assert_eq!(made[2]["spec"]["type"], "LoadBalancer");
        let refused = |wish: &LoadBalancer, hosts: &[HostAddress]| {
            objects(&cluster, BalancerRole::Workers, 0, wish, hosts, None).unwrap_err()
        };
        assert_eq!(refused(&range(1, 1000), &hosts()), NoBalancer::TooManyPorts(1, 1000));
        assert_eq!(refused(&range(5, 4), &hosts()), NoBalancer::NoPorts);
        assert_eq!(refused(&LoadBalancer::default(), &hosts()), NoBalancer::NoPorts);
        assert_eq!(refused(&range(5, 6), &[]), NoBalancer::NoServers);
        let evil = [(NamespacedName::new("gauss", "x\n  server evil 10.0.0.1"), "10.0.0.1".parse().unwrap())];
        assert_eq!(refused(&range(5, 6), &evil), NoBalancer::NoServers);
    }
}
