//! Kinds of other providers, by what their definitions show of two versions.

use crate::conversion::{apply, convert, convert_or_all};
use crate::schema::{SchemaFile, Schemas};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Node, YamlFile};

/// A rack, of which each version has these fields below `spec`, and `v2` what is written after the bar.
fn schemas(both: &str, v1: &str, v2: &str) -> Schemas {
    let version = |name: &str, own: &str| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {}\n    schema:\n      openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{both}{own}}}}}}}}}\n",
            name == "v2"
        )
    };
    let text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: racks.metal.example.org}}\nspec:\n  group: metal.example.org\n  names: {{kind: Rack, plural: racks}}\n  scope: Namespaced\n  versions:\n{}{}",
        version("v1", v1),
        version("v2", v2)
    );
    let path = RepoPath::parse(".capstan/crds/racks.yaml").unwrap();
    Schemas::read([SchemaFile { bytes: Ok(text.into_bytes().into()), path }])
}

fn rack(spec: &str) -> Node {
    let text =
        format!("{{apiVersion: metal.example.org/v1, kind: Rack, metadata: {{name: r}}, spec: {spec}}}");
    YamlFile::read(&text).unwrap().documents()[0].root.clone()
}

const BOTH: &str = "room: {type: string}, units: {type: integer}, doors: {type: array, items: {type: object, properties: {side: {type: string}}}}, extra: {type: object, x-kubernetes-preserve-unknown-fields: true}";

#[test]
fn an_object_of_the_same_shape_gets_the_version_alone() {
    let schemas = schemas(BOTH, "", ", cooled: {type: boolean}");
    let full = rack("{room: north, units: 42, doors: [{side: left}], extra: {any: thing}}");
    // A field that neither version has is dropped by both.
    let unknown = rack("{room: north, doors: null, colour: red}");
    for mut object in [full, unknown] {
        let mut wanted = object.value();
        let conversion = convert(&object, "metal.example.org/v2", &schemas).unwrap();
        assert_eq!(conversion.steps.len(), 1);
        apply(&mut object, &conversion);
        wanted["apiVersion"] = "metal.example.org/v2".into();
        assert_eq!(object.value(), wanted);
    }
}

#[test]
fn fields_of_another_shape_are_named_with_what_they_are_in_either_version() {
    // What v1 and v2 have besides, the object's spec, the field, why.
    let cases = [
        (
            "link: {type: integer}",
            "link: {type: object}",
            "{link: 4}",
            "/spec/link",
            "it is a whole number in the older version and a mapping in the newer one",
        ),
        (
            "link: {type: integer}",
            "link: {x-kubernetes-int-or-string: true}",
            "{link: 4}",
            "/spec/link",
            "it is a whole number in the older version and a whole number or a string in the newer one",
        ),
        ("link: {type: integer}", "", "{link: 4}", "/spec/link", "the newer version has no such field"),
        (
            "",
            "link: {type: integer}",
            "{link: 4}",
            "/spec/link",
            "the older version has no such field, so the server drops it today",
        ),
        (
            "mode: {type: string, enum: [a, b]}",
            "mode: {type: string, enum: [b, c]}",
            "{mode: a}",
            "/spec/mode",
            "the newer version does not accept this value",
        ),
        (
            "tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}",
            "tags: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}",
            "{tags: [a]}",
            "/spec/tags",
            "the two versions read it differently",
        ),
        (
            "slots: {type: array, items: {type: object, properties: {at: {type: string}}}}",
            "slots: {type: array, items: {type: object, properties: {at: {type: integer}}}}",
            "{slots: [{}, {at: x}]}",
            "/spec/slots/1/at",
            "it is a string in the older version and a whole number in the newer one",
        ),
    ];
    for (v1, v2, spec, field, why) in cases {
        let schemas = schemas("room: {type: string}, ", v1, v2);
        let refused = convert(&rack(spec), "metal.example.org/v2", &schemas).unwrap_err();
        assert_eq!((refused.field.to_string().as_str(), refused.why.as_str()), (field, why), "{spec}");
        // What the object does not have is no matter.
        assert!(convert(&rack("{room: north}"), "metal.example.org/v2", &schemas).is_ok(), "{spec}");
    }
}

