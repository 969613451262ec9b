//! A jump host of a SIPCluster: ConfigMap with what sshd reads, Deployment, Service; and the Secret with its
//! host keys, which a key generator makes once ([`host_keys`]), and which is kept.
//!
//! People log in as `jump`, a user of the pod's own `passwd`: sshd runs as that user, without any further
//! right. It has no private key of a host, no kubeconfig and no password of a management controller; private
//! keys only with `shell`.

use core::net::{IpAddr, SocketAddr};

use serde_json::{Value, json};

use super::balancer::{HostAddress, encoded};
use super::objects::{
    Port, USER, container_security, deployment, everywhere, labels, metadata, name, sealed, service,
};
use super::ssh::{PublicKey, SshAccess, SshPaths, authorized_keys, server_configuration};
use crate::cluster::{JumpHost, SipCluster};

/// What its name has before its port.
pub const WORD: &str = "jump";
/// The port of sshd on hosts.
const SSH_PORT: u16 = 22;
/// Where it listens in its pod.
const PORT: u16 = 2222;
const CONFIGURATION: &str = "/etc/capstan/ssh";
const HOST_KEYS: &str = "/etc/capstan/host-keys";
/// The key of the Secret with the private host key.
const HOST_KEY: &str = "ssh_host_ed25519_key";

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoJumpHost {
    /// Nobody could come: which entry, and why.
    #[error("sshAuthorizedKeys[{0}]: {1}")]
    Key(usize, super::ssh::NoKey),
    /// There are no keys.
    #[error("sshAuthorizedKeys is empty: nobody could connect")]
    NoKeys,
    /// There is nowhere to go.
    #[error("none of its hosts has an address yet")]
    NoHosts,
}

/// What comes of a wish.
#[derive(Debug, Clone, PartialEq)]
pub struct JumpHostObjects {
    /// Its objects, besides the Secret with host keys.
    pub objects: Vec<Value>,
    /// The name of that Secret.
    pub host_keys: String,
    /// What people should know.
    pub warning: Option<String>,
}

/// The objects of the `number`th jump host to some hosts. `api` is where the tenant's API server is reached, where that is
/// an address.
///
/// # Errors
/// Nobody could log in, or a line is not a key.
pub fn objects(
    cluster: &SipCluster,
    number: usize,
    wish: &JumpHost,
    hosts: &[HostAddress],
    api: Option<SocketAddr>,
) -> Result<JumpHostObjects, NoJumpHost> {
    let keys = wish.ssh_authorized_keys.iter().enumerate();
    let keys = keys.map(|(at, line)| PublicKey::read(line).map_err(|why| NoJumpHost::Key(at, why)));
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    if keys.is_empty() {
        return Err(NoJumpHost::NoKeys);
    }
    if hosts.is_empty() {
        return Err(NoJumpHost::NoHosts);
    }
    let access = if wish.shell { SshAccess::Shell } else { SshAccess::ForwardOnly };
    let addresses: Vec<IpAddr> = hosts.iter().map(|(_, address)| *address).collect();
    let mut destinations: Vec<SocketAddr> =
        addresses.iter().map(|address| SocketAddr::new(*address, SSH_PORT)).collect();
    destinations.extend(api);
    let place = SshPaths {
        listen: everywhere(PORT, addresses),
        host_keys: vec![format!("{HOST_KEYS}/{HOST_KEY}")],
        authorized_keys: format!("{CONFIGURATION}/authorized_keys"),
    };
    let name = name_of(cluster, number, wish);
    let shell = if wish.shell { "/bin/sh" } else { "/bin/false" };
    let texts = [
        server_configuration(&place, &destinations, access),
        authorized_keys(&keys, &destinations, access),
        format!("jump:x:{USER}:{USER}::/nonexistent:{shell}\n"),
    ];
    let config_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(cluster, &name),
        "data": {"sshd_config": texts[0], "authorized_keys": texts[1], "passwd": texts[2]},
    });
    let of_pods: Vec<&str> = texts.iter().map(String::as_str).collect();
    let host_keys = format!("{name}-host-keys");
    let port = Port { name: "ssh".to_owned(), port: SSH_PORT, target: PORT, node_port: wish.node_port };
    let objects = vec![
        sealed(config_map),
        deployment(cluster, &name, 1, &of_pods, pod(wish, &name, &host_keys)),
        service(cluster, &name, wish.exposure, &[port]),
    ];
    Ok(JumpHostObjects { objects, host_keys, warning: warning(wish) })
}

/// The name of its objects.
pub fn name_of(cluster: &SipCluster, number: usize, wish: &JumpHost) -> String {
    let port = wish.node_port.map_or_else(|| number.to_string(), |port| port.to_string());
    name(cluster, &format!("{WORD}-{port}"))
}

/// The Secret with a host key, from a private key in OpenSSH's format.
pub fn host_keys(cluster: &SipCluster, name: &str, private: &str, public: &PublicKey) -> Value {
    let mut metadata = metadata(cluster, name);
    // A label's value is shorter than a name may be.
    metadata["labels"] = labels(cluster, name.trim_end_matches("-host-keys"));
    metadata["annotations"] = json!({FINGERPRINT: public.fingerprint()});
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "Opaque",
        "data": {HOST_KEY: encoded(private)},
    })
}

