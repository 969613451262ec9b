//! Issuers of tokens in a management cluster in memory, with certificate authorities that `openssl` makes.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_test_support::tally;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::hosts::{NAMESPACE, Town, secret};
use super::world::TestClock;

const NAME: &str = "a-auth-30005";
pub(super) const SERVED: &str = "a-auth-30005-certificate";
const DAY: i64 = 24 * 3600;
const CONNECTORS: &str =
    "- {type: ldap, id: corp, name: Corp, config: {host: ldap.example.com, bindPW: hidden}}\n";

/// A folder in which `openssl` makes things.
pub(super) struct Ground {
    pub(super) folder: tempfile::TempDir,
}

impl Ground {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn openssl(&self, arguments: &[&str]) -> String {
        let done =
            tally::command("openssl").args(arguments).current_dir(self.folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(done.status.success(), "{arguments:?}: {said}");
        said
    }

    /// A CA of this algorithm, for so many days.
    pub(super) fn ca(&self, algorithm: &[&str], days: &str, more: &[&str]) {
        let common = [
            "req",
            "-x509",
            "-nodes",
            "-subj",
            "/O=Example, Ltd/CN=auth ca",
            "-keyout",
            "ca.key",
            "-out",
            "ca.crt",
        ];
        self.openssl(&[&common[..], &["-days", days, "-newkey"], algorithm, more].concat());
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn ca_secret(&self) -> Value {
        let encoded = |name: &str| STANDARD.encode(self.read(name));
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca", "namespace": NAMESPACE},
            "data": {"tls.crt": encoded("ca.crt"), "tls.key": encoded("ca.key")}})
    }
}

/// A town with an issuer, and a clock that can be set.
pub(super) fn town(ground: &Ground) -> (Town, Arc<TestClock>) {
    let mut town = Town::of(1);
    let clock = Arc::new(TestClock(AtomicI64::new(Timestamp::now().as_second() + 10)));
    town.ports.clock = clock.clone();
    town.live.put(ground.ca_secret());
    town.live.put(secret("people", "connectors", CONNECTORS));
    town.live.put(json!({
        "apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster", "metadata": {"name": "a", "namespace": NAMESPACE},
        "spec": {"nodes": {"ControlPlane": {"count": {"active": 1}}}, "services": {"auth": [
            {"image": "dex", "nodePort": 30005, "nodeInterfaceId": "oam", "caSecret": "ca", "connectorsSecret": "people"}]}}}));
    (town, clock)
}

pub(super) fn held(town: &Town, secret: &str, key: &str) -> String {
    let object = town.live.object("Secret", secret).unwrap();
    String::from_utf8(STANDARD.decode(object["data"][key].as_str().unwrap()).unwrap()).unwrap()
}

fn template(town: &Town) -> Value {
    town.live.object("Deployment", NAME).unwrap()["spec"]["template"]["metadata"]["annotations"].clone()
}

