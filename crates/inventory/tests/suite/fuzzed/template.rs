//! Template and values: any text may be a template, any YAML its values.
//!
//! Never a panic, and the same result twice; the rendered text is read as the reported objects; and where a
//! template has no statement, the text of a value does not change how many objects there are.

use std::sync::Arc;

use capstan_inventory::kinds::{InventoryFiles, SourceText};
use capstan_inventory::templates::{Cluster, OBJECTS, RenderedTemplates, TEXT_BYTES, Templates};
use capstan_inventory::values::Member;
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;

/// A beginning, and what may follow.
pub(crate) const PIECES: &[&str] = &[
    "{t: text, num: 3, b: true, l: [{name: p, num: 1}, {name: q, num: 2}], m: {k: v, o: '1.30'}}\0apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n  first: {{ t }}\n",
    "  quoted: \"{{ t }} and {{ num }}\"\n",
    "  block: |\n    {{ t }}\n    {{ m | to_nice_yaml | indent(4) }}\n",
    "  list: {{ l | tojson }}\n",
    "  {{ m.k }}: {{ b }}\n",
    "  # {{ t }}\n",
    "{% if b and num > 2 %}\n  \"yes\": {{ m.o }}\n{% else %}\n  \"no\": 1\n{% endif %}\n",
    "{% for pool in l %}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one-{{ pool.name }}}\ndata: {num: '{{ pool.num }}'}\n{% endfor %}\n",
    "{% set x = num * 2 %}\n  set: {{ x }}\n",
    "{% macro say(what) %}{{ what }}!{% endmacro %}\n  said: {{ say(t) }}\n",
    "  default: {{ missing | default('none') }}\n",
    "  undefined: {{ missing.field }}\n",
    "  upper: {{ t | upper }}\n",
    "{% set c %}{{ t }}{% endset %}\n  captured: {{ c }}\n",
    "{% include '_part.yaml' %}\n",
    "\0  part: {{ levels.site.name }}-{{ cluster.name }}\n",
    "{{ m | to_yaml }}\n",
];

/// A text that would be much in YAML and in Jinja, if it were read there.
const HOSTILE: &str =
    "a: b\n---\n{{ x }} # {% y %} \"'\\ \t: &a *a !t [ ] { } , \u{85}\u{2028}\u{feff}\u{e000}";

/// Parts between NUL bytes: the values, a template, and another one for `include`.
pub(crate) fn check(data: &[u8]) {
    is_rendered(data);
}

/// Whether it is rendered at all.
pub(crate) fn is_rendered(data: &[u8]) -> bool {
    let mut parts = data.split(|byte| *byte == 0);
    let (values, template) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (Ok(values), part) = (std::str::from_utf8(values), parts.next().unwrap_or_default()) else {
        return false;
    };
    let folder = RepoPath::parse("aws/v1.0.0/templates").unwrap();
    let files = [file(&folder, "all.yaml", template), file(&folder, "_part.yaml", part)];
    let Ok(templates) = Templates::read(&folder, &files) else { return false };
    let first = render(&templates, values).map(|rendered| object_lines(&rendered));
    let again = render(&templates, values).map(|rendered| object_lines(&rendered));
    assert_eq!(first, again, "the same template and values, twice");
    if let (Ok(first), false) = (&first, files.iter().any(has_statement))
        && let Some(Ok(hostile)) = with_hostile_text(values).map(|values| render(&templates, &values))
    {
        assert_eq!(object_lines(&hostile).len(), first.len(), "another text as a value makes other objects");
    }
    first.is_ok()
}

fn file(folder: &RepoPath, name: &str, text: &[u8]) -> SourceText {
    SourceText { path: folder.join(name).unwrap(), bytes: Ok(Arc::from(text)) }
}

fn has_statement(file: &SourceText) -> bool {
    file.bytes.as_ref().is_ok_and(|bytes| bytes.windows(2).any(|pair| pair == b"{%"))
}

/// The values with a hostile text as that of `t`, where that is a text.
fn with_hostile_text(values: &str) -> Option<String> {
    let file = YamlFile::read(values).ok()?;
    let mut value = file.documents().first()?.root.value();
    let text = value.get_mut("t").filter(|text| text.is_string())?;
    *text = HOSTILE.into();
    Some(value.to_string())
}

/// The result, or the error.
fn render(templates: &Templates, values: &str) -> Result<RenderedTemplates, String> {
    let object = |kind: &str, name: &str, spec: &str| {
        format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{spec}")
    };
    let indented: String = values.lines().map(|line| format!("    {line}\n")).collect();
    let cluster = format!("  in: {{site: fra1}}\n  values:\n{indented}\n");
    let folder = RepoPath::parse("inventory").unwrap();
    let files = [
        file(&folder, "c.yaml", object("ClusterDefinition", "c", &cluster).as_bytes()),
        file(&folder, "fra1.yaml", object("Site", "fra1", "  values: {}\n").as_bytes()),
    ];
    let inventory = InventoryFiles::read(&files);
    let definition = inventory.cluster("c").ok_or_else(|| format!("{:?}", inventory.findings))?;
    let member = Member::of(&inventory, definition).map_err(|findings| format!("{findings:?}"))?;
    let values = member.values(None);
    if !values.findings.is_empty() {
        return Err(format!("{:?}", values.findings));
    }
    let folder = RepoPath::parse("acme/c").unwrap();
    let cluster = Cluster { name: "c", folder: &folder, levels: &member.levels, clusters: None };
    let rendered = templates.render(cluster, &values).map_err(|findings| {
        assert!(!findings.is_empty(), "no render, and nothing wrong");
        format!("{findings:?}")
    })?;
    judge(&rendered);
    Ok(rendered)
}

/// The reported objects are those in the text.
fn judge(rendered: &RenderedTemplates) {
    let objects: usize = rendered.files.iter().map(|file| file.objects.len()).sum();
    assert!(objects <= OBJECTS, "{objects} objects");
    for file in &rendered.files {
        assert!(file.text.len() <= 2 * TEXT_BYTES, "{} bytes", file.text.len());
        let read = YamlFile::read(&file.text).unwrap_or_else(|error| panic!("{error:?}\n{}", file.text));
        let documents = read.documents();
        for object in &file.objects {
            let meant = documents[object.document].root.value();
            assert_eq!(object.node.value(), meant, "{}", file.text);
        }
    }
}

/// The objects with their names, as they are written down.
fn object_lines(rendered: &RenderedTemplates) -> Vec<String> {
    let objects = rendered.files.iter().flat_map(|file| &file.objects);
    objects.map(|object| format!("{} {}", object.id, object.node.value())).collect()
}
