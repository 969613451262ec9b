//! `invalid-value`: what a definition asks beyond types.

use super::{TODAY, folders, render_files};
use crate::policy::{AppliedBy, Occasion, PolicyFacts, judge};
use capstan_kustomize::render::RenderedFolder;
use capstan_kustomize::schema::{SchemaFile, Schemas};
use capstan_model::finding::{Severities, rules};
use capstan_model::tree::RepoPath;

/// The messages about an object: `line:column message`, without the part that every message has.
fn messages_by(schemas: &Schemas, text: &str) -> Vec<String> {
    let after = render_files(&[("base/a.yaml", text)]);
    let (folders, before) = (folders(), RenderedFolder::default());
    let facts = PolicyFacts {
        folders: &folders,
        before: &before,
        after: &after,
        inside: &[],
        applied_by: AppliedBy::Others,
        occasion: Occasion::Revision,
        release: None,
        schemas,
        cluster_api: None,
        boundary: None,
        today: TODAY,
        values: None,
    };
    let mut told: Vec<String> = judge(&facts, &Severities::default())
        .into_iter()
        .filter(|finding| finding.rule == rules::INVALID_VALUE)
        .map(|finding| {
            let place = finding.place.as_ref().unwrap().to_string();
            let line = place.split(':').nth(1).unwrap().to_owned();
            let message = finding.message.replace(": the API server refuses the object", "");
            let (is, wanted) = message.split_once(", but ").unwrap();
            let (path, is) = is.trim_start_matches('`').split_once("` of ").unwrap();
            let is = is.split_once(' ').unwrap().1.split_once(' ').unwrap().1;
            format!("{line} {path} {is}: {}", wanted.split_once(") requires ").unwrap().1)
        })
        .collect();
    told.sort_by_key(|told| (told.split(' ').next().unwrap().parse::<u32>().unwrap(), told.clone()));
    told
}

fn messages_of(text: &str) -> Vec<String> {
    messages_by(Schemas::built_in(), text)
}

#[test]
fn empty_lists_and_mappings_of_v1beta2_are_refused_but_for_selectors() {
    let found = messages_of(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md}
spec:
  clusterName: c
  selector: {}
  template:
    metadata: {}
    spec:
      clusterName: c
      bootstrap: {dataSecretName: s}
      readinessGates: []
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachineTemplate, name: md}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: md}
spec: {template: {spec: {users: [], files: null, joinConfiguration: {nodeRegistration: {kubeletExtraArgs: []}}}}}
",
    );
    assert_eq!(
        found,
        [
            "8 /spec/template/metadata has 0 fields: at least 1 field (leave out an empty mapping)",
            "12 /spec/template/spec/readinessGates has 0 items: 1 to 32 items (leave out an empty list)",
            "18 /spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs has 0 items: 1 to 100 items (leave out an empty list)",
            "18 /spec/template/spec/users has 0 items: 1 to 100 items (leave out an empty list)",
        ]
    );
}

