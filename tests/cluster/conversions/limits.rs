//! What definitions refuse: `validate` and the API server with Cluster API's own definitions and webhooks judge the same
//! objects. What upgrades write comes first, as it is; then each object with one place of it spoilt.
//!
//! *Left out of the comparison*: what only a rule in CEL or a validating webhook refuses; `validate` knows neither.

use std::collections::BTreeMap;

use kube::Client;
use serde_json::{Map, Value, json};

use super::compare::{fill, prune};
use super::webhooks::{Kind, Webhooks};
use super::{convert, real_objects};
use capstan_test_parts::plane::Plane;
use capstan_test_parts::sandbox::Sandbox;
use capstan_test_support::random::Random;

/// How many objects are spoilt.
const SPOILT: usize = 200;

/// The rules that speak of definitions.
const RULES: [&str; 3] = ["invalid-value", "wrong-type", "unknown-field"];

/// What the API server says to an object.
#[derive(Debug, PartialEq)]
enum Verdict {
    Taken,
    /// Its definition refuses it, for each of these reasons.
    Refused(Vec<String>),
    /// A webhook or a rule in CEL alone refuses it.
    Beyond(String),
}

pub(super) async fn are_those_of_the_api_server(plane: &Plane, webhooks: &Webhooks, random: &mut Random) {
    let server = Server { client: plane.client().await, webhooks };
    let written: Vec<Value> = written().iter().filter_map(|object| server.object(object)).collect();
    assert!(written.len() >= 60, "only {} objects that upgrades write", written.len());
    let verdicts = server.all(&written).await;
    let wrong = differences(&written, &verdicts);
    let taken: Vec<&Value> = written
        .iter()
        .zip(&verdicts)
        .filter(|(_, said)| **said == Verdict::Taken)
        .map(|(it, _)| it)
        .collect();
    println!("limits: of {} objects that upgrades write the API server takes {}", written.len(), taken.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(taken.len() >= 40, "only {} are taken: {verdicts:?}", taken.len());

    let spoilt: Vec<Value> = (0..SPOILT)
        .map(|turn| {
            let object = taken[turn % taken.len()];
            spoil(random, object, &server.kind(object).unwrap().newer)
        })
        .collect();
    let verdicts = server.all(&spoilt).await;
    let refused = verdicts.iter().filter(|said| matches!(said, Verdict::Refused(_))).count();
    let beyond = verdicts.iter().filter(|said| matches!(said, Verdict::Beyond(_))).count();
    println!("limits: of {SPOILT} spoilt objects definitions refuse {refused}, webhooks and CEL {beyond}");
    assert!(refused >= SPOILT / 4, "only {refused} are refused");
    let wrong = differences(&spoilt, &verdicts);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What upgrades write: by hand in the cases, and the real objects in Cluster API's newer version.
fn written() -> Vec<Value> {
    let mut objects = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"))];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let is_written = path.components().any(|step| step.as_os_str() == "expected");
            if path.is_dir() {
                folders.push(path);
            } else if is_written
                && let Ok(file) = capstan_yaml::YamlFile::read_bytes(&std::fs::read(&path).unwrap())
            {
                objects.extend(file.documents().iter().map(|document| document.root.value()));
            }
        }
    }
    for object in real_objects() {
        let group = object["apiVersion"].as_str().and_then(|version| version.split_once('/'));
        let Some((group, "v1beta1")) = group else { continue };
        objects.extend(convert(&object, &format!("{group}/v1beta2")).ok());
    }
    objects
}

struct Server<'a> {
    client: Client,
    webhooks: &'a Webhooks,
}

impl Server<'_> {
    fn kind(&self, object: &Value) -> Option<&Kind> {
        let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
        let mut kinds = self.webhooks.kinds();
        kinds.find(|kind| version == "v1beta2" && kind.group == group && object["kind"] == kind.name.as_str())
    }

    /// An object as it is asked about: in one namespace, and without variables.
    fn object(&self, object: &Value) -> Option<Value> {
        let kind = self.kind(object)?;
        object["spec"].is_object().then_some(())?;
        let mut object = bound(&fill(&prune(object, &kind.newer), &kind.newer));
        object["metadata"] = json!({"name": "one", "namespace": "default"});
        Some(object)
    }

    async fn all(&self, objects: &[Value]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for object in objects {
            verdicts.push(self.ask(object).await);
        }
        verdicts
    }

    async fn ask(&self, object: &Value) -> Verdict {
        let kind = self.kind(object).unwrap();
        let url = format!("/apis/{}/v1beta2/namespaces/default/{}?dryRun=All", kind.group, kind.plural);
        let request = http::Request::post(url)
            .header("content-type", "application/json")
            .body(serde_json::to_vec(object).unwrap())
            .unwrap();
        let refused = match self.client.request::<Value>(request).await {
            Ok(_) => return Verdict::Taken,
            Err(kube::Error::Api(refused)) => refused,
            Err(failed) => panic!("{failed}"),
        };
        let causes = refused.details.iter().flat_map(|details| &details.causes);
        let causes: Vec<String> = causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let is_of_webhook = refused.message.contains("admission webhook");
        let by_definition = |cause: &String| !kind.rules.iter().any(|rule| cause.contains(rule.as_str()));
        let reasons: Vec<String> = causes.into_iter().filter(by_definition).collect();
        if is_of_webhook || reasons.is_empty() && refused.reason == "Invalid" {
            Verdict::Beyond(refused.message.clone())
        } else if reasons.is_empty() {
            Verdict::Refused(vec![refused.message.clone()])
        } else {
            Verdict::Refused(reasons)
        }
    }
}

