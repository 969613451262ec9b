//! MachineDeployments and MachineSets, their strategies, pauses and times.

use serde_json::json;

use super::*;

#[test]
fn a_machine_deployment() {
    check(
        DEPLOYMENT,
        &[
            (
                &[("/spec/template/spec/version", json!("v1.31.1"))],
                "5 offline [/spec/template/spec/version] 5/0/0",
            ),
            (
                &[("/spec/template/spec/failureDomain", json!("a"))],
                "5 offline [/spec/template/spec/failureDomain] 5/0/0",
            ),
            (
                &[("/spec/template/spec/bootstrap/configRef/name", json!("b"))],
                "5 offline [/spec/template/spec/bootstrap/configRef/name] 5/0/0",
            ),
            (
                &[("/spec/template/spec/bootstrap", json!({"dataSecretName": "b"}))],
                "5 offline [/spec/template/spec/bootstrap/configRef/name /spec/template/spec/bootstrap/dataSecretName] 5/0/0",
            ),
            (
                &[("/spec/template/spec/infrastructureRef/name", json!("b"))],
                "5 offline [/spec/template/spec/infrastructureRef/name] 5/0/0",
            ),
            // Propagated in place.
            (&[("/spec/template/metadata/labels/a", json!("c"))], "nothing"),
            (&[("/spec/template/metadata/annotations", json!({"a": "c"}))], "nothing"),
            (&[("/spec/template/spec/nodeDrainTimeout", json!("1m"))], "nothing"),
            (&[("/spec/template/spec/nodeVolumeDetachTimeout", json!("1m"))], "nothing"),
            (&[("/spec/template/spec/nodeDeletionTimeout", json!("1m"))], "nothing"),
            (&[("/spec/template/spec/readinessGates", json!([{"conditionType": "a"}]))], "nothing"),
            (&[("/spec/template/spec/minReadySeconds", json!(10))], "nothing"),
            (&[("/spec/minReadySeconds", json!(10))], "nothing"),
            (&[("/spec/progressDeadlineSeconds", json!(10))], "nothing"),
            (
                &[("/spec/strategy", json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}))],
                "nothing",
            ),
            (&[("/metadata/labels", json!({"a": "b"}))], "nothing"),
            (
                &[("/spec/rolloutAfter", json!("2026-12-01T00:00:00Z"))],
                "5 offline [/spec/rolloutAfter] 5/0/0",
            ),
            // OnDelete
            (
                &[
                    ("/spec/template/spec/version", json!("v1.31.1")),
                    ("/spec/strategy", json!({"type": "OnDelete"})),
                ],
                "0 offline [/spec/template/spec/version] 0/0/0",
            ),
            // Counts
            (&[("/spec/replicas", json!(8))], "0 offline [/spec/replicas] 0/3/0"),
            (&[("/spec/replicas", json!(0))], "0 offline [/spec/replicas] 0/0/5"),
            (
                &[("/spec/replicas", json!(3)), ("/spec/template/spec/version", json!("v1.31.1"))],
                "3 offline [/spec/template/spec/version] 3/0/2",
            ),
            (
                &[("/spec/replicas", json!(8)), ("/spec/template/spec/version", json!("v1.31.1"))],
                "5 offline [/spec/template/spec/version] 5/3/0",
            ),
            (
                &[
                    ("/spec/replicas", json!(8)),
                    ("/spec/template/spec/version", json!("v1.31.1")),
                    ("/spec/strategy", json!({"type": "OnDelete"})),
                ],
                "0 offline [/spec/template/spec/version] 0/3/0",
            ),
            (
                &[("/spec/replicas", json!(null)), ("/spec/template/spec/version", json!("v1.31.1"))],
                "? offline [/spec/template/spec/version] ?/?/?",
            ),
            (
                &[
                    (
                        "/metadata/annotations",
                        json!({"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1"}),
                    ),
                    ("/spec/template/spec/version", json!("v1.31.1")),
                ],
                "? offline [/spec/template/spec/version] ?/?/?",
            ),
        ],
    );
}

