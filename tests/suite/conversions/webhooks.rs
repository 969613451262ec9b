//! The conversion webhooks of a plane's managers, and the kinds that they convert.

use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::plane::Plane;

/// A kind that a webhook converts from v1beta1 to v1beta2.
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) name: String,
    /// OpenAPI of v1beta1 and v1beta2.
    pub(super) older: Value,
    pub(super) newer: Value,
    url: String,
}

pub(super) struct Webhooks {
    client: Client,
    runtime: Runtime,
    kinds: Vec<Kind>,
}

/// `/spec/files/3/append` -> `/spec/files/*/append`
pub(super) fn without_indexes(path: &str) -> String {
    let is_index = |step: &str| !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    path.split('/').map(|step| if is_index(step) { "*" } else { step }).collect::<Vec<_>>().join("/")
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
            Some(Kind {
                group: group.to_owned(),
                name: spec["names"]["kind"].as_str()?.to_owned(),
                older: schema("v1beta1")?,
                newer: schema("v1beta2")?,
                url: spec["conversion"]["webhook"]["clientConfig"]["url"].as_str()?.to_owned(),
            })
        });
        let authority = std::fs::read(plane.state().join("pki/ca.crt")).unwrap();
        let authority = Certificate::from_pem(&authority).unwrap();
        Self {
            client: Client::builder().tls_certs_only([authority]).no_proxy().build().unwrap(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            kinds: kinds.collect(),
        }
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.iter()
    }

    /// The kind of an object that stands in v1beta1.
    pub(super) fn kind_of(&self, object: &Value) -> Option<&Kind> {
        let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
        let fits = |kind: &&Kind| kind.group == group && object["kind"] == kind.name;
        (version == "v1beta1").then(|| self.kinds.iter().find(fits)).flatten()
    }

    /// What the webhook makes of an object, or what it says.
    pub(super) fn convert(&self, kind: &Kind, object: &Value, to: &str) -> Result<Value, String> {
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {"uid": "one", "desiredAPIVersion": to, "objects": [object]},
        });
        let answer: Value = self.runtime.block_on(async {
            let answer = self.client.post(&kind.url).json(&review).send().await.unwrap();
            answer.json().await.unwrap()
        });
        let response = &answer["response"];
        if response["result"]["status"] == "Success" {
            Ok(response["convertedObjects"][0].clone())
        } else {
            Err(response["result"]["message"].as_str().unwrap_or_default().to_owned())
        }
    }
}
