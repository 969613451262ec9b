//! Folders without a kustomization.

use super::{DEPLOYMENT, expect, folders, lost, refusal, rendered, try_render};
use crate::render::{EditedTree, Folders, ParsedFiles, diff, render, render_with};
use capstan_model::file_change::FileChange;
use capstan_model::object::FieldPath;
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

#[test]
fn every_document_of_every_file_counts_and_lists_are_taken_apart() {
    let files = [
        (
            "c/base/a.yaml",
            "# nothing\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# end\n",
        ),
        (
            "c/base/sub/list.yml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n- {apiVersion: v1, kind: Secret, metadata: {name: c}}\n",
        ),
        ("c/base/readme.md", "no YAML: ["),
        (
            "c/base/local.yaml",
            "apiVersion: x.io/v1\nkind: Tool\nmetadata: {name: t, annotations: {config.kubernetes.io/local-config: \"true\"}}\n",
        ),
        ("c/capstan.yaml", "release: aws/v21.0.0\n"),
        ("c/overlay/capstan.yaml", "track: patch\n"),
    ];
    expect(
        &rendered(&files),
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: b}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: c}}\n",
    );
}

#[test]
fn a_file_beside_the_manifests_is_skipped_and_reported() {
    let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n";
    for beside in [
        "defaultNamespace: org\nhelm: {releaseName: a}\n",
        "version: v1alpha1\nmachine: {type: worker}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n",
        "providers:\n- name: acme\t\n  type: InfrastructureProvider\n",
        "global: {metadata: {name: a}}\n",
    ] {
        let found = rendered(&[("c/base/a.yaml", object), ("c/base/z.yaml", beside)]);
        expect(&found, object);
        let note = "c/base/z.yaml holds no Kubernetes object and is ignored.";
        assert_eq!(found.note_of_passed_over().as_deref(), Some(note), "{beside}");
    }
    // An incomplete manifest is not one of those.
    for manifest in
        ["kind: ConfigMap\na: b\n", "apiVersion: v1\na: b\n", "spec: {replicas: 2}\n", "data: {a: b}\n"]
    {
        assert!(try_render(&[("c/base/a.yaml", object), ("c/base/z.yaml", manifest)]).is_err(), "{manifest}");
    }
    let many: Vec<String> = (0..5).map(|number| format!("c/base/z{number}.yaml")).collect();
    let mut files = vec![("c/base/a.yaml", object)];
    files.extend(many.iter().map(|path| (path.as_str(), "a: b\n")));
    assert_eq!(
        rendered(&files).note_of_passed_over().as_deref(),
        Some(
            "c/base/z0.yaml, c/base/z1.yaml, c/base/z2.yaml, 2 more hold no Kubernetes object and are ignored."
        )
    );
}

#[test]
fn an_overlay_document_patches_the_object_of_its_identity_and_others_join() {
    let overlay = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: md-0
  namespace: org
  labels: {team: blue}
spec:
  replicas: 5
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, namespace: org}
data: {key: value, gone: null}
";
    let rendered = rendered(&[("c/base/md.yaml", DEPLOYMENT), ("c/overlay/md.yaml", overlay)]);
    expect(
        &rendered,
        "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: md-0
  namespace: org
  labels: {team: blue}
spec:
  replicas: 5
  template:
    spec:
      version: v1.29.4
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, namespace: org}
data: {key: value}
",
    );
    let place = |path: &str| {
        let place = rendered.objects[0].place_of(&FieldPath::parse(path).unwrap()).unwrap();
        format!("{}:{}:{}", place.file(), place.position().line, place.position().column)
    };
    assert_eq!(place("/spec/replicas"), "c/overlay/md.yaml:8:13");
    assert_eq!(place("/spec/template/spec/version"), "c/base/md.yaml:10:16");
    assert_eq!(rendered.base_objects()[0].value["spec"]["replicas"], 2);
}

#[test]
fn an_overlay_document_without_namespace_means_the_one_object_of_its_name() {
    let overlay = "{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineDeployment, metadata: {name: md-0}, spec: {replicas: 7}}";
    let rendered = rendered(&[("c/base/md.yaml", DEPLOYMENT), ("c/overlay/md.yaml", overlay)]);
    assert_eq!(rendered.objects.len(), 1);
    assert_eq!(rendered.objects[0].value["spec"]["replicas"], 7);
    assert_eq!(rendered.objects[0].id.namespace.as_deref(), Some("org"));
}

#[test]
fn patches_delete_objects_and_fields() {
    let base = "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1', y: '2'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: '1'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: '1', y: '2'}}
";
    let overlay = "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: null}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, $patch: delete}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {$patch: replace, z: '3'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d}, $patch: delete}
";
    let rendered = rendered(&[("c/base/a.yaml", base), ("c/overlay/a.yaml", overlay)]);
    expect(
        &rendered,
        "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {y: '2'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {z: '3'}}
",
    );
    assert_eq!(lost(&rendered), ["c/overlay/a.yaml:7:1: there is no ConfigMap d to delete"]);
}