#[test]
fn all_fields_of_another_shape_are_told_and_templates_are_taken_as_what_they_become() {
    let schemas = schemas(
        "",
        "a: {type: integer}, b: {type: string}, mode: {type: string, enum: [x]}",
        "a: {type: string}, mode: {type: string, enum: [x]}",
    );
    let object = rack("{a: 1, b: two, mode: '${MODE}'}");
    let (first, others) = convert_or_all(&object, "metal.example.org/v2", &schemas).unwrap_err();
    let fields: Vec<String> = [*first].iter().chain(&others).map(|why| why.field.to_string()).collect();
    assert_eq!(fields, ["/spec/a", "/spec/b"]);
}

#[test]
fn without_both_definitions_nobody_can_tell() {
    let refused = convert(&rack("{}"), "metal.example.org/v3", &schemas(BOTH, "", "")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Rack cannot be converted from metal.example.org/v1 to metal.example.org/v3: no definition of Rack in \
         metal.example.org/v3 is known, so Capstan cannot say which fields moved; add the provider's CustomResourceDefinition to .capstan/crds, or convert the object to that version by hand"
    );
}

/// As Cluster API's contract moves them, in whatever provider's kind.
#[test]
fn drain_timeouts_and_references_move_where_both_definitions_show_it() {
    const REFERENCE: &str = "{type: object, properties: {apiVersion: {type: string}, kind: {type: string}, name: {type: string}, namespace: {type: string}}}";
    const NEWER: &str =
        "{type: object, properties: {apiGroup: {type: string}, kind: {type: string}, name: {type: string}}}";
    let seconds = "nodeDrainTimeoutSeconds: {type: integer}, nodeDeletionTimeoutSeconds: {type: integer}";
    let schemas = schemas(
        "replicas: {type: integer}, ",
        &format!(
            "nodeDrainTimeout: {{type: string}}, wait: {{type: string}}, machineTemplate: {{type: object, properties: {{infrastructureRef: {REFERENCE}, nodeDrainTimeout: {{type: string}}, nodeDeletionTimeout: {{type: string}}}}}}"
        ),
        &format!(
            "deletion: {{type: object, properties: {{nodeDrainTimeoutSeconds: {{type: integer}}}}}}, waitSeconds: {{type: integer}}, machineTemplate: {{type: object, properties: {{spec: {{type: object, properties: {{infrastructureRef: {NEWER}, deletion: {{type: object, properties: {{{seconds}}}}}}}}}}}}}"
        ),
    );
    for (before, after) in [
        (
            "{machineTemplate: {infrastructureRef: {apiVersion: infrastructure.example.org/v1, kind: M, name: m, namespace: ns}, nodeDrainTimeout: 10m, nodeDeletionTimeout: 90s}}",
            "{machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.example.org, kind: M, name: m}, deletion: {nodeDrainTimeoutSeconds: 600, nodeDeletionTimeoutSeconds: 90}}}}",
        ),
        (
            "{replicas: 3, nodeDrainTimeout: 0s, wait: 1h}",
            "{replicas: 3, deletion: {nodeDrainTimeoutSeconds: 0}, waitSeconds: 3600}",
        ),
    ] {
        let mut object = rack(before);
        let conversion = convert(&object, "metal.example.org/v2", &schemas).unwrap();
        apply(&mut object, &conversion);
        assert_eq!(object.value()["spec"], rack(after).value()["spec"], "{before}");
    }
    let refused = convert(&rack("{wait: '${WAIT}'}"), "metal.example.org/v2", &schemas).unwrap_err();
    assert_eq!(refused.field.to_string(), "/spec/wait");
}

