//! What is found of a tenant cluster's objects beside its SIPCluster: before the merge, and live.
//!
//! Rule ids and severities are said here once they are rules of the catalogue; these functions give the words, or `None`
//! where there is nothing to say.

use std::fmt::Write as _;

use serde::Deserialize as _;
use serde_json::Value;

use crate::choice::{Fleet, choose};
use crate::cluster::{Count, Endpoint, Named, SipCluster};
use crate::host::{CLUSTER_NAME, CLUSTER_NAMESPACE};
use crate::selector::LabelSelector;

/// `HostsTooFew`: why the SIPCluster of a head commit would get nothing. `wished` has what is noted live in its status.
pub fn hosts_too_few(wished: &SipCluster, fleet: &Fleet<'_>) -> Option<String> {
    let choice = choose(wished, fleet);
    (!choice.too_few.is_empty()).then(|| choice.too_few.join("\n"))
}

/// Who makes machines of a role, and how it replaces them, as `capstan_live::rollout` reads both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its kind.
    pub kind: String,
    /// Which.
    pub named: Named,
    /// How many machines it wants.
    pub replicas: u64,
    /// How many more it makes while it replaces them.
    pub max_surge: u64,
}

/// `hosts-too-few-for-rollout`: a rolling upgrade of these would wait for ever.
pub fn too_few_for_rollout(role: &str, count: Count, owners: &[Owner]) -> Option<String> {
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
        "{} {verb} with {replicas} replicas and maxSurge {surge}, which takes {needed} hosts; role {role} has {wanted} (active and standby): an upgrade would wait for ever. Raise standby, or set maxSurge: 0 (a control plane can from 3 replicas on)",
        names.join(", ")
    ))
}

/// `SelectorMissing`: a Metal3MachineTemplate of the cluster that would take hosts of others.
pub fn selector_missing(sip_cluster: &Named, template: &Value) -> Option<String> {
    let selector = template.pointer("/spec/template/spec/hostSelector").cloned().unwrap_or_default();
    let is_confined = LabelSelector::deserialize(&selector).is_ok_and(|selector| {
        selector.confines(CLUSTER_NAME, &sip_cluster.name)
            && selector.confines(CLUSTER_NAMESPACE, &sip_cluster.namespace)
    });
    if is_confined {
        return None;
    }
    let name = template.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let Named { namespace, name: cluster } = sip_cluster;
    Some(format!(
        "Metal3MachineTemplate {name} has no hostSelector that keeps to the hosts of this SIPCluster, so Metal3 takes any free host of the namespace, those of other tenants too. Add spec.template.spec.hostSelector.matchLabels: {{{CLUSTER_NAMESPACE}: {namespace}, {CLUSTER_NAME}: {cluster}}}"
    ))
}

/// `endpoint-differs`: the infrastructure cluster names another endpoint than the load balancer has.
pub fn endpoint_differs(endpoint: &Endpoint, infrastructure: &Value) -> Option<String> {
    let held = infrastructure.pointer("/spec/controlPlaneEndpoint")?;
    let (host, port) = (held["host"].as_str().unwrap_or_default(), held["port"].as_u64().unwrap_or(0));
    if host.is_empty() || (host == endpoint.host && port == u64::from(endpoint.port)) {
        return None;
    }
    let name = infrastructure.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Some(format!(
        "Metal3Cluster {name} has controlPlaneEndpoint {host}:{port}, the load balancer of the SIPCluster is reached at {}:{}: machines would join elsewhere. It cannot be changed once machines run; before, write the load balancer's",
        endpoint.host, endpoint.port
    ))
}

/// An issuer of tokens for a tenant's API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// Its URL, by https.
    pub url: String,
    /// For whom its tokens are.
    pub client_id: String,
    /// The CA of its certificate, in PEM.
    pub ca: String,
}

impl Issuer {
    /// What the API server reads with `--authentication-config`
    /// (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/>), as YAML. Users are known by the claim
    /// `email`, groups by `groups`, both as the issuer says them, behind `oidc:`.
    pub fn authentication_configuration(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let mut text = format!(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer:\n    url: {}\n    audiences: [{}]\n",
            quoted(&self.url),
            quoted(&self.client_id)
        );
        text.push_str("    certificateAuthority: |\n");
        for line in self.ca.lines() {
            let _ = writeln!(text, "      {line}");
        }
        text.push_str("  claimMappings:\n    username: {claim: email, prefix: \"oidc:\"}\n    groups: {claim: groups, prefix: \"oidc:\"}\n");
        text
    }
}

