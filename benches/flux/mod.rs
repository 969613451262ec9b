//! The peer: Flux's kustomize-controller with one `Kustomization` a cluster, all from one source.
//!
//! The controller is the real one, built by `benches/flux/build`, with the flags of Flux's own manifests (four
//! reconciliations at a time) and no leader election. For each Kustomization it unpacks the whole archive, so it gets
//! a folder in memory for that where there is one. Its source-controller does not run: the bench writes the status
//! of the `GitRepository` as that one would, and serves the archive that it names. A new revision is one request, at
//! which Flux reconciles every Kustomization.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plane::{self, Plane};

/// Where Flux's objects live, and its controller's service account.
pub(crate) const HOME: &str = "flux-system";
pub(crate) const ACCOUNT: &str = "kustomize-controller";
const GIT_REPOSITORY: &str = "gitrepositories.source.toolkit.fluxcd.io";

/// A controller that runs until this is dropped.
pub(crate) struct Flux<'p> {
    plane: &'p Plane,
    child: Mutex<Child>,
    log: PathBuf,
    archives: Archives,
    /// Where it unpacks.
    _scratch: TempDir,
}

impl<'p> Flux<'p> {
    /// Where `benches/flux/build` put the controller; `None` where it has not.
    pub(crate) fn built() -> Option<PathBuf> {
        let mut words = include_str!("go.mod").split_whitespace();
        words.find(|word| *word == "github.com/fluxcd/kustomize-controller")?;
        let version = words.next()?;
        let tools = std::env::var_os("CAPSTAN_TOOLS")
            .map(PathBuf::from)
            .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache/capstan")))?;
        let folder = tools.join(format!("flux-{version}"));
        folder.join("complete").is_file().then_some(folder)
    }

    /// Flux's kinds, its account with the rights that Flux gives it, and a Kustomization for each folder.
    pub(crate) fn prepare(plane: &Plane, built: &Path, folders: impl Iterator<Item = String>) {
        plane.apply(&std::fs::read_to_string(built.join("kinds.yaml")).unwrap());
        plane.apply(&list(["GitRepository", "OCIRepository", "Bucket"].map(source_kind)));
        plane.apply(&list([
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": HOME}}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": "cluster-reconciler-flux-system"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": HOME}]}),
        ]));
        let kinds = ["crd/kustomizations.kustomize.toolkit.fluxcd.io", &format!("crd/{GIT_REPOSITORY}")];
        plane.kubectl(&[&["wait", "--for=condition=Established", "--timeout=60s"], &kinds[..]].concat());
        let all: Vec<Value> = folders
            .enumerate()
            .map(|(number, folder)| {
                json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                    "metadata": {"name": format!("c{number:05}"), "namespace": HOME},
                    "spec": {"interval": "1h", "path": format!("./{folder}"), "prune": true,
                        "sourceRef": {"kind": "GitRepository", "name": "fleet"}}})
            })
            .collect();
        plane.apply(&list(all));
        plane.apply(&list([json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "fleet", "namespace": HOME},
            "spec": {"interval": "1h", "url": "https://git.example.com/fleet.git", "ref": {"branch": "main"}}})]));
    }

    /// Starts the controller; `flags` besides those of Flux's manifests.
    pub(crate) fn start(plane: &'p Plane, built: &Path, folder: &Path, flags: &[&str]) -> Self {
        let log = folder.join("kustomize-controller.log");
        let memory = Path::new("/dev/shm");
        let scratch = TempDir::new_in(if memory.is_dir() { memory } else { folder }).unwrap();
        let out = File::create(&log).unwrap();
        let child = Command::new(built.join("kustomize-controller"))
            .args(["--watch-all-namespaces", "--log-level=info", "--log-encoding=json"])
            .args(["--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0"])
            .args(flags)
            .env("KUBECONFIG", plane.kubeconfig_of(HOME, ACCOUNT))
            .env("RUNTIME_NAMESPACE", HOME)
            .env("TMPDIR", scratch.path())
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        Self { plane, child: Mutex::new(child), log, archives: Archives::serve(), _scratch: scratch }
    }

    /// A new revision of the source, with these files.
    pub(crate) fn commit(&self, revision: &str, files: &[(String, String)]) {
        let archive = archive(files);
        let sum: String =
            digest(&SHA256, &archive).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let (size, url) = (archive.len(), self.archives.put(revision, archive));
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let status = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "fleet", "namespace": HOME},
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored artifact",
                    "lastTransitionTime": now, "observedGeneration": 1}],
                "artifact": {"path": format!("{revision}.tar.gz"), "url": url, "size": size, "lastUpdateTime": now,
                    "revision": name_of(revision), "digest": format!("sha256:{sum}")},
                "observedGeneration": 1}});
        let arguments = [
            "apply",
            "--server-side",
            "--subresource=status",
            "--field-manager=source-controller",
            "-f",
            "-",
        ];
        self.plane.kubectl_with(&arguments, &status.to_string());
    }

    /// How many Kustomizations are applied at a revision.
    pub(crate) fn applied_at(&self, revision: &str) -> usize {
        let all = self.plane.kubectl(&[
            "get",
            "kustomizations.kustomize.toolkit.fluxcd.io",
            "-n",
            HOME,
            "-o",
            "jsonpath={.items[*].status.lastAppliedRevision}",
        ]);
        all.split_whitespace().filter(|found| *found == name_of(revision)).count()
    }

    /// Whether it still runs; else what it said last.
    pub(crate) fn is_well(&self) -> Result<(), String> {
        let ended = self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait().ok().flatten();
        let log = || std::fs::read_to_string(&self.log).unwrap_or_default();
        ended.map_or(Ok(()), |status| {
            Err(format!("it ended by itself: {status}\n{}", plane::tail(&log(), 20)))
        })
    }

    /// The most memory that it had so far, in MiB.
    pub(crate) fn peak_memory(&self) -> f64 {
        let id = self.child.lock().unwrap_or_else(PoisonError::into_inner).id();
        plane::process::peak_memory(id).unwrap_or_default()
    }
}