/// A webhook of Cluster API fills in selectors and the type of a strategy, but not in a topology.
#[test]
fn required_fields_are_asked_for_where_nobody_fills_them_in() {
    let found = messages_of(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md}
spec:
  rollout: {strategy: {rollingUpdate: {maxSurge: 1}}}
  template: {spec: {clusterName: c, bootstrap: {dataSecretName: s}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  topology:
    classRef: {name: k}
    version: v1.34.1
    workers:
      machineDeployments:
      - {class: w, name: md, rollout: {strategy: {rollingUpdate: {maxSurge: 1}}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: old}
spec: {template: {spec: {}}}
",
    );
    assert_eq!(
        found,
        [
            "5 /spec/clusterName is not there: it to be there",
            "6 /spec/template/spec/infrastructureRef is not there: it to be there",
            "17 /spec/topology/workers/machineDeployments/0/rollout/strategy/type is not there: it to be there",
            "22 /spec/clusterName is not there: it to be there",
            "22 /spec/template/spec/clusterName is not there: it to be there",
        ]
    );
}

#[test]
fn a_definition_of_the_repository_sets_limits_too() {
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: acmes.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: Acme, plural: acmes}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size, region, zone]
            minProperties: 1
            properties:
              size: {type: integer, minimum: 1, maximum: 10}
              region: {type: string, pattern: '^[a-z]+-[0-9]$'}
              zone: {type: string, default: a}
              name: {type: string, minLength: 2, maxLength: 4}
              ratio: {type: number, minimum: 0.5}
              disks: {type: array, maxItems: 1, items: {type: string, minLength: 1}}
              tags: {type: object, maxProperties: 1, additionalProperties: {type: string}}
";
    let path = RepoPath::parse("crds/acme.yaml").unwrap();
    let schemas = Schemas::read([SchemaFile { path, bytes: Ok(definition.as_bytes().into()) }]);
    let of = |spec: &str| {
        messages_by(
            &schemas,
            &format!(
                "apiVersion: infrastructure.cluster.x-k8s.io/v1\nkind: Acme\nmetadata: {{name: a}}\nspec: {spec}\n"
            ),
        )
    };
    assert_eq!(of("{size: 3, region: eu-1, name: ab, ratio: 0.5, disks: [a], tags: {a: b}}"), [""; 0]);
    // A variable may become anything, and null is absent.
    assert_eq!(of("{size: '${SIZE}', region: '${REGION}', name: '${A}', disks: null}"), [""; 0]);
    assert_eq!(
        of("{size: 0, region: EU, name: abcde, ratio: 0.4, disks: [a, ''], tags: {a: b, c: d}}"),
        [
            "4 /spec/disks has 2 items: at most 1 item",
            "4 /spec/disks/1 has 0 characters: at least 1 character",
            "4 /spec/name has 5 characters: 2 to 4 characters",
            "4 /spec/ratio is out of range: at least 0.5",
            "4 /spec/region has another form: what matches `^[a-z]+-[0-9]$`",
            "4 /spec/size is out of range: 1 to 10",
            "4 /spec/tags has 2 fields: at most 1 field",
        ]
    );
    assert_eq!(
        of("{}"),
        [
            "4 /spec has 0 fields: at least 1 field (leave out an empty mapping)",
            "4 /spec/region is not there: it to be there",
            "4 /spec/size is not there: it to be there",
        ]
    );
}

/// A definition of which `spec` is this.
fn messages_with(spec_schema: &str, spec: &str) -> Vec<String> {
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: acmes.example.org}}\nspec:\n  group: example.org\n  names: {{kind: Acme, plural: acmes}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {spec_schema}}}}}}}\n"
    );
    let path = RepoPath::parse("crds/acme.yaml").unwrap();
    let schemas = Schemas::read([SchemaFile { path, bytes: Ok(definition.as_bytes().into()) }]);
    assert_eq!(schemas.problems(), []);
    messages_by(
        &schemas,
        &format!("apiVersion: example.org/v1\nkind: Acme\nmetadata: {{name: a}}\nspec: {spec}\n"),
    )
}

