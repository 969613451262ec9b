//! OpenSSH: a jump host forwards to the hosts that it is for, and does nothing else.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use capstan_hosts::services::host_key::KeyPairHalves;
use capstan_hosts::services::ssh::{PublicKey, SshAccess, SshPaths, authorized_keys, server_configuration};
use capstan_test_support::{TempDir, tempdir};

use super::{Running, free_port, listens, outcome, program, run};

/// A jump host, a host that it is for, and one that it is not for.
struct Ground {
    sshd: PathBuf,
    folder: TempDir,
    user: String,
    jump: SocketAddr,
    node: SocketAddr,
    other: SocketAddr,
    _running: Vec<Running>,
}

impl Ground {
    fn prepare(access: SshAccess) -> Option<Self> {
        let sshd = program("sshd", "openssh-server")?;
        program("ssh", "openssh-client")?;
        let folder = tempdir().unwrap();
        // Where sshd runs as root it wants this folder, which its service makes otherwise.
        fs::create_dir_all("/run/sshd").ok();
        for key in ["host", "user", "stranger"] {
            run("ssh-keygen", folder.path(), &["-q", "-t", "ed25519", "-N", "", "-f", key]);
        }
        let at = |part| IpAddr::V4(Ipv4Addr::new(127, 0, 0, part));
        let address = |part| SocketAddr::new(at(part), free_port(at(part)));
        let (jump, node, other) = (address(1), address(2), address(3));
        let user = run("id", folder.path(), &["-un"]).trim().to_owned();
        let mut ground = Self { sshd, folder, user, jump, node, other, _running: Vec::new() };
        let key = PublicKey::read(&ground.read("user.pub")).unwrap();
        let place = SshPaths {
            listen: vec![jump],
            host_keys: vec![ground.at("host")],
            authorized_keys: ground.at("jump_keys"),
        };
        ground.write("jump", &server_configuration(&place, &[node], access));
        ground.write("jump_keys", &authorized_keys(&[key], &[node], access));
        run(&ground.sshd, ground.folder.path(), &["-t", "-f", &ground.at("jump")]);
        for (name, address) in [("node", node), ("other", other)] {
            let (host, user) = (ground.at("host"), ground.at("user.pub"));
            ground.write(
                name,
                &format!("ListenAddress {address}\nHostKey {host}\nAuthorizedKeysFile {user}\nPidFile none\nStrictModes no\n"),
            );
        }
        ground.write(
            "client",
            "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  BatchMode yes\n  IdentitiesOnly yes\n  ConnectTimeout 20\n  LogLevel ERROR\n",
        );
        for (name, address) in [("jump", jump), ("node", node), ("other", other)] {
            let log = fs::File::create(ground.folder.path().join(format!("{name}.log"))).unwrap();
            let mut command = Command::new(&ground.sshd);
            command.args(["-D", "-e", "-f", &ground.at(name)]).stdin(Stdio::null()).stderr(log);
            ground._running.push(Running(command.spawn().unwrap()));
            listens(address);
        }
        Some(ground)
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
        fs::set_permissions(self.folder.path().join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// `ssh` with this key.
    fn ssh(&self, key: &str, arguments: &[&str]) -> Output {
        // ssh hands its configuration file on to the ssh that it jumps with.
        let config = self.read("client");
        self.write(&format!("client-{key}"), &format!("{config}  IdentityFile {}\n", self.at(key)));
        let file = self.at(&format!("client-{key}"));
        outcome("ssh", self.folder.path(), &[&["-F", &file], arguments].concat())
    }

    fn url(&self, address: SocketAddr) -> String {
        format!("ssh://{}@{address}", self.user)
    }

    fn jump_to(&self, key: &str, to: SocketAddr) -> Output {
        let jump = format!("{}@{}", self.user, self.jump);
        self.ssh(key, &["-J", &jump, &self.url(to), "echo arrived"])
    }

    fn log(&self) -> String {
        self.read("jump.log")
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn a_jump_host_leads_to_its_hosts_and_nowhere_else() {
    let Some(ground) = Ground::prepare(SshAccess::ForwardOnly) else { return };
    let arrived = ground.jump_to("user", ground.node);
    assert_eq!(said(&arrived), "arrived\n", "{}", ground.log());
    assert!(arrived.status.success());
    // Another address, though somebody listens there.
    let refused = ground.jump_to("user", ground.other);
    assert!(
        !refused.status.success() && said(&refused).contains("stdio forwarding failed"),
        "{}",
        said(&refused)
    );
    // Another key.
    let refused = ground.jump_to("stranger", ground.node);
    assert!(!refused.status.success() && said(&refused).contains("Permission denied"), "{}", said(&refused));
    // A shell, a command, a subsystem.
    for arguments in [&[][..], &["echo arrived"], &["-s", "sftp"], &["-tt", "echo arrived"]] {
        let url = ground.url(ground.jump);
        let mut all = arguments.to_vec();
        let at = all.iter().position(|word| !word.starts_with('-')).unwrap_or(all.len());
        all.insert(at, &url);
        let refused = ground.ssh("user", &all);
        assert!(
            !refused.status.success() && !said(&refused).contains("arrived"),
            "{all:?}: {}",
            said(&refused)
        );
    }
    // A forward back, at a port or a socket.
    let url = ground.url(ground.jump);
    for back in [format!("0:{}", ground.node), format!("{}:{}", ground.at("back"), ground.node)] {
        let refused = ground.ssh("user", &["-N", "-o", "ExitOnForwardFailure=yes", "-R", &back, &url]);
        assert!(
            !refused.status.success() && said(&refused).contains("forwarding failed"),
            "{back}: {}",
            said(&refused)
        );
    }
}

/// A key line with an option never reaches the file; if it did, sshd would run the command.
#[test]
fn a_key_line_with_a_command_is_refused() {
    let Some(ground) = Ground::prepare(SshAccess::ForwardOnly) else { return };
    let line = format!("command=\"echo arrived\" {}", ground.read("stranger.pub"));
    assert!(PublicKey::read(&line).is_err());
    let refused = ground.ssh("stranger", &[&ground.url(ground.jump)]);
    assert!(!refused.status.success() && said(&refused).contains("Permission denied"), "{}", said(&refused));
}

#[test]
fn with_a_shell_people_work_there() {
    let Some(ground) = Ground::prepare(SshAccess::Shell) else { return };
    let arrived = ground.ssh("user", &[&ground.url(ground.jump), "echo arrived"]);
    assert_eq!(said(&arrived), "arrived\n", "{}", ground.log());
}

/// The first test vector of RFC 8032, 7.1: OpenSSH reads what is written, and finds the same public half.
#[test]
fn a_host_key_is_one_for_openssh() {
    let Some(keygen) = program("ssh-keygen", "openssh-client") else { return };
    let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    let pair = KeyPairHalves { seed: &seed, public: &public };
    let folder = tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, pair.private_file()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let read = run(&keygen, folder.path(), &["-y", "-P", "", "-f", "key"]);
    assert_eq!(read.trim(), pair.public_line());
    let said = run(&keygen, folder.path(), &["-l", "-f", "key"]);
    assert!(said.contains(&pair.public_key().unwrap().fingerprint()), "{said}");
}

fn hex(text: &str) -> [u8; 32] {
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}
