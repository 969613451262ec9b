//! A `clusterctl.yaml`, or any flat file of `KEY: value`, as values of an inventory.
//!
//! clusterctl puts values into the template's text, and the result is read as YAML: a quoted `"3"` becomes a
//! number where the template has no quotes. Here values are placed in scalars with their type, so a text that reads as a
//! whole number, or as true or false, becomes that; in quotes, or beside other text, it is the same text
//! again.

use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::RepoPath;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Entry, Node, NodeKind, Scalar, Value, YamlFile};
use serde_json::Map;

use super::credentials::credential;

/// What a file comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The values, in the order of the file.
    pub values: Map<String, Value>,
    /// What a person should look at, each with its place, one sentence without a full stop.
    pub notes: Vec<(Place, String)>,
}

/// What clusterctl keeps in its file besides variables:
/// <https://cluster-api.sigs.k8s.io/clusterctl/configuration>.
const SETTINGS: [&str; 8] =
    ["apiVersion", "kind", "providers", "images", "cert-manager", "overridesFolder", "variables", "metadata"];

/// Reads a file.
///
/// # Errors
/// It is not a YAML mapping, or a key is not a name of a value.
pub fn import(path: &RepoPath, bytes: &[u8]) -> Result<Imported, FileError> {
    let file = YamlFile::read_bytes(bytes).map_err(|error| {
        FileError::new(rules::INVALID_YAML, Place::at(path.clone(), error.position), error.message)
    })?;
    let place = |offset: usize| Place::at(path.clone(), file.position(offset));
    let wrong = |offset: usize, message: String| FileError::new(rules::INVALID_YAML, place(offset), message);
    let document = match file.documents() {
        [document] => document,
        [] => {
            return Err(FileError::new(rules::INVALID_YAML, Place::whole(path.clone()), "the file is empty"));
        }
        [_, second, ..] => {
            let message = "a second document starts here: such a file has one".to_owned();
            return Err(wrong(second.root.span.start, message));
        }
    };
    if let Some(twice) = &document.duplicate_key {
        return Err(wrong(twice.offset, format!("the key `{}` occurs twice", twice.key)));
    }
    let root = &document.root;
    if let Some((offset, message)) = file.misread_key(root) {
        return Err(wrong(offset, message));
    }
    let Some(top) = root.as_mapping() else {
        return Err(wrong(root.span.start, "this is not a mapping of `KEY: value`".to_owned()));
    };
    let mut imported = Imported { values: Map::new(), notes: Vec::new() };
    let own = root.get("variables").and_then(Node::as_mapping);
    let is_variable = |entry: &&Entry| own.is_some() || !SETTINGS.contains(&entry.key.as_str());
    for entry in own.unwrap_or(top).iter().filter(is_variable) {
        if matches!(entry.key.as_str(), "cluster" | "clusters" | "levels") {
            let message = format!(
                "`{}` is not allowed as a name: in templates it is the cluster itself. Rename it",
                entry.key
            );
            return Err(wrong(entry.key_span.start, message));
        }
        let mut note = |message: String| imported.notes.push((place(entry.value.span.start), message));
        let NodeKind::Scalar(scalar) = &entry.value.kind else {
            note(format!(
                "`{}` cannot be the value of a variable and is left out: variables have scalar values",
                entry.key
            ));
            continue;
        };
        if matches!(scalar.reading(), ScalarReading::Null) {
            note(format!("`{}` has no value and is left out", entry.key));
            continue;
        }
        if let Some(sign) = credential(&entry.key, scalar) {
            note(format!(
                "`{}` looks like a credential by {sign} and is left out: put it into the provider's Secret, or into Vault",
                entry.key
            ));
            continue;
        }
        if scalar.text.contains("${") {
            note(format!("`{}` names a variable, but values have no substitution", entry.key));
        }
        let value = match typed(scalar) {
            Value::String(text) => Value::String(escaped(text)),
            value => value,
        };
        if !matches!(value, Value::String(_)) && crate::context::text_of(&value) != scalar.text {
            note(format!(
                "`{}: {}` is read as {value}; for the text, write it in quotes",
                entry.key, scalar.text
            ));
        }
        imported.values.insert(entry.key.clone(), value);
    }
    Ok(imported)
}

/// A text that an inventory reads as itself, and not as an expression (I8).
pub(crate) fn escaped(text: String) -> String {
    if !["{{", "{%"].iter().any(|open| text.contains(open)) {
        return text;
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let open = ["{{", "{%", "{#"].into_iter().find(|open| from.starts_with(open));
        match open {
            Some(open) => out.push_str(&format!("{{{{ '{open}' }}}}")),
            None => out.push('{'),
        }
        rest = from.get(open.map_or(1, str::len)..).unwrap_or_default();
    }
    out + rest
}

