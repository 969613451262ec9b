//! A repository of its own, and the built binary run in it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use capstan_test_support::tally;
use serde_json::Value;

use crate::repository::TestRepository;

/// A repository with committed files.
pub struct Sandbox {
    pub repository: TestRepository,
}

/// What the binary said and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Standard output as JSON, after looking at the exit code.
    pub fn json(&self, code: i32) -> Value {
        self.ended(code);
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Looks at the exit code, and that whatever is not well names the page that explains it.
    pub fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "exit code\n-- stdout\n{}\n-- stderr\n{}", self.out, self.err);
        assert_eq!(self.page().is_some(), code != 0, "{self:?}");
        self
    }

    /// It ended with this code and one line on standard error, before the one with the page; nothing on standard output.
    pub fn refused(&self, code: i32, line: &str) {
        self.ended(code);
        assert_eq!((self.out.as_str(), self.err_before_page().trim_end()), ("", line));
    }

    /// The page that explains what is not well: the last line of standard error.
    pub fn page(&self) -> Option<&str> {
        self.err.lines().last()?.strip_prefix("see capstan help ")
    }

    /// Standard error without that line.
    pub fn err_before_page(&self) -> &str {
        self.page().map_or(&self.err, |page| {
            self.err.trim_end().strip_suffix(page).unwrap().strip_suffix("see capstan help ").unwrap()
        })
    }
}

impl Sandbox {
    /// A repository that holds these files, committed.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let sandbox = Self { repository: TestRepository::new() };
        for (path, text) in files {
            sandbox.repository.write(path, text);
        }
        sandbox.repository.commit_all("as it was");
        sandbox
    }

    pub fn write(&self, path: &str, text: &str) {
        self.repository.write(path, text);
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.repository.at(path)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// The tree id of a committed folder.
    pub fn tree_id(&self, folder: &str) -> String {
        self.repository.git(&["rev-parse", &format!("HEAD:{folder}")])
    }

    /// Runs `capstan` at the repository's root.
    pub fn capstan(&self, arguments: &[&str]) -> Said {
        capstan(self.repository.path(), arguments)
    }

    /// Every file on disk but Git's own.
    pub fn files(&self) -> BTreeMap<String, String> {
        fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    if path.file_name().unwrap() != ".git" {
                        walk(root, &path, found);
                    }
                } else {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(self.repository.path(), self.repository.path(), &mut found);
        found
    }

    /// Pipes a diff into `git apply`; whether it was taken.
    pub fn git_apply(&self, diff: &str, options: &[&str]) -> Result<(), String> {
        let mut child = tally::command("git")
            .current_dir(self.repository.path())
            .arg("apply")
            .args(options)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() { Ok(()) } else { Err(text(output.stderr)) }
    }
}

/// Runs `capstan` in a folder.
pub fn capstan(folder: &Path, arguments: &[&str]) -> Said {
    let Output { status, stdout, stderr } = tally::command(crate::program())
        .current_dir(folder)
        .args(arguments)
        .env_remove("GIT_DIR")
        .env("NO_PROXY", "*")
        .output()
        .unwrap();
    Said { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// The same JSON without the messages of findings, whose wording may change.
pub fn without_messages(mut plans: Value) -> Value {
    let findings = plans.as_array_mut().unwrap().iter_mut().flat_map(|plan| plan.get_mut("findings"));
    for finding in findings.flat_map(|findings| findings.as_array_mut().unwrap().iter_mut()) {
        let message = finding.as_object_mut().unwrap().remove("message").unwrap();
        assert!(message.as_str().unwrap().len() > 20, "a message says what was found: {message}");
    }
    plans
}
