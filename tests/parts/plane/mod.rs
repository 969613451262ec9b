//! A management cluster of plain processes for tests, the bench and the fleet demo: started by
//! `tests/controlplane/up`, stopped with everything it started however the test ends.
//!
//! | file | holds |
//! |---|---|
//! | `reconciler`, `process` | Capstan's kinds and rights on it, and its programs as processes that a test may kill |
//! | `metal` | bare metal there: Metal3's kinds, and hosts |
//! | `kubectl` | kubectl's own commands, asked of a process that stays |
//! | `audit` | the requests to the API server, and who sent them |
//! | `world` | the live objects of some kinds, watched |
//!
//! Where it was never built (`make plane`, which needs Go), [`Plane::start`] says aloud what is skipped.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic is how tests fail, and they say aloud what they skip"
)]

pub mod audit;
mod kubectl;
pub mod metal;
pub mod process;
pub mod reconciler;
pub mod world;

use capstan_test_support::PATIENCE;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use capstan_test_support::tally;
use serde_json::{Value, json};

/// What of a management cluster is started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// etcd, kube-apiserver and kube-controller-manager: 4 s. Any number beside one another.
    Kubernetes,
    /// And Cluster API's kinds, which nobody acts upon: 10 s. Any number beside one another.
    Kinds,
    /// And Cluster API's controllers with the in-memory provider: 10 s. One at a time on a machine: another one
    /// waits.
    Everything,
}

/// A management cluster that runs until this is dropped, or its process ends.
pub struct Plane {
    keeper: Mutex<Keeper>,
    programs: PathBuf,
    state: PathBuf,
}

/// `up --hold`: it stops everything once its standard input ends.
struct Keeper {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Plane {
    /// Starts one; `None`, said aloud, where it was never built.
    pub fn start(parts: Parts) -> Option<Self> {
        Self::start_with(parts, &[])
    }

    /// The same; certificates that it signs are valid for so long at most: `8m15s`.
    pub fn start_signing(parts: Parts, lifetime: &str) -> Option<Self> {
        Self::start_with(parts, &["--signing-duration", lifetime])
    }

    /// The same; the API server takes tokens of issuers that this file names.
    pub fn start_trusting(parts: Parts, authentication: &Path) -> Option<Self> {
        Self::start_with(parts, &["--authentication-config", &authentication.display().to_string()])
    }

    fn start_with(parts: Parts, arguments: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            println!(
                "SKIPPED: no management cluster is built (`make plane` builds one where Go 1.26 is): nothing is tried on a real API server"
            );
            return None;
        };
        tally::count(tally::Cost::ApiServer, 1);
        let mut command = tally::command(script("up"));
        command.arg("--hold").arg("--bin").arg(&programs).args(arguments);
        match parts {
            Parts::Kubernetes => drop(command.arg("--kube-only")),
            Parts::Kinds => drop(command.arg("--crds-only")),
            Parts::Everything => {}
        }
        // In a group of its own: Ctrl-C ends the test, and that ends the keeper in its own time.
        let mut child =
            command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = child.stdin.take();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut admin = String::new();
        answers.read_line(&mut admin).unwrap();
        assert!(admin.ends_with('\n'), "the management cluster did not start: see above");
        let state = Path::new(admin.trim_end()).parent().unwrap().to_owned();
        Some(Self { keeper: Mutex::new(Keeper { child, orders, answers }), programs, state })
    }

