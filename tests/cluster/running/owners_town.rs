//! A cluster with owners: its API signs certificates as kube-controller-manager does, and each owner has an age identity.

use std::io::Read as _;
use std::iter;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use age::secrecy::ExposeSecret as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_ports::KindScope;
use capstan_reconciler::reconcile::ReconcileOutcome;
use capstan_reconciler::reconcile::ports::OwnersFile;
use capstan_reconciler::reconcile::resources::ConditionType;
use serde_json::{Value, json};
use x509_cert::certificate::{Certificate, TbsCertificate, Version};
use x509_cert::der::asn1::{BitString, UtcTime};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{DecodePem as _, Encode as _, EncodePem as _};
use x509_cert::name::Name;
use x509_cert::request::CertReq;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_cert::time::{Time, Validity};

use super::applying::plain;
use super::fake::FakeCluster;
use super::world::World;

pub(super) const DAY: i64 = 86_400;
pub(super) const SECRET: &str = "peu01-owners-kubeconfig";

/// What Cluster API wrote: its own key is a word that must be nowhere else.
pub(super) const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster: {server: 'https://10.0.0.1:6443', certificate-authority-data: Q0E=}\nusers:\n- name: u\n  user: {token: canary-of-cluster-api}\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\n";

/// Signs a request as a cluster does: from five minutes ago on, for so many seconds.
pub(super) fn sign(request: &str, now: i64, seconds: i64) -> String {
    let request = CertReq::from_pem(request).unwrap();
    let time = |second: i64| {
        Time::UtcTime(UtcTime::from_unix_duration(Duration::from_secs(second.try_into().unwrap())).unwrap())
    };
    let algorithm = AlgorithmIdentifierOwned {
        oid: ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2"),
        parameters: None,
    };
    let tbs_certificate = TbsCertificate {
        version: Version::V3,
        serial_number: SerialNumber::new(&[1]).unwrap(),
        signature: algorithm.clone(),
        issuer: Name::from_str("CN=cluster").unwrap(),
        validity: Validity { not_before: time(now - 300), not_after: time(now - 300 + seconds) },
        subject: request.info.subject,
        subject_public_key_info: request.info.public_key,
        issuer_unique_id: None,
        subject_unique_id: None,
        extensions: None,
    };
    let random = SystemRandom::new();
    let authority = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    let authority = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, authority.as_ref()).unwrap();
    let signature = authority.sign(&random, &tbs_certificate.to_der().unwrap()).unwrap();
    let signature = BitString::from_bytes(signature.as_ref()).unwrap();
    let certificate = Certificate { tbs_certificate, signature_algorithm: algorithm, signature };
    certificate.to_pem(LineEnding::LF).unwrap()
}

/// An owner.
pub(super) struct Person {
    pub(super) name: &'static str,
    identity: age::x25519::Identity,
}

impl Person {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, identity: age::x25519::Identity::generate() }
    }

    pub(super) fn key(&self) -> String {
        self.identity.to_public().to_string()
    }

    /// What they read in a file; `None` where they cannot open it.
    pub(super) fn open(&self, file: &[u8]) -> Option<String> {
        open(file, &self.identity)
    }

    /// The half that nobody else has.
    pub(super) fn secret(&self) -> String {
        self.identity.to_string().expose_secret().to_owned()
    }
}

pub(super) fn open(file: &[u8], identity: &dyn age::Identity) -> Option<String> {
    let decryptor = age::Decryptor::new(age::armor::ArmoredReader::new(file)).unwrap();
    let mut text = String::new();
    decryptor.decrypt(iter::once(identity)).ok()?.read_to_string(&mut text).unwrap();
    Some(text)
}

/// The cluster `gauss/peu01`, which has come up.
pub(super) struct Town {
    pub(super) world: World,
    pub(super) inside: Arc<FakeCluster>,
    /// Whether certificates are signed there.
    pub(super) signs: Arc<AtomicBool>,
}

