//! What the fields of a kustomization do to values, and where the values come from afterwards.

use super::{DEPLOYMENT, expect, lost, refusal, rendered};
use crate::render::RenderedFolder;
use capstan_model::object::FieldPath;

fn place(rendered: &RenderedFolder, object: usize, path: &str) -> String {
    let place = rendered.objects[object].place_of(&FieldPath::parse(path).unwrap()).unwrap();
    format!("{}:{}:{}", place.file(), place.position().line, place.position().column)
}

#[test]
fn generated_names_end_in_kubectls_hash_and_references_follow() {
    // The hash is what kubectl 1.36 prints.
    let web = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, envFrom: [{configMapRef: {name: g}}]}]}}}
";
    let files = [
        (
            "c/base/kustomization.yaml",
            "resources: [web.yaml]\nconfigMapGenerator:\n- {name: g, literals: [a=b]}\n",
        ),
        ("c/base/web.yaml", web),
        ("c/overlay/kustomization.yaml", "resources: [../base]\nnamePrefix: p-\n"),
    ];
    expect(
        &rendered(&files),
        "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: p-g-4h2mbtbbt6}, data: {a: b}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: p-web}
spec: {template: {spec: {containers: [{name: web, envFrom: [{configMapRef: {name: p-g-4h2mbtbbt6}}]}]}}}
",
    );
}

#[test]
fn a_replaced_value_points_at_its_source_and_an_inline_patch_at_its_own_line() {
    let kustomization = "\
resources: [../base, versions.yaml]
patches:
- patch: |-
    apiVersion: cluster.x-k8s.io/v1beta1
    kind: MachineDeployment
    metadata: {name: md-0, namespace: org}
    spec:
      replicas: 5
- target: {kind: MachineDeployment}
  patch: |-
    - op: add
      path: /spec/paused
      value: true
replacements:
- source: {kind: Versions, fieldPath: spec.kubernetes}
  targets:
  - select: {kind: MachineDeployment}
    fieldPaths: [spec.template.spec.version]
";
    let versions = "\
apiVersion: acme.io/v1
kind: Versions
metadata:
  name: v
  annotations: {config.kubernetes.io/local-config: 'true'}
spec:
  kubernetes: v1.30.1
";
    let rendered = rendered(&[
        ("c/base/kustomization.yaml", "resources: [md.yaml]\n"),
        ("c/base/md.yaml", DEPLOYMENT),
        ("c/overlay/kustomization.yaml", kustomization),
        ("c/overlay/versions.yaml", versions),
    ]);
    assert_eq!(rendered.objects.len(), 1);
    assert_eq!(rendered.objects[0].value["spec"]["template"]["spec"]["version"], "v1.30.1");
    assert_eq!(place(&rendered, 0, "/spec/template/spec/version"), "c/overlay/versions.yaml:7:15");
    assert_eq!(place(&rendered, 0, "/spec/replicas"), "c/overlay/kustomization.yaml:8:17");
    assert_eq!(place(&rendered, 0, "/spec/paused"), "c/overlay/kustomization.yaml:13:14");
}

#[test]
fn what_is_remote_is_read_where_the_repository_keeps_it() {
    let files = [
        ("c/base/kustomization.yaml", "resources:\n- https://bot:s3cret@github.com/acme/x//config?ref=v1\n"),
        (
            ".capstan/vendor/github.com/acme/x@v1/config/kustomization.yaml",
            "resources: [md.yaml]\nnamespace: far\n",
        ),
        (".capstan/vendor/github.com/acme/x@v1/config/md.yaml", DEPLOYMENT),
    ];
    assert_eq!(rendered(&files).objects[0].id.namespace.as_deref(), Some("far"));
    assert_eq!(
        refusal(&files[..1]),
        "c/base/kustomization.yaml:2:3: `https://github.com/acme/x//config?ref=v1` is outside the repository, and Capstan fetches nothing: copy it to .capstan/vendor/github.com/acme/x@v1/config, where Capstan looks for it, or list your own copy"
    );
}

#[test]
fn images_replicas_and_a_schema_of_ones_own() {
    let base = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: 'acme.io/web:1'}]}}}
---
apiVersion: acme.io/v1
kind: Widget
metadata: {name: w}
spec: {parts: [{id: a, x: 1}, {id: b, x: 1}]}
";
    let kustomization = "\
resources: [../base]
openapi: {path: schema.json}
images:
- {name: acme.io/web, newTag: '2', newName: mirror.io/web}
replicas:
- {name: web, count: 4}
patches:
- patch: |-
    {apiVersion: acme.io/v1, kind: Widget, metadata: {name: w}, spec: {parts: [{id: b, x: 2}]}}
