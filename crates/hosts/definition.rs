//! The definition of `SIPCluster` that the API server holds: fields, bounds, rules, columns.
//!
//! Every manifest that the old operator's definition accepted is accepted, except for mistakes: counts below
//! 0, invalid ports, a range that ends before it begins, two services at one port of the nodes, lines that
//! are not public keys, and more than 32 services of a kind. Fields that the old operator accepted and
//! ignored are still accepted, and reported.
//!
//! It is JSON by hand. The types of [`cluster`](crate::cluster) read what is in the cluster already, so they are wider than
//! this: they have no bounds, and the ignored fields are not among theirs. Most of what is here are rules between fields.

use serde_json::{Value, json};

use crate::cluster::{GROUP, KIND, VERSION};

/// More services of one kind are refused: rules between them must be cheap to judge.
const MOST_SERVICES: u64 = 32;
/// A line of `authorized_keys` without options; what is in it is read by [`ssh`](crate::services::ssh).
const PUBLIC_KEY: &str = r"^\s*(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com)[ \t]+[A-Za-z0-9+/]+={0,2}([ \t][^\n\r]*)?\s*$";
/// As [`dex`](crate::services::dex) takes it; empty is the default.
const CLIENT_ID: &str = "^[A-Za-z0-9._-]{0,64}$";
const NODE_PORTS: &str = "[(has(self.loadBalancerControlPlane) ? self.loadBalancerControlPlane.filter(s, has(s.nodePort)).map(s, s.nodePort) : []) + (has(self.loadBalancerWorker) ? self.loadBalancerWorker.filter(s, has(s.nodePort) && !has(s.nodePortRange)).map(s, s.nodePort) : []) + (has(self.jumpHost) ? self.jumpHost.filter(s, has(s.nodePort)).map(s, s.nodePort) : []) + (has(self.auth) ? self.auth.filter(s, has(s.nodePort)).map(s, s.nodePort) : [])]";
const RANGES: &str = "self.loadBalancerWorker.filter(s, has(s.nodePortRange)).map(s, s.nodePortRange)";

/// The CustomResourceDefinition.
pub fn definition() -> Value {
    let plural = "sipclusters";
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": format!("{KIND}List"),
                "plural": plural,
                "shortNames": ["sip"],
                "singular": KIND.to_ascii_lowercase(),
            },
            "scope": "Namespaced",
            "versions": [{
                "additionalPrinterColumns": [
                    {"jsonPath": ".status.wanted", "name": "Wanted", "type": "integer", "description": "Hosts wanted, including standby"},
                    {"jsonPath": ".status.had", "name": "Had", "type": "integer", "description": "Hosts that it has, including standby"},
                    {"jsonPath": ".status.standby", "name": "Standby", "type": "integer", "description": "Standby hosts among them"},
                    {"jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "name": "Ready", "type": "string", "description": "Whether hosts and services are ready"},
                    {"jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "name": "Message", "type": "string", "description": "Why it is ready or not"},
                    {"jsonPath": ".metadata.creationTimestamp", "name": "Age", "type": "date"},
                ],
                "name": VERSION,
                "schema": {"openAPIV3Schema": {
                    "description": "A SIPCluster requests bare-metal hosts for one tenant cluster: a number for each role, spread over racks or another label. It also requests the load balancers, jump hosts and token issuers in front of them. Chosen hosts get its labels, which the hostSelector of a Metal3MachineTemplate selects.",
                    "type": "object",
                    "required": ["spec"],
                    "properties": {
                        "apiVersion": {"type": "string"},
                        "kind": {"type": "string"},
                        "metadata": {"type": "object"},
                        "spec": spec(),
                        "status": status(),
                    },
                }},
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
            }],
        },
    })
}

fn spec() -> Value {
    json!({
        "description": "The desired state.",
        "type": "object",
        "required": ["services"],
        "properties": {
            "nodes": {
                "description": "The hosts, by the name of their role. Load balancers serve the roles ControlPlane and Worker.",
                "type": "object",
                "additionalProperties": role(),
            },
            "services": services(),
        },
    })
}

