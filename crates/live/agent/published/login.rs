//! A kubeconfig that says how to log in, and can say nothing else.

use capstan_plan::settings::OidcLogin;
use serde_json::Value;

use crate::owners::Endpoint;

/// How a certificate begins in PEM form.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

/// Whether these are the bytes that Capstan makes of this login, for some name, address and authority of a cluster.
///
/// The kubeconfig is made once more of what it says of the cluster, and compared: so no other user, program, argument,
/// file, proxy or key finds a place in it, whatever a reader of YAML makes of it.
///
/// # Errors
/// They are not: part of a sentence.
pub(super) fn judge(bytes: &[u8], login: &OidcLogin) -> Result<(), String> {
    let config: Value =
        serde_json::from_slice(bytes).map_err(|_| "is not a kubeconfig that Capstan makes")?;
    let text = |place: &str| config.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let name = text("/clusters/0/name").filter(|name| is_name(name)).ok_or("names no cluster")?;
    let server = text("/clusters/0/cluster/server").ok_or("names no server")?;
    let endpoint = Endpoint {
        server,
        authority: text("/clusters/0/cluster/certificate-authority-data"),
        tls_server_name: text("/clusters/0/cluster/tls-server-name"),
        certificate: None,
    };
    if endpoint.with_login(&name, login).as_bytes() != bytes {
        return Err("is not the kubeconfig that Capstan makes of `access.oidc` in Git".to_owned());
    }
    if !is_https(&endpoint.server) {
        return Err("names its server without an https address".to_owned());
    }
    if !endpoint.authority.as_deref().is_none_or(are_certificates) {
        return Err("must have only certificates as `certificate-authority-data`".to_owned());
    }
    if !endpoint.tls_server_name.as_deref().is_none_or(is_server_name) {
        return Err("must have a name as `tls-server-name`".to_owned());
    }
    Ok(())
}

/// A name of an object of Kubernetes: a DNS subdomain.
fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=253).contains(&name.len())
        && name.bytes().all(|byte| is_letter(byte) || byte == b'-' || byte == b'.')
        && name.bytes().next().is_some_and(is_letter)
        && name.bytes().next_back().is_some_and(is_letter)
}

/// An address without user, query and fragment.
fn is_https(address: &str) -> bool {
    let host = address.strip_prefix("https://").unwrap_or_default();
    (1..=500).contains(&host.len())
        && !host.starts_with('/')
        && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'\\<>?#@`".contains(&byte))
}

fn are_certificates(data: &str) -> bool {
    use base64::Engine as _;
    let pem = base64::engine::general_purpose::STANDARD.decode(data).ok();
    let Some(pem) = pem.and_then(|pem| String::from_utf8(pem).ok()) else { return false };
    let mut begins = pem.lines().filter(|line| line.contains("-----BEGIN")).peekable();
    begins.peek().is_some() && begins.all(|line| line.trim_end() == CERTIFICATE)
}

/// A name of DNS, or an address.
fn is_server_name(name: &str) -> bool {
    (1..=253).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte))
}
