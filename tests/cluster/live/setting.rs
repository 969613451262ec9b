//! The surroundings of the loop: the forge with its people, the programs with their settings, and what an admin of the
//! management cluster prepares.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use capstan_forge::{Forge, Options, Permission, Recording, Selection};
use capstan_test_support::tally;

use super::sample::{CUSTOMER, Sample};
use super::town::REPOSITORY;
use super::waiting::{Look, holds};
use capstan_test_parts::plane::Plane;
use capstan_test_parts::plane::process::{Process, lasting_port};
use capstan_test_parts::plane::reconciler::{self, HOME};

/// The name of the management cluster.
const HERE: &str = "here";

/// A forge with the repository, where ada may write.
pub(super) fn forge() -> Forge {
    let options = Options { recording: Recording::Full, ..Options::default() };
    let forge = Forge::start(options).unwrap();
    forge.create_organization("acme").unwrap();
    forge.create_user("ada").unwrap();
    forge.create_repository(REPOSITORY).unwrap();
    forge.grant(REPOSITORY, "ada", Permission::Write).unwrap();
    forge.install("acme", Selection::All).unwrap();
    forge
}

/// The repository's settings: one management cluster, asked before every merge; an inventory, once there is one.
pub(super) fn settings(uid: &str) -> String {
    format!(
        "managementClusters:\n- name: {HERE}\n  uid: {uid}\n  clusters: [\"{CUSTOMER}/*\"]\n\
         clusters:\n  paths: [\"{CUSTOMER}/*\"]\n\
         inventory: {{path: inventory}}\n\
         upgrade:\n  proposals: {{open: 1000, perHour: 10000}}\n\
         preflight: {{mode: required, timeout_seconds: 60}}\n"
    )
}

/// `capstan serve` and where it listens.
pub(crate) struct Bot {
    pub(crate) process: Process,
    pub(crate) url: String,
    database: String,
}

impl Bot {
    pub(super) fn new(forge: &Forge, folder: &Path) -> Self {
        let app = forge.app();
        std::fs::write(folder.join("key.pem"), app.private_key).unwrap();
        std::fs::write(folder.join("secret"), app.webhook_secret).unwrap();
        let listen = format!("127.0.0.1:{}", lasting_port());
        let url = format!("http://{listen}");
        forge.deliver_to(&format!("{url}/github/webhook"));
        let file = |name: &str| folder.join(name).display().to_string();
        let database = format!("sqlite://{}", file("bot.sqlite"));
        let arguments = [
            ("--listen", listen),
            ("--internal-listen", "127.0.0.1:0".to_owned()),
            ("--public-url", url.clone()),
            ("--github-api-url", forge.url().to_owned()),
            ("--github-app-id", app.id.to_string()),
            ("--github-private-key-file", file("key.pem")),
            ("--github-webhook-secret-file", file("secret")),
            ("--state-dir", file("bot")),
        ];
        let arguments = arguments.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
        let arguments = [vec!["serve".to_owned()], arguments.collect()].concat();
        let environment = vec![("CAPSTAN_DATABASE_URL".to_owned(), database.clone())];
        let process = Process::new(arguments, environment, &folder.join("serve.log"));
        Self { process, url, database }
    }

    /// Whether it answers: its database is ready then.
    pub(crate) fn answers(&self) -> Look<()> {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let request = format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
        holds(answer.starts_with("HTTP/1.1 200"), || answer.lines().next().unwrap_or_default().to_owned())
    }

    /// A join code for the reconciler of a management cluster, as an admin of the bot asks for one.
    pub(super) fn invite(&self, uid: &str) -> String {
        let output = tally::command(env!("CARGO_BIN_EXE_capstan"))
            .args(["agents", "invite", "--management-cluster", uid])
            .env("CAPSTAN_DATABASE_URL", &self.database)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

/// What an admin prepares for a customer's cluster.
pub(super) fn prepare_namespace(plane: &Plane, cluster: &Sample) {
    let namespace = cluster.namespace();
    if cluster.topology {
        plane.apply(&class(&namespace));
    }
    reconciler::prepare_namespace(plane, &namespace);
}

/// The Fleet that reads from the bot, and the Secret with the join code.
pub(super) fn fleet(bot_url: &str, join_code: &str) -> String {
    format!(
        "apiVersion: v1
kind: Secret
metadata: {{name: bot, namespace: {HOME}}}
stringData: {{joinCode: \"{join_code}\"}}
---
apiVersion: capstan.dev/v1alpha1
kind: Fleet
metadata: {{name: fleet, namespace: {HOME}}}
spec:
  managementCluster: {HERE}
  source:
    bot: {{url: \"{bot_url}\", repository: {REPOSITORY}, secretName: bot}}
  intervalSeconds: 30
  stuckAfterSeconds: 30
  guards: {{maxDeletions: 20}}
"
    )
}

/// A namespace with the class of the topologies there.
pub(super) fn class(namespace: &str) -> String {
    CLASS.replace("NAMESPACE", namespace)
}

/// Another template for the workers of that class, and the edit that makes the class name it.
pub(super) fn slower_workers_of_class(namespace: &str) -> (String, &'static str) {
    (
        SLOWER.replace("NAMESPACE", namespace),
        r#"[{"op": "replace", "path": "/spec/workers/machineDeployments/0/infrastructure/templateRef/name", "value": "slower"}]"#,
    )
}

const SLOWER: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: slower, namespace: NAMESPACE}
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: 1500ms, startupJitter: \"0.2\"}}
          node: {provisioning: {startupDuration: 500ms}}
";

const CLASS: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: in-memory, namespace: NAMESPACE}
spec:
  template:
    spec:
      backend: {inMemory: {}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: in-memory, namespace: NAMESPACE}
spec:
  template:
    spec:
      kubeadmConfigSpec:
        clusterConfiguration:
          apiServer: {certSANs: [localhost, 127.0.0.1]}
        initConfiguration:
          nodeRegistration: {criSocket: unix:///var/run/containerd/containerd.sock}
        joinConfiguration:
          nodeRegistration: {criSocket: unix:///var/run/containerd/containerd.sock}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: in-memory, namespace: NAMESPACE}
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: 1s, startupJitter: \"0.2\"}}
          node: {provisioning: {startupDuration: 500ms}}
          apiServer: {provisioning: {startupDuration: 500ms}}
          etcd: {provisioning: {startupDuration: 500ms}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: in-memory, namespace: NAMESPACE}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration: {criSocket: unix:///var/run/containerd/containerd.sock}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: in-memory, namespace: NAMESPACE}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: in-memory}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: in-memory}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: in-memory}
  workers:
    machineDeployments:
    - class: default-worker
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: in-memory}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: in-memory}
";
