//! Holds exchanges and deliveries against GitHub's own description of its API.
//!
//! `tests/fetch-openapi` puts the descriptions into `target/github`; where they are absent every check says `SKIPPED`
//! and passes. Git over HTTP and pages for people have no description, so they are exempt. So are answers for which a
//! test requested a fault.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use capstan_forge::{Delivery, Exchange, Forge, Surface};
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use super::graphql;

/// Statuses that any operation may answer with, whether its description lists them or not: credentials, limits,
/// what is hidden or malformed, and trouble.
const ANYWHERE: [u16; 10] = [304, 401, 403, 404, 422, 429, 500, 502, 503, 504];

/// Fails unless GitHub's descriptions know every request, response and delivery so far.
pub fn assert_conforms(forge: &Forge) {
    let violations = violations(&forge.exchanges(), &forge.deliveries());
    assert!(violations.is_empty(), "not as GitHub describes it:\n{}", violations.join("\n"));
}

/// What is wrong with exchanges and deliveries, one line each.
pub fn violations(exchanges: &[Exchange], deliveries: &[Delivery]) -> Vec<String> {
    let Some(description) = description() else { return Vec::new() };
    let mut found = Vec::new();
    for exchange in exchanges.iter().filter(|exchange| !exchange.faulted) {
        match exchange.surface {
            Surface::Rest => description.check_exchange(exchange, &mut found),
            Surface::GraphQl => graphql::check_exchange(exchange, &mut found),
            Surface::Git | Surface::Pages => {}
        }
    }
    for delivery in deliveries {
        let payload = serde_json::from_str(&delivery.payload).unwrap();
        description.check_webhook(&delivery.event, delivery.action.as_deref(), &payload, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

/// What is wrong with one webhook payload; `None` where the descriptions are absent.
pub fn webhook_violations(event: &str, action: Option<&str>, payload: &Value) -> Option<Vec<String>> {
    let mut found = Vec::new();
    description()?.check_webhook(event, action, payload, &mut found);
    Some(found)
}

/// A file that `tests/fetch-openapi` fetches.
pub fn fetched(name: &str) -> Option<String> {
    let path = crate::root().join("target/github").join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!(
            "SKIPPED: {} is absent, so nothing is held against it; run tests/fetch-openapi",
            path.display()
        );
    }
    text
}

fn description() -> Option<&'static Description> {
    static DESCRIPTION: OnceLock<Option<Description>> = OnceLock::new();
    DESCRIPTION
        .get_or_init(|| {
            let mut document: Value = serde_json::from_str(&fetched("api.github.com.json")?).unwrap();
            correct(&mut document);
            nullable_as_types(&mut document);
            Some(Description { document, validators: Mutex::new(HashMap::new()) })
        })
        .as_ref()
}

/// The list of installations says that an account is a user *and* an enterprise; the same object elsewhere says *or*.
fn correct(document: &mut Value) {
    let account = document["components"]["schemas"]["installation"]["properties"]["account"].clone();
    let list =
        "/paths/~1app~1installations/get/responses/200/content/application~1json/schema/items/properties";
    document.pointer_mut(list).unwrap()["account"] = account;
}

/// OpenAPI 3.0 says `nullable`, JSON Schema says a type `null`.
fn nullable_as_types(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(nullable_as_types),
        Value::Object(fields) => {
            fields.values_mut().for_each(nullable_as_types);
            if fields.get("nullable") == Some(&json!(true)) {
                fields.remove("nullable");
                make_nullable(fields);
            }
        }
        _ => {}
    }
}

fn make_nullable(schema: &mut Map<String, Value>) {
    if let Some(Value::String(kind)) = schema.get("type") {
        let kinds = json!([kind, "null"]);
        schema.insert("type".to_owned(), kinds);
        if let Some(Value::Array(allowed)) = schema.get_mut("enum")
            && !allowed.contains(&Value::Null)
        {
            allowed.push(Value::Null);
        }
        // A typed schema may still refuse null by its combinators.
        if !["allOf", "anyOf", "oneOf", "$ref"].iter().any(|word| schema.contains_key(*word)) {
            return;
        }
    }
    let own = Value::Object(std::mem::take(schema));
    schema.insert("anyOf".to_owned(), json!([own, {"type": "null"}]));
}

