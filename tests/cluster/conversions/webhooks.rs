//! The conversion webhooks of a plane's managers, and the kinds that they convert.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use capstan_test_parts::plane::Plane;

/// A kind that a webhook converts from v1beta1 to v1beta2.
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) name: String,
    /// OpenAPI of v1beta1 and v1beta2.
    pub(super) older: Value,
    pub(super) newer: Value,
    /// As its URLs have it.
    pub(super) plural: String,
    /// The rules in CEL of v1beta2, as the API server names them in what it refuses.
    pub(super) rules: Vec<String>,
    url: String,
}

/// Every rule in CEL of a schema: its message, or itself.
fn rules_of(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for rule in fields.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten()
            {
                found.extend(
                    ["message", "rule"].iter().filter_map(|key| Some(rule[key].as_str()?.to_owned())),
                );
            }
            fields.values().for_each(|below| rules_of(below, found));
        }
        Value::Array(items) => items.iter().for_each(|below| rules_of(below, found)),
        _ => {}
    }
}

pub(super) struct Webhooks {
    client: Client,
    runtime: Runtime,
    logs: PathBuf,
    kinds: Vec<Kind>,
}

/// `/spec/files/3/append` -> `/spec/files/*/append`
pub(super) fn without_indexes(path: &str) -> String {
    let is_index = |step: &str| !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    path.split('/').map(|step| if is_index(step) { "*" } else { step }).collect::<Vec<_>>().join("/")
}

/// The ends of all logs.
fn last_words(logs: &Path) -> String {
    let files = std::fs::read_dir(logs).unwrap().map(|entry| entry.unwrap().path());
    let ends = files.filter(|path| path.is_file()).map(|path| {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        format!("{}:\n{}", path.display(), lines[lines.len().saturating_sub(8)..].join("\n"))
    });
    ends.collect::<Vec<_>>().join("\n")
}

impl Webhooks {
    pub(super) fn of(plane: &Plane) -> Self {
        let read: Value = serde_json::from_str(&plane.kubectl(&["get", "crds", "-o", "json"])).unwrap();
        let kinds = read["items"].as_array().unwrap().iter().filter_map(|definition| {
            let spec = &definition["spec"];
            let schema = |version: &str| {
                let versions = spec["versions"].as_array()?;
                let found = versions.iter().find(|known| known["name"] == version)?;
                Some(found["schema"]["openAPIV3Schema"].clone())
            };
            let group = spec["group"].as_str()?;
            // The in-memory provider's kinds are not Cluster API's own.
            (group != "infrastructure.cluster.x-k8s.io").then_some(())?;
            let newer = schema("v1beta2")?;
            let mut rules = Vec::new();
            rules_of(&newer, &mut rules);
            Some(Kind {
                group: group.to_owned(),
                name: spec["names"]["kind"].as_str()?.to_owned(),
                plural: spec["names"]["plural"].as_str()?.to_owned(),
                older: schema("v1beta1")?,
                newer,
                rules,
                url: spec["conversion"]["webhook"]["clientConfig"]["url"].as_str()?.to_owned(),
            })
        });
        let authority = std::fs::read(plane.state().join("pki/ca.crt")).unwrap();
        let authority = Certificate::from_pem(&authority).unwrap();
        Self {
            client: Client::builder().tls_certs_only([authority]).no_proxy().build().unwrap(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            logs: plane.state().join("logs"),
            kinds: kinds.collect(),
        }
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.iter()
    }

    /// The kind of a v1beta1 object; `None` for any other version.
    pub(super) fn kind_of(&self, object: &Value) -> Option<&Kind> {
        let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
        let fits = |kind: &&Kind| kind.group == group && object["kind"] == kind.name;
        (version == "v1beta1").then(|| self.kinds.iter().find(fits)).flatten()
    }

    /// A webhook's answer. A failed request is repeated, as the API server repeats it: this runtime does not run
    /// between two calls, so a connection that the other end closed meanwhile still looks open. After five failures
    /// the panic quotes the managers' last log lines.
    async fn ask(&self, url: &str, review: &Value) -> Value {
        let mut said = String::new();
        for _ in 0..5 {
            let asked = async { self.client.post(url).json(review).send().await?.json().await };
            match tokio::time::timeout(Duration::from_secs(60), asked).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(failed)) => said = format!("{failed:?}"),
                Err(_) => said = "no answer within a minute".to_owned(),
            }
            println!("{url}: {said}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("{url} does not answer: {said}\n{}", last_words(&self.logs));
    }

    /// What the webhook makes of an object, or what it says.
    pub(super) fn convert(&self, kind: &Kind, object: &Value, to: &str) -> Result<Value, String> {
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {"uid": "one", "desiredAPIVersion": to, "objects": [object]},
        });
        let answer = self.runtime.block_on(self.ask(&kind.url, &review));
        let response = &answer["response"];
        if response["result"]["status"] == "Success" {
            Ok(response["convertedObjects"][0].clone())
        } else {
            Err(response["result"]["message"].as_str().unwrap_or_default().to_owned())
        }
    }
}
