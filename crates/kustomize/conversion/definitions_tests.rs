//! Kinds of other providers, by what their definitions show of two versions.

use crate::conversion::{AtHand, apply, convert, convert_or_all};
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
        // Fields that the object does not have do not matter.
        assert!(convert(&rack("{room: north}"), "metal.example.org/v2", &schemas).is_ok(), "{spec}");
    }
}

#[test]
fn all_fields_of_another_shape_are_reported_and_templates_convert_as_what_they_become() {
    let schemas = schemas(
        "",
        "a: {type: integer}, b: {type: string}, mode: {type: string, enum: [x]}",
        "a: {type: string}, mode: {type: string, enum: [x]}",
    );
    let object = rack("{a: 1, b: two, mode: '${MODE}'}");
    let (first, others) =
        convert_or_all(&object, "metal.example.org/v2", AtHand::Whole, &schemas).unwrap_err();
    let fields: Vec<String> = [*first].iter().chain(&others).map(|why| why.field.to_string()).collect();
    assert_eq!(fields, ["/spec/a", "/spec/b"]);
}

#[test]
fn a_conversion_needs_both_definitions() {
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
fn a_field_that_the_older_version_has_twice_is_one_field_of_the_newer() {
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

/// A list that only gains a type is the same one, if its items are distinct.
#[test]
fn a_list_gains_its_type_where_its_items_are_distinct() {
    let list = |more: &str| {
        format!("slots: {{type: array{more}, items: {{type: object, properties: {{at: {{type: string}}}}}}}}")
    };
    let map = list(", x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [at]");
    let names = |more: &str| format!("tags: {{type: array{more}, items: {{type: string}}}}");
    let older = format!("{}, {}", list(""), names(""));
    let newer = format!("{map}, {}", names(", x-kubernetes-list-type: set"));
    let schemas = schemas("room: {type: string}, ", &older, &newer);
    for spec in ["{slots: [{at: a}, {at: b}]}", "{tags: [a, b]}", "{slots: []}"] {
        assert!(convert(&rack(spec), "metal.example.org/v2", &schemas).is_ok(), "{spec}");
    }
    for (spec, field, why) in [
        (
            "{slots: [{at: a}, {at: b}, {at: a}]}",
            "/spec/slots/2",
            "the newer version tells the items of this list apart by at, and an item before is the same",
        ),
        (
            "{tags: [a, a]}",
            "/spec/tags/1",
            "the newer version tells the items of this list apart as a whole, and an item before is the same",
        ),
    ] {
        let refused = convert(&rack(spec), "metal.example.org/v2", &schemas).unwrap_err();
        assert_eq!((refused.field.to_string().as_str(), refused.why.as_str()), (field, why), "{spec}");
    }
}

#[test]
fn limits_are_judged_where_they_are_new() {
    let slot = |more: &str| {
        format!("slot: {{type: object{more}, properties: {{a: {{type: string}}, b: {{type: string}}}}}}")
    };
    for (older, newer, spec, field) in [
        ("units: {type: integer}", "units: {type: integer, minimum: 2}", "{units: 1}", "/spec/units"),
        ("units: {type: integer}", "units: {type: integer, maximum: 4}", "{units: 5}", "/spec/units"),
        ("mark: {type: string}", "mark: {type: string, pattern: '^a+$'}", "{mark: b}", "/spec/mark"),
        ("mark: {type: string}", "mark: {type: string, minLength: 1}", "{mark: ''}", "/spec/mark"),
        (&slot(""), &slot(", required: [b]"), "{slot: {a: x}}", "/spec/slot/b"),
        (&slot(""), &slot(", minProperties: 1"), "{slot: {}}", "/spec/slot"),
    ] {
        let both = "room: {type: string}, ";
        let refused = convert(&rack(spec), "metal.example.org/v2", &schemas(both, older, newer)).unwrap_err();
        assert_eq!(refused.field.to_string(), field, "{spec}");
        // What the older version asks too is not the conversion's matter; nor is a variable.
        assert!(convert(&rack(spec), "metal.example.org/v2", &schemas(both, newer, newer)).is_ok(), "{spec}");
        let variable = rack("{room: '${ROOM}'}");
        assert!(convert(&variable, "metal.example.org/v2", &schemas(both, older, newer)).is_ok(), "{spec}");
        // A part of an object need not have what the whole one has.
        let part = convert_or_all(
            &rack("{slot: {a: x}}"),
            "metal.example.org/v2",
            AtHand::Part,
            &schemas(both, &slot(""), &slot(", required: [b]")),
        );
        assert!(part.is_ok());
    }
}

#[test]
fn a_default_that_changes_is_written_out_as_it_was() {
    let schemas = schemas(
        "room: {type: string}, ",
        "mode: {type: string, default: hard}, count: {type: integer, default: 1}, kept: {type: boolean, default: true}, free: {type: string}",
        "mode: {type: string}, count: {type: integer, default: 2}, kept: {type: boolean, default: true}, free: {type: string, default: x}",
    );
    let mut object = rack("{room: north}");
    let conversion = convert(&object, "metal.example.org/v2", &schemas).unwrap();
    apply(&mut object, &conversion);
    assert_eq!(object.value()["spec"], rack("{room: north, mode: hard, count: 1}").value()["spec"]);
    let notes: Vec<(String, &str)> =
        conversion.notes.iter().map(|note| (note.field.to_string(), note.text.as_str())).collect();
    assert_eq!(
        notes,
        [
            (
                "/spec/count".to_owned(),
                "where nothing is said, the older version fills in `1`, and the newer one `2`: the old value is written out"
            ),
            (
                "/spec/free".to_owned(),
                "where nothing is said, the older version fills in nothing, and the newer one `x`"
            ),
            (
                "/spec/mode".to_owned(),
                "where nothing is said, the older version fills in `hard`, and the newer one nothing: the old value is written out"
            ),
        ]
    );
    let said = rack("{mode: soft, count: 3, kept: false, free: y}");
    assert!(convert(&said, "metal.example.org/v2", &schemas).unwrap().notes.is_empty());
}

/// The older version's Go types write an empty list as none at all.
#[test]
fn an_empty_list_goes_where_the_newer_version_takes_none() {
    let tags = |more: &str| format!("tags: {{type: array{more}, items: {{type: string}}}}");
    let schemas = schemas("room: {type: string}, ", &tags(""), &tags(", minItems: 1"));
    let mut object = rack("{room: north, tags: []}");
    let conversion = convert(&object, "metal.example.org/v2", &schemas).unwrap();
    apply(&mut object, &conversion);
    assert_eq!(object.value()["spec"], rack("{room: north}").value()["spec"]);
    // In a patch it takes out what is there.
    let part = convert_or_all(&rack("{tags: []}"), "metal.example.org/v2", AtHand::Part, &schemas);
    assert_eq!(part.unwrap_err().0.field.to_string(), "/spec/tags");
}