#[test]
fn lists_of_built_in_kinds_merge_by_key_and_those_of_custom_resources_are_replaced() {
    let base = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, finalizers: [a.io/x]}
spec:
  template:
    spec:
      containers:
      - name: web
        image: web:1
        args: [--old]
        env: [{name: A, value: '1'}, {name: B, value: '2'}]
        ports: [{containerPort: 80, name: http}]
      - {name: log, image: log:1}
      - {name: old, image: old:1}
      tolerations: [{key: a}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: t, finalizers: [a.io/x]}
spec: {template: {spec: {additionalSecurityGroups: [{id: one}, {id: two}], containers: [{name: a}, {name: b}]}}}
";
    let overlay = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, finalizers: [b.io/y]}
spec:
  template:
    spec:
      containers:
      - {name: log, image: log:2}
      - name: web
        args: [--new]
        env: [{name: B, value: '3'}, {name: C, value: '4'}, {name: A, $patch: delete}]
        ports: [{containerPort: 443}, {containerPort: 80, hostPort: 8080}]
      - {name: old, $patch: delete}
      tolerations: [{key: b}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: t, finalizers: [b.io/y]}
spec: {template: {spec: {additionalSecurityGroups: [{id: three}], containers: [{name: b, image: x}]}}}
";
    expect(
        &rendered(&[("c/base/a.yaml", base), ("c/overlay/a.yaml", overlay)]),
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, finalizers: [b.io/y, a.io/x]}
spec:
  template:
    spec:
      containers:
      - {name: log, image: log:2}
      - name: web
        image: web:1
        args: [--new]
        env: [{name: B, value: '3'}, {name: C, value: '4'}]
        ports: [{containerPort: 443}, {containerPort: 80, name: http, hostPort: 8080}]
      tolerations: [{key: b}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: t, finalizers: [b.io/y]}
spec: {template: {spec: {additionalSecurityGroups: [{id: three}], containers: [{name: b, image: x}]}}}
",
    );
}

