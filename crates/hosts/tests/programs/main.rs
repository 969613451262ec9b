//! Real programs on what is generated for them: HAProxy and OpenSSH on the loopback, an API server. Where one is
//! missing, that is said aloud and its tests skip (`tests/prepare` installs them where it may).

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod definition;
mod haproxy;
mod sshd;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

/// A program of the search path, or of where servers lie besides; `None`, said aloud, where it is missing.
fn program(name: &str, package: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(name)).find(|program| program.is_file());
    if found.is_none() {
        println!("SKIPPED: there is no {name} (package {package}): what is generated for it is not tried");
    }
    found
}

/// A port that nobody listens at.
fn free_port(address: IpAddr) -> u16 {
    TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().port()
}

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Waits until somebody listens there.
fn listens(at: SocketAddr) {
    let begun = Instant::now();
    while std::net::TcpStream::connect(at).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody listens at {at}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// What a program says; it must succeed.
fn run(program: impl AsRef<std::ffi::OsStr>, folder: &Path, arguments: &[&str]) -> String {
    let output = outcome(program, folder, arguments);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

fn outcome(program: impl AsRef<std::ffi::OsStr>, folder: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).current_dir(folder).output().unwrap()
}
