use capstan_model::finding::Place;
use capstan_model::tree::RepoPath;
use serde_json::{Value, json};

use super::*;

fn objects() -> Vec<Object> {
    vec![
        Object::of(
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "n", "labels": {"x": "y"}}, "spec": {"ports": [1, 2], "type": "X"}}),
        ),
        Object::of(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "b", "namespace": "n"}, "spec": {"replicas": 1}}),
        ),
    ]
}

fn text(text: &str) -> PatchText {
    PatchText { text: text.to_owned(), place: Place::line_of(RepoPath::parse("p.yaml").unwrap(), 7) }
}

fn tried(patches: &Patches) -> Result<(Vec<Value>, Vec<String>), String> {
    let mut all = objects();
    let notes = apply(&mut all, patches).map_err(|refusal| refusal.to_string())?;
    Ok((all.into_iter().map(|object| object.value).collect(), notes))
}

fn one(patch: &str, target: SpecPatchTarget) -> Patches {
    Patches::Targeted(vec![Patch { patch: text(patch), target: Some(target) }])
}

#[test]
fn a_list_is_a_json_patch_and_a_mapping_a_merge_patch() {
    let service = || SpecPatchTarget { kind: "Service".to_owned(), ..SpecPatchTarget::default() };
    for (patch, spec) in [
        (
            "spec: {type: null, ports: [3], new: {a: null, b: [{c: null, d: 1}, null]}}",
            json!({"ports": [3], "new": {"b": [{"d": 1}, null]}}),
        ),
        (
            "- {op: replace, path: /spec/ports/0, value: 9}\n- {op: add, path: /spec/ports/-, value: 3}\n- {op: remove, path: /spec/type}",
            json!({"ports": [9, 2, 3]}),
        ),
        (
            "- {op: copy, from: /spec/type, path: /spec/other}\n- {op: move, from: /spec/ports, path: /spec/p}\n- {op: test, path: /spec/type, value: X}",
            json!({"type": "X", "other": "X", "p": [1, 2]}),
        ),
    ] {
        let (values, notes) = tried(&one(patch, service())).unwrap();
        assert_eq!((&values[0]["spec"], &values[1]["spec"]), (&spec, &json!({"replicas": 1})), "{patch}");
        assert_eq!(notes, [""; 0]);
    }
}

#[test]
fn targets_mean_objects_by_all_that_they_say() {
    let target = |change: fn(&mut SpecPatchTarget)| {
        let mut target = SpecPatchTarget::default();
        change(&mut target);
        target
    };
    for (target, meant) in [
        (target(|_| {}), [true, true]),
        (target(|t| t.group = "apps".to_owned()), [false, true]),
        (target(|t| t.version = "v1".to_owned()), [true, true]),
        (target(|t| t.kind = "Service".to_owned()), [true, false]),
        (target(|t| t.name = "b".to_owned()), [false, true]),
        (target(|t| t.namespace = "m".to_owned()), [false, false]),
        (target(|t| t.labels = "x in (y, z)".to_owned()), [true, false]),
        (target(|t| t.labels = "!x".to_owned()), [false, true]),
        (target(|t| (t.kind, t.name) = ("Service".to_owned(), "b".to_owned())), [false, false]),
    ] {
        let (values, notes) = tried(&one("metadata: {annotations: {p: q}}", target.clone())).unwrap();
        let patched = [0, 1].map(|at: usize| values[at]["metadata"]["annotations"]["p"] == "q");
        assert_eq!(patched, meant, "{target:?}");
        assert_eq!(notes.len(), usize::from(meant == [false, false]));
    }
    let all = Patches::Targeted(vec![Patch { patch: text("metadata: {labels: {z: w}}"), target: None }]);
    assert!(tried(&all).unwrap().0.iter().all(|value| value["metadata"]["labels"]["z"] == "w"));
}

/// By the operator's code, not by its comments: without `apiVersion` nothing is meant, and its value is not compared.
#[test]
fn manifest_patches_mean_objects_by_kind_and_name() {
    for (patch, meant) in [
        ("{apiVersion: v1, kind: Service, p: q}", [true, false]),
        ("{apiVersion: other/v9, kind: Service, p: q}", [true, false]),
        ("{kind: Service, p: q}", [false, false]),
        ("{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}, p: q}", [false, true]),
        ("{apiVersion: apps/v1, kind: Deployment, metadata: {name: c}, p: q}", [false, false]),
        (
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, namespace: other}, p: q}",
            [false, true],
        ),
        ("{apiVersion: apps/v1, p: q}", [false, false]),
    ] {
        let (values, notes) = tried(&Patches::Manifests(vec![text(patch)])).unwrap();
        assert_eq!([0, 1].map(|at: usize| values[at]["p"] == "q"), meant, "{patch}");
        let told = notes.iter().all(|note| note == "p.yaml:7: this patch matches no object");
        assert!(told && notes.len() == usize::from(meant == [false, false]), "{notes:?}");
    }
}

#[test]
fn patches_that_do_not_fit_are_refused_with_their_place() {
    for (patch, said) in [
        ("a: b: c", "p.yaml:7: `spec.patches[0]`: this patch is not YAML"),
        ("", "this patch is empty"),
        ("a: b\n---\nc: d", "several documents"),
        ("just text", "neither a mapping nor a list"),
        ("[]", "no operations"),
        (
            "- {op: remove, path: /spec/nothing}",
            "p.yaml:7: `spec.patches[0]`: Service n/a: the object has nothing at `/spec/nothing`",
        ),
        ("- {op: jump, path: /spec}", "`op` must be"),
        ("- {op: test, path: /spec/type, value: Y}", "finds another value"),
        ("kind: null", "has no `kind`"),
        ("metadata: {labels: {a: 1}}", "`metadata.labels` must be a mapping of texts"),
    ] {
        let refused = tried(&one(patch, SpecPatchTarget::default())).unwrap_err();
        assert!(refused.starts_with("p.yaml:7: ") && refused.contains(said), "{patch}: {refused}");
    }
}