#[test]
fn what_kustomize_loses_or_leaves_behind_is_reported_and_not_imitated() {
    let base = "\
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: [{port: 80, name: http}, {port: 443, protocol: TCP, name: https}]}
---
apiVersion: x.io/v1
kind: Foo
metadata: {name: f}
spec: {list: [{name: a}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}
";
    let overlay = "\
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: [{port: 443, name: tls}]}
---
apiVersion: x.io/v1
kind: Foo
metadata: {name: f}
spec: {list: [{name: a, $patch: delete}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, $patch: replace, data: {z: b}}
";
    let rendered = rendered(&[("c/base/a.yaml", base), ("c/overlay/a.yaml", overlay)]);
    expect(&rendered, base);
    assert_eq!(
        lost(&rendered),
        [
            "c/overlay/a.yaml:4:15: it does not fit Service s: some items of `spec.ports` have `protocol` but others do not, and kustomize then loses some: add it to all of them, here and in the object (c/base/a.yaml line 4)",
            "c/overlay/a.yaml:9:15: it does not fit Foo f: `$patch` has no meaning here in `spec.list`: a list without a merge key is replaced as a whole, so write it out",
            "c/overlay/a.yaml:11:1: it does not fit ConfigMap c: kustomize does not replace whole objects (`$patch: replace`): delete the object and add another",
        ]
    );
}

#[test]
fn a_patch_that_changes_a_type_does_not_fit_and_the_object_stays_whole() {
    let overlay = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: md-0, namespace: org}
spec:
  replicas: 9
  template: none
";
    let rendered = rendered(&[("c/base/md.yaml", DEPLOYMENT), ("c/overlay/md.yaml", overlay)]);
    assert_eq!(rendered.objects[0].value["spec"]["replicas"], 2);
    assert_eq!(
        lost(&rendered),
        [
            "c/overlay/md.yaml:6:13: it does not fit MachineDeployment org/md-0: `spec.template` is a single value here, but a mapping in the object (c/base/md.yaml line 9): a patch cannot change that, so make them agree"
        ]
    );
}

#[test]
fn with_the_base_in_the_cluster_folder_the_overlay_and_capstans_file_are_outside_it() {
    let files = Files::new(&[
        ("c/md.yaml", DEPLOYMENT),
        ("c/capstan.yaml", "release: aws/v21.0.0\n"),
        ("c/overlay/more.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}\n"),
    ]);
    let path = |path| RepoPath::parse(path).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c"), overlay: path("c/overlay") };
    let rendered = render(&files, &folders).unwrap();
    let names = |objects: &[crate::render::RenderedObject]| {
        objects.iter().map(|object| object.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(rendered.base_objects()), ["MachineDeployment org/md-0"]);
    assert_eq!(names(&rendered.objects), ["MachineDeployment org/md-0", "ConfigMap more"]);
}

#[test]
fn what_cannot_be_rendered_is_named_with_file_line_and_column() {
    let cases: [(&[(&str, &str)], &str); 6] = [
        (
            &[
                ("c/base/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"),
                (
                    "c/base/b.yaml",
                    "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n",
                ),
            ],
            "c/base/b.yaml:2:1: ConfigMap a is here and also in c/base/a.yaml line 1. An object may be there only once: remove or rename one",
        ),
        (
            &[("c/base/a.yaml", "metadata:\n  name: a\n")],
            "c/base/a.yaml:1:1: this document is not a Kubernetes object, because it has no `apiVersion`: complete it or move it elsewhere",
        ),
        (
            &[("c/base/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 12\n")],
            "c/base/a.yaml:4:9: `metadata.name` is not a text: Kubernetes requires a string here, so quote it",
        ),
        (
            &[("c/base/a.yaml", "just words\n")],
            "c/base/a.yaml:1:1: this document is not a Kubernetes object but a single value: complete it or move it elsewhere",
        ),
        (
            &[("d/base/a.yaml", "")],
            "c/base:-:-: the cluster has no folder c/base: add it, or correct `clusters.base` in .capstan.yaml",
        ),
        (
            &[("c/base/kustomization.yaml", ""), ("c/base/kustomization.yml", "")],
            "c/base/kustomization.yml:-:-: the folder has two kustomizations, kustomization.yaml and kustomization.yml: keep one",
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(refusal(files), expected);
    }
    assert!(
        refusal(&[("c/base/a.yaml", "a: [\n")]).starts_with("c/base/a.yaml:"),
        "{}",
        refusal(&[("c/base/a.yaml", "a: [\n")])
    );
}

#[test]
fn a_tree_before_and_after_shares_what_did_not_change() {
    let before = Files::new(&[("c/base/md.yaml", DEPLOYMENT), ("c/overlay/x.yaml", "")]);
    let change = FileChange {
        path: RepoPath::parse("c/base/md.yaml").unwrap(),
        before: None,
        after: Some(DEPLOYMENT.replace("replicas: 2", "replicas: 3")),
    };
    let after = EditedTree::new(&before, &[change]);
    let (folders, parsed) = (folders("c"), ParsedFiles::default());
    let old = render_with(&before, &folders, &parsed).unwrap();
    let new = render_with(&after, &folders, &parsed).unwrap();
    let differences: Vec<String> = diff(&old.objects, &new.objects)
        .iter()
        .map(|found| format!("{} {} {:?} {:?}", found.object, found.path, found.old, found.new))
        .collect();
    assert_eq!(differences, ["MachineDeployment org/md-0 /spec/replicas Some(Number(2)) Some(Number(3))"]);
}

#[test]
fn differences_compare_lists_by_key_and_null_with_absent() {
    let base =
        |spec: &str| format!("{{apiVersion: x.io/v1, kind: Foo, metadata: {{name: f}}, spec: {spec}}}\n");
    let objects = |spec: &str| rendered(&[("c/base/a.yaml", &base(spec))]).objects;
    let cases = [
        ("{a: null, b: 1}", "{b: 1}", vec![]),
        (
            "{l: [{name: a, v: 1}, {name: b, v: 1}]}",
            "{l: [{name: b, v: 2}, {name: a, v: 1}]}",
            vec!["/spec/l/1/v"],
        ),
        ("{l: [{name: a}]}", "{l: [{name: c}, {name: a}]}", vec!["/spec/l/-"]),
        ("{l: [{name: a}, {name: b}]}", "{l: [{name: b}]}", vec!["/spec/l/0"]),
        (
            "{t: [{key: k, effect: NoExecute, v: 1}, {key: k, effect: NoSchedule}]}",
            "{t: [{key: k, effect: NoSchedule}, {key: k, effect: NoExecute, v: 2}]}",
            vec!["/spec/t/0/v"],
        ),
        ("{l: [1, 2]}", "{l: [1, 3]}", vec!["/spec/l/1"]),
        ("{l: [1, 2]}", "{l: [1, 2, 3]}", vec!["/spec/l"]),
        ("{l: [1]}", "{l: {a: 1}}", vec!["/spec/l"]),
    ];
    for (old, new, expected) in cases {
        let found: Vec<String> =
            diff(&objects(old), &objects(new)).iter().map(|found| found.path.to_string()).collect();
        assert_eq!(found, expected, "{old} -> {new}");
    }
}