pub(super) const KEYS: [&[&str]; 4] = [
    &["rsa:2048"],
    &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    &["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
    &["ed25519"],
];

#[tokio::test]
async fn dex_serves_a_certificate_of_the_ca_and_nothing_secret_is_shown() {
    for key in KEYS {
        let ground = Ground::new();
        // What RFC 5280 wants of a CA, and `openssl verify` where it is strict.
        ground.ca(key, "3650", &["-addext", "keyUsage=critical,keyCertSign"]);
        let (mut town, _clock) = town(&ground);
        town.turn().await;
        assert_eq!(
            town.condition("a", "Ready"),
            "True ReconciliationSucceeded: 1 host, 0 standby",
            "{key:?}"
        );
        ground.write("tls.crt", &held(&town, SERVED, "tls.crt"));
        ground.write("tls.key", &held(&town, SERVED, "tls.key"));
        ground.openssl(&[
            "verify",
            "-x509_strict",
            "-purpose",
            "sslserver",
            "-verify_ip",
            "192.0.2.1",
            "-CAfile",
            "ca.crt",
            "tls.crt",
        ]);
        let public = ground.openssl(&["pkey", "-in", "tls.key", "-pubout"]);
        assert_eq!(ground.openssl(&["x509", "-in", "tls.crt", "-noout", "-pubkey"]), public);
        // The certificate is for a server, not for a client.
        let told = ground.openssl(&["x509", "-in", "tls.crt", "-noout", "-text"]);
        assert!(
            told.contains("TLS Web Server Authentication") && !told.contains("Client Authentication"),
            "{told}"
        );

        let oidc = &town.live.object("SIPCluster", "a").unwrap()["status"]["oidc"];
        assert_eq!(
            (&oidc["issuer"], &oidc["clientID"]),
            (&json!("https://192.0.2.1:30005"), &json!("kubernetes"))
        );
        assert_eq!(oidc["ca"].as_str().unwrap().trim(), ground.read("ca.crt").trim());
        let configuration: Value = serde_json::from_str(&held(&town, NAME, "config.yaml")).unwrap();
        assert_eq!(configuration["connectors"][0]["config"]["bindPW"], "hidden");
        {
            let state = town.live.state();
            for (key, object) in state.objects.iter().filter(|(key, _)| key.1 != "Secret") {
                let text = object.to_string();
                assert!(!text.contains("hidden") && !text.contains("PRIVATE KEY"), "{key:?}");
            }
        }
        assert_eq!(town.turn().await.writes, 0);
    }
}

#[tokio::test]
async fn it_is_renewed_at_two_thirds_repaired_and_gone_with_its_entry() {
    let ground = Ground::new();
    ground.ca(KEYS[1], "3650", &[]);
    let (mut town, clock) = town(&ground);
    town.turn().await;
    let (first, pods) = (held(&town, SERVED, "tls.crt"), template(&town));
    clock.0.fetch_add(59 * DAY, Ordering::Relaxed);
    town.memory.forget();
    assert_eq!(town.turn().await.writes, 0);
    clock.0.fetch_add(2 * DAY, Ordering::Relaxed);
    town.memory.forget();
    town.turn().await;
    let (second, renewed) = (held(&town, SERVED, "tls.crt"), template(&town));
    assert!(first != second && pods != renewed);
    assert_eq!(town.turn().await.writes, 0);

    // Somebody's hand: another key beside the certificate, another configuration.
    ground.openssl(&["genpkey", "-algorithm", "ed25519", "-out", "other.key"]);
    let other = STANDARD.encode(ground.read("other.key"));
    town.live.change("Secret", SERVED, |object| object["data"]["tls.key"] = json!(other));
    town.live.change("Secret", NAME, |object| object["data"]["config.yaml"] = json!("eA=="));
    town.memory.forget();
    town.turn().await;
    assert_ne!(held(&town, SERVED, "tls.key"), ground.read("other.key"));
    assert_ne!(held(&town, SERVED, "tls.crt"), second);
    assert!(held(&town, NAME, "config.yaml").contains("bindPW"));

    // Connectors change, and the pods with them.
    let before = template(&town);
    town.live.put(secret("people", "connectors", &CONNECTORS.replace("hidden", "changed")));
    town.memory.forget();
    town.turn().await;
    assert_ne!(template(&town), before);
    town.live.change("SIPCluster", "a", |object| object["spec"]["services"] = json!({}));
    town.memory.forget();
    town.turn().await;
    let left: Vec<String> = ["Deployment", "Service"].iter().flat_map(|kind| town.live.names(kind)).collect();
    assert_eq!(left, [""; 0]);
    assert!(!town.live.names("Secret").iter().any(|name| name.starts_with("a-")));
    assert_eq!(town.live.object("SIPCluster", "a").unwrap()["status"].get("oidc"), None);
}

/// Nobody tells that a CA changes: it is met when something is signed with it, or soon after the old one's end.
#[tokio::test]
async fn another_ca_is_taken_once_it_is_met() {
    let ground = Ground::new();
    ground.ca(KEYS[1], "90", &[]);
    let (mut town, clock) = town(&ground);
    town.turn().await;
    let first = held(&town, SERVED, "tls.crt");
    town.live.change("SIPCluster", "a", |object| {
        object["spec"]["services"]["auth"][0]["host"] = json!("dex.example.com");
    });
    assert!(town.tell("airship.airshipit.org", "SIPCluster", "a", "later"));
    ground.ca(KEYS[1], "90", &[]);
    town.live.put(ground.ca_secret());
    // The certificate, the configuration, the pods and the status, each once.
    assert_eq!(town.turn().await.writes, 4);
    assert_ne!(held(&town, SERVED, "tls.crt"), first);
    let told = |town: &Town| town.live.object("SIPCluster", "a").unwrap()["status"]["oidc"]["ca"].clone();
    assert_eq!(told(&town), json!(ground.read("ca.crt")));
    assert_eq!(town.turn().await.writes, 0);

    clock.0.fetch_add(91 * DAY, Ordering::Relaxed);
    town.turn().await;
    let said = town.condition("a", "ServicesReady");
    assert!(said.contains("has expired: replace it"), "{said}");
    ground.ca(KEYS[1], "3650", &[]);
    town.live.put(ground.ca_secret());
    clock.0.fetch_add(30, Ordering::Relaxed);
    town.turn().await;
    assert_eq!(town.condition("a", "Ready"), "True ReconciliationSucceeded: 1 host, 0 standby");
    assert_eq!(told(&town), json!(ground.read("ca.crt")));
}

#[tokio::test]
async fn an_issuer_that_cannot_sign_or_log_in_anybody_is_reported_and_not_served() {
    let ground = Ground::new();
    ground.ca(KEYS[1], "3650", &[]);
    let good = ground.ca_secret();
    let encoded = |text: &str| STANDARD.encode(text);
    let with = |key: &str, text: &str| {
        let mut object = good.clone();
        object["data"][key] = json!(encoded(text));
        object
    };
    let key = ground.read("ca.key");
    let chain = ground.read("ca.crt");
    ground.ca(KEYS[1], "3650", &["-addext", "basicConstraints=critical,CA:FALSE"]);
    let leaf = ground.ca_secret();
    ground.ca(KEYS[1], "3650", &["-addext", "nameConstraints=critical,permitted;IP:10.0.0.0/255.0.0.0"]);
    let narrow = ground.ca_secret();
    let entry = "a-auth-30005: caSecret";
    for (object, told) in [
        (
            with("tls.crt", "nothing"),
            "of Secret gauss/ca, its key tls.crt must hold certificates in PEM form",
        ),
        (
            with("tls.crt", &format!("{chain}{key}")),
            "of Secret gauss/ca, its key tls.crt must hold certificates in PEM form, nothing else",
        ),
        (with("tls.key", "nothing"), "of Secret gauss/ca, its key tls.key holds no private key"),
        (
            with("tls.key", &ground.read("ca.key")),
            "of Secret gauss/ca, its private key does not belong to its certificate",
        ),
        (leaf, "of Secret gauss/ca, its certificate is not a CA certificate"),
    ] {
        let (mut town, _clock) = town(&ground);
        town.live.put(object);
        assert!(town.turn().await.is_waiting);
        let said = town.condition("a", "ServicesReady");
        assert!(said.starts_with(&format!("False InfraServiceFailure: {entry}: {told}")), "{said}");
        assert!(town.live.names("Deployment").is_empty() && !said.contains("BEGIN"));
    }
    // The CA may sign for other names alone: that is found out once, not for ever.
    let (mut town, _clock) = town(&ground);
    town.live.put(narrow);
    assert!(town.turn().await.is_waiting);
    let said = town.condition("a", "ServicesReady");
    assert!(said.contains("no client accepts what the CA signs for 192.0.2.1"), "{said}");
    assert!(!town.live.names("Secret").contains(&SERVED.to_owned()));

    let (mut town, _clock) = self::town(&ground);
    town.live.put(good);
    town.live.put(secret("people", "connectors", "[{type: mockCallback, id: hidden, name: A}]"));
    assert!(town.turn().await.is_waiting);
    let said = town.condition("a", "ServicesReady");
    assert!(
        said.contains("Secret gauss/people: connectors[0]: a connector of this type lets in everybody")
            && !said.contains("hidden"),
        "{said}"
    );
    // The credentials of a management controller are not read, even if a SIPCluster names them.
    town.live.change("SIPCluster", "a", |object| {
        object["spec"]["services"]["auth"][0]["connectorsSecret"] = json!("bm-00-bmc");
        object["spec"]["services"]["auth"][0]["caSecret"] = json!("bm-00-bmc");
    });
    town.memory.forget();
    town.turn().await;
    let said = town.condition("a", "ServicesReady");
    assert!(
        said.contains("caSecret names the Secret of a management controller, which is not read"),
        "{said}"
    );
    assert!(!town.live.state().reads.iter().any(|read| read.ends_with("-bmc")));
}
