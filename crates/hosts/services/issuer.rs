//! An issuer of tokens of a SIPCluster: Service, Secret with Dex's configuration, Deployment; and the Secret
//! with its serving certificate, which a signer with the CA makes ([`certificate`]).
//!
//! *Expected flow.* The Service comes first, since the cloud may give its address only then. Once the CA, the
//! connectors and the address are known, the certificate is made; then the configuration and the pods, whose
//! template changes with either. At two thirds of its time a certificate is renewed ([`is_due`]), and the
//! pods are replaced.
//!
//! *Caveats.* The image must have `dex` in its search path, as `dexidp/dex` has, and run as any user. What Dex remembers of
//! people is lost with its pod: they log in again.

use capstan_model::digest::digest;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::balancer::encoded;
use super::dex::{ClientId, Connectors, DexPaths, ENVIRONMENT, Host, configuration};
use super::objects::{
    Port, container_security, deployment, is_of_sort, labels, metadata, name, sealed, service as service_of,
};
use crate::cluster::{Exposure, IssuerSpec, Oidc, SipCluster};

/// What its name has before its port.
pub const WORD: &str = "auth";
/// At a Deployment: a digest of the issuer, the audience of tokens and the CA, as it was applied.
const OIDC: &str = "capstan.dev/oidc";
/// Where it listens in its pod.
const PORT: u16 = 5556;
const SERVICE_PORT: u16 = 443;
const CONFIGURATION: &str = "/etc/capstan/dex";
const FILE: &str = "config.yaml";
const CERTIFICATE: &str = "/etc/capstan/certificate";
const ENDING: &str = "-certificate";

/// A CA that signs what issuers serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// Its certificate, in PEM.
    pub pem: String,
    /// Until when it is valid.
    pub not_after: Timestamp,
}

/// A certificate that is served, signed by the CA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serving {
    pub pem: String,
    /// For which name or address.
    pub host: String,
    /// From when it is valid.
    pub not_before: Timestamp,
    /// Until when.
    pub not_after: Timestamp,
}

/// What is known of an issuer's needs. A condition says what is missing, without a value of a Secret.
#[derive(Debug, Clone, PartialEq)]
pub struct IssuerNeeds {
    /// The CA of `caSecret`.
    pub authority: Result<Authority, String>,
    /// The connectors of `connectorsSecret`.
    pub connectors: Result<Connectors, NoLogin>,
    /// The certificate that is there, where it is one of that CA with the key beside it and its time is not over.
    pub serving: Option<Serving>,
}

/// Why nobody can log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoLogin {
    /// Nobody is to: the list is empty, or there never was one.
    Nobody(String),
    /// The connectors cannot be read.
    Unknown(String),
}

/// Whether a certificate has to be renewed: at two thirds of its time, if the new one would last longer.
pub fn is_due(serving: &Serving, authority: &Authority, now: Timestamp) -> bool {
    let (begins, ends) = (serving.not_before.as_second(), serving.not_after.as_second());
    let two_thirds = begins.saturating_add(ends.saturating_sub(begins) / 3 * 2);
    now.as_second() >= two_thirds && authority.not_after > serving.not_after
}

/// The name of its objects.
pub fn name_of(cluster: &SipCluster, number: usize, wish: &IssuerSpec) -> String {
    let port = wish.node_port.map_or_else(|| number.to_string(), |port| port.to_string());
    name(cluster, &format!("{WORD}-{port}"))
}

/// The name of the Secret with the certificate that it serves.
pub fn certificate_name(name: &str) -> String {
    format!("{name}{ENDING}")
}

/// The Service before it.
pub fn service(cluster: &SipCluster, name: &str, wish: &IssuerSpec) -> Value {
    let port = Port { name: "https".to_owned(), port: SERVICE_PORT, target: PORT, node_port: wish.node_port };
    service_of(cluster, name, wish.exposure, &[port])
}

/// The port at which others reach it; `None` where it has none.
pub fn port(wish: &IssuerSpec) -> Option<u16> {
    match wish.exposure {
        Exposure::NodePort => wish.node_port,
        Exposure::LoadBalancer => Some(SERVICE_PORT),
    }
}