struct Description {
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Description {
    /// The operation for a method and path: its template and its object.
    fn operation(&self, method: &str, path: &str) -> Option<(&str, &Value)> {
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let paths = self.document["paths"].as_object().unwrap();
        let method = method.to_lowercase();
        let matching =
            paths.iter().filter(|(_, item)| item.get(&method).is_some()).filter(|(template, _)| {
                let template: Vec<&str> = template.trim_matches('/').split('/').collect();
                matches(&template, &segments)
            });
        // The template with most words of its own is the one that is meant.
        let best = matching.max_by_key(|(template, _)| {
            (
                template.split('/').filter(|part| !part.starts_with('{')).count(),
                std::cmp::Reverse(template.len()),
            )
        });
        best.map(|(template, item)| (template.as_str(), &item[&method]))
    }

    fn resolve<'a>(&'a self, mut value: &'a Value) -> &'a Value {
        while let Some(reference) = value["$ref"].as_str() {
            value = self.document.pointer(reference.trim_start_matches('#')).unwrap();
        }
        value
    }

    fn check_exchange(&self, exchange: &Exchange, found: &mut Vec<String>) {
        let Exchange { method, path, status, .. } = exchange;
        let name = format!("{method} {path} -> {status}");
        let Some((template, operation)) = self.operation(method, path) else {
            found.push(format!("{name}: GitHub has no such operation"));
            return;
        };
        self.check_query(&name, operation, &exchange.query, found);
        self.check_request(&name, method, template, operation, exchange, found);
        let responses = &operation["responses"];
        let response = responses.get(status.to_string());
        let schema = match response {
            Some(response) => self.resolve(response)["content"]["application/json"].get("schema").cloned(),
            None if ANYWHERE.contains(status) => Some(json!({"$ref": "#/components/schemas/basic-error"})),
            None => {
                found.push(format!("{name}: the description has no such status"));
                return;
            }
        };
        match schema {
            Some(schema) if *status != 304 => {
                let key = format!("{method} {template} {status}");
                self.check(&format!("{name} response"), &key, &schema, &exchange.response, found);
            }
            _ if exchange.response.is_null() || *status >= 400 => {}
            _ => found.push(format!("{name}: a body where the description has none")),
        }
    }

    fn check_query(&self, name: &str, operation: &Value, query: &str, found: &mut Vec<String>) {
        let described: BTreeSet<&str> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|parameter| self.resolve(parameter))
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let parameter = pair.split('=').next().unwrap();
            if !described.contains(parameter) {
                found.push(format!("{name}: no query parameter {parameter:?}, only {described:?}"));
            }
        }
    }

    fn check_request(
        &self,
        name: &str,
        method: &str,
        template: &str,
        operation: &Value,
        exchange: &Exchange,
        found: &mut Vec<String>,
    ) {
        let body = self.resolve(&operation["requestBody"]);
        let Some(schema) = body["content"]["application/json"].get("schema") else {
            if !(exchange.request.is_null() || exchange.request == json!({})) {
                found.push(format!("{name}: the request has a body where the description has none"));
            }
            return;
        };
        if exchange.request.is_null() {
            if body["required"] == json!(true) {
                found.push(format!("{name}: the request has no body"));
            }
            return;
        }
        // What the forge refused for its form is allowed to be malformed.
        if matches!(exchange.status, 400 | 422) {
            return;
        }
        let key = format!("{method} {template} request");
        self.check(&format!("{name} request"), &key, schema, &exchange.request, found);
        let known = self.resolve(schema)["properties"].as_object();
        let alternatives = ["oneOf", "anyOf", "allOf"].iter().any(|word| schema.get(*word).is_some());
        if let (Some(known), Some(sent), false) = (known, exchange.request.as_object(), alternatives) {
            for field in sent.keys().filter(|field| !known.contains_key(*field)) {
                found.push(format!("{name}: the request has a field {field:?} that the description has not"));
            }
        }
    }

    fn check_webhook(&self, event: &str, action: Option<&str>, payload: &Value, found: &mut Vec<String>) {
        let named = action.map_or_else(|| event.to_owned(), |action| format!("{event}-{action}"));
        let key = named.replace('_', "-");
        let content =
            &self.document["x-webhooks"][&key]["post"]["requestBody"]["content"]["application/json"];
        let Some(schema) = content.get("schema") else {
            found.push(format!("webhook {key}: GitHub has no such event"));
            return;
        };
        self.check(&format!("webhook {key}"), &format!("webhook {key}"), schema, payload, found);
    }

    fn check(&self, name: &str, key: &str, schema: &Value, instance: &Value, found: &mut Vec<String>) {
        let validator = self.validator(key, schema);
        for error in validator.iter_errors(instance).take(8) {
            let message: String = error.to_string().chars().take(300).collect();
            found.push(format!("{name}: at {:?}: {message}", error.instance_path().to_string()));
        }
    }

    fn validator(&self, key: &str, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = validators.get(key) {
            return Arc::clone(known);
        }
        let complete = self.with_components(schema);
        // OpenAPI 3.0 is a dialect of an early draft: exclusive bounds are booleans, `$ref` has no neighbours.
        let validator = jsonschema::options()
            .with_draft(Draft::Draft4)
            .should_validate_formats(true)
            // A bot's address, `1+name[bot]@users.noreply.github.com`, is GitHub's own and no address by the book.
            .with_format("email", |text: &str| text.contains('@'))
            .offline()
            .build(&complete)
            .unwrap_or_else(|error| panic!("{key}: {error}"));
        let validator = Arc::new(validator);
        validators.insert(key.to_owned(), Arc::clone(&validator));
        validator
    }

    /// A schema together with the components that it reaches, so that compiling it does not compile all of GitHub.
    fn with_components(&self, schema: &Value) -> Value {
        let mut reached: BTreeMap<String, &Value> = BTreeMap::new();
        let mut open = references(schema);
        while let Some(reference) = open.pop() {
            if reached.contains_key(&reference) {
                continue;
            }
            let target = self.document.pointer(reference.trim_start_matches('#')).unwrap();
            open.extend(references(target));
            reached.insert(reference, target);
        }
        let mut schemas = Map::new();
        for (reference, target) in reached {
            let name = reference.trim_start_matches("#/components/schemas/").to_owned();
            schemas.insert(name, target.clone());
        }
        json!({"allOf": [schema], "components": {"schemas": schemas}})
    }
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether segments fit a template; references and paths may hold slashes.
fn matches(template: &[&str], segments: &[&str]) -> bool {
    match (template, segments) {
        ([], []) => true,
        ([first, template @ ..], [segment, rest @ ..]) => {
            let wide = ["{ref}", "{path}", "{basehead}", "{branch}"].contains(first);
            let fits = first.starts_with('{') || first == segment;
            fits && !segment.is_empty()
                && (matches(template, rest)
                    || (wide && (1..=rest.len()).any(|more| matches(template, &rest[more..]))))
        }
        _ => false,
    }
}

