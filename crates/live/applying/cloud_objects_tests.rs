//! What ORC says of an object, a row each, and what it means.

use super::*;
use serde_json::json;

fn image(generation: i64, id: &str, conditions: &[(&str, &str, &str, &str, i64)]) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status, reason, message, seen)| {
            json!({"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": seen})
        })
        .collect();
    json!({"metadata": {"generation": generation}, "spec": {"managementPolicy": "managed"},
        "status": {"id": id, "conditions": conditions}})
}

#[test]
fn an_object_of_the_cloud_is_there_once_its_controller_says_so_of_this_generation() {
    let reset = "invalid configuration creating resource: Post \"http://127.0.0.1:9292/v2/images\": read tcp 127.0.0.1:5->127.0.0.1:9292: read: connection reset by peer";
    let refused_by_host = "invalid configuration creating resource: Post \"http://127.0.0.1:9292/v2/images\": dial tcp 127.0.0.1:9292: connect: connection refused";
    let timed_out = "invalid configuration creating image: Post \"http://c/v2/images\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    let closed = "invalid configuration creating Keypair: Post \"http://c/v2/images\": EOF";
    let updated = "invalid configuration updating resource: Patch \"http://c/v2/images/i\": EOF";
    let told_by_service = "invalid configuration creating resource: Expected HTTP response code [201] when accessing [POST http://c/v2/images], but got 409 instead: connection refused";
    let not_trusted = "invalid configuration creating resource: Post \"https://c/v2/images\": tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let refused = |words: &str| CloudObjectState::Refused(words.to_owned());
    let waits = |words: &str| CloudObjectState::Waits(words.to_owned());
    for (object, expected) in [
        (
            image(2, "a", &[("Available", "True", "Success", "OpenStack resource is available", 2)]),
            CloudObjectState::Available,
        ),
        // That condition is of the generation before.
        (
            image(2, "a", &[("Available", "True", "Success", "OpenStack resource is available", 1)]),
            waits("its controller has not observed it yet"),
        ),
        (json!({"metadata": {"generation": 1}}), waits("its controller has not observed it yet")),
        (
            image(
                1,
                "",
                &[
                    ("Available", "False", "Progressing", "", 1),
                    (
                        "Progressing",
                        "True",
                        "Progressing",
                        "Waiting for OpenStack resource to be created externally",
                        1,
                    ),
                ],
            ),
            waits("Progressing: Waiting for OpenStack resource to be created externally"),
        ),
        (
            image(1, "", &[("Progressing", "True", "TransientError", "503 Service Unavailable", 1)]),
            waits("TransientError: 503 Service Unavailable"),
        ),
        (
            image(
                1,
                "",
                &[(
                    "Progressing",
                    "False",
                    "InvalidConfiguration",
                    "found more than one matching OpenStack resource",
                    1,
                )],
            ),
            refused("InvalidConfiguration: found more than one matching OpenStack resource"),
        ),
        (
            image(1, "", &[("Progressing", "False", "UnrecoverableError", "quota exceeded", 1)]),
            refused("UnrecoverableError: quota exceeded"),
        ),
        // The same words about the generation before do not count.
        (
            image(2, "", &[("Progressing", "False", "UnrecoverableError", "quota exceeded", 1)]),
            waits("its controller has not observed it yet"),
        ),
        (
            image(1, "", &[("Progressing", "False", "InvalidConfiguration", reset, 1)]),
            CloudObjectState::Lost(format!("InvalidConfiguration: {reset}")),
        ),
        // Also where it never reached the service.
        (
            image(1, "", &[("Progressing", "False", "InvalidConfiguration", refused_by_host, 1)]),
            CloudObjectState::Lost(format!("InvalidConfiguration: {refused_by_host}")),
        ),
        (
            image(1, "", &[("Progressing", "False", "InvalidConfiguration", timed_out, 1)]),
            CloudObjectState::Lost(format!("InvalidConfiguration: {timed_out}")),
        ),
        (
            image(1, "", &[("Progressing", "False", "InvalidConfiguration", closed, 1)]),
            CloudObjectState::Lost(format!("InvalidConfiguration: {closed}")),
        ),
        (
            image(1, "", &[("Progressing", "False", "InvalidConfiguration", updated, 1)]),
            refused(&format!("InvalidConfiguration: {updated}")),
        ),
        // A connection error does not count as one if a service or a person reports it.
        (
            image(1, "", &[("Progressing", "False", "InvalidConfiguration", told_by_service, 1)]),
            refused(&format!("InvalidConfiguration: {told_by_service}")),
        ),
        (
            image(1, "", &[("Progressing", "False", "InvalidConfiguration", not_trusted, 1)]),
            refused(&format!("InvalidConfiguration: {not_trusted}")),
        ),
        (
            image(1, "", &[("Progressing", "False", "UnrecoverableError", reset, 1)]),
            refused(&format!("UnrecoverableError: {reset}")),
        ),
        // The cloud has created it: creating it again would leave one behind.
        (
            image(1, "a", &[("Progressing", "False", "InvalidConfiguration", reset, 1)]),
            refused(&format!("InvalidConfiguration: {reset}")),
        ),
    ] {
        assert_eq!(standing(&object), expected, "{object}");
    }
    let mut imported = image(1, "", &[("Progressing", "False", "InvalidConfiguration", reset, 1)]);
    imported["spec"]["managementPolicy"] = json!("unmanaged");
    assert!(matches!(standing(&imported), CloudObjectState::Refused(_)), "nothing was created: {imported}");
}

