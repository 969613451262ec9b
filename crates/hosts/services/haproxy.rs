//! A configuration of HAProxy 2.6 and later: connections are handed through, servers are checked.
//!
//! API servers are checked by `GET /readyz` over TLS, against the tenant's CA and the name `kubernetes`, which every API
//! server's certificate of kubeadm's holds. A server counts as down until its first check passed: HAProxy 2.6 has no word
//! for that (3.1 has `init-state`), so a server state file says it.

use core::net::{IpAddr, SocketAddr};
use std::fmt::Write as _;

use capstan_model::dns_name::{is_label, is_subdomain};

use crate::cluster::NamespacedName;

/// How long connections may last after the program got its signal to end, in seconds.
pub const LONGEST_END_SECONDS: u32 = 290;

/// One server behind a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BackendServer {
    name: String,
    address: IpAddr,
    port: u16,
}

impl BackendServer {
    /// A host at an address; `None` where its name cannot be that of a Kubernetes object.
    pub fn new(host: &NamespacedName, address: IpAddr, port: u16) -> Option<Self> {
        let is_name = is_label(&host.namespace) && is_subdomain(&host.name) && port != 0;
        is_name.then(|| Self { name: format!("{}:{}", host.namespace, host.name), address, port })
    }

    const fn at(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

/// What is balanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalancedTarget {
    /// The API servers.
    ControlPlane,
    /// This port of the workers.
    Worker(u16),
}

impl std::fmt::Display for BalancedTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ControlPlane => formatter.write_str("control-plane"),
            Self::Worker(port) => write!(formatter, "worker-{port}"),
        }
    }
}

/// How servers are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerCheck {
    /// By `GET /readyz`, against the CA of [`HaproxyPaths`].
    Readyz,
    /// By connecting.
    Connect,
}

/// What comes in at some addresses, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontend {
    /// What it is for.
    pub target: BalancedTarget,
    /// Where it listens.
    pub listen: Vec<SocketAddr>,
    /// Where it goes.
    pub servers: Vec<BackendServer>,
    /// How those are checked.
    pub check: ServerCheck,
}

/// Where the program finds its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaproxyPaths {
    ca: String,
    state: String,
}

impl HaproxyPaths {
    /// The tenant's CA, and the server state; `None` where a path could mean something else in a configuration.
    pub fn new(ca: &str, state: &str) -> Option<Self> {
        let is_plain = |path: &str| {
            path.starts_with('/')
                && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
        };
        (is_plain(ca) && is_plain(state)).then(|| Self { ca: ca.to_owned(), state: state.to_owned() })
    }
}

/// A whole program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What it balances.
    pub frontends: Vec<Frontend>,
    /// Where it says that it is alive, at `/healthz`.
    pub health: Vec<SocketAddr>,
    pub files: HaproxyPaths,
}

/// The texts of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaproxyTexts {
    /// `haproxy.cfg`.
    pub configuration: String,
    /// The server state: all down, until checked.
    pub state: String,
}

/// The texts of its files. Servers are in the order of their names.
pub fn render(program: &Program) -> HaproxyTexts {
    let mut configuration = format!(
        "# Written by Capstan.\n\
         global\n    log stdout format raw local0 notice\n    hard-stop-after {LONGEST_END_SECONDS}s\n    server-state-file {}\n\n\
         defaults\n    log global\n    mode tcp\n    option redispatch\n    load-server-state-from-file global\n    \
         timeout connect 5s\n    timeout check 3s\n    timeout client 4h\n    timeout server 4h\n    timeout tunnel 4h\n    \
         timeout client-fin 30s\n    timeout server-fin 30s\n\n\
         frontend health\n    mode http\n    timeout client 10s\n    monitor-uri /healthz\n",
        program.files.state
    );
    bind(&mut configuration, &program.health);
    let mut state = String::from(STATE_HEAD);
    for frontend in &program.frontends {
        let Frontend { target, listen, check, .. } = frontend;
        let _ = write!(configuration, "\nfrontend {target}\n    default_backend {target}-hosts\n");
        bind(&mut configuration, listen);
        let _ = write!(configuration, "\nbackend {target}-hosts\n    balance leastconn\n");
        configuration.push_str(&checks(*check, &program.files));
        let mut servers: Vec<&BackendServer> = frontend.servers.iter().collect();
        servers.sort();
        for (number, server) in servers.iter().enumerate() {
            let _ = writeln!(configuration, "    server {} {}", server.name, server.at());
            let BackendServer { name, address, port } = server;
            // Down, and no result of a check yet. Backends and servers are found by their names.
            let _ = writeln!(
                state,
                "0 {target}-hosts {} {name} {address} 0 0 1 1 0 1 0 0 6 0 0 0 - {port} - 0 0 - - 0",
                number + 1
            );
        }
    }
    HaproxyTexts { configuration, state }
}