#[test]
fn strategies_and_pauses_are_reported() {
    let version = ("/spec/template/spec/version", json!("v1.31.1"));
    let notes = |fixture: &str, changes: &[(&str, Value)]| {
        let (before, after) = pair(fixture, changes);
        rollouts(&[before], &[after], AppliedBy::Others).remove(0).course
    };
    let surge = json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/strategy", surge)]);
    assert_eq!(course.strategy.as_deref(), Some("RollingUpdate"));
    assert_eq!(course.notes, ["At most 2 more and 1 fewer than wanted at a time."]);
    let none =
        json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}});
    let course = notes(DEPLOYMENT_V1BETA2, &[version.clone(), ("/spec/rollout", none)]);
    assert_eq!(course.notes, ["At most 0 more and 1 fewer than wanted at a time."]);
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/strategy", json!({"type": "OnDelete"}))]);
    assert_eq!(course.strategy.as_deref(), Some("OnDelete"));
    assert_eq!(course.notes, ["`OnDelete`: machines are replaced only when somebody deletes them."]);
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/paused", json!(true))]);
    assert_eq!(course.notes[1], "Paused: nothing happens until somebody removes the pause.");
    let course = notes(
        DEPLOYMENT,
        &[version.clone(), ("/metadata/annotations", json!({"cluster.x-k8s.io/paused": "true"}))],
    );
    assert_eq!(course.notes[1], "Paused: nothing happens until somebody removes the pause.");
    // Where the number changes too, what is wanted is not what is there.
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/replicas", json!(8))]);
    assert_eq!(course.notes, ["At most 9 machines at a time, and at least 5."]);
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/replicas", json!(20_000))]);
    assert_eq!(course.notes, ["At most 20001 machines at a time, and at least 5."]);
    let course = notes(DEPLOYMENT, &[version.clone(), ("/spec/replicas", json!(3))]);
    assert_eq!(course.notes, ["At most 5 machines at a time, and at least 3."]);
    let scaled = |replicas: u32| [("/spec/version", json!("v1.31.1")), ("/spec/replicas", json!(replicas))];
    let course = notes(CONTROL_PLANE, &scaled(5));
    assert_eq!(
        course.notes,
        ["One machine at a time joins or is deleted. At most 6 machines at a time, and at least 3."]
    );
    let course = notes(CONTROL_PLANE, &scaled(1));
    assert_eq!(
        course.notes,
        ["One machine at a time joins or is deleted. At most 3 machines at a time, and at least 1."]
    );
    let course = notes(RKE2, &[("/spec/version", json!("v1.31.1+rke2r1"))]);
    assert_eq!(course.notes, ["One at a time: a new machine joins, then an old one is deleted."]);
    // The strategies of others are not known here.
    let acme = RKE2.replace("RKE2", "Acme");
    let course = notes(&acme, &[("/spec/version", json!("v1.31.1+rke2r1"))]);
    assert!(course.notes.is_empty(), "{:?}", course.notes);
    let course = notes(CONTROL_PLANE, &[("/spec/version", json!("v1.31.1"))]);
    assert_eq!(course.notes, ["One at a time: a new machine joins, then an old one is deleted."]);
    let surge = json!({"rollingUpdate": {"maxSurge": 0}});
    let course =
        notes(CONTROL_PLANE, &[("/spec/version", json!("v1.31.1")), ("/spec/rolloutStrategy", surge)]);
    assert_eq!(course.notes, ["One at a time: an old machine is deleted, then a new one joins."]);
}

/// Git has neither the age of machines nor the present time: the sentence holds of past and future.
#[test]
fn a_time_is_reported_with_the_machines_it_replaces() {
    let notes = |fixture: &str, pointer: &str| {
        let (before, after) = pair(fixture, &[(pointer, json!("2026-12-01T00:00:00Z"))]);
        rollouts(&[before], &[after], AppliedBy::Reconciler).remove(0).course.notes
    };
    let said = "Machines made before 2026-12-01T00:00:00Z are replaced after that time.";
    assert!(notes(CONTROL_PLANE, "/spec/rolloutAfter").contains(&said.to_owned()));
    // A MachineDeployment looks at the age of its MachineSet.
    let all = "Machines are replaced after 2026-12-01T00:00:00Z, however young they are. Only those whose MachineSet was made after that time stay.";
    assert!(notes(DEPLOYMENT_V1BETA2, "/spec/rollout/after").contains(&all.to_owned()));
    assert_eq!(
        notes(TOPOLOGY, "/spec/topology/workers/machineDeployments/1/rollout/after"),
        [
            "Machines of `two` are replaced after 2026-12-01T00:00:00Z, however young they are. Only those whose MachineSet was made after that time stay.",
            // If a topology has a `rollout`, that of its class does not count.
            "`two`: At most 1 more and 0 fewer than wanted at a time.",
        ]
    );
    let (_, after) = pair(DEPLOYMENT, &[("/spec/rolloutAfter", json!("2026-12-01T00:00:00Z"))]);
    let (one, _) = pair(CONTROL_PLANE, &[]);
    let come = rollouts(std::slice::from_ref(&one), &[one.clone(), after], AppliedBy::Reconciler);
    assert_eq!(
        (summary_of(&come), come[0].course.notes.as_slice()),
        ("0 offline [/spec/replicas] 0/5/0".to_owned(), &[all.to_owned()][..])
    );
}

