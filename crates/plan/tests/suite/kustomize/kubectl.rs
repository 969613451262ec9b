//! The real thing: kubectl, and the driver that runs its code for many folders at once.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use capstan_yaml::YamlFile;
use serde_json::Value;

/// Where `tests/prepare` puts what it builds.
pub(super) struct Kubectl {
    folder: PathBuf,
}

/// What the real thing makes of a folder.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Printed {
    /// Its objects, in their order.
    Objects(Vec<Value>),
    /// Why there are none.
    Failed(String),
}

impl Kubectl {
    /// `None`, said aloud, where it is not built.
    pub(super) fn find() -> Option<Self> {
        let version = include_str!("../../../../../tests/kubectl/go.mod")
            .lines()
            .find_map(|line| line.trim().strip_prefix("k8s.io/kubectl "))
            .unwrap();
        let tools = std::env::var_os("CAPSTAN_TOOLS").map(PathBuf::from).or_else(|| {
            let home = std::env::var_os("HOME")?;
            Some(Path::new(&home).join(".cache/capstan"))
        })?;
        let folder = tools.join(format!("kubectl-{version}"));
        if folder.join("kubectl").is_file() && folder.join("kustomize-batch").is_file() {
            return Some(Self { folder });
        }
        println!("SKIPPED: no kubectl in {} (tests/prepare builds it where Go is)", folder.display());
        None
    }

    /// What kubectl's code makes of each folder. Where a file is outside its kustomization's folder, the load
    /// restrictor is off, as in Flux.
    pub(super) fn render_all(&self, folders: &[PathBuf]) -> Vec<Printed> {
        let mut driver = Command::new(self.folder.join("kustomize-batch"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = driver.stdin.take().unwrap();
        let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let writer = std::thread::spawn(move || {
            for name in names {
                writeln!(input, "{name}").unwrap();
            }
        });
        let output = BufReader::new(driver.stdout.take().unwrap());
        let printed: Vec<Printed> = output
            .lines()
            .map(|line| {
                let mut outcome: Value = serde_json::from_str(&line.unwrap()).unwrap();
                match outcome["error"].as_str() {
                    Some(error) => Printed::Failed(error.to_owned()),
                    None => Printed::Objects(serde_json::from_value(outcome["objects"].take()).unwrap()),
                }
            })
            .collect();
        writer.join().unwrap();
        assert!(driver.wait().unwrap().success());
        assert_eq!(printed.len(), folders.len());
        printed
    }

    /// What the program itself prints for one folder.
    pub(super) fn render(&self, folder: &Path) -> Printed {
        let run = |restrictor: &str| {
            Command::new(self.folder.join("kubectl"))
                .args(["kustomize", "--load-restrictor", restrictor])
                .arg(folder)
                .output()
                .unwrap()
        };
        let mut output = run("LoadRestrictionsRootOnly");
        if String::from_utf8_lossy(&output.stderr).contains("is not in or below") {
            output = run("LoadRestrictionsNone");
        }
        if !output.status.success() {
            return Printed::Failed(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let file = YamlFile::read_bytes(&output.stdout).unwrap();
        let values = file.documents().iter().map(|document| document.root.value());
        Printed::Objects(values.filter(|value| !value.is_null()).collect())
    }
}
