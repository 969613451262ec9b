//! Repositories to test on, made with the `git` program, which is also the judge of tree ids.

use std::fs;
use std::path::{Path, PathBuf};

use capstan_test_support::tally;
use tempfile::TempDir;

/// A repository in a folder of its own that goes with it.
pub struct TestRepository {
    folder: TempDir,
}

impl Default for TestRepository {
    fn default() -> Self {
        Self::new()
    }
}

impl TestRepository {
    /// An empty repository on branch `main`.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Self { folder };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    /// Runs git and returns what it prints, without the last newline.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(self.path(), arguments)
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Commits everything and returns the commit's id.
    pub fn commit_all(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }
}

/// Runs git in a folder, without the configuration of the person who runs the tests.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = tally::command("git")
        .current_dir(folder)
        .args([
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.com",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?} in {}: {}",
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned()
}
