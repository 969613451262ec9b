//! A real sshd on the loopback, with a host key and one authorized key of its own, for repositories reached by ssh.

use capstan_test_support::PATIENCE;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use capstan_test_support::tally;
use tempfile::TempDir;

use crate::canary;

/// Runs until it is dropped.
pub struct SshServer {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl SshServer {
    /// Starts one; `None`, said aloud, where there is no sshd (`tests/prepare` installs it where it may).
    #[expect(clippy::print_stdout, reason = "what is skipped is said aloud")]
    pub fn start() -> Option<Self> {
        let known = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"];
        let Some(program) = known.iter().find(|path| Path::new(path).is_file()) else {
            println!("SKIPPED: there is no sshd (package openssh-server): no source is read by ssh");
            return None;
        };
        // Where sshd runs as root it wants this folder, which its service makes otherwise.
        fs::create_dir_all("/run/sshd").ok();
        let folder = tempfile::tempdir().unwrap();
        for key in ["host", "other-host", "user", "stranger"] {
            make_key(&folder.path().join(key));
        }
        for key in ["host", "user", "stranger"] {
            canary::plant_key(&fs::read_to_string(folder.path().join(key)).unwrap());
        }
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::copy(at("user.pub"), at("authorized")).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nAcceptEnv GIT_PROTOCOL\n",
            at("host"),
            at("authorized")
        );
        fs::write(at("config"), config).unwrap();
        let log = fs::File::create(at("log")).unwrap();
        let child = tally::command(program)
            .args(["-D", "-e", "-f", &at("config")])
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { child, port, folder };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(server.folder.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "sshd does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    /// The URL of a repository on this machine.
    pub fn url(&self, repository: &Path) -> String {
        let user = tally::command("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap();
        format!("ssh://{}@127.0.0.1:{}{}", user.trim(), self.port, repository.display())
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The key that opens it.
    pub fn key(&self) -> String {
        self.read("user")
    }

    /// A key that does not.
    pub fn strangers_key(&self) -> String {
        self.read("stranger")
    }

    /// The line of `known_hosts` that it is known by.
    pub fn known_hosts(&self) -> String {
        self.line_of("host.pub")
    }

    /// The line of another server at this address.
    pub fn other_hosts(&self) -> String {
        self.line_of("other-host.pub")
    }

    fn line_of(&self, key: &str) -> String {
        format!("[127.0.0.1]:{} {}", self.port, self.read(key))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn make_key(path: &PathBuf) {
    let made = tally::command("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .status()
        .unwrap();
    assert!(made.success(), "ssh-keygen");
}