impl Town {
    pub(super) async fn new() -> Self {
        let world = World::new();
        plain(&world, "peu01");
        world.reconcile("gauss/peu01").await;
        let inside = Arc::new(FakeCluster::new(&["kube-system", "default"]));
        inside.serve(&[("certificates.k8s.io", "CertificateSigningRequest", KindScope::Cluster)]);
        let signs = Arc::new(AtomicBool::new(true));
        let (is_signing, clock) = (Arc::clone(&signs), world.clock.clone());
        inside.state().reactions.push(Box::new(move |object: &mut Value| {
            if object["kind"] != "CertificateSigningRequest" {
                return;
            }
            let approved = object["status"]["conditions"][0]["type"] == "Approved";
            if !approved {
                object["status"] = json!({});
            } else if is_signing.load(Ordering::SeqCst) {
                let request = STANDARD.decode(object["spec"]["request"].as_str().unwrap()).unwrap();
                let seconds = object["spec"]["expirationSeconds"].as_i64().unwrap();
                let now = clock.0.load(Ordering::Relaxed);
                let signed = sign(&String::from_utf8(request).unwrap(), now, seconds);
                object["status"]["certificate"] = json!(STANDARD.encode(signed));
            }
        }));
        let town = Self { world, inside, signs };
        town.come_up();
        town
    }

    fn come_up(&self) {
        self.world.live.change("Cluster", "peu01", |cluster| {
            cluster["status"] = json!({"initialization": {"controlPlaneInitialized": true}});
        });
        self.world.live.put(json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": {"name": "peu01-kubeconfig", "namespace": "org"}, "data": {"value": STANDARD.encode(KUBECONFIG)}}));
        let mut clusters = self.world.workloads.clusters.lock().unwrap();
        clusters.insert(KUBECONFIG.to_owned(), Arc::clone(&self.inside));
    }

    /// These are the owners from now on; what they are given as `access` says.
    pub(super) fn owned_by(&self, people: &[&Person], access: &str) {
        let rows: String =
            people.iter().map(|one| format!("- {{name: {}, key: {}}}\n", one.name, one.key())).collect();
        let owners = if people.is_empty() { String::new() } else { format!("owners:\n{rows}") };
        self.world.write("gauss/peu01/capstan.yaml", &format!("{owners}{access}cloud: eu-1\n"));
    }

    pub(super) async fn pass(&self) -> ReconcileOutcome {
        self.world.reconcile("gauss/peu01").await
    }

    pub(super) fn condition(&self) -> String {
        self.world.condition("gauss-peu01", ConditionType::OwnersKeyPublished)
    }

    pub(super) fn message(&self) -> String {
        let status = self.world.status("gauss-peu01");
        status.conditions.of(ConditionType::OwnersKeyPublished).unwrap().message.clone()
    }

    /// The group that the binding inside of the cluster names.
    pub(super) fn bound(&self) -> Option<String> {
        let binding = self.inside.object("ClusterRoleBinding", "capstan:owners")?;
        Some(binding["subjects"][0]["name"].as_str().unwrap().to_owned())
    }

    /// What the bot has.
    pub(super) fn published(&self) -> Option<OwnersFile> {
        self.world.bot.keys.lock().unwrap().last().cloned().flatten()
    }

    /// How many keys the bot has received.
    pub(super) fn notices(&self) -> usize {
        self.world.bot.keys.lock().unwrap().len()
    }

    /// The group in the certificate of a kubeconfig.
    pub(super) fn group_in(kubeconfig: &str) -> String {
        let config: Value = serde_json::from_str(kubeconfig).unwrap();
        let data = config["users"][0]["user"]["client-certificate-data"].as_str().unwrap();
        let pem = String::from_utf8(STANDARD.decode(data).unwrap()).unwrap();
        Certificate::from_pem(&pem).unwrap().tbs_certificate.subject.to_string()
    }

    /// The private key in a kubeconfig, line by line.
    pub(super) fn key_in(kubeconfig: &str) -> Vec<String> {
        let config: Value = serde_json::from_str(kubeconfig).unwrap();
        let data = config["users"][0]["user"]["client-key-data"].as_str().unwrap();
        let pem = String::from_utf8(STANDARD.decode(data).unwrap()).unwrap();
        let lines = pem.lines().filter(|line| !line.starts_with('-')).map(str::to_owned);
        lines.chain([data.to_owned()]).collect()
    }
}
