//! The audit log: what the API server was asked, in the order of its answers.

use std::path::Path;

use serde_json::Value;

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asked.
    pub user: String,
    /// The user that the request impersonates, if any.
    pub impersonated: Option<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// `machinedeployments`, `clusters/status`.
    pub resource: String,
    /// Namespace; empty where there is none.
    pub namespace: String,
    /// Name; empty for lists, and for creations that leave it to the server.
    pub name: String,
    /// What was answered.
    pub code: u64,
    /// Whether nothing was to come of it.
    pub dry_run: bool,
    /// What was sent, where the audit policy keeps it: writes of others than the controllers, secrets aside.
    pub body: Value,
    /// When it arrived.
    pub at: jiff::Timestamp,
}

impl Request {
    /// Whether it changed something, or could have.
    pub fn is_write(&self) -> bool {
        !self.dry_run && !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// Whether it is a watch, or about leadership or events: it does not count as work.
    pub fn is_housekeeping(&self) -> bool {
        self.verb == "watch" || matches!(self.resource.as_str(), "leases" | "events")
    }

    /// Whether a service account, or somebody in its name, asked.
    pub fn is_by(&self, namespace: &str, service_account: &str) -> bool {
        let name = format!("system:serviceaccount:{namespace}:{service_account}");
        self.user == name || self.impersonated.as_ref() == Some(&name)
    }

    /// `patch machinedeployments acme/web-md`.
    pub fn words(&self) -> String {
        let dry = if self.dry_run { " (dry run)" } else { "" };
        format!("{} {} {}/{}: {}{dry}", self.verb, self.resource, self.namespace, self.name, self.code)
    }
}

/// Reads a log that may still be written: a line that is not whole yet is left.
pub(super) fn read(log: &Path) -> Vec<Request> {
    let text = std::fs::read(log).unwrap_or_default();
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    text[..whole]
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| request(&serde_json::from_slice(line).unwrap()))
        .collect()
}

fn request(event: &Value) -> Request {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut resource = text("/objectRef/resource");
    if let Some(part) = event.pointer("/objectRef/subresource").and_then(Value::as_str) {
        resource = format!("{resource}/{part}");
    }
    Request {
        user: text("/user/username"),
        impersonated: event.pointer("/impersonatedUser/username").and_then(Value::as_str).map(str::to_owned),
        verb: text("/verb"),
        group: text("/objectRef/apiGroup"),
        resource,
        namespace: text("/objectRef/namespace"),
        name: text("/objectRef/name"),
        code: event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default(),
        dry_run: text("/requestURI").contains("dryRun=All"),
        body: event.get("requestObject").cloned().unwrap_or_default(),
        at: text("/requestReceivedTimestamp").parse().unwrap_or_default(),
    }
}