#[test]
fn parts_of_a_definition_are_asked_for_where_anybody_can_tell() {
    const FIELDS: &str = "a: {type: string}, b: {type: integer}, d: {type: string, default: x}, m: {type: object, properties: {k: {type: string}}}";
    let of = |parts: &str, spec: &str| {
        messages_with(&format!("{{type: object, properties: {{{FIELDS}}}, {parts}}}"), spec)
    };
    const ONE: &str = "oneOf: [{required: [a]}, {required: [b]}]";
    const EITHER: &str = "anyOf: [{required: [a]}, {properties: {b: {minimum: 5}}, required: [b]}]";
    const NOT: &str = "not: {required: [a, b]}";
    const ALL: &str = "allOf: [{required: [a]}, {properties: {m: {required: [k]}}}]";
    for (parts, spec, expected) in [
        (ONE, "{a: x}", ""),
        (ONE, "{b: 1}", ""),
        (
            ONE,
            "{m: {}}",
            "4 /spec has none of 2 forms: one of them (`anyOf` or `oneOf`): the field `a`, or the field `b`",
        ),
        (
            ONE,
            "{a: x, b: 1}",
            "4 /spec has 2 of 2 forms at once: one of them alone (`oneOf`): the field `a`, or the field `b`",
        ),
        // Null is absent to some, and there to others.
        (ONE, "{a: null}", ""),
        (EITHER, "{b: 5}", ""),
        (EITHER, "{b: '${B}'}", ""),
        (
            EITHER,
            "{b: 4}",
            "4 /spec has none of 2 forms: one of them (`anyOf` or `oneOf`): the field `a`, or the field `b` and `b` with at least 5",
        ),
        (NOT, "{a: x}", ""),
        (
            NOT,
            "{a: x, b: 1}",
            "4 /spec has a form that is excluded: another one than this (`not`): the fields `a` and `b`",
        ),
        (ALL, "{a: x}", ""),
        (
            ALL,
            "{a: x, m: {}}",
            "4 /spec lacks a part of its form: all parts (`allOf`): `m` with the field `k`",
        ),
        // The server fills in `d`.
        ("oneOf: [{required: [a]}, {required: [d]}]", "{b: 1}", ""),
        ("not: {properties: {d: {enum: [x]}}}", "{b: 1}", ""),
        (
            "not: {properties: {d: {enum: [x]}}, required: [d]}",
            "{d: x}",
            "4 /spec has a form that is excluded: another one than this (`not`): the field `d` and `d` with one of \"x\"",
        ),
        // What is not understood is not asked for.
        ("not: {properties: {a: {format: uri}}}", "{a: x}", ""),
        ("not: {properties: {a: {pattern: '(?=x)'}}}", "{a: x}", ""),
    ] {
        let expected: Vec<&str> = Some(expected).into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(of(parts, spec), expected, "{parts} {spec}");
    }
    // As definitions write what is a number or a text.
    let port = "{type: object, properties: {p: {x-kubernetes-int-or-string: true, allOf: [{anyOf: [{type: integer}, {type: string}]}, {anyOf: [{type: integer, minimum: 1}, {type: string, pattern: '^[a-z]+$'}]}]}}}";
    assert_eq!(messages_with(port, "{p: 1}"), [""; 0]);
    assert_eq!(messages_with(port, "{p: http}"), [""; 0]);
    assert_eq!(messages_with(port, "{p: 0}"), ["4 /spec/p lacks a part of its form: all parts (`allOf`)"]);
}

#[test]
fn items_that_a_list_tells_apart_stand_once() {
    let schema = "{type: object, properties: {ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, protocol], items: {type: object, properties: {port: {type: integer}, protocol: {type: string, default: TCP}}}}, tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}, any: {type: array, items: {type: string}}}}";
    let same = "{ports: [{port: 1}, {port: 1, protocol: UDP}, {port: 2}], tags: [a, b], any: [a, a]}";
    assert_eq!(messages_with(schema, same), [""; 0]);
    assert_eq!(
        messages_with(schema, "{ports: [{port: '${P}'}, {port: '${P}'}], tags: ['${T}', '${T}']}"),
        [""; 0]
    );
    assert_eq!(
        messages_with(schema, "{ports: [{port: 1}, {port: 2}, {port: 1, protocol: TCP}], tags: [a, b, a]}"),
        [
            "4 /spec/ports/2 has the `port` and `protocol` of item 0, counted from 0: each item to have its own",
            "4 /spec/tags/2 is item 0 once more, counted from 0: each item once",
        ]
    );
    let found = messages_of(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, finalizers: [a.org/b, a.org/b]}
spec:
  topology:
    classRef: {name: k}
    version: v1.34.1
    workers:
      machineDeployments:
      - {class: w, name: md}
      - {class: v, name: md}
",
    );
    assert_eq!(
        found,
        [
            "11 /spec/topology/workers/machineDeployments/1 has the `name` of item 0, counted from 0: each item to have its own"
        ]
    );
}
