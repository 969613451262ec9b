//! Files to values: any texts may be an inventory and the schema of its clusters' release.
//!
//! Never a panic; the same twice; the order of the files counts for nothing; a record of what came out is read back; and
//! `explain` knows the place of every value.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use capstan_inventory::kinds::{InventoryFiles, SourceText};
use capstan_inventory::record::{FILE, ValuesRecord};
use capstan_inventory::schema::ReleaseSchema;
use capstan_inventory::trace::explain;
use capstan_inventory::values::Member;
use capstan_model::object::FieldPath;
use capstan_model::tree::RepoPath;

/// A beginning, and what may follow.
pub(crate) const PIECES: &[&str] = &[
    "type: object\nproperties: {a: {type: string, default: x}, num: {type: integer}, m: {type: object, x-kubernetes-preserve-unknown-fields: true}, l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}, num: {type: integer}}}}}\0ClusterDefinition c: {in: {environment: prod, site: fra1}, folder: c}\0Environment prod: {values: {a: word}}\0Site fra1: {values: {l: [{name: p, num: 1}]}}",
    "\0Environment stage: {values: {a: '{{ m.b }}', m: {b: '{{ a }}'}}}",
    "\0Customer acme: {in: {environment: prod}, values: {num: 3, m: {x: [1, 2], w: null}}, final: [/num]}",
    "\0Inventory inventory: {levels: [Site, Environment, Customer], folder: '{customer}/{name}'}",
    "\0ClusterDefinition d: {in: {customer: acme}, values: {num: 4, l: [{name: p, $patch: delete}, {name: q}]}}",
    "\0ClusterDefinition e: {in: {site: fra1}, values: {a: '{{ num }}', num: 2, m: {$patch: replace, z: \"{{ a ~ 'x' }}\"}}}",
    "\0InfraProvider os: {values: {a: no, num: 1.5, l: x}}",
    "\0Site fra2: {in: {infraProvider: os, environment: stage}, release: aws/v1.0.0, track: minor, components: [c/a]}",
    "\0ClusterDefinition f: {in: {site: fra2}, retire: true, values: {l: [{num: 1}], m: {'{{': 1}}}",
    "\0apiVersion: capstan.dev/v1alpha1\nkind: Environment\nmetadata: {name: raw}\nspec:\n  values:\n    a: &a |\n      many\n      lines\n",
    "\0ManagementClusterDefinition mc: {in: {environment: prod}, release: m/v1}",
];

/// Parts between NUL bytes: the schema, then files. A file of one line `Kind name: spec` is an object of that kind.
pub(crate) fn check(data: &[u8]) {
    values_of(data);
}

/// How many clusters have values and nothing wrong in them.
pub(crate) fn values_of(data: &[u8]) -> usize {
    let parts: Vec<&[u8]> = data.split(|byte| *byte == 0).take(24).collect();
    let Some((schema, files)) = parts.split_first() else { return 0 };
    let path = RepoPath::parse("aws/v1.0.0/schema.yaml").unwrap();
    let (schema, _) = ReleaseSchema::read("aws/v1.0.0", &path, schema);
    let mut files: Vec<SourceText> = files.iter().enumerate().map(|(at, text)| file(at, text)).collect();
    let first = all_values(&files, schema.as_ref());
    assert_eq!(first, all_values(&files, schema.as_ref()), "the same files, twice");
    if InventoryFiles::read(&files).findings.is_empty() {
        files.reverse();
        assert_eq!(first, all_values(&files, schema.as_ref()), "the same files, the last one first");
    }
    first.values().filter(|values| values.starts_with('{')).count()
}

fn file(at: usize, text: &[u8]) -> SourceText {
    let path = RepoPath::parse(&format!("inventory/{at}.yaml")).unwrap();
    let line = std::str::from_utf8(text).ok().filter(|text| !text.contains('\n'));
    let object = line.and_then(|line| {
        let (head, spec) = line.split_once(": ")?;
        let (kind, name) = head.split_once(' ')?;
        Some(format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        ))
    });
    let bytes = object.map_or_else(|| text.into(), |object| object.into_bytes().into());
    SourceText { path, bytes: Ok(bytes) }
}

/// By cluster, its values with their places; or what is wrong with them.
fn all_values(files: &[SourceText], schema: Option<&ReleaseSchema>) -> BTreeMap<String, String> {
    let inventory = InventoryFiles::read(files);
    let mut all = BTreeMap::new();
    for definition in inventory.clusters() {
        let name = definition.level.name.clone();
        let member = match Member::of(&inventory, definition) {
            Ok(member) => member,
            Err(findings) => {
                all.insert(name, format!("{findings:?}"));
                continue;
            }
        };
        let values = member.values(schema);
        if !values.findings.is_empty() {
            all.insert(name, format!("{:?}", values.findings));
            continue;
        }
        let record = ValuesRecord {
            definition: name.clone(),
            levels: member.levels.clone(),
            components: Vec::new(),
            values: values.value(),
        };
        let path = RepoPath::parse(FILE).unwrap();
        assert_eq!(ValuesRecord::read(&path, record.text().as_bytes()).unwrap(), record, "what was recorded");
        let mut told = format!("{}\n", values.value());
        values.merged.leaves(&FieldPath::root(), &mut |path, leaf| {
            let explained = explain(&member, &values, path);
            let says = explained.as_deref().and_then(|explained| explained.first());
            assert!(
                says.is_some_and(|says| says.origin.place() == leaf.origin.place()),
                "{path}: {explained:?}"
            );
            let _ = writeln!(told, "{path} {}", leaf.origin);
        });
        all.insert(name, told);
    }
    all
}