#[test]
fn what_is_being_deleted_is_waited_for() {
    let mut object = image(1, "", &[("Progressing", "False", "UnrecoverableError", "quota exceeded", 1)]);
    object["metadata"]["deletionTimestamp"] = json!("2026-11-27T22:00:00Z");
    assert_eq!(standing(&object), CloudObjectState::Waits("it is being deleted".to_owned()));
}

#[test]
fn a_template_names_what_its_literals_and_actions_may_come_to() {
    for (template, name, expected) in [
        ("ubuntu", "ubuntu", true),
        ("ubuntu", "ubuntu-2404", false),
        ("name: ubuntu-{{ .builtin.controlPlane.version }}", "ubuntu-v1.36.3", true),
        ("name: ubuntu-{{ .builtin.controlPlane.version }}", "debian-v1.36.3", false),
        ("{filter: {name: \"{{ .builtin.cluster.name }}-worker\"}}", "peu01-worker", true),
        ("{{ .prefix }}-node-{{ .version }}", "eu-node-v1", true),
        ("{{ .prefix }}-node-{{ .version }}", "eu-v1", false),
        // What the variable is, the variable tells.
        ("{{ .image }}", "ubuntu", false),
        ("{{ if .a }}ubuntu", "ubuntu", true),
        ("a{{ .x", "ab", true),
    ] {
        assert_eq!(mentions(template, name), expected, "{template} {name}");
    }
}

#[test]
fn a_long_message_is_cut() {
    let long = "x".repeat(2_000);
    let object = image(1, "", &[("Progressing", "True", "TransientError", &long, 1)]);
    let CloudObjectState::Waits(words) = standing(&object) else { panic!("{object}") };
    assert_eq!(words.len(), "TransientError: ".len() + 512);
}

/// Every kind of the table: of a version that is not in it nothing is read, and what it may name is waited for.
#[test]
fn what_is_read_is_what_the_table_says() {
    let id = |group: &str, kind: &str| ObjectId {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace: Some("org".to_owned()),
        name: "one".to_owned(),
    };
    for known in KindReader::CloudObjects.known() {
        let api_version = format!("{}/v9", known.group);
        if is_of_orc(known.group) {
            let available = [("Available", "True", "Success", "it is there", 1)];
            let mut live = image(1, "a", &available);
            live["apiVersion"] = api_version.into();
            live["kind"] = "Image".into();
            assert_eq!(
                standing(&live),
                CloudObjectState::Waits(format!(
                    "its state is unknown: `{}/v9` is not read here (v1alpha1 is)",
                    known.group
                ))
            );
            assert!(is_named(
                &id(known.group, "Image"),
                &live,
                &CloudReference::OfKind("Image", By::Cloud, "another")
            ));
            continue;
        }
        for kind in known.kinds {
            let template = |version: &str| {
                json!({"apiVersion": format!("{}/{version}", known.group), "kind": kind,
                "spec": {"template": {"spec": {"sshKeyName": "ops"}}}})
            };
            assert_eq!(named_by(&id(known.group, kind), &template("v9")), [CloudReference::Any], "{kind}");
            for version in known.versions {
                assert_eq!(
                    named_by(&id(known.group, kind), &template(version)),
                    [CloudReference::OfKind("KeyPair", By::Cloud, "ops")],
                    "{kind} {version}"
                );
            }
        }
    }
}