/// Says on the Secret what its public half is known by.
pub const FINGERPRINT: &str = "capstan.dev/host-key-fingerprint";

fn warning(wish: &JumpHost) -> Option<String> {
    let keys = &wish.node_ssh_private_keys;
    match (wish.shell, keys.is_empty()) {
        (true, false) => Some(format!(
            "shell: true gives everybody in sshAuthorizedKeys a shell on the jump host, where they can copy the private keys of Secret {keys}. Without it, ssh -J reaches the hosts with people's own keys"
        )),
        (true, true) => Some(
            "shell: true gives everybody in sshAuthorizedKeys a shell on the jump host. Without it, ssh -J still reaches the hosts".to_owned(),
        ),
        (false, _) => None,
    }
}

fn pod(wish: &JumpHost, name: &str, host_keys: &str) -> Value {
    let mut mounts = vec![
        json!({"name": "configuration", "mountPath": CONFIGURATION, "readOnly": true}),
        json!({"name": "configuration", "mountPath": "/etc/passwd", "subPath": "passwd", "readOnly": true}),
        json!({"name": "host-keys", "mountPath": HOST_KEYS, "readOnly": true}),
    ];
    let mut volumes = vec![
        json!({"name": "configuration", "configMap": {"name": name}}),
        // sshd refuses a private key that others may read.
        json!({"name": "host-keys", "secret": {"secretName": host_keys, "defaultMode": 0o440}}),
    ];
    if wish.shell && !wish.node_ssh_private_keys.is_empty() {
        mounts.push(json!({"name": "node-keys", "mountPath": "/etc/capstan/node-keys", "readOnly": true}));
        volumes.push(json!({"name": "node-keys", "secret": {"secretName": wish.node_ssh_private_keys, "defaultMode": 0o440}}));
    }
    let answers = json!({"tcpSocket": {"port": PORT}, "periodSeconds": 10});
    json!({
        "terminationGracePeriodSeconds": 30,
        "containers": [{
            "name": "sshd",
            "image": wish.image,
            "command": ["/usr/sbin/sshd", "-D", "-e", "-f", format!("{CONFIGURATION}/sshd_config")],
            "ports": [{"containerPort": PORT, "protocol": "TCP"}],
            "securityContext": container_security(),
            "readinessProbe": answers,
            "livenessProbe": answers,
            "volumeMounts": mounts,
        }],
        "volumes": volumes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::testing::cluster;
    use crate::cluster::NamespacedName;
    use crate::services::balancer::API_PORT;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

    fn hosts() -> Vec<HostAddress> {
        vec![(NamespacedName::new("gauss", "bm-1"), "10.0.0.1".parse().unwrap())]
    }

    fn wish() -> JumpHost {
        JumpHost {
            image: "sshd:1".to_owned(),
            node_port: Some(30022),
            ssh_authorized_keys: vec![KEY.to_owned()],
            node_ssh_private_keys: "node-keys-of-old".to_owned(),
            ..JumpHost::default()
        }
    }

    #[test]
    fn it_forwards_to_hosts_and_the_api_server_and_holds_no_secret_of_theirs() {
        let cluster = cluster("gauss", json!({}));
        let api = SocketAddr::new("192.0.2.1".parse().unwrap(), API_PORT);
        let made = objects(&cluster, 0, &wish(), &hosts(), Some(api)).unwrap();
        let data = &made.objects[0]["data"];
        assert!(data["sshd_config"].as_str().unwrap().contains("\nPermitOpen 10.0.0.1:22 192.0.2.1:6443\n"));
        assert_eq!(
            data["authorized_keys"],
            format!(
                "restrict,port-forwarding,permitopen=\"10.0.0.1:22\",permitopen=\"192.0.2.1:6443\" {KEY}\n"
            )
        );
        assert_eq!(made.host_keys, "gauss-jump-30022-host-keys");
        assert_eq!(made.warning, None);
        assert!(!format!("{:?}", made.objects).contains("node-keys-of-old"));
    }

    #[test]
    fn private_keys_are_mounted_only_with_a_shell_and_with_a_warning() {
        let made =
            objects(&cluster("gauss", json!({})), 0, &JumpHost { shell: true, ..wish() }, &hosts(), None)
                .unwrap();
        assert!(format!("{:?}", made.objects).contains("node-keys-of-old"));
        assert!(made.warning.unwrap().contains("private keys of Secret node-keys-of-old"));
    }

    #[test]
    fn where_nobody_could_come_or_go_there_is_none() {
        let keys = vec![KEY.to_owned(), format!("command=\"sh\" {KEY}")];
        let wish = JumpHost { ssh_authorized_keys: keys, ..wish() };
        let told = objects(&cluster("gauss", json!({})), 0, &wish, &[], None).unwrap_err().to_string();
        assert!(
            told.starts_with("sshAuthorizedKeys[1]: it does not begin with an accepted kind of key"),
            "{told}"
        );
        let nobody = JumpHost { ssh_authorized_keys: vec![], ..wish };
        assert_eq!(
            objects(&cluster("gauss", json!({})), 0, &nobody, &[], None).unwrap_err(),
            NoJumpHost::NoKeys
        );
        let nowhere = objects(&cluster("gauss", json!({})), 0, &self::wish(), &[], None).unwrap_err();
        assert_eq!(nowhere, NoJumpHost::NoHosts);
    }
}
