//! Secrets are found wherever they turn up (`tests/parts/canary.rs` searches), and the error about a wrong one does not
//! show it.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use base64::Engine as _;
use capstan_forge::{CANARY, Forge, Options};
use capstan_test_parts::canary::{assert_none_in, found_in, plant_key};
use capstan_test_support::tally;

use crate::running::sample;
use crate::running::town::Town;

#[test]
fn a_secret_is_found_as_it_is_and_in_base64() {
    let token = format!("ghs_{CANARY}0123");
    assert!(found_in(token.as_bytes()).is_some());
    for user in ["x-access-token", "user", "me", "you"] {
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{token}"));
        assert!(found_in(format!("Authorization: Basic {basic}").as_bytes()).is_some(), "{user}");
    }
    plant_key(
        "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA\nplantedplantedplanted\nBBBBBBBBBBBBBBBBBBBB\n",
    );
    assert!(found_in(b"key: plantedplantedplanted").is_some());
    assert_eq!(found_in(b"canary, secret, ghs_0123"), None);
}

/// What a release says is shown in many places: one that has the mark shows that all of them are searched.
#[tokio::test]
async fn a_planted_leak_is_found_wherever_it_is_shown() {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    assert_eq!(town.secrets_shown(), [""; 0], "the town itself shows none");
    town.push("main", &[sample::release("v22.0.0", &format!("v1.22.0-{CANARY}"))]);
    town.settle().await;
    let shown = town.secrets_shown().join("\n");
    assert!(shown.contains("POST /repos/acme/gitops/git/trees"), "{shown}");
    assert!(shown.contains("POST /repos/acme/gitops/pulls"), "{shown}");
    assert!(shown.contains("POST /repos/acme/gitops/check-runs"), "{shown}");
    std::fs::write(town.state_dir().join("notes"), format!("the token is ghs_{CANARY}")).unwrap();
    let shown = town.secrets_shown().join("\n");
    assert!(shown.contains("/notes"), "{shown}");
}

/// Settings with a secret each that is wrong in some way: what the program says of it shows none.
#[test]
fn what_is_said_of_a_wrong_credential_does_not_show_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let key = key_of_a_forge();
    write("key.pem", &key);
    write(
        "broken.pem",
        &format!("-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----\n"),
    );
    write("no-key", &format!("{CANARY}{CANARY}"));
    write("secret", &format!("{CANARY}-webhook-secret\n"));
    write("short", &format!("{}\n", &CANARY[..12]));
    write("several", &format!("{CANARY}{CANARY}\n{CANARY}12345\n{CANARY}67890\n"));
    write("client", &format!("{CANARY} with words\n"));
    write(
        "hosts.yaml",
        &format!("- host: registry.example.com\n  OCI_USERNAME: capstan\n  OCI_PASSWORD: [{CANARY}\n"),
    );
    write("hosts-of-none", &format!("- OCI_USERNAME: capstan\n  OCI_PASSWORD: {CANARY}\n"));
    write(
        "settings.yaml",
        &format!("database-url: postgres://capstan:{CANARY}@127.0.0.1:1/capstan\nlisten: [\n"),
    );
    write(
        "kubeconfig",
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:1'}}}}]\nusers: [{{name: a, user: {{token: {CANARY}}}}}]\n"
        ),
    );
    let database = format!("postgres://capstan:{CANARY}@127.0.0.1:1/capstan?connect_timeout=1");
    let serve = |key: &str, secret: &str| {
        let mut arguments = vec!["serve".to_owned(), "--github-app-id".to_owned(), "1".to_owned()];
        arguments
            .extend(["--github-api-url", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"].map(str::to_owned));
        arguments.extend(["--github-private-key-file".to_owned(), at(key)]);
        arguments.extend(["--github-webhook-secret-file".to_owned(), at(secret)]);
        arguments.extend(["--state-dir".to_owned(), at("state")]);
        arguments
    };
    let with = |mut arguments: Vec<String>, more: &[&str]| {
        arguments.extend(more.iter().map(|word| (*word).to_owned()));
        arguments
    };
    let client = at("client");
    // What is wrong, arguments, environment.
    type Row<'a> = (&'a str, Vec<String>, Vec<(&'a str, String)>);
    let rows: Vec<Row<'_>> = vec![
        ("a key that is none", serve("no-key", "secret"), vec![]),
        ("a key that is broken", serve("broken.pem", "secret"), vec![]),
        ("three secrets", serve("key.pem", "several"), vec![]),
        ("a secret that is short", serve("key.pem", "short"), vec![]),
        (
            "a client secret of words",
            with(
                serve("key.pem", "secret"),
                &["--github-client-id", "a", "--github-client-secret-file", &client],
            ),
            vec![],
        ),
        (
            "a database that is away",
            serve("key.pem", "secret"),
            vec![("CAPSTAN_DATABASE_URL", database.clone())],
        ),
        (
            "a database of a scheme that is none",
            serve("key.pem", "secret"),
            vec![("CAPSTAN_DATABASE_URL", format!("mysql://capstan:{CANARY}@127.0.0.1/capstan"))],
        ),
        (
            "a file of settings that is none",
            with(serve("key.pem", "secret"), &["--config", &at("settings.yaml")]),
            vec![],
        ),
        ("a key file that is none", with(serve("key.pem", "secret"), &["--key-file", &at("no-key")]), vec![]),
        (
            "credentials of hosts that cannot be read",
            with(serve("key.pem", "secret"), &["--provider-credentials-file", &at("hosts.yaml")]),
            vec![],
        ),
        (
            "credentials of no hosts",
            with(serve("key.pem", "secret"), &["--provider-credentials-file", &at("hosts-of-none")]),
            vec![],
        ),
        (
            "a proxy that is away",
            serve("key.pem", "secret"),
            vec![("HTTPS_PROXY", format!("http://capstan:{CANARY}@127.0.0.1:1"))],
        ),
        (
            "an API server that is away",
            [
                "reconcile",
                "--kubeconfig",
                &at("kubeconfig"),
                "--state-dir",
                &at("reconciler"),
                "--listen",
                "127.0.0.1:0",
            ]
            .map(str::to_owned)
            .to_vec(),
            vec![],
        ),
    ];
    for (what, arguments, environment) in rows {
        assert_none_in("a flag", arguments.join(" ").as_bytes());
        let said = said(&arguments, &environment);
        assert!(!said.is_empty(), "{what}: something is said");
        assert_none_in(what, &said);
    }
}

/// What a program says in its first two seconds, on both streams.
fn said(arguments: &[String], environment: &[(&str, String)]) -> Vec<u8> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut child = tally::command(env!("CARGO_BIN_EXE_capstan"))
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (*name, value.as_str())))
        .env("CAPSTAN_LOG", "debug")
        .stdin(Stdio::null())
        .stdout(log.reopen().unwrap())
        .stderr(std::fs::OpenOptions::new().append(true).open(log.path()).unwrap())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(2);
    while Instant::now() < patience && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().ok();
    child.wait().unwrap();
    std::fs::read(log.path()).unwrap()
}

/// A key of a forge's.
fn key_of_a_forge() -> String {
    let forge = Forge::start(Options::default()).unwrap();
    let key = forge.app().private_key;
    plant_key(&key);
    key
}
