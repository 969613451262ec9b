//! The OpenStack resource controller itself makes what machines wait for, and gives up a create that the network killed.
//!
//! A relay between it and Glance kills the connection of the first create.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use capstan_test_support::tally;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::keeper::Cloud;
use capstan_test_parts::plane::process::lasting_port;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};
use capstan_test_parts::repository::TestRepository;

/// As long as the slowest machine may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// Of the OpenStack provider, whose controllers are not there.
const TEMPLATES: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: openstackmachinetemplates.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: OpenStackMachineTemplate, listKind: OpenStackMachineTemplateList, plural: openstackmachinetemplates, singular: openstackmachinetemplate}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
";

/// SHA-512 of 4096 bytes of zero: what the host of images has.
const DIGEST: &str = "2d23913d3759ef01704a86b4bee3ac8a29002313ecc98a7424425a78170f219577822fd77e4ae96313547696ad7d5949b58e12d5063ef2ee063b595740a3a12d";

fn folder(images: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: orc, namespace: gauss}}
spec: {{paused: true}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {{name: orc, namespace: gauss}}
spec:
  clusterName: orc
  replicas: 1
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec:
      clusterName: orc
      version: v1.36.3
      bootstrap: {{dataSecretName: none}}
      infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: orc}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {{name: orc, namespace: gauss}}
spec:
  template:
    spec:
      flavor: SCS-2V-4-20
      image: {{imageRef: {{name: own}}}}
      serverGroup: {{filter: {{name: orc-workers}}}}
      securityGroups: [{{filter: {{name: orc-cilium}}}}]
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Image
metadata: {{name: own, namespace: gauss}}
spec:
  cloudCredentialsRef: {{cloudName: openstack, secretName: orc-cloud-config}}
  managementPolicy: managed
  resource:
    name: orc-own
    content:
      diskFormat: raw
      download: {{url: \"{images}\", hash: {{algorithm: sha512, value: {DIGEST}}}}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: ServerGroup
metadata: {{name: workers, namespace: gauss}}
spec:
  cloudCredentialsRef: {{cloudName: openstack, secretName: orc-cloud-config}}
  managementPolicy: managed
  resource: {{name: orc-workers, policy: soft-anti-affinity}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: SecurityGroup
metadata: {{name: orc-cilium, namespace: gauss}}
spec:
  cloudCredentialsRef: {{cloudName: openstack, secretName: orc-cloud-config}}
  managementPolicy: managed
  resource: {{description: nodes of one cluster}}
"
    )
}

/// Where ORC was built; `None`, said aloud, where it never was.
fn built() -> Option<PathBuf> {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/orc/build");
    let found = tally::command(build).arg("--where").output().unwrap();
    let at = String::from_utf8(found.stdout).unwrap();
    if at.trim().is_empty() {
        println!(
            "SKIPPED: no OpenStack resource controller is built (`make orc` builds it where Go is): no object of a cloud is made by it"
        );
        return None;
    }
    Some(PathBuf::from(at.trim()))
}

/// The controller, until this is dropped.
struct Orc {
    child: Child,
    log: PathBuf,
}

impl Orc {
    fn start(at: &Path, plane: &Plane, folder: &Path) -> Self {
        let log = folder.join("orc.log");
        let output = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let child = tally::command(at.join("manager"))
            .arg("-kubeconfig")
            .arg(plane.admin_kubeconfig())
            .args(["-health-probe-bind-address", &format!("127.0.0.1:{}", lasting_port())])
            .args(["-namespace", "gauss"])
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
}

impl Drop for Orc {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Hands every connection on to that address, but kills as many creates of images as there are left to kill.
async fn relay(to: String, kills: Arc<AtomicU32>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (to, kills) = (to.clone(), Arc::clone(&kills));
            tokio::spawn(async move {
                let mut begins = [0; 64];
                let read = stream.peek(&mut begins).await.unwrap_or(0);
                let creates = begins[..read].starts_with(b"POST /v2/images ");
                let killed = |left: u32| left.checked_sub(1);
                if creates && kills.fetch_update(Ordering::Relaxed, Ordering::Relaxed, killed).is_ok() {
                    // Closed with what nobody read: a reset.
                    return;
                }
                let Ok(mut upstream) = TcpStream::connect(to).await else { return };
                copy_bidirectional(&mut stream, &mut upstream).await.ok();
            });
        }
    });
    address
}

