//! Folders with a kustomization.

use super::{DEPLOYMENT, expect, lost, refusal, rendered};

const BASE: &str = "resources: [md.yaml]\n";

fn overlay<'a>(kustomization: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut files = vec![
        ("c/base/kustomization.yaml", BASE),
        ("c/base/md.yaml", DEPLOYMENT),
        ("c/overlay/kustomization.yaml", kustomization),
    ];
    files.extend_from_slice(more);
    files
}

#[test]
fn resources_patches_and_namespace_in_kustomizes_order() {
    let kustomization = "\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: other
resources:
- ../base
- extra/
patchesStrategicMerge:
- replicas.yaml
- |-
  apiVersion: cluster.x-k8s.io/v1beta1
  kind: MachineDeployment
  metadata: {name: md-0, namespace: org, labels: {from: inline}}
patches:
- path: version.yaml
  target: {kind: Machine.*, labelSelector: from=inline}
- target: {group: cluster.x-k8s.io, version: v1beta1, kind: MachineDeployment, name: md-\\d}
  patch: |-
    - {op: test, path: /spec/replicas, value: 4}
    - {op: add, path: /metadata/labels/a~1b, value: added}
    - {op: copy, from: /spec/replicas, path: /spec/copied}
    - {op: move, from: /spec/copied, path: /spec/moved}
    - {op: remove, path: /spec/moved}
patchesJson6902:
- target: {group: cluster.x-k8s.io, version: v1beta1, kind: MachineDeployment, name: md-0, namespace: other}
  patch: '[{\"op\": \"add\", \"path\": \"/spec/list\", \"value\": [1, 3]}, {\"op\": \"add\", \"path\": \"/spec/list/1\", \"value\": 2}, {\"op\": \"add\", \"path\": \"/spec/list/-\", \"value\": 4}]'
commonAnnotations: {note: all}
";
    let rendered = rendered(&overlay(
        kustomization,
        &[
            ("c/overlay/extra/kustomization.yaml", "resources: [ns.yaml, cm.yaml]\nnamespace: inner\n"),
            ("c/overlay/extra/ns.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: any}}"),
            ("c/overlay/extra/cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}}"),
            (
                "c/overlay/replicas.yaml",
                "{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineDeployment, metadata: {name: md-0, namespace: org}, spec: {replicas: 4}}",
            ),
            (
                "c/overlay/version.yaml",
                "{apiVersion: x/v1, kind: Any, metadata: {name: any}, spec: {template: {spec: {version: v1.29.9}}}}",
            ),
        ],
    ));
    assert_eq!(lost(&rendered), [""; 0]);
    expect(
        &rendered,
        "\
{apiVersion: v1, kind: Namespace, metadata: {name: other, annotations: {note: all}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: other, annotations: {note: all}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: md-0
  namespace: other
  labels: {from: inline, a/b: added}
  annotations: {note: all}
spec:
  replicas: 4
  template:
    spec:
      version: v1.29.9
  list: [1, 2, 3, 4]
",
    );
    assert_eq!(rendered.base_objects().len(), 1);
}

#[test]
fn patches_find_objects_under_the_identity_they_had_before() {
    let kustomization = "\
resources: [../base]
patches:
- path: p.yaml
";
    let files = [
        ("c/base/kustomization.yaml", "resources: [md.yaml]\nnamespace: moved\n"),
        ("c/base/md.yaml", DEPLOYMENT),
        ("c/overlay/kustomization.yaml", kustomization),
        (
            "c/overlay/p.yaml",
            "{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineDeployment, metadata: {name: md-0, namespace: org}, spec: {replicas: 1}}",
        ),
    ];
    let rendered = rendered(&files);
    assert_eq!(rendered.objects[0].id.namespace.as_deref(), Some("moved"));
    assert_eq!(rendered.objects[0].value["spec"]["replicas"], 1);
}

#[test]
fn a_kustomization_without_the_base_still_patches_the_base() {
    let kustomization = "\
patches:
- target: {kind: MachineDeployment}
  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 6}]'