impl Drop for Flux<'_> {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        child.kill().ok();
        child.wait().ok();
    }
}

fn name_of(revision: &str) -> String {
    format!("main@sha1:{revision:0>40}")
}

fn list(items: impl IntoIterator<Item = Value>) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items.into_iter().collect::<Vec<_>>()}).to_string()
}

/// The definition of a kind of source as far as the controller reads it.
fn source_kind(kind: &str) -> Value {
    let plural = kind.strip_suffix('y').map_or_else(|| format!("{kind}s"), |stem| format!("{stem}ies"));
    let plural = plural.to_lowercase();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.source.toolkit.fluxcd.io")},
        "spec": {"group": "source.toolkit.fluxcd.io", "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

fn archive(files: &[(String, String)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

/// Archives with their paths.
type Kept = Vec<(String, Vec<u8>)>;

/// Archives by path, over HTTP on this machine.
struct Archives {
    address: String,
    kept: Arc<Mutex<Kept>>,
}

impl Archives {
    fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let served = Arc::clone(&kept);
        // Ends with the bench.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                std::thread::spawn(move || answer(&stream, &served));
            }
        });
        Self { address, kept }
    }

    fn put(&self, revision: &str, archive: Vec<u8>) -> String {
        let path = format!("/{revision}.tar.gz");
        let url = format!("{}{path}", self.address);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push((path, archive));
        url
    }
}

/// Answers the requests of one connection.
fn answer(stream: &TcpStream, served: &Mutex<Kept>) {
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(request)) = lines.next() {
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let wanted = request.split(' ').nth(1).unwrap_or_default();
        let served = served.lock().unwrap_or_else(PoisonError::into_inner);
        let found = served.iter().find(|(path, _)| path == wanted).map(|(_, archive)| archive.clone());
        drop(served);
        let (status, body) = found.map_or(("404 Not Found", Vec::new()), |archive| ("200 OK", archive));
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut out = stream;
        if out.write_all(head.as_bytes()).and_then(|()| out.write_all(&body)).is_err() {
            return;
        }
    }
}
