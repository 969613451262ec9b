//! `<cluster>/capstan-values.yaml`: the values that a cluster's base was made from (I9).

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::digest::sha256;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{RepoPath, TreeId};
use capstan_yaml::{Node, Value, YamlFile, write};
use serde_json::{Map, json};

use super::kinds::API_VERSION;
use super::merge::MergedValue;
use super::origin::{InventoryLevel, InventoryOrigin, LevelKind};
use super::values::ClusterValues;

/// Name of the file in a cluster's folder.
pub const FILE: &str = "capstan-values.yaml";

/// Everything that a render saw besides the release.
#[derive(Debug, Clone, PartialEq)]
pub struct ValuesRecord {
    /// The name of the definition.
    pub definition: String,
    /// The names of its levels.
    pub levels: BTreeMap<LevelKind, String>,
    /// The components and the Git trees that they were.
    pub components: Vec<(RepoPath, TreeId)>,
    /// The values: merged, defaults included, expressions evaluated.
    pub values: Value,
}

impl ValuesRecord {
    /// SHA-256 of the canonical JSON of all of it, in 64 hex digits.
    pub fn digest(&self) -> String {
        sha256(canonical(self.content()))
    }

    fn content(&self) -> Value {
        let levels: Map<String, Value> = self
            .levels
            .iter()
            .map(|(level, name)| (level.word().to_owned(), Value::String(name.clone())))
            .collect();
        let components: Vec<Value> = self
            .components
            .iter()
            .map(|(path, tree)| json!({"path": path.as_str(), "tree": tree.as_str()}))
            .collect();
        json!({
            "definition": self.definition,
            "levels": levels,
            "components": components,
            "values": self.values,
        })
    }

    /// The values as templates see them. All of them are in the record, which is at `path`.
    pub fn cluster_values(&self, path: &RepoPath) -> ClusterValues {
        let file = YamlFile::default();
        let (kind, name) = (LevelKind::ClusterDefinition, self.definition.clone());
        let level = Arc::new(InventoryLevel { kind, name, path: path.clone(), file });
        ClusterValues {
            merged: MergedValue::of_value(&self.values, &InventoryOrigin::new(level, 0)),
            dependencies: BTreeMap::new(),
            findings: Vec::new(),
            steps: 0,
        }
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let name = self.definition.as_str();
        let mut file = json!({
            "apiVersion": API_VERSION,
            "kind": "ClusterValues",
            "metadata": {"name": name, "annotations": {"config.kubernetes.io/local-config": "true"}},
        });
        if let (Some(file), Value::Object(content)) = (file.as_object_mut(), self.content()) {
            file.extend(content);
            file.insert("digest".to_owned(), Value::String(self.digest()));
        }
        write(&Node::from_value(&file))
    }

    /// Reads a record.
    ///
    /// # Errors
    /// It cannot be read, or is not what Capstan wrote.
    pub fn read(path: &RepoPath, bytes: &[u8]) -> Result<Self, FileError> {
        let wrong = |place: Place, what: &str| {
            let message = format!(
                "{what}: only Capstan writes this file. Restore it from before the commit that changed it, and change the values in the inventory"
            );
            FileError::new(rules::VALUES_EDITED, place, message)
        };
        let whole = || Place::whole(path.clone());
        let file = YamlFile::read_bytes(bytes)
            .map_err(|error| wrong(Place::at(path.clone(), error.position), "this is not YAML"))?;
        let [document] = file.documents() else { return Err(wrong(whole(), "this is not one document")) };
        let root = &document.root;
        let at = |key: &str| {
            let offset = root.get(key).unwrap_or(root).span.start;
            Place::at(path.clone(), file.position(offset))
        };
        if root.text_at("apiVersion") != Some(API_VERSION) || root.text_at("kind") != Some("ClusterValues") {
            return Err(wrong(at("kind"), "this is not a ClusterValues object"));
        }
        let record = Self::of(root).map_err(|key| wrong(at(key), &format!("`{key}` is not what it was")))?;
        if root.text_at("digest") != Some(record.digest().as_str()) {
            return Err(wrong(at("digest"), "the digest does not match the values"));
        }
        Ok(record)
    }