/// With a text in the place of every variable in a text.
fn bound(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), bound(value))).collect())
        }
        Value::Array(items) => items.iter().map(bound).collect(),
        Value::String(text) => {
            let (mut rest, mut whole) = (text.as_str(), String::new());
            while let Some((before, after)) = rest.split_once("${") {
                whole.push_str(before);
                whole.push_str("a1");
                rest = after.split_once('}').map_or("", |(_, rest)| rest);
            }
            json!(whole + rest)
        }
        other => other.clone(),
    }
}

/// Where `validate` and the API server differ.
fn differences(objects: &[Value], verdicts: &[Verdict]) -> Vec<String> {
    let files: Vec<(String, String)> = objects
        .iter()
        .enumerate()
        .flat_map(|(at, object)| {
            let folder = format!("customer/c{at:04}");
            [
                (format!("{folder}/base/object.yaml"), object.to_string()),
                (format!("{folder}/capstan.yaml"), "track: none\n".to_owned()),
            ]
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let sandbox = Sandbox::with(&files);
    let said = sandbox.capstan(&["validate", "-o", "json"]);
    let findings: Vec<Value> = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    let mut ours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for finding in &findings {
        let is_of_definition = RULES.iter().any(|rule| finding["rule"] == *rule);
        if is_of_definition && let Some(file) = finding["file"].as_str() {
            ours.entry(file).or_default().push(finding["message"].as_str().unwrap());
        }
    }
    let told = objects.iter().zip(verdicts).enumerate().filter_map(|(at, (object, verdict))| {
        let ours = ours.get(format!("customer/c{at:04}/base/object.yaml").as_str());
        match (ours, verdict) {
            (None, Verdict::Refused(reasons)) => {
                Some(format!("the API server alone refuses: {}\n  {object}", reasons.join("; ")))
            }
            (Some(ours), Verdict::Taken) => {
                Some(format!("`validate` alone refuses: {}\n  {object}", ours.join("; ")))
            }
            _ => None,
        }
    });
    told.collect()
}

/// An object with one place of its spec spoilt.
fn spoil(random: &mut Random, object: &Value, schema: &Value) -> Value {
    let mut places = Vec::new();
    collect(&object["spec"], &schema["properties"]["spec"], "/spec", &mut places);
    let (pointer, schema) = random.pick(&places).clone();
    let mut object = object.clone();
    if random.percent(30)
        && let Some((parent, name)) = pointer.rsplit_once('/')
        && let Some(fields) = object.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        fields.remove(&name.replace("~1", "/").replace("~0", "~"));
        return object;
    }
    let value = object.pointer_mut(&pointer).unwrap();
    *value = match schema["type"].as_str() {
        Some("object") => random.pick(&[json!({}), json!([]), json!("x")]).clone(),
        Some("array") => {
            let item = value.get(0).cloned().unwrap_or(json!({}));
            let many = Value::Array(vec![item.clone(); 1_100]);
            random.pick(&[json!([]), json!({}), many, json!([null]), json!([{}])]).clone()
        }
        Some("integer" | "number") => random
            .pick(&[json!(-1), json!(0), json!(70_000), json!(4_000_000_000_u64), json!("1"), json!(1.5)])
            .clone(),
        Some("boolean") => random.pick(&[json!("true"), json!(1), json!(false)]).clone(),
        _ => random
            .pick(&[
                json!(""),
                json!("a b: c"),
                json!("x".repeat(300)),
                json!("Nonsense"),
                json!(1),
                json!({"a": "b"}),
            ])
            .clone(),
    };
    object
}

/// Every place of a value that its schema describes.
fn collect<'s>(value: &Value, schema: &'s Value, at: &str, found: &mut Vec<(String, &'s Value)>) {
    if !schema["type"].is_string() {
        return;
    }
    found.push((at.to_owned(), schema));
    let none = Map::new();
    for (name, value) in value.as_object().unwrap_or(&none) {
        let listed = &schema["properties"][name];
        let below = if listed.is_null() { &schema["additionalProperties"] } else { listed };
        let name = name.replace('~', "~0").replace('/', "~1");
        collect(value, below, &format!("{at}/{name}"), found);
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        collect(item, &schema["items"], &format!("{at}/{index}"), found);
    }
}