#[test]
fn a_machine_set_replaces_nothing() {
    check(
        SET,
        &[
            (
                &[("/spec/template/spec/version", json!("v1.31.1"))],
                "0 offline [/spec/template/spec/version] 0/0/0",
            ),
            (&[("/spec/replicas", json!(4))], "0 offline [/spec/replicas] 0/2/0"),
        ],
    );
}

#[test]
fn who_applies_decides_what_a_template_edited_in_place_does() {
    let tree = |image: &str| {
        rendered(&format!(
            "{DEPLOYMENT}---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerMachineTemplate\nmetadata: {{name: md, namespace: org}}\nspec: {{template: {{spec: {{customImage: {image}}}}}}}\n"
        ))
    };
    let (before, after) = (tree("a"), tree("b"));
    assert_eq!(summary_of(&rollouts(&before, &after, AppliedBy::Others)), "nothing");
    assert_eq!(
        summary_of(&rollouts(&before, &after, AppliedBy::Reconciler)),
        "5 offline [/spec/template/spec/infrastructureRef/name] 5/0/0"
    );
    // Null is absent: the same spec, the same name.
    let (before, after) = (tree("a"), tree("a, extra: null"));
    assert_eq!(summary_of(&rollouts(&before, &after, AppliedBy::Reconciler)), "nothing");
}

/// The files came to v2 by the repository's definitions, which write out a default that went. Without them the two
/// specs cannot be compared.
#[test]
fn a_default_that_a_conversion_wrote_out_replaces_nothing() {
    let version = |name: &str, power: &str| {
        format!(
            "  - name: {name}
    served: true
    storage: {}
    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{template: {{type: object, properties: {{spec: {{type: object, properties: {{image: {{type: string}}, power: {{type: string{power}}}}}}}}}}}}}}}}}}}}}
",
            name == "v2"
        )
    };
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: rackmachinetemplates.metal.example.org}}
spec:
  group: metal.example.org
  names: {{kind: RackMachineTemplate, plural: rackmachinetemplates}}
  scope: Namespaced
  versions:
{}{}",
        version("v1", ", default: hard"),
        version("v2", "")
    );
    let path = RepoPath::parse(".capstan/crds/racks.yaml").unwrap();
    let schemas = Schemas::read([SchemaFile { path, bytes: Ok(definition.into_bytes().into()) }]);
    let tree = |version: &str, spec: &str| {
        let deployment = DEPLOYMENT_V1BETA2.replace(
            "{apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachineTemplate, name: md}",
            "{apiGroup: metal.example.org, kind: RackMachineTemplate, name: md}",
        );
        rendered(&format!(
            "{deployment}---\napiVersion: metal.example.org/{version}\nkind: RackMachineTemplate\nmetadata: {{name: md, namespace: org}}\nspec: {{template: {{spec: {{{spec}}}}}}}\n"
        ))
    };
    let before = tree("v1", "image: a");
    let becomes = |spec: &str, schemas: &Schemas| {
        let after = tree("v2", spec);
        let (applied, elsewhere) = (AppliedBy::Reconciler, ClassesElsewhere::default());
        summary_of(&super::super::rollouts(&before, &after, applied, &elsewhere, schemas))
    };
    let rolls = "5 offline [/spec/template/spec/infrastructureRef/name] 5/0/0";
    assert_eq!(becomes("image: a, power: hard", &schemas), "nothing");
    assert_eq!(becomes("image: b, power: hard", &schemas), rolls);
    assert_eq!(becomes("image: a, power: hard", Schemas::built_in()), rolls);
}
