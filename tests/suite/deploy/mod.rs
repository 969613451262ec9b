//! What lies in `deploy/`: the kustomizations and the chart say the same, a real API server takes it, the programs start
//! as it says, and what it watches is what they tell.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic is how tests fail, and they say aloud what they skip"
)]

mod chart;
mod chart_source;
mod helm;
mod image;
mod manifests;
pub(crate) mod metrics;
mod running;
mod tenants;
mod unit;
mod watching;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file or folder of `deploy/`.
pub(crate) fn deployed(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(path)
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(deployed(path)).unwrap()
}

/// The documents of a YAML text, without those that hold nothing.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let documents = format!("\n{text}");
    let documents =
        documents.split("\n---").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

/// The documents of a kind.
pub(crate) fn of_kind(documents: &[Value], kind: &str) -> Value {
    let found: Vec<&Value> = documents.iter().filter(|document| document["kind"] == kind).collect();
    let [one] = found.as_slice() else { panic!("{} are of kind {kind}", found.len()) };
    (*one).clone()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}