";
    let rendered = rendered(&overlay(kustomization, &[]));
    assert_eq!(rendered.objects[0].value["spec"]["replicas"], 6);
}

#[test]
fn patches_without_a_target_are_left_out_and_reported() {
    let kustomization = "\
resources: [../base]
patches:
- patch: |-
    {apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineDeployment, metadata: {name: md-9}}
- patch: |-
    {apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, metadata: {name: md-0, namespace: org}}
- target: {kind: MachineDeployment}
  patch: '[{\"op\": \"replace\", \"path\": \"/spec/nothing/here\", \"value\": 6}]'
- target: {kind: Nothing}
  patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'
";
    let rendered = rendered(&overlay(kustomization, &[]));
    assert_eq!(
        lost(&rendered),
        [
            "c/overlay/kustomization.yaml:4:5: there is no MachineDeployment md-9 to patch",
            "c/overlay/kustomization.yaml:6:5: it names MachineDeployment org/md-0 in API version cluster.x-k8s.io/v1beta2, but the object has cluster.x-k8s.io/v1beta1",
            "c/overlay/kustomization.yaml:8:12: it does not fit MachineDeployment org/md-0: the object has no parent for `/spec/nothing/here`",
        ]
    );
    // kustomize lets a selector select nothing; only a comparison can tell whether that is new.
    assert!(rendered.patches[3].matched.is_empty());
}

