//! Providers, rendered: files in, objects out.

mod bad_input;
mod real;
mod sources;
mod stages;
mod steps;

use capstan_model::tree::RepoPath;
use capstan_test_support::Files;
use capstan_yaml::YamlFile;
use serde_json::Value;

use super::{Inputs, RenderedObjects, render};
use crate::images::Overrides;
use crate::set::ProviderSet;
use crate::variables::VariableValues;

/// A provider of our own, from ConfigMaps of the set.
const PROVIDER: &str = "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {name: acme, namespace: acme-system}
spec:
  fetchConfig: {selector: {matchLabels: {for: acme}}}
";

const METADATA: &str =
    "releaseSeries: [{major: 1, minor: 0, contract: v1beta2}, {major: 1, minor: 1, contract: v1beta1}]";

/// A ConfigMap of version v1.0.0 with these components.
fn config_map(components: &str) -> String {
    let indented: String = components.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: v1.0.0, namespace: acme-system, labels: {{for: acme}}}}\ndata:\n  metadata: \"{METADATA}\"\n  components: |\n{indented}"
    )
}

/// Everything that is rendered, or everything that is said of it.
fn tried(
    files: &[(&str, &str)],
    variables: &[(&str, &str)],
    configuration: Option<&str>,
) -> Result<Vec<RenderedObjects>, String> {
    of_tree(&Files::new(files), variables, configuration)
}

fn of_tree(
    tree: &Files,
    variables: &[(&str, &str)],
    configuration: Option<&str>,
) -> Result<Vec<RenderedObjects>, String> {
    let mut values = VariableValues::default();
    variables.iter().for_each(|(name, value)| values.insert(*name, *value));
    let configuration = configuration.map(|text| Overrides::of_configuration(text).unwrap());
    let joined = |all: Vec<String>| all.join("\n");
    let set = ProviderSet::read(tree, &RepoPath::root())
        .map_err(|refused| joined(refused.iter().map(ToString::to_string).collect()))?;
    let inputs = Inputs { tree, set: &set, variables: &values, configuration: configuration.as_ref() };
    let all: Vec<_> = set.providers().iter().map(|provider| render(provider, inputs)).collect();
    let refused: Vec<String> = all.iter().filter_map(|one| Some(one.as_ref().err()?.to_string())).collect();
    if refused.is_empty() {
        Ok(all.into_iter().filter_map(Result::ok).collect())
    } else {
        Err(joined(refused))
    }
}

/// The objects against what is written by hand as YAML documents.
fn expect(objects: &[Value], expected: &str) {
    let file = YamlFile::read(expected).unwrap();
    let wanted: Vec<Value> = file.documents().iter().map(|document| document.root.value()).collect();
    let shown = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    assert_eq!(
        objects.iter().map(shown).collect::<Vec<_>>().join("\n"),
        wanted.iter().map(shown).collect::<Vec<_>>().join("\n")
    );
}
