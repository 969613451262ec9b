//! Every release's templates, tried on examples: those of its schema (`example`), and the files in its `examples/`.
//!
//! A release without an example is read and not rendered: the optional values that inventories use are
//! unknown here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::finding::{Finding, Place, Severity, rules};
use capstan_model::ids::ReleaseId;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::{Entry, Node, NodeKind, YamlFile};

use super::kinds::Object;
use super::origin::{InventoryLevel, LevelKind};
use super::schema::{self, ReleaseSchema, ValueSchema};
use super::steps::Steps;
use super::survey::ReleaseParts;
use super::templates::{self, Cluster, Subordinate, Templates};
use super::unknown::unknown_values;
use super::values::{Member, Wishes};

/// Name of the folder in a release's.
pub const FOLDER: &str = "examples";

/// The name of the cluster that is rendered, and of all that it belongs to.
const NAME: &str = "example";

/// Tries every release of a snapshot that has a schema or templates.
pub fn judge(tree: &dyn Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut steps = Steps::default();
    for (release, folder) in releases(tree) {
        let parts = ReleaseParts::read(tree, &release);
        findings.extend(parts.findings.iter().cloned());
        let entries = folder.join(FOLDER).map(|folder| tree.entries_in(&folder)).unwrap_or_default();
        let (examples, unreadable) = examples(tree, entries, parts.schema.as_ref());
        findings.extend(unreadable);
        for example in &examples {
            if steps.are_used_up() {
                findings.extend(steps.tell("this example", example.level.place(example.offset)));
                break;
            }
            let before = parts.templates.as_ref().map_or(0, Templates::steps);
            findings.extend(tried(example, &parts, &mut steps));
            steps.add(parts.templates.as_ref().map_or(0, Templates::steps) - before);
        }
    }
    let mut seen = BTreeSet::new();
    findings.retain(|finding| seen.insert((finding.rule, finding.place.clone(), finding.message.clone())));
    findings
}

/// Folders named like a version that hold a schema or templates, by the release's id; an archived one only where no other
/// has the id.
fn releases(tree: &dyn Tree) -> BTreeMap<ReleaseId, RepoPath> {
    let mut found: BTreeMap<ReleaseId, RepoPath> = BTreeMap::new();
    let folders: BTreeSet<RepoPath> = tree.entries().iter().filter_map(folder_of).collect();
    for folder in folders {
        let release = ReleaseId::from_path(folder.as_str());
        if release.version().is_some()
            && (release.as_str() == folder.as_str() || !found.contains_key(&release))
        {
            found.insert(release, folder);
        }
    }
    found
}

/// The folder whose schema or template a file is.
fn folder_of(entry: &TreeEntry) -> Option<RepoPath> {
    if !entry.is_file() {
        return None;
    }
    if entry.path.name() == schema::FILE {
        return entry.path.parent();
    }
    let mut above = std::iter::successors(entry.path.parent(), RepoPath::parent);
    above.find(|folder| folder.name() == templates::FOLDER)?.parent()
}

/// Values to try, as the one object of an inventory that says some.
fn examples(
    tree: &dyn Tree,
    entries: &[TreeEntry],
    schema: Option<&ReleaseSchema>,
) -> (Vec<Object>, Vec<Finding>) {
    let mut examples = Vec::new();
    let mut findings = Vec::new();
    if let Some((schema, values)) = schema.and_then(|schema| Some((schema, example_of(&schema.root)?))) {
        examples.push(object(&schema.level.path, &schema.level.file, values));
    }
    for entry in entries.iter().filter(|entry| entry.is_file() && is_manifest(&entry.path)) {
        let whole = || Place::whole(entry.path.clone());
        let mut wrong = |rule, place: Place, message: String| {
            findings.push(Finding::new(rule, message).place(place));
        };
        let bytes = match tree.read(entry) {
            Ok(bytes) => bytes,
            Err(unreadable) => {
                wrong(
                    rules::UNREADABLE_FILE,
                    whole(),
                    format!("this file cannot be read: {}", unreadable.reason),
                );
                continue;
            }
        };
        match YamlFile::read_bytes(&bytes) {
            Err(error) => {
                wrong(rules::INVALID_YAML, Place::at(entry.path.clone(), error.position), error.message)
            }
            Ok(file) => match file.documents() {
                [document] if document.root.as_mapping().is_some() => {
                    match file.misread_key(&document.root) {
                        Some((offset, message)) => {
                            let place = Place::at(entry.path.clone(), file.position(offset));
                            wrong(rules::INVALID_YAML, place, message);
                        }
                        None => examples.push(object(&entry.path, &file, document.root.clone())),
                    }
                }
                _ => {
                    let message = "an example is one mapping of values".to_owned();
                    wrong(rules::INVENTORY_TYPE, whole(), message);
                }
            },
        }
    }
    (examples, findings)
}

/// The example that a schema says of its values: of a mapping that says none itself, what its values say.
fn example_of(schema: &ValueSchema) -> Option<Node> {
    if let Some(example) = &schema.example {
        return Some(example.clone());
    }
    let entry = |(name, schema): &(String, ValueSchema)| {
        let value = example_of(schema)?;
        Some(Entry { key: name.clone(), key_span: value.span.clone(), value })
    };
    let entries: Vec<Entry> = schema.properties.iter().filter_map(entry).collect();
    let span = entries.first()?.value.span.clone();
    Some(Node { span, ..Node::new(NodeKind::Mapping(entries)) })
}

fn object(path: &RepoPath, file: &YamlFile, values: Node) -> Object {
    let level = InventoryLevel {
        kind: LevelKind::ClusterDefinition,
        name: NAME.to_owned(),
        path: path.clone(),
        file: file.clone(),
    };
    Object {
        level: Arc::new(level),
        offset: values.span.start,
        membership: Vec::new(),
        release: None,
        track: None,
        components: Vec::new(),
        values: Some(values),
        finals: Vec::new(),
        folder: None,
        retire: None,
        broken: None,
    }
}