/// What a control plane says itself counts for its machines where `machineTemplate` says nothing.
#[test]
fn what_stands_twice_in_the_older_version_is_one_field_of_the_newer() {
    const REFERENCE: &str = "{type: object, properties: {apiVersion: {type: string}, kind: {type: string}, name: {type: string}, namespace: {type: string}}}";
    const NEWER: &str =
        "{type: object, properties: {apiGroup: {type: string}, kind: {type: string}, name: {type: string}}}";
    let both = format!("infrastructureRef: {REFERENCE}, nodeDrainTimeout: {{type: string}}");
    let schemas = schemas(
        "replicas: {type: integer}, ",
        &format!(
            "{both}, alone: {{type: string}}, machineTemplate: {{type: object, properties: {{{both}}}}}"
        ),
        &format!(
            "machineTemplate: {{type: object, properties: {{spec: {{type: object, properties: {{infrastructureRef: {NEWER}, deletion: {{type: object, properties: {{nodeDrainTimeoutSeconds: {{type: integer}}, aloneSeconds: {{type: integer}}}}}}}}}}}}}}"
        ),
    );
    let reference =
        |name: &str| format!("{{apiVersion: i.example.org/v1, kind: M, name: {name}, namespace: ns}}");
    let (m, n) = (reference("m"), reference("n"));
    let after = "{machineTemplate: {spec: {infrastructureRef: {apiGroup: i.example.org, kind: M, name: m}, deletion: {nodeDrainTimeoutSeconds: 120}}}}";
    for before in [
        format!("{{infrastructureRef: {m}, nodeDrainTimeout: 2m}}"),
        format!("{{machineTemplate: {{infrastructureRef: {m}}}, nodeDrainTimeout: 2m}}"),
        format!(
            "{{nodeDrainTimeout: 2m, machineTemplate: {{infrastructureRef: {m}, nodeDrainTimeout: 2m}}}}"
        ),
        format!(
            "{{infrastructureRef: {m}, machineTemplate: {{infrastructureRef: {m}, nodeDrainTimeout: 2m}}}}"
        ),
    ] {
        let mut object = rack(&before);
        let conversion = convert(&object, "metal.example.org/v2", &schemas).unwrap();
        apply(&mut object, &conversion);
        let value = object.value();
        assert_eq!(value["spec"], rack(after).value()["spec"], "{before}");
    }
    for (before, field) in [
        (
            format!("{{infrastructureRef: {m}, machineTemplate: {{infrastructureRef: {n}}}}}"),
            "/spec/infrastructureRef",
        ),
        (
            "{nodeDrainTimeout: 2m, machineTemplate: {nodeDrainTimeout: 3m}}".to_owned(),
            "/spec/nodeDrainTimeout",
        ),
        // Nothing shows that these are one.
        ("{alone: 2m}".to_owned(), "/spec/alone"),
    ] {
        let refused = convert(&rack(&before), "metal.example.org/v2", &schemas).unwrap_err();
        assert_eq!(refused.field.to_string(), field, "{before}");
    }
}

/// A duration that stays one, and that machines have from now on.
#[test]
fn a_control_planes_own_drain_timeout_becomes_its_machines() {
    let newer = "machineTemplate: {type: object, properties: {nodeDrainTimeout: {type: string}, other: {type: string}}}";
    let of = |older: &str| schemas("replicas: {type: integer}, ", older, newer);
    let alone = of("nodeDrainTimeout: {type: string}, other: {type: string}");
    let both = of(
        "nodeDrainTimeout: {type: string}, machineTemplate: {type: object, properties: {nodeDrainTimeout: {type: string}}}",
    );
    for (schemas, before) in [
        (&alone, "{replicas: 3, nodeDrainTimeout: 2m}"),
        (&alone, "{replicas: 3, nodeDrainTimeout: '${DRAIN}'}"),
        (&both, "{replicas: 3, machineTemplate: {nodeDrainTimeout: 2m}}"),
        (&both, "{replicas: 3, nodeDrainTimeout: 2m, machineTemplate: {nodeDrainTimeout: 2m}}"),
    ] {
        let mut object = rack(before);
        let conversion = convert(&object, "metal.example.org/v2", schemas).unwrap();
        apply(&mut object, &conversion);
        let said = if before.contains('$') { "'${DRAIN}'" } else { "2m" };
        let after = rack(&format!("{{replicas: 3, machineTemplate: {{nodeDrainTimeout: {said}}}}}"));
        assert_eq!(object.value()["spec"], after.value()["spec"], "{before}");
    }
    let two = "{nodeDrainTimeout: 2m, machineTemplate: {nodeDrainTimeout: 3m}}";
    let refused = convert(&rack(two), "metal.example.org/v2", &both).unwrap_err();
    assert_eq!(refused.field.to_string(), "/spec/nodeDrainTimeout");
    // Nothing says that another field of that name means machines.
    let refused = convert(&rack("{other: a}"), "metal.example.org/v2", &alone).unwrap_err();
    assert_eq!(refused.field.to_string(), "/spec/other");
}
