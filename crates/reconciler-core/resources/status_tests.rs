//! A status that was edited by hand, and one that is read back.

use serde_json::{Value, json};

use super::status::{ManagedClusterStatus, PlaceStatus};

fn template(name: &str, live: &str, spec: &str) -> Value {
    json!({
        "group": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachineTemplate", "namespace": "my-org",
        "name": name, "live": live, "spec": spec,
    })
}

fn names_in(templates: &[Value]) -> Vec<String> {
    let status: ManagedClusterStatus = serde_json::from_value(json!({"templates": templates})).unwrap();
    status.names().templates().iter().map(|template| template.live.clone()).collect()
}

#[test]
fn a_template_that_contradicts_an_earlier_one_is_passed_over() {
    let (a, b) = ("a".repeat(64), "b".repeat(64));
    for (templates, expected) in [
        (vec![], vec![]),
        (vec![template("md", "md-1", &a), template("cp", "cp-1", &b)], vec!["cp-1", "md-1"]),
        (vec![template("md", "md-1", &a), template("cp", "md-1", &b)], vec!["md-1"]),
        (vec![template("md", "MD_1", &a), template("md", "md-2", &b)], vec!["md-2"]),
        (vec![template("md", "md-1", &a[1..]), template("md", "md-2", &b)], vec!["md-2"]),
        (vec![template("md", "md-1", &a.to_uppercase()), template("md", "md-2", &b)], vec!["md-2"]),
    ] {
        let mut names = names_in(&templates);
        names.sort();
        assert_eq!(names, expected, "{templates:?}");
    }
}

#[test]
fn the_live_object_of_a_template_has_its_live_name() {
    let written = json!({"templates": [template("md", "md-1", "")]});
    let status: ManagedClusterStatus = serde_json::from_value(written).unwrap();
    let id = status.templates[0].live_id();
    assert_eq!(
        (id.kind.as_str(), id.namespace.as_deref(), id.name.as_str()),
        ("AWSMachineTemplate", Some("my-org"), "md-1")
    );
}

#[test]
fn a_status_that_nobody_wrote_is_read_as_empty() {
    let status: ManagedClusterStatus = serde_json::from_value(json!({})).unwrap();
    assert_eq!(status, ManagedClusterStatus::default());
}

#[test]
fn a_place_says_no_more_than_is_known() {
    let place = PlaceStatus { reason: "Invalid".to_owned(), line: Some(0), ..PlaceStatus::default() };
    assert_eq!(serde_json::to_value(place).unwrap(), json!({"reason": "Invalid", "message": "", "line": 0}));
}