#[cfg(test)]
fn exchange(method: &str, path: &str, request: Value, status: u16, response: Value) -> Exchange {
    Exchange {
        method: method.to_owned(),
        path: path.to_owned(),
        query: String::new(),
        who: "installation 1".to_owned(),
        surface: Surface::Rest,
        request,
        status,
        headers: Vec::new(),
        response,
        faulted: false,
        began: std::time::Instant::now(),
        took: std::time::Duration::ZERO,
    }
}

#[test]
fn what_github_does_not_describe_is_found() {
    if description().is_none() {
        return;
    }
    let cases = [
        (exchange("POST", "/repos/a/b/pulls/1/rebase", Value::Null, 404, json!({})), "no such operation"),
        (exchange("DELETE", "/repos/a/b/git/refs/heads/x/y", Value::Null, 418, json!({})), "no such status"),
        (exchange("DELETE", "/repos/a/b/git/refs/heads/x/y", Value::Null, 204, json!({"a": 1})), "has none"),
        (
            exchange("POST", "/repos/a/b/git/refs", json!({"ref": "refs/heads/x"}), 201, json!({})),
            "\"sha\" is a required property",
        ),
        (
            exchange(
                "POST",
                "/repos/a/b/git/refs",
                json!({"ref": "refs/heads/x", "sha": "1", "force": true}),
                201,
                json!({"ref": "x", "node_id": "x", "url": "not a url", "object": {}}),
            ),
            "field \"force\"",
        ),
    ];
    for (exchange, expected) in cases {
        let found = violations(&[exchange], &[]);
        assert!(found.iter().any(|line| line.contains(expected)), "{expected:?} is not in {found:?}");
    }
}