/// What is issued, and its issuer.
#[derive(Debug, Clone, Copy)]
pub struct Issued<'a> {
    /// The issuer as an API server has to know it.
    pub oidc: &'a Oidc,
    /// The audience of tokens.
    pub client: &'a ClientId,
    /// Who vouches for people.
    pub connectors: &'a Connectors,
    /// The certificate that is served, in PEM.
    pub certificate: &'a str,
}

/// The Secret with its configuration, and its Deployment.
pub fn objects(cluster: &SipCluster, name: &str, wish: &IssuerSpec, issued: &Issued<'_>) -> Vec<Value> {
    let (certificate, key) = (format!("{CERTIFICATE}/tls.crt"), format!("{CERTIFICATE}/tls.key"));
    let place = DexPaths { port: PORT, certificate: &certificate, key: &key };
    let text = configuration(&place, &issued.oidc.issuer, issued.client, issued.connectors);
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(cluster, name),
        "type": "Opaque",
        "data": {FILE: encoded(&text)},
    });
    // One pod: what it remembers of a login, another one does not know.
    let mut pods = deployment(cluster, name, 1, &[&text, issued.certificate], pod(wish, name));
    pods["metadata"]["annotations"][OIDC] = digest_of(issued.oidc).into();
    vec![sealed(secret), pods]
}

/// Whether a live object is the Deployment of an issuer, and was applied as this one. A status alone, which others may write,
/// says nothing.
pub fn says_oidc(cluster: &SipCluster, live: &Value, oidc: &Oidc) -> bool {
    let name = live["metadata"]["name"].as_str().unwrap_or_default();
    live["kind"] == "Deployment"
        && is_of_sort(cluster, name, WORD)
        && live["metadata"]["annotations"][OIDC] == digest_of(oidc).as_str()
}

fn digest_of(oidc: &Oidc) -> String {
    digest(&[&oidc.issuer, &oidc.client_id, &oidc.ca])
}

/// The Secret with the certificate that it serves, and its key: both in PEM.
pub fn certificate(cluster: &SipCluster, secret: &str, chain: &str, key: &str) -> Value {
    let mut metadata = metadata(cluster, secret);
    // A label's value is shorter than a name may be.
    metadata["labels"] = labels(cluster, secret.trim_end_matches(ENDING));
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": encoded(chain), "tls.key": encoded(key)},
    })
}

/// Where an address is found that others reach it at: of the wish, of the nodes, or what the cloud gave its Service.
pub fn host(wish: &IssuerSpec, nodes_at: Option<&str>, live: Option<&Value>) -> Option<Host> {
    if !wish.host.is_empty() {
        return Host::read(&wish.host);
    }
    match wish.exposure {
        Exposure::NodePort => Host::read(nodes_at?),
        Exposure::LoadBalancer => {
            let ingress = live?.pointer("/status/loadBalancer/ingress/0")?;
            Host::read(ingress["ip"].as_str().or_else(|| ingress["hostname"].as_str())?)
        }
    }
}