/// What is wrong with a release's templates, or with the example.
fn tried(example: &Object, parts: &ReleaseParts, steps: &mut Steps) -> Vec<Finding> {
    let levels: BTreeMap<LevelKind, String> =
        LevelKind::SHARED.into_iter().map(|level| (level, NAME.to_owned())).collect();
    let member = Member {
        definition: example,
        objects: vec![example],
        levels: levels.clone(),
        wishes: Wishes::default(),
    };
    let mut values = member.values(parts.schema.as_ref());
    steps.add(values.steps);
    // An example replaces all levels.
    values.findings.retain(|finding| finding.rule != rules::INVENTORY_LEVEL);
    let mut findings = std::mem::take(&mut values.findings);
    findings.extend(parts.schema.iter().flat_map(|schema| unknown_values(example, &[schema])));
    let fits = findings.iter().all(|finding| finding.severity() != Severity::Error);
    if let (Some(templates), true) = (&parts.templates, fits) {
        findings.extend(rendered(templates, &levels, &values));
    }
    findings
}

fn rendered(
    templates: &Templates,
    levels: &BTreeMap<LevelKind, String>,
    values: &super::values::ClusterValues,
) -> Vec<Finding> {
    let folder = RepoPath::parse(NAME).unwrap_or_default();
    // Those of a management cluster see others, too; those of a cluster do not ask for them.
    let one = Subordinate {
        name: NAME.to_owned(),
        folder: folder.clone(),
        namespace: Some(NAME.to_owned()),
        levels: levels.clone(),
    };
    let clusters = [one];
    let cluster = Cluster { name: NAME, folder: &folder, levels, clusters: Some(&clusters) };
    templates.render(cluster, values).err().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::lines;
    use capstan_test_support::Files;

    const SCHEMA: &str = "\
type: object
required: [network]
properties:
  version: {type: string, default: v1.30.0, example: v1.33.4}
  network:
    type: object
    properties:
      external: {type: string, example: ext, x-capstan-levels: [site]}
      mtu: {type: integer}
";
    const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ cluster.name }}}\ndata:\n  net: {{ network.external }}\n  site: {{ levels.site.name }}\n";

    fn judged(files: &[(&str, &str)]) -> Vec<String> {
        lines(&judge(&Files::new(files)))
    }

    #[test]
    fn templates_are_tried_on_the_examples_of_the_schema_and_of_the_folder() {
        let (schema, template) = ("os/v1.0.0/schema.yaml", "os/v1.0.0/templates/a.yaml");
        let broken = format!("{TEMPLATE}  mtu: {{{{ network.mtu }}}}\n");
        for (files, expected) in [
            (vec![(schema, SCHEMA), (template, TEMPLATE)], vec![]),
            // Without an example nothing is rendered, but unreadable files are reported.
            (
                vec![
                    (schema, "type: object\nproperties: {a: {type: string}}\n"),
                    (template, "{{ a.b.c }}\n"),
                ],
                vec![],
            ),
            (
                vec![("os/v1.0.0/templates/a.yaml", "{{ a \n")],
                vec!["template-error os/v1.0.0/templates/a.yaml:1:"],
            ),
            (
                vec![(schema, SCHEMA), (template, broken.as_str())],
                vec![
                    "template-error os/v1.0.0/templates/a.yaml:7:11 `network.mtu` is undefined: set it in a level, give it a default in the schema, or write `| default(…)`. Read there: `/network` (os/v1.0.0/schema.yaml:8:41)",
                ],
            ),
            (
                vec![
                    (schema, SCHEMA),
                    (template, TEMPLATE),
                    ("os/v1.0.0/examples/one.yaml", "network: {external: x}\n"),
                    ("os/v1.0.0/examples/two.yml", "network: {externl: x, mtu: big}\n"),
                    ("os/v1.0.0/examples/none.yaml", "version: v1\n"),
                    ("os/v1.0.0/examples/no.yaml", "a: [\n"),
                    ("os/v1.0.0/examples/list.yaml", "- a\n"),
                    ("os/v1.0.0/examples/readme.md", "a: [\n"),
                ],
                vec![
                    "inventory-type os/v1.0.0/examples/list.yaml an example is one mapping of values",
                    "invalid-yaml os/v1.0.0/examples/no.yaml:",
                    "inventory-required os/v1.0.0/examples/none.yaml:1:1 `/network` must be set",
                    "inventory-type os/v1.0.0/examples/two.yml:1:28 `/network/mtu` must be a whole number, found the text `big`",
                    "inventory-unknown-value os/v1.0.0/examples/two.yml:1:11 `/network/externl`: os/v1.0.0 knows no such value; did you mean `external`?",
                ],
            ),
            // A release of a management cluster sees clusters.
            (
                vec![
                    (
                        "mc/v1.0.0/templates/a.yaml",
                        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: {{ clusters[0].namespace }}, z: {{ clusters[1].name }}}\n",
                    ),
                    ("mc/v1.0.0/examples/a.yaml", "{}\n"),
                ],
                vec!["template-error mc/v1.0.0/templates/a.yaml:4:"],
            ),
            // A folder that is not a release has no examples.
            (
                vec![("os/latest/templates/a.yaml", "{{ a \n"), ("charts/x/templates/a.yaml", "{{ a \n")],
                vec![],
            ),
        ] {
            let found = judged(&files);
            assert!(
                found.len() == expected.len()
                    && found.iter().zip(&expected).all(|(found, expected)| found.starts_with(expected)),
                "{found:#?}\n{expected:#?}"
            );
        }
    }
}
