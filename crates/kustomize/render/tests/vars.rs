//! `vars`: values of objects in place of `$(NAME)`.

use super::{expect, refusal, rendered};

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {of: $(OWNER)}}
spec:
  containers:
  - name: main
    args: ['--issuer=https://$(HOST).$(SPACE).svc:$(PORT)', $(PORT), $$(HOST), '$(UNKNOWN)']
    env: [{name: OWNER, value: $(OWNER)}, {name: COUNT, value: $(PORT)}]
    image: $(HOST)
";
const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{name: https, port: 8443, targetPort: $(PORT)}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: owner}
data: {owner: '007'}
";
const VARS: &str = "\
resources: [pod.yaml, service.yaml]
namespace: org
namePrefix: p-
vars:
- name: HOST
  objref: {apiVersion: v1, kind: Service, name: web}
- name: SPACE
  objref: {apiVersion: v1, kind: Service, name: web}
  fieldref: {fieldPath: metadata.namespace}
- name: PORT
  objref: {version: v1, kind: Service, name: web}
  fieldref: {fieldpath: 'spec.ports[0].port'}
- name: OWNER
  objref: {apiVersion: v1, kind: ConfigMap, name: owner}
  fieldref: {fieldPath: data.owner}
";

fn base<'a>(kustomization: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut files = vec![
        ("c/base/kustomization.yaml", kustomization),
        ("c/base/pod.yaml", POD),
        ("c/base/service.yaml", SERVICE),
    ];
    files.extend_from_slice(more);
    files
}

#[test]
fn variables_stand_for_what_an_object_has_at_the_very_end() {
    let rendered = rendered(&base(VARS, &[]));
    expect(
        &rendered,
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: p-owner, namespace: org}
data: {owner: '007'}
---
apiVersion: v1
kind: Service
metadata: {name: p-web, namespace: org}
spec: {ports: [{name: https, port: 8443, targetPort: 8443}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p-web, labels: {of: '007'}, namespace: org}
spec:
  containers:
  - name: main
    args: ['--issuer=https://p-web.org.svc:8443', 8443, $(HOST), $(UNKNOWN)]
    env: [{name: OWNER, value: '007'}, {name: COUNT, value: 8443}]
    image: $(HOST)
",
    );
}

#[test]
fn a_folder_above_changes_what_the_variables_of_one_below_give_and_may_use_them_elsewhere() {
    let rendered = rendered(&base(
        VARS,
        &[
            (
                "c/overlay/kustomization.yaml",
                "resources: [../base, site.yaml]\nnamePrefix: top-\nconfigurations: [config.yaml]\n",
            ),
            ("c/overlay/config.yaml", "varReference:\n- {kind: Site, path: spec}\n"),
            (
                "c/overlay/site.yaml",
                "apiVersion: acme.io/v1\nkind: Site\nmetadata: {name: site}\nspec: {host: $(HOST), deep: {host: $(HOST)}}\n",
            ),
        ],
    ));
    let site = rendered.objects.iter().find(|object| object.id.kind == "Site").unwrap();
    assert_eq!(site.value["spec"], serde_json::json!({"host": "top-p-web", "deep": {"host": "$(HOST)"}}));
}

#[test]
fn variables_that_nobody_can_give_are_refused_with_their_place() {
    let with = |vars: &str| format!("resources: [pod.yaml, service.yaml]\nvars:\n{vars}");
    let cases = [
        (
            "- {name: A, objref: {apiVersion: apps/v1, kind: Deployment, name: web}}\n",
            "c/base/kustomization.yaml:3:3: there is no Deployment web in API version `apps/v1` for the variable `A` to take its value from: correct its `objref`",
        ),
        (
            "- {name: A, objref: {apiVersion: v1, kind: Service, name: web}, fieldref: {fieldPath: spec.clusterIP}}\n",
            "c/base/kustomization.yaml:3:3: Service web has no value at `spec.clusterIP` for the variable `A`: correct its `fieldref`",
        ),
        (
            "- {name: A, objref: {apiVersion: v1, kind: Service, name: web}}\n- {name: A, objref: {apiVersion: v1, kind: Pod, name: web}}\n",
            "c/base/kustomization.yaml:4:3: the variable `A` is defined here and in c/base/kustomization.yaml line 3 too: rename one",
        ),
        (
            "- {name: A, objRef: {kind: Pod}, fieldPath: x}\n",
            "c/base/kustomization.yaml:3:45: an entry of `vars` has no field `fieldPath`: it has name, objref, fieldref",
        ),
        (
            "- {name: A}\n",
            "c/base/kustomization.yaml:3:3: a variable has an `objref`: say which object it takes its value from",
        ),
    ];
    for (vars, refused) in cases {
        assert_eq!(refusal(&base(&with(vars), &[])), refused, "{vars}");
    }
    let twins = "apiVersion: v1\nkind: Pod\nmetadata: {name: one, namespace: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: one, namespace: b}\n";
    let kustomization =
        "resources: [twins.yaml]\nvars:\n- {name: A, objref: {apiVersion: v1, kind: Pod, name: one}}\n";
    assert_eq!(
        refusal(&base(kustomization, &[("c/base/twins.yaml", twins)])),
        "c/base/kustomization.yaml:3:3: several objects are or were Pod one: say in `objref` which one the variable `A` takes its value from"
    );
}
