use serde_json::json;

use super::*;

/// A definition with the versions `name state` and the schema of each.
fn definition(versions: &[(&str, &str, Value)]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|(name, state, schema)| {
            json!({
                "name": name,
                "served": *state != "unserved",
                "storage": *state == "stored",
                "schema": {"openAPIV3Schema": schema},
            })
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pools.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Pool"}, "versions": versions},
    })
}

fn differing(before: &Value, after: &Value) -> DefinitionDifference {
    difference(&CrdDefinition::read(before).unwrap(), &CrdDefinition::read(after).unwrap())
}

/// What is said of a schema that becomes another, as `path: what`.
fn said(old: Value, new: Value) -> (Vec<String>, Vec<String>) {
    let of = |schema: Value| {
        definition(&[("v1", "stored", json!({"type": "object", "properties": {"spec": schema}}))])
    };
    let found = differing(&of(old), &of(new));
    assert!(found.versions.is_empty());
    let words = |notes: &[FieldNote]| {
        notes.iter().map(|note| format!("{}: {}", note.path, note.what)).collect::<Vec<_>>()
    };
    (words(&found.gone), words(&found.narrowed))
}

#[test]
fn versions_come_go_and_change_what_is_stored() {
    let schema = || json!({"type": "object"});
    let before = definition(&[
        ("v1alpha3", "unserved", schema()),
        ("v1alpha4", "served", schema()),
        ("v1beta1", "stored", schema()),
    ]);
    let after = definition(&[
        ("v1beta2", "stored", schema()),
        ("v1beta1", "served", schema()),
        ("v1alpha4", "unserved", schema()),
    ]);
    let found = differing(&before, &after);
    let words: Vec<String> = found.versions.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "v1alpha3 is removed; it was not served",
            "v1alpha4 is not served, and was served",
            "v1beta1 is served, and was served and stored",
            "v1beta2 is new, served and stored",
        ]
    );
    let gone = FieldNote {
        version: "v1alpha4".to_owned(),
        path: String::new(),
        what: "it is no longer served; objects are written in v1beta2 or v1beta1".to_owned(),
    };
    assert_eq!((found.gone, found.added), (vec![gone], 0));
    let back = differing(&after, &before);
    assert_eq!(back.gone[0].what, "it is no longer defined; objects are written in v1beta1 or v1alpha4");
    assert!(differing(&before, &before).is_empty());
}

#[test]
fn paths_are_fields_items_of_lists_and_values_of_maps() {
    let old = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let new = json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "taints": {"type": "array", "items": {"type": "object", "properties": {"key": {"type": "string"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let of = |schema: &Value| definition(&[("v1", "stored", schema.clone())]);
    // taints, taints[], taints[].key, labels, labels.*
    assert_eq!(differing(&of(&old), &of(&new)).added, 5);
    let gone = differing(&of(&new), &of(&old)).gone;
    let paths: Vec<&str> = gone.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(paths, ["labels", "taints"]);
}

/// One row a keyword: what it was, what it is, what is said.
#[test]
fn what_takes_less_is_said_in_plain_words() {
    for (old, new, wanted) in [
        (json!({"type": "string"}), json!({"type": "string"}), None),
        (
            json!({"type": "string"}),
            json!({"type": "integer"}),
            Some("it accepts a whole number; before, it accepted a string"),
        ),
        (json!({"type": "integer"}), json!({"type": "number"}), None),
        (
            json!({"type": "number"}),
            json!({"type": "integer"}),
            Some("it accepts a whole number; before, it accepted a number"),
        ),
        (json!({"type": "string"}), json!({"x-kubernetes-int-or-string": true}), None),
        (
            json!({}),
            json!({"type": "boolean"}),
            Some("it accepts true or false; before, it accepted anything"),
        ),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["b", "c"]}), Some("it no longer accepts \"a\"")),
        (json!({"enum": ["a"]}), json!({"enum": ["a", "b"]}), None),
        (json!({}), json!({"enum": ["a", 1]}), Some("it accepts only \"a\", 1")),
        (json!({"enum": ["a"]}), json!({}), None),
        (json!({"required": ["a"]}), json!({"required": ["a", "b"]}), Some("it must have `b`")),
        (json!({"required": ["a", "b"]}), json!({"required": ["a"]}), None),
        (json!({}), json!({"required": ["b"], "properties": {"b": {"default": 1}}}), None),
        (json!({"minimum": 1}), json!({"minimum": 2}), Some("it takes at least 2, and 1 before")),
        (json!({"minimum": 2}), json!({"minimum": 1}), None),
        (json!({}), json!({"minimum": 0}), Some("it takes at least 0")),
        (
            json!({"minimum": 1}),
            json!({"minimum": 1, "exclusiveMinimum": true}),
            Some("it takes more than 1, and 1 before"),
        ),
        (json!({"maximum": 9}), json!({"maximum": 8}), Some("it takes at most 8, and 9 before")),
        (json!({"maximum": 9}), json!({}), None),
        (json!({}), json!({"minLength": 0}), None),
        (json!({}), json!({"minLength": 1}), Some("it takes at least 1 character")),
        (
            json!({"maxLength": 253}),
            json!({"maxLength": 63}),
            Some("it takes at most 63 characters, and 253 before"),
        ),
        (json!({}), json!({"maxItems": 100}), Some("it takes at most 100 items")),
        (json!({}), json!({"minProperties": 1}), Some("it takes at least 1 field")),
        (json!({"nullable": true}), json!({}), Some("it no longer accepts null")),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            json!({"type": "object", "properties": {}}),
            Some("it no longer keeps unlisted fields"),
        ),
        (
            json!({}),
            json!({"pattern": "^a$"}),
            Some("it may refuse what it accepted before: a pattern `^a$` is new"),
        ),
        (
            json!({"pattern": "a"}),
            json!({"pattern": "b"}),
            Some("it may refuse what it accepted before: a pattern `b` is another"),
        ),
        (json!({"pattern": "a"}), json!({}), None),
        (
            json!({"x-kubernetes-validations": [{"rule": "self.a"}]}),
            json!({"x-kubernetes-validations": [{"rule": "self.a", "message": "m"}, {"rule": "self.b"}]}),
            Some("it may refuse what it accepted before: the validation rule `self.b` is new"),
        ),
        (
            json!({"x-kubernetes-list-type": "atomic"}),
            json!({"x-kubernetes-list-type": "map"}),
            Some("it may refuse what it accepted before: items must differ, as in a list of type `map`"),
        ),
    ] {
        let (gone, narrowed) = said(old.clone(), new.clone());
        let expected: Vec<String> = wanted.iter().map(|what| format!("spec: {what}")).collect();
        assert_eq!((gone, narrowed), (Vec::new(), expected), "{old} {new}");
    }
}