/// The value as YAML reads its text where a template has no quotes.
fn typed(scalar: &Scalar) -> Value {
    let value = scalar.value();
    let Value::String(text) = &value else { return value };
    match text.as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match text.parse::<i64>() {
            Ok(number) if number.to_string() == *text => Value::from(number),
            _ => value,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(text: &str) -> Result<(String, Vec<String>), String> {
        let path = RepoPath::parse("clusterctl.yaml").unwrap();
        let imported = import(&path, text.as_bytes()).map_err(|error| error.to_string())?;
        let notes = imported.notes.iter().map(|(place, note)| format!("{place} {note}"));
        Ok((Value::Object(imported.values).to_string(), notes.collect()))
    }

    #[test]
    fn variables_become_values_with_the_type_that_they_have_in_a_template() {
        for (text, values, notes) in [
            (
                "CLUSTER_NAME: peu01\nKUBERNETES_VERSION: v1.28.4\nWORKER_MACHINE_COUNT: 3\nEXP: false\n",
                r#"{"CLUSTER_NAME":"peu01","KUBERNETES_VERSION":"v1.28.4","WORKER_MACHINE_COUNT":3,"EXP":false}"#,
                vec![],
            ),
            // The quotes are gone once clusterctl put the text into the template.
            (
                "A: \"3\"\nB: 'true'\nC: \"1.30\"\nD: \"0644\"\nE: \"no\"\nF: \"-1\"\n",
                r#"{"A":3,"B":true,"C":"1.30","D":"0644","E":"no","F":-1}"#,
                vec![],
            ),
            (
                "A: 1.30\nB: 0644\nC: no\n",
                r#"{"A":1.3,"B":420,"C":false}"#,
                vec![
                    "clusterctl.yaml:1:4 `A: 1.30` is read as 1.3; for the text, write it in quotes",
                    "clusterctl.yaml:2:4 `B: 0644` is read as 420; for the text, write it in quotes",
                    "clusterctl.yaml:3:4 `C: no` is read as false; for the text, write it in quotes",
                ],
            ),
            // clusterctl's own settings are not variables, with or without a mapping of those.
            (
                "providers: [{name: a}]\ncert-manager: {version: v1}\noverridesFolder: /x\nimages: {all: {}}\nA: b\n",
                r#"{"A":"b"}"#,
                vec![],
            ),
            (
                "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: ClusterctlConfig\nproviders: []\nvariables: {A: b, providers: x}\nC: d\n",
                r#"{"A":"b","providers":"x"}"#,
                vec![],
            ),
            (
                "A: [1]\nB:\nC: {d: 1}\nE: ${F}\nOPENSTACK_PASSWORD: x\nBLOCK: |\n  one\n  two\n",
                r#"{"E":"${F}","BLOCK":"one\ntwo\n"}"#,
                vec![
                    "clusterctl.yaml:1:4 `A` cannot be the value of a variable and is left out: variables have scalar values",
                    "clusterctl.yaml:2:3 `B` has no value and is left out",
                    "clusterctl.yaml:3:4 `C` cannot be the value of a variable and is left out: variables have scalar values",
                    "clusterctl.yaml:4:4 `E` names a variable, but values have no substitution",
                    "clusterctl.yaml:5:21 `OPENSTACK_PASSWORD` looks like a credential by its name and is left out: put it into the provider's Secret, or into Vault",
                ],
            ),
            (
                "HTTP_PROXY: http://proxy:3128\nREGISTRY: https://user:hidden@registry.example\nIBMCLOUD_API_KEY: hidden\nKEY: |\n  -----BEGIN PRIVATE KEY-----\n",
                r#"{"HTTP_PROXY":"http://proxy:3128"}"#,
                vec![
                    "clusterctl.yaml:2:11 `REGISTRY` looks like a credential by the form of its value and is left out: put it into the provider's Secret, or into Vault",
                    "clusterctl.yaml:3:19 `IBMCLOUD_API_KEY` looks like a credential by its name and is left out: put it into the provider's Secret, or into Vault",
                    "clusterctl.yaml:4:6 `KEY` looks like a credential by the form of its value and is left out: put it into the provider's Secret, or into Vault",
                ],
            ),
        ] {
            let notes: Vec<String> = notes.into_iter().map(str::to_owned).collect();
            assert_eq!(imported(text), Ok((values.to_owned(), notes)), "{text}");
        }
    }

    #[test]
    fn a_text_with_braces_is_not_an_expression() {
        let text = "x {{ a }} {%- b %} {# c #} {d} {";
        let (values, notes) = imported(&format!("A: '{text}'\n")).unwrap();
        assert_eq!((values.contains("{{ '{{' }}"), notes.len()), (true, 0), "{values}");
        let inventory = crate::testing::inventory(&format!("ClusterDefinition c: {{values: {values}}}\n"));
        let member = crate::values::Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
        assert_eq!(member.values(None).value(), serde_json::json!({"A": text}));
    }

    #[test]
    fn an_invalid_file_is_reported_with_its_place() {
        for (text, expected) in [
            ("", "clusterctl.yaml: the file is empty"),
            ("- a\n", "clusterctl.yaml:1:1: this is not a mapping of `KEY: value`"),
            ("A: b\nA: c\n", "clusterctl.yaml:2:1: the key `A` occurs twice"),
            ("A: b\n---\nB: c\n", "clusterctl.yaml:3:1: a second document starts here: such a file has one"),
            ("A: [\n", "clusterctl.yaml:"),
            (
                "A: b\non: c\n",
                "clusterctl.yaml:2:1: the key `on` has no quotes, so Kubernetes reads it as `true`: write \"on\"",
            ),
            (
                "levels: b\n",
                "clusterctl.yaml:1:1: `levels` is not allowed as a name: in templates it is the cluster itself. Rename it",
            ),
        ] {
            let error = imported(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
