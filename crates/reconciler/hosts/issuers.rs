//! What issuers need of Secrets: the CA that signs what they serve, and who vouches for people.
//!
//! *Guarantees*: a private key is read for a signature and not kept; no message contains what a Secret holds. A Secret
//! with a management controller's credentials is not read, even if a SIPCluster names it.
//!
//! *Caveat*: these Secrets are not watched. They are read again with everything else, and soon where something was
//! lacking.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_hosts::cluster::{IssuerSpec, NamespacedName, SipCluster};
use capstan_hosts::pass::is_of_controllers;
use capstan_hosts::services::dex::{Connectors, Host, NoConnectors};
use capstan_hosts::services::issuer::{
    Authority, IssuerNeeds, NoLogin, Serving, certificate, certificate_name, name_of,
};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::certificates::{Signer, serving};
use super::{HostPorts, tenant};
use capstan_ports::{LiveError, ManagementCluster as _};
use capstan_reconciler_core::hosts::HostMemory;

/// Of a SIPCluster, by the names of its issuers' objects. `services` are the live objects of its services.
pub(super) async fn needs(
    ports: &HostPorts,
    memory: &mut HostMemory,
    cluster: &SipCluster,
    services: &[Value],
) -> Result<BTreeMap<String, IssuerNeeds>, LiveError> {
    let mut needs = BTreeMap::new();
    let now = ports.clock.now();
    for (number, wish) in cluster.spec.services.auth.iter().enumerate() {
        let name = name_of(cluster, number, wish);
        let authority = authority(ports, memory, cluster, wish, now).await?;
        let connectors = connectors(ports, memory, cluster, wish).await?;
        let serving = authority.as_ref().ok().and_then(|authority| served(services, &name, authority, now));
        needs.insert(name, IssuerNeeds { authority, connectors, serving });
    }
    Ok(needs)
}

async fn authority(
    ports: &HostPorts,
    memory: &mut HostMemory,
    cluster: &SipCluster,
    wish: &IssuerSpec,
    now: Timestamp,
) -> Result<Result<Authority, String>, LiveError> {
    let secret = match readable(memory, cluster, "caSecret", &wish.ca_secret) {
        Ok(secret) => secret,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(known) = memory.signers.get(&secret) {
        // Its time may have come since.
        return Ok(known.clone().and_then(|known| {
            if known.not_after > now {
                Ok(known)
            } else {
                Err(format!("the CA of Secret {secret} has expired: replace it"))
            }
        }));
    }
    let read = match secret_of(ports, "caSecret", &secret).await? {
        Ok(object) => signer(&object, &secret, now).map(|signer| signer.authority),
        Err(why) => Err(why),
    };
    memory.signers.insert(secret, read.clone());
    Ok(read)
}

async fn connectors(
    ports: &HostPorts,
    memory: &mut HostMemory,
    cluster: &SipCluster,
    wish: &IssuerSpec,
) -> Result<Result<Connectors, NoLogin>, LiveError> {
    if wish.connectors_secret.is_empty() {
        let told = "connectorsSecret names no Secret: nobody could log in";
        return Ok(Err(NoLogin::Nobody(told.to_owned())));
    }
    let secret = match readable(memory, cluster, "connectorsSecret", &wish.connectors_secret) {
        Ok(secret) => secret,
        Err(why) => return Ok(Err(NoLogin::Unknown(why))),
    };
    if let Some(known) = memory.connectors.get(&secret) {
        return Ok(known.clone());
    }
    let read = match secret_of(ports, "connectorsSecret", &secret).await? {
        Ok(object) => {
            let text = text(&object, "connectors");
            Connectors::read(text.expose_secret()).map_err(|why| match why {
                NoConnectors::Empty => NoLogin::Nobody(format!("Secret {secret}: {why}")),
                why => NoLogin::Unknown(format!("Secret {secret}: {why}")),
            })
        }
        Err(why) => Err(NoLogin::Unknown(why)),
    };
    memory.connectors.insert(secret, read.clone());
    Ok(read)
}

/// The name of the Secret that a field of a wish names, or why that is not read: also one that was read before, since a host
/// may have come that has its credentials there.
fn readable(
    memory: &HostMemory,
    cluster: &SipCluster,
    field: &str,
    name: &str,
) -> Result<NamespacedName, String> {
    let namespace = &cluster.metadata.namespace;
    if name.is_empty() {
        return Err(format!("{field} names no Secret"));
    }
    let hosts = memory.hosts.as_deref().unwrap_or_default();
    if is_of_controllers(hosts, namespace, Some(name)) {
        return Err(format!(
            "{field} names the Secret of a management controller, which is not read: name another"
        ));
    }
    Ok(NamespacedName::new(namespace, name))
}

async fn secret_of(
    ports: &HostPorts,
    field: &str,
    secret: &NamespacedName,
) -> Result<Result<Value, String>, LiveError> {
    match ports.live.read(&tenant(&secret.namespace), &super::secret(secret)).await {
        // Whatever a stranger calls a Secret: one that cannot be there is not.
        Err(error) if error.is_forbidden() || matches!(error, LiveError::Malformed { .. }) => {
            Ok(Err(format!("{field}: Secret {secret} cannot be read: {error}")))
        }
        Err(error) => Err(error),
        Ok(None) => Ok(Err(format!("{field}: there is no Secret {secret}"))),
        Ok(Some(found)) => Ok(Ok(found)),
    }
}

/// What a key of a Secret holds; nothing where that is not text.
fn text(secret: &Value, key: &str) -> SecretString {
    let encoded = secret["data"][key].as_str().unwrap_or_default();
    STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default().into()
}

fn signer(object: &Value, secret: &NamespacedName, now: Timestamp) -> Result<Signer, String> {
    let chain = text(object, "tls.crt");
    Signer::read(chain.expose_secret(), &text(object, "tls.key"), now)
        .map_err(|why| format!("caSecret: of Secret {secret}, {why}"))
}

fn served(services: &[Value], name: &str, authority: &Authority, now: Timestamp) -> Option<Serving> {
    let secret = certificate_name(name);
    let live = services
        .iter()
        .find(|live| live["kind"] == "Secret" && live["metadata"]["name"] == secret.as_str())?;
    serving(authority, text(live, "tls.crt").expose_secret(), &text(live, "tls.key"), now)
}

/// The Secret with a fresh certificate for a host, and the CA that signed it: what another Secret holds now. `None` where that
/// has gone.
///
/// # Errors
/// Why there is none, in the words of a condition.
pub(super) async fn make(
    ports: &HostPorts,
    cluster: &SipCluster,
    secret: &str,
    host: &Host,
    authority: &NamespacedName,
) -> Result<Option<Result<(Value, Authority), String>>, LiveError> {
    let found = ports.live.read(&tenant(&authority.namespace), &super::secret(authority)).await?;
    let Some(found) = found else { return Ok(None) };
    let now = ports.clock.now();
    let made = signer(&found, authority, now).and_then(|signer| {
        let (chain, key) = signer.certify(host, now)?;
        Ok((certificate(cluster, secret, &chain, key.expose_secret()), signer.authority))
    });
    Ok(Some(made))
}
