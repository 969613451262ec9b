//! MachinePools.

use serde_json::json;

use super::*;

#[test]
fn a_machine_pool() {
    check(
        POOL,
        &[
            (
                &[("/spec/template/spec/version", json!("v1.31.1"))],
                "4 offline [/spec/template/spec/version] 4/0/0",
            ),
            (
                &[("/spec/template/spec/bootstrap/configRef/name", json!("b"))],
                "4 offline [/spec/template/spec/bootstrap/configRef/name] 4/0/0",
            ),
            (&[("/spec/failureDomains", json!(["a"]))], "nothing"),
            (&[("/spec/minReadySeconds", json!(5))], "nothing"),
            (&[("/spec/replicas", json!(6))], "0 offline [/spec/replicas] 0/2/0"),
            (
                &[
                    ("/metadata/annotations", json!({"cluster.x-k8s.io/replicas-managed-by": "asg"})),
                    ("/spec/template/spec/version", json!("v1.31.1")),
                ],
                "? offline [/spec/template/spec/version] ?/?/?",
            ),
        ],
    );
}

#[test]
fn the_infrastructure_of_a_pool_decides() {
    let infrastructure = |kind: &str, spec: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: mp, namespace: org}}\nspec: {spec}\n"
        )
    };
    for (kind, before, after, expected) in [
        ("AWSMachinePool", "{minSize: 1}", "{minSize: 2}", "nothing"),
        (
            "AWSMachinePool",
            "{awsLaunchTemplate: {instanceType: a}}",
            "{awsLaunchTemplate: {instanceType: b}}",
            "4 offline [/spec/template/spec/infrastructureRef/name] 4/0/0",
        ),
        (
            "DockerMachinePool",
            "{template: {customImage: a}}",
            "{template: {customImage: b}}",
            "4 offline [/spec/template/spec/infrastructureRef/name] 4/0/0",
        ),
        (
            "AWSManagedMachinePool",
            "{instanceType: a}",
            "{instanceType: b}",
            "? unknown [/spec/template/spec/infrastructureRef/name] ?/0/0",
        ),
        (
            "AcmeMachinePool",
            "{a: 1}",
            "{a: 2}",
            "? unknown [/spec/template/spec/infrastructureRef/name] ?/0/0",
        ),
    ] {
        let pool = POOL.replace("AWSMachinePool", kind);
        let tree = |spec: &str| rendered(&format!("{pool}---\n{}", infrastructure(kind, spec)));
        assert_eq!(
            told(&rollouts(&tree(before), &tree(after), AppliedBy::Others)),
            expected,
            "{kind} {after}"
        );
    }
}