";
    let schema = r##"{"definitions": {"acme.Widget": {
        "x-kubernetes-group-version-kind": [{"group": "acme.io", "version": "v1", "kind": "Widget"}],
        "properties": {"spec": {"properties": {"parts": {
            "type": "array", "items": {"type": "object"},
            "x-kubernetes-patch-merge-key": "id", "x-kubernetes-patch-strategy": "merge"
        }}}}
    }}}"##;
    let rendered = rendered(&[
        ("c/base/kustomization.yaml", "resources: [all.yaml]\n"),
        ("c/base/all.yaml", base),
        ("c/overlay/kustomization.yaml", kustomization),
        ("c/overlay/schema.json", schema),
    ]);
    assert_eq!(lost(&rendered), [""; 0]);
    expect(
        &rendered,
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: 'mirror.io/web:2'}]}}, replicas: 4}
---
apiVersion: acme.io/v1
kind: Widget
metadata: {name: w}
spec: {parts: [{id: b, x: 2}, {id: a, x: 1}]}
",
    );
}

#[test]
fn configurations_tell_kustomize_which_fields_of_custom_resources_hold_names() {
    let base = "\
{apiVersion: v1, kind: Secret, metadata: {name: token}}
---
apiVersion: acme.io/v1
kind: Widget
metadata: {name: w}
spec: {tokenRef: {name: token}, space: old}
";
    let config = "\
nameReference:
- kind: Secret
  fieldSpecs: [{kind: Widget, path: spec/tokenRef/name}]
namespace:
- {kind: Widget, path: spec/space}
";
    let rendered = rendered(&[
        ("c/base/kustomization.yaml", "resources: [all.yaml]\nconfigurations: [config.yaml]\n"),
        ("c/base/all.yaml", base),
        ("c/base/config.yaml", config),
        ("c/overlay/kustomization.yaml", "resources: [../base]\nnamespace: new\nnameSuffix: -z\n"),
    ]);
    expect(
        &rendered,
        "\
{apiVersion: v1, kind: Secret, metadata: {name: token-z, namespace: new}}
---
apiVersion: acme.io/v1
kind: Widget
metadata: {name: w-z, namespace: new}
spec: {tokenRef: {name: token-z}, space: new}
",
    );
}

/// What kubectl 1.36 prints for these: a label that is new at several places of an object is one node.
#[test]
fn a_label_that_was_new_at_several_places_stays_one_label() {
    let base = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {}}}}";
    let expected = |inside: &str, outside: &str| {
        format!(
            "\
{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d, labels: {{app: {outside}}}}}, spec:
  {{template: {{spec: {{}}, metadata: {{labels: {{app: {inside}}}}}}}, selector: {{matchLabels: {{app: {inside}}}}}}}}}
"
        )
    };
    let patch = "\
patches:
- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, labels: {app: w}}}'
";
    let several = "\
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: d, labels: {app: a}}
    spec: {template: {metadata: {labels: {app: z}}}, selector: {matchLabels: {app: b}}}
";
    let operations = "\
patches:
- target: {kind: Deployment}
  patch: '[{\"op\": \"replace\", \"path\": \"/metadata/labels/app\", \"value\": \"w\"}]'
";
    let prefix = "\
transformers:
- |-
  {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: p}, prefix: a-,
   fieldSpecs: [{path: metadata/labels/app}, {path: spec/template/metadata/labels/app}]}
";
    let replacement = "\
replacements:
- sourceValue: b
  targets:
  - {select: {kind: Deployment}, fieldPaths: [metadata.labels.app], options: {delimiter: '.', index: 1}}
";
    for (step, inside, outside) in [
        ("labels: [{pairs: {app: w}}]\n", "w", "w"),
        (patch, "w", "w"),
        (several, "z", "z"),
        (operations, "x", "w"),
        (prefix, "a-a-x", "a-a-x"),
        (replacement, "x.b", "x.b"),
    ] {
        let rendered = rendered(&[
            ("c/base/kustomization.yaml", "resources: [d.yaml]\ncommonLabels: {app: x}\n"),
            ("c/base/d.yaml", base),
            ("c/overlay/kustomization.yaml", &format!("resources: [../base]\n{step}")),
        ]);
        expect(&rendered, &expected(inside, outside));
        let label = place(&rendered, 0, "/metadata/labels/app");
        assert!(label.starts_with("c/overlay/kustomization.yaml:"), "{step}{label}");
    }
}