#[test]
fn nodes_below_lists_and_maps_have_their_place() {
    let of = |length: u32, field: &str| {
        json!({"type": "object", "properties": {
            "taints": {"type": "array", "items": {"type": "object", "properties": {field: {"type": "string"}, "x": {"maxLength": length}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": length}},
        }})
    };
    let (gone, narrowed) = said(of(9, "key"), of(5, "name"));
    assert_eq!(
        gone,
        [
            "spec.taints[].key: the field is gone: the API server drops it, or refuses it with strict field validation"
        ]
    );
    assert_eq!(
        narrowed,
        [
            "spec.labels.*: it takes at most 5 characters, and 9 before",
            "spec.taints[].x: it takes at most 5 characters, and 9 before",
        ]
    );
    // What keeps what it does not list loses nothing.
    let keeps = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(said(of(9, "key"), keeps).0, [""; 0]);
}

#[test]
fn an_object_fits_or_not_place_by_place() {
    let old = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "gone": {"type": "string"}, "kind": {"type": "string"}, "count": {"type": "integer"},
        "text": {"type": "string"}, "free": {"type": "string"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }}}});
    let new = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["count"], "properties": {
        "kind": {"type": "string", "enum": ["a", "b"]}, "count": {"type": "integer", "maximum": 5},
        "text": {"type": "integer"}, "free": {"type": "string", "pattern": "^x"},
        "items": {"type": "array", "maxItems": 1, "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
    }}}});
    for (text, wanted) in [
        ("spec: {count: 5, kind: a, items: [{name: x}]}", &[][..]),
        ("spec:\n  count: 1\n  gone: x\n", &["6 /spec/gone spec.gone Certain the field is gone"][..]),
        (
            "spec: {kind: c, count: 6}",
            &[
                "4 /spec/kind spec.kind Certain it accepts only \"a\", \"b\"",
                "4 /spec/count spec.count Certain it takes at most 5",
            ],
        ),
        ("spec: {gone: null}", &["4 /spec spec Certain it must have `count`"]),
        ("spec: {count: 1, text: \"1\"}", &["4 /spec/text spec.text Certain it accepts a whole number"]),
        ("spec: {count: 1, text: 1}", &[]),
        ("spec: {count: 1, free: y}", &["4 /spec/free spec.free May it may refuse"]),
        (
            "spec:\n  count: 1\n  items:\n  - name: x\n  - {}\n",
            &[
                "7 /spec/items spec.items Certain it takes at most 1 item",
                "8 /spec/items/1 spec.items[] Certain it must have `name`",
            ],
        ),
    ] {
        let file = capstan_yaml::YamlFile::read(&format!(
            "apiVersion: example.com/v1\nkind: Pool\nmetadata: {{name: a, unknown: b}}\n{text}"
        ))
        .unwrap();
        let path = capstan_model::tree::RepoPath::parse("a.yaml").unwrap();
        let placed = capstan_kustomize::render::placed_documents(&path, &file);
        let found = misfits(&old, &new, &placed[0]);
        assert_eq!(found.len(), wanted.len(), "{text}: {found:?}");
        for (misfit, wanted) in found.iter().zip(wanted) {
            let line = misfit.written.position().line;
            let told =
                format!("{line} {} {} {:?} {}", misfit.path, misfit.node, misfit.certainty, misfit.what);
            assert!(told.starts_with(wanted), "{text}: {told}");
        }
    }
}