    fn of(root: &Node) -> Result<Self, &'static str> {
        let definition = root.text_at("definition").ok_or("definition")?.to_owned();
        let mut levels = BTreeMap::new();
        for entry in root.get("levels").and_then(Node::as_mapping).ok_or("levels")? {
            let level = LevelKind::of_word(&entry.key).ok_or("levels")?;
            levels.insert(level, entry.value.as_str().ok_or("levels")?.to_owned());
        }
        let mut components = Vec::new();
        for item in root.get("components").and_then(Node::as_sequence).ok_or("components")? {
            let path =
                item.text_at("path").and_then(|path| RepoPath::parse(path).ok()).ok_or("components")?;
            let tree = item.text_at("tree").and_then(|tree| TreeId::parse(tree).ok()).ok_or("components")?;
            components.push((path, tree));
        }
        let values =
            root.get("values").filter(|values| values.as_mapping().is_some()).ok_or("values")?.value();
        Ok(Self { definition, levels, components, values })
    }
}

/// JSON with sorted keys and without blanks.
fn canonical(mut value: Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::lines;

    fn record() -> ValuesRecord {
        ValuesRecord {
            definition: "peu01".to_owned(),
            levels: BTreeMap::from([(LevelKind::Environment, "prod".to_owned())]),
            components: vec![(
                RepoPath::parse("components/audit").unwrap(),
                TreeId::parse(&"a".repeat(40)).unwrap(),
            )],
            values: json!({"z": "yes", "a": [1, {"b": "0644"}], "cert": "x\ny\n"}),
        }
    }

    #[test]
    fn a_record_is_written_and_read_again() {
        let text = record().text();
        assert_eq!(
            text,
            format!(
                "apiVersion: capstan.dev/v1alpha1\nkind: ClusterValues\nmetadata:\n  name: peu01\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndefinition: peu01\nlevels:\n  environment: prod\ncomponents:\n- path: components/audit\n  tree: {}\nvalues:\n  z: \"yes\"\n  a:\n  - 1\n  - b: \"0644\"\n  cert: |\n    x\n    y\ndigest: {}\n",
                "a".repeat(40),
                record().digest()
            )
        );
        let path = RepoPath::parse("acme/peu01/capstan-values.yaml").unwrap();
        assert_eq!(ValuesRecord::read(&path, text.as_bytes()), Ok(record()));
    }

    #[test]
    fn the_digest_is_that_of_sorted_json_without_blanks() {
        assert_eq!(
            canonical(record().content()),
            format!(
                r#"{{"components":[{{"path":"components/audit","tree":"{}"}}],"definition":"peu01","levels":{{"environment":"prod"}},"values":{{"a":[1,{{"b":"0644"}}],"cert":"x\ny\n","z":"yes"}}}}"#,
                "a".repeat(40)
            )
        );
        let mut turned = record();
        turned.values = json!({"cert": "x\ny\n", "a": [1, {"b": "0644"}], "z": "yes"});
        assert_eq!(turned.digest(), record().digest());
    }

    #[test]
    fn an_edited_record_is_found() {
        let path = RepoPath::parse("c/capstan-values.yaml").unwrap();
        let text = record().text();
        for (edited, place, said) in [
            (
                text.replace("- 1", "- 2"),
                "c/capstan-values.yaml:21:9",
                "the digest does not match the values",
            ),
            (
                text.replace("prod", "test"),
                "c/capstan-values.yaml:21:9",
                "the digest does not match the values",
            ),
            (
                text.replace("environment: prod", "enviroment: prod"),
                "c/capstan-values.yaml:9:3",
                "`levels` is not what it was",
            ),
            (
                text.replace("ClusterValues", "ClusterValue"),
                "c/capstan-values.yaml:2:7",
                "this is not a ClusterValues object",
            ),
            (text.replace("levels:", "levels: ["), "c/capstan-values.yaml:", "this is not YAML"),
        ] {
            let error = ValuesRecord::read(&path, edited.as_bytes()).unwrap_err();
            let found = lines(&[(&error).into()]);
            assert!(
                found[0].starts_with(&format!("values-edited {place}")) && found[0].contains(said),
                "{found:?}"
            );
        }
    }
}
