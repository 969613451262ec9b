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
        // The text after it keeps the newline, a comment too.
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
fn a_patch_whose_first_line_alone_loses_its_spaces_is_not_yaml() {
    let kustomization = "resources: [notes.yaml]\npatches:\n- patch: \"  apiVersion: v1\\n  kind: ConfigMap\\n  metadata: {name: notes}\\n\"\n";
    let refused = refusal(&base(kustomization, &[]));
    assert!(refused.starts_with("c/base/kustomization.yaml:3:10: the text here is not YAML"), "{refused}");
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
            "c/base/kustomization.yaml:2:12: `Resources` and `resources` are the same field for kustomize, which would drop one of them: keep one",
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

#[test]
fn keys_that_only_old_yaml_takes_for_booleans_are_words_in_a_kustomization_and_booleans_without() {
    const LAMPS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {on: lamp, yes: door, n: gate, \"no\": hatch, !!str 1: one}\n";
    let data = |files: &[(&str, &str)]| rendered(files).objects[0].value["data"].to_string();
    let words = r#"{"on":"lamp","yes":"door","n":"gate","no":"hatch","1":"one"}"#;
    assert_eq!(
        data(&[("c/base/kustomization.yaml", "resources: [notes.yaml]\n"), ("c/base/notes.yaml", LAMPS)]),
        words
    );
    // `kubectl apply`: of two trues the last counts.
    assert_eq!(
        data(&[("c/base/notes.yaml", LAMPS)]),
        r#"{"true":"door","false":"gate","no":"hatch","1":"one"}"#
    );
    let patch = "resources: [notes.yaml]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: notes}\n    data: {off: cellar}\n";
    assert_eq!(notes(patch, &[]), r#"{"kept":"yes","off":"cellar"}"#);
    for key in ["1", "0x10", "1.5", "1e3", "2024-01-01", "true", "False", ".inf", "0o7", "1_000"] {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: n}}\ndata:\n  {key}: v\n");
        let refused = refusal(&[
            ("c/base/kustomization.yaml", "resources: [notes.yaml]\n"),
            ("c/base/notes.yaml", &text),
        ]);
        assert_eq!(
            refused,
            format!(
                "c/base/notes.yaml:5:3: this is not YAML: the key `{key}` is not text for kustomize, which fails on it: quote it"
            )
        );
    }
}

#[test]
fn a_key_that_occurs_twice_is_refused_wherever_kustomize_reads() {
    let told = |key: &str, line: u32| {
        format!(
            "the key `{key}` occurs twice in one mapping, here and in line {line}: kustomize fails on that or drops one of them. Keep one"
        )
    };
    let twice = "resources: [notes.yaml]\nnamePrefix: a-\nnamePrefix: b-\n";
    assert_eq!(
        refusal(&base(twice, &[])),
        format!("c/base/kustomization.yaml:3:1: {}", told("namePrefix", 2))
    );
    assert_eq!(
        refusal(&base(
            "resources: [inner]\n",
            &[("c/base/inner/kustomization.yaml", twice), ("c/base/inner/notes.yaml", NOTES)]
        )),
        format!("c/base/inner/kustomization.yaml:3:1: {}", told("namePrefix", 2))
    );
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata:\n  a: b\n  a: c\n";
    assert_eq!(
        refusal(&base("resources: [notes.yaml, more.yaml]\n", &[("c/base/more.yaml", object)])),
        format!("c/base/more.yaml:6:3: {}", told("a", 5))
    );
    // Nobody stops at it without a kustomization: the last counts.
    assert_eq!(
        rendered(&[("c/base/more.yaml", object)]).objects[0].value["data"].to_string(),
        r#"{"a":"c"}"#
    );
    assert_eq!(
        refusal(&base(&patch("text: a\ntext: b"), &[])),
        format!("c/base/kustomization.yaml:9:7: {}", told("text", 8))
    );
    // A key of the merge and the same key of the mapping are not duplicates.
    let merged =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\nx: &x {a: b}\ndata:\n  <<: *x\n  a: c\n";
    let files = base("resources: [more.yaml]\n", &[("c/base/more.yaml", merged)]);
    assert_eq!(rendered(&files).objects[0].value["data"].to_string(), r#"{"a":"c"}"#);
}

#[test]
fn a_target_is_an_expression_of_gos() {
    const CREWS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: crew-a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'crew[b]'}\n";
    let targeted = |name: &str| {
        format!(
            "resources: [crews.yaml]\npatches:\n- target: {{kind: ConfigMap, name: '{name}'}}\n  patch: |\n    - {{op: add, path: /data, value: {{hit: here}}}}\n"
        )
    };
    for (name, hit) in [("crew[[]b]", "crew[b]"), (r"\Qcrew[\Eb]", "crew[b]"), (r"crew\055a", "crew-a")] {
        let kustomization = targeted(name);
        let files = [("c/base/kustomization.yaml", &*kustomization), ("c/base/crews.yaml", CREWS)];
        let found = rendered(&files);
        let hits: Vec<&str> = found
            .objects
            .iter()
            .filter(|object| object.value.get("data").is_some())
            .map(|object| object.id.name.as_str())
            .collect();
        assert_eq!(hits, [hit], "{name}");
    }
    let kustomization = targeted("crew**");
    assert_eq!(
        refusal(&[("c/base/kustomization.yaml", &kustomization), ("c/base/crews.yaml", CREWS)]),
        "c/base/kustomization.yaml:3:35: `name` of a target must be a regular expression, but `crew**` is not one: a repetition cannot be repeated at `*`"
    );
}
