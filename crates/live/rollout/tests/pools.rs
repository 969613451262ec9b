//! MachinePools.

use capstan_model::kinds::KindReader;
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
    // Of each kind: a field of its object, the version of Kubernetes, the name of its bootstrap secret.
    let stays = |field: &str| format!("0 offline [/spec/{field}] 0/0/0");
    let rolls = |field: &str| format!("4 offline [/spec/{field}] 4/0/0");
    let asks = |field: &str| format!("? unknown [/spec/{field}] ?/0/0");
    let nothing = "nothing".to_owned();
    for (kind, before, after, expected) in [
        ("AWSMachinePool", "{minSize: 1}", "{minSize: 2}", nothing.clone()),
        (
            "AWSMachinePool",
            "{mixedInstancesPolicy: {a: 1}}",
            "{mixedInstancesPolicy: {a: 2}}",
            nothing.clone(),
        ),
        ("AWSMachinePool", "{additionalTags: {a: b}}", "{additionalTags: {a: c}}", rolls("additionalTags/a")),
        (
            "AWSMachinePool",
            "{awsLaunchTemplate: {instanceType: a}}",
            "{awsLaunchTemplate: {instanceType: b}}",
            rolls("awsLaunchTemplate/instanceType"),
        ),
        (
            "AWSMachinePool",
            "{awsLaunchTemplate: {rootVolume: {size: 20}}}",
            "{awsLaunchTemplate: {rootVolume: {size: 30}}}",
            stays("awsLaunchTemplate/rootVolume/size"),
        ),
        (
            "AWSMachinePool",
            "{awsLaunchTemplate: {imageLookupOrg: a}}",
            "{awsLaunchTemplate: {imageLookupOrg: b}}",
            asks("awsLaunchTemplate/imageLookupOrg"),
        ),
        ("AzureMachinePool", "{template: {vmSize: a}}", "{template: {vmSize: b}}", stays("template/vmSize")),
        (
            "AzureMachinePool",
            "{template: {image: {id: a}}}",
            "{template: {image: {id: b}}}",
            rolls("template/image/id"),
        ),
        ("AzureMachinePool", "{additionalTags: {a: b}}", "{additionalTags: {a: c}}", nothing.clone()),
        ("GCPMachinePool", "{instanceType: a}", "{instanceType: b}", stays("instanceType")),
        (
            "OCIMachinePool",
            "{instanceConfiguration: {shape: a}}",
            "{instanceConfiguration: {shape: b}}",
            stays("instanceConfiguration/shape"),
        ),
        (
            "DockerMachinePool",
            "{template: {customImage: a}}",
            "{template: {customImage: b}}",
            rolls("template/customImage"),
        ),
        (
            "DockerMachinePool",
            "{template: {preLoadImages: [a]}}",
            "{template: {preLoadImages: [b]}}",
            stays("template/preLoadImages"),
        ),
        (
            "DevMachinePool",
            "{backend: {docker: {customImage: a}}}",
            "{backend: {docker: {customImage: b}}}",
            rolls("backend/docker/customImage"),
        ),
        ("AWSManagedMachinePool", "{instanceType: a}", "{instanceType: b}", asks("instanceType")),
        ("AWSManagedMachinePool", "{scaling: {minSize: 1}}", "{scaling: {minSize: 2}}", nothing.clone()),
        ("AWSManagedMachinePool", "{labels: {a: b}}", "{labels: {a: c}}", nothing.clone()),
        ("AWSManagedMachinePool", "{amiVersion: a}", "{amiVersion: b}", rolls("amiVersion")),
        ("AzureManagedMachinePool", "{scaling: {minSize: 1}}", "{scaling: {minSize: 2}}", nothing.clone()),
        ("GCPManagedMachinePool", "{imageType: a}", "{imageType: b}", asks("imageType")),
        ("OCIManagedMachinePool", "{nodeShape: a}", "{nodeShape: b}", stays("nodeShape")),
        (
            "OCIManagedMachinePool",
            "{nodeShape: a, nodePoolCyclingDetails: {isNodeCyclingEnabled: true}}",
            "{nodeShape: b, nodePoolCyclingDetails: {isNodeCyclingEnabled: true}}",
            asks("nodeShape"),
        ),
        ("OCIManagedMachinePool", "{version: a}", "{version: b}", stays("version")),
        (
            "OCIManagedMachinePool",
            "{version: a, nodePoolCyclingDetails: {isNodeCyclingEnabled: true}}",
            "{version: b, nodePoolCyclingDetails: {isNodeCyclingEnabled: true}}",
            rolls("version"),
        ),
        // A part that comes as a whole.
        ("DockerMachinePool", "{}", "{template: {customImage: b}}", asks("template")),
        ("DevMachinePool", "{backend: {a: 1}}", "{backend: {a: 1, docker: {b: 2}}}", asks("backend/docker")),
        ("AcmeMachinePool", "{a: 1}", "{a: 2}", asks("a")),
    ] {
        let pool = POOL.replace("AWSMachinePool", kind);
        let tree = |spec: &str| rendered(&format!("{pool}---\n{}", infrastructure(kind, spec)));
        let found = rollouts(&tree(before), &tree(after), AppliedBy::Others);
        assert_eq!(summary_of(&found), expected, "{kind} {after}");
    }
}

