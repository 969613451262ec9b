//! A GitHub Enterprise Server as companies have it: below `/api/v3`, an own CA, behind a proxy that asks for a password,
//! and older than merge queues.

use capstan_test_support::PATIENCE;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use capstan_forge::{CANARY, Enterprise, Forge, MergeMethod, Options, Surface};
use capstan_test_support::tally;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use super::kills::{Place, wait_until_settled};
use super::sample;
use super::town::{REPOSITORY, people};
use capstan_test_parts::conformance::assert_conforms;

const HOST: &str = "ghe.example.test";

/// A proxy that leads to one host, whatever its name resolves to, and ends TLS before the forge.
struct Proxy {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    /// The heads of what it refused.
    refused: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Proxy {
    fn start(forge: SocketAddr, certificates: &Path) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let chain = CertificateDer::pem_file_iter(certificates.join("server.pem"))
            .unwrap()
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        let key = PrivateKeyDer::from_pem_file(certificates.join("server.key")).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let connections = Arc::new(AtomicUsize::new(0));
        let refused = Arc::new(Mutex::new(Vec::new()));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn({
            let (connections, refused) = (Arc::clone(&connections), Arc::clone(&refused));
            async move {
                loop {
                    let (client, _) = listener.accept().await.unwrap();
                    let (acceptor, refused) = (acceptor.clone(), Arc::clone(&refused));
                    connections.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(async move {
                        // An error here is a client that went away.
                        lead(client, forge, acceptor, &refused).await.ok();
                    });
                }
            }
        });
        Self { address, connections, refused, _runtime: runtime }
    }

    /// With the password that it asks for.
    fn url(&self) -> String {
        format!("http://capstan:{CANARY}@{}", self.address)
    }
}

async fn lead(
    mut client: TcpStream,
    forge: SocketAddr,
    acceptor: TlsAcceptor,
    refused: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let expected = {
        use base64::Engine as _;
        let credentials = base64::engine::general_purpose::STANDARD.encode(format!("capstan:{CANARY}"));
        format!("basic {}", credentials.to_lowercase())
    };
    if !head.starts_with(&format!("CONNECT {HOST}:443 ")) || !head.to_lowercase().contains(&expected) {
        refused.lock().unwrap().push(head);
        return client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await;
    }
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    let mut client = acceptor.accept(client).await?;
    let mut forge = TcpStream::connect(forge).await?;
    tokio::io::copy_bidirectional(&mut client, &mut forge).await.map(drop)
}

/// A CA, and a certificate of its for the host.
fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("server.ext"),
        format!("subjectAltName=DNS:{HOST}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"),
    )
    .unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    for arguments in [
        format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=Acme"),
        format!("req {key} -keyout server.key -out server.csr -subj /CN={HOST}"),
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext -out server.pem"
            .to_owned(),
    ] {
        let done = tally::command("openssl").args(arguments.split(' ')).current_dir(&folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    folder
}

#[test]
fn an_older_server_with_its_own_ca_behind_a_proxy_is_served_like_any_other() {
    let enterprise = Enterprise { version: "3.10.4".to_owned(), web: format!("https://{HOST}") };
    let forge = Forge::start(Options { enterprise: Some(enterprise), ..Options::default() }).unwrap();
    people(&forge);
    let certificates = certificates();
    let ca: PathBuf = certificates.path().join("ca.pem");
    let listening = forge.url().trim_start_matches("http://").parse().unwrap();
    let proxy = Proxy::start(listening, certificates.path());
    let mut place = Place::new(&forge);
    place.api = format!("https://{HOST}/api/v3");
    place.environment = vec![
        ("SSL_CERT_FILE".to_owned(), ca.display().to_string()),
        ("HTTPS_PROXY".to_owned(), proxy.url()),
        ("NO_PROXY".to_owned(), "other.example.test".to_owned()),
    ];
    let clusters = ["gauss/peu01", "gauss/peu02"];
    let begin = sample::repository("upgrade: {proposals: {open: 1000, perHour: 10000}}\n", &clusters);
    forge.commit(REPOSITORY, "main", "ada", "Begin", &begin).unwrap();
    forge.commit(REPOSITORY, "main", "ada", "First", &[sample::release("v22.0.0", "v1.22.0")]).unwrap();
    let bot = place.start_with(&[]);
    wait_until_settled(&forge, &place, "v22.0.0", "through the proxy");
    // A newer release moves the branches, which asks for reviews and queue, and for a preview.
    forge.commit(REPOSITORY, "main", "ada", "Second", &[sample::release("v22.1.0", "v1.22.1")]).unwrap();
    wait_until_settled(&forge, &place, "v22.1.0", "with a newer release");
    let first = forge.pulls(REPOSITORY).unwrap()[0].number;
    forge.comment(REPOSITORY, first, "ada", "/capstan status").unwrap();
    let patience = Instant::now() + PATIENCE;
    while forge.comments(REPOSITORY, first).unwrap().len() < 2 {
        assert!(Instant::now() < patience, "no answer: {}", place.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    forge.merge_pull(REPOSITORY, first, "ada", MergeMethod::Merge).unwrap();
    drop(bot);

    assert!(proxy.refused.lock().unwrap().is_empty(), "{:?}", proxy.refused.lock().unwrap());
    for surface in [Surface::Rest, Surface::GraphQl, Surface::Git] {
        assert!(forge.count_requests(|one| one.surface == surface) > 0, "{surface:?} went through the proxy");
    }
    assert!(place.log().contains("this GitHub Enterprise Server has no merge queues"), "{}", place.log());
    let asked = |word: &'static str| {
        forge.count_requests(|one| one.request["query"].as_str().is_some_and(|query| query.contains(word)))
    };
    assert_eq!(asked("isInMergeQueue"), 1, "what a server has not is asked for once");
    assert_conforms(&forge);

    // A host in NO_PROXY is not reached through the proxy.
    place.environment.retain(|(name, _)| name != "NO_PROXY");
    place.environment.push(("NO_PROXY".to_owned(), HOST.to_owned()));
    let (before, earlier) = (proxy.connections.load(Ordering::SeqCst), place.log().len());
    let bot = place.start_with(&[]);
    let patience = Instant::now() + PATIENCE;
    while !place.log()[earlier..].contains("GitHub does not answer") {
        assert!(Instant::now() < patience, "{}", place.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(bot);
    assert_eq!(proxy.connections.load(Ordering::SeqCst), before);
    place.done();
}