/// Gives everybody 4096 bytes of zero.
async fn images() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/own.raw", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _read = stream.read(&mut request).await;
                let head = b"HTTP/1.1 200 OK\r\ncontent-length: 4096\r\nconnection: close\r\n\r\n";
                let _written = stream.write_all(&[&head[..], &[0; 4096]].concat()).await;
                let _closed = stream.shutdown().await;
            });
        }
    });
    url
}

/// A cluster whose machines wait for an image, a server group and a security group.
pub(super) async fn machines_wait_for_what_orc_makes(cloud: &mut Cloud) {
    let Some(orc) = built() else { return };
    let Some(plane) = Plane::start(Parts::Kinds) else { return };
    // ORC reaches Glance through the relay, by the catalog.
    let glance = cloud.text("/endpoints/glance");
    let kills = Arc::new(AtomicU32::new(1));
    let relayed = relay(glance.replace("http://", ""), Arc::clone(&kills)).await;
    cloud.order(&format!("sql keystone UPDATE endpoint SET url = 'http://{relayed}' WHERE url = '{glance}'"));

    reconciler::install(&plane);
    reconciler::prepare_namespace(&plane, "gauss");
    plane.apply(TEMPLATES);
    let definitions = orc.join("definitions").display().to_string();
    plane.kubectl(&["apply", "--server-side", "-f", &definitions]);
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "--all", "crd"]);
    let clouds = cloud.clouds_yaml("gauss", "gauss-pa55word");
    let secret = serde_json::json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "orc-cloud-config", "namespace": "gauss"}, "stringData": {"clouds.yaml": clouds}});
    plane.apply(&secret.to_string());

    let (repository, state) = (TestRepository::new(), tempfile::tempdir().unwrap());
    let settings =
        format!("managementClusters:\n- {{name: here, uid: {}, clusters: ['gauss/*']}}\n", plane.uid());
    repository.write(".capstan.yaml", &settings);
    repository.write("gauss/orc/base/all.yaml", &folder(&images().await));
    repository.commit_all("A cluster with an image of its own");
    plane.apply(&format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet, namespace: {HOME}}}\nspec:\n  managementCluster: here\n  intervalSeconds: 30\n  source: {{git: {{url: \"file://{}\", branch: main}}}}\n",
        repository.path().display()
    ));
    let reconciler = reconciler::process(&plane, state.path());
    reconciler.start();
    let orc = Orc::start(&orc, &plane, state.path());
    let value = |kind: &str, name: &str, namespace: &str, path: &str| {
        let path = format!("jsonpath={{{path}}}");
        plane.try_kubectl(&["get", kind, name, "-n", namespace, "-o", &path], "").unwrap_or_default()
    };
    let wait = async |what: &str, done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            reconciler.is_well().unwrap();
            let logs = || format!("{}\n{}", tail(&reconciler.log(), 30), tail(&orc.log(), 30));
            assert!(begun.elapsed() < PATIENCE, "{what} does not happen:\n{}", logs());
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    // Both happen soon; whether they are seen before it is over is chance, so the log tells.
    wait("the create that the network killed is made anew", &|| {
        reconciler.log().contains("recreated: its creation failed")
    })
    .await;
    assert_eq!(kills.load(Ordering::Relaxed), 0, "the relay killed the first create");
    wait("the machines are made", &|| {
        !value("machinedeployment", "orc", "gauss", ".metadata.uid").is_empty()
    })
    .await;
    for (kind, name) in [("image", "own"), ("servergroup", "workers"), ("securitygroup", "orc-cilium")] {
        let kind = format!("{kind}s.openstack.k-orc.cloud");
        let available = ".status.conditions[?(@.type==\"Available\")].status";
        assert_eq!(value(&kind, name, "gauss", available), "True", "{kind}");
        assert_ne!(value(&kind, name, "gauss", ".status.id"), "", "{kind}");
    }
    let withheld = || value("managedcluster", "gauss-orc", HOME, ".status.withheld");
    wait("nothing waits", &|| withheld().is_empty()).await;
    let counts = || value("managedcluster", "gauss-orc", HOME, ".status.inventory.objects[*].madeAnew");
    wait("what is there has its tries again", &|| counts().is_empty()).await;
    assert!(!reconciler.log().contains("pa55word"), "no credential is logged");
    drop(orc);
    cloud.order(&format!("sql keystone UPDATE endpoint SET url = '{glance}' WHERE url = 'http://{relayed}'"));
}
