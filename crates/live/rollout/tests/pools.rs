//! MachinePools.

use capstan_model::kinds::Reader;
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
                &[("/spec/replicas", json!(6)), ("/spec/template/spec/version", json!("v1.31.1"))],
                "4 offline [/spec/template/spec/version] 4/2/0",
            ),
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
            "4 offline [/spec/awsLaunchTemplate/instanceType] 4/0/0",
        ),
        (
            "DockerMachinePool",
            "{template: {customImage: a}}",
            "{template: {customImage: b}}",
            "4 offline [/spec/template/customImage] 4/0/0",
        ),
        (
            "AWSManagedMachinePool",
            "{instanceType: a}",
            "{instanceType: b}",
            "? unknown [/spec/instanceType] ?/0/0",
        ),
        ("AWSManagedMachinePool", "{scaling: {minSize: 1}}", "{scaling: {minSize: 2}}", "nothing"),
        ("AcmeMachinePool", "{a: 1}", "{a: 2}", "? unknown [/spec/a] ?/0/0"),
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

/// Cluster API Provider AWS replaces instances by an instance refresh, which can be disabled.
#[test]
fn a_pool_whose_refresh_is_disabled_replaces_nothing() {
    let tree = |kind: &str, image: &str, refresh: &str, version: &str| {
        let pool = POOL.replace("AWSMachinePool", kind).replace("v1.30.2", version);
        rendered(&format!(
            "{pool}---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: {kind}
metadata: {{name: mp, namespace: org}}
spec: {{awsLaunchTemplate: {{ami: {{id: {image}}}}}{refresh}}}
"
        ))
    };
    let (on, off) = (", refreshPreferences: {disable: false}", ", refreshPreferences: {disable: true}");
    let image = "[/spec/awsLaunchTemplate/ami/id]";
    let version = "[/spec/awsLaunchTemplate/ami/id /spec/template/spec/version]";
    for (kind, refresh, to, expected) in [
        ("AWSMachinePool", ["", ""], "v1.30.2", format!("4 offline {image} 4/0/0")),
        ("AWSMachinePool", [on, on], "v1.30.2", format!("4 offline {image} 4/0/0")),
        ("AWSMachinePool", [off, off], "v1.30.2", format!("0 offline {image} 0/0/0")),
        // What is wished afterwards counts.
        ("AWSMachinePool", [off, on], "v1.30.2", format!("4 offline {image} 4/0/0")),
        ("AWSMachinePool", [on, off], "v1.30.2", format!("0 offline {image} 0/0/0")),
        ("AWSMachinePool", [off, off], "v1.31.1", format!("0 offline {version} 0/0/0")),
    ] {
        let [before, after] = refresh;
        let found = rollouts(
            &tree(kind, "ami-1", before, "v1.30.2"),
            &tree(kind, "ami-2", after, to),
            AppliedBy::Others,
        );
        assert_eq!(told(&found), expected, "{kind} {refresh:?}");
        let said =
            found[0].course.notes.iter().any(|note| note.contains("`refreshPreferences.disable: true`"));
        assert_eq!(said, after == off, "{kind} {refresh:?}");
    }
}

/// Every kind of the table, and a version that is not in it: the provider decides, and it is said why nobody can tell.
#[test]
fn of_a_version_that_is_not_known_nobody_can_tell() {
    for known in Reader::Pools.known() {
        for kind in known.kinds {
            let tree = |version: &str, name: &str| {
                let pool = POOL.replace("AWSMachinePool", kind);
                rendered(&format!(
                    "{pool}---\napiVersion: {}/{version}\nkind: {kind}\nmetadata: {{name: mp, namespace: org}}\nspec: {{displayName: {name}, \
                     refreshPreferences: {{disable: true}}}}\n",
                    known.group
                ))
            };
            for version in known.versions {
                let found = rollouts(&tree(version, "a"), &tree(version, "b"), AppliedBy::Others);
                assert_eq!(told(&found), "nothing", "{kind} {version}");
            }
            let found = rollouts(&tree("v9", "a"), &tree("v9", "b"), AppliedBy::Others);
            assert_eq!(told(&found), "? unknown [/spec/displayName] ?/0/0", "{kind}");
            let why = format!(
                "It is unknown which of its fields replace instances: `{}/v9` is not read here",
                known.group
            );
            assert!(
                found[0].course.notes.iter().any(|note| note.starts_with(&why)),
                "{:?}",
                found[0].course.notes
            );
        }
    }
}

/// A reason is a path, and says nothing of the object that it leads into.
#[test]
fn the_reason_of_a_pool_is_the_field_that_changed_and_a_note_says_where() {
    let tree = |spec: &str, files: &str| {
        rendered(&format!(
            "{POOL}---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AWSMachinePool
metadata: {{name: mp, namespace: org}}
spec: {{awsLaunchTemplate: {spec}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {{name: mp, namespace: org}}
spec: {{files: {files}}}
"
        ))
    };
    let before = tree("{ami: {id: ami-1}, instanceType: a}", "[]");
    let image = rollouts(&before, &tree("{ami: {id: ami-2}, instanceType: a}", "[]"), AppliedBy::Others);
    assert_eq!(told(&image), "4 offline [/spec/awsLaunchTemplate/ami/id] 4/0/0");
    assert_eq!(
        image[0].course.notes,
        [
            "In AWSMachinePool mp: `/spec/awsLaunchTemplate/ami/id`.",
            "The infrastructure provider replaces the instances of its group.",
        ]
    );
    let after = tree("{ami: {id: ami-1}, instanceType: a}", "[{path: /etc/a}]");
    let files = rollouts(&before, &after, AppliedBy::Reconciler);
    assert_eq!(told(&files), "4 offline [/spec/files] 4/0/0");
    assert_eq!(files[0].course.notes[0], "In KubeadmConfig mp: `/spec/files`.");
    assert_eq!(told(&rollouts(&before, &after, AppliedBy::Others)), "nothing");
}