    /// The folder with certificates, logs and the audit log.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Where its programs lie.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// A kubeconfig with all rights.
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.state.join("admin.kubeconfig")
    }

    /// A client with all rights.
    pub async fn client(&self) -> kube::Client {
        client(&self.admin_kubeconfig()).await
    }

    /// Runs kubectl with all rights; its output, or what it says.
    pub fn try_kubectl(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let (admin, cache) = (self.admin_kubeconfig(), self.state.join("kubectl-cache"));
        let own = [format!("--kubeconfig={}", admin.display()), format!("--cache-dir={}", cache.display())];
        let arguments = own.into_iter().chain(arguments.iter().map(|argument| (*argument).to_owned()));
        kubectl::run(&self.programs, arguments.collect(), input)
    }

    /// Runs kubectl, which must succeed.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.kubectl_with(arguments, "")
    }

    /// Runs kubectl with something on its standard input; it must succeed. One story restarts the API server
    /// while the others go on: who does not reach it tries again, until it must be up.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.try_kubectl(arguments, input) {
                Ok(output) => return output,
                Err(said) if is_away(&said) && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_secs(1));
                }
                Err(said) => panic!("kubectl {arguments:?}: {said}"),
            }
        }
    }

    /// Applies manifests (YAML or JSON) with all rights, as kubectl does.
    pub fn apply(&self, manifests: &str) {
        self.kubectl_with(&["apply", "--server-side", "--field-manager=admin", "-f", "-"], manifests);
    }

    /// The UID of the namespace `kube-system`: the identity of a management cluster.
    pub fn uid(&self) -> String {
        self.kubectl(&["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"])
    }

    /// A kubeconfig with the rights of a service account and no others.
    pub fn kubeconfig_of(&self, namespace: &str, service_account: &str) -> PathBuf {
        let token = self.kubectl(&["create", "token", "-n", namespace, service_account, "--duration", "24h"]);
        let admin: Value = serde_json::from_slice(&std::fs::read(self.admin_kubeconfig()).unwrap()).unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "main",
            "clusters": admin["clusters"],
            "users": [{"name": service_account, "user": {"token": token.trim()}}],
            "contexts": [{"name": "main", "context": {"cluster": "main", "user": service_account}}],
        });
        let path = self.state.join(format!("{namespace}-{service_account}.kubeconfig"));
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }

    /// Kills a program (`kube-apiserver`, `capi-core`, …) at once.
    pub fn kill(&self, program: &str) {
        self.order("kill", program);
    }

    /// Starts a program that was killed, and waits until it answers.
    pub fn start_again(&self, program: &str) {
        self.order("start", program);
    }

    fn order(&self, order: &str, program: &str) {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(keeper.orders.as_mut().unwrap(), "{order} {program}").unwrap();
        let mut answer = String::new();
        keeper.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim_end(), "done", "{order} {program}");
    }

    /// What the API server was asked so far.
    pub fn audit(&self) -> Vec<audit::Request> {
        audit::read(&self.state.join("audit.log"))
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        let keeper = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(keeper.orders.take());
        keeper.child.wait().ok();
    }
}

/// Whether kubectl says that it did not reach the API server, rather than that this refused something.
fn is_away(said: &str) -> bool {
    [
        "Unable to connect to the server",
        "was refused - did you specify",
        "connection reset by peer",
        "Client.Timeout exceeded",
        ": EOF",
        "context cancellation while reading body",
        // `kubectl wait` for a definition that was made just now.
        ".status.conditions accessor error",
    ]
    .iter()
    .any(|words| said.contains(words))
}

/// A client from a kubeconfig.
pub async fn client(kubeconfig: &Path) -> kube::Client {
    let read = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(read, &Default::default()).await.unwrap();
    config.proxy_url = None;
    kube::Client::try_from(config).unwrap()
}

/// The last lines of a text.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

fn script(name: &str) -> PathBuf {
    crate::root().join("tests/controlplane").join(name)
}

/// Where `tests/controlplane/build` puts things; `None` where it has not, or not to the end.
fn programs() -> Option<PathBuf> {
    let capi = required("sigs.k8s.io/cluster-api", include_str!("../../controlplane/capi/go.mod"))?;
    let kubernetes = required("k8s.io/kubernetes", include_str!("../../controlplane/kube/go.mod"))?;
    let folder = tools()?.join(format!("controlplane-{capi}-{kubernetes}"));
    folder.join("complete").is_file().then_some(folder)
}

/// Where the programs lie that tests build once.
pub fn tools() -> Option<PathBuf> {
    std::env::var_os("CAPSTAN_TOOLS")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache/capstan")))
}

/// The version of a module that a `go.mod` names.
pub fn required(module: &str, manifest: &str) -> Option<String> {
    let mut words = manifest.split_whitespace();
    words.find(|word| *word == module)?;
    words.next().map(str::to_owned)
}
