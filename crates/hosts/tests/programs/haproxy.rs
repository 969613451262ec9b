//! HAProxy: every configuration is taken, and traffic goes where it may.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use capstan_hosts::cluster::NamespacedName;
use capstan_hosts::services::haproxy::{
    BackendServer, BalancedTarget, Frontend, HaproxyPaths, Program, ServerCheck, render,
};
use capstan_test_support::random::{Random, seed};
use capstan_test_support::{TempDir, tempdir};

use super::{Running, free_port, listens, program, run};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// A folder with certificates: of a CA, of a server that it signed, and of a stranger.
struct Ground {
    haproxy: PathBuf,
    folder: TempDir,
}

impl Ground {
    fn prepare() -> Option<Self> {
        let haproxy = program("haproxy", "haproxy")?;
        program("openssl", "openssl")?;
        program("python3", "python3")?;
        let folder = tempdir().unwrap();
        let make = |name: &str, subject: &str, more: &[&str]| {
            let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
            let mut arguments =
                vec!["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
            arguments.extend(["-days", "2", "-subj", subject, "-keyout", &key, "-out", &certificate]);
            arguments.extend(more);
            run("openssl", folder.path(), &arguments);
            let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
            fs::write(folder.path().join(format!("{name}.pem")), read(&key) + &read(&certificate)).unwrap();
        };
        let named = ["-addext", "subjectAltName=DNS:kubernetes"];
        let signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"];
        make("ca", "/CN=tenant", &[]);
        make("server", "/CN=apiserver", &[signed.as_slice(), named.as_slice()].concat());
        make("stranger", "/CN=apiserver", &named);
        // Signed by the tenant's CA, for another name.
        make("other", "/CN=etcd", &[signed.as_slice(), &["-addext", "subjectAltName=DNS:etcd"]].concat());
        Some(Self { haproxy, folder })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn files(&self) -> HaproxyPaths {
        HaproxyPaths::new(self.at("ca.crt").to_str().unwrap(), self.at("servers.state").to_str().unwrap())
            .unwrap()
    }

    fn write(&self, program: &Program) {
        let texts = render(program);
        fs::write(self.at("haproxy.cfg"), texts.configuration).unwrap();
        fs::write(self.at("servers.state"), texts.state).unwrap();
    }

    /// HAProxy on a program. It runs before it is asked.
    fn balance(&self, program: &Program) -> Running {
        self.write(program);
        let log = fs::File::create(self.at("haproxy.log")).unwrap();
        let mut command = Command::new(&self.haproxy);
        command.args(["-db", "-f", "haproxy.cfg"]).current_dir(self.folder.path());
        let running = Running(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        program.health.iter().for_each(|at| listens(*at));
        running
    }

    /// An API server.
    fn serve(&self, name: &str, certificate: &str, at: IpAddr) -> (Running, u16) {
        let port = free_port(at);
        fs::write(self.at(&format!("{name}.ready")), "").unwrap();
        let child = Command::new("python3")
            .arg(script())
            .args(["serve", name, certificate, &at.to_string(), &port.to_string()])
            .current_dir(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let running = Running(child);
        listens(SocketAddr::new(at, port));
        (running, port)
    }

    /// Who answers.
    fn ask(&self, at: SocketAddr) -> String {
        let script = script();
        let (address, port) = (at.ip().to_string(), at.port().to_string());
        run("python3", self.folder.path(), &[script.to_str().unwrap(), "ask", &address, &port])
            .trim()
            .to_owned()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.at("haproxy.log")).unwrap_or_default()
    }

    /// How often somebody reached a server otherwise than to check it.
    fn hits(&self, name: &str) -> usize {
        fs::read_to_string(self.at(&format!("{name}.hits"))).unwrap_or_default().lines().count()
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/servers.py")
}

fn server(name: &str, address: IpAddr, port: u16) -> BackendServer {
    BackendServer::new(&NamespacedName::new("gauss", name), address, port).unwrap()
}

#[test]
fn every_configuration_is_taken() {
    let Some(ground) = Ground::prepare() else { return };
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    for number in 0..60 {
        let is_control_plane = random.percent(50);
        let ports = if is_control_plane { 1 } else { 1 + random.below(30) };
        let frontends = (0..ports).map(|port| {
            let port = 20_000 + u16::try_from(port).unwrap();
            let servers = (0..random.below(9)).map(|host| {
                let part = u8::try_from(host + 1).unwrap();
                let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, part.into()).into();
                let address = if random.percent(30) { v6 } else { Ipv4Addr::new(10, 0, 0, part).into() };
                server(&format!("{}-{host}", ["bm", "bm.rack.example", "0"][random.below(3)]), address, 6443)
            });
            let servers = servers.collect();
            let mut listen: Vec<SocketAddr> = vec![SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port)];
            if random.percent(50) {
                listen.push(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port));
            }
            let target =
                if is_control_plane { BalancedTarget::ControlPlane } else { BalancedTarget::Worker(port) };
            let check = if is_control_plane && random.percent(50) {
                ServerCheck::Readyz
            } else {
                ServerCheck::Connect
            };
            Frontend { target, listen, servers, check }
        });
        let frontends = frontends.collect();
        let health = vec![SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 8404)];
        ground.write(&Program { frontends, health, files: ground.files() });
        let said = run(&ground.haproxy, ground.folder.path(), &["-c", "-f", "haproxy.cfg"]);
        assert!(said.contains("Configuration file is valid"), "seed {seed}, {number}: {said}");
    }
}

