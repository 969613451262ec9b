//! The objects inside of a cluster by which owners have rights there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_model::object::ObjectId;
use serde_json::{Value, json};

/// The name of the one binding.
pub const BINDING: &str = "capstan:owners";
/// The user that the API server sees: all owners hold one key.
pub const USER: &str = "capstan:owners";
/// The kind of a request for a certificate, and its API group.
pub const REQUEST_KIND: (&str, &str) = ("certificates.k8s.io/v1", "CertificateSigningRequest");
/// Who signs certificates of clients
/// (<https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers>).
const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
/// No cluster counts this far. Capstan did not write a greater generation, inside of the cluster or in a Secret, and
/// does not continue from it.
pub const FURTHEST: u64 = 1 << 52;
const RBAC: &str = "rbac.authorization.k8s.io";

/// The group of a generation.
pub fn group(generation: u64) -> String {
    format!("{BINDING}:{generation}")
}

/// What the binding says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingWord {
    /// There is none.
    Nobody,
    /// The group of this generation, and no other.
    To(u64),
    /// Something else: Capstan did not write it.
    Others,
}

/// The binding's identity.
pub fn binding_id() -> ObjectId {
    ObjectId {
        group: RBAC.to_owned(),
        kind: "ClusterRoleBinding".to_owned(),
        namespace: None,
        name: BINDING.to_owned(),
    }
}

/// What the live binding says.
pub fn bound(live: Option<&Value>) -> BindingWord {
    let Some(live) = live else { return BindingWord::Nobody };
    let subjects = live.get("subjects").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let generation = |subject: &Value| {
        let name = subject.get("name")?.as_str()?;
        let number: u64 = name.strip_prefix(BINDING)?.strip_prefix(':')?.parse().ok()?;
        let is_group = subject.get("kind")?.as_str()? == "Group";
        (is_group && number > 0 && name == group(number)).then_some(number)
    };
    match subjects {
        [only] => generation(only).map_or(BindingWord::Others, BindingWord::To),
        _ => BindingWord::Others,
    }
}

/// The binding that gives the group of a generation everything.
pub fn binding(generation: u64) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": binding_id().kind,
        "metadata": {"name": BINDING},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group(generation)}],
    })
}

#[derive(Debug, Clone, Copy)]
pub struct CertificateRequest<'r> {
    pub name: &'r str,
    /// The request in PEM form.
    pub pem: &'r str,
    /// How long the certificate is to live; a signer may shorten it.
    pub lifetime_seconds: u32,
}

/// Asks for a certificate of a client.
pub fn request(request: CertificateRequest<'_>) -> Value {
    let (api_version, kind) = REQUEST_KIND;
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": request.name},
        "spec": {
            "request": STANDARD.encode(request.pem),
            "signerName": SIGNER,
            "expirationSeconds": request.lifetime_seconds,
            "usages": ["client auth"],
        },
    })
}

/// The JSON Patch of its part `approval` that approves the request with this UID, and not one that replaced it.
pub fn approval(uid: &str) -> Value {
    json!([
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "add", "path": "/status/conditions", "value": [{
            "type": "Approved",
            "status": "True",
            "reason": "OwnersAllowed",
            "message": "Capstan asked for it itself, for the owners that Git names",
        }]},
    ])
}

/// The state of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requested {
    /// It is not signed yet.
    Open,
    /// The certificate in PEM form, with those of authorities after it where the signer adds some.
    Signed(String),
    /// It will not be signed: reason and message of the signer or approver.
    Refused(String),
}

/// The state of a live request.
pub fn requested(live: &Value) -> Requested {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
    let refused = conditions.into_iter().flatten().find(|condition| {
        let kind = condition.get("type").and_then(Value::as_str);
        matches!(kind, Some("Denied" | "Failed"))
    });
    if let Some(refused) = refused {
        let (reason, message) = (text(refused, "reason"), text(refused, "message"));
        return Requested::Refused(format!("{reason}: {message}"));
    }
    let encoded = live.pointer("/status/certificate").and_then(Value::as_str).unwrap_or_default();
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded.filter(|pem| !pem.is_empty()) {
        Some(pem) => Requested::Signed(pem),
        None => Requested::Open,
    }
}
