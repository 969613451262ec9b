//! A bare mirror with commits, as it is where GitHub was fetched.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use capstan_ports::{Repository, RepositoryName};

/// The mirror of [`repository`] in a folder of state, without a commit.
pub(crate) fn create(state: &Path) -> PathBuf {
    let mirror = state.join("mirrors/1.git");
    std::fs::create_dir_all(&mirror).unwrap();
    git(&mirror, &["init", "-q", "--bare", "."], "");
    mirror
}

pub(crate) fn repository() -> Repository {
    Repository {
        id: 1,
        installation: 1,
        name: RepositoryName::parse("acme/fleet").unwrap(),
        default_branch: "main".to_owned(),
        archived: false,
        fork: false,
        node_id: String::new(),
        clone_url: "http://127.0.0.1:1/acme/fleet.git".to_owned(),
        html_url: String::new(),
    }
}

/// A commit made by `git fast-import`, kept as the mirror keeps what it fetched.
pub(crate) fn commit(mirror: &Path, parent: Option<&String>, files: &[(String, String)]) -> String {
    let mut stream = String::from("commit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 0\n");
    if let Some(parent) = parent {
        let _ = writeln!(stream, "from {parent}");
    }
    for (path, text) in files {
        let _ = write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
    }
    git(mirror, &["fast-import", "--quiet", "--force"], &stream);
    let id = git(mirror, &["rev-parse", "refs/heads/main"], "");
    git(mirror, &["update-ref", &format!("refs/capstan/{id}"), &id], "");
    id
}

fn git(folder: &Path, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
