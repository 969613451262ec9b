//! How kustomize reads its own files: keys in any case, and inline patches without the space round them.

use super::{expect, refusal, rendered};

const NOTES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {kept: 'yes'}\n";

fn base<'a>(kustomization: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut files = vec![("c/base/kustomization.yaml", kustomization), ("c/base/notes.yaml", NOTES)];
    files.extend_from_slice(more);
    files
}

fn notes(kustomization: &str, more: &[(&str, &str)]) -> String {
    rendered(&base(kustomization, more)).objects[0].value["data"].to_string()
}

/// An entry of `patches` as people write it, that ends in this field.
fn patch(field: &str) -> String {
    let lines: String = field.lines().map(|line| format!("      {line}\n")).collect();
    format!(
        "resources: [notes.yaml]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: notes}}\n    data:\n{lines}"
    )
}

#[test]
fn an_inline_patch_loses_the_newline_of_the_block_that_ends_it() {
    let cases = [
        ("text: |\n  a\n  b\n", r#"{"kept":"yes","text":"a\nb"}"#),
        ("text: >\n  a\n  b\n", r#"{"kept":"yes","text":"a b"}"#),
        ("text: |-\n  a\n  b\n", r#"{"kept":"yes","text":"a\nb"}"#),
        // What stands behind it keeps the newline, a comment too.
        ("text: |\n  a\nmore: b\n", r#"{"kept":"yes","text":"a\n","more":"b"}"#),
        ("text: |\n  a\n# the end\n", r#"{"kept":"yes","text":"a\n"}"#),
    ];
    for (field, data) in cases {
        assert_eq!(notes(&patch(field), &[]), data, "{field}");
    }
    // All newlines, where the block would keep them, and spaces too.
    let kept = "resources: [notes.yaml]\npatches:\n- patch: |+\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: notes}\n    data:\n      text: |+\n        a \n\n\n";
    assert_eq!(notes(kept, &[]), r#"{"kept":"yes","text":"a"}"#);
}

#[test]
fn json_patches_and_built_in_transformers_lose_it_too_and_files_and_older_fields_do_not() {
    const FILE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata:\n  text: |\n    a\n";
    let cases = [
        (
            "resources: [notes.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n    - op: add\n      path: /data/text\n      value: |\n        a\n",
            "a",
        ),
        (
            "resources: [notes.yaml]\ntransformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: step}\n  patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: notes}\n    data:\n      text: |\n        a\n",
            "a",
        ),
        ("resources: [notes.yaml]\npatches: [{path: patch.yaml}]\n", "a\\n"),
        (
            "resources: [notes.yaml]\npatchesStrategicMerge:\n- |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: notes}\n  data:\n    text: |\n      a\n",
            "a\\n",
        ),
        (
            "resources: [notes.yaml]\npatchesJson6902:\n- target: {version: v1, kind: ConfigMap, name: notes}\n  patch: |\n    - op: add\n      path: /data/text\n      value: |\n        a\n",
            "a\\n",
        ),
    ];
    for (kustomization, text) in cases {
        let data = format!(r#"{{"kept":"yes","text":"{text}"}}"#);
        assert_eq!(notes(kustomization, &[("c/base/patch.yaml", FILE)]), data, "{kustomization}");
    }
}

#[test]
fn a_patch_whose_first_line_alone_loses_its_spaces_is_no_yaml_any_more() {
    let kustomization = "resources: [notes.yaml]\npatches:\n- patch: \"  apiVersion: v1\\n  kind: ConfigMap\\n  metadata: {name: notes}\\n\"\n";
    let refused = refusal(&base(kustomization, &[]));
    assert!(refused.starts_with("c/base/kustomization.yaml:3:10: the text here is no YAML"), "{refused}");
}

#[test]
fn keys_are_read_without_regard_to_case_wherever_kustomize_has_a_field() {
    let kustomization = "\
APIVersion: kustomize.config.k8s.io/v1beta1
Kind: Kustomization
Resources: [notes.yaml]
NamePrefix: p-
Patches:
- Patch: |-
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: any}
    data: {Kept: 'no'}
  Target: {Kind: ConfigMap, labelselector: '!generated'}
  Options: {AllowNameChange: false}
Labels:
- Pairs: {Team: blue, team: red}
  IncludeTemplates: true
configMapgenerator:
- Name: made
  Literals: [A=b]
  OPTIONS: {disablenamesuffixhash: true, Labels: {generated: 'yes'}}
Images: [{Name: nginx, NewTag: v2}]
replacements:
- Source: {kind: ConfigMap, NAME: notes, FieldPath: data.kept}
  Targets:
  - Select: {kind: ConfigMap, name: made}
    fieldpaths: [data.copied]
    Options: {Create: true}
Transformers:
- |
  apiVersion: builtin
  kind: AnnotationsTransformer
  metadata: {name: step}
  Annotations: {Note: x}
  fieldspecs: [{Path: metadata/annotations, CREATE: true}]
Configurations: [config.yaml]
SortOptions: {Order: fifo}
";
    let rendered = rendered(&base(
        kustomization,
        &[("c/base/config.yaml", "NamePrefix:\n- Path: data/kept\n  KIND: ConfigMap\n")],
    ));
    expect(
        &rendered,
        "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: p-notes, labels: {Team: blue, team: red}, annotations: {Note: x}}, data: {kept: p-yes, Kept: 'no'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: p-made, labels: {generated: 'yes', Team: blue, team: red}, annotations: {Note: x}}, data: {A: b, copied: p-yes}}
",
    );
}

#[test]
fn what_no_case_makes_a_field_is_refused_and_so_are_two_spellings_of_one() {
    let cases = [
        (
            "Resource: [notes.yaml]\n",
            "c/base/kustomization.yaml:1:11: a kustomization has no field `Resource`; did you mean `resources`?",
        ),
        (
            "resources: [notes.yaml]\nResources: [other.yaml]\n",
            "c/base/kustomization.yaml:2:12: `Resources` and `resources` are one field for kustomize, which would take one of them and drop the other: keep one",
        ),
        // A map has no fields: its keys are as they are.
        (
            "resources: [notes.yaml]\nopenapi: {Path: schema.json}\n",
            "c/base/kustomization.yaml:2:17: `openapi` has either `path: FILE` or `version: v1.21.2`, the one built into kustomize",
        ),
    ];
    for (kustomization, refused) in cases {
        assert_eq!(refusal(&base(kustomization, &[])), refused, "{kustomization}");
    }
}