fn pod(wish: &IssuerSpec, name: &str) -> Value {
    let health =
        json!({"httpGet": {"path": "/healthz", "port": PORT, "scheme": "HTTPS"}, "periodSeconds": 10});
    let environment: Vec<Value> =
        ENVIRONMENT.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({
        "terminationGracePeriodSeconds": 30,
        "containers": [{
            "name": "dex",
            "image": wish.image,
            "command": ["dex", "serve", format!("{CONFIGURATION}/{FILE}")],
            "env": environment,
            "ports": [{"containerPort": PORT, "protocol": "TCP"}],
            "securityContext": container_security(),
            "readinessProbe": health,
            "livenessProbe": health,
            "volumeMounts": [
                {"name": "configuration", "mountPath": CONFIGURATION, "readOnly": true},
                {"name": "certificate", "mountPath": CERTIFICATE, "readOnly": true},
            ],
        }],
        "volumes": [
            {"name": "configuration", "secret": {"secretName": name, "defaultMode": 0o440}},
            {"name": "certificate", "secret": {"secretName": certificate_name(name), "defaultMode": 0o440}},
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::testing::cluster;

    const CONNECTORS: &str =
        "[{\"type\": \"ldap\", \"id\": \"a\", \"name\": \"A\", \"config\": {\"bindPW\": \"hidden\"}}]";

    fn wish() -> IssuerSpec {
        IssuerSpec { image: "dex:2".to_owned(), node_port: Some(30556), ..IssuerSpec::default() }
    }

    fn made(connectors: &str, certificate: &str) -> Vec<Value> {
        let (client, connectors) = (ClientId::read("").unwrap(), Connectors::read(connectors).unwrap());
        let oidc = Oidc {
            issuer: "https://dex.example.com:30556".to_owned(),
            client_id: client.as_str().to_owned(),
            ca: "CA".to_owned(),
        };
        let issued = Issued { oidc: &oidc, client: &client, connectors: &connectors, certificate };
        objects(&cluster("gauss", json!({})), "gauss-auth-30556", &wish(), &issued)
    }

    #[test]
    fn secret_values_are_in_secrets_and_any_change_replaces_the_pods() {
        let cluster = cluster("gauss", json!({}));
        assert_eq!(name_of(&cluster, 0, &wish()), "gauss-auth-30556");
        let before = made(CONNECTORS, "PEM");
        let kinds: Vec<&str> = before.iter().filter_map(|object| object["kind"].as_str()).collect();
        assert_eq!(kinds, ["Secret", "Deployment"]);
        assert!(!before[1].to_string().contains("hidden"));
        for object in &before {
            assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "uid-gauss");
        }
        let pod = &before[1]["spec"]["template"]["spec"];
        assert_eq!(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(pod["volumes"][1]["secret"]["secretName"], "gauss-auth-30556-certificate");
        let template = "/spec/template/metadata/annotations";
        let renewed = made(CONNECTORS, "PEM of later");
        let changed = made(&CONNECTORS.replace("hidden", "other"), "PEM");
        assert_ne!(before[1].pointer(template), renewed[1].pointer(template));
        assert_ne!(before[1].pointer(template), changed[1].pointer(template));
        assert_eq!(before, made(CONNECTORS, "PEM"));
        let secret = certificate(&cluster, "gauss-auth-30556-certificate", "PEM", "key");
        assert_eq!(secret["metadata"]["labels"]["app.kubernetes.io/instance"], "gauss-auth-30556");
    }

    #[test]
    fn a_certificate_is_renewed_at_two_thirds_where_that_helps() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let serving =
            Serving { pem: String::new(), host: "a".to_owned(), not_before: at(1_000), not_after: at(1_900) };
        let authority = |ends| Authority { pem: String::new(), not_after: at(ends) };
        for (now, ends, due) in [
            (1_599, 9_000, false),
            (1_600, 9_000, true),
            (1_899, 9_000, true),
            // A new one would end with the CA, too.
            (1_600, 1_900, false),
        ] {
            assert_eq!(is_due(&serving, &authority(ends), at(now)), due, "{now} {ends}");
        }
    }

    #[test]
    fn it_is_reached_where_it_is_said_or_where_its_service_is() {
        let of = |wish: &IssuerSpec, live: Option<&Value>| {
            host(wish, Some("192.0.2.1"), live).map(|host| host.to_string())
        };
        let live = json!({"status": {"loadBalancer": {"ingress": [{"hostname": "lb.example.com"}]}}});
        let balanced = IssuerSpec { exposure: Exposure::LoadBalancer, ..wish() };
        let named = IssuerSpec { host: "dex.example.com".to_owned(), ..wish() };
        assert_eq!(of(&wish(), None).unwrap(), "192.0.2.1");
        assert_eq!(
            (of(&balanced, None), of(&balanced, Some(&live)).unwrap()),
            (None, "lb.example.com".to_owned())
        );
        assert_eq!(of(&named, Some(&live)).unwrap(), "dex.example.com");
        assert_eq!(of(&IssuerSpec { host: "https://evil".to_owned(), ..wish() }, None), None);
        assert_eq!((port(&wish()), port(&balanced)), (Some(30556), Some(443)));
    }
}