/// <https://docs.haproxy.org/2.6/management.html>, `show servers state`.
const STATE_HEAD: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight \
    srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state \
    srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port \
    srv_check_addr srv_agent_addr srv_agent_port\n";

fn bind(configuration: &mut String, listen: &[SocketAddr]) {
    for address in listen {
        // Beside a listener of IPv4 at the same port.
        let only = if address.ip() == IpAddr::V6(core::net::Ipv6Addr::UNSPECIFIED) { " v6only" } else { "" };
        let _ = writeln!(configuration, "    bind {address}{only}");
    }
}

fn checks(check: ServerCheck, files: &HaproxyPaths) -> String {
    let often = "inter 2s fall 2 rise 1 on-marked-down shutdown-sessions";
    match check {
        ServerCheck::Connect => format!("    default-server check {often}\n"),
        ServerCheck::Readyz => format!(
            "    option httpchk\n    \
             http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host kubernetes\n    \
             http-check expect status 200\n    \
             default-server check check-ssl verify required ca-file {} check-sni kubernetes verifyhost kubernetes {often}\n",
            files.ca
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_name_does_not_become_a_server() {
        let address: IpAddr = "10.0.0.1".parse().unwrap();
        for (namespace, name, is_server) in [
            ("gauss", "bm-07", true),
            ("gauss", "bm-07.rack.example", true),
            ("gauss", "x\n  server evil 10.0.0.1", false),
            ("gauss", "a b", false),
            ("gauss", "a#", false),
            ("", "a", false),
            ("g/", "a", false),
        ] {
            assert_eq!(
                BackendServer::new(&NamespacedName::new(namespace, name), address, 6443).is_some(),
                is_server,
                "{name}"
            );
        }
        assert_eq!(BackendServer::new(&NamespacedName::new("a", "b"), address, 0), None);
    }

    #[test]
    fn a_path_with_special_characters_is_refused() {
        assert!(HaproxyPaths::new("/etc/capstan/ca.crt", "/etc/capstan/servers.state").is_some());
        for path in ["", "ca.crt", "/a b", "/a\n", "/a\"", "/a$HOME"] {
            assert_eq!(HaproxyPaths::new(path, "/b"), None, "{path:?}");
        }
    }

    #[test]
    fn a_configuration_reads_as_written() {
        let server = |name: &str, address: &str| {
            BackendServer::new(&NamespacedName::new("gauss", name), address.parse().unwrap(), 6443).unwrap()
        };
        let program = Program {
            frontends: vec![Frontend {
                target: BalancedTarget::ControlPlane,
                listen: vec!["0.0.0.0:6443".parse().unwrap(), "[::]:6443".parse().unwrap()],
                servers: vec![server("b", "2001:db8::2"), server("a", "10.0.0.1")],
                check: ServerCheck::Readyz,
            }],
            health: vec!["0.0.0.0:8404".parse().unwrap()],
            files: HaproxyPaths::new("/ca/ca.crt", "/config/servers.state").unwrap(),
        };
        let texts = render(&program);
        assert!(
            texts.configuration.ends_with(
                "frontend control-plane
    default_backend control-plane-hosts
    bind 0.0.0.0:6443
    bind [::]:6443 v6only

backend control-plane-hosts
    balance leastconn
    option httpchk
    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host kubernetes
    http-check expect status 200
    default-server check check-ssl verify required ca-file /ca/ca.crt check-sni kubernetes verifyhost kubernetes inter 2s fall 2 rise 1 on-marked-down shutdown-sessions
    server gauss:a 10.0.0.1:6443
    server gauss:b [2001:db8::2]:6443
"
            ),
            "{}",
            texts.configuration
        );
        assert!(
            texts.state.ends_with(
                "0 control-plane-hosts 2 gauss:b 2001:db8::2 0 0 1 1 0 1 0 0 6 0 0 0 - 6443 - 0 0 - - 0\n"
            ),
            "{}",
            texts.state
        );
    }
}
