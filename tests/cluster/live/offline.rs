//! What the scenarios' proposals say from Git alone: without a management cluster these still hold.

use capstan_forge::Edit;
use serde_json::Value;

use super::sample::Sample;
use super::setting::settings;
use capstan_test_parts::sandbox::Sandbox;

/// The plan of a cluster at `v1.34.3`, with a newer release that has this.
fn plan(cluster: &Sample, newer: &Sample) -> Value {
    let mut edits = vec![Edit::write(".capstan.yaml", settings("6f1c0000-0000-0000-0000-000000000000"))];
    edits.extend([cluster.folder(), cluster.release("v1.0.0"), newer.release("v1.1.0")].concat());
    let files: Vec<(String, String)> = edits
        .into_iter()
        .map(|edit| {
            let Edit::Write { path, content } = edit else { panic!("nothing is removed") };
            (path, String::from_utf8(content).unwrap())
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Sandbox::with(&files).capstan(&["plan", &cluster.id(), "-o", "json"]).json(0)[0].clone()
}

/// Owners and how many of their machines are replaced.
fn rollouts(plan: &Value) -> Vec<(String, u64)> {
    let all = plan["rollouts"].as_array().unwrap();
    let row = |rollout: &Value| {
        let object = &rollout["object"];
        (
            format!("{} {}", object["kind"].as_str().unwrap(), object["name"].as_str().unwrap()),
            rollout["machines"].as_u64().unwrap(),
        )
    };
    all.iter().map(row).collect()
}

#[test]
fn an_upgrade_by_one_minor_replaces_every_machine() {
    let cluster = Sample::new("upgraded");
    let newer = Sample { kubernetes: "v1.35.1".to_owned(), ..cluster.clone() };
    let plan = plan(&cluster, &newer);
    assert_eq!(
        (&plan["to"], &plan["findings"]),
        (&"upgraded/v1.1.0".into(), &Value::Array(Vec::new())),
        "{plan:#}"
    );
    let expected =
        [("MachineDeployment upgraded-md".to_owned(), 2), ("KubeadmControlPlane upgraded-cp".to_owned(), 1)];
    assert_eq!(rollouts(&plan), expected);
}

#[test]
fn an_upgrade_of_a_topology_replaces_every_machine() {
    let cluster = Sample { topology: true, ..Sample::new("topology") };
    let newer = Sample { kubernetes: "v1.35.1".to_owned(), ..cluster.clone() };
    let plan = plan(&cluster, &newer);
    assert_eq!(
        (&plan["to"], &plan["findings"]),
        (&"topology/v1.1.0".into(), &Value::Array(Vec::new())),
        "{plan:#}"
    );
    assert_eq!(rollouts(&plan), [("Cluster topology".to_owned(), 3)]);
}
