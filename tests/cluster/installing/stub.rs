//! What a kubelet, a kube-proxy and managers would do: Deployments become available, webhooks answer while they are.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_test_support::tally;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use capstan_test_parts::plane::{self, Plane};

/// Runs until it is dropped.
pub(crate) struct Stub {
    /// Where webhooks are served.
    pub(crate) url: String,
    /// What their callers trust, in base64.
    pub(crate) ca: String,
    /// How often a webhook was called.
    pub(crate) calls: Arc<AtomicUsize>,
    /// For which resources those of which sort were called: `mutate clusters`.
    pub(crate) asked: Arc<Mutex<BTreeSet<String>>>,
    _certificates: tempfile::TempDir,
    runtime: Option<Runtime>,
}

impl Drop for Stub {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Stub {
    pub(crate) fn start(plane: &Plane) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let certificates = certificates();
        let calls = Arc::new(AtomicUsize::new(0));
        let asked = Arc::<Mutex<BTreeSet<String>>>::default();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let acceptor = acceptor(certificates.path());
        runtime.spawn(answer(listener, acceptor, Arc::clone(&calls), Arc::clone(&asked)));
        let ca = STANDARD.encode(std::fs::read(certificates.path().join("tls.crt")).unwrap());
        let kubeconfig = plane.admin_kubeconfig();
        runtime.spawn(async move {
            let api: Api<Deployment> = Api::all(plane::client(&kubeconfig).await);
            loop {
                run(&api).await;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        Self { url, ca, calls, asked, _certificates: certificates, runtime: Some(runtime) }
    }
}

/// Makes every Deployment what it asks for, 0 included.
async fn run(all: &Api<Deployment>) {
    let Ok(found) = all.list(&ListParams::default()).await else { return };
    for deployment in found {
        let generation = deployment.metadata.generation;
        if deployment.status.as_ref().and_then(|status| status.observed_generation) == generation {
            continue;
        }
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let status = json!({"status": {
            "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
                "message": "Deployment has minimum availability.",
                "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z"}],
        }});
        let (namespace, name) =
            (deployment.metadata.namespace.unwrap_or_default(), deployment.metadata.name.unwrap_or_default());
        let api: Api<Deployment> = Api::namespaced(all.clone().into_client(), &namespace);
        // It may be gone again.
        let _patched = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await;
    }
}

fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=webhooks \
                     -addext subjectAltName=IP:127.0.0.1 -keyout tls.key -out tls.crt";
    let made =
        tally::command("openssl").args(arguments.split_whitespace()).current_dir(&folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder
}

fn acceptor(certificates: &Path) -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(certificates.join("tls.crt"))
        .unwrap()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates.join("tls.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Answers every review: it is allowed.
async fn answer(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    calls: Arc<AtomicUsize>,
    asked: Arc<Mutex<BTreeSet<String>>>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (acceptor, calls, asked) = (acceptor.clone(), Arc::clone(&calls), Arc::clone(&asked));
        tokio::spawn(async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            while let Some((path, review)) = request(&mut stream).await {
                calls.fetch_add(1, Ordering::SeqCst);
                let sort = if path.contains("/validate/") { "validate" } else { "mutate" };
                let resource = review.pointer("/request/resource/resource").and_then(Value::as_str);
                asked.lock().unwrap().insert(format!("{sort} {}", resource.unwrap_or_default()));
                let body = json!({
                    "apiVersion": review["apiVersion"], "kind": review["kind"],
                    "response": {"uid": review["request"]["uid"], "allowed": true},
                })
                .to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                if stream.write_all(format!("{head}{body}").as_bytes()).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// The next request's path and body; `None` where there is none any more.
async fn request<S: tokio::io::AsyncRead + Unpin>(stream: &mut S) -> Option<(String, Value)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Some((path, serde_json::from_slice(&body).ok()?))
}
