//! The same templates by Python's Jinja2 and by Capstan: equal objects, or a refusal that names the construct.
//!
//! Jinja2's result for each (3.1.6, read as YAML) is in `expected.json`, and is compared with Jinja2 itself
//! where it is installed. `REFUSED` lists what differs by contract.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::{SourceText, Templates, file, inventory};
use crate::templates::Cluster;
use crate::values::Member;
use capstan_model::tree::RepoPath;

const CASES: &str = include_str!("jinja/cases.txt");
const EXPECTED: &str = include_str!("jinja/expected.json");
const PROGRAM: &str = include_str!("jinja/jinja.py");
const PART: &str = include_str!("jinja/_part.yaml");
const MACROS: &str = include_str!("jinja/_macros.yaml");
/// The values of all cases, as YAML that is JSON.
const VALUES: &str = include_str!("jinja/values.json");

/// Cases that Capstan refuses, with a part of what it says.
const REFUSED: &[(&str, &str)] = &[
    // What an expression gives never becomes structure, its own literals included.
    ("separators that are literals", "`, ` comes from an expression"),
    ("brackets that are literals", "`[` comes from an expression"),
];

fn cases() -> BTreeMap<&'static str, String> {
    let parts = CASES.split("%%%% ").skip(1);
    parts.map(|part| part.split_once('\n').map(|(name, text)| (name, text.to_owned())).unwrap()).collect()
}

/// The documents that a template comes to, each without its head.
fn rendered(template: &str) -> Result<Vec<serde_json::Value>, String> {
    let head = |at: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: of-{at}}}\n");
    let documents = template.split("---\n").enumerate().map(|(at, text)| format!("{}{text}", head(at)));
    let text = documents.collect::<Vec<_>>().join("---\n");
    let folder = RepoPath::parse("r/v1.0.0/templates").unwrap();
    let files: Vec<SourceText> = [("a.yaml", text.as_str()), ("_part.yaml", PART), ("_macros.yaml", MACROS)]
        .into_iter()
        .map(|(name, text)| file(&format!("{folder}/{name}"), text))
        .collect();
    let told = |findings: Vec<capstan_model::finding::Finding>| crate::testing::lines(&findings).join("\n");
    let templates = Templates::read(&folder, &files).map_err(told)?;
    let values = VALUES.replace('\n', " ");
    let inventory = inventory(&format!("ClusterDefinition c: {{values: {values}}}\n"));
    let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
    let folder = RepoPath::parse("c").unwrap();
    let cluster = Cluster { name: "c", folder: &folder, levels: &member.levels, clusters: None };
    let rendered = templates.render(cluster, &member.values(None)).map_err(told)?;
    let objects = rendered.files.iter().flat_map(|file| &file.objects);
    let value = |object: &crate::templates::RenderedObject| {
        let mut value = object.node.value();
        value
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !["apiVersion", "kind", "metadata"].contains(&key.as_str()));
        value
    };
    Ok(objects.map(value).collect())
}

#[test]
fn templates_written_for_jinja_come_to_the_same_objects() {
    let expected: BTreeMap<String, Vec<serde_json::Value>> = serde_json::from_str(EXPECTED).unwrap();
    let cases = cases();
    assert!(
        cases.len() >= 60 && cases.len() == expected.len(),
        "{} cases, {} expected",
        cases.len(),
        expected.len()
    );
    let mut differ = Vec::new();
    for (name, template) in &cases {
        let refused = REFUSED.iter().find(|(refused, _)| refused == name);
        match (rendered(template), refused) {
            (Err(why), Some((_, part))) if why.contains(part) => {}
            (Ok(found), None) if found == expected[*name] => {}
            (found, _) => differ.push(format!("{name}: {found:?}\n  Jinja2: {:?}", expected[*name])),
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn what_is_expected_is_what_jinja_makes() {
    let python = Command::new("python3").args(["-c", "import jinja2, yaml"]).stderr(Stdio::null()).status();
    if !python.is_ok_and(|status| status.success()) {
        println!("SKIPPED: there is no python3 with jinja2 and PyYAML here");
        return;
    }
    let input = serde_json::json!({
        "cases": cases(),
        "values": serde_json::from_str::<serde_json::Value>(VALUES).unwrap(),
        "files": {"_part.yaml": PART, "_macros.yaml": MACROS},
    });
    let mut python = Command::new("python3")
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).unwrap();
    assert_eq!(made, expected);
}