fn role() -> Value {
    let count =
        |about: &str| json!({"description": about, "type": "integer", "format": "int32", "minimum": 0});
    json!({
        "description": "The hosts of one role.",
        "type": "object",
        "properties": {
            "labelSelector": {
                "description": "Which hosts may be chosen. Default: all.",
                "type": "object",
                "properties": {
                    "matchLabels": {"description": "Labels with these values.", "type": "object", "additionalProperties": {"type": "string"}},
                    "matchExpressions": {
                        "description": "Conditions on other labels; all of them must hold.",
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["key", "operator"],
                            "properties": {
                                "key": {"description": "The label's key.", "type": "string"},
                                "operator": {"description": "In, NotIn, Exists or DoesNotExist.", "type": "string"},
                                "values": {"description": "The values of In and NotIn.", "type": "array", "items": {"type": "string"}},
                            },
                        },
                    },
                },
            },
            "topologyKey": {
                "description": "The label whose values are the domains (for example racks) over which hosts are spread. A host without it is not chosen. Default: no spreading.",
                "type": "string",
            },
            "maxPerDomain": {
                "description": "The maximum of hosts of the role in one domain. Default: 1.",
                "type": "integer", "format": "int32", "minimum": 1,
            },
            "count": {
                "description": "How many hosts.",
                "type": "object",
                "properties": {
                    "active": count("Active hosts. Without all of them, no new host is chosen."),
                    "standby": count("Spare hosts for rolling upgrades. Missing ones are reported and stop nothing."),
                },
            },
        },
    })
}

fn services() -> Value {
    let port = |about: &str| json!({"description": about, "type": "integer", "format": "int32", "minimum": 1, "maximum": 65535});
    let base = |required: &[&str], more: Value, rules: Value| {
        let mut properties = json!({
            "image": {"description": "The image of its pods.", "type": "string"},
            "type": {
                "description": "How it is reached: at a port of the management cluster's nodes (NodePort, the default), or at an address of its cloud.",
                "type": "string",
                "enum": ["NodePort", "LoadBalancer"],
            },
            "nodePort": port("The port of the nodes."),
            "nodeInterfaceId": {
                "description": "The id of the network in the hosts' network data whose address is used. Default: the Machine's internal address.",
                "type": "string",
            },
            "nodeLabels": {"description": "Accepted for compatibility with the old operator; has no effect.", "type": "object", "additionalProperties": {"type": "string"}},
            "clusterIP": {"description": "Accepted for compatibility with the old operator; has no effect.", "type": "string"},
        });
        if let (Some(properties), Value::Object(more)) = (properties.as_object_mut(), more) {
            properties.extend(more);
        }
        json!({
            "type": "array",
            "maxItems": MOST_SERVICES,
            "items": {"type": "object", "required": required, "properties": properties, "x-kubernetes-validations": rules},
        })
    };
    let replicas = json!({"description": "How many pods. Default: 2.", "type": "integer", "format": "int32", "minimum": 0, "maximum": 100});
    let port_or_address = json!({
        "rule": "has(self.nodePort) || (has(self.type) && self.type == 'LoadBalancer')",
        "message": "a service of type NodePort names its nodePort",
    });
    let control_plane = base(&["image"], json!({"replicas": replicas}), json!([port_or_address]));
    let worker = base(
        &["image"],
        json!({
            "replicas": replicas,
            "nodePortRange": {
                "description": "These ports, each to the same port of the workers. nodePort then has no effect.",
                "type": "object",
                "required": ["start", "end"],
                "properties": {"start": port("The first."), "end": port("The last.")},
                "x-kubernetes-validations": [{"rule": "self.start <= self.end", "message": "a range of ports ends where it starts, or later"}],
            },
        }),
        json!([{"rule": "has(self.nodePort) || has(self.nodePortRange)", "message": "nodePort or nodePortRange says which ports of the workers are reached"}]),
    );
    let jump_host = base(
        &["image"],
        json!({
            "sshAuthorizedKeys": {
                "description": "Who may connect: public keys, one per line as ssh-keygen writes them, without options.",
                "type": "array",
                // A rule in CEL over texts of this length would cost more than the API server allows.
                "items": {"type": "string", "pattern": PUBLIC_KEY},
            },
            "nodeSSHPrivateKeys": {"description": "A Secret with private keys for the hosts. It is not required: ssh -J uses people's own keys. It is mounted only with shell: true.", "type": "string"},
            "shell": {"description": "Whether people who may connect get a shell there, with those private keys. Without it, connections are only forwarded to the hosts and the API server.", "type": "boolean"},
            "bmc": {
                "description": "Accepted for compatibility with the old operator; has no effect. Nothing of management controllers is there.",
                "type": "object",
                "properties": {"proxy": {"type": "boolean"}},
            },
        }),
        json!([port_or_address]),
    );
    let auth = base(
        &["image"],
        json!({
            "host": {
                "description": "The name or address at which both people and API servers reach it. Default: that of the management cluster's nodes (--node-ports-at), or the address of its cloud.",
                "type": "string",
                "maxLength": 253,
            },
            "caSecret": {"description": "A Secret with a CA (tls.crt, tls.key) that signs the serving certificate. The API server trusts this CA.", "type": "string"},
            "connectorsSecret": {"description": "A Secret with Dex's connectors in its key connectors: a list, as YAML or JSON. Without it nobody can log in, and there is no issuer.", "type": "string"},
            "clientID": {"description": "The audience of tokens. Default: kubernetes.", "type": "string", "pattern": CLIENT_ID},
        }),
        json!([port_or_address]),
    );
    let about = |about: &str, mut list: Value| {
        list["description"] = about.into();
        list
    };
    let rule = |rule: String, message: &str| json!({"rule": rule, "message": message});
    let twice = "two services use one port of the nodes";
    json!({
        "description": "The services in front of the hosts.",
        "type": "object",
        "properties": {
            "loadBalancerControlPlane": about("Load balancers in front of the API servers.", control_plane),
            "loadBalancerWorker": about("Load balancers in front of ports of the workers.", worker),
            "jumpHost": about("Jump hosts for ssh to the hosts.", jump_host),
            "auth": about("Issuers of tokens for the tenant's API server: Dex.", auth),
        },
        "x-kubernetes-validations": [
            rule(format!("{NODE_PORTS}.all(ports, ports.all(p, ports.exists_one(q, q == p)))"), twice),
            rule(format!("!has(self.loadBalancerWorker) || {NODE_PORTS}.all(ports, {RANGES}.all(r, !ports.exists(p, p >= r.start && p <= r.end)))"), twice),
            rule(format!("!has(self.loadBalancerWorker) || {RANGES}.all(r, {RANGES}.exists_one(s, s.start <= r.end && r.start <= s.end))"), twice),
        ],
    })
}