#[test]
fn components_labels_and_generated_config_maps() {
    let kustomization = "\
resources: [../base, web.yaml]
components: [component]
generatorOptions: {disableNameSuffixHash: true, labels: {generated: 'yes'}}
configMapGenerator:
- name: values
  files: [values=values.yaml, plain.txt]
  literals: [a=1, 'b=\"x=y\"']
- {name: existing, behavior: merge, literals: [k=new]}
labels:
- pairs: {only: metadata}
- pairs: {every: where}
  includeSelectors: true
sortOptions: {order: fifo}
images: []
";
    let rendered = rendered(&overlay(
        kustomization,
        &[
            (
                "c/overlay/web.yaml",
                "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: existing}, data: {k: old, l: stays}}",
            ),
            ("c/overlay/values.yaml", "x: 1\n"),
            ("c/overlay/plain.txt", "text"),
            (
                "c/overlay/component/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: MachineDeployment}\n  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 8}]'\n",
            ),
        ],
    ));
    expect(
        &rendered,
        "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: md-0, namespace: org, labels: {only: metadata, every: where}}
spec:
  replicas: 8
  template:
    spec:
      version: v1.29.4
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {only: metadata, every: where}}
spec: {selector: {matchLabels: {app: web, every: where}}, template: {metadata: {labels: {every: where}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: existing, labels: {generated: 'yes', only: metadata, every: where}}
data: {k: new, l: stays}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: values, labels: {generated: 'yes', only: metadata, every: where}}
data: {a: '1', b: x=y, values: \"x: 1\\n\", plain.txt: text}
",
    );
}

#[test]
fn name_prefix_and_suffix_rename_custom_resources() {
    let rendered = rendered(&overlay("resources: [../base]\nnamePrefix: a-\nnameSuffix: -z\n", &[]));
    assert_eq!(rendered.objects[0].id.name, "a-md-0-z");
}

#[test]
fn what_is_not_rendered_is_refused_by_name_file_and_line() {
    let k = "c/overlay/kustomization.yaml";
    let cases = [
        (
            "resources: [../base]\nhelmCharts:\n- name: x\n",
            "3:1: Capstan does not render `helmCharts` of a kustomization: write what it does as patches, replacements or plain files",
        ),
        (
            "resources: [../base]\nreplacements:\n- path: r.yaml\n",
            "3:9: there is no file c/overlay/r.yaml: correct the path or add it",
        ),
        (
            "resources: [../base]\npatchs: [a]\n",
            "2:9: a kustomization has no field `patchs`; did you mean `patches`?",
        ),
        (
            "resources:\n- https://example.com/x.yaml\n",
            "2:3: `https://example.com/x.yaml` is outside the repository, and Capstan fetches nothing: copy it to .capstan/vendor/example.com/x.yaml, where Capstan looks for it, or list your own copy",
        ),
        (
            "resources:\n- github.com/acme/x?ref=v1\n",
            "2:3: `github.com/acme/x?ref=v1` is outside the repository, and Capstan fetches nothing: copy it to .capstan/vendor/github.com/acme/x@v1, where Capstan looks for it, or list your own copy",
        ),
        (
            "resources:\n- ../../../x\n",
            "2:3: `../../../x` leads out of the repository: name something within it",
        ),
        (
            "resources:\n- /etc/x\n",
            "2:3: `/etc/x` is an absolute path: write it relative to this file's folder",
        ),
        (
            "resources:\n- ../base\n- gone.yaml\n",
            "3:3: there is no file or folder c/overlay/gone.yaml: correct `gone.yaml` or add it",
        ),
        (
            "resources: [../base]\ntransformers:\n- |-\n  {apiVersion: acme.io/v1, kind: Tool, metadata: {name: t}}\n",
            "4:3: Capstan does not render `transformers` that are programs, like Tool. Use those built into kustomize (`apiVersion: builtin`), or patches",
        ),
        (
            "resources: [../base]\npatches:\n- target: {kind: A}\n  patch: '[{op: remove, path: /spec}]'\n",
            "4:10: a JSON patch that begins with `[` must be JSON for kustomize, but this is not JSON: quote its keys and texts, or write the operations as a list with dashes",
        ),
        (
            "resources: [../base]\npatches:\n- patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'\n",
            "3:3: a JSON patch has a `target`: say which objects it is for",
        ),
        (
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n",
            "1:1: a file with this name must be a kustomization of kustomize, but this one has `kustomize.toolkit.fluxcd.io/v1`: rename the file",
        ),
        ("resources: [../base, ../base]\n", ""),
    ];
    for (kustomization, expected) in cases {
        let said = refusal(&overlay(kustomization, &[]));
        if expected.is_empty() {
            assert!(said.contains("An object may be there only once"), "{said}");
        } else {
            assert_eq!(said, format!("{k}:{expected}"));
        }
    }
}

#[test]
fn kustomizations_that_include_one_another_are_refused() {
    let files = [
        ("c/base/kustomization.yaml", "resources: [../other]\n"),
        ("c/other/kustomization.yaml", "resources: [../base]\n"),
    ];
    assert_eq!(
        refusal(&files),
        "c/base/kustomization.yaml:1:1: kustomizations include one another, c/base -> c/other -> c/base: remove one of the links"
    );
}

#[test]
fn without_one_in_the_overlay_the_kustomization_of_the_cluster_counts() {
    let files = [
        ("c/base/md.yaml", DEPLOYMENT),
        (
            "c/kustomization.yaml",
            "resources: [base/md.yaml]\npatches:\n- target: {kind: MachineDeployment}\n  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 6}]'\n",
        ),
    ];
    let rendered = rendered(&files);
    assert_eq!(rendered.objects[0].value["spec"]["replicas"], 6);
    assert_eq!(rendered.base_objects()[0].value["spec"]["replicas"], 2);
}

#[test]
fn an_annotation_takes_any_text_whatever_it_was_on_the_way() {
    let widget = "{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w}, spec: {deep: {a: b}, port: 8080, version: v1}}";
    let replacement = |path: &str| {
        format!(
            "- source: {{kind: Widget, fieldPath: {path}}}\n  targets: [{{select: {{kind: Widget}}, fieldPaths: [metadata.annotations.set], options: {{create: true}}}}]\n"
        )
    };
    let paths = ["spec.deep", "spec.port", "spec.version"].map(replacement).concat();
    let kustomization = format!("resources: [w.yaml]\nreplacements:\n{paths}");
    let files = [("c/base/kustomization.yaml", kustomization.as_str()), ("c/base/w.yaml", widget)];
    assert_eq!(rendered(&files).objects[0].value["metadata"]["annotations"]["set"], "v1");
}