/// `oidc-not-wired`: the control plane does not trust the issuer.
pub fn oidc_not_wired(issuer: &Issuer, control_plane: &Value) -> Option<String> {
    let spec = control_plane.pointer("/spec/kubeadmConfigSpec")?;
    let arguments = &spec["clusterConfiguration"]["apiServer"]["extraArgs"];
    // A mapping of old, a list of names and values in v1beta2.
    let argument = |name: &str| {
        let listed = arguments.as_array().into_iter().flatten().find(|one| one["name"] == name);
        listed.map_or_else(|| arguments[name].as_str(), |one| one["value"].as_str())
    };
    let file = argument("authentication-config");
    let held = spec["files"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|held| file.is_some() && held["path"].as_str() == file);
    let says = |held: &Value| {
        let content = held["content"].as_str().unwrap_or_default();
        content.contains(&issuer.url) && content.contains(&issuer.client_id)
    };
    let by_flags = argument("oidc-issuer-url") == Some(issuer.url.as_str())
        && argument("oidc-client-id") == Some(issuer.client_id.as_str());
    // Content that comes from a Secret cannot be judged.
    if by_flags || held.is_some_and(|held| says(held) || held.get("contentFrom").is_some()) {
        return None;
    }
    let name = control_plane.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let path = file.unwrap_or("/etc/kubernetes/authentication.yaml");
    Some(format!(
        "KubeadmControlPlane {name} does not trust the issuer {}. Add to spec.kubeadmConfigSpec a file {path} (owner root:root, permissions 0600), the argument authentication-config: {path} of the API server and a volume of it; it rolls the control plane:\n{}",
        issuer.url,
        issuer.authentication_configuration()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::testing::{cluster, host, used};
    use crate::selector::Labels;
    use serde_json::json;

    fn owner(kind: &str, name: &str, replicas: u64, max_surge: u64) -> Owner {
        Owner { kind: kind.to_owned(), named: Named::new("gauss", name), replicas, max_surge }
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
            "KubeadmControlPlane gauss/cp rolls with 3 replicas and maxSurge 1, which takes 4 hosts; role ControlPlane has 3 (active and standby): an upgrade would wait for ever. Raise standby, or set maxSurge: 0 (a control plane can from 3 replicas on)"
        );
        let in_place = owner("KubeadmControlPlane", "cp", 3, 0);
        assert_eq!(too_few_for_rollout("ControlPlane", count(3, 0), &[in_place]), None);
        let two = ["a", "b"].map(|name| owner("MachineDeployment", name, 4, 2));
        assert_eq!(too_few_for_rollout("Worker", count(8, 4), &two), None);
        assert!(too_few_for_rollout("Worker", count(8, 3), &two).unwrap().starts_with("MachineDeployment gauss/a, MachineDeployment gauss/b roll with 8 replicas and maxSurge 4, which takes 12 hosts"));
    }

    #[test]
    fn a_selector_must_name_namespace_and_cluster() {
        let me = Named::new("gauss", "t");
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
    fn a_head_commit_that_asks_for_too_much_is_told_as_live() {
        let hosts = [host("bm-0", "r0"), used(host("bm-1", "r1"), "b")];
        let of = |active: u32| {
            let wished =
                cluster("t", json!({"ControlPlane": {"topologyKey": "rack", "count": {"active": active}}}));
            let labels = Labels::new();
            hosts_too_few(
                &wished,
                &Fleet { hosts: &hosts, clusters: &[], policies: &[], namespace_labels: &labels },
            )
        };
        assert_eq!(of(1), None);
        assert_eq!(
            of(2).unwrap(),
            "ControlPlane: 2 wanted, 1 can be had in 1 rack; bm-1 (r1): provisioned for gauss/b"
        );
    }

    #[test]
    fn another_endpoint_is_told() {
        let endpoint = Endpoint { host: "192.0.2.1".to_owned(), port: 30000 };
        let of = |spec: Value| endpoint_differs(&endpoint, &json!({"metadata": {"name": "m"}, "spec": spec}));
        assert_eq!(of(json!({})), None);
        assert_eq!(of(json!({"controlPlaneEndpoint": {"host": "", "port": 0}})), None);
        assert_eq!(of(json!({"controlPlaneEndpoint": {"host": "192.0.2.1", "port": 30000}})), None);
        let told = of(json!({"controlPlaneEndpoint": {"host": "192.0.2.1", "port": 6443}})).unwrap();
        assert!(told.contains("has controlPlaneEndpoint 192.0.2.1:6443, the load balancer of the SIPCluster is reached at 192.0.2.1:30000"), "{told}");
    }

    #[test]
    fn an_issuer_is_trusted_by_a_file_or_by_flags() {
        let issuer = Issuer {
            url: "https://dex.example.com".to_owned(),
            client_id: "kubectl".to_owned(),
            ca: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(),
        };
        let of = |spec: Value| {
            oidc_not_wired(&issuer, &json!({"metadata": {"name": "cp"}, "spec": {"kubeadmConfigSpec": spec}}))
        };
        let arguments = |arguments: Value| json!({"apiServer": {"extraArgs": arguments}});
        let path = "/etc/kubernetes/auth.yaml";
        let file = json!([{"path": path, "content": issuer.authentication_configuration()}]);
        assert_eq!(
            of(
                json!({"clusterConfiguration": arguments(json!({"authentication-config": path})), "files": file})
            ),
            None
        );
        let listed = json!([{"name": "authentication-config", "value": path}]);
        assert_eq!(of(json!({"clusterConfiguration": arguments(listed), "files": file})), None);
        let flags = json!({"oidc-issuer-url": "https://dex.example.com", "oidc-client-id": "kubectl"});
        assert_eq!(of(json!({"clusterConfiguration": arguments(flags)})), None);
        // A file that nobody reads, an issuer of somebody else.
        assert!(of(json!({"files": file})).is_some());
        let flags = json!({"oidc-issuer-url": "https://other.example.com", "oidc-client-id": "kubectl"});
        let told = of(json!({"clusterConfiguration": arguments(flags)})).unwrap();
        assert!(
            told.contains("it rolls the control plane") && told.contains("    audiences: [\"kubectl\"]\n"),
            "{told}"
        );
    }
}
