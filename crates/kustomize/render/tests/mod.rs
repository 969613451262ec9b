//! Rendering, case by case: files in, objects out.

mod budgets;
mod corpus;
mod kustomize;
mod plain;
mod reading;
mod transformers;
mod vars;

use serde_json::Value;

use super::{Folders, RenderError, RenderedFolder, render};
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

fn folders(cluster: &str) -> Folders {
    let path = |path: String| RepoPath::parse(&path).unwrap();
    Folders {
        cluster: path(cluster.to_owned()),
        base: path(format!("{cluster}/base")),
        overlay: path(format!("{cluster}/overlay")),
    }
}

fn try_render(files: &[(&str, &str)]) -> Result<RenderedFolder, RenderError> {
    render(&Files::new(files), &folders("c"))
}

fn rendered(files: &[(&str, &str)]) -> RenderedFolder {
    try_render(files).unwrap()
}

/// The values of a render, against what is written by hand as YAML documents.
fn expect(rendered: &RenderedFolder, expected: &str) {
    let values: Vec<&Value> = rendered.objects.iter().map(|object| &object.value).collect();
    let file = capstan_yaml::YamlFile::read(expected).unwrap();
    let wanted: Vec<Value> = file.documents().iter().map(|document| document.root.value()).collect();
    let shown = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    assert_eq!(
        values.iter().map(|value| shown(value)).collect::<Vec<_>>().join("\n"),
        wanted.iter().map(shown).collect::<Vec<_>>().join("\n")
    );
}

/// Where an error is, and what it says.
fn refusal(files: &[(&str, &str)]) -> String {
    let error = try_render(files).unwrap_err();
    let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    format!(
        "{}:{}:{}: {error}",
        error.place().file(),
        number(error.place().line()),
        number(error.place().column())
    )
}

fn lost(rendered: &RenderedFolder) -> Vec<String> {
    rendered
        .patches
        .iter()
        .filter_map(|patch| {
            let reason = patch.lost.as_ref()?;
            let position = patch.place.position();
            Some(format!("{}:{}:{}: {reason}", patch.place.file(), position.line, position.column))
        })
        .collect()
}

const DEPLOYMENT: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: md-0
  namespace: org
spec:
  replicas: 2
  template:
    spec:
      version: v1.29.4
";
