//! What a kubelet, a kube-proxy and an image registry would do: where a provider's Deployment asks for a pod, its manager runs
//! as a process with the rights of the Deployment's service account; at 0 it is stopped. What the Deployment's status says is
//! what that process says of itself.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use capstan_test_support::tally;
use serde_json::{Value, json};

use capstan_test_parts::plane::Plane;
use capstan_test_parts::plane::process::lasting_port;

/// A program that images name, and where it serves its webhooks.
pub(super) struct Program {
    /// The last word of its image: `capi-core`.
    pub(super) name: &'static str,
    pub(super) webhooks: u16,
}

impl Program {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, webhooks: lasting_port() }
    }
}

/// What runs managers.
pub(super) struct Node<'a> {
    pub(super) plane: &'a Plane,
    pub(super) programs: &'a [Program],
    /// Where the programs of a version lie, by tag.
    pub(super) folders: BTreeMap<&'static str, PathBuf>,
}

/// A manager that runs; ends when it is dropped.
struct Manager {
    image: String,
    health: u16,
    child: Child,
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ended = (self.child.kill(), self.child.wait());
    }
}

impl Manager {
    /// Whether it says that it is ready, its webhooks included.
    fn is_ready(&self) -> bool {
        let ask = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.health))?;
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer.starts_with("HTTP/1.1 200"))
        };
        ask().unwrap_or(false)
    }
}

impl Node<'_> {
    /// Works until it is over; nothing runs then.
    pub(super) fn work(&self, over: &AtomicBool) {
        let mut running: BTreeMap<String, Manager> = BTreeMap::new();
        while !over.load(Ordering::Relaxed) {
            let arguments = ["get", "deployments", "-A", "-l", "cluster.x-k8s.io/provider", "-o", "json"];
            // While the API server is away everything stays as it is.
            if let Ok(text) = self.plane.try_kubectl(&arguments, "") {
                let list: Value = serde_json::from_str(&text).unwrap();
                let deployments = list["items"].as_array().unwrap();
                running.retain(|key, _| deployments.iter().any(|one| id(one) == *key));
                for deployment in deployments {
                    self.settle(deployment, &mut running);
                }
            }
            std::thread::sleep(Duration::from_millis(400));
        }
    }

    /// Starts and stops what one Deployment asks for, and says how it is.
    fn settle(&self, deployment: &Value, running: &mut BTreeMap<String, Manager>) {
        let id = id(deployment);
        let replicas = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
        let image = container(deployment)["image"].as_str().unwrap_or_default().to_owned();
        let is_other = |manager: &mut Manager| {
            replicas == 0 || manager.image != image || manager.child.try_wait().ok().flatten().is_some()
        };
        if running.get_mut(&id).is_some_and(is_other) {
            running.remove(&id);
        }
        if replicas > 0
            && !running.contains_key(&id)
            && let Some(manager) = self.start(deployment, &image)
        {
            running.insert(id.clone(), manager);
        }
        let is_ready = running.get(&id).is_some_and(Manager::is_ready);
        let (there, ready) = (i64::from(replicas > 0), i64::from(is_ready));
        let is_available = replicas == 0 || is_ready;
        let said = |field: &str| deployment["status"][field].as_i64().unwrap_or_default();
        let generation = deployment["metadata"]["generation"].as_i64().unwrap();
        if said("observedGeneration") == generation
            && said("replicas") == there
            && said("readyReplicas") == ready
        {
            return;
        }
        let (status, reason) = if is_available {
            ("True", "MinimumReplicasAvailable")
        } else {
            ("False", "MinimumReplicasUnavailable")
        };
        let status = json!({"status": {
            "observedGeneration": generation, "replicas": there, "updatedReplicas": there,
            "readyReplicas": ready, "availableReplicas": ready,
            "conditions": [{"type": "Available", "status": status, "reason": reason,
                "message": "as its process says", "lastTransitionTime": "2026-01-01T00:00:00Z",
                "lastUpdateTime": "2026-01-01T00:00:00Z"}],
        }});
        let text = |field: &str| deployment["metadata"][field].as_str().unwrap();
        let of = ["patch", "deployment", text("name"), "-n", text("namespace"), "--subresource=status"];
        // It may be gone again.
        let _patched =
            self.plane.try_kubectl(&[&of[..], &["--type=merge", "-p", &status.to_string()]].concat(), "");
    }

    /// Starts the program that an image names; `None` where there is no such image, as where none can be pulled.
    fn start(&self, deployment: &Value, image: &str) -> Option<Manager> {
        let (name, tag) = image.rsplit('/').next()?.split_once(':')?;
        let program = self.programs.iter().find(|program| program.name == name)?;
        let file = self.folders.get(tag)?.join(name);
        let namespace = deployment["metadata"]["namespace"].as_str()?;
        let account = deployment["spec"]["template"]["spec"]["serviceAccountName"].as_str()?;
        let kubeconfig = self.plane.kubeconfig_of(namespace, account);
        let health = lasting_port();
        let own = [
            "--leader-elect",
            "--diagnostics-address",
            "--insecure-diagnostics",
            "--webhook-",
            "--health-addr",
            "--metrics",
        ];
        let arguments = container(deployment)["args"].as_array().cloned().unwrap_or_default();
        let arguments = arguments.iter().filter_map(Value::as_str);
        let arguments = arguments.filter(|argument| !own.iter().any(|flag| argument.starts_with(flag)));
        let log = self.plane.state().join("logs").join(format!("{name}-{tag}.log"));
        let log = OpenOptions::new().create(true).append(true).open(log).unwrap();
        let child = tally::command(file)
            .args(arguments)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--webhook-port={}", program.webhooks))
            .arg(format!("--webhook-cert-dir={}", certificates(self.plane).display()))
            .arg(format!("--health-addr=127.0.0.1:{health}"))
            .args(["--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics=true"])
            .envs([
                ("POD_NAMESPACE", namespace),
                ("POD_NAME", name),
                ("POD_UID", name),
                ("POD_IP", "127.0.0.1"),
            ])
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Some(Manager { image: image.to_owned(), health, child })
    }
}

fn id(deployment: &Value) -> String {
    format!("{}/{}", deployment["metadata"]["namespace"], deployment["metadata"]["name"])
}

fn container(deployment: &Value) -> &Value {
    let all = deployment["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    all.iter().find(|one| one["name"] == "manager").unwrap_or(&all[0])
}

/// The folder of the serving certificate for this machine. The API server trusts it by the plane's own authority.
fn certificates(plane: &Plane) -> PathBuf {
    plane.state().join("pki/serving")
}

/// That authority, in PEM.
pub(super) fn authority(plane: &Plane) -> Vec<u8> {
    std::fs::read(plane.state().join("pki/ca.crt")).unwrap()
}

/// The programs of managers of a version, where `tests/operator/managers/build` put them.
pub(super) fn managers(tools: &Path, version: &str) -> Option<PathBuf> {
    let folder = tools.join(format!("managers-{version}"));
    folder.join("complete").is_file().then_some(folder)
}
