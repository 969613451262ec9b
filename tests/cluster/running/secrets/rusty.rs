//! RustyVault itself: sealing, unsealing and reading. It versions nothing, so the test writes what a key-value engine of
//! version 2 would answer; the rest of Vault's API it has not.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use capstan_live::secrets::{KvRead, ResolvedReason};
use capstan_ports::{VaultAddress, Vaults as _};
use capstan_test_support::tally;
use capstan_vault::VaultServers;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::town::Town;

/// The server, until this is dropped.
struct Server {
    child: Child,
    url: String,
    client: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Server {
    /// Starts one; `None`, said aloud, where it was never built.
    async fn start() -> Option<Self> {
        let build = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vault/build");
        let found = tally::command(build).arg("--where").output().unwrap();
        let tools = String::from_utf8(found.stdout).unwrap();
        if tools.trim().is_empty() {
            println!(
                "SKIPPED: RustyVault is not built (`make vault` builds it): no secret is read out of it"
            );
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let data = folder.path().join("data");
        let pid = folder.path().join("pid");
        let config = format!(
            "storage \"file\" {{\n  path = \"{}\"\n}}\nlistener \"tcp\" {{\n  address = \"127.0.0.1:{port}\"\n  tls_disable = \"true\"\n}}\napi_addr = \"http://127.0.0.1:{port}\"\nlog_level = \"error\"\npid_file = \"{}\"\nwork_dir = \"{}\"\n",
            data.display(),
            pid.display(),
            folder.path().display()
        );
        let file = folder.path().join("config.hcl");
        std::fs::write(&file, config).unwrap();
        let child = tally::command(PathBuf::from(tools.trim()).join("rvault"))
            .args(["server", "--config"])
            .arg(&file)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let server = Self { child, url: format!("http://127.0.0.1:{port}"), client, _folder: folder };
        for _ in 0..200 {
            if server.client.get(format!("{}/v1/sys/seal-status", server.url)).send().await.is_ok() {
                return Some(server);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("RustyVault does not answer");
    }

    /// Sends a POST, which it accepts everywhere; it does not accept PUT for mounts.
    async fn put(&self, path: &str, token: &str, body: Value) -> Value {
        let request = self.client.post(format!("{}/v1/{path}", self.url)).header("x-vault-token", token);
        let answer = request.json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {answer:?}");
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or(Value::Null)
    }
}

#[tokio::test]
async fn a_real_server_is_read_and_its_seal_is_reported() {
    let Some(server) = Server::start().await else { return };
    let init = server.put("sys/init", "", json!({"secret_shares": 1, "secret_threshold": 1})).await;
    let key = init["keys"][0].as_str().unwrap().to_owned();
    let token = init["root_token"].as_str().unwrap().to_owned();
    let unseal = async || server.put("sys/unseal", "", json!({"key": key})).await;
    unseal().await;
    server.put("sys/mounts/kv", &token, json!({"type": "kv"})).await;
    let metadata = json!({"version": 3, "deletion_time": "", "destroyed": false});
    server
        .put("kv/data/acme/fra1", &token, json!({"data": {"clouds": "CANARY"}, "metadata": metadata}))
        .await;

    let address = VaultAddress { url: server.url.clone(), ca: None, namespace: None };
    let vault = VaultServers.open(&address).unwrap();
    let secret = SecretString::from(token.clone());
    let read = |path: &str| KvRead { mount: "kv".to_owned(), path: path.to_owned(), version: None };
    let found = vault.read(&secret, &read("acme/fra1")).await.unwrap();
    assert_eq!((found.version, &found.fields["clouds"]), (3, &json!("CANARY")));
    assert_eq!(vault.read(&secret, &read("acme/nowhere")).await.err().unwrap().why, ResolvedReason::Missing);
    let nobody = SecretString::from("nobody");
    assert_eq!(vault.read(&nobody, &read("acme/fra1")).await.err().unwrap().why, ResolvedReason::Denied);

    server.put("sys/seal", &token, json!({})).await;
    let error = vault.read(&secret, &read("acme/fra1")).await.err().unwrap();
    assert_eq!(error.why, ResolvedReason::Sealed, "{error}");
    unseal().await;
    assert_eq!(vault.read(&secret, &read("acme/fra1")).await.unwrap().version, 3);
}

/// The same through a VaultSecret, whose Secret stays as it is whatever the server says.
#[tokio::test]
async fn a_secret_is_written_out_of_it_and_stays_when_it_is_sealed_or_away() {
    let Some(server) = Server::start().await else { return };
    let init = server.put("sys/init", "", json!({"secret_shares": 1, "secret_threshold": 1})).await;
    let key = init["keys"][0].as_str().unwrap().to_owned();
    let root = init["root_token"].as_str().unwrap().to_owned();
    server.put("sys/unseal", "", json!({"key": key})).await;
    server.put("sys/mounts/kv", &root, json!({"type": "kv"})).await;
    let write = async |data: Value, version: u32| {
        let metadata = json!({"version": version, "deletion_time": "", "destroyed": false});
        server.put("kv/data/acme/fra1", &root, json!({"data": data, "metadata": metadata})).await;
    };
    write(json!({"clouds": "CANARY-1"}), 1).await;

    let town = Town::new().await;
    for (store, token) in [("eu", root.as_str()), ("nobodys", "nobody")] {
        town.world.status_store.posted().put_secret("capstan-system", store, "token", token);
        town.store_at(store, &server.url, json!({"token": {"secretName": store}}));
    }
    let field = json!({"mount": "kv", "path": "acme/fra1", "key": "clouds"});
    town.put("org-acme", "nobodys", json!({"store": "nobodys", "data": {"clouds.yaml": field}}));
    town.put_field("org-acme", "cloud", "acme/fra1", None);
    town.put_field("org-acme", "nothing", "acme/nowhere", None);
    let look = async || {
        town.world.pass_time(60);
        town.pass().await;
        (town.condition("cloud"), town.value("cloud", "clouds.yaml").unwrap())
    };
    assert_eq!(look().await, ("True Resolved".to_owned(), "CANARY-1".to_owned()));
    assert_eq!(town.condition("nothing"), "False Missing");
    assert_eq!(town.condition("nobodys"), "False Denied");
    write(json!({"clouds": "CANARY-2"}), 2).await;
    assert_eq!(look().await, ("True Resolved".to_owned(), "CANARY-2".to_owned()));
    let stays = |condition: &str| (condition.to_owned(), "CANARY-2".to_owned());
    write(Value::Null, 3).await;
    assert_eq!(look().await, stays("False Missing"));
    write(json!(["CANARY"]), 4).await;
    assert_eq!(look().await, stays("False BadData"));
    write(json!({"clouds": "CANARY-2"}), 5).await;
    server.put("sys/seal", &root, json!({})).await;
    assert_eq!(look().await, stays("False Sealed"));
    server.put("sys/unseal", "", json!({"key": key})).await;
    assert_eq!(look().await, stays("True Resolved"));
    town.live().remove("Secret", "cloud");
    assert_eq!(look().await, stays("True Resolved"));
    drop(server);
    assert_eq!(look().await, stays("False Away"));
    assert!(!town.everything_but_secrets().contains("CANARY"));
}
