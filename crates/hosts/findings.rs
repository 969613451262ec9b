//! What is found of a tenant cluster's objects beside its SIPCluster: before the merge, and live.
//!
//! Rule ids and severities are said here once they are rules of the catalogue; these functions give the words, or `None`
//! where there is nothing to say.

use std::fmt::Write as _;

use capstan_model::kinds::{KindReader, names};
use capstan_yaml::YamlFile;
use serde::Deserialize as _;
use serde_json::Value;

use crate::cluster::{Count, Endpoint, NamespacedName, Oidc};
use crate::host::{CLUSTER_NAME, CLUSTER_NAMESPACE};
use crate::selector::LabelSelector;

/// Who makes machines of a role, and how it replaces them, as `capstan_live::rollout` reads both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineMaker {
    pub kind: String,
    /// Which.
    pub named: NamespacedName,
    /// How many machines it wants.
    pub replicas: u64,
    /// How many more it makes while it replaces them.
    pub max_surge: u64,
}

/// `hosts-too-few-for-rollout`: a rolling upgrade of these would wait for ever.
pub fn too_few_for_rollout(role: &str, count: Count, owners: &[MachineMaker]) -> Option<String> {
    let replicas: u64 = owners.iter().map(|owner| owner.replicas).fold(0, u64::saturating_add);
    // They may all roll at once.
    let surge: u64 = owners.iter().map(|owner| owner.max_surge).fold(0, u64::saturating_add);
    let (needed, wanted) = (replicas.saturating_add(surge), count.wanted());
    if needed <= u64::try_from(wanted).unwrap_or(u64::MAX) || surge == 0 {
        return None;
    }
    let names: Vec<String> = owners.iter().map(|owner| format!("{} {}", owner.kind, owner.named)).collect();
    let verb = if names.len() == 1 { "rolls" } else { "roll" };
    Some(format!(
        "{} {verb} with {replicas} replicas and maxSurge {surge}, which needs {needed} hosts, but role {role} has {wanted} (active and standby), so an upgrade would wait for ever. Raise standby, or set maxSurge: 0 (possible for a control plane with 3 or more replicas)",
        names.join(", ")
    ))
}

/// Why nothing is read of an object: its version.
fn unread(kind: &str, object: &Value) -> Option<String> {
    let api_version = KindReader::Hosts.unread(kind, object["apiVersion"].as_str())?;
    Some(KindReader::Hosts.describe_unread(kind, api_version))
}

/// `SelectorMissing`: a Metal3MachineTemplate of the cluster that would take hosts of others, or may do so.
pub fn selector_missing(sip_cluster: &NamespacedName, template: &Value) -> Option<String> {
    if let Some(why) = unread(names::METAL3_MACHINE_TEMPLATE, template) {
        let name = template.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        return Some(format!(
            "it is unknown whether Metal3MachineTemplate {name} selects only hosts of this SIPCluster: {why}"
        ));
    }
    let selector = template.pointer("/spec/template/spec/hostSelector").cloned().unwrap_or_default();
    let is_confined = LabelSelector::deserialize(&selector).is_ok_and(|selector| {
        selector.confines(CLUSTER_NAME, &sip_cluster.name)
            && selector.confines(CLUSTER_NAMESPACE, &sip_cluster.namespace)
    });
    if is_confined {
        return None;
    }
    let name = template.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let NamespacedName { namespace, name: cluster } = sip_cluster;
    Some(format!(
        "Metal3MachineTemplate {name} has no hostSelector for the hosts of this SIPCluster, so Metal3 takes any free host of the namespace, even those of other tenants. Add spec.template.spec.hostSelector.matchLabels: {{{CLUSTER_NAMESPACE}: {namespace}, {CLUSTER_NAME}: {cluster}}}"
    ))
}

/// `endpoint-differs`: the infrastructure cluster names another endpoint than the load balancer has.
pub fn endpoint_differs(endpoint: &Endpoint, infrastructure: &Value) -> Option<String> {
    if let Some(why) = unread(names::METAL3_CLUSTER, infrastructure) {
        let name = infrastructure.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        return Some(format!("it is unknown whether Metal3Cluster {name} names the load balancer: {why}"));
    }
    let held = infrastructure.pointer("/spec/controlPlaneEndpoint")?;
    let (host, port) = (held["host"].as_str().unwrap_or_default(), held["port"].as_u64().unwrap_or(0));
    if host.is_empty() || (host == endpoint.host && port == u64::from(endpoint.port)) {
        return None;
    }
    let name = infrastructure.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Some(format!(
        "Metal3Cluster {name} has controlPlaneEndpoint {host}:{port}, but the load balancer of the SIPCluster is at {}:{}, so machines would join elsewhere. Before machines run, write the address of the load balancer; later it cannot be changed",
        endpoint.host, endpoint.port
    ))
}