/// AWS compares neither volumes nor the market: they wait for another change.
#[test]
fn what_nobody_compares_reaches_not_even_new_instances() {
    let notes = |before: &str, after: &str| {
        let tree = |spec: &str| rendered(&format!("{POOL}---\n{}", infrastructure("AWSMachinePool", spec)));
        rollouts(&tree(before), &tree(after), AppliedBy::Others)[0].course.notes.join(" ")
    };
    let volume =
        |size: u32, more: &str| format!("{{awsLaunchTemplate: {{rootVolume: {{size: {size}}}}}{more}}}");
    let found = notes(&volume(20, ""), &volume(30, ""));
    assert!(
        found.contains("New instances get the change once another field of the launch template"),
        "{found}"
    );
    let disabled = ", refreshPreferences: {disable: true}";
    let both = |id: &str, size: u32| {
        format!("{{awsLaunchTemplate: {{instanceType: {id}, rootVolume: {{size: {size}}}}}{disabled}}}")
    };
    let found = notes(&both("a", 20), &both("b", 30));
    assert!(found.contains("Only new instances get the change."), "{found}");
}

fn infrastructure(kind: &str, spec: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: {kind}\n\
         metadata: {{name: mp, namespace: org}}\nspec: {spec}\n"
    )
}

#[test]
fn versions_and_bootstrap_secrets_replace_instances_only_where_the_provider_looks_at_them() {
    let [rolls, stays, asks, nothing] = ["4 offline", "0 offline", "? unknown", "nothing"];
    for (kind, spec, version, secret) in [
        ("AWSMachinePool", "{awsLaunchTemplate: {instanceType: a}}", rolls, rolls),
        // An image of its own.
        ("AWSMachinePool", "{awsLaunchTemplate: {ami: {id: a}}}", stays, rolls),
        ("AzureMachinePool", "{template: {vmSize: a}}", rolls, stays),
        ("AzureMachinePool", "{template: {image: {id: a}}}", stays, stays),
        ("GCPMachinePool", "{}", stays, stays),
        ("OCIMachinePool", "{}", stays, stays),
        ("DockerMachinePool", "{}", rolls, stays),
        ("DevMachinePool", "{}", rolls, stays),
        ("AWSManagedMachinePool", "{}", rolls, asks),
        ("AzureManagedMachinePool", "{}", rolls, asks),
        ("GCPManagedMachinePool", "{}", rolls, asks),
        // Its own version counts.
        ("OCIManagedMachinePool", "{}", nothing, stays),
        ("OCIManagedMachinePool", "{nodePoolCyclingDetails: {isNodeCyclingEnabled: true}}", nothing, asks),
        ("AcmeMachinePool", "{}", rolls, asks),
    ] {
        let tree = |version: &str, config: &str| {
            let pool = POOL.replace("AWSMachinePool", kind).replace("v1.30.2", version);
            let pool = pool.replace("KubeadmConfig, name: mp", &format!("KubeadmConfig, name: {config}"));
            rendered(&format!("{pool}---\n{}", infrastructure(kind, spec)))
        };
        for (after, field, expected) in [
            (tree("v1.31.1", "mp"), "version", version),
            (tree("v1.30.2", "b"), "bootstrap/configRef/name", secret),
        ] {
            let found = rollouts(&tree("v1.30.2", "mp"), &after, AppliedBy::Others);
            let count = expected.split(' ').next().unwrap();
            let expected = match expected {
                "nothing" => expected.to_owned(),
                _ => format!("{expected} [/spec/template/spec/{field}] {count}/0/0"),
            };
            assert_eq!(summary_of(&found), expected, "{kind} {spec}");
        }
    }
}

