//! Which objects are wished before the chosen hosts, and what they wait for.

use core::net::SocketAddr;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::HostFacts;
use super::step::HostStep;
use crate::choice::Choice;
use crate::cluster::{CONTROL_PLANE, Endpoint, Exposure, IssuerSpec, Oidc, SipCluster, WORKER};
use crate::host::Host;
use crate::services::balancer::{self, BalancerRole, HostAddress};
use crate::services::dex::{self, ClientId};
use crate::services::issuer::{self, Authority, Issued, IssuerNeeds, NoLogin, Serving};
use crate::services::jump_host::{self, FINGERPRINT, NoJumpHost};
use crate::services::objects::{SERVICE, is_of_sort};

/// A CA that ends sooner is reported.
const ENDS_SOON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// All services of a SIPCluster.
#[derive(Debug, Default)]
pub(super) struct Services {
    /// Objects as they should be.
    pub(super) objects: Vec<Value>,
    /// Names of services that stay as they are, though they cannot be made now.
    names: Vec<String>,
    /// The services that are wished, each with its sort.
    wished: Vec<(&'static str, String)>,
    /// Secrets with host keys or certificates: they are made elsewhere, and kept.
    secrets: Vec<String>,
    /// Those with host keys that are still to be made.
    pub(super) host_keys_lacking: Vec<String>,
    /// How certificates are made that are lacking, or due.
    pub(super) certificates_lacking: Vec<HostStep>,
    /// What is waited for, a sentence each.
    pub(super) waits: Vec<String>,
    /// What people should know.
    pub(super) warnings: Vec<String>,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) oidc: Option<Oidc>,
}

/// Why an issuer is not made now.
enum NoIssuer {
    /// It stays as it is, where it is there.
    Stays(String),
    /// Its configuration goes: nobody is to log in.
    Goes(String),
}

impl Services {
    pub(super) fn of(cluster: &SipCluster, choice: &Choice, facts: &HostFacts<'_>) -> Self {
        let mut services = Self::default();
        let wished = &cluster.spec.services;
        for (before, list, role) in [
            (BalancerRole::ControlPlane, &wished.load_balancer_control_plane, CONTROL_PLANE),
            (BalancerRole::Workers, &wished.load_balancer_worker, WORKER),
        ] {
            for (number, wish) in list.iter().enumerate() {
                let name = balancer::name_of(cluster, before, number, wish);
                services.wished.push((before.word(), name.clone()));
                let hosts = services.reached(choice, facts, Some(role), &wish.node_interface_id, &name);
                match balancer::objects(cluster, before, number, wish, &hosts, facts.ca) {
                    Ok(mut objects) => {
                        balancer::note_nodes_at(&mut objects, facts.nodes_at);
                        services.objects.extend(objects);
                    }
                    Err(why) => {
                        services.waits.push(format!("{name}: {why}"));
                        // It stays as it was in front of its remaining hosts; hosts that are given back are
                        // no longer reached.
                        let has = choice.hosts.iter().any(|one| one.role == role);
                        if has && choice.released.iter().all(|one| one.role != role) {
                            services.names.push(name.clone());
                        }
                    }
                }
                if before == BalancerRole::ControlPlane && services.endpoint.is_none() {
                    services.endpoint =
                        endpoint(&name, facts).or_else(|| endpoint_before(cluster, &name, facts));
                }
            }
        }
        for (number, wish) in wished.auth.iter().enumerate() {
            services.issue(cluster, number, wish, facts);
        }
        for (number, wish) in wished.jump_host.iter().enumerate() {
            let name = jump_host::name_of(cluster, number, wish);
            services.wished.push((jump_host::WORD, name.clone()));
            let hosts = services.reached(choice, facts, None, &wish.node_interface_id, &name);
            let api = services
                .endpoint
                .as_ref()
                .and_then(|at| Some(SocketAddr::new(at.host.parse().ok()?, at.port)));
            let node_keys = Some(wish.node_ssh_private_keys.as_str()).filter(|_| wish.shell);
            if facts.is_of_controllers(&cluster.metadata.namespace, node_keys) {
                services.waits.push(format!(
                    "{name}: nodeSSHPrivateKeys names the Secret of a management controller, which Capstan does not mount: name another"
                ));
                services.secrets.push(format!("{name}-host-keys"));
                // What runs without it stays as it is; what mounts it goes.
                if !facts.mounts(&name, &wish.node_ssh_private_keys) {
                    services.names.push(name);
                }
                continue;
            }
            match jump_host::objects(cluster, number, wish, &hosts, api) {
                Ok(made) => {
                    let is_there = |live: &&Value| {
                        live["kind"] == "Secret" && live["metadata"]["name"] == made.host_keys.as_str()
                    };
                    if !facts.services.iter().any(|live| is_there(&live)) {
                        services.host_keys_lacking.push(made.host_keys.clone());
                    }
                    services.objects.extend(made.objects);
                    services.secrets.push(made.host_keys);
                    services.warnings.extend(made.warning.map(|warning| format!("{name}: {warning}")));
                }
                Err(why) => {
                    services.waits.push(format!("{name}: {why}"));
                    services.secrets.push(format!("{name}-host-keys"));
                    // It stays as it was before hosts that it has still; not where all keys were taken back.
                    let are_taken_back = matches!(why, NoJumpHost::NoKeys);
                    if !are_taken_back && !choice.hosts.is_empty() && choice.released.is_empty() {
                        services.names.push(name);
                    }
                }
            }
        }
        services.wait_for_pods(facts);
        services.keep_until_replaced(cluster, facts);
        services
    }

