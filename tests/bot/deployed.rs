//! The bot as `deploy/bot` starts it, on a forge: probes succeed, and the bot reports every metric of the docs.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use capstan_test_support::PATIENCE;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use capstan_telemetry::Program;
use capstan_test_support::tally;
use reqwest::{Client, StatusCode};
use serde_json::Value;

use crate::running::sample;
use crate::running::town::{REPOSITORY, forge};
use capstan_test_parts::deployed::{documents, of_kind, read, texts};
use capstan_test_parts::flags::of_service;
use capstan_test_parts::metrics::{documented, names_of};
use capstan_test_parts::plane::process::{Process, lasting_port};
use capstan_test_parts::plane::tail;

/// A container of `deploy/`, as it can be run on this machine.
struct Container {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// The addresses that its ports became, by name.
    ports: BTreeMap<String, String>,
    probes: Vec<(String, String)>,
}

impl Container {
    /// Ports become free ones of loopback, and paths lie below a folder.
    fn read(container: &Value, folder: &Path) -> Self {
        let mut arguments = texts(&container["args"]).join("\n");
        let mut ports = BTreeMap::new();
        for port in container["ports"].as_array().unwrap() {
            let address = format!("127.0.0.1:{}", lasting_port());
            let inside = format!("0.0.0.0:{}", port["containerPort"]);
            assert_eq!(arguments.matches(&inside).count(), 1, "{inside} is listened on");
            arguments = arguments.replace(&inside, &address);
            ports.insert(port["name"].as_str().unwrap().to_owned(), address);
        }
        // The page is on loopback, which this machine's other tests share.
        assert!(arguments.contains("--internal-listen=127.0.0.1:8082"));
        arguments = arguments.replace(":8082", ":0");
        let mounts = container["volumeMounts"].as_array().unwrap();
        let mounts: Vec<&str> = mounts.iter().map(|mount| mount["mountPath"].as_str().unwrap()).collect();
        mounts.iter().for_each(|mount| fs::create_dir_all(format!("{}{mount}", folder.display())).unwrap());
        let below = |path: &str| {
            let is_mounted = mounts.iter().any(|mount| path.starts_with(&format!("{mount}/")));
            if is_mounted { format!("{}{path}", folder.display()) } else { path.to_owned() }
        };
        let arguments = arguments.lines().map(|argument| match argument.split_once('=') {
            Some((flag, value)) => format!("{flag}={}", below(value)),
            None => argument.to_owned(),
        });
        let environment = container["env"].as_array().unwrap().iter().map(|variable| {
            let text = |key: &str| variable[key].as_str().unwrap_or_default().to_owned();
            (text("name"), below(&text("value")))
        });
        let probes = ["startupProbe", "livenessProbe", "readinessProbe"].iter().map(|probe| {
            let get = |key: &str| container[probe]["httpGet"][key].as_str().unwrap().to_owned();
            (get("port"), get("path"))
        });
        let (environment, probes) = (environment.collect(), probes.collect());
        Self { arguments: arguments.collect(), environment, ports, probes }
    }

    fn url(&self, port: &str, path: &str) -> String {
        format!("http://{}{path}", self.ports[port])
    }
}

fn bot() -> Value {
    of_kind(&documents(&read("bot/bot.yaml")), "StatefulSet")["spec"]["template"]["spec"]["containers"][0]
        .clone()
}

async fn status(client: &Client, url: &str) -> Option<StatusCode> {
    client.get(url).send().await.ok().map(|answer| answer.status())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bot_starts_as_deployed_and_tells_every_metric_of_the_docs() {
    let folder = tempfile::tempdir().unwrap();
    let forge = forge();
    let app = forge.app();
    let mut container = Container::read(&bot(), folder.path());
    let secrets = folder.path().join("etc/capstan/secrets");
    fs::write(secrets.join("private-key.pem"), &app.private_key).unwrap();
    fs::write(secrets.join("webhook-secret"), &app.webhook_secret).unwrap();
    let (id, api) = (app.id.to_string(), forge.url().to_owned());
    container.environment.retain(|(name, _)| name != "CAPSTAN_GITHUB_APP_ID");
    container.environment.extend([
        ("CAPSTAN_GITHUB_APP_ID".to_owned(), id),
        ("CAPSTAN_GITHUB_API_URL".to_owned(), api),
        ("CAPSTAN_LOG_FORMAT".to_owned(), "json".to_owned()),
    ]);
    forge.deliver_to(&container.url("http", "/github/webhook"));
    forge
        .commit(REPOSITORY, "main", "ada", "Begin", &sample::repository("mode: propose\n", &["gauss/peu01"]))
        .unwrap();

    let process =
        Process::new(container.arguments.clone(), container.environment.clone(), &folder.path().join("log"));
    process.start();
    let client = Client::builder().no_proxy().build().unwrap();
    let patience = Instant::now() + PATIENCE;
    for (port, path) in &container.probes {
        while status(&client, &container.url(port, path)).await != Some(StatusCode::OK) {
            process.is_well().unwrap_or_else(|why| panic!("{why}\n{}", process.log()));
            assert!(Instant::now() < patience, "{path}:\n{}", tail(&process.log(), 20));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    // Who is beside it in its container finds its database.
    let beside = tally::command(env!("CARGO_BIN_EXE_capstan"))
        .args(["agents", "list"])
        .env_clear()
        .envs(container.environment.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    assert!(beside.status.success(), "{}", String::from_utf8_lossy(&beside.stderr));
    // The fleet is not shown to clients from the network.
    for port in ["http", "metrics"] {
        assert_eq!(status(&client, &container.url(port, "/")).await, Some(StatusCode::NOT_FOUND));
    }

    // Something of each kind happens: a delivery, work on it, a reconciler that is not known.
    assert_eq!(
        status(&client, &container.url("http", "/agent/v1/work?repository=acme/gitops")).await,
        Some(StatusCode::UNAUTHORIZED)
    );
    forge.commit(REPOSITORY, "main", "ada", "First", &[sample::release("v22.0.0", "v1.22.0")]).unwrap();
    let expected: Vec<String> = documented("the-bot").into_keys().collect();
    loop {
        let answer =
            client.get(container.url("metrics", "/metrics")).send().await.unwrap().text().await.unwrap();
        let names: Vec<String> = names_of(&answer, Program::Bot).into_iter().collect();
        if names == expected {
            break;
        }
        assert!(Instant::now() < patience, "{names:?}\n{}", tail(&process.log(), 20));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    process.kill();
    let log = process.log();
    for line in log.lines() {
        let told: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(told["message"].is_string() && told["level"].is_string(), "{line}");
    }
    assert!(log.lines().count() > 2, "{log}");
}

#[test]
fn every_variable_of_the_bot_is_a_setting() {
    let settings = of_service("serve");
    let postgres = read("bot/postgres/kustomization.yaml");
    let of_postgres = postgres.lines().filter_map(|line| line.trim().strip_prefix("- name: CAPSTAN_"));
    let mut variables: Vec<String> = of_postgres.map(str::to_owned).collect();
    for variable in bot()["env"].as_array().unwrap() {
        variables.push(variable["name"].as_str().unwrap().strip_prefix("CAPSTAN_").unwrap().to_owned());
    }
    assert_eq!(variables.len(), 6, "{variables:?}");
    for variable in variables {
        let setting = variable.to_lowercase().replace('_', "-");
        assert!(settings.contains_key(&setting), "{variable} is no setting of the bot");
    }
}
