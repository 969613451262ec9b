//! Checks: what they see, what they say, and what is too much.

use capstan_model::version::KubernetesVersion;
use capstan_plan::services::{CheckFacts, not_allowing};
use serde_json::{Value, json};

use super::services;
use crate::services::{ServiceCause, evaluate};

fn check(expression: &str, objects: &[Value]) -> Option<(ServiceCause, String)> {
    let list = format!(
        "services:\n- name: a\n  from: {{folder: services/a}}\n  checks: [{}]\n",
        serde_json::to_string(expression).unwrap()
    );
    let services = services(&list);
    let cluster = json!({"spec": {"topology": {"version": "v1.36.3"}}});
    let objects: Vec<&Value> = objects.iter().collect();
    let facts = CheckFacts { objects: &objects, cluster: &cluster, kubernetes_version: "v1.36.3" };
    let mut found = evaluate(&services[0].checks, facts);
    assert!(found.len() <= 1);
    let found = found.pop()?;
    assert_eq!(found.check, Some(0));
    Some((found.cause, found.words))
}

fn deployment(available: u64) -> Value {
    json!({"kind": "Deployment", "metadata": {"name": "a", "managedFields": [1]}, "status": {"availableReplicas": available}})
}

#[test]
fn a_check_sees_objects_the_cluster_and_the_version() {
    let objects = [deployment(2)];
    for expression in [
        "objects.exists(o, o.kind == 'Deployment' && o.status.availableReplicas >= 2)",
        "objects.all(o, !has(o.metadata.managedFields))",
        "cluster.spec.topology.version == kubernetesVersion",
        "kubernetesVersion.startsWith('v1.3')",
        "size(objects) == 1",
    ] {
        assert_eq!(check(expression, &objects), None, "{expression}");
    }
    let (cause, words) = check("objects.exists(o, o.status.availableReplicas >= 3)", &objects).unwrap();
    assert_eq!(cause, ServiceCause::CheckFalse);
    assert_eq!(words, "the check `objects.exists(o, o.status.availableReplicas >= 3)` is false");
}

#[test]
fn what_cannot_be_evaluated_says_why_and_shows_no_value() {
    let secret = json!({"kind": "Secret", "data": {"password": "aHVudGVyMg=="}, "type": "hunter2"});
    for (expression, says) in [
        ("objects[", ""),
        ("objects[0].status.nothing == 1", "no such key"),
        ("nodes.size() == 1", "there is no `nodes`"),
        ("size(objects)", "not true or false"),
        ("objects[0].data.password == 'x'", "no such key: `data`"),
        ("objects[0].type > 3", ""),
        ("objects[7].kind == 'x'", "no item of that index"),
        ("((((((((((((((((((true))))))))))))))))))", "deep"),
        ("1+1+1+1+1+1+1+1+1+1 == 10", "`+`"),
    ] {
        let (cause, words) = check(expression, std::slice::from_ref(&secret)).unwrap();
        assert_eq!(cause, ServiceCause::CheckInvalid, "{expression}");
        let why = words.split_once("cannot be evaluated: ").unwrap().1;
        assert!(why.contains(says) && !why.is_empty(), "{expression}: {words}");
        assert!(!why.contains("hunter2") && !why.contains("aHVudGVyMg"), "{words}");
    }
}

#[test]
fn what_would_take_long_is_refused_before_it_begins() {
    let many: Vec<Value> = (0..2_000).map(|_| deployment(1)).collect();
    assert_eq!(check("objects.all(o, o.status.availableReplicas == 1)", &many), None);
    let (cause, words) = check("objects.all(o, objects.all(p, o.kind == p.kind))", &many).unwrap();
    assert_eq!(cause, ServiceCause::CheckInvalid);
    assert!(words.contains("nested lists"), "{words}");
    let huge: Vec<Value> = (0..40_000).map(|_| deployment(1)).collect();
    assert!(check("true", &huge).unwrap().1.contains("too large"));
}

#[test]
fn text_that_doubles_is_refused_before_it_is_made() {
    let map = json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y".repeat(300_000)}});
    let few = std::slice::from_ref(&map);
    assert_eq!(check("objects.all(o, o.data.x.contains('y') && size(o.data.x) == 300000)", few), None);
    assert_eq!(check("objects.exists(o, o.metadata.name + '' == 'a')", &[deployment(1)]), None);
    let doubled =
        "objects.map(o, o.data.x).map(t, t + t).map(t, t + t).map(t, t + t).map(t, t + t).size() == 1";
    let copied = "objects.map(o, objects.map(p, bytes(p.data.x))).size() == 40";
    for (expression, objects) in [(doubled, few), (copied, vec![map.clone(); 40].as_slice())] {
        let (cause, words) = check(expression, objects).unwrap();
        assert_eq!(cause, ServiceCause::CheckInvalid);
        assert!(words.contains("MiB of text"), "{words}");
    }
}

#[test]
fn what_nests_deep_is_refused_or_fits_into_a_thread_of_the_reconcilers() {
    let deepest = format!("{}1{} == 1{}", "(".repeat(16), "-1".repeat(198), ")".repeat(16));
    for (expression, is_refused) in [
        (format!("cluster{}", ".a".repeat(2_000)), false),
        (format!("true{}", "&&true".repeat(600)), false),
        (deepest, false),
        (format!("1{} == 1", "-1".repeat(2_000)), true),
        (format!("{}true", "!".repeat(4_000)), true),
        (format!("true{}", "==true".repeat(600)), true),
        (format!("true{}", "?true:true".repeat(400)), true),
        (format!("cluster{}", "[0]".repeat(1_300)), true),
    ] {
        let run = {
            let expression = expression.clone();
            move || check(&expression, &[])
        };
        let found = std::thread::Builder::new().stack_size(16 << 20).spawn(run).unwrap().join().unwrap();
        let says = found.is_some_and(|(_, words)| words.contains("operators"));
        assert_eq!(says, is_refused, "{expression}");
    }
}

#[test]
fn what_a_version_alone_decides_is_known_before_there_is_a_cluster_of_it() {
    let checks = [
        "kubernetesVersion.startsWith('v1.35')",
        "['v1.35', 'v1.36'].exists(minor, kubernetesVersion.startsWith(minor))",
        "kubernetesVersion.startsWith('v1.35') && objects.size() > 0",
        "cluster.metadata.name == 'a'",
        "kubernetesVersion.nonsense()",
        "kubernetesVersion.startsWith(",
    ];
    let list = format!(
        "services:\n- {{name: off, from: {{folder: services/off}}, enabled: false, checks: [\"kubernetesVersion == ''\"]}}\n- name: a\n  from: {{folder: services/a}}\n  checks: {}\n",
        serde_json::to_string(&checks).unwrap()
    );
    let services = services(&list);
    let refused = |version: &str| -> Vec<(usize, usize)> {
        let version = KubernetesVersion::parse(version).unwrap();
        not_allowing(&services, &version).into_iter().map(|one| (one.service, one.check)).collect()
    };
    assert_eq!(refused("v1.35.4"), []);
    assert_eq!(refused("1.36.1"), [(1, 0)]);
    assert_eq!(refused("v1.37.0"), [(1, 0), (1, 1)]);
}