#[test]
fn traffic_goes_to_api_servers_of_the_tenant_that_are_ready() {
    let Some(ground) = Ground::prepare() else { return };
    let (_a, a) = ground.serve("a", "server.pem", V4);
    let (_b, b) = ground.serve("b", "server.pem", V4);
    let (_stranger, stranger) = ground.serve("stranger", "stranger.pem", V4);
    let (_other, other) = ground.serve("other", "other.pem", V4);
    let at = SocketAddr::new(V4, free_port(V4));
    // The strangers come first, where a load balancer that does not wait for checks would send the first ones.
    let servers = vec![
        server("0-stranger", V4, stranger),
        server("1-other", V4, other),
        server("a", V4, a),
        server("b", V4, b),
    ];
    let program = Program {
        frontends: vec![Frontend {
            target: BalancedTarget::ControlPlane,
            listen: vec![at],
            servers,
            check: ServerCheck::Readyz,
        }],
        health: vec![SocketAddr::new(V4, free_port(V4))],
        files: ground.files(),
    };
    let _haproxy = ground.balance(&program);
    let begun = Instant::now();
    while ground.hits("a") < 5 || ground.hits("b") < 5 {
        assert!(["a", "b", "-"].contains(&ground.ask(at).as_str()), "{}", ground.log());
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", ground.log());
    }
    // One that is not ready gets nothing 10 s later.
    fs::remove_file(ground.at("b.ready")).unwrap();
    std::thread::sleep(Duration::from_secs(10));
    let before = ground.hits("b");
    for _ in 0..20 {
        assert_eq!(ground.ask(at), "a", "{}", ground.log());
    }
    assert_eq!(ground.hits("b"), before);
    // It comes back.
    fs::write(ground.at("b.ready"), "").unwrap();
    let begun = Instant::now();
    while ground.hits("b") == before {
        ground.ask(at);
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", ground.log());
    }
    // Both strangers were checked again and again, and got no request.
    assert!(
        ground.at("stranger.refused").exists() && ground.at("other.refused").exists(),
        "{}",
        ground.log()
    );
    assert_eq!((ground.hits("stranger"), ground.hits("other")), (0, 0), "{}", ground.log());
}

#[test]
fn ipv6_works_beside_ipv4() {
    let Some(ground) = Ground::prepare() else { return };
    if TcpListener::bind((V6, 0)).is_err() {
        println!("SKIPPED: this machine has no IPv6");
        return;
    }
    let (_a, a) = ground.serve("a", "server.pem", V6);
    let listen = [SocketAddr::new(V4, free_port(V4)), SocketAddr::new(V6, free_port(V6))];
    let frontend = |target, check| Frontend {
        target,
        listen: listen.to_vec(),
        servers: vec![server("a", V6, a)],
        check,
    };
    for (target, check) in [
        (BalancedTarget::ControlPlane, ServerCheck::Readyz),
        (BalancedTarget::Worker(30011), ServerCheck::Connect),
    ] {
        let program = Program {
            frontends: vec![frontend(target, check)],
            health: vec![SocketAddr::new(V4, free_port(V4))],
            files: ground.files(),
        };
        let _haproxy = ground.balance(&program);
        for at in listen {
            let begun = Instant::now();
            while ground.ask(at) != "a" {
                assert!(begun.elapsed() < Duration::from_secs(60), "{at}: {}", ground.log());
            }
        }
    }
}