/// A Kubernetes minor of a control plane: `v1.36.3` is `(1, 36)`.
fn minor_of(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.strip_prefix('v').unwrap_or(version).split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// From here on the API server reads issuers from a file.
const STRUCTURED: (u32, u32) = (1, 30);
/// From here on the kind of that file is `v1`.
const STABLE: (u32, u32) = (1, 34);
/// Where the file is proposed to lie on a node.
const PATH: &str = "/etc/kubernetes/authentication.yaml";
/// kubeadm mounts this folder by itself.
const MOUNTED: &str = "/etc/kubernetes/pki";

impl Oidc {
    /// What the API server of this version reads with `--authentication-config`
    /// (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/>), as YAML. Users are known by the claim
    /// `email`, groups by `groups`, both as the issuer says them, behind `oidc:`. `None` for one that reads no such file.
    pub fn authentication_configuration(&self, version: &str) -> Option<String> {
        let minor = minor_of(version).unwrap_or(STABLE);
        let api = match minor {
            _ if minor < STRUCTURED => return None,
            _ if minor < STABLE => "v1beta1",
            _ => "v1",
        };
        let quoted = |text: &str| Value::from(text).to_string();
        let mut text = format!(
            "apiVersion: apiserver.config.k8s.io/{api}\nkind: AuthenticationConfiguration\njwt:\n- issuer:\n    url: {}\n    audiences: [{}]\n",
            quoted(&self.issuer),
            quoted(&self.client_id)
        );
        text.push_str("    certificateAuthority: |\n");
        for line in self.ca.lines() {
            let _ = writeln!(text, "      {line}");
        }
        text.push_str("  claimMappings:\n    username: {claim: email, prefix: \"oidc:\"}\n    groups: {claim: groups, prefix: \"oidc:\"}\n");
        Some(text)
    }

    /// Whether such a file trusts this issuer, with its CA, for its client.
    fn is_trusted_by(&self, content: &str) -> bool {
        let Ok(file) = YamlFile::read(content) else { return false };
        let Some(document) = file.documents().first() else { return false };
        let whole = document.root.value();
        let mut issuers = whole["jwt"].as_array().into_iter().flatten().map(|one| &one["issuer"]);
        issuers.any(|held| {
            let mut audiences = held["audiences"].as_array().into_iter().flatten();
            held["url"] == self.issuer.as_str()
                && audiences.any(|held| held == self.client_id.as_str())
                && self.has_authority(held["certificateAuthority"].as_str().unwrap_or_default())
        })
    }

    /// Whether a text in PEM has each certificate of this CA, in whichever order and whatever others are beside them.
    fn has_authority(&self, pem: &str) -> bool {
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let held = bare(pem);
        let mut certificates = self.ca.split_inclusive("-----END CERTIFICATE-----").map(bare);
        certificates.all(|certificate| held.contains(&certificate))
    }
}

/// `oidc-not-wired`: the control plane does not trust the issuer.
pub fn oidc_not_wired(issuer: &Oidc, control_plane: &Value) -> Option<String> {
    let name = control_plane.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if control_plane["kind"] == names::KUBEADM_CONTROL_PLANE
        && let Some(why) = unread(names::KUBEADM_CONTROL_PLANE, control_plane)
    {
        return Some(format!(
            "it is unknown whether KubeadmControlPlane {name} trusts the issuer {}: {why}",
            issuer.issuer
        ));
    }
    let spec = control_plane.pointer("/spec/kubeadmConfigSpec")?;
    let version = control_plane.pointer("/spec/version").and_then(Value::as_str).unwrap_or_default();
    let server = &spec["clusterConfiguration"]["apiServer"];
    let arguments = &server["extraArgs"];
    // A mapping of old, a list of names and values in v1beta2.
    let argument = |name: &str| {
        let listed = arguments.as_array().into_iter().flatten().find(|one| one["name"] == name);
        listed.map_or_else(|| arguments[name].as_str(), |one| one["value"].as_str())
    };
    let by_flags = argument("oidc-issuer-url") == Some(issuer.issuer.as_str())
        && argument("oidc-client-id") == Some(issuer.client_id.as_str());
    let path = argument("authentication-config");
    let is_by_file = path.is_some_and(|path| {
        let mut files = spec["files"].as_array().into_iter().flatten();
        let held = files.find(|held| held["path"] == path);
        // Content that comes from a Secret cannot be judged.
        let says = |held: &Value| {
            held.get("contentFrom").is_some()
                || issuer.is_trusted_by(held["content"].as_str().unwrap_or_default())
        };
        held.is_some_and(says) && is_mounted(server, path)
    });
    if by_flags || is_by_file {
        return None;
    }
    let begin = format!("KubeadmControlPlane {name} does not trust the issuer {}.", issuer.issuer);
    let Some(configuration) = issuer.authentication_configuration(version) else {
        return Some(format!(
            "{begin} Kubernetes {version} reads no authentication configuration: add to spec.kubeadmConfigSpec a file with this CA, and the arguments oidc-issuer-url: {}, oidc-client-id: {}, oidc-ca-file: its path, oidc-username-claim: email, oidc-username-prefix: \"oidc:\", oidc-groups-claim: groups, oidc-groups-prefix: \"oidc:\" of the API server; it rolls the control plane:\n{}",
            issuer.issuer, issuer.client_id, issuer.ca
        ));
    };
    let path = path.unwrap_or(PATH);
    Some(format!(
        "{begin} Add to spec.kubeadmConfigSpec a file {path} (owner root:root, permissions 0600), the argument authentication-config: {path} of the API server and a volume of it (apiServer.extraVolumes, pathType File, readOnly); it rolls the control plane:\n{configuration}"
    ))
}

/// Whether the API server's pod sees this path of its node.
fn is_mounted(server: &Value, path: &str) -> bool {
    let covers = |folder: &str| {
        path.strip_prefix(folder.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let volumes = server["extraVolumes"].as_array().into_iter().flatten();
    covers(MOUNTED) || volumes.filter_map(|volume| volume["mountPath"].as_str()).any(covers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn owner(kind: &str, name: &str, replicas: u64, max_surge: u64) -> MachineMaker {
        MachineMaker { kind: kind.to_owned(), named: NamespacedName::new("gauss", name), replicas, max_surge }
    }

    #[test]
    fn a_rollout_takes_replicas_and_surge() {
        let control_plane = owner("KubeadmControlPlane", "cp", 3, 1);
        let count = |active, standby| Count { active, standby };
        assert_eq!(
            too_few_for_rollout("ControlPlane", count(3, 1), std::slice::from_ref(&control_plane)),
            None
        );
        assert_eq!(
            too_few_for_rollout("ControlPlane", count(3, 0), &[control_plane]).unwrap(),
            "KubeadmControlPlane gauss/cp rolls with 3 replicas and maxSurge 1, which needs 4 hosts, but role ControlPlane has 3 (active and standby), so an upgrade would wait for ever. Raise standby, or set maxSurge: 0 (possible for a control plane with 3 or more replicas)"
        );
        let in_place = owner("KubeadmControlPlane", "cp", 3, 0);
        assert_eq!(too_few_for_rollout("ControlPlane", count(3, 0), &[in_place]), None);
        let two = ["a", "b"].map(|name| owner("MachineDeployment", name, 4, 2));
        assert_eq!(too_few_for_rollout("Worker", count(8, 4), &two), None);
        assert!(too_few_for_rollout("Worker", count(8, 3), &two).unwrap().starts_with("MachineDeployment gauss/a, MachineDeployment gauss/b roll with 8 replicas and maxSurge 4, which needs 12 hosts"));
    }

    #[test]
    fn a_selector_must_name_namespace_and_cluster() {
        let me = NamespacedName::new("gauss", "t");
        let template = |selector: Value| json!({"metadata": {"name": "m"}, "spec": {"template": {"spec": {"hostSelector": selector}}}});
        let both = json!({"matchLabels": {CLUSTER_NAMESPACE: "gauss", CLUSTER_NAME: "t"}});
        assert_eq!(selector_missing(&me, &template(both)), None);
        for selector in [
            json!({}),
            json!({"matchLabels": {CLUSTER_NAME: "t"}}),
            json!({"matchLabels": {CLUSTER_NAMESPACE: "gauss", CLUSTER_NAME: "other"}}),
            json!({"matchLabels": {"flavor": "big"}}),
        ] {
            assert!(selector_missing(&me, &template(selector.clone())).is_some(), "{selector}");
        }
        let none = json!({"metadata": {"name": "m"}, "spec": {"template": {"spec": {}}}});
        assert!(
            selector_missing(&me, &none).unwrap().starts_with("Metal3MachineTemplate m has no hostSelector")
        );
    }

    #[test]
    fn a_version_that_is_not_known_is_never_misread() {
        let me = NamespacedName::new("gauss", "t");
        let of = |version: &str| {
            let api_version = format!("infrastructure.cluster.x-k8s.io/{version}");
            let labels = json!({CLUSTER_NAMESPACE: "gauss", CLUSTER_NAME: "t"});
            json!({"apiVersion": api_version, "metadata": {"name": "m"},
                "spec": {"template": {"spec": {"hostSelector": {"matchLabels": labels}}}}})
        };
        assert_eq!(
            (selector_missing(&me, &of("v1beta1")), selector_missing(&me, &of("v1beta2"))),
            (None, None)
        );
        assert_eq!(
            selector_missing(&me, &of("v1")).unwrap(),
            "it is unknown whether Metal3MachineTemplate m selects only hosts of this SIPCluster: `infrastructure.cluster.x-k8s.io/v1` is not read here (v1beta1 and v1beta2 are)"
        );
        let endpoint = Endpoint { host: "192.0.2.1".to_owned(), port: 30000 };
        let elsewhere = |version: &str| {
            let api_version = format!("infrastructure.cluster.x-k8s.io/{version}");
            json!({"apiVersion": api_version, "spec": {"controlPlaneEndpoint": {"host": "192.0.2.2", "port": 6443}}})
        };
        assert!(endpoint_differs(&endpoint, &elsewhere("v1beta2")).is_some());
        assert_eq!(
            endpoint_differs(&endpoint, &elsewhere("v1")).unwrap(),
            "it is unknown whether Metal3Cluster  names the load balancer: `infrastructure.cluster.x-k8s.io/v1` is not read here (v1beta1 and v1beta2 are)"
        );
    }

    /// Every kind of the table: an unknown version is reported by its name, whatever its fields.
    #[test]
    fn what_is_read_is_what_the_table_says() {
        let me = NamespacedName::new("gauss", "t");
        let endpoint = Endpoint { host: "192.0.2.1".to_owned(), port: 30000 };
        for known in KindReader::Hosts.known() {
            for kind in known.kinds {
                let api_version = format!("{}/v9", known.group);
                let object =
                    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "m"}, "spec": {}});
                let told = match *kind {
                    names::METAL3_CLUSTER => endpoint_differs(&endpoint, &object),
                    names::METAL3_MACHINE_TEMPLATE => selector_missing(&me, &object),
                    names::KUBEADM_CONTROL_PLANE => oidc_not_wired(&issuer(), &object),
                    other => panic!("nobody reads {other}"),
                };
                let told = told.unwrap_or_default();
                assert!(told.contains(&format!(": `{api_version}` is not read here")), "{kind}: {told}");
            }
        }
    }

    #[test]
    fn a_different_endpoint_is_reported() {
        let endpoint = Endpoint { host: "192.0.2.1".to_owned(), port: 30000 };
        let of = |spec: Value| endpoint_differs(&endpoint, &json!({"metadata": {"name": "m"}, "spec": spec}));
        assert_eq!(of(json!({})), None);
        assert_eq!(of(json!({"controlPlaneEndpoint": {"host": "", "port": 0}})), None);
        assert_eq!(of(json!({"controlPlaneEndpoint": {"host": "192.0.2.1", "port": 30000}})), None);
        let told = of(json!({"controlPlaneEndpoint": {"host": "192.0.2.1", "port": 6443}})).unwrap();
        assert!(told.contains("has controlPlaneEndpoint 192.0.2.1:6443, but the load balancer of the SIPCluster is at 192.0.2.1:30000"), "{told}");
    }

    fn issuer() -> Oidc {
        Oidc {
            issuer: "https://dex.example.com".to_owned(),
            client_id: "kubectl".to_owned(),
            ca: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(),
        }
    }

    #[test]
    fn a_ca_is_known_by_all_of_its_certificates_in_any_order() {
        let one = |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
        let both = Oidc { ca: one("AAAA") + &one("BBBB"), ..issuer() };
        assert!(both.has_authority(&(one("BBBB") + &one("CCCC") + &one("AAAA"))));
        assert!(!both.has_authority(&one("AAAA")) && !both.has_authority(""));
    }

    fn oidc_finding(version: &str, spec: Value) -> Option<String> {
        let plane =
            json!({"metadata": {"name": "cp"}, "spec": {"version": version, "kubeadmConfigSpec": spec}});
        oidc_not_wired(&issuer(), &plane)
    }

    /// A control plane whose API server reads such a file.
    fn wired(content: &str, arguments: Value, mounted: &str) -> Value {
        json!({
            "files": [{"path": "/etc/kubernetes/auth.yaml", "content": content}],
            "clusterConfiguration": {"apiServer": {
                "extraArgs": arguments,
                "extraVolumes": [{"name": "auth", "hostPath": mounted, "mountPath": mounted}]}}})
    }

    #[test]
    fn an_issuer_is_trusted_by_a_file_that_the_api_server_reads_and_sees() {
        let path = "/etc/kubernetes/auth.yaml";
        let content = issuer().authentication_configuration("v1.36.3").unwrap();
        let mapped = json!({"authentication-config": path});
        let listed = json!([{"name": "authentication-config", "value": path}]);
        for arguments in [&mapped, &listed] {
            assert_eq!(oidc_finding("v1.36.3", wired(&content, arguments.clone(), path)), None);
            assert_eq!(oidc_finding("v1.36.3", wired(&content, arguments.clone(), "/etc/kubernetes/")), None);
        }
        // Another CA beside it does no harm.
        let more = content.replace("      -----BEGIN", "      -----BEGIN CERTIFICATE-----\n      BBBB\n      -----END CERTIFICATE-----\n      -----BEGIN");
        assert_eq!(oidc_finding("v1.36.3", wired(&more, mapped.clone(), path)), None);
        for (why, content, arguments, mounted) in [
            ("a file that nobody reads", content.clone(), json!({}), path),
            ("a file that the pod does not see", content.clone(), mapped.clone(), "/etc/kubernetes/auth"),
            ("another audience", content.replace("kubectl", "kubectl2"), mapped.clone(), path),
            ("another issuer", content.replace("dex.example", "dex2.example"), mapped.clone(), path),
            ("another CA", content.replace("AAAA", "BBBB"), mapped.clone(), path),
            ("a word of it in a comment", format!("# {}", content.replace('\n', " ")), mapped.clone(), path),
        ] {
            assert!(oidc_finding("v1.36.3", wired(&content, arguments, mounted)).is_some(), "{why}");
        }
        let from_secret = json!({
            "files": [{"path": "/etc/kubernetes/pki/auth.yaml", "contentFrom": {"secret": {"name": "a", "key": "b"}}}],
            "clusterConfiguration": {"apiServer": {"extraArgs": {"authentication-config": "/etc/kubernetes/pki/auth.yaml"}}}});
        assert_eq!(oidc_finding("v1.36.3", from_secret), None);
    }

    #[test]
    fn an_issuer_is_trusted_by_flags_and_the_advice_fits_the_minor() {
        let flags = |url: &str| json!({"clusterConfiguration": {"apiServer": {"extraArgs": {"oidc-issuer-url": url, "oidc-client-id": "kubectl"}}}});
        assert_eq!(oidc_finding("v1.29.4", flags("https://dex.example.com")), None);
        let of = |version: &str| oidc_finding(version, flags("https://other.example.com")).unwrap();
        assert_eq!(
            of("v1.36.3"),
            "KubeadmControlPlane cp does not trust the issuer https://dex.example.com. Add to spec.kubeadmConfigSpec a file /etc/kubernetes/authentication.yaml (owner root:root, permissions 0600), the argument authentication-config: /etc/kubernetes/authentication.yaml of the API server and a volume of it (apiServer.extraVolumes, pathType File, readOnly); it rolls the control plane:
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: \"https://dex.example.com\"
    audiences: [\"kubectl\"]
    certificateAuthority: |
      -----BEGIN CERTIFICATE-----
      AAAA
      -----END CERTIFICATE-----
  claimMappings:
    username: {claim: email, prefix: \"oidc:\"}
    groups: {claim: groups, prefix: \"oidc:\"}
"
        );
        assert!(of("v1.34.0").contains("\napiVersion: apiserver.config.k8s.io/v1\n"));
        for version in ["v1.33.9", "v1.30.0"] {
            assert!(of(version).contains("\napiVersion: apiserver.config.k8s.io/v1beta1\n"), "{version}");
        }
        let old = of("v1.29.4");
        assert!(
            old.contains("Kubernetes v1.29.4 reads no authentication configuration")
                && old.ends_with("-----END CERTIFICATE-----\n"),
            "{old}"
        );
    }
}