/// An object that is not in the folder says nothing, but its kind does.
#[test]
fn a_pool_with_a_version_of_its_own_keeps_its_instances_even_if_its_object_is_elsewhere() {
    for (kind, expected) in [
        ("OCIManagedMachinePool", "nothing"),
        ("AROMachinePool", "nothing"),
        ("ROSAMachinePool", "nothing"),
        ("AWSManagedMachinePool", "4 offline [/spec/template/spec/version] 4/0/0"),
    ] {
        let tree =
            |version: &str| rendered(&POOL.replace("AWSMachinePool", kind).replace("v1.30.2", version));
        let found = rollouts(&tree("v1.30.2"), &tree("v1.31.1"), AppliedBy::Others);
        assert_eq!(summary_of(&found), expected, "{kind}");
    }
}

/// Tags of an AWSCluster are those of each launch template as well.
#[test]
fn tags_of_the_cluster_replace_the_instances_of_its_pools() {
    let tree = |tags: &str, cluster: &str| {
        let pool =
            POOL.replace("spec:\n  replicas: 4", &format!("spec:\n  clusterName: {cluster}\n  replicas: 4"));
        rendered(&format!(
            "{pool}---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {{name: c, namespace: org}}
spec: {{infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, name: c}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {{name: c, namespace: org}}
spec: {{additionalTags: {tags}, region: a}}
"
        ))
    };
    let found = rollouts(&tree("{a: b}", "c"), &tree("{a: c}", "c"), AppliedBy::Others);
    assert_eq!(summary_of(&found), "4 offline [/spec/additionalTags/a] 4/0/0");
    assert_eq!(found[0].course.notes[0], "In AWSCluster c: `/spec/additionalTags/a`.");
    // Nor are they where the refresh is disabled.
    let disabled = |tags: &str| {
        let pool = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachinePool\n\
                    metadata: {name: mp, namespace: org}\nspec: {refreshPreferences: {disable: true}}\n";
        let mut objects = tree(tags, "c");
        objects.extend(rendered(pool));
        objects
    };
    let found = rollouts(&disabled("{a: b}"), &disabled("{a: c}"), AppliedBy::Others);
    assert_eq!(summary_of(&found), "0 offline [/spec/additionalTags/a] 0/0/0");
    // Those of another Cluster are not.
    let found = rollouts(&tree("{a: b}", "d"), &tree("{a: c}", "d"), AppliedBy::Others);
    assert_eq!(summary_of(&found), "nothing");
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
        assert_eq!(summary_of(&found), expected, "{kind} {refresh:?}");
        let said =
            found[0].course.notes.iter().any(|note| note.contains("`refreshPreferences.disable: true`"));
        assert_eq!(said, after == off, "{kind} {refresh:?}");
    }
}

/// Every kind of the table, and a version that is not in it: the provider decides, and a note says why the effect is
/// unknown.
#[test]
fn the_effect_of_an_unknown_version_is_unknown() {
    for known in KindReader::Pools.known() {
        for kind in known.kinds {
            let tree = |version: &str, name: &str| {
                let pool = POOL.replace("AWSMachinePool", kind);
                rendered(&format!(
                    "{pool}---\napiVersion: {}/{version}\nkind: {kind}\nmetadata: {{name: mp, namespace: org}}\nspec: {{displayName: {name}, \
                     refreshPreferences: {{disable: true}}}}\n",
                    known.group
                ))
            };
            let is_told = |note: &String| note.contains("is not read here");
            for version in known.versions {
                let found = rollouts(&tree(version, "a"), &tree(version, "b"), AppliedBy::Others);
                assert!(!found.iter().flat_map(|one| &one.course.notes).any(is_told), "{kind} {version}");
            }
            let found = rollouts(&tree("v9", "a"), &tree("v9", "b"), AppliedBy::Others);
            assert_eq!(summary_of(&found), "? unknown [/spec/displayName] ?/0/0", "{kind}");
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
    assert_eq!(summary_of(&image), "4 offline [/spec/awsLaunchTemplate/ami/id] 4/0/0");
    assert_eq!(
        image[0].course.notes,
        [
            "In AWSMachinePool mp: `/spec/awsLaunchTemplate/ami/id`.",
            "The instance refresh ends instances without a drain, so disruption budgets are not asked. By default at least 90 % stay in service.",
        ]
    );
    let after = tree("{ami: {id: ami-1}, instanceType: a}", "[{path: /etc/a}]");
    let files = rollouts(&before, &after, AppliedBy::Reconciler);
    assert_eq!(summary_of(&files), "4 offline [/spec/files] 4/0/0");
    assert_eq!(files[0].course.notes[0], "In KubeadmConfig mp: `/spec/files`.");
    assert_eq!(summary_of(&rollouts(&before, &after, AppliedBy::Others)), "nothing");
}
