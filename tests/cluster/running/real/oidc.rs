//! Gives a real API server the file that Capstan prints for an issuer that no API server trusts yet. The server accepts
//! the tokens of that issuer for its client, and no others. Another issuer takes Dex's place, with the certificate that
//! was made for Dex.

use capstan_test_support::PATIENCE;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use capstan_hosts::cluster::Oidc;
use capstan_hosts::findings::oidc_not_wired;
use capstan_test_support::tally;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::running::hosts_issuers::{Ground, KEYS, SERVED, held, town};
use capstan_test_parts::plane::{Parts, Plane, tail};

/// `oidc-provider`, and people who log in there.
struct Issuer {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Issuer {
    /// One at this URL, with the certificate and key of this folder, beside the CA.
    fn start(provider: &Path, url: &str, folder: &Path) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oidc/issuer.mjs");
        let mut child = tally::command("node")
            .args([
                script.as_os_str(),
                provider.as_os_str(),
                url.as_ref(),
                "tls.crt".as_ref(),
                "tls.key".as_ref(),
            ])
            .current_dir(folder)
            .env("NODE_EXTRA_CA_CERTS", folder.join("ca.crt"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.join("issuer.log")).unwrap())
            .spawn()
            .unwrap();
        let (asks, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut issuer = Self { child, asks, answers };
        issuer.next_answer("ready", folder);
        issuer
    }

    /// What it says after this word; the provider says other things besides.
    fn next_answer(&mut self, word: &str, folder: &Path) -> String {
        loop {
            let mut line = String::new();
            let length = self.answers.read_line(&mut line).unwrap();
            let log = || std::fs::read_to_string(folder.join("issuer.log")).unwrap_or_default();
            assert!(length > 0, "the issuer ended: {}", tail(&log(), 20));
            if let Some(rest) = line.trim_end().strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// The id token that a client is given once somebody logged in there.
    fn token(&mut self, client: &str, account: &str, folder: &Path) -> String {
        writeln!(self.asks, "{client} {account}").unwrap();
        self.next_answer("token", folder)
    }
}

#[expect(clippy::print_stdout, reason = "what is skipped is said aloud")]
fn provider() -> Option<PathBuf> {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oidc/build");
    let found = tally::command(build).arg("--where").output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    if found.trim().is_empty() {
        println!(
            "SKIPPED: oidc-provider is not installed (`make test` does): no API server is given the tokens of a real issuer"
        );
        return None;
    }
    Some(PathBuf::from(found.trim()))
}

/// Who the API server says somebody with this token is, or that it does not know them.
fn who(plane: &Plane, token: &str) -> Result<Value, String> {
    let admin: Value =
        serde_json::from_str(&std::fs::read_to_string(plane.admin_kubeconfig()).unwrap()).unwrap();
    let output = tally::command(plane.programs().join("kubectl"))
        .args([
            "--kubeconfig",
            "/dev/null",
            "--server",
            admin["clusters"][0]["cluster"]["server"].as_str().unwrap(),
        ])
        .arg("--certificate-authority")
        .arg(plane.state().join("pki/ca.crt"))
        .args(["--token", token, "auth", "whoami", "-o", "json"])
        .env("HOME", plane.state())
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    Ok(said["status"]["userInfo"].clone())
}

#[test]
fn an_api_server_with_what_is_printed_takes_tokens_of_the_issuer_for_its_client_alone() {
    let Some(provider) = provider() else { return };
    let ground = Ground::new();
    let folder = ground.folder.path();
    ground.ca(KEYS[0], "30", &[]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut town, _clock) = town(&ground);
    town.ports.node_ports_at = Some("127.0.0.1".to_owned());
    town.live.change("SIPCluster", "a", |object| {
        let auth = &mut object["spec"]["services"]["auth"][0];
        // The names of its objects come from its port.
        (auth["type"], auth["nodePort"]) = (json!("NodePort"), json!(port));
    });
    runtime.block_on(town.turn());
    let secret = SERVED.replace("30005", &port.to_string());
    ground.write("tls.crt", &held(&town, &secret, "tls.crt"));
    ground.write("tls.key", &held(&town, &secret, "tls.key"));
    let status = town.live.object("SIPCluster", "a").unwrap()["status"]["oidc"].clone();
    let oidc = Oidc::deserialize(&status).unwrap();
    let mut issuer = Issuer::start(&provider, &oidc.issuer, folder);

    let version = kubernetes();
    let control_plane =
        json!({"metadata": {"name": "cp"}, "spec": {"version": version, "kubeadmConfigSpec": {}}});
    let told = oidc_not_wired(&oidc, &control_plane).unwrap();
    let (_, file) = told.split_once("rolls the control plane:\n").unwrap();
    ground.write("authentication.yaml", file);
    let Some(plane) = Plane::start_trusting(Parts::Kubernetes, &folder.join("authentication.yaml")) else {
        return;
    };
    let token = issuer.token("kubernetes", "ada", folder);
    // It asks the issuer for its keys when it starts, and again after a while.
    let begun = Instant::now();
    let known = loop {
        match who(&plane, &token) {
            Ok(known) => break known,
            Err(why) => assert!(
                begun.elapsed() < PATIENCE,
                "{why}\n{file}\n{}",
                tail(&std::fs::read_to_string(plane.state().join("logs/kube-apiserver.log")).unwrap(), 20)
            ),
        }
        std::thread::sleep(Duration::from_millis(500));
    };
    assert_eq!(known["username"], "oidc:ada@example.com");
    assert!(known["groups"].as_array().unwrap().contains(&json!("oidc:admins")), "{known}");
    // Of the same issuer, for another audience.
    let other = issuer.token("other", "ada", folder);
    let refused = who(&plane, &other).unwrap_err();
    assert!(refused.contains("Unauthorized"), "{refused}");
    // Once the control plane has the file, there is no message.
    let wired = json!({"metadata": {"name": "cp"}, "spec": {"version": version, "kubeadmConfigSpec": {
        "files": [{"path": "/etc/kubernetes/authentication.yaml", "content": file}],
        "clusterConfiguration": {"apiServer": {
            "extraArgs": [{"name": "authentication-config", "value": "/etc/kubernetes/authentication.yaml"}],
            "extraVolumes": [{"name": "authentication", "hostPath": "/etc/kubernetes/authentication.yaml",
                "mountPath": "/etc/kubernetes/authentication.yaml", "readOnly": true, "pathType": "File"}]}}}}});
    assert_eq!(oidc_not_wired(&oidc, &wired), None);
}

/// The version of the API server that is built for tests.
fn kubernetes() -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane/kube/go.mod");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let mut words = manifest.split_whitespace().skip_while(|word| *word != "k8s.io/kubernetes").skip(1);
    words.next().unwrap().to_owned()
}