    /// A service is known by its port, so one whose port changes is another one. What ran stays until that is there: a port
    /// may be refused, and what else is wished of it may be wrong. Not where it holds a port of a node that another one wants.
    fn keep_until_replaced(&mut self, cluster: &SipCluster, facts: &HostFacts<'_>) {
        let mut kept = Vec::new();
        for live in facts.services.iter().filter(|live| live["kind"] == "Service") {
            let name = live["metadata"]["name"].as_str().unwrap_or_default();
            if self.wished.iter().any(|(_, wished)| wished == name) || self.wants_a_port_of(live) {
                continue;
            }
            let replaces = |(sort, wished): &&(&'static str, String)| {
                is_of_sort(cluster, name, sort) && !self.is_there(wished, facts)
            };
            if let Some((_, new)) = self.wished.iter().find(replaces) {
                kept.push((name.to_owned(), new.clone()));
            }
        }
        for (name, new) in kept {
            self.waits.push(format!("{name}: stays as it is until {new} is there"));
            self.names.push(name);
        }
    }

    /// Whether another service wants a port of the nodes that this one holds.
    fn wants_a_port_of(&self, live: &Value) -> bool {
        let ports = |service: &Value| -> Vec<u64> {
            let ports = service.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
            ports.filter_map(|port| port["nodePort"].as_u64()).collect()
        };
        let held = ports(live);
        let wished = self.objects.iter().filter(|object| object["kind"] == "Service").flat_map(ports);
        wished.into_iter().any(|port| held.contains(&port))
    }

    /// Whether all of a service is there, and its pods were once.
    fn is_there(&self, name: &str, facts: &HostFacts<'_>) -> bool {
        let live = |kind: &str| {
            facts.services.iter().find(|live| live["kind"] == kind && live["metadata"]["name"] == name)
        };
        let has_run = live("Deployment").is_some_and(|live| {
            let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
            // <https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#complete-deployment>
            let is_complete = |one: &Value| one["reason"] == "NewReplicaSetAvailable";
            live["spec"]["replicas"] == 0
                || live.pointer("/status/availableReplicas").and_then(Value::as_i64).unwrap_or(0) > 0
                || conditions.into_iter().flatten().any(is_complete)
        });
        has_run && live("Service").is_some()
    }

    /// Hosts with an address; the others are reported. A host without one is not reached, whatever its other
    /// networks say.
    fn reached(
        &mut self,
        choice: &Choice,
        facts: &HostFacts<'_>,
        role: Option<&str>,
        network: &str,
        service: &str,
    ) -> Vec<HostAddress> {
        let of_role = choice.hosts.iter().filter(|one| role.is_none_or(|role| one.role == role));
        let mut reached = Vec::new();
        for one in of_role {
            let Some(host) = facts.fleet.hosts.iter().find(|host| host.metadata.uid == one.uid) else {
                continue;
            };
            if !host.is_steady() {
                continue;
            }
            match facts.address(host, network) {
                Ok(address) => reached.push((host.named(), address)),
                Err(why) => self.waits.push(not_a_backend(service, host, &why.to_string())),
            }
        }
        reached
    }