#[test]
fn an_empty_text_that_a_replacement_set_outlives_a_later_patch() {
    // What kubectl 1.36 prints: a field without a value goes when a patch is merged, this annotation stays.
    let source = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: src, annotations: {left: \"\", gone: }}
data: {v: \"\"}
";
    let set = "\
resources: [src.yaml]
replacements:
- source: {kind: ConfigMap, name: src, fieldPath: data.v}
  targets:
  - select: {kind: ConfigMap}
    fieldPaths: [\"metadata.annotations.[acme.io/set]\"]
    options: {create: true}
";
    let patched = "\
resources: [../base]
patches:
- patch: |-
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: src}
    data: {k: patched}
";
    let files = [
        ("c/base/src.yaml", source),
        ("c/base/kustomization.yaml", set),
        ("c/overlay/kustomization.yaml", patched),
    ];
    expect(
        &rendered(&files),
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: src, annotations: {left: \"\", acme.io/set: \"\"}}
data: {v: \"\", k: patched}
",
    );
}

#[test]
fn a_replacement_that_changes_its_own_source_in_between_is_refused() {
    let widgets = "\
{apiVersion: acme.io/v1, kind: Widget, metadata: {name: a}, spec: {version: v1}}
---
{apiVersion: acme.io/v1, kind: Widget, metadata: {name: b}, spec: {version: v2}}
";
    let kustomization = "\
resources: [widgets.yaml]
replacements:
- source: {kind: Widget, name: a, fieldPath: spec.version}
  targets:
  - {select: {kind: Widget}, fieldPaths: [spec.version], options: {delimiter: '-', index: 1}}
";
    assert_eq!(
        refusal(&[("c/base/kustomization.yaml", kustomization), ("c/base/widgets.yaml", widgets)]),
        "c/base/kustomization.yaml:3:3: Capstan does not render `replacements` that change their own source: put that target last, or take the value from a field that does not change"
    );
}

/// What kubectl 1.36 prints.
#[test]
fn a_prefix_goes_before_the_text_of_null() {
    let config = "namePrefix: [{kind: Widget, path: spec/mode, create: true}]\n";
    let widget = "{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w}, spec: {mode: null}}";
    let rendered = rendered(&[
        ("c/base/kustomization.yaml", "resources: [w.yaml]\nconfigurations: [config.yaml]\nnamePrefix: p-\n"),
        ("c/base/config.yaml", config),
        ("c/base/w.yaml", widget),
    ]);
    expect(
        &rendered,
        "{apiVersion: acme.io/v1, kind: Widget, metadata: {name: p-w}, spec: {mode: p-null}}\n",
    );
}

/// What kubectl 1.36 prints: only what goes through JSON forgets how it was written.
#[test]
fn a_list_alone_in_its_file_keeps_how_its_objects_were_written() {
    let item = "apiVersion: acme.io/v1, kind: Widget, metadata: {name: w, annotations: {x: 1.50}}";
    let alone = format!("{{apiVersion: v1, kind: List, items: [{{{item}}}]}}");
    for (list, expected) in [
        (alone.clone(), "1.50"),
        (alone.replace("kind: List", "kind: WidgetList"), "1.5"),
        (format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}\n---\n{alone}\n"), "1.5"),
    ] {
        let rendered = rendered(&[
            ("c/base/kustomization.yaml", "resources: [list.yaml]\n"),
            ("c/base/list.yaml", &list),
        ]);
        let object = &rendered.objects.last().unwrap().value;
        assert_eq!(object["metadata"]["annotations"]["x"], expected, "{list}");
    }
}

/// What kubectl 1.36 prints: the first patch leaves `on` in quotes, and what takes its place keeps them.
#[test]
fn a_patch_puts_words_of_old_yaml_in_quotes_wherever_they_stand() {
    let kustomization = "\
resources: [w.yaml]
patches:
- patch: '{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w}, more: true}'
- patch: '{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w}, spec: {mode: 1e3, date: 1e3}}'
";
    let widget =
        "{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w}, spec: {mode: on, date: 2024-01-02}}";
    let rendered = rendered(&[("c/base/kustomization.yaml", kustomization), ("c/base/w.yaml", widget)]);
    let spec = &rendered.objects[0].value["spec"];
    assert_eq!((&spec["mode"], &spec["date"]), (&"1e3".into(), &1000.into()));
}
