//! What `deploy/` has.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::root;

/// A file or folder of `deploy/`.
pub fn deployed(path: &str) -> PathBuf {
    root().join("deploy").join(path)
}

pub fn read(path: &str) -> String {
    fs::read_to_string(deployed(path)).unwrap()
}

/// The documents of a YAML text, without those that hold nothing.
pub fn documents(text: &str) -> Vec<Value> {
    let documents = format!("\n{text}");
    let documents =
        documents.split("\n---").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

/// The documents of a kind.
pub fn of_kind(documents: &[Value], kind: &str) -> Value {
    let found: Vec<&Value> = documents.iter().filter(|document| document["kind"] == kind).collect();
    let [one] = found.as_slice() else { panic!("{} are of kind {kind}", found.len()) };
    (*one).clone()
}

/// The texts of a list.
pub fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}