    /// An issuer of tokens. Its Service is there from the start: the cloud may give its address only then.
    fn issue(&mut self, cluster: &SipCluster, number: usize, wish: &IssuerSpec, facts: &HostFacts<'_>) {
        let name = issuer::name_of(cluster, number, wish);
        self.wished.push((issuer::WORD, name.clone()));
        self.objects.push(issuer::service(cluster, &name, wish));
        self.secrets.push(issuer::certificate_name(&name));
        match self.issued(cluster, &name, wish, facts) {
            Ok(objects) => self.objects.extend(objects),
            Err(NoIssuer::Goes(why)) => self.waits.push(format!("{name}: {why}")),
            Err(NoIssuer::Stays(why)) => {
                self.waits.push(format!("{name}: {why}"));
                // It is trusted as it was, where what runs says that, too.
                let runs = |oidc: &&Oidc| {
                    let of_it = |live: &Value| live["metadata"]["name"] == name.as_str();
                    facts.services.iter().any(|live| of_it(live) && issuer::says_oidc(cluster, live, oidc))
                };
                let before = cluster.status.oidc.as_ref().filter(runs);
                self.oidc = self.oidc.take().or_else(|| before.cloned());
                self.names.push(name);
            }
        }
    }

    fn issued(
        &mut self,
        cluster: &SipCluster,
        name: &str,
        wish: &IssuerSpec,
        facts: &HostFacts<'_>,
    ) -> Result<Vec<Value>, NoIssuer> {
        let stays = |why: &str| NoIssuer::Stays(why.to_owned());
        let client =
            ClientId::read(&wish.client_id).ok_or_else(|| stays("clientID is missing or invalid"))?;
        let host =
            issuer::host(wish, facts.nodes_at, service(name, facts)).ok_or_else(|| stays(no_host(wish)))?;
        let port = issuer::port(wish).ok_or_else(|| stays("it has no nodePort"))?;
        let needs: &IssuerNeeds =
            facts.issuers.get(name).ok_or_else(|| stays("nothing is known of its Secrets"))?;
        let authority = needs.authority.as_ref().map_err(|why| stays(why))?;
        let connectors = needs.connectors.as_ref().map_err(|why| match why {
            NoLogin::Nobody(why) => NoIssuer::Goes(why.clone()),
            NoLogin::Unknown(why) => NoIssuer::Stays(why.clone()),
        })?;
        let serving = self.served(name, wish, &host, authority, needs, facts)?;
        let oidc =
            Oidc { issuer: host.url(port), client_id: client.as_str().to_owned(), ca: authority.pem.clone() };
        self.oidc.get_or_insert_with(|| oidc.clone());
        let issued = Issued { oidc: &oidc, client: &client, connectors, certificate: &serving.pem };
        Ok(issuer::objects(cluster, name, wish, &issued))
    }