fn status() -> Value {
    let text = |about: &str| json!({"description": about, "type": "string"});
    let number = |about: &str| json!({"description": about, "type": "integer", "format": "int64"});
    json!({
        "description": "The observed state.",
        "type": "object",
        "properties": {
            "conditions": {
                "description": "Conditions: HostsChosen, ServicesReady, HostsLabelled, Ready.",
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
                    "properties": {
                        "type": text("Of what."),
                        "status": {"description": "True, False or Unknown.", "type": "string", "enum": ["True", "False", "Unknown"]},
                        "reason": text("One word for programs."),
                        "message": text("Sentences for people."),
                        "observedGeneration": number("The generation that was observed."),
                        "lastTransitionTime": {"description": "When the status last changed.", "type": "string", "format": "date-time"},
                    },
                },
            },
            "hosts": {
                "description": "The chosen hosts. They belong to no other SIPCluster.",
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["name", "namespace", "role", "uid"],
                    "properties": {
                        "namespace": text("The host's namespace."),
                        "name": text("Its name."),
                        "uid": text("Its UID."),
                        "role": text("For which role."),
                        "standby": {"description": "Whether it is a standby host.", "type": "boolean"},
                    },
                },
            },
            "wanted": number("Hosts wanted, including standby."),
            "had": number("Hosts that it has, including standby."),
            "standby": number("Standby hosts among them."),
            "endpoints": {
                "description": "Where the tenant cluster is reached.",
                "type": "object",
                "properties": {"controlPlane": {
                    "description": "Its API server: what the Metal3Cluster's controlPlaneEndpoint should be.",
                    "type": "object",
                    "required": ["host", "port"],
                    "properties": {"host": text("A name or an address."), "port": number("The port.")},
                }},
            },
            "oidc": {
                "description": "The issuer for the authentication configuration of the tenant's API server.",
                "type": "object",
                "required": ["ca", "clientID", "issuer"],
                "properties": {
                    "issuer": text("The issuer's URL."),
                    "clientID": text("The audience of its tokens."),
                    "ca": text("The CA of its certificate, in PEM."),
                },
            },
            "hostKeyFingerprints": {"description": "SHA-256 fingerprints of the jump hosts' host keys, as ssh shows them.", "type": "array", "items": {"type": "string"}},
        },
    })
}