    /// The certificate that is there; one is made where it is lacking, or due.
    fn served<'n>(
        &mut self,
        name: &str,
        wish: &IssuerSpec,
        host: &dex::Host,
        authority: &Authority,
        needs: &'n IssuerNeeds,
        facts: &HostFacts<'_>,
    ) -> Result<&'n Serving, NoIssuer> {
        let now: Timestamp = facts.now.parse().unwrap_or_default();
        let serving = needs.serving.as_ref().filter(|serving| serving.host == host.to_string());
        if serving.is_none_or(|serving| issuer::is_due(serving, authority, now)) {
            self.certificates_lacking.push(HostStep::MakeCertificate {
                secret: issuer::certificate_name(name),
                host: host.clone(),
                authority: wish.ca_secret.clone(),
            });
        }
        let left = authority.not_after.duration_since(now);
        if left < ENDS_SOON {
            self.warnings.push(format!(
                "{name}: the CA of Secret {} ends at {}. Add another one after it, make the API server trust both, then put the new one first, with its key",
                wish.ca_secret,
                authority.not_after
            ));
        }
        serving.ok_or_else(|| NoIssuer::Stays("its certificate is not made yet".to_owned()))
    }

    fn wait_for_pods(&mut self, facts: &HostFacts<'_>) {
        for wished in self.objects.iter().filter(|object| object["kind"] == "Deployment") {
            let live = facts.services.iter().find(|live| is_same(live, wished));
            let number =
                |path: &str| live.and_then(|live| live.pointer(path)).and_then(Value::as_i64).unwrap_or(0);
            let is_current = number("/status/observedGeneration") >= number("/metadata/generation");
            let (wanted, ready) =
                (wished["spec"]["replicas"].as_i64().unwrap_or(0), number("/status/availableReplicas"));
            if !is_current || ready < wanted || number("/status/updatedReplicas") < wanted {
                let name = wished["metadata"]["name"].as_str().unwrap_or_default();
                self.waits.push(format!("{name}: {ready} of {wanted} pods available"));
            }
        }
    }

    /// Whether a live object is still wished.
    pub(super) fn keeps(&self, live: &Value) -> bool {
        let name = live["metadata"]["name"].as_str().unwrap_or_default();
        let service = live["metadata"]["labels"][SERVICE].as_str().unwrap_or(name);
        // What cannot be made now is not taken away: a load balancer whose hosts lost their addresses stays as it was.
        self.objects.iter().any(|wished| is_same(live, wished))
            || self.secrets.iter().any(|held| held == name)
            || self.names.iter().any(|held| held == name || held == service)
    }

    /// Fingerprints of the host keys that are there.
    pub(super) fn fingerprints(&self, facts: &HostFacts<'_>) -> Vec<String> {
        let of = |name: &String| {
            let secret = facts
                .services
                .iter()
                .find(|live| live["kind"] == "Secret" && live["metadata"]["name"] == name.as_str())?;
            Some(secret["metadata"]["annotations"][FINGERPRINT].as_str()?.to_owned())
        };
        self.secrets.iter().filter_map(of).collect()
    }
}

fn no_host(wish: &IssuerSpec) -> &'static str {
    match (wish.host.is_empty(), wish.exposure) {
        (false, _) => "its host is neither a name nor an address",
        (true, Exposure::NodePort) => {
            "its address is unknown: set host, or the reconciler's setting `node-ports-at`"
        }
        (true, Exposure::LoadBalancer) => "its Service has no address yet",
    }
}

/// Whether two are one object.
pub(super) fn is_same(live: &Value, wished: &Value) -> bool {
    ["/kind", "/metadata/namespace", "/metadata/name"]
        .iter()
        .all(|path| live.pointer(path) == wished.pointer(path))
}

fn not_a_backend(service: &str, host: &Host, why: &str) -> String {
    format!("{service}: {} is not a backend: {why}", host.metadata.name)
}

/// Where it was reached, while one runs that this one is to take the place of: what that one's Service says.
fn endpoint_before(cluster: &SipCluster, name: &str, facts: &HostFacts<'_>) -> Option<Endpoint> {
    if service(name, facts).is_some() {
        return None;
    }
    let named = |live: &Value| live["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let all = cluster.spec.services.load_balancer_control_plane.iter().enumerate();
    let wished: Vec<String> = all
        .map(|(number, wish)| balancer::name_of(cluster, BalancerRole::ControlPlane, number, wish))
        .collect();
    let running = facts.services.iter().filter(|live| balancer::is_before_api_servers(cluster, live));
    // One that goes was in this one's place; one that is wished besides reaches the same API servers.
    let mut running: Vec<(bool, String, &Value)> =
        running.map(|live| (wished.contains(&named(live)), named(live), live)).collect();
    running.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    running.into_iter().find_map(|(_, _, live)| balancer::endpoint(live, facts.nodes_at))
}

/// Where a load balancer is reached.
fn endpoint(name: &str, facts: &HostFacts<'_>) -> Option<Endpoint> {
    balancer::endpoint(service(name, facts)?, facts.nodes_at)
}

fn service<'a>(name: &str, facts: &HostFacts<'a>) -> Option<&'a Value> {
    facts.services.iter().find(|live| live["kind"] == "Service" && live["metadata"]["name"] == name)
}
